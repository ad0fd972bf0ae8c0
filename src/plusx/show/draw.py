"""Pictures: the few words that the chapters' figures share, as plain dicts for plotly.

Here lives how lines, axes and panels look and where they stand. Chapters compute what they show; `explore`, or
plotly, draws it. A word for what is drawn gives a list of traces or shapes, which `panel` puts into one plot.
"""

import re

import numpy as np

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = re.compile(r"(\d(?:\.\d+)?)e([+-]\d+)")  # 1.1e-08, as Python writes it
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")
_HEIGHTS = {1: 400, 2: 560}  # of a figure with so many panels, in pixels; more have 640
_LABELLED, _BARE = 70, 20  # between two panels, in pixels: with the upper one's axis and without
_MARGINS = 72  # above and below all panels, in pixels
_BESIDE = 0.05  # between two panels side by side, of the figure's width


def line(x, y, name, colour="C0", dash="solid", width=3, symbol=None, **look):
    """A line, and a mark at each point where it has a symbol.

    x, y: (points,). look: what else plotly's scatter takes, here and below.
    """
    marks = dict(mode="lines+markers", marker=dict(color=colour, symbol=symbol, size=8)) if symbol else {}
    stroke = dict(color=colour, dash=dash, width=width)
    return [dict(type="scatter", mode="lines", x=x, y=y, name=name, line=stroke) | marks | look]


def bundle(x, y, name, colour="C0", dash="solid", symbol=None):
    """Several nets: each a thin line, and their median a thick one with the name.

    x: (points,), numbers or words. y: (points, nets); NaN is a gap, of the median too.

    ValueError: y has no row for each x.
    """
    x, y = np.asarray(x), np.asarray(y, float)
    if y.ndim != 2 or len(y) != len(x):
        raise ValueError(f"bundle: '{name}' has {len(x)} x and a y {y.shape}; give one row per x, one column per net.")
    gap = np.full((1, y.shape[1]), np.nan)  # all nets are one trace, with a gap after each
    each = np.tile(np.append(x, x[-1:]), y.shape[1]), np.vstack([y, gap]).T.ravel()
    thin = line(*each, name, colour, width=1, opacity=0.6, showlegend=False, hoverinfo="skip")
    return thin + line(x, np.median(y, 1), name, colour, dash, symbol=symbol)


def points(x, y, name, colour="C0", symbol="circle", size=8, **look):
    """Points alone. x: (points,). y: (points,), or (points, nets) for one at each x and net."""
    y = np.asarray(y, float)
    if y.ndim == 2:
        x, y = np.repeat(np.asarray(x, float), y.shape[1]), y.ravel()
    marker = dict(color=colour, symbol=symbol, size=size)
    return [dict(type="scatter", mode="markers", x=x, y=y, name=name, marker=marker) | look]


def bars(x, y, name, colour="C0"):
    """Bars. x, y: (bars,). colour: of all, or a list with one for each."""
    return [dict(type="bar", x=x, y=y, name=name, marker=dict(color=colour))]


def words(x, y, text, colour="ink", **font):
    """Words in the plot, their middles at x and y. x, y, text: (labels,). font: what else plotly's textfont takes."""
    look = dict(showlegend=False, hoverinfo="skip", textfont=dict(color=colour) | font)
    return [dict(type="scatter", mode="text", x=x, y=y, text=text) | look]


def heatmap(x, y, z, name, low, high, text=None, **look):
    """A grid of colours from low to high, which can have text in each cell.

    x: (columns,). y: (rows,). z: (rows, columns). text: rows of words, white on dark cells and black on light ones.
    look: what else plotly's heatmap takes.
    """
    grid = dict(type="heatmap", x=x, y=y, z=z, name=name, zmin=low, zmax=high, colorscale="Viridis") | look
    if text is None:
        return [grid]
    dark = np.asarray(z, float) < low + 0.6 * (high - low)
    across, down = (axis.ravel() for axis in np.meshgrid(np.asarray(x, float), np.asarray(y, float)))
    cells = np.array(text, object)
    white, black = (np.where(here, cells, "").ravel().tolist() for here in (dark, ~dark))
    return [grid, *words(across, down, white, "#ffffff"), *words(across, down, black, "#000000")]


def hline(y, colour="muted", dash="solid", width=1, says=""):
    """A line across the whole panel, at y; what it says stands on its right end."""
    place = dict(xref="{x} domain", yref="{y}", x0=0, x1=1, y0=y, y1=y)
    return _rule(place, dict(color=colour, dash=dash, width=width), says, xanchor="right", yanchor="bottom")


def vline(x, colour="muted", dash="solid", width=1, says=""):
    """A line from the panel's foot to its top, at x; what it says stands right of its top."""
    place = dict(xref="{x}", yref="{y} domain", x0=x, x1=x, y0=0, y1=1)
    return _rule(place, dict(color=colour, dash=dash, width=width), says, xanchor="left", yanchor="top")


def _rule(place, stroke, says, **anchors):
    label = dict(text=says, textposition="end", textangle=0, font=dict(color="muted", size=12), **anchors)
    return [dict(type="line", line=stroke) | place | (dict(label=label) if says else {})]


