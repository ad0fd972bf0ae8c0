"""Saved: what a notebook's file keeps of an explorer, for readers without a kernel.

Here live its text and its HTML, which stand beside the widget in one MIME bundle: GitHub, nbviewer, nbconvert, VS Code
and JupyterLab show them where the widget has no model. It is the state the explorer opens in, whatever is switched.
"""

import base64
import html
import json
import re

from .controls import ExploreError
from .figures import table
from .legend import for_page, legend
from .states import Explorer
from .still import still
from .words import plain, tagged

# A notebook's theme is not known to the kernel: these have 3:1 or more on white and on near black.
PALETTE = {
    "C0": "#0a78bd",
    "C1": "#d55e00",
    "C2": "#0baa53",
    "C3": "#b67a92",
    "C4": "#786954",
    "C5": "#8b88f4",
    "ink": "#767676",
    "muted": "#8a8a8a",
    "grid": "rgba(128,128,128,0.25)",
    "page": "#ffffff",
}
WIDTH = 720  # pixels
_NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
# A widget that was loaded is an element of its output. Where it loads, has failed, or waits for a kernel, the output is
# a line of text; in nbconvert's page, which has a CDN for widgets, two scripts. That is hidden, and after a second, in
# which the widget may still come, our HTML is shown.
_WIDGET = "> .jp-OutputArea-output > :not(script, .widget-subarea:empty)"
_TEXT = f".jp-OutputArea-child:not(:has({_WIDGET})):has(+ .jp-OutputArea-child .px-kept)"
_STYLE = f"""{_TEXT} {{ display: none }}
{_TEXT} + * .px-kept {{ display: block !important; max-height: 0; overflow: hidden; animation: px-kept 0s 1s forwards }}
@keyframes px-kept {{ to {{ max-height: none }} }}"""
# Of the figures that we draw, as explore.css has them in a page.
_MIX = "color-mix(in oklch decreasing hue, var(--px-C1) var(--px-at), var(--px-C0))"
_DRAWN = f"""<style>path {{ fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linecap: round }}
.px-layer {{ stroke: var(--px-grid); stroke-width: 1 }} .px-zero {{ stroke: var(--px-muted); stroke-width: 1 }}
.px-run {{ stroke: var(--px-muted); stroke-dasharray: 2 3 }}
.px-threads, .px-fold, .px-dot {{ stroke: {_MIX} }} .px-fold {{ stroke-width: 1.1 }} .px-dot {{ stroke-width: 15 }}
.px-wedge, .px-step {{ fill: {_MIX} }} .px-wedge {{ opacity: 0.35 }} .px-river {{ fill: var(--px-C5) }}
text {{ font: 15px sans-serif; fill: var(--px-ink) }}</style>"""
_HOW = "To switch, run the notebook up to this cell."


def show(widget):
    """Display a widget, and a script with the HTML that it has `kept`, hidden for as long as the widget is there.

    A notebook from elsewhere needs no second HTML: without a kernel JupyterLab and Notebook 7 show the first in place
    of the widget. In a notebook that was run there they say only that the widget loads, or that its model is not found;
    and there alone they run scripts. What makes Markdown or HTML of a notebook for GitHub leaves the script out.
    """
    from IPython.display import display

    display(widget)
    page = f'<style>{_STYLE}</style>\n<div class="px-kept" style="display: none">\n{widget.kept["text/html"]}\n</div>'
    script = f"element.innerHTML = {json.dumps(page)};".replace("</", r"<\/")
    display({"application/javascript": script, "text/plain": ""}, raw=True)


def saved(explorer: Explorer, start: tuple[str, dict] | ExploreError) -> dict[str, str]:
    """MIME type to content. start: title and figure of the start state, or why it has none."""
    state = ", ".join(f"{c.title}: {c.labels[c.start]}" for c in explorer.controls)
    if isinstance(start, ExploreError):
        text = f"{explorer.title}, at its start ({state}), has no result. {start}"
        return {"text/plain": text, "text/html": f"<p>{html.escape(text)}</p>"}
    title, figure = start
    what = f"The explorer “{explorer.title}” at its start ({state})."
    return {
        "text/plain": f"{plain(title)}\n{what} {_HOW}",
        "text/html": f"<p><strong>{tagged(title)}</strong></p>\n{_picture(title, figure)}\n"
        f"<details><summary>Data of this picture</summary>{table(figure)}</details>\n"
        f"<p>{html.escape(what)} {_HOW}</p>",
    }


def _picture(title: str, figure: dict) -> str:
    """Legend and picture, or a sentence on why there is none: the widget draws more than matplotlib is told here."""
    height = figure["layout"]["height"]
    try:
        words, drawn = legend(figure), still(for_page(figure), WIDTH, "p")
    except Exception as error:
        return f"<p>No picture was saved. {html.escape(f'{type(error).__name__}: {error}')}</p>"
    if words:
        words = "<p>" + re.sub("<svg .*?</svg>", lambda swatch: _image(swatch[0], 'alt=""'), words) + "</p>\n"
    if "drawn" in figure:
        size = f'width="{WIDTH}" height="{height}"'
        drawn = drawn.replace("<svg ", f"<svg {size} ", 1).replace(">", f">{_DRAWN}", 1)
    look = f'alt="{html.escape(plain(title))}" width="{WIDTH}" height="{height}" style="max-width:100%;height:auto"'
    return f"{words}<p>{_image(drawn, look)}</p>"


def _image(svg: str, attributes: str) -> str:
    """The SVG as a picture of its own: what cleans a stranger's HTML keeps an img and drops an svg."""
    svg = re.sub(r"var\(--px-(\w+)\)", lambda name: PALETTE.get(name[1], name[0]), svg)
    code = base64.b64encode(svg.replace("<svg ", f"<svg {_NAMESPACES} ", 1).encode()).decode()
    return f'<img {attributes} src="data:image/svg+xml;base64,{code}">'
