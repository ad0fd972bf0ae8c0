"""Static: an explorer as one HTML fragment with native controls, for a page without a kernel.

Here lives the markup. The behaviour is in explore.js, the looks are in explore.css.
"""

import html
import json

from .controls import Control, ExploreError
from .figures import table
from .legend import for_page, legend
from .states import Explorer
from .still import still

# What each of plotly's bundles draws, smallest first.
_BUNDLES = {
    "basic": {"scatter", "bar"},
    "cartesian": {"scatter", "bar", "heatmap", "contour"},
    "gl3d": {"scatter", "surface"},
}
_shown: set[str] = set()


def fragment(explorer: Explorer) -> str:
    """The explorer's HTML: controls, result line, still picture, data table and all states."""
    if explorer.name in _shown:
        raise ExploreError(
            f"explore: two explorers in this chapter are called '{explorer.name}'. "
            "Rename one: the name is its link and tells them apart."
        )
    _shown.add(explorer.name)
    results = [
        (title, {**for_page(figure), "legend": legend(figure, turns=True)}) for title, figure in explorer.tabulate()
    ]
    payload = explorer.payload(results)
    title, figure = results[explorer.states.index(explorer.start)]
    types = {trace.get("type", "scatter") for _, each in results for trace in each["data"]}
    bundle = next((name for name, drawn in _BUNDLES.items() if types <= drawn), None)
    if bundle is None:
        mixed = ", ".join(sorted(types))
        raise ExploreError(f"explore: {explorer.name} mixes {mixed}, which no bundle of plotly draws. Split it in two.")
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
