"""Live: the lanes beside a kernel, an anywidget whose steps torch takes."""

from pathlib import Path

import anywidget
import torch
import traitlets

from ..playground.live import BUILT, EXPLORE, joined
from .race import Training

HERE = Path(__file__).parent
STYLES = EXPLORE / "explore.css", EXPLORE / "diagram.css", HERE / "lanes.css"


class Live(anywidget.AnyWidget):
    """The markup, and answers to questions with an id; `js/` says which there are. kind: of `race`.

    kept: what the notebook's file holds beside the widget, by MIME type.
    """

    _esm = joined([BUILT / "lanes-widget.js"])
    _css = joined(STYLES)
    markup = traitlets.Unicode().tag(sync=True)
    kept: dict[str, str] = {}

    def __init__(self, markup, kind):
        super().__init__(markup=markup)
        self.lane, self.trainings = kind.code.Lane(), {}
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
        buffers = [part.float().contiguous().numpy().tobytes() for part in found.values()]
        self.send({"id": question["id"], "names": list(found)}, buffers)

    def asked(self, id, lane, task, seed, words, steps, begin):
        """What steps of a lane gave, after it was begun anew if that is asked for. lane: its name."""
        if begin:
            self.trainings[lane] = Training(self.lane, task, seed, words)
        training = self.trainings[lane]
        with torch.no_grad():
            took = [training.step(words) for _ in range(steps)]
            last = {"gradient": took[-1].gradient, "branch": took[-1].branch} if took else {}
            losses = torch.tensor([each.loss.item() for each in took])
            return {"loss": losses, **last, "seen": training.look(words)}


def saved():
    """What a notebook's file keeps of the lanes, for readers without a kernel: MIME type to content."""
    what = "Two nets that train side by side, and a switch on all that tells them apart."
    how = "To train them, run the notebook up to this cell."
    return {"text/plain": f"{what} {how}", "text/html": f"<p><strong>{what}</strong></p>\n<p>{how}</p>"}
