"""Meetings: each addition of two tensors in a model's run, told while it happens.

Here lives which calls add, and where in a model they stand; what is done about them lives in `gates` and `search`.
"""

import sys
import threading
import weakref
from collections import Counter
from pathlib import Path
from types import MethodType
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

_TENSOR, _ATEN = torch.Tensor, torch.ops.aten
# How a call adds: what it is called with -> a, b, alpha of a + alpha b. What `addmm` adds to a bias is no sum of two.
_FORMS = {
    "add": lambda input, other, alpha=1, **_: (input, other, alpha),
    "sub": lambda input, other, alpha=1, **_: (input, other, -alpha),
    "rsub": lambda input, other, alpha=1: (other, input, -alpha),
    "addcmul": lambda input, tensor1, tensor2, value=1, **_: (input, tensor1 * tensor2, value),
    "addcdiv": lambda input, tensor1, tensor2, value=1, **_: (input, tensor1 / tensor2, value),
    "lerp": lambda input, end, weight, **_: ((1 - weight) * input, weight * end, 1),
    "addmm": lambda input, mat1, mat2, beta=1, alpha=1, **_: input.ndim > 1 and (beta * input, mat1 @ mat2, alpha),
    "baddbmm": lambda input, batch1, batch2, beta=1, alpha=1, **_: (beta * input, batch1 @ batch2, alpha),
    "index_add": lambda input, dim, index, source, alpha=1, **_: (
        *(input, torch.zeros_like(input).index_add(dim, index, source)),
        alpha,
    ),
}
_ADDS = {_TENSOR.__radd__: _FORMS["add"], _ATEN.add: _FORMS["add"], _ATEN.add.Tensor: _FORMS["add"]}
_ADDS |= {torch.subtract: _FORMS["sub"], _TENSOR.__rsub__: _FORMS["rsub"]}
for _name, _form in _FORMS.items():
    _ADDS[getattr(torch, _name)] = _form
    for _call in (_name, f"{_name}_", f"__{_name}__", f"__i{_name}__"):
        _ADDS |= {getattr(_TENSOR, _call): _form} if hasattr(_TENSOR, _call) else {}
_STACKS, _TOTALS = {torch.stack, torch.cat, torch.concat}, {torch.sum, torch.mean, _TENSOR.sum, _TENSOR.mean}
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

    What that gives, if not None, is added instead. `wants(line)`: only there operands are looked at. heard: modules ->
    paths. watched: some of these; torch's calls are seen in their own code alone, for each that is seen takes longer.
    """

    lines = {}  # a code's id and where in it -> the line in words, and the code, so that its id stays its own

    def __init__(self, model):
        super().__init__()
        self.model, self.plain = model, None
        self.heard = {
            part: path for path, part in model.named_modules() if not isinstance(part, torch.jit.ScriptModule)
        }
        self.watched = set(self.heard.values())

    def __enter__(self):
        if self.plain:
            raise RuntimeError("switches: these gates are in use; call switches() again for others.")
        self.running, self.met, self.stacked = [], Counter(), None  # [path, what ran in it last], from the outside in
        self.thread, self.sees = threading.get_ident(), False
        self.plain = plain = {part: (part.forward, vars(part).get("forward")) for part in self.heard}

        def forward(module, *given, **named):
            run = plain[module][0] if module in plain else type(module).forward.__get__(module)  # of a copy
            path = self.heard.get(module)
            if not (self.sees or path in self.watched) or threading.get_ident() != self.thread:
                return run(*given, **named)
            output = self.come(path)
            try:
                output = run(*given, **named)
                return output
            finally:
                self.leave(path, output)

        for module in self.heard:  # hooks would take longer
            vars(module)["forward"] = MethodType(forward, module)
        return self

    def __exit__(self, *error):
        for module, (_, own) in self.plain.items():
            del vars(module)["forward"]
            vars(module).update({"forward": own} if own else {})
        self.plain = self.stacked = None
        self._see(False)

    def come(self, path):
        self.running.append([path, ""])
        self._see(path in self.watched)

    def leave(self, path, output):
        self.running.pop()
        if self.running:
            self.running[-1][1] = path
        else:
            self.met.clear()
        self._see(bool(self.running) and self.running[-1][0] in self.watched)

    def _see(self, sees):
        if sees and not self.sees:
            _push_mode(self)
        elif self.sees and not sees:  # other gates may have begun since
            above = []
            while (mode := _pop_mode()) is not self:
                above.append(mode)
            for mode in reversed(above):
                _push_mode(mode)
        self.sees = sees

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, parts = kwargs or {}, None
        if form := _ADDS.get(func):  # also each x.shape comes by here
            parts = form(*args, **kwargs)
        elif func in _TOTALS and self.stacked and args and args[0] is self.stacked[0]():
            parts = self._parts_of_stack(func, *args[1:], **kwargs)
        if not parts or not all(isinstance(each, _TENSOR) for each in parts[:2]):
            total = func(*args, **kwargs)
            if func in _STACKS:
                self._stack(total, *args, **kwargs)
            return total
        (module, after), line = self.running[-1], line_of_model()
        if not self.wants(line):
            return func(*args, **kwargs)
        self.met[module, line, after] = time = self.met[module, line, after] + 1
        (a, b, alpha), place = parts, Place(module, line, time, after)
        if (instead := self.meet(place, a, b)) is None:
            return self.passed(place, a, b, alpha, func(*args, **kwargs))
        total, name = torch.add(*instead, alpha=alpha), func.__name__
        in_place = name.startswith("__i") or (name.endswith("_") and not name.startswith("__"))
        out = args[0] if in_place else kwargs.get("out")
        return total if out is None else out.copy_(total)

    def _stack(self, out, tensors, dim=0, **_):
        if out.shape[dim] == len(tensors):
            rows = [each if each.ndim < out.ndim else each.squeeze(dim) for each in tensors]
            self.stacked = weakref.ref(out), dim % out.ndim, rows

    def _parts_of_stack(self, func, dim=None, keepdim=False, **_):
        """How a sum over the tensors of a stack adds: the first, and all others."""
        (_, along, rows), dims = self.stacked, [dim] if isinstance(dim, int) else dim
        if keepdim or dims is None or [each % (rows[0].ndim + 1) for each in dims] != [along] or len(rows) < 2:
            return None
        share = 1 / len(rows) if func in (torch.mean, _TENSOR.mean) else 1
        return share * rows[0], share * sum(rows[2:], rows[1]), 1

    def wants(self, line):
        return True

    def passed(self, place, a, b, alpha, total):
        return total


def line_of_model():
    """The line that calls torch now, ours left out, as with gates inside gates."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(str(_OURS)) or frame.f_code.co_name == "__torch_function__":
        frame = frame.f_back
    here = id(frame.f_code), frame.f_lasti
    if here not in Additions.lines:
        Additions.lines[here] = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}", frame.f_code
    return Additions.lines[here][0]
