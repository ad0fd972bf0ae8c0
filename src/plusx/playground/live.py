"""Live: the playground beside a kernel, an anywidget whose questions torch answers."""

from pathlib import Path

import anywidget
import torch
import traitlets

from ..switched import Seen

HERE = Path(__file__).parent
SCRIPT = (HERE / "playground.js").read_text(encoding="utf8")
STYLES = HERE.parent / "explore" / "explore.css", HERE / "playground.css"


class Live(anywidget.AnyWidget):
    """The markup, and answers to {id, net, tokens, switches}: `Seen` in float32, one buffer a field."""

    _esm = f"{SCRIPT}\nexport default globalThis.plusxPlayground;\n"
    _css = "".join(path.read_text(encoding="utf8") for path in STYLES)
    markup = traitlets.Unicode().tag(sync=True)

    def __init__(self, nets, markup):
        super().__init__(markup=markup)
        self.nets = nets
        self.on_msg(lambda widget, content, buffers: self.answer(content))

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
