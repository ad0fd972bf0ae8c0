"""Live: the playground beside a kernel, whose questions torch answers."""

import torch

from ..live import HERE, Panel, joined, styles
from .page import answers, seen_first


class Live(Panel):
    """Answers to {id, net, tokens, switches}: n, how many tokens, and `Seen`."""

    _esm = joined(HERE / "built" / "playground-widget.js")
    _css = styles("playground")

    def __init__(self, nets, markup, presets):
        # The diagram has no still picture; what each preset does to the start input is the page's table, too.
        tables = answers(nets, presets, seen_first(nets, presets))
        what = "The playground: trained nets, and a switch on every skip, branch, norm and activation."
        shown = f"<p>Some settings and what they do:</p>\n{tables}\n"
        super().__init__(markup, what, "To switch, run the notebook up to this cell.", shown=shown)
        self.nets = nets

    def asked(self, id, net, tokens, switches):
        self.nets[net].check(switches, "the page's setting")
        with torch.no_grad():
            return {"n": len(tokens), **self.nets[net].look(torch.tensor(tokens), switches)._asdict()}
