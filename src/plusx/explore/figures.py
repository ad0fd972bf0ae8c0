"""Figures: what a function returned, checked and in one form, with the looks all explorers share.

Here live the base layout, the colours and the data table. Drawing is in `live`, `static` and `still`.
"""

import base64
import datetime
import functools
import html
import json
import re
from collections.abc import KeysView, ValuesView
from typing import Any

import numpy as np

from .colours import COLOURS
from .controls import ExploreError, is_number
from .drawn import normalise_drawn
from .numbers import cells
from .words import plain

NEUTRALS = ("ink", "muted", "grid", "page")  # "page" is the ground, as the middle of a scale that diverges
# What has one colour in all figures, diagrams and words of the book. A net with skips has the colour of the skip, one
# without has that of its branches.
MEANINGS = {
    "stream": "ink",
    "skip": "C1",
    "residual": "C1",
    "branch": "C0",
    "plain": "C0",
    "gradient": "C5",
    "signal": "C2",
}
HEIGHT = 400
FLAT = ("scatter", "bar", "heatmap", "contour")
GRIDS = ("heatmap", "contour", "surface")
NAMING = (*FLAT, "box", "violin", "histogram")  # by their x and y
_DAY = re.compile(
    r"\s*-?\d{4}(-\d?\d(-\d?\d([ T]\d?\d(:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?)?)?\s*$"
)  # plotly.js's
# plotly asks other hosts for a map's tiles and coastlines.
_MAPS = {"scattergeo", "choropleth"} | {
    f"{kind}map{end}" for kind in ("scatter", "density", "choropleth") for end in ("", "box")
}
_COLOUR = re.compile(r"colou?r(way|scale|s)?$")  # the keys of plotly that hold colours

_AXIS = {
    "gridcolor": "grid",
    "linecolor": "muted",
    "zerolinecolor": "muted",
    "exponentformat": "power",
    "fixedrange": True,
    # So plotly does not search for overlapping labels, which takes a fifth of a redraw.
    "ticklabeloverflow": "allow",
    "tickangle": 0,
}
# plotly makes room for the labels beside an axis. Beyond its ends it may not: there the room that it makes depends on
# what was drawn before.
_AUTOMARGIN = {"x": "height", "y": "width"}
_SCENE_AXIS = {"color": "ink", "gridcolor": "muted", "showspikes": False, "showbackground": False}
_SCENE = {
    "aspectmode": "cube",
    "dragmode": "turntable",
    "uirevision": "kept",  # the reader's own turn of the picture outlives a toggle
    **{f"{axis}axis": _SCENE_AXIS for axis in "xyz"},
}
_LAYOUT = {
    "height": HEIGHT,
    "margin": {"l": 66, "r": 16, "t": 36, "b": 48},
    "font": {"family": "system-ui, sans-serif", "size": 13, "color": "ink"},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "colorway": list(COLOURS),
    "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"},
    "dragmode": False,
    "autotypenumbers": "strict",  # as in plotly.py's own template
    "hovermode": "closest",
}


