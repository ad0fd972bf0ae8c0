"""Live: a panel beside a kernel, an anywidget whose questions torch answers."""

from pathlib import Path

import anywidget
import torch
import traitlets

HERE = Path(__file__).parent
EXPLORE = HERE.parent / "explore"


def joined(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf8") for path in paths)


def styles(kind: str) -> str:
    """The looks of a panel of this kind."""
    sheets = EXPLORE / "explore.css", EXPLORE / "diagram.css", HERE / "panel.css", HERE / kind / f"{kind}.css"
    return joined(*sheets)


class Panel(anywidget.AnyWidget):
    """The markup, and answers to questions with an id: what `asked` returns, of which tensors go as float32.

    kept: what the notebook's file holds beside the widget, by MIME type.
    """

    markup = traitlets.Unicode().tag(sync=True)
    kept: dict[str, str] = {}

    def __init__(self, markup):
        super().__init__(markup=markup)
        self.on_msg(lambda widget, content, buffers: self.answer(content))

    def _repr_mimebundle_(self, **how):
        view, metadata = super()._repr_mimebundle_(**how)
        return {**view, **self.kept}, metadata

    def answer(self, question):
        try:
            found = self.asked(**question)
        except Exception as error:  # shown in place, and the last picture stays
            self.send({"id": question["id"], "error": f"{type(error).__name__}: {error}"})
            return
        numbers = {name: part for name, part in found.items() if isinstance(part, torch.Tensor)}
        words = {name: part for name, part in found.items() if name not in numbers}
        buffers = [part.float().contiguous().numpy().tobytes() for part in numbers.values()]
        self.send({"id": question["id"], **words, "names": list(numbers)}, buffers)
