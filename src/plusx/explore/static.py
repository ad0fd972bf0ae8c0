"""Static: an explorer's HTML, and all of it that a page without a kernel needs.

Here lives the markup. The behaviour is in js/, the looks are in explore.css.
"""

import html
import json
import re

from ..sphinx.markup import opening, states
from .controls import Control, ExploreError
from .drawn import known_as, named, row, sides
from .figures import table
from .legend import for_page, legend
from .numbers import spared
from .states import Explorer
from .still import still
from .words import plain, tagged

# What each of plotly's bundles draws, smallest first; anything else wants plotly "whole".
_BUNDLES = {
    "basic": {"scatter", "bar"},
    "cartesian": {"scatter", "bar", "heatmap", "contour"},
    "gl3d": {"scatter", "surface"},
}
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')  # of a piece of a diagram


def fragment(explorer: Explorer) -> str:
    """The explorer's HTML for a page: its markup, two still pictures and all states."""
    results = spared([(title, as_seen(figure)) for title, figure in explorer.tabulate()])
    payload = explorer.payload(results)
    title, figure = results[explorer.states.index(explorer.start)]
    kinds = {each.get("drawn", "") for _, each in results}
    if len(kinds) > 1:
        raise ExploreError(f"explore: {explorer.name} is drawn in some states and not in others. Split it in two.")
    types = {trace.get("type", "scatter") for _, each in results for trace in each["data"]}
    bundle = next((name for name, drawn in _BUNDLES.items() if types <= drawn), "whole")
    looks = [("wide", 720), ("narrow", 360)]
    stills = "\n".join(still_picture(explorer, figure, *look) for look in (looks[:1] if kinds != {""} else looks))
    drawer = known_as(figure) or {"data_bundle": bundle}
    tag = opening("explore", id=f"explore-{explorer.name}", data_name=explorer.name, **drawer)
    longest = max((title for title, _ in results), key=len)
    rooms = dict.fromkeys(_room(each) for _, each in results if kinds == {""})
    return markup(explorer, tag, title, figure, stills, f"{states(payload)}\n", longest, [*rooms])


def _room(figure: dict) -> str:
    """The pieces of a figure's diagram without what is in them: they take as much room, on any page."""
    sizes = [_SIZE.search(piece["html"]).groups() for piece in figure.get("diagram", ())]
    return "".join(f'<svg class="px-piece" width="{w}" height="{h}" viewBox="0 0 {w} {h}"></svg>' for w, h in sizes)


def as_seen(figure: dict) -> dict:
    """A normalised figure as every view gets it: what plotly draws, and the legend beside it."""
    return {**for_page(figure), "legend": legend(figure, turns=True)}


def still_picture(explorer: Explorer, figure: dict, look: str, width: int) -> str:
    """The first picture, for a "wide" or a "narrow" page; words where plotly draws what matplotlib does not."""
    try:
        drawn = still(figure, width, f"{explorer.name}-{look[0]}")
    except (ExploreError, ValueError, TypeError, ArithmeticError):  # the last three are matplotlib's
        drawn = "<p>This picture needs JavaScript; its result stands above it, and its data below.</p>"
    return f'<div class="px-still px-{look}">{drawn}</div>'


