"""Meetings: each addition of two tensors in a model's run, told while it happens.

Here lives which calls add, and where in a model they stand; what is done about them lives in `gates` and `search`.
"""

import sys
from collections import Counter
from os.path import basename
from threading import get_ident
from types import MethodType
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

_TENSOR = torch.Tensor
# How a call adds: what it is called with -> a, b, alpha of a + alpha b. What `addmm` adds to a bias is no sum of two.
_FORMS = {
    "add": lambda input, other, alpha=1, **_: (input, other, alpha),
    "sub": lambda input, other, alpha=1, **_: (input, other, -alpha),
    "subtract": lambda input, other, alpha=1, **_: (input, other, -alpha),
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
_ADDS = {  # what is called -> its form, and whether it writes into its first tensor
    getattr(owner, call): (form, writes)
    for name, form in _FORMS.items()
    for call, writes in ((name, False), (f"__{name}__", False), (f"{name}_", True), (f"__i{name}__", True))
    for owner in (torch, _TENSOR)
    if hasattr(owner, call)
}
_ADDS |= {torch.ops.aten.add: _ADDS[torch.add], torch.ops.aten.add.Tensor: _ADDS[torch.add]}
_STACKS = {torch.stack, torch.cat, torch.concat}
_TOTALS = {torch.sum: False, torch.mean: True, _TENSOR.sum: False, _TENSOR.mean: True}
HEARD = {*_ADDS, *_STACKS, *_TOTALS}


class Place(NamedTuple):
    """Where an addition is: the path of the module that runs, the line in its code, which module inside that one ran
    last before it, and which time in one run it is met there."""

    module: str
    line: str
    after: str
    time: int


class Additions(TorchFunctionMode):
    """While `with` lasts, each addition of two tensors in a model's code is told to `meet(place, a, b, alpha, add)`.

    What that gives is the sum: `add()` is the model's own, `add(c, d)` that of others. met: how often in this run, by
    place. heard: modules -> paths. watched: some of these; torch's calls are seen in their own code alone, for each
    that is seen takes longer. gated: lines of code, if others are left out.
    """

    def __init__(self, model, heard):
        super().__init__()
        self.model, self.heard, self.plain, self.gated = model, heard, None, None
        self.watched = {*heard.values()}

    def __enter__(self):
        if self.plain:
            raise RuntimeError("switches: these gates are in use; call switches() again for others.")
        self.running, self.met, self.stacked = [], Counter(), None  # [path, what ran in it last], from the outside in
        self.sees, thread, self.stance = False, get_ident(), torch.compiler.set_stance("force_eager")
        self.plain = plain = {part: (part.forward, vars(part).get("forward")) for part in self.heard}

        def forward(module, *given, **named):
            run = plain[module][0] if module in plain else type(module).forward.__get__(module)  # of a copy
            path, output = self.heard.get(module), None
            if not (self.sees or path in self.watched) or get_ident() != thread:
                return run(*given, **named)
            self.come(path)
            try:
                output = run(*given, **named)
                return output
            finally:
                self.leave(path, output)

        for module in self.heard:  # hooks would take longer
            vars(module)["forward"] = MethodType(forward, module)
        self.stance.__enter__()
        return self

    def __exit__(self, *error):
        for module, (_, own) in self.plain.items():
            del vars(module)["forward"]
            vars(module).update({"forward": own} if own else {})
        self.stance.__exit__(*error)
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
            self.met = Counter()
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
        kwargs = kwargs or {}
        if func not in HEARD:  # each x.shape comes by here too
            return func(*args, **kwargs)

        def add(*others):
            if not others:
                return func(*args, **kwargs)
            total, out = torch.add(*others, alpha=parts[2]), args[0] if writes else kwargs.get("out")
            return total if out is None else out.copy_(total)

        if func in _STACKS:
            return self.stack(add(), *args, **kwargs)
        here = self.here()
        if self.gated is not None and here[1] not in self.gated:
            return add()
        form, writes = _ADDS.get(func, (self.parts_of_stack, False))
        parts = form(*args, **kwargs, **({"mean": True} if _TOTALS.get(func) else {}))
        if not parts or not all(isinstance(each, _TENSOR) for each in parts[:2]):
            return add()
        self.met[here] += 1
        return self.meet(Place(*here, self.met[here]), *parts, add)

    def here(self):
        """The module that runs, the line that calls torch now, of gates inside gates left out, and what ran last."""
        frame = sys._getframe(2)
        while frame.f_globals.get("__package__") == __package__ or frame.f_code.co_name == "__torch_function__":
            frame = frame.f_back
        path, after = self.running[-1]
        return path, f"{basename(frame.f_code.co_filename)}:{frame.f_lineno}", after

    def stack(self, out, tensors, dim=0, **_):
        if out.shape[dim] == len(tensors) > 1:
            rows = [each if each.ndim < out.ndim else each.squeeze(dim) for each in tensors]
            self.stacked = out, dim % out.ndim, rows
        return out

    def parts_of_stack(self, input, dim=None, keepdim=False, mean=False, **_):
        """How a sum over the tensors of a stack adds: the first, and all others."""
        if dim is None or keepdim or not self.stacked or input is not self.stacked[0]:
            return None
        _, along, rows = self.stacked
        if [each % input.ndim for each in ([dim] if isinstance(dim, int) else dim)] != [along]:
            return None
        share = 1 / len(rows) if mean else 1
        return share * rows[0], share * sum(rows[2:], rows[1]), 1
