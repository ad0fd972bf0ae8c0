"""The writer's markup, the same in a page and beside a kernel; js/writer.js lets its parts be pressed."""

import html

from ...explore.drawn import piece
from ..page import panel

LAYERS = {"smollm2": 30, "gemma": 18}  # of a model
PARTS = ("attention", "FFN")
EXAMPLE = ("attention", "skip", 5)  # what a button cuts


def markup(prompt, texts, layers=LAYERS["smollm2"]):
    """The HTML of a writer with all of its model whole, and what it wrote."""
    given, whole = html.escape(prompt), html.escape(texts[()].rstrip())
    setup = {"prompt": prompt, "texts": {" ".join(map(str, cut)): text.rstrip() for cut, text in texts.items()}}
    stage = f"""<div class="pn-stage">
<form class="pn-row"><label for="writer-prompt">It goes on from</label>\
<input type="text" id="writer-prompt" class="wr-prompt" value="{given}" maxlength="300" autocomplete="off">\
<button class="pn-load wr-go" disabled>Write</button></form>
<p class="wr-text" tabindex="0" role="group" aria-label="What it writes">\
<span class="wr-given">{given}</span><span class="wr-written">{whole}</span><span class="wr-rest"></span></p>
<noscript><p>With the skip around attention in layer 5 cut, it writes: <span class="wr-text">{given}\
{html.escape(texts.get(EXAMPLE, "").rstrip())}</span></p>\
</noscript>
<div class="pn-said"><p class="px-result" role="status">All skips and branches in place.</p>\
<progress max="1" hidden></progress></div>
<div class="pn-row"><button type="button" class="pn-load wr-whole" hidden>Cut one skip</button>\
<button type="button" class="wr-load" hidden>Load the model</button></div>
{"".join(wire(part, layers) for part in PARTS)}</div>
"""
    return panel("writer", setup | {"example": " ".join(map(str, EXAMPLE))}, stage, id="writer")


def wire(part, layers):
    """The additions of attention, or of the FFN: one a layer."""
    pieces = "".join(
        piece(layer, {kind: (f"{part} {kind}", {layer: (True, layer)}) for kind in ("skip", "branch")}, f"{part}, ")
        for layer in range(1, layers + 1)
    )
    return (
        f'<div class="wr-wire"><span class="wr-part">{part}</span><div class="px-diagram" data-part="{part}" '
        f'role="group" aria-label="{part}: a skip and a branch in each of {layers} layers">{pieces}</div></div>\n'
    )