def normalise(returned: Any, where: str) -> tuple[str, dict]:
    """The title and the figure ``{"data": [...], "layout": {...}}`` of what a function returned.

    Numbers under ``data`` become float64 arrays (gaps are NaN), everything else plain JSON values.
    ``diagram``, a line of `plusx.order`, stays as it is.
    `where` names function and state in errors.
    """
    if hasattr(returned, "to_plotly_json"):
        returned = returned.to_plotly_json()
    if not isinstance(returned, dict) or not isinstance(returned.get("data"), (list, tuple)):
        raise ExploreError(
            f"explore: {where} returned {_brief(returned)}; "
            "return a plotly figure or dict(data=[...], layout=dict(title=...))."
        )
    if returned.get("frames"):
        raise ExploreError(
            f"explore: {where} returned {len(returned['frames'])} frames, which an explorer does not play. "
            "Give what changes from frame to frame a control."
        )
    given = returned.get("layout") or {}
    given = given.to_plotly_json() if hasattr(given, "to_plotly_json") else given
    given = {key: value for key, value in given.items() if key != "template"}
    layout = coloured(_plain(given, f"{where}: layout", arrays=False), MEANINGS)
    title = layout.pop("title", None)
    title = title.get("text") if isinstance(title, dict) else title
    if not isinstance(title, str) or not title.strip():
        raise ExploreError(
            f"explore: {where} returned no layout.title; say the result of this state in it, "
            'as in figure.update_layout(title=f"With the skip the signal keeps {ratio:.0%}").'
        )
    for i, image in enumerate(layout.get("images", ())):
        if re.match(r"(\w+:)?//", str(image.get("source"))):
            raise ExploreError(
                f"explore: {where}: layout.images[{i}].source is on another host, which a page does not ask. "
                "Give the picture itself, as px.imshow and data URIs do."
            )
    traces = [_plain(trace, f"{where}: data[{i}]", arrays=True) for i, trace in enumerate(returned["data"])]
    data = coloured(traces, MEANINGS)
    for i, trace in enumerate(data):
        if trace.get("type") in _MAPS:
            raise ExploreError(
                f"explore: {where}: data[{i}] is a {trace['type']}, whose map plotly fetches from another host, "
                "which a page does not ask. Draw the outlines yourself, as lines of a scatter."
            )
        trace.pop("uid", None)  # a FigureWidget's: new each time
        _say_places(trace, layout)
        _check_lengths(trace, f"{where}: data[{i}]", edges="drawn" not in returned)
        _say_defaults(trace)
        if isinstance(trace.get("text"), list):  # plotly drops an empty label's node, and never brings it back
            trace["text"] = [label or " " for label in trace["text"]]
    line = returned.get("diagram", "")
    if not isinstance(line, str):
        raise ExploreError(
            f"explore: {where} returned the diagram {_brief(line)}; give a line such as '[norm linear]:skip'."
        )
    diagram = {"diagram": line} if line else {}
    if "drawn" in returned:
        if not data or data[0].get("z") is None:
            raise ExploreError(f"explore: {where} returned nothing to draw; give a first trace with z.")
        height = {"height": HEIGHT, **layout}
        return title, {"data": data, "layout": height, **normalise_drawn(returned, where), **diagram}
    # What plotly.py refuses: keys and words that plotly does not know, colours that are none.
    if wrong := _invalid(json.dumps([_outline(data), _outline(layout)], sort_keys=True)):
        raise ExploreError(f"explore: {where}: {wrong}")
    _say_axes(data, layout)
    if any(trace.get("type") == "surface" for trace in data):
        base = {**_LAYOUT, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "scene": _SCENE}
    else:
        axes = {key for key in layout if key.startswith(("xaxis", "yaxis"))} | {"xaxis", "yaxis"}
        base = {**_LAYOUT, **{axis: {**_AXIS, "automargin": _AUTOMARGIN[axis[0]]} for axis in sorted(axes)}}
    return title, {"data": data, "layout": _overlaid(base, layout), **diagram}


def _say_places(trace: dict, layout: dict):
    """Write into a trace where its points or cells are, and the limits of its colours, where plotly.js counts them."""
    z = trace.get("z")
    if trace.get("type") in GRIDS and z is not None:
        if isinstance(z, list) and all(isinstance(row, list) for row in z) and len({*map(len, z)}) == 1:
            z = trace["z"] = np.array(z, float)  # of bools
        if isinstance(z, np.ndarray) and z.ndim == 2:
            for key, count in zip("yx", z.shape):
                if trace.get(key) is None:
                    trace[key] = trace.pop(f"{key}0", 0) + trace.pop(f"d{key}", 1) * np.arange(float(count))
        shared = layout.get(trace.pop("coloraxis", ""), {})
        ends = {} if trace["type"] == "surface" else {"cmin": "zmin", "cmax": "zmax"}
        own = ("colorscale", "reversescale", "colorbar", "showscale", "cmin", "cmax")
        trace |= {ends.get(key, key): shared[key] for key in own if key in shared}
    elif trace.get("type", "scatter") in FLAT:
        for key, other in ("xy", "yx"):
            start = trace.get(f"{key}0", 0)
            if trace.get(key) is None and np.ndim(trace.get(other)) and isinstance(start, (int, float)):
                trace.pop(f"{key}0", None)
                trace[key] = start + trace.pop(f"d{key}", 1) * np.arange(float(len(trace[other])))


