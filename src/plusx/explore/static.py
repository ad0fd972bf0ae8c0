"""Static: an explorer's HTML, and all of it that a page without a kernel needs.

Here lives the markup. The behaviour is in explore.js, the looks are in explore.css.
"""

import html
import json

from matplotlib.colors import to_hex

from ..markup import opening, states
from .controls import Control, ExploreError
from .figures import COLOURS, NEUTRALS, number, table
from .states import Explorer
from .still import colours, limits, still

# What each of plotly's bundles draws, smallest first.
_BUNDLES = {
    "basic": {"scatter", "bar"},
    "cartesian": {"scatter", "bar", "heatmap", "contour"},
    "gl3d": {"scatter", "surface"},
}


def fragment(explorer: Explorer) -> str:
    """The explorer's HTML for a page: its markup, two still pictures and all states."""
    results = [(title, for_page(figure)) for title, figure in explorer.tabulate()]
    payload = explorer.payload(results)
    title, figure = results[explorer.states.index(explorer.start)]
    types = {trace.get("type", "scatter") for _, each in results for trace in each["data"]}
    bundle = next((name for name, drawn in _BUNDLES.items() if types <= drawn), None)
    if bundle is None:
        mixed = ", ".join(sorted(types))
        raise ExploreError(f"explore: {explorer.name} mixes {mixed}, which no bundle of plotly draws. Split it in two.")
    stills = "\n".join(still_picture(explorer, figure, look, width) for look, width in (("wide", 720), ("narrow", 360)))
    tag = opening("explore", id=f"explore-{explorer.name}", data_name=explorer.name, data_bundle=bundle)
    return markup(explorer, tag, title, figure, stills, f"{states(payload)}\n")


def still_picture(explorer: Explorer, figure: dict, look: str, width: int) -> str:
    """The first picture, for a "wide" or a "narrow" page."""
    return f'<div class="px-still px-{look}">{still(figure, width, f"{explorer.name}-{look[0]}")}</div>'


def markup(explorer: Explorer, tag: str, title: str, figure: dict, stills: str, end: str = "") -> str:
    """The explorer's HTML in the state it opens in, the same in a page and in a notebook.

    tag: begins it. figure: as `for_page` makes it. stills: HTML of the first picture. end: comes last.
    """
    controls = "\n".join(_markup(index, control) for index, control in enumerate(explorer.controls))
    pieces = "".join(piece["html"] for piece in figure.get("diagram", ()))
    diagram = f'<div class="px-diagram">{pieces}</div>\n' if pieces else ""
    figure_tag = f'<div class="px-figure" role="img" aria-label="{html.escape(title)}"'
    return f"""{tag}
<form class="px-controls" autocomplete="off">
<fieldset disabled><legend>{html.escape(explorer.title)}</legend>
{diagram}{controls}
<div class="px-actions"><button type="button" class="px-pin" aria-pressed="false">Pin</button>
<button type="reset">Reset</button>
<a class="px-link" href="#explore-{html.escape(explorer.name)}">Link to this state</a></div>
</fieldset></form>
<noscript><p class="px-message">The controls need JavaScript.
The picture and the data below show the state they start in.</p></noscript>
<p class="px-message" role="alert" hidden></p>
<p class="px-result" role="status">{html.escape(title)}</p>
<p class="px-legend">{figure["legend"]}</p>
{figure_tag} style="height:{figure["layout"]["height"]}px">
{stills}
<div class="px-plot"></div>
</div>
<details class="px-data"><summary>Data of this picture</summary>
<div class="px-table" role="region" aria-label="Data: {html.escape(explorer.title)}" tabindex="0">
{table(figure)}</div></details>
{end}</div>"""


