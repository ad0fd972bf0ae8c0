"""Live: a panel beside a kernel, an anywidget whose questions torch answers."""

from pathlib import Path

import torch

from ..explore.live import STYLES, Asking, joined

HERE = Path(__file__).parent


def styles(kind: str) -> str:
    """The looks of a panel of this kind."""
    return joined(*STYLES, HERE / "panel.css", HERE / kind / f"{kind}.css")


class Panel(Asking):
    """Answers to questions with an id: what `asked` returns, of which tensors go as float32."""

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
