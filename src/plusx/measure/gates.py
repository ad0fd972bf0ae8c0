"""Your own model: a gate on each residual addition of a net that somebody else wrote.

Here lives what a gate does; how additions are met lives in `meetings`, how residual ones are found in `search`.
"""

import random
import sys
from pathlib import Path

import torch
from torch.autograd.forward_ad import unpack_dual
from torch.func import functional_call
from torch.utils._pytree import tree_leaves, tree_map_only

from .meetings import Additions
from .search import Search, differs, owners, rows_of

_TENSOR = torch.Tensor
_CHECKPOINT = str(Path("torch", "utils", "checkpoint.py"))


class Switches(Additions):
    """The residual additions of a model, x + F(x), as skip x + branch F(x) while `with` lasts.

    places: where they are, in the order in which they are computed.
    skip, branch: ones at first, (len(places),); set what you like between two runs. (len(places), batch, n, 1), say,
        is a gate for each token. Where they require a gradient or carry a tangent, they get one.
    told: of each addition and call that was seen and has no gate, its module, its line, and why; `repr` ends with it.

        gates = switches(model, tokens)
        gates.branch[3] = 0
        with gates:
            scores = model(tokens)

    With all gates 1 a model computes what it does without, but for torch's fused layers: an `nn.TransformerEncoder`
    with a padding mask then computes padded places too, where it otherwise writes 0. While `with` lasts nothing runs
    compiled, and other threads are not gated.

    RuntimeError: an addition comes more often than when it was found or after another module, a gate is not 1 and its
    addition never came, or it comes where gradient checkpointing will compute it again without the gate.
    ValueError: gates are no tensor, not as many as places, or NaN, or make a tensor of another shape.
    """

    def __init__(self, seen):
        super().__init__(seen.model, seen.heard)
        self.found, self.times, self.ran = seen.found, seen.times, seen.ran
        self.told, self.never = seen.told, seen.never
        self.places = [place for place, each in self.found.items() if each.first]
        self.skip, self.branch = torch.ones(len(self.places)), torch.ones(len(self.places))
        self.gated = {place.line for place in self.found}
        self.watched = {"", *self.never, *(module for module, line, _ in self.times if line in self.gated)}
        self.watched |= {owner for path in self.watched for owner in owners(path)}
        heard = self.watched.union(*(self.ran[path] for path in self.watched))
        self.heard = {part: path for part, path in self.heard.items() if path in heard}

    def __repr__(self):
        rows = [f"{at:3}  {place.module or '(the model)'}  {place.line}" for at, place in enumerate(self.places)]
        return "\n".join([f"{len(self.places)} residual additions", *rows]) + rows_of(self.told)

    def __enter__(self):
        self.waiting = set(self.places)
        self._read()
        return super().__enter__()

    def __exit__(self, kind, *error):
        super().__exit__(kind, *error)
        for at, place in enumerate(self.places):
            if kind is None and self.closed[at] and place in self.waiting:
                raise RuntimeError(
                    f"switches: gate {at} is not 1, and its addition in {place.module}, {place.line}, never came. Did "
                    "the model run? Does it add in another way without gradients?"
                )

    def _read(self):
        """closed: for each gate whether it does something."""
        count = len(self.places)
        self.closed = [False] * count
        for name, gates in (("skip", self.skip), ("branch", self.branch)):
            if not isinstance(gates, _TENSOR):
                raise ValueError(f"switches: {name} is a {type(gates).__name__}; expected a tensor of {count} gates.")
            if gates.ndim == 0 or len(gates) != count:
                raise ValueError(f"switches: {name} has shape {tuple(gates.shape)}; expected {count} gates, one each.")
            if _moves(gates):
                self.closed = [True] * count
                continue
            flat = gates.detach().reshape(count, -1)
            if flat.isnan().any():
                raise ValueError(f"switches: {name} is NaN at {flat.isnan().any(1).nonzero().flatten().tolist()}.")
            self.closed = [a or b for a, b in zip(self.closed, (flat != 1).any(1).tolist())]

    def come(self, path):
        if not self.running:
            self._read()
        super().come(path)

    def meet(self, place, a, b, alpha, add):
        if place not in self.found:
            self._strange(place)
            return add()
        at, stream, first = self.found[place]
        self.waiting.discard(place)
        if not self.closed[at]:
            return add()
        if _is_recomputed():
            raise RuntimeError(
                f"switches: gate {at} is not 1, and gradient checkpointing computes {place.module} again in "
                "backward, where no gate is seen. Turn it off to set gates."
            )
        gated = []
        for operand, x in enumerate((a, b)):
            name = "skip" if operand == stream else "branch"
            gate, wrong = getattr(self, name)[at] if first or name == "branch" else torch.ones(()), None
            try:
                gated.append(_times(gate, x))
                shape = torch.broadcast_shapes(a.shape, b.shape)
                if torch.broadcast_shapes(gated[-1].shape, shape) != shape:
                    wrong = f"makes {tuple(gated[-1].shape)} of {tuple(x.shape)}, where a sum of {tuple(shape)} was to "
                    wrong += "come. With a cache, or other inputs, gates need other shapes."
            except (RuntimeError, TypeError) as error:
                what = "a nested tensor" if x.is_nested else f"{x.dtype} of shape {tuple(x.shape)}"
                wrong = f"does not go with {what}: {error}"
            if wrong:
                where = f"{place.module or 'the model'}, {place.line}"
                raise ValueError(f"switches: {name} gate {at} of shape {tuple(gate.shape)} at {where}, {wrong}")
        return add(*gated)

    def _strange(self, place):
        """What comes at a line of residual additions, where or when none was found."""
        here = [self.closed[at] for at, known in enumerate(self.places) if known[:2] == place[:2]]
        if 0 < self.times[place[:3]] < place.time and here:
            raise RuntimeError(
                f"switches: {place.module} adds for time {place.time} in one run, more often than when its additions "
                f"were found ({place.line}). Find them with these inputs."
            )
        late = {*owners(f"{place.module}."), *owners(f"{place.after}.")} & {*self.never}
        if not self.times[place[:3]] and (any(here) or (late and any(self.closed))):
            raise RuntimeError(
                f"switches: {place.module or 'the model'} adds in {place.line} after {place.after or 'nothing else'}, "
                "as it did not when its additions were found. Are layers left out by chance? Find them in evaluation "
                "mode, or with these inputs."
            )