def _say_defaults(trace: dict):
    """Write into a trace what plotly.js would choose by itself, so that the still and the legend show the same."""
    kind = trace.get("type", "scatter")
    if kind in GRIDS:
        trace.setdefault("colorscale", "Viridis")
    elif kind == "scatter":
        points = len(trace.get("y", trace.get("x", ())))
        trace.setdefault("mode", "lines+markers" if points < 20 and "stackgroup" not in trace else "lines")
        # Else plotly drops points that lie nearly on the line, by a frame that may be a pixel wider when it moves.
        trace.setdefault("line", {}).setdefault("simplify", False)
        if isinstance(trace.get("marker", {}).get("color"), np.ndarray) and "coloraxis" not in trace["marker"]:
            trace["marker"].setdefault("colorscale", "Viridis")
    for part in (trace, trace.get("marker", {})):
        if "colorscale" in part:
            part["colorscale"] = _scale(part["colorscale"])


def _scale(given: Any) -> Any:
    """A scale of colours as plotly.py has it, whose names are more than plotly.js knows, and not the same."""
    from plotly.colors import get_colorscale

    if isinstance(given, str) and given not in ("Viridis", "Cividis"):
        try:
            return [[float(place), colour] for place, colour in get_colorscale(given)]
        except Exception:  # plotly.py's own: no scale of that name, which `_invalid` says
            return given
    if isinstance(given, list) and len(given) > 1 and all(isinstance(each, str) for each in given):
        return [[i / (len(given) - 1), colour] for i, colour in enumerate(given)]
    return given


def _say_axes(data: list, layout: dict):
    """Write the types of axes that hold words: plotly.js by itself would take "101" for a number."""
    for trace in data:
        for key in "xy":
            name, values = f"{key}axis{trace.get(f'{key}axis', key)[1:]}", trace.get(key)
            is_list = isinstance(values, list) and not any(isinstance(value, list) for value in values)
            if not is_list or trace.get("type", "scatter") not in NAMING or "type" in layout.get(name, {}):
                continue
            words = [str(value) for value in values if isinstance(value, (str, bool))]
            if words and 2 * len(words) >= len(values):
                # Years alone are names, as plotly.py's own template has it.
                dates = all(map(_DAY.match, words)) and any(len(word) > 4 for word in words)
                layout[name] = {**layout.get(name, {}), "type": "date" if dates else "category"}


_FREE = {"text", "name", "title", "ticktext", "hovertemplate", "hovertext", "texttemplate", "label", "labels", "source"}


def _outline(node: Any, key: str = "") -> Any:
    """A figure less its numbers and what of its words is free: equal outlines are both valid, or neither is."""
    if isinstance(node, dict):
        part = "domain" if key == "domain" else ""
        return {key: _outline(value, part or key) for key, value in node.items() if key not in _FREE or key == "title"}
    if isinstance(node, np.ndarray) and key in ("domain", "range"):
        return node.tolist()  # two ends, and not points
    if isinstance(node, np.ndarray):
        return [[1.0]] if node.ndim > 1 else [1.0]
    if isinstance(node, list):
        if _COLOUR.search(key) or any(isinstance(each, (dict, list, np.ndarray)) for each in node):
            return [_outline(each, key) for each in node]
        return [] if len(node) > 2 else node  # names of points, while two words are a range
    return node


@functools.cache
def _invalid(outline: str) -> str:
    """What plotly.py says against a figure with this outline; "" if nothing."""
    import plotly.graph_objects as go

    words = {**COLOURS, "ink": "#000", "muted": "#000", "grid": "#000", "page": "#fff"}
    data, layout = (coloured(part, words) for part in json.loads(outline))
    try:
        go.Figure(data, layout)
    except ValueError as error:
        return " ".join(str(error).split("\n\n")[0].split())
    return ""


