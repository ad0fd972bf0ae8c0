"""Asked: this book's questions, put to a model that somebody else wrote, at each of its residual additions.

Here lives how they are answered all at once; how the additions are found lives in `gates`, how they are cut in `forks`.
"""

import contextlib
import warnings

import torch
from torch.autograd.graph import get_gradient_edge

from .forks import Cuts, losses, same_draws
from .probes import left_of_x, norms


def ask(gates, loss, megabytes=128):
    """The questions -> an answer for each addition of `switches`, (len(places),), float64.

    gates: as found, all 1. loss: runs the model once and gives its loss, a scalar or a number; the model should be
    in evaluation mode. Many cuts share a pass, which takes about so many megabytes; a warning says where a model does
    not take that.

    branch / stream: root mean squares of what is added and of what it is added to.
    left of x: the cosine of the stream with the first one, both without their mean over the first dimension, the
        batch; NaN where a stream has another shape than the first, or the batch is one sample, which is its mean.
    gradient: the norm of the loss's at the stream, beside that at the last; NaN where the loss records none.
    no branch, no skip: how much the loss rises without it.

    RuntimeError: an addition never came. ValueError: the loss is not a scalar, or a gate is not 1.
    """
    with as_found(gates.model):
        whole, answers = watched(gates, loss)
        cuts = [(at, kind) for kind in ("branch", "skip") for at in range(len(gates.places))]
        lost, how = losses(gates, loss, cuts, megabytes=megabytes)
    if "in a run each" in how:
        warnings.warn(f"ask: {how}", stacklevel=2)
    return answers | dict(zip(("no branch", "no skip"), (lost - whole).chunk(2)))


@contextlib.contextmanager
def as_found(model):
    """What runs change in a model is set back, its buffers; so are torch's random numbers."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        with same_draws(model):
            yield
    finally:
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


def watched(gates, loss, look=None, before=None):
    """One run of the whole, with gradients: its loss, and of `ask` what needs no cut.

    look: as in `forks.losses`. before: called with (addition, stream, branch).
    """
    if (off := (gates.branch != 1) | (gates.skip != 1)).any():
        raise ValueError(f"ask: gates {off.nonzero().flatten().tolist()} are not 1; set them to 1 first.")
    run = _Watched(gates, look, before)
    frozen = [p for p in gates.model.parameters() if p.is_floating_point() and not p.requires_grad]
    try:
        for weights in frozen:
            weights.requires_grad_()
        with torch.enable_grad(), same_draws(gates.model), run:
            whole = torch.as_tensor(loss())
    finally:
        for weights in frozen:
            weights.requires_grad_(False)
    if missing := [place for place in gates.places if place in run.waiting]:
        raise RuntimeError(f"ask: the addition in {missing[0].module}, {missing[0].line}, never came.")
    if whole.ndim:
        raise ValueError(f"ask: the loss has shape {tuple(whole.shape)}; expected a scalar.")
    sizes, streams, edges = zip(*(run.seen[at] for at in range(len(gates.places))))
    left = [
        left_of_x([streams[0], x])[1].item() if len(x) > 1 and x.shape == streams[0].shape else torch.nan
        for x in streams
    ]
    gradients = _gradients(whole, edges)
    return whole.item(), {
        "branch / stream": torch.tensor(sizes, dtype=torch.float64),
        "left of x": torch.tensor(left, dtype=torch.float64),
        "gradient": gradients / gradients[-1],
    }


class _Watched(Cuts):
    """seen: addition -> size of branch beside stream, the stream as (batch, all else), and where its gradient comes."""

    def __init__(self, gates, look, before):
        super().__init__(gates, [], look)
        self.seen, self.before = {}, before

    def meet(self, place, a, b, alpha, add):
        found = self.found.get(place)
        if found and found.first:
            stream, branch = (b, a) if found.stream else (a, b)
            size = (norms(branch.double()) / norms(stream.double())).item()
            edge = get_gradient_edge(stream) if stream.requires_grad else None
            self.seen[found.gate] = size, stream.detach().double().flatten(1).clone(), edge  # += may overwrite it
            if self.before:
                self.before(found.gate, stream.detach(), branch.detach())
        return super().meet(place, a, b, alpha, add)


def _gradients(loss, edges):
    known = [edge for edge in edges if edge is not None] if loss.requires_grad else []
    found = dict(zip(known, torch.autograd.grad(loss, known, allow_unused=True))) if known else {}
    sizes = [norms(found[edge].double()).item() if found.get(edge) is not None else torch.nan for edge in edges]
    return torch.tensor(sizes, dtype=torch.float64)
