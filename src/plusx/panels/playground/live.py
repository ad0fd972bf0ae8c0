"""Live: the playground beside a kernel, an anywidget whose questions torch answers."""

from pathlib import Path

import anywidget
import torch
import traitlets

from ...nets.switched import Seen
from .page import START, look_at, table

HERE = Path(__file__).parent
EXPLORE, BUILT = HERE.parents[1] / "explore", HERE.parent / "built"
STYLES = EXPLORE / "explore.css", EXPLORE / "diagram.css", HERE / "playground.css"


def joined(paths) -> str:
    return "\n".join(path.read_text(encoding="utf8") for path in paths)


class Live(anywidget.AnyWidget):
    """The markup, and answers to {id, net, tokens, switches}: `Seen` in float32, one buffer a field.

    kept: what the notebook's file holds beside the widget, by MIME type.
    """

    _esm = joined([BUILT / "playground-widget.js"])
    _css = joined(STYLES)
    markup = traitlets.Unicode().tag(sync=True)
    kept: dict[str, str] = {}

    def __init__(self, nets, markup):
        super().__init__(markup=markup)
        self.nets = nets
        self.on_msg(lambda widget, content, buffers: self.answer(content))

    def _repr_mimebundle_(self, **how):
        view, metadata = super()._repr_mimebundle_(**how)
        return {**view, **self.kept}, metadata

    def answer(self, question):
        try:
            net, tokens = self.nets[question["net"]], torch.tensor(question["tokens"])
            net.check(question["switches"], "the page's setting")
            with torch.no_grad():
                seen = net.look(tokens, question["switches"])
        except Exception as error:  # shown in place, and the last picture stays
            self.send({"id": question["id"], "error": f"{type(error).__name__}: {error}"})
            return
        buffers = [part.float().contiguous().numpy().tobytes() for part in seen]
        self.send({"id": question["id"], "n": len(tokens), "names": list(Seen._fields)}, buffers)


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