def _check_lengths(trace: dict, where: str, edges: bool):
    x, y, z = (trace.get(key) for key in "xyz")
    kind = trace.get("type", "scatter")
    if kind not in (*FLAT, "surface"):
        return
    for key in "xy":
        values = trace.get(key)
        if values is not None and not isinstance(values, (list, np.ndarray)):
            raise ExploreError(f"explore: {where}.{key} is {values}; give a list or an array.")
        if kind in ("scatter", "bar") and np.ndim(values if isinstance(values, np.ndarray) else 0) > 1:
            raise ExploreError(f"explore: {where}.{key} has the shape {values.shape}; give one value for each point.")
    if z is None:
        wide, tall = (len(v[0]) if _is_nested(v) else len(v) if v is not None else None for v in (x, y))
        if x is not None and y is not None and wide != tall:
            raise ExploreError(f"explore: {where} has {wide} x and {tall} y. Make them match.")
        return
    if isinstance(z, np.ndarray) and not z.size:
        raise ExploreError(f"explore: {where} has a z without cells. Give one row per y and one column per x.")
    shape = z.shape if isinstance(z, np.ndarray) else "with rows of unequal length"
    if not isinstance(z, np.ndarray) or any(
        own not in (count, count - (edges and kind == "heatmap")) for own, count in zip(shape, (len(y), len(x)))
    ):
        raise ExploreError(
            f"explore: {where} has a z {shape}, {len(y)} y and {len(x)} x. "
            f"Give z one row per y and one column per x: ({len(y)}, {len(x)})."
        )


def _is_nested(values: Any) -> bool:
    """Whether names stand in groups, as on an axis of plotly's type "multicategory"."""
    return isinstance(values, list) and len(values) > 0 and all(isinstance(each, list) for each in values)


def _plain(node: Any, where: str, arrays: bool) -> Any:
    if hasattr(node, "to_plotly_json"):
        node = node.to_plotly_json()
    if hasattr(node, "detach"):  # a torch tensor, without importing torch
        try:
            given = node.detach().cpu()
            small = "float" in str(given.dtype) and given.element_size() < 4
            node = (given.float() if small else given).numpy()
        except Exception as error:  # sparse, quantised, or on a device that has no numbers
            raise ExploreError(f"explore: {where} is a {_brief(node)}, of which there is no array: {error}") from None
    if hasattr(node, "to_numpy"):  # a column of pandas
        node = node.to_numpy()
    if isinstance(node, (range, KeysView, ValuesView)):
        node = list(node)
    if isinstance(node, np.ma.MaskedArray) and node.dtype.kind in "iuf":
        node = node.astype(np.float64).filled(np.nan)
    if isinstance(node, np.ndarray) and node.dtype.kind == "M" and node.ndim:
        node = [None if np.isnat(each) else str(each).removesuffix("T00:00:00.000000000") for each in node]
    if isinstance(node, (datetime.date, np.datetime64)):
        node = str(node).replace(" ", "T")
    if isinstance(node, dict) and "bdata" in node:  # plotly's own binary form
        flat = np.frombuffer(base64.b64decode(node["bdata"]), dtype=node["dtype"])
        node = flat.reshape([int(n) for n in str(node["shape"]).split(",")]) if "shape" in node else flat
    if isinstance(node, dict):
        plain = {str(key): _plain(value, f"{where}.{key}", arrays) for key, value in node.items()}
        if isinstance(plain.get("title"), str):  # plotly.js 3 and later take only the long form
            plain["title"] = {"text": plain["title"]}
        return plain
    if isinstance(node, np.ndarray):
        if arrays and node.dtype.kind in "iuf" and node.ndim:
            return node.astype(np.float64)
        node = node.tolist()
    if isinstance(node, (list, tuple)):
        node = [_plain(value, where, arrays) if hasattr(value, "detach") else value for value in node]
        if arrays and (numbers := _numbers(node)) is not None:
            return numbers
        return [_plain(value, f"{where}[{i}]", arrays) for i, value in enumerate(node)]
    if isinstance(node, np.generic):
        node = node.item()
    if node is None or isinstance(node, (str, bool, int)):
        return node
    if isinstance(node, float):
        if not np.isfinite(node):
            raise ExploreError(f"explore: {where} is {node}; only arrays in data may hold gaps. Leave the item out.")
        return node
    raise ExploreError(f"explore: {where} is {_brief(node)}, which plotly cannot draw. Use numbers, strings or arrays.")


