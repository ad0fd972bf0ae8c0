"""Search: the residual additions of a model, from one run with gradients.

Here lives what is seen and what is taken of it; by what rule lives in `ways`, what a gate does lives in `gates`.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from .meetings import HEARD, Additions
from .ways import Ways, blends, told

_TENSOR = torch.Tensor
_ZEROS = {torch.zeros, torch.zeros_like, _TENSOR.new_zeros}
_AS_NUMBERS = {_TENSOR.numpy, _TENSOR.__array__}
_SETTER = type(_TENSOR.requires_grad.__set__)


class Found(NamedTuple):
    """gate: its number. stream: which operand. first: else the sum with the branch of this gate has begun before."""

    gate: int
    stream: int
    first: bool


class Search(Additions):
    """seen: each addition with both gradients. told: what else adds, with its module, its line, and why it has none.

    ran: the path of a module -> those of what ran in it.
    """

    def __init__(self, model):
        self.modules = {part: path for path, part in model.named_modules()}
        self.scripted = {part: path for part, path in self.modules.items() if isinstance(part, torch.jit.ScriptModule)}
        super().__init__(model, {part: path for part, path in self.modules.items() if part not in self.scripted})
        self.ways, self.seen, self.told, self.ran = Ways(), [], [], defaultdict(set)

    def leave(self, path, output):
        for each in output if isinstance(output, tuple) else (output,):
            if isinstance(each, _TENSOR) and isinstance(each.grad_fn, torch.autograd.function.BackwardCFunction):
                self.told.append((path, "", f"{each.grad_fn.name()[:-8]}, an autograd function, is not seen into"))
        self.times = self.met
        super().leave(path, output)
        self.ran[self.running[-1][0] if self.running else None].add(path)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in HEARD:
            return super().__torch_function__(func, types, args, kwargs)
        if type(func) is _SETTER and func.__self__ is _TENSOR.requires_grad:
            return None  # a model that asks for gradients of its input: they are recorded anyway
        if "add" in func.__name__:  # such as logaddexp
            self._tell_of_both(f"{func.__name__} has no gate", *tree_leaves(args))
        if func in _AS_NUMBERS:  # which take nothing that records gradients
            args = args[0].detach(), *args[1:]
        out = func(*args, **kwargs or {})
        if func not in _ZEROS or not differs(out) or not torch.is_grad_enabled():
            return out
        self.ways.leaves[id(out)] = out.requires_grad_()
        return out.clone()  # a stream may begin as a constant

    def _tell_of_both(self, why, *given):
        ends = [self.ways.vertex(each) for each in given if isinstance(each, _TENSOR) and each.requires_grad]
        if len(ends) == 2:
            seen = told(*ends)
            if seen.stream is not None and seen.why is None:
                self.told.append((*self.here()[:2], why))

    def stack(self, out, tensors, dim=0, **named):
        if out.shape[dim] == len(tensors) > 1:
            self._tell_of_both("a stack of a stream and its branch has no gate", *tensors[:2])
        return super().stack(out, tensors, dim, **named)

    def parts_of_stack(self, *args, **named):
        parts = super().parts_of_stack(*args, **named)
        if parts and self.told and self.told[-1][2].startswith("a stack"):
            self.told.pop()
        return parts

    def meet(self, place, a, b, alpha, add):
        both, alike = a.requires_grad and b.requires_grad, a.shape == b.shape != ()
        ends = [self.ways.vertex(each) for each in (a, b)] if both else []
        shapes = [each.shape for each in (a, b) if differs(each) and not each.requires_grad]
        total = add()
        if both:
            seen = told(*ends, alike)
            if seen.stream == 1 and seen.why is None and alpha < 0:
                seen.why = "the stream is taken away"
            seen.place, seen.total = place, self.ways.sum(total, *ends)
            seen.ends = tuple(ends[::-1] if seen.stream else ends)
            self.seen.append(seen)
        elif total.is_floating_point() and not torch.is_grad_enabled():
            self.told.append((*place[:2], "computed without gradients"))
        elif total.shape in shapes:
            self.told.append((*place[:2], "one side records no gradient"))
        return total

    def gather(self, only, weights, output):
        """Itself, with found, and never: modules with weights that did not run. weights: name -> leaf."""
        for each in tree_leaves(output):
            if isinstance(each, _TENSOR) and each.requires_grad:
                self.ways.vertex(each)
        taken = self._taken(only)
        self.found, begun, count = {}, {}, 0  # begun: of a sum that goes on, as of parallel convolutions, its gate
        for each in taken:
            first = only is not None or not each.linear or each.ends[0] not in begun
            gate = count if first else begun[each.ends[0]]
            count += first
            self.found[each.place] = Found(gate, each.stream, first)
            if not first or (each.gains and each.linear):
                begun[each.total] = gate
        used = {id(each.variable) for each in self.ways.at if hasattr(each, "variable")}
        idle = {owner for name in weights for owner in owners(name)}.difference(*self.ran.values())
        idle -= {owner for name, leaf in weights.items() if id(leaf) in used for owner in owners(name)}
        self.never = sorted(path for path in idle if path and path.rpartition(".")[0] not in idle)
        self.told += [
            *((*each.place[:2], each.why) for each in self.seen if each.why),
            *((path, "", "scripted, is not seen into") for path in self.scripted.values()),
            *((path, "", "has weights and never ran") for path in self.never),
        ]
        if not self.found:
            raise ValueError(
                f"switches: no residual addition in {type(self.model).__name__}. In none of {self.times.total()} "
                "additions of two tensors was one a stream and the other made of it by mixing. Is its addition fused "
                f"or the sum of a stack, or its forward without gradients?{rows_of(self.told)}"
            )
        return self

    def _taken(self, only):
        """Of what was seen the residual additions; all others that can be one get their why."""
        sums = {each.total for each in self.seen if each.why is None}
        taken, uses = [], defaultdict(set)
        for vertex in self.ways.at.values():
            for each in vertex.before:
                uses[each].add(vertex)
        goes_on = set()  # what streams of residual additions are: no part of a branch, whoever else reads it
        for each in reversed(self.seen):
            if only is not None and each.stream is not None:
                each.why = None if only(each.place) else each.why or "not among the chosen"
            elif each.stream is not None and each.why is None and each.total not in goes_on:
                each.why = _why_inside(each, taken, uses, sums)
            if each.stream is not None and each.why is None:
                taken.append(each)
                goes_on.update(each.ends[0].back())
            else:
                sums.discard(each.total)
        return taken[::-1]


def _why_inside(each, taken, uses, sums):
    """Why an addition is but a part of the branch of one that was taken; None if it is one of its own."""
    around = [one for one in taken if each.total in one.made]
    own = {each.total}
    for vertex in sorted(each.made, key=lambda one: -one.number) if around else ():
        if uses[vertex] <= own:  # it is there for this sum alone
            own.add(vertex)
    for one in around:
        stream, branch = one.ends
        if each.doubtful and one.place.module == each.place.module and each.total is branch:
            return f"a part of the branch in {one.place.line}"
        another = each.ends[0] is not stream and each.ends[0] not in one.made  # stream, which reads this one
        if not blends(own if another else own & one.made):
            return f"what the branch in {one.place.line} begins with"
        aside = each.common.root() not in sums | {stream.root()}
        if each.changed or (aside and (each.doubtful or each.common.fixed)):
            return f"inside the branch in {one.place.line}, beside its stream"
    return None


def owners(name):
    """The paths of all modules that a weight, or a module, is in."""
    while name := name.rpartition(".")[0]:
        yield name


def differs(x):
    """Whether there are derivatives with respect to such numbers."""
    return x.is_floating_point() or x.is_complex()


def rows_of(told):
    """What was seen and not taken, each line and reason once."""
    seen = Counter((line, why) for _, line, why in told)
    first = {(line, why): module or "(the model)" for module, line, why in reversed(told)}
    rows = [f"{count:3}x  {first[each]}  {each[0]}  {each[1]}" for each, count in seen.items()]
    return "\n".join(["\nseen and not taken:", *rows]) if rows else ""