def for_page(figure: dict) -> dict:
    """The figure as the page draws it: the legend is HTML, since plotly's takes a third of every redraw."""
    entries = [
        f"<span>{_swatch(trace, f'C{index % len(COLOURS)}')} {html.escape(trace['name'])}</span>"
        for index, trace in enumerate(figure["data"])
        if trace.get("name") and trace.get("showlegend", True) and trace.get("visible", True) is True
    ]
    layout, data = figure["layout"], figure["data"]
    shown = layout.get("showlegend", len(entries) > 1)
    legend = "".join(entries) if shown else ""
    for index, trace in enumerate(data):
        if trace.get("z") is not None:
            legend += _scale_bar(trace) if trace.get("showscale", True) else ""
            data = [*data[:index], {**trace, "showscale": False}, *data[index + 1 :]]
    if "scene" in layout:
        legend += "<span>Drag the picture to turn it.</span>"
    else:
        layout = {**layout, "margin": {**layout["margin"], "t": 12}}
    return {**figure, "data": data, "layout": {**layout, "showlegend": False}, "legend": legend}


def _scale_bar(trace: dict) -> str:
    """A grid's colours from its least to its greatest value."""
    low, high = limits(trace)
    bar, scale = trace.get("colorbar", {}), colours(trace)
    ends = bar.get("ticktext") or [number(low), number(high)]
    name = bar.get("title", {}).get("text") or trace.get("name") or "z"
    cells = "".join(f'<rect x="{4 * i}" width="4.5" height="12" fill="{to_hex(scale(i / 24))}"/>' for i in range(25))
    return (
        f"<span>{html.escape(name)}: {html.escape(str(ends[0]))} "
        f'<svg viewBox="0 0 100 12" width="100" height="12" aria-hidden="true">{cells}</svg> '
        f"{html.escape(str(ends[-1]))}</span>"
    )


def _swatch(trace: dict, colour: str) -> str:
    """How a trace looks, 30 by 12 pixels."""
    line, marker, mode = trace.get("line", {}), trace.get("marker", {}), trace.get("mode", "lines")
    colour = line.get("color", marker.get("color", colour))
    if not isinstance(colour, str):
        colour = "muted"
    if colour in (*COLOURS, *NEUTRALS):
        colour = f"var(--px-{colour})"
    dashes = {"dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 4", "longdashdot": "11 3 2 3"}
    dash = dashes.get(line.get("dash"), "none")
    drawn = ""
    if trace.get("type") == "bar":
        drawn = f'<rect x="8" width="14" height="12" fill="{html.escape(colour)}"/>'
    if "lines" in mode and not drawn:
        width = min(line.get("width", 2), 4)
        drawn = f'<path d="M0 6h30" stroke="{html.escape(colour)}" stroke-width="{width}" stroke-dasharray="{dash}"/>'
    if "markers" in mode:
        drawn += f'<circle cx="15" cy="6" r="4" fill="{html.escape(colour)}"/>'
    return f'<svg viewBox="0 0 30 12" width="30" height="12" aria-hidden="true">{drawn}</svg>'


def _markup(index: int, control: Control) -> str:
    title, labels = html.escape(control.title), [html.escape(label) for label in control.labels]
    key = f'name="{html.escape(control.name)}" data-control="{index}"'
    if control.kind == "switch":
        checked = " checked" if control.start else ""
        return f'<label class="px-switch"><input type="checkbox" role="switch" {key}{checked}> {title}</label>'
    if control.kind == "slider":
        return (
            f'<label class="px-slider"><span>{title}</span> <input type="range" min="0" max="{len(labels) - 1}" '
            f'value="{control.start}" aria-valuetext="{labels[control.start]}" '
            f'data-labels="{html.escape(json.dumps(control.labels))}" {key}>'
            f' <span class="px-value" style="min-width:{max(map(len, labels))}ch">{labels[control.start]}</span>'
            "</label>"
        )
    if control.kind == "radio":
        options = "".join(
            f'<label><input type="radio" value="{i}" {key}{" checked" if i == control.start else ""}>'
            f"<span>{label}</span></label>"
            for i, label in enumerate(labels)
        )
        return f'<fieldset class="px-radio"><legend>{title}</legend>{options}</fieldset>'
    options = "".join(
        f'<option value="{i}"{" selected" if i == control.start else ""}>{label}</option>'
        for i, label in enumerate(labels)
    )
    return f'<label class="px-select"><span>{title}</span> <select {key}>{options}</select></label>'
