"""Live: the writer beside a kernel, where torch computes."""

import html
from importlib.util import find_spec

import torch

from ...measure import switches
from ...nets.pretrained import pretrained
from ..live import HERE, Panel, joined, styles

VIEWS = 4  # whose text is remembered


class Live(Panel):
    """Answers to {id, view, begin, skip, branch}: the text so far with one token more, and whether it has ended.

    begin: words to go on from; without them the view's text goes on. Without a view the model is loaded.
    """

    _esm = joined(HERE / "built" / "writer-widget.js")
    _css = styles("writer")

    def __init__(self, markup, net="smollm2", prompt="", wrote=""):
        what, text = "A language model, and a switch on each of its additions.", prompt + wrote
        shown = f"<p>{'Whole, it writes' if wrote else 'It goes on from'}: {html.escape(text)}</p>\n"
        super().__init__(markup, what, text, "To switch, run the notebook up to here.", shown=shown)
        self.net, self.gates = net, None
        self.views = {}  # to the tokens to be read next, what attention keeps of those before, and those written

    def asked(self, id, view, begin, skip, branch):
        if missing := [name for name in ("accelerate", "gguf", "transformers") if not find_spec(name)]:
            raise ImportError(f'{" and ".join(missing)} not installed; pip install "plusx[model]" brings it')
        from transformers import DynamicCache

        model, tokenizer = pretrained(self.net)
        if not view:
            return {}
        if begin:
            self.views = dict([*self.views.items()][1 - VIEWS :])
            self.views[view] = tokenizer(begin, return_tensors="pt").input_ids, DynamicCache(), []
        given, past, written = self.views[view]
        self.gates = self.gates or switches(model, given)
        self.gates.skip, self.gates.branch = torch.tensor(skip), torch.tensor(branch)
        with torch.no_grad(), self.gates:
            best = model(given, past_key_values=past).logits[0, -1].argmax()
        ended = best.item() == tokenizer.eos_token_id
        written = written if ended else [*written, best.item()]
        self.views[view] = best.view(1, 1), past, written
        return {"text": tokenizer.decode(written), "ended": ended}
