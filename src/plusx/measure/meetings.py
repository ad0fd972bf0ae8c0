"""Meetings: each addition of two tensors in a model's run, told while it happens.

Here lives which calls add, and where in a model they stand; what is done about them lives in `gates` and `search`.
"""

import sys
import threading
import weakref
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode

_TENSOR, _ATEN = torch.Tensor, torch.ops.aten


def _sum(input, other, *, alpha=1, **_):
    return input, other, alpha


def _difference(input, other, *, alpha=1, **_):
    return input, other, -alpha


def _taken_from(input, other, *, alpha=1):
    return other, input, -alpha


def _multiplied(input, tensor1, tensor2, *, value=1, **_):
    return input, tensor1 * tensor2, value


def _divided(input, tensor1, tensor2, *, value=1, **_):
    return input, tensor1 / tensor2, value


def _between(input, end, weight, **_):
    return (1 - weight) * input, weight * end, 1


def _matrix(input, *both, beta=1, alpha=1, out=None, **named):
    one, two = *both, *named.values()
    return beta * input, one @ two, alpha


def _rows(input, dim, index, source, *, alpha=1, **_):
    return input, torch.zeros_like(input).index_add(dim, index, source), alpha


# How a call adds: what it is called with -> a, b, alpha of a + alpha b.
_WAYS_TO_ADD = {
    _sum: (torch.add, "add add_ __add__ __radd__ __iadd__", _ATEN.add, _ATEN.add.Tensor),
    _difference: (torch.sub, torch.subtract, "sub sub_ __sub__ __isub__"),
    _taken_from: (torch.rsub, "__rsub__"),
    _multiplied: (torch.addcmul, "addcmul addcmul_"),
    _divided: (torch.addcdiv, "addcdiv addcdiv_"),
    _between: (torch.lerp, "lerp lerp_"),
    _matrix: (torch.addmm, torch.baddbmm, "addmm addmm_ baddbmm baddbmm_"),
    _rows: (torch.index_add, "index_add index_add_"),
}
_ADDS = {}
for _way, _calls in _WAYS_TO_ADD.items():
    for _call in _calls:
        _ADDS |= {getattr(_TENSOR, name): _way for name in _call.split()} if isinstance(_call, str) else {_call: _way}
_IN_PLACE = {call for call in _ADDS if call.__name__.endswith("_") and call.__name__[:3] not in ("__a", "__r", "__s")}
_STACKS, _TOTALS = {torch.stack, torch.cat, torch.concat}, {torch.sum, torch.mean, _TENSOR.sum, _TENSOR.mean}
_HEEDED = {*_ADDS, *_STACKS, *_TOTALS}
_OURS = Path(__file__).parent


class Place(NamedTuple):
    """Where an addition is: the path of the module that runs, the line, which time in one run it is met there, and
    which module inside that one ran last before it."""

    module: str
    line: str
    time: int
    after: str = ""

    @property
    def here(self):
        return self.module, self.line, self.after


class Additions(TorchFunctionMode):
    """While `with` lasts, each addition of two tensors in a model's run is told to `meet(place, a, b)`.

    What that gives, if not None, is added instead. Only where `wants(module, line)` are operands looked at.
    """

    def __init__(self, model):
        super().__init__()
        self.model, self.hooks = model, []

    def __enter__(self):
        if self.hooks:
            raise RuntimeError("switches: these gates are in use; call switches() again for others.")
        self.running, self.met, self.stacked = [], Counter(), None  # [path, what ran in it last], from the outside in
        self.thread = threading.get_ident()
        self._hook()
        return super().__enter__()

    def __exit__(self, *error):
        while self.hooks:
            self.hooks.pop().remove()
        self.stacked = None
        return super().__exit__(*error)

    def _come(self, path):
        if threading.get_ident() == self.thread:
            self.running.append([path, ""])

    def _leave(self, path, output=None):
        if threading.get_ident() == self.thread:
            self.running.pop()
            if self.running:
                self.running[-1][1] = path
            else:
                self.met.clear()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func not in _HEEDED or not self.running:  # also each x.shape comes by here
            return func(*args, **kwargs)
        split = _ADDS.get(func)
        if split in (_sum, _difference, _taken_from):
            both = *args[:2], *(kwargs[name] for name in ("input", "other") if name in kwargs)
            split = split if all(isinstance(each, _TENSOR) for each in both) else None
        elif split is _matrix:
            split = split if args and args[0].ndim > 1 else None  # a bias
        elif func in _TOTALS and self.stacked and args and args[0] is self.stacked[0]():
            split = self._split_stack(func, *args[1:], **kwargs)
        if split is None:
            out = func(*args, **kwargs)
            if func in _STACKS:
                self._stack(out, *args, **kwargs)
            return out
        (module, after), line = self.running[-1], line_of_model()
        self.met[module, line, after] += 1
        place = Place(module, line, self.met[module, line, after], after)
        if not self.wants(place):
            return func(*args, **kwargs)
        a, b, alpha = split(*args, **kwargs)
        if (instead := self.meet(place, a, b)) is None:
            return self.passed(place, a, b, alpha, func(*args, **kwargs))
        total, out = torch.add(*instead, alpha=alpha), kwargs.get("out", args[0] if func in _IN_PLACE else None)
        return total if out is None else out.copy_(total)

    def _stack(self, out, tensors, dim=0, **_):
        if out.shape[dim] == len(tensors):
            rows = [each if each.ndim < out.ndim else each.squeeze(dim) for each in tensors]
            self.stacked = weakref.ref(out), dim % out.ndim, rows

    def _split_stack(self, func, dim=None, keepdim=False, **_):
        """How a sum over the tensors of a stack adds: the first, and all others."""
        (_, along, rows), dims = self.stacked, [dim] if isinstance(dim, int) else dim
        if keepdim or dims is None or [each % (rows[0].ndim + 1) for each in dims] != [along] or len(rows) < 2:
            return None
        share = 1 / len(rows) if func in (torch.mean, _TENSOR.mean) else 1
        return lambda *_, **__: (share * rows[0], share * sum(rows[2:], rows[1]), 1)

    def passed(self, place, a, b, alpha, total):
        return total


def line_of_model():
    """The line that calls torch now, ours left out, as with gates inside gates."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(str(_OURS)) or frame.f_code.co_name == "__torch_function__":
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