def _numbers(values: list | tuple) -> np.ndarray | None:
    """A float64 array of the list, None read as a gap; None where it is no list of numbers."""
    flat = [v for row in values for v in (row if isinstance(row, (list, tuple)) else [row])]
    if not flat or not all(v is None or is_number(v) for v in flat):
        return None
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:  # rows of unequal length
        return None


def _overlaid(base: Any, given: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(given, dict)):
        return given
    return {**base, **{key: _overlaid(base.get(key), value) for key, value in given.items()}}


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text[:40]}{'…' if len(text) > 40 else ''}"


def coloured(node: Any, palette: dict[str, str], here: bool = False) -> Any:
    """The figure with colour names ("C0", "ink") replaced by the palette's colours, where a colour stands.

    here: whether this node is a colour, or a list of them. Anywhere else "C0" may be a category and "grid" a title.
    """
    if isinstance(node, dict):
        return {key: coloured(value, palette, bool(_COLOUR.search(key))) for key, value in node.items()}
    if isinstance(node, list):
        return [coloured(value, palette, here) for value in node]
    return palette.get(node, node) if here and isinstance(node, str) else node


def table(figure: dict) -> str:
    """The figure's data as HTML tables; traces over the same x share one, a grid has its own; no x and y, no table."""
    parts: list[tuple] = []  # what traces share, caption, header, columns
    for index, trace in enumerate(figure["data"]):
        x, y, z = (trace.get(key) for key in "xyz")
        if trace.get("hoverinfo") == "skip" or x is None or y is None or _is_nested(x) or _is_nested(y):
            continue
        x_title, y_title = (_axis_title(figure, trace, key) for key in "xy")
        name = plain(str(trace.get("name") or f"series {index + 1}"))
        if trace.get("type") in GRIDS or ("drawn" in figure and z is not None):
            if z is None:
                continue
            x, y = ((v[:-1] + v[1:]) / 2 if len(v) > count else v for v, count in zip((x, y), z.shape[::-1]))
            x, y, shown = cells(x, apart=True), cells(y, apart=True), iter(cells(z.T.ravel()))
            columns = [[next(shown) for _ in y] for _ in x]
            caption = f"{name}: {_axis_title(figure, trace, 'z')}"
            parts.append((None, caption, [f"{y_title} ↓ {x_title} →", *x], [y, *columns]))
            continue
        flat = [y] if z is None else [y, z]
        if any(len(values) != len(x) for values in flat):
            continue
        x = cells(x, apart=True)
        if not parts or parts[-1][0] != (x_title, x):
            parts.append(((x_title, x), None, [x_title], [x]))
        for key, values in zip("yz", flat):
            parts[-1][2].append(f"{name}: {_axis_title(figure, trace, key)}")
            parts[-1][3].append(cells(values))
    return "".join(
        "<table>"
        + (f"<caption>{html.escape(caption)}</caption>" if caption else "")
        + "<thead><tr>"
        + "".join(f'<th scope="col">{html.escape(title)}</th>' for title in header)
        + "</tr></thead><tbody>"
        + "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in zip(*columns))
        + "</tbody></table>"
        for _, caption, header, columns in parts
    )


def _axis_title(figure: dict, trace: dict, key: str) -> str:
    """The title of a trace's axis; a grid's z is named by its scene or its colour bar."""
    layout = figure["layout"]
    if trace.get("type") == "surface":
        axis = layout["scene"].get(f"{key}axis", {})
    elif key == "z":
        axis = trace.get("colorbar", {})
    else:
        axis = layout.get(f"{key}axis{trace.get(f'{key}axis', key)[1:]}", {})
    return plain(axis.get("title", {}).get("text") or key)