def markup(explorer: Explorer, tag: str, title: str, figure: dict, stills: str, end="", longest="", rooms=()) -> str:
    """The explorer's HTML in the state it opens in, the same in a page and in a notebook.

    tag: begins it. figure: from `as_seen`. stills: HTML of the first picture. end: comes last. longest: of all titles,
    whose room is kept, as those of all diagrams, `rooms`.
    """
    pieces = "".join(piece["html"] for piece in figure.get("diagram", ()))
    controls = "\n".join(_markup(index, control, pieces) for index, control in enumerate(explorer.controls))
    room = f' data-room="{html.escape(longest)}"' if longest else ""
    diagram = f'<div class="px-diagram">{pieces}</div>\n' if pieces else ""
    if len(rooms) > 1:
        rooms = "".join(f'<div class="px-diagram">{room}</div>' for room in rooms)
        diagram = f'<div class="px-rooms">{diagram}{rooms}</div>'
    words = html.escape(f"{plain(title)}. {figure['words']}" if "drawn" in figure else plain(title))
    picture = f"""<div class="px-figure" role="{"group" if "drawn" in figure else "img"}" aria-label="{words}" \
style="height:{figure["layout"]["height"]}px">
{stills}
<div class="px-plot"></div>
{named(figure) if "drawn" in figure else ""}</div>
"""
    result = f'<p class="px-result" role="status"{room}>{_weighed(title)}</p>\n'
    above = ""
    if "drawn" in figure:  # its wire stands under it, its words above all: as it comes, nothing in sight moves
        picture, diagram = picture + diagram.replace(">", f"{row(figure)}>", 1) + sides(figure), ""
        above, result = result, ""
    return f"""{tag}
{above}<div class="px-controls">
<fieldset disabled><legend>{html.escape(explorer.question)}</legend>
{diagram}{controls}
<div class="px-actions"><button type="button" class="px-pin" aria-pressed="false">Pin</button>
<button type="reset">Reset</button>
<a class="px-link" href="#explore-{html.escape(explorer.name)}">Link to this state</a></div>
</fieldset></div>
<noscript><p class="px-message">The controls need JavaScript.
The picture and the data below show the state they start in.</p></noscript>
<p class="px-message" role="alert" hidden></p>
{result}{picture}<p class="px-legend">{figure["legend"]}</p>
<details class="px-data"><summary>Data of this picture</summary>
<div class="px-table" role="region" aria-label="Data: {html.escape(explorer.title)}" tabindex="0">
{table(figure)}</div></details>
{end}</div>"""


def _weighed(title: str) -> str:
    """A title whose first sentence is read first: what else it says and its intervals are small, as in js/tables.js."""
    first, rest = re.match(r"(.*?(?:\.(?= [A-Z])|$))(.*)$", title, re.S).groups()
    first = re.sub(r"\([^()]* to [^()]*\)", r"<small>\g<0></small>", tagged(first))
    return f"{first}<small>{tagged(rest)}</small>"


def _markup(index: int, control: Control, pieces: str) -> str:
    title, labels = html.escape(control.title), [html.escape(label) for label in control.labels]
    # The script gives the names, and makes a form of it all. Without one, radios of one name would be one group in all
    # explorers of a page; and each form of a page costs time once it has loaded: browsers look for passwords in it.
    key = f'data-name="{html.escape(control.name)}" data-control="{index}"'
    listed = html.escape(json.dumps(control.labels, ensure_ascii=False), quote=False).replace("'", "&#x27;")
    listed = f" data-labels='{listed}'"
    if control.kind == "switch":
        checked = " checked" if control.start else ""
        drawn = " px-twice" if f'data-set="{html.escape(control.name)}"' in pieces else ""  # and can be pressed there
        return f'<label class="px-switch{drawn}"><input type="checkbox" role="switch" {key}{checked}> {title}</label>'
    if control.kind == "radio":
        options = "".join(
            f'<label><input type="radio" value="{i}" {key}{"" if i else listed}'
            f"{' checked' if i == control.start else ''}><span>{label}</span></label>"
            for i, label in enumerate(labels)
        )
        return f'<fieldset class="px-radio"><legend>{title}</legend>{options}</fieldset>'
    if control.kind == "slider":
        shown = labels[control.start].replace("-", "−")
        return (
            f'<label class="px-slider"><span>{title}</span> <input type="range" min="0" max="{len(labels) - 1}" '
            f'value="{control.start}" aria-valuetext="{labels[control.start]}" {key}{listed}>'
            f' <span class="px-value" style="min-width:{max(map(len, labels))}ch">{shown}</span>'
            "</label>"
        )
    options = "".join(
        f'<option value="{i}"{" selected" if i == control.start else ""}>{label}</option>'
        for i, label in enumerate(labels)
    )
    return f'<label class="px-select"><span>{title}</span> <select {key}{listed}>{options}</select></label>'
