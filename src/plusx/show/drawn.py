"""Drawn figures: what an explorer draws by itself and plotly does not, as plain dicts.

Here lives what a chapter says of such a figure; `plusx.explore.drawn` has its checks, its picture and its words.
"""

import math

import numpy as np
import torch


def threads(heights, title, span, names=None, what="height", ends=("", ""), size=340, named=False, **wire):
    """Inputs as threads through layers, from left to right; below them a wire whose parts can be pressed.

    heights: (layers + 1, inputs), where each input is after each layer: `along` gives them.
    span: (low, high), the heights at the lower and upper edge, the same in all states; a thread beyond leaves the
        picture, with an arrowhead.
    names: of the inputs, by which one stands out; its height at the start where there are none. what: a height is.
    ends: what stands at the left and at the right. named: whether names do, each where its thread begins.
    wire: skip and branch, each ("control", value): that control's options are "none", "all" and the layers from 1 on,
        and say of which layers the part is off. One control may be both, with options such as "skip 1", "branch 1",
        "all skips" and "all branches".
    ValueError: heights have another shape, or a NaN.
    """
    heights = _numbers("threads", heights, "(layers + 1, inputs)", 2)
    step = 2.0 ** math.floor(math.log2((span[1] - span[0]) / size))  # a pixel at most, and short in binary
    rounded = (heights / step).round() * step
    names = [f"{each:.2g}" for each in heights[0].tolist()] if names is None else list(names)
    return _figure("threads", title, rounded.T, names, what, span, size, ends, wire) | dict(named=named)


def river(sizes, title, span, names=("size",), what="log₁₀ of the size", ends=("", ""), size=260, **wire):
    """A quantity through layers, as wide as it is large, or several, one below the other; the rest as in `threads`.

    sizes: (layers + 1,), or (rivers, layers + 1), above 0. span: (low, high) of their logarithms to the base 10: as
    wide as a hair, and as all its room. names: a river's each. ValueError: sizes have another shape, or a NaN.
    """
    sizes = torch.as_tensor(sizes).double()
    logs = _numbers("river", sizes[None] if sizes.ndim == 1 else sizes, "(rivers, layers + 1)", 2)
    if len(logs) != len(names):
        raise ValueError(f"river: came {len(logs)} rivers and {len(names)} names; give as many.")
    rounded = (logs.clamp(min=1e-300).log10() * 128).round() / 128
    return _figure("river", title, rounded, list(names), what, span, size, ends, wire)


def carpet(grid, title, span, told, what, ends=("", ""), size=320):
    """A row of colours for each layer, the first above, a column for each input.

    grid: (layers + 1, inputs). span: (low, high), the numbers with the fullest colours; the middle has none.
    told: (name, (layers + 1,)), one number for each layer, which the table has in place of all. what: the colours are.
    ValueError: the grid has another shape, or a NaN.
    """
    low, high = span
    rows = (_numbers("carpet", grid, "(layers + 1, inputs)", 2).clamp(low, high) * 32).round() / 32
    layers = list(range(len(rows)))
    return _told(_figure("carpet", title, rows, layers, what, span, size, ends, axes=("layer", what)), told)


def fold(sheets, title, span, told, ends=("", ""), size=180):
    """A sheet of points in a plane after each layer, side by side from left to right.

    sheets: (layers + 1, n, n, 2), the points of an n by n grid. span: the plane is seen from -span to span. told: as in
    `carpet`. ValueError: sheets have another shape, or a NaN.
    """
    sheets = _numbers("fold", sheets, "(layers + 1, n, n, 2)", 4).clamp(-span, span)
    lines = torch.cat([sheets, sheets.transpose(1, 2)], 1)  # along rows, then along columns
    rows = (lines.flatten(0, 1).flatten(1) / span * 128).round() / 128 * span
    names = [f"line {at}" for at in range(len(rows))]
    figure = _figure("fold", title, rows, names, "place", (-span, span), size, ends, axes=("layer", told[0]))
    return _told(figure, told) | dict(columns=len(sheets))


def dots(places, taken, title, span, names, ends=("", ""), size=420):
    """Inputs as dots in a plane; to each lead wedges from those that it takes from, as wide as its share.

    places: (inputs, 2). taken: (inputs, inputs), row i the shares that input i takes of each. span: the plane is seen
    from -span to span. ValueError: places or shares have another shape, or a NaN.
    """
    places, taken = (_numbers("dots", each, "(inputs, 2) and (inputs, inputs)", 2) for each in (places, taken))
    if not len(places) == len(names) == len(taken) == taken.shape[1] or places.shape[1] != 2:
        came = f"places {tuple(places.shape)}, shares {tuple(taken.shape)} and {len(names)} names"
        raise ValueError(f"dots: came {came}; expected (inputs, 2), (inputs, inputs) and a name for each input.")
    grid = torch.cat([(places / span * 256).round() / 256 * span, (taken * 256).round() / 256], 1)
    names = _distinct(list(names))
    columns = ["place across", "place up", *(f"takes of {name}" for name in names)]
    return _figure("dots", title, grid, names, "", (-span, span), size, ends, columns=columns, axes=("what", "input"))


