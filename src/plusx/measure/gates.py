"""Your own model: a gate on each residual addition of a net that somebody else wrote.

Here lives how such additions are found and gated; what one learns from closing them lives in chapters.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

_TENSOR = torch.Tensor
_IN_PLACE = {_TENSOR.add_, _TENSOR.__iadd__, _TENSOR.sub_, _TENSOR.__isub__, _TENSOR.addcmul_}
_ADDITIONS = {torch.add, _TENSOR.add, _TENSOR.__add__, _TENSOR.__radd__, _TENSOR.add_, _TENSOR.__iadd__}
_DIFFERENCES = {torch.sub, torch.subtract, _TENSOR.sub, _TENSOR.__sub__, _TENSOR.sub_, _TENSOR.__isub__}
_PRODUCTS = {torch.addcmul, torch.Tensor.addcmul, torch.Tensor.addcmul_}  # a + value tensor1 tensor2
_CHECKPOINT = str(Path("torch", "utils", "checkpoint.py"))
_PARTS = ("Select", "Slice", "Split", "Unbind")  # how names of nodes begin that give a part of a tensor


class Place(NamedTuple):
    """Where an addition is: the path of the module that runs, the line, and which time in one run it is met there."""

    module: str
    line: str
    time: int


class _Additions(TorchFunctionMode):
    """While `with` lasts, each addition of two tensors in a model's run is told to `meet(place, a, b)`.

    What that gives, if not None, is added instead.
    """

    def __init__(self, model):
        super().__init__()
        self.model, self.hooks = model, []

    def __enter__(self):
        if self.hooks:
            raise RuntimeError("switches: these gates are in use; call switches() again for others.")
        self.running, self.met = [], Counter()  # paths from the outside in; lines that this run has met
        for path, module in self.model.named_modules():
            self.hooks += [
                module.register_forward_pre_hook(lambda *_, path=path: self.running.append(path)),
                module.register_forward_hook(self._leave, always_call=True),
            ]
        return super().__enter__()

    def __exit__(self, *error):
        while self.hooks:
            self.hooks.pop().remove()
        return super().__exit__(*error)

    def _leave(self, *_):
        self.running.pop()
        if not self.running:
            self.met.clear()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        a, b, alpha = _operands(func, args, kwargs) if self.running else (None, None, 1)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            here = self.running[-1], _line()
            self.met[here] += 1
            if (instead := self.meet(Place(*here, self.met[here]), a, b)) is not None:
                total = torch.add(*instead, alpha=alpha)
                return a.copy_(total) if func in _IN_PLACE else total
        return func(*args, **kwargs)


def _operands(func, args, kwargs):
    """What a call adds: a + alpha b, or None and None if it adds nothing."""
    if func in _PRODUCTS:
        given = dict(zip(("input", "tensor1", "tensor2"), args)) | kwargs
        return given["input"], given["tensor1"] * given["tensor2"], given.get("value", 1)
    given = dict(zip(("input", "other"), args)) | kwargs
    a, b, alpha = given.get("input"), given.get("other"), given.get("alpha", 1)
    if func in _ADDITIONS:
        return a, b, alpha
    if func in _DIFFERENCES:
        return a, b, -alpha
    return (b, a, -alpha) if func in (torch.rsub, torch.Tensor.__rsub__) else (None, None, 1)


class Switches(_Additions):
    """The residual additions of a model, x + F(x), as skip x + branch F(x) while `with` lasts.

    places: where they are, in the order in which they are computed.
    skip, branch: ones at first, (len(places),); set what you like. (len(places), batch, n, 1), say, is a gate for
        each token. Where they require a gradient, they get one.

        gates = switches(model, tokens)
        gates.branch[3] = 0
        with gates:
            scores = model(tokens)

    RuntimeError: an addition comes more often than when it was found, a gate is not 1 and its addition never came, or
    it comes where gradient checkpointing will compute it again without the gate.
    """

    def __init__(self, model, streams, times):
        super().__init__(model)
        self.streams, self.places, self.times = streams, list(streams), times
        self.skip, self.branch = torch.ones(len(streams)), torch.ones(len(streams))

    def __repr__(self):
        rows = (f"{at:3}  {module or '(the model)'}  {line}" for at, (module, line, _) in enumerate(self.places))
        return "\n".join([f"{len(self.places)} residual additions", *rows])

    def __enter__(self):
        self.waiting = set(self.places)
        return super().__enter__()

    def __exit__(self, kind, *error):
        super().__exit__(kind, *error)
        for at, place in enumerate(self.places):
            if kind is None and place in self.waiting and ((self.skip[at] != 1) | (self.branch[at] != 1)).any():
                raise RuntimeError(
                    f"switches: gate {at} is not 1, and its addition in {place.module}, {place.line}, never came. Did "
                    "the model run? Is it compiled, or does it add in another way without gradients?"
                )

    def meet(self, place, a, b):
        if place in self.streams:
            self.waiting.discard(place)
            at, stream = self.places.index(place), self.streams[place]
            gates = self.skip[at], self.branch[at]
            if not any((gate != 1).any() or gate.requires_grad for gate in gates):
                return None
            if _is_recomputed():
                raise RuntimeError(
                    f"switches: gate {at} is not 1, and gradient checkpointing computes {place.module} again in "
                    "backward, where no gate is seen. Turn it off to set gates."
                )
            return _times(gates[stream], a), _times(gates[1 - stream], b)
        if 0 < self.times[place[:2]] < place.time and any(place[:2] == known[:2] for known in self.places):
            raise RuntimeError(
                f"switches: {place.module} adds for time {place.time} in one run, more often than when its additions "
                f"were found ({place.line}). Find them with these inputs."
            )


def _is_recomputed():
    """Whether what runs is a part of a model that torch.utils.checkpoint will compute again for its gradients."""
    frame = sys._getframe(2)
    while frame and not frame.f_code.co_filename.endswith(_CHECKPOINT):
        frame = frame.f_back
    return frame is not None


def _times(gate, x):
    """gate x; a gate that is 0 leaves 0, also of what is infinite, unless its gradient is asked for."""
    gate = gate.to(x)
    if gate.requires_grad:
        return gate * x.clone()  # += overwrites x, which the gate's gradient needs
    return torch.where(gate == 0, 0, gate * x)


def switches(model, *inputs, **named):
    """Find a model's residual additions, by running it once on these inputs, with gradients.

    An addition is residual if one operand, the stream, went into what the other was computed from, with weights on
    the way. If both were computed from a third tensor, each with weights of its own, as where a ResNet's block
    changes its shape, the stream is the one with fewer steps; inside a branch of another such additions do not count.
    The model's weights and buffers are not touched.

    ValueError: there is no such addition; a fused or compiled one is not seen.
    """
    with torch.inference_mode(False), torch.enable_grad():
        weights = {name: p.detach().requires_grad_(_differs(p)) for name, p in model.named_parameters()}
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        inputs, named = tree_map_only(torch.Tensor, _traced, (inputs, named))
        seen = _Search(model, {get_gradient_edge(p).node for p in weights.values() if p.requires_grad})
        with seen:
            functional_call(model, weights | buffers, inputs, named)
    streams = {place: stream for place, (stream, inner) in seen.found.items() if inner not in seen.written}
    if not streams:
        raise ValueError(
            f"switches: no residual addition in {type(model).__name__}. In none of {seen.count} additions of two "
            "tensors had one gone into the other, with weights on the way. Is the model compiled, its addition fused "
            "or the sum of a stack, or its forward without gradients?"
        )
    return Switches(model, streams, seen.times)


class _Search(_Additions):
    """found: place -> (which operand is the stream, None or, where both have weights of their own, the node of one).

    weights: their nodes in autograd's graph. written: all nodes of branches.
    """

    def __init__(self, model, weights):
        super().__init__(model)
        self.weights, self.found, self.written, self.count, self.times = weights, {}, set(), 0, Counter()

    def meet(self, place, a, b):
        self.count += 1
        self.times[place[:2]] += 1
        if not (a.requires_grad and b.requires_grad and a.shape == b.shape):
            return
        ends = [get_gradient_edge(x).node for x in (a, b)]
        before = [_ancestors(end) for end in ends]
        own = [before[0] - before[1], before[1] - before[0]]
        learned = [any(left in self.weights for node in each for left, _ in node.next_functions) for each in own]
        for stream in 0, 1:
            if learned[1 - stream] and _leads(ends[stream], before[1 - stream]):
                self.found[place] = stream, None
                self.written |= own[1 - stream]
                return
        if all(learned) and (before[0] & before[1]) - self.weights:
            self.found[place] = int(len(own[1]) < len(own[0])), ends[0]


def _leads(node, nodes):
    """Whether a node comes from one of these alone, as by a change of precision or a factor that is no weight."""
    while node not in nodes:
        before = [each for each, _ in node.next_functions if each is not None]
        if len(before) != 1 or node.name().startswith(_PARTS):
            return False
        node = before[0]
    return True


def _ancestors(node):
    """All nodes of autograd's graph behind a node, and itself."""
    found, open_ends = set(), [node]
    while open_ends:
        node = open_ends.pop()
        if node not in found:
            found.add(node)
            open_ends += [before for before, _ in node.next_functions if before is not None]
    return found


def _traced(x):
    return x.detach().requires_grad_().clone() if _differs(x) else x


def _differs(x):
    """Whether there are derivatives with respect to such numbers."""
    return x.is_floating_point() or x.is_complex()


def _line():
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__:  # two pairs of gates, one inside the other
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
