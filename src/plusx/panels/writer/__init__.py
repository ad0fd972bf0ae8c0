"""The writer: a language model that goes on from any words, with any of its skips cut and any of its branches out.

Here lives `writer`, the one name a chapter imports. Live, torch computes; in a page that brings the model along,
onnxruntime-web does, with the same weights. A page that does not shows what was kept of it.
"""

import os

from ..live import open_door
from .live import Live
from .page import LAYERS, markup


def writer(prompt, texts=None, net="smollm2"):
    """Show a model of `plusx.nets.pretrained` with a switch on each skip and branch; it writes its likeliest words.

    prompt: what it first goes on from. texts: what it wrote then, to be shown without the model: {(): the whole
        model's, ("attention", "skip", 3): with that one cut, ...}. net: "smollm2", or beside a kernel "gemma".

    ValueError: there are texts, and not the whole model's; no such net writes, or in a page that one does not.
    """
    texts, static = texts or {(): ""}, os.environ.get("PLUSX_EXPLORE") == "static"
    if () not in texts:
        raise ValueError(f"writer: texts has {len(texts)} keys, and not (); that is what the whole model wrote.")
    if net not in (nets := ["smollm2"] if static else [*LAYERS]):
        raise ValueError(f"writer: {net!r} does not write here; expected one of {', '.join(nets)}.")
    page = markup(prompt, texts, layers=LAYERS[net])
    open_door(lambda: page, lambda: Live(page, net, prompt, texts[()]))
