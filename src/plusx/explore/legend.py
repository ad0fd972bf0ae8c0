"""Legend: what a figure's lines, markers and colours stand for, as HTML beside the picture.

plotly's own takes a third of every redraw, so no picture of ours has one: `for_page` leaves it out, `legend` writes it.
"""

import html

from matplotlib.colors import to_hex

from .controls import ExploreError
from .figures import COLOURS, FLAT, GRIDS, NEUTRALS
from .numbers import cells
from .still import colours, corners, limits, outline
from .words import tagged

_DASHES = {"dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 4", "longdashdot": "11 3 2 3"}
_RADIUS = 4  # of a marker, in pixels


def for_page(figure: dict) -> dict:
    """The normalised figure without plotly's legend and colour scales, and without the room for them."""
    if "drawn" in figure:
        return figure
    data = [{**trace, "showscale": False} if trace.get("type") in GRIDS else trace for trace in figure["data"]]
    layout = {**figure["layout"], "showlegend": False}
    flat = all(trace.get("type", "scatter") in FLAT for trace in data)
    notes = layout.get("annotations", ())
    above = any(str(n.get("yref")).endswith(("paper", "domain")) and n.get("y", 0) >= 1 for n in notes)
    if flat and not above:  # what else may stand above the plot keeps the room for it
        layout["margin"] = {**layout["margin"], "t": 12}
    return {**figure, "data": data, "layout": layout}


def legend(figure: dict, turns: bool = False) -> str:
    """The legend of a normalised figure: a swatch and a name for each trace, a bar for each scale of colours.

    turns: whether the reader can turn a scene, and is told so.
    """
    if "drawn" in figure:
        return ""
    entries = [
        f"<span>{_swatch(trace, f'C{index % len(COLOURS)}')} {tagged(str(trace['name']))}</span>"
        for index, trace in enumerate(figure["data"])
        if trace.get("name")
        and trace.get("showlegend", True)
        and trace.get("visible", True) is True
        and trace.get("type") not in GRIDS
    ]
    shown = figure["layout"].get("showlegend", len(entries) > 1)
    grids = [trace for trace in figure["data"] if trace.get("type") in GRIDS]
    scales = [_scale_bar(trace) for trace in grids if trace.get("showscale", True)]
    hint = "<span>Drag the picture to turn it.</span>" if turns and "scene" in figure["layout"] else ""
    return "".join(entries if shown else []) + "".join(scales) + hint


def _scale_bar(trace: dict) -> str:
    """A grid's colours from its least to its greatest value."""
    low, high = limits(trace)
    bar = trace.get("colorbar", {})
    ends = bar.get("ticktext") or [end.replace("-", "−") for end in cells([low, high])]
    name = tagged(str(bar.get("title", {}).get("text") or trace.get("name") or "z"))
    given = trace.get("colorscale")
    fills = [_between(given, i / 24) if isinstance(given, list) else to_hex(colours(trace)(i / 24)) for i in range(25)]
    fills = fills[::-1] if isinstance(given, list) and trace.get("reversescale") else fills
    bands = "".join(f'<rect x="{4 * i}" width="4.5" height="12" style="fill:{fill}"/>' for i, fill in enumerate(fills))
    return (
        f"<span>{name}: {html.escape(str(ends[0]))} "
        f'<svg viewBox="0 0 100 12" width="100" height="12" aria-hidden="true">{bands}</svg> '
        f"{html.escape(str(ends[-1]))}</span>"
    )


def _between(scale: list, at: float) -> str:
    """The colour at a place, from 0 to 1, of a list of [place, colour]."""
    (low, below), (high, above) = next(pair for pair in zip(scale, scale[1:]) if at <= pair[1][0])
    return f"color-mix(in srgb, {_css(above)} {100 * (at - low) / (high - low):.0f}%, {_css(below)})"


def _swatch(trace: dict, colour: str) -> str:
    """How a trace looks, 30 by 12 pixels. colour: what plotly gives it by its place."""
    line, marker, mode = trace.get("line", {}), trace.get("marker", {}), trace.get("mode", "lines")
    drawn = ""
    if trace.get("type") == "bar":
        drawn = f'<rect x="8" width="14" height="12" fill="{_css(marker.get("color", colour))}"/>'
    elif "lines" in mode:
        stroke = _css(line.get("color", marker.get("color", colour)))
        width, dash = min(line.get("width", 2), 4), _DASHES.get(line.get("dash"), "none")
        drawn = f'<path d="M0 6h30" stroke="{stroke}" stroke-width="{width}" stroke-dasharray="{dash}"/>'
    if "markers" in mode:
        drawn += _marker(trace, line.get("color", colour))
    return f'<svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true">{drawn}</svg>'


def _marker(trace: dict, colour: str) -> str:
    """The marker of a trace's first point, in the middle of its swatch."""
    symbol = trace.get("marker", {}).get("symbol", "circle")
    try:
        places, is_open = corners(symbol if isinstance(symbol, str) else symbol[0])
    except ExploreError:  # plotly draws it; its colour is what tells it apart here
        places, is_open = None, False
    fill, edge, width = outline(trace, colour, is_open)
    look = f'fill="{_css(fill)}"'
    if width:
        look += f' stroke="{_css(edge)}" stroke-width="{min(width, 2)}"'
    if places is None:
        return f'<circle cx="15" cy="6" r="{_RADIUS}" {look}/>'
    path = "L".join(f"{15 + _RADIUS * x:.2f} {6 - _RADIUS * y:.2f}" for x, y in places)
    return f'<path d="M{path}Z" {look}/>'


def _css(colour) -> str:
    """A colour as an attribute takes it; one that differs from point to point is muted."""
    if not isinstance(colour, str):
        colour = "muted"
    return f"var(--px-{colour})" if colour in (*COLOURS, *NEUTRALS) else html.escape(colour)
