"""Live: the playground beside a kernel, whose questions torch answers."""

import torch

from ..live import HERE, Panel, joined, styles
from .page import START, look_at, table


class Live(Panel):
    """Answers to {id, net, tokens, switches}: n, how many tokens, and `Seen`."""

    _esm = joined(HERE / "built" / "playground-widget.js")
    _css = styles("playground")

    def __init__(self, nets, markup):
        super().__init__(markup)
        self.nets = nets

    def asked(self, id, net, tokens, switches):
        self.nets[net].check(switches, "the page's setting")
        with torch.no_grad():
            return {"n": len(tokens), **self.nets[net].look(torch.tensor(tokens), switches)._asdict()}


def saved(nets, presets):
    """What a notebook's file keeps of the playground, for readers without a kernel: MIME type to content.

    The diagram has no still picture; what each preset does to the start input is the same table as in the book's page.
    """
    what = "The playground: trained nets, and a switch on every skip, branch, norm and activation."
    how = "To switch, run the notebook up to this cell."
    tables = "".join(
        table(net, name, presets, look_at(net, START[name]["start"], presets)) for name, net in nets.items()
    )
    return {
        "text/plain": f"{what} {how}",
        "text/html": f"<p><strong>{what}</strong></p>\n<p>Some settings and what they do:</p>\n{tables}\n<p>{how}</p>",
    }