def log_axis(title, low, high, every=1, ticks=None):
    """A logarithmic axis from 10**low to 10**high.

    every: it has a label at each power of ten that this divides. ticks: or at these values.
    """
    ticks = ticks or [10.0**n for n in range(int(np.ceil(low)), int(np.floor(high)) + 1) if n % every == 0]
    return dict(title=title, type="log", range=[low, high], tickvals=ticks, ticktext=[_power(v) for v in ticks])


def _power(value):
    """0.01 to 100 as they are, smaller and larger powers of ten as such."""
    exponent = round(np.log10(value))
    if abs(exponent) < 3 or not np.isclose(value, 10.0**exponent):
        return f"{value:g}"
    return _ten_to(exponent)


def _ten_to(exponent):
    return "10" + str(exponent).translate(_RAISED)


def _as_read(title):
    """1.1e-08 as 1.1 × 10⁻⁸, and a minus as long as a plus."""

    def written(number):
        times, power = number[1], _ten_to(int(number[2]))
        return power if times == "1" else f"{times} × {power}"

    return _MINUS.sub("−", _TIMES.sub(written, title))


def panel(*parts, y, x=None, tall=1, square=False):
    """One plot of a figure: what the words above gave, and its axes as plotly takes them.

    x: the axis below it; a panel without one shares that of the next panel. tall: its share of the height.
    square: whether a unit is as long across as up, on any screen.
    """
    return dict(parts=[each for part in parts for each in part], x=x, y=y, tall=tall, square=square)


def beside(*panels):
    """Panels side by side where `figure` takes one, equally wide and as tall as the first, each with its own x."""
    return dict(beside=panels, x=panels[0]["x"], tall=panels[0]["tall"])


def beside_the_stream(title, nets, diagram=""):
    """The book's own picture: each block's branch over the stream, and below it what is left of x.

    nets: {name: (`plusx.measure.probes.branch_over_stream` of it, (blocks, seeds), `plusx.measure.probes.left_of_x`,
        (blocks + 1, seeds))}, up to four, drawn in the order of the colours. Axes are the same wherever it stands.
    """
    styles = [("C0", "solid"), ("C1", "dash"), ("C2", "dot"), ("C3", "dashdot")]
    above, below, deepest = hline(1), [], 0
    for (name, (ratio, left)), style in zip(nets.items(), styles, strict=False):
        block = np.arange(len(ratio) + 1)
        above += bundle(block[1:], ratio, name, *style)
        below += [each | dict(showlegend=False) for each in bundle(block, left, name, *style)]
        deepest = max(deepest, len(ratio))
    return figure(
        title,
        panel(above, y=log_axis("branch / stream", -3, 1.5)),
        panel(below, y=dict(title="left of x", range=[-0.15, 1.08]), x=dict(title="block", range=[0, 1.05 * deepest])),
        diagram=diagram,
    )


def figure(title, *panels, height=None, diagram=""):
    """What a function under `explore` returns: panels below one another, under a title that says the result.

    height: in pixels, if not what so many panels mostly have. diagram: the block as a line of `plusx.order`.

    ValueError: the last panel has no axis x.
    """
    if not panels or panels[-1]["x"] is None:
        raise ValueError(
            "figure: the last panel has no x, and there is none below to share; give panel(..., x=dict(...))."
        )
    height = height or _HEIGHTS.get(len(panels), 640)
    gaps = [(_BARE if each["x"] is None else _LABELLED) / (height - _MARGINS) for each in panels[:-1]]
    room = (1 - sum(gaps)) / sum(each["tall"] for each in panels)
    data, layout, top, xs, ys = [], dict(title=_as_read(title), height=height, shapes=[]), 1.0, 1, 1
    for each, gap in zip(panels, [*gaps, 0]):
        row = each.get("beside", [each])
        bottom = top - room * each["tall"]
        wide = (1 + _BESIDE) / len(row)
        for place, one in enumerate(row):
            x, y = (f"{axis}{n if n > 1 else ''}" for axis, n in (("x", xs), ("y", ys)))
            layout[f"yaxis{y[1:]}"] = one["y"] | dict(domain=[max(bottom, 0), top], anchor=x)
            if one["x"] is not None:  # else it has that of the next panel which has one
                layout[f"xaxis{x[1:]}"] = one["x"] | dict(anchor=y)
                xs += 1
            if len(row) > 1:
                layout[f"xaxis{x[1:]}"]["domain"] = [place * wide, (place + 1) * wide - _BESIDE]
            if one["square"]:
                layout[f"xaxis{x[1:]}"]["constrain"] = "domain"
                layout[f"yaxis{y[1:]}"] |= dict(constrain="domain", constraintoward="top", scaleanchor=x)
            for part in one["parts"]:
                if part["type"] == "line":
                    refs = {key: part[key].format(x=x, y=y) for key in ("xref", "yref")}
                    layout["shapes"].append(part | refs)
                else:
                    data.append(part | dict(xaxis=x, yaxis=y))
            ys += 1
        top = bottom - gap
    return dict(data=data, layout=layout) | (dict(diagram=diagram) if diagram else {})
