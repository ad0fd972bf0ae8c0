"""Search: the residual additions of a model, from one run with gradients.

Here lives what is seen and what is taken of it; by what rule lives in `ways`, what a gate does lives in `gates`.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from .meetings import HEARD, Additions, Place
from .ways import Verdict, Vertex, Ways, blends

_TENSOR = torch.Tensor
_ZEROS = {torch.zeros, torch.zeros_like, _TENSOR.new_zeros}
_SETTER = type(_TENSOR.requires_grad.__set__)


class Found(NamedTuple):
    """gate: its number. stream: which operand. first: else the sum with the branch of this gate has begun before."""

    gate: int
    stream: int
    first: bool


class Seen(NamedTuple):
    """An addition of two tensors with gradients; stream, branch, total: vertices."""

    place: Place
    verdict: Verdict
    stream: Vertex
    branch: Vertex
    total: Vertex


class Search(Additions):
    """seen: each addition with both gradients. told: what else adds, with its module, its line, and why it has none.

    ran: the path of a module -> those of what ran in it.
    """

    def __init__(self, model, weights, constants):
        super().__init__(model)
        self.constants, self.ways = constants, Ways(weights)
        self.seen, self.told, self.ran = [], [], defaultdict(set)

    def come(self, path):
        self.ran[self.running[-1][0] if self.running else None].add(path)
        super().come(path)

    def leave(self, path, output):
        for each in output if isinstance(output, tuple) else (output,):
            if isinstance(each, _TENSOR) and isinstance(each.grad_fn, torch.autograd.function.BackwardCFunction):
                self.told.append((path, "", f"{each.grad_fn.name()[:-8]}, an autograd function, is not seen into"))
        self.times = self.met.copy()
        super().leave(path, output)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if type(func) is _SETTER and func.__self__ is _TENSOR.requires_grad:
            return None  # a model that asks for gradients of its input: they are recorded anyway
        if func in _ZEROS and self.constants and torch.is_grad_enabled():
            out = func(*args, **kwargs or {})
            if not differs(out):
                return out
            self.ways.weights.add(torch.autograd.graph.get_gradient_edge(out.requires_grad_()).node)
            return out.clone()  # a stream may begin as a constant
        if "add" in func.__name__ and func not in HEARD:  # such as logaddexp
            self._tell_of_both(f"{func.__name__} has no gate", *tree_leaves(args))
        return super().__torch_function__(func, types, args, kwargs)

    def _tell_of_both(self, why, *given):
        ends = [self.ways.vertex(each) for each in given if isinstance(each, _TENSOR) and each.requires_grad]
        if len(ends) == 2:
            verdict = self.ways.told(*ends)
            if verdict.stream is not None and verdict.why is None:
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
            verdict = self.ways.told(*ends, alike)
            if verdict.stream == 1 and verdict.why is None and alpha < 0:
                verdict = verdict._replace(why="the stream is taken away")
            ends = ends[::-1] if verdict.stream else ends
            self.seen.append(Seen(place, verdict, *ends, self.ways.sum(total, *ends)))
        elif total.is_floating_point() and not torch.is_grad_enabled():
            self.told.append((*place[:2], "computed without gradients"))
        elif total.shape in shapes:
            self.told.append((*place[:2], "one side records no gradient"))
        return total

    def gathered(self, only, scripted, nodes, output):
        """What `Switches` is made of: found, times, ran, told, never."""
        for each in tree_leaves(output):
            if isinstance(each, _TENSOR) and each.requires_grad:
                self.ways.vertex(each)
        taken, told = self._taken(only)
        found, begun = {}, {}  # of a sum that goes on, as of parallel convolutions, the number of its gate
        for each in taken:
            gate = begun.get(each.stream) if each.verdict.linear and only is None else None
            count = sum(one.first for one in found.values())
            found[each.place] = Found(count if gate is None else gate, each.verdict.stream, gate is None)
            if gate is not None or (each.verdict.gains and each.verdict.linear):
                begun[each.total] = found[each.place].gate
        told = [*self.told, *told, *((path, "", "scripted, is not seen into") for path in scripted)]
        idle = {owner for name in nodes for owner in owners(name)}.difference(*self.ran.values())
        idle -= {owner for name, node in nodes.items() if node in self.ways.at for owner in owners(name)}
        never = sorted(path for path in idle if path and path.rpartition(".")[0] not in idle)
        told += [(path, "", "has weights and never ran") for path in never]
        if not found:
            raise ValueError(
                f"switches: no residual addition in {type(self.model).__name__}. In none of {self.times.total()} "
                "additions of two tensors was one a stream and the other made of it by mixing. Is its addition fused "
                f"or the sum of a stack, or its forward without gradients?{rows_of(told)}"
            )
        return found, self.times, self.ran, told, never

    def _taken(self, only):
        """Of what was seen the residual additions, and why the others are none."""
        sums = {each.total for each in self.seen if each.verdict.why is None}
        uses, taken, told = defaultdict(set), [], []
        for vertex in self.ways.at.values():
            for each in vertex.before:
                uses[each].add(vertex)
        goes_on = set()  # what streams of residual additions are: no part of a branch, whoever else reads it
        for each in reversed(self.seen):
            verdict, why = each.verdict, each.verdict.why
            if only is None and verdict.stream is not None and why is None and each.total not in goes_on:
                why = _why_inside(each, taken, uses, sums)
            if verdict.stream is not None and (why is None if only is None else only(each.place)):
                taken.append(each)
                goes_on.update(each.stream.back())
                continue
            sums.discard(each.total)
            if why or verdict.stream is not None:
                told.append((*each.place[:2], why or "not among the chosen"))
        return taken[::-1], told[::-1]


def _why_inside(each, taken, uses, sums):
    """Why an addition is but a part of the branch of one that was taken; None if it is one of its own."""
    verdict, own = each.verdict, {each.total}
    for vertex in sorted(verdict.branch, key=lambda one: -one.number):
        if uses[vertex] <= own:  # it is there for this sum alone
            own.add(vertex)
    for around in taken:
        branch, line = around.verdict.branch, around.place.line
        if each.total not in branch:
            continue
        if verdict.doubtful and around.place.module == each.place.module and each.total is around.branch:
            return f"a part of the branch in {line}"
        another = each.stream is not around.stream and each.stream not in branch  # stream, which reads this one
        if not blends(own if another else own & branch):
            return f"what the branch in {line} begins with"
        aside = verdict.common.root() not in sums | {around.stream.root()}
        if verdict.changed or (aside and (verdict.doubtful or verdict.common.fixed)):
            return f"inside the branch in {line}, beside its stream"
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