def _moves(gates):
    """Whether derivatives are asked of gates, or many nets are computed at once."""
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(gates)
    return wrapped or gates.requires_grad or unpack_dual(gates).tangent is not None


def _is_recomputed():
    """Whether what runs is a part of a model that torch.utils.checkpoint will compute again for its gradients."""
    frame = sys._getframe(2)
    while frame and not frame.f_code.co_filename.endswith(_CHECKPOINT):
        frame = frame.f_back
    return frame is not None


def _times(gate, x):
    """gate x; a gate that is 0 leaves 0, also of what is infinite, unless its derivative is asked for."""
    gate = gate.to(x.device)
    if _moves(gate):
        return (gate * x.clone()).to(x.dtype)  # += overwrites x, which the gate's gradient needs
    return torch.where(gate == 0, 0, gate * x).to(x.dtype)


def switches(model, *inputs, only=None, **named):
    """Find a model's residual additions, by running it once on these inputs, with gradients.

    An addition of two tensors is residual if one, the stream, has the shortest way back to what both come from, mixes
    nothing on it, and the other, the branch, is made of that by mixing: by a matrix, a convolution, attention, pooling,
    a sum over neighbours, a Fourier transform.
    A way is as long as it mixes often, then as it has steps. Three more cases count, outside of branches, and in them
    where both come from the stream itself: a stream with gains of its own; parts of one tensor; and a stream that is
    mixed too, as where a ResNet's block changes its shape, if less often than the branch, and without a bend where the
    branch has one. In a branch, what is added must be mixed within that branch, and for that sum alone; another stream
    that a branch reads, with additions of its own, is no part of it. Parallel convolutions beside a norm are one
    branch. What is taken away from its branch, F(x) - x, does not count.

    only: a function of a `Place`; additions for which it is true are taken, whatever else speaks against them.

    The model's weights, buffers and random numbers are not touched.
    ValueError: there is no such addition; a fused one is not seen.
    """
    model = getattr(model, "_orig_mod", model)  # of what torch.compile made
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            "switches: the model is scripted or traced, so no addition is seen; give the one it was made of."
        )
    tensors = [each for each in tree_leaves((inputs, named)) if isinstance(each, _TENSOR)]
    if any(torch._C._functorch.is_functorch_wrapped_tensor(each) for each in tensors):
        raise ValueError(
            "switches: additions are found outside of vmap, grad and jvp; call switches() before, on one net."
        )
    seen, drawn, weights, buffers, kept = Search(model), random.getstate(), {}, {}, {}
    alone = dict(recurse=False, remove_duplicate=False)  # tied ones share what is kept by their id
    with torch.inference_mode(False), torch.enable_grad():
        for part, path in seen.modules.items():
            for name, p in part.named_parameters(path, **alone) if part in seen.heard else ():
                if isinstance(p, torch.nn.parameter.UninitializedParameter):
                    raise ValueError(f"switches: {name} has no shape yet; run the model once before.")
                weights[name] = kept.setdefault(id(p), _own(p).requires_grad_(differs(p)))
            for name, buffer in part.named_buffers(path, **alone):
                buffers[name] = kept.setdefault(id(buffer), buffer.clone())
        seen.ways.leaves = {id(leaf): leaf for leaf in weights.values()}
        devices = {p.device for p in weights.values() if p.device.type not in ("cpu", "meta")}
        kind = next((each.type for each in devices), "cuda")
        try:
            with torch.random.fork_rng(devices, device_type=kind), seen:
                given = tree_map_only(_TENSOR, _traced, (inputs, named))
                output = functional_call(model, weights | buffers, *given, tie_weights=False)
        finally:
            random.setstate(drawn)
    return Switches(seen.gather(only, weights, output))


def _own(x):
    """A leaf of the same memory, or, of what inference mode made, a copy."""
    return x.clone().detach() if x.is_inference() else x.detach()


def _traced(x):
    return _own(x).requires_grad_().clone() if differs(x) else x
