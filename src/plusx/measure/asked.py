"""Asked: this book's questions, put to a model that somebody else wrote, at each of its residual additions.

Here lives how they are answered all at once; how the additions are found lives in `gates`.
"""

import torch
from torch.autograd.graph import get_gradient_edge

from .gates import Switches
from .probes import left_of_x, norms


def ask(gates, loss):
    """The questions -> an answer for each addition of `switches`, (len(places),), float64.

    gates: as found, all 1. loss: runs the model once and gives its loss, a scalar or a number. It is called
    2 len(places) + 1 times, so the model should be in evaluation mode.

    branch / stream: root mean squares of what is added and of what it is added to.
    left of x: the cosine of the stream with the first one, both without their mean over the first dimension, the
        batch; NaN where a stream has another shape than the first, or the batch is one sample, which is its mean.
    gradient: the norm of the loss's at the stream, beside that at the last; NaN where the loss records none.
    no branch, no skip: how much the loss rises without it.

    RuntimeError: an addition never came. ValueError: the loss is not a scalar, or a gate is not 1.
    """
    if (off := (gates.branch != 1) | (gates.skip != 1)).any():
        raise ValueError(f"ask: gates {off.nonzero().flatten().tolist()} are not 1; set them to 1 first.")
    watched = _Watched(gates.model, gates.streams, gates.times)
    frozen = [p for p in gates.model.parameters() if p.is_floating_point() and not p.requires_grad]
    try:
        for weights in frozen:
            weights.requires_grad_()
        with torch.enable_grad(), watched:
            whole = torch.as_tensor(loss())
    finally:
        for weights in frozen:
            weights.requires_grad_(False)
    if missing := [place for place in gates.places if place in watched.waiting]:
        raise RuntimeError(f"ask: the addition in {missing[0].module}, {missing[0].line}, never came.")
    if whole.ndim:
        raise ValueError(f"ask: the loss has shape {tuple(whole.shape)}; expected a scalar.")
    sizes, streams, edges = zip(*(watched.seen[place] for place in gates.places))
    left = [
        left_of_x([streams[0], x])[1].item() if len(x) > 1 and x.shape == streams[0].shape else torch.nan
        for x in streams
    ]
    gradients = _gradients(whole, edges)
    costs = {f"no {name}": _without(gates, name, loss) - whole.item() for name in ("branch", "skip")}
    return {
        "branch / stream": torch.tensor(sizes, dtype=torch.float64),
        "left of x": torch.tensor(left, dtype=torch.float64),
        "gradient": gradients / gradients[-1],
    } | costs


class _Watched(Switches):
    """seen: place -> size of branch beside stream, the stream as (batch, all else), and where its gradient arrives."""

    def __init__(self, model, streams, times):
        super().__init__(model, streams, times)
        self.seen = {}

    def meet(self, place, a, b):
        if place in self.streams:
            stream, branch = (b, a) if self.streams[place] else (a, b)
            size = (norms(branch.double()) / norms(stream.double())).item()
            edge = get_gradient_edge(stream) if stream.requires_grad else None
            self.seen[place] = size, stream.detach().double().flatten(1).clone(), edge  # += may overwrite it
        return super().meet(place, a, b)


def _gradients(loss, edges):
    known = [edge for edge in edges if edge is not None] if loss.requires_grad else []
    found = dict(zip(known, torch.autograd.grad(loss, known, allow_unused=True))) if known else {}
    sizes = [norms(found[edge].double()).item() if found.get(edge) is not None else torch.nan for edge in edges]
    return torch.tensor(sizes, dtype=torch.float64)


@torch.no_grad()
def _without(gates, name, loss):
    losses, each = [], getattr(gates, name)
    for at in range(len(each)):
        each[at] = 0
        with gates:
            losses.append(float(loss()))
        each[at] = 1
    return torch.tensor(losses, dtype=torch.float64)
