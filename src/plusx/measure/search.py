"""Search: the residual additions of a model, from one run with gradients.

Here lives what is seen and what is taken of it; by what rule lives in `ways`, what a gate does lives in `gates`.
"""

from collections import Counter, defaultdict

import torch
from torch.autograd.graph import get_gradient_edge
from torch.utils._pytree import tree_leaves

from .meetings import Additions, line_of_model
from .ways import Ways

_TENSOR = torch.Tensor
_OTHERS = {torch.logaddexp, torch._foreach_add, torch._foreach_add_, torch.scatter_add, torch.addbmm, torch.addmv}
_OTHERS |= {getattr(_TENSOR, name) for name in "logaddexp scatter_add scatter_add_ addbmm addmv".split()}  # no gates
_ZEROS = {torch.zeros, torch.zeros_like, _TENSOR.new_zeros}
_SETTER = type(_TENSOR.requires_grad.__set__)


class Search(Additions):
    """seen: for each addition with both gradients its place, verdict, and the vertices of its stream and its sum."""

    def __init__(self, model, weights, constants):
        super().__init__(model)
        self.constants = constants
        self.ways, self.seen, self.times, self.count, self.told, self.ran = Ways(weights), [], Counter(), 0, [], set()

    def _hook(self):
        paths = {module: path for path, module in self.model.named_modules()}

        def come(module, _):
            if module in paths:
                self.ran.add(paths[module])
                self._come(paths[module])

        def leave(module, _, output):
            if module in paths:
                self._leave(paths[module], output)

        self.hooks += [
            torch.nn.modules.module.register_module_forward_pre_hook(come),  # one for all modules: quick to set
            torch.nn.modules.module.register_module_forward_hook(leave, always_call=True),
        ]

    def wants(self, place):
        return True

    def _leave(self, path, output=None):
        for each in output if isinstance(output, tuple) else (output,):
            if isinstance(each, _TENSOR) and isinstance(each.grad_fn, torch.autograd.function.BackwardCFunction):
                self.told.append((path, "", f"{each.grad_fn.name()[:-8]}, an autograd function, is not seen into"))
        super()._leave(path, output)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if type(func) is _SETTER and func.__self__ is _TENSOR.requires_grad:
            return None  # a model that asks for gradients of its input: they are recorded anyway
        if func in _ZEROS and self.constants and torch.is_grad_enabled():
            out = func(*args, **kwargs or {})
            if not differs(out):
                return out
            self.ways.weights.add(get_gradient_edge(out.requires_grad_()).node)
            return out.clone()  # a stream may begin as a constant
        if func in _OTHERS and self.running:
            one, two = [each for each in tree_leaves(args) if isinstance(each, _TENSOR) and differs(each)][:2]
            self._tell_of_both(one, two, f"{func.__name__} has no gate")
        return super().__torch_function__(func, types, args, kwargs)

    def _tell_of_both(self, a, b, why):
        if a.requires_grad and b.requires_grad:
            verdict = self.ways.told(*(self.ways.vertex(get_gradient_edge(each)) for each in (a, b)))
            if verdict.why is None:
                self.told.append((self.running[-1][0], line_of_model(), why))

    def _stack(self, out, tensors, dim=0, **named):
        super()._stack(out, tensors, dim, **named)
        if len(tensors) > 1 and out.shape[dim] == len(tensors):
            self._tell_of_both(*tensors[:2], "a stack of a stream and its branch has no gate")

    def _split_stack(self, func, *args, **named):
        split = super()._split_stack(func, *args, **named)
        if split and self.told and self.told[-1][2].startswith("a stack"):
            self.told.pop()
        return split

    def meet(self, place, a, b):
        self.count += 1
        self.times[place.here] += 1
        both = a.requires_grad and b.requires_grad
        self.ends = [self.ways.vertex(get_gradient_edge(each)) for each in (a, b)] if both else None

    def passed(self, place, a, b, alpha, total):
        if self.ends:
            verdict = self.ways.told(*self.ends, alike=a.shape == b.shape != ())
            if verdict.stream == 1 and verdict.why is None and alpha < 0:
                verdict = verdict._replace(why="the stream is taken away")
            ends = self.ends if verdict.stream == 0 else self.ends[::-1]
            self.seen.append((place, verdict, *ends, self.ways.vertex(get_gradient_edge(total))))
        elif total.is_floating_point() and not torch.is_grad_enabled():
            self.told.append((*place[:2], "computed without gradients"))
        elif any(differs(each) and each.shape == total.shape and not each.requires_grad for each in (a, b)):
            self.told.append((*place[:2], "one side records no gradient"))
        return total

    def gathered(self, only, scripted, nodes, output):
        """What `Switches` is made of."""
        ways = self.ways
        for each in tree_leaves(output):
            if isinstance(each, _TENSOR) and each.requires_grad:
                ways.vertex(get_gradient_edge(each))
        sums = {total for _, verdict, _, _, total in self.seen if verdict.why is None}
        uses = defaultdict(set)
        for vertex, before in enumerate(ways.before):
            for each in before:
                uses[each].add(vertex)
        found, told = [], []
        for place, verdict, end, branch, total in reversed(self.seen):
            why = verdict.why
            for other, around, stream, written, _ in found if only is None and why is None else ():
                if total not in around.branch:
                    continue
                if verdict.doubtful and other.module == place.module and total == written:
                    why = f"a part of the branch in {other.line}"
                elif not ways.blends(verdict.branch & around.branch) or uses[branch] - around.branch:
                    why = f"what the branch in {other.line} begins with"
                elif verdict.changed or (
                    verdict.doubtful and ways.root(verdict.common) not in sums | {ways.root(stream)}
                ):
                    why = f"inside the branch in {other.line}, beside its stream"
            if verdict.stream is not None and (why is None if only is None else only(place)):
                found.append((place, verdict, end, branch, total))
            else:
                sums.discard(total)
                told.append((*place[:2], why or "not among the chosen"))
        streams, joined, groups = {}, {}, {}
        for place, verdict, end, _, total in reversed(found):
            if end in groups and verdict.linear and only is None:
                groups[total] = groups[end]
                joined[place] = groups[end], verdict.stream
                continue
            streams[place] = verdict.stream
            if verdict.gains and verdict.linear:
                groups[total] = place
        told = [*self.told, *told[::-1], *((path, "", "scripted, is not seen into") for path in scripted)]
        owners = {owner for name in nodes for owner in _owners(name)}
        used = {owner for name, node in nodes.items() if node in ways.at for owner in _owners(name)}
        never = [path for path in owners - used if path and path not in self.ran]
        never = sorted(path for path in never if path.rpartition(".")[0] not in never)
        told += [(path, "", "has weights and never ran") for path in never]
        if not streams:
            raise ValueError(
                f"switches: no residual addition in {type(self.model).__name__}. In none of {self.count} additions of "
                "two tensors was one a stream and the other made of it by mixing. Is the model compiled, its addition "
                f"fused or the sum of a stack, or its forward without gradients?{rows_of(told)}"
            )
        return streams, self.times, joined, told, never


def _owners(name):
    """The paths of all modules that a weight is in."""
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