def _distinct(names):
    """Names of which none comes twice: a second "the" is "the (2)"."""
    return [f"{name} ({names[:i].count(name) + 1})" if name in names[:i] else name for i, name in enumerate(names)]


def waterfall(steps, title, span, names, says, what, ends=("", ""), size=300):
    """What parts add to a sum, one after the other from left to right: steps up and steps down.

    steps: (parts,). span: (low, high), the sums at the lower and upper edge, with 0 between them. names: of the parts,
    below their steps. says: words below the names, what one would read off the sum by then. what: the sum is.
    ValueError: steps have another shape, or a NaN; names or words of another number.
    """
    steps = _numbers("waterfall", steps, "(parts,)", 1)
    if not len(steps) == len(names) == len(says):
        raise ValueError(f"waterfall: came {len(steps)} steps, {len(names)} names and {len(says)} words; give as many.")
    sums = (steps.cumsum(0) * 256).round() / 256
    names, says = list(names), list(says)
    figure = _figure("waterfall", title, sums[None], [what], what, span, size, ends, columns=names, axes=("part", ""))
    figure["data"] += [dict(x=names, y=steps.numpy(), name="adds"), dict(x=names, y=says, name="read off by then")]
    return figure | dict(marks=[*zip(names, says)])


def _numbers(kind, values, shape, sides):
    """What is drawn in float64. ValueError: it has another shape, or a NaN, which no place in a picture would show."""
    values = torch.as_tensor(values).double()
    if values.ndim != sides:
        raise ValueError(f"{kind}: came a shape {tuple(values.shape)}; expected {shape}.")
    if values.isnan().any():
        raise ValueError(f"{kind}: {int(values.isnan().sum())} of its {values.numel()} numbers are NaN; give others.")
    return values


def _told(figure, told):
    """The figure, and in its table one number for each layer in place of all that is drawn."""
    name, numbers = told
    figure["data"][0]["hoverinfo"] = "skip"
    figure["data"].append(dict(x=list(range(len(numbers))), y=np.asarray(numbers), name=name))
    return figure


def _figure(kind, title, grid, rows, what, span, size, ends, wire=None, columns=None, axes=("layer", "input")):
    """As `plusx.explore` takes it. rows, columns: the names of the grid's; columns without names are numbered."""
    columns = list(range(grid.shape[1])) if columns is None else columns
    data = dict(type="heatmap", x=columns, y=rows, z=np.asarray(grid), colorbar=dict(title=dict(text=what)))
    across, down = (dict(title=dict(text=text)) for text in axes)
    layout = dict(title=title, height=size, xaxis=across, yaxis=down)
    return dict(drawn=kind, data=[data], layout=layout, span=list(span), wire=wire or {}, ends=list(ends))


def along(states, direction=None):
    """States as heights: their projection on one direction, (layers + 1, inputs).

    states: (layers + 1, inputs, d), or such of several settings, (settings, layers + 1, inputs, d); then all share the
    direction. direction: (d,); without one, that in which all states differ most from the mean of their layer.
    """
    states = torch.as_tensor(states).double()
    if direction is None:
        apart = (states - states.mean(-2, keepdim=True)).flatten(0, -2)
        direction = torch.linalg.eigh(apart.T @ apart).eigenvectors[:, -1]
        direction = direction * direction[direction.abs().argmax()].sign()
    return states @ torch.as_tensor(direction).double()


def fanned(states):
    """States as heights, (layers + 1, inputs): after each layer along the direction in which they differ most, from
    their middle. So threads that are only turned elsewhere, or moved together, stay as far apart as they were.

    states: (layers + 1, inputs, d).
    """
    states = torch.as_tensor(states).double()
    apart, sizes, _ = torch.linalg.svd(states - states.mean(1, keepdim=True), full_matrices=False)
    heights = apart[:, :, 0] * sizes[:, :1]
    turns = torch.cat([heights[:1, -1:], (heights[:-1] * heights[1:]).sum(1, keepdim=True)])  # each as the one before
    return heights * torch.where(turns < 0, -1.0, 1.0).cumprod(0)
