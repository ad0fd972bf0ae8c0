"""The writer: a language model that goes on from any words, with any of its skips cut and any of its branches out.

Here lives `writer`, the one name a chapter imports. Live, torch computes; in a page that brings the model along,
onnxruntime-web does, with the same weights. A page that does not shows what was kept of it.
"""

import os

from ...explore.saved import show
from .live import Live, saved
from .page import markup

__all__ = ["writer"]


def writer(prompt, texts):
    """Show the model of `plusx.nets.pretrained` with a switch on each skip and branch; it writes its likeliest words.

    prompt: what it first goes on from. texts: what it wrote then, to be shown without the model: {(): the whole
        model's, ("attention", "skip", 3): with that one cut, ...}.

    ValueError: the whole model's text is not there.
    """
    if () not in texts:
        raise ValueError(f"writer: texts has {len(texts)} keys, and not (); that is what the whole model wrote.")
    page = markup(prompt, texts)
    if os.environ.get("PLUSX_EXPLORE") == "static":
        from IPython.display import HTML, display

        display(HTML(page))
    else:
        live = Live(page)
        live.kept = saved(prompt, texts)
        show(live)
