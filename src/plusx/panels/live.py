"""The doors of a panel: in the book's page its HTML; beside a kernel an anywidget, whose questions torch answers."""

import os
from pathlib import Path

import torch

from ..explore.live import STYLES, Asking, joined
from ..explore.saved import show

HERE = Path(__file__).parent


def styles(kind: str) -> str:
    """The looks of a panel of this kind."""
    return joined(*STYLES, HERE / "panel.css", HERE / kind / f"{kind}.css")


def open_door(page, live):
    """Display a panel where it is. page, live: functions, of which one is called, that give its HTML or its `Panel`."""
    if os.environ.get("PLUSX_EXPLORE") == "static":
        from IPython.display import HTML, display

        display(HTML(page()))
    else:
        show(live())


class Panel(Asking):
    """Answers to questions with an id: what `asked` returns, of which tensors go as float32."""

    def __init__(self, markup, *words, shown=""):
        """words: what a notebook's file keeps, for readers without a kernel: what it is, more, and how to switch it.

        shown: HTML between the first words and the last.
        """
        super().__init__(markup)
        page = f"<p><strong>{words[0]}</strong></p>\n{shown}<p>{words[-1]}</p>"
        self.kept = {"text/plain": " ".join(words), "text/html": page}

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
