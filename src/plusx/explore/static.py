"""Static: an explorer as one HTML fragment with native controls, for a page without a kernel.

Here lives the markup. The behaviour is in explore.js, the looks are in explore.css.
"""

import html
import json

from .controls import Control, ExploreError
from .figures import COLOURS, NEUTRALS, table
from .states import Explorer
from .still import still

# The smallest plotly bundle that draws a trace type; a page loads the largest one it needs.
_BUNDLES = {"scatter": "basic", "bar": "basic", "pie": "basic"}
_shown: set[str] = set()


def fragment(explorer: Explorer) -> str:
    """The explorer's HTML: controls, result line, still picture, data table and all states."""
    if explorer.name in _shown:
        raise ExploreError(
            f"explore: two explorers in this chapter are called '{explorer.name}'. "
            "Rename one: the name is its link and tells them apart."
        )
    _shown.add(explorer.name)
    results = [(title, for_page(figure)) for title, figure in explorer.tabulate()]
    payload = explorer.payload(results)
    title, figure = results[explorer.states.index(explorer.start)]
    types = {trace.get("type", "scatter") for _, each in results for trace in each["data"]}
    bundle = "basic" if all(kind in _BUNDLES for kind in types) else "cartesian"
    name = html.escape(explorer.name)
    controls = "\n".join(_markup(explorer.name, index, control) for index, control in enumerate(explorer.controls))
    figure_tag = f'<div class="px-figure" role="img" aria-label="{html.escape(title)}"'
    return f"""<div class="plusx-explore" id="explore-{name}" data-name="{name}" data-bundle="{bundle}">
<form class="px-controls" autocomplete="off">
<fieldset disabled><legend>{html.escape(explorer.title)}</legend>
{controls}
<div class="px-actions"><button type="reset">Reset</button>
<a class="px-link" href="#explore-{name}">Link to this state</a></div>
</fieldset></form>
<noscript><p class="px-message">The controls need JavaScript.
The picture and the data below show the state they start in.</p></noscript>
<p class="px-message" role="alert" hidden></p>
<p class="px-result" role="status">{html.escape(title)}</p>
<p class="px-legend">{figure["legend"]}</p>
{figure_tag} style="height:{figure["layout"]["height"]}px">
<div class="px-still px-wide">{still(figure, 720, f"{name}-w")}</div>
<div class="px-still px-narrow">{still(figure, 360, f"{name}-n")}</div>
<div class="px-plot"></div>
</div>
<details class="px-data"><summary>Data of this picture</summary>
<div class="px-table" role="region" aria-label="Data: {html.escape(explorer.title)}" tabindex="0">
{table(figure)}</div></details>
<script type="text/plain" class="px-states">{payload}</script>
</div>"""


def for_page(figure: dict) -> dict:
    """The figure as the page draws it: the legend is HTML, since plotly's takes a third of every redraw."""
    entries = [
        f"<span>{_swatch(trace, f'C{index % len(COLOURS)}')} {html.escape(trace['name'])}</span>"
        for index, trace in enumerate(figure["data"])
        if trace.get("name") and trace.get("showlegend", True) and trace.get("visible", True) is True
    ]
    layout = figure["layout"]
    shown = layout.get("showlegend", len(entries) > 1)
    layout = {**layout, "showlegend": False, "margin": {**layout["margin"], "t": 12}}
    return {**figure, "layout": layout, "legend": "".join(entries) if shown else ""}


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


def _markup(explorer: str, index: int, control: Control) -> str:
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
            f' <output style="min-width:{max(map(len, labels))}ch">{labels[control.start]}</output></label>'
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
