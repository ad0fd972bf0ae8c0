"""Live: the lanes beside a kernel, whose steps torch takes."""

import torch

from ..live import HERE, Panel, joined, styles
from .race import Training


class Live(Panel):
    """What two lanes ask; `js/` says which questions there are. kind: of `race`."""

    _esm = joined(HERE / "built" / "lanes-widget.js")
    _css = styles("lanes")

    def __init__(self, markup, kind):
        what = "Two nets that train side by side, and a switch on all that tells them apart."
        super().__init__(markup, what, "To train them, run the notebook up to this cell.")
        self.lane, self.trainings = kind.code.Lane(), {}

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
