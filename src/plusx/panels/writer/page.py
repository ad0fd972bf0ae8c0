"""The writer's markup, the same in a page and beside a kernel; js/writer.js lets its parts be pressed."""

import html
import json

from ...explore.drawn import piece
from ...explore.static import opening

LAYERS = 30  # of the model
PARTS = ("attention", "FFN")


def markup(prompt, texts):
    """The HTML of a writer with all of its model whole, and what it wrote."""
    given, whole = html.escape(prompt), html.escape(texts[()].rstrip())
    setup = {"prompt": prompt, "texts": {" ".join(map(str, cut)): text.rstrip() for cut, text in texts.items()}}
    data = json.dumps(setup, separators=(",", ":")).replace("<", "\\u003c")
    wires = "".join(wire(part) for part in PARTS)
    return f"""{opening("writer", id="writer")}
<div class="pn-stage">
<form class="pn-row"><label for="writer-prompt">It goes on from</label>\
<input id="writer-prompt" class="wr-prompt" value="{given}" maxlength="300" autocomplete="off">\
<button class="pn-load wr-go" disabled>Write</button></form>
<p class="wr-text" tabindex="0" role="group" aria-label="What it writes"><span class="wr-given">{given}</span>\
<span class="wr-written">{whole}</span></p>
<div class="pn-said"><p class="px-result" role="status">All sixty skips and sixty branches in place.</p>\
<progress max="1" hidden></progress></div>
<div class="pn-row"><button type="button" class="wr-whole">All whole</button>\
<button type="button" class="wr-load" hidden>Load the model</button></div>
{wires}</div>
<script type="application/json" class="wr-setup">{data}</script>
</div>"""


def wire(part):
    """The additions of attention, or of the FFN: one a layer."""
    pieces = "".join(
        piece(layer, {kind: (f"{part} {kind}", {layer: (True, layer)}) for kind in ("skip", "branch")}, f"{part}, ")
        for layer in range(1, LAYERS + 1)
    )
    return (
        f'<div class="wr-wire"><span class="wr-part">{part}</span><div class="px-diagram" data-part="{part}" '
        f'role="group" aria-label="{part}: a skip and a branch in each of {LAYERS} layers">{pieces}</div></div>\n'
    )
