"""Your own model: a gate on each residual addition of a net that somebody else wrote.

Here lives how such additions are met, gated and gathered; by what rule one is residual lives in `ways`.
"""

import random
import sys
import threading
import weakref
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import torch
from torch.autograd.forward_ad import unpack_dual
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from .ways import Ways

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
_OTHERS = {torch.logaddexp, torch._foreach_add, torch._foreach_add_, torch.scatter_add, torch.addbmm, torch.addmv}
_OTHERS |= {
    getattr(_TENSOR, name) for name in "logaddexp scatter_add scatter_add_ addbmm addmv".split()
}  # without gates
_ZEROS = {torch.zeros, torch.zeros_like, _TENSOR.new_zeros}
_SETTER = type(_TENSOR.requires_grad.__set__)
_STACKS, _TOTALS = {torch.stack, torch.cat, torch.concat}, {torch.sum, torch.mean, _TENSOR.sum, _TENSOR.mean}
_HEEDED = {*_ADDS, *_STACKS, *_TOTALS}
_CHECKPOINT = str(Path("torch", "utils", "checkpoint.py"))


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


class _Additions(TorchFunctionMode):
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
        (module, after), line = self.running[-1], _line()
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


class Switches(_Additions):
    """The residual additions of a model, x + F(x), as skip x + branch F(x) while `with` lasts.

    places: where they are, in the order in which they are computed.
    skip, branch: ones at first, (len(places),); set what you like. (len(places), batch, n, 1), say, is a gate for
        each token. Where they require a gradient or carry a tangent, they get one.
    told: of each addition and call that was seen and has no gate, its module, its line, and why; `repr` ends with it.

        gates = switches(model, tokens)
        gates.branch[3] = 0
        with gates:
            scores = model(tokens)

    With all gates 1 a model computes what it does without, but for torch's fused layers: an `nn.TransformerEncoder`
    with a padding mask then computes padded places too, where it otherwise writes 0. Other threads are not gated.

    RuntimeError: an addition comes more often than when it was found or after another module, a gate is not 1 and its
    addition never came, or it comes where gradient checkpointing will compute it again without the gate.
    ValueError: gates are no tensor, not as many as places, or NaN, or make a tensor of another shape.
    """

    def __init__(self, model, streams, times, joined=None, told=(), never=()):
        super().__init__(model)
        self.streams, self.places, self.times = streams, list(streams), times
        self.joined, self.told, self.never = joined or {}, list(told), never
        self.skip, self.branch = torch.ones(len(streams)), torch.ones(len(streams))
        self.at = {place: at for at, place in enumerate(self.places)}
        self.at |= {place: self.at[first] for place, (first, _) in self.joined.items()}
        self.lines, self.read = {place.line for place in self.at}, None
        parts = {path for path, part in model.named_modules() if not isinstance(part, torch.jit.ScriptModule)}
        here = {path for module, line, after in times if line in self.lines for path in (module, after)}
        self.watched = sorted({"", *here, *never, *(path.rpartition(".")[0] for path in never)} & parts)

    def __repr__(self):
        rows = [f"{at:3}  {place.module or '(the model)'}  {place.line}" for at, place in enumerate(self.places)]
        return "\n".join([f"{len(self.places)} residual additions", *rows]) + _rows_of(self.told)

    def __enter__(self):
        self.waiting = set(self.places)
        self._closed()
        return super().__enter__()

    def __exit__(self, kind, *error):
        super().__exit__(kind, *error)
        for at, closed in enumerate(self._closed() if kind is None else ()):
            if closed and (place := self.places[at]) in self.waiting:
                raise RuntimeError(
                    f"switches: gate {at} is not 1, and its addition in {place.module}, {place.line}, never came. Did "
                    "the model run? Is it compiled, or does it add in another way without gradients?"
                )

    def _hook(self):
        """Only modules that add at such lines, what ran last in them, and what never ran: each hook takes time."""
        for path in self.watched:
            module = self.model.get_submodule(path)
            self.hooks += [
                module.register_forward_pre_hook(lambda *_, path=path: self._come(path)),
                module.register_forward_hook(lambda *_, path=path: self._leave(path), always_call=True),
            ]

    def wants(self, place):
        return place.line in self.lines

    def meet(self, place, a, b):
        if place not in self.at:
            return self._strange(place)
        self.waiting.discard(place)
        at, stream = self.at[place], self.joined[place][1] if place in self.joined else self.streams[place]
        if not self._closed()[at]:
            return None
        if _is_recomputed():
            raise RuntimeError(
                f"switches: gate {at} is not 1, and gradient checkpointing computes {place.module} again in "
                "backward, where no gate is seen. Turn it off to set gates."
            )
        skip = torch.ones(()) if place in self.joined else self.skip[at]
        gates, gated = [("skip", skip), ("branch", self.branch[at])], []
        for x, (name, gate) in zip((a, b), gates[::-1] if stream else gates):
            try:
                gated.append(_times(gate, x))
                shape = torch.broadcast_shapes(a.shape, b.shape)
                fits = torch.broadcast_shapes(gated[-1].shape, shape) == shape
            except RuntimeError as error:
                raise ValueError(f"{_named(name, at, gate, place)} does not go with {_kind(x)}: {error}") from error
            if not fits:
                raise ValueError(
                    f"{_named(name, at, gate, place)} makes {tuple(gated[-1].shape)} of {tuple(x.shape)}, where a sum "
                    f"of {tuple(shape)} was to come. With a cache, or other inputs, gates need other shapes."
                )
        return gated

    def _strange(self, place):
        """What comes at a line of residual additions, where or when none was found."""
        here = [at for at, known in enumerate(self.places) if known[:2] == place[:2]]
        if 0 < self.times[place.here] < place.time and here:
            raise RuntimeError(
                f"switches: {place.module} adds for time {place.time} in one run, more often than when its additions "
                f"were found ({place.line}). Find them with these inputs."
            )
        closed = self._closed()
        if not self.times[place.here] and (any(closed[at] for at in here) or (any(closed) and self._never(place))):
            raise RuntimeError(
                f"switches: {place.module or 'the model'} adds in {place.line} after {place.after or 'nothing else'}, "
                "as it did not when its additions were found. Are layers left out by chance? Find them in evaluation "
                "mode, or with these inputs."
            )

    def _never(self, place):
        return any(f"{path}.".startswith(f"{known}.") for path in (place.module, place.after) for known in self.never)

    def _closed(self):
        """For each gate whether it does something; gates may be set between two runs."""
        both = self.skip, self.branch
        try:
            now = [(id(each), each._version, each.requires_grad) for each in both]
        except (RuntimeError, AttributeError):  # what inference mode made has no version; a list is told of below
            now = None
        if now is None or self.read is None or now != self.read[0]:
            states = zip(*(self._state(name, gates) for name, gates in zip(("skip", "branch"), both)))
            self.read = now, [skip or branch for skip, branch in states], both
        return self.read[1]

    def _state(self, name, gates):
        count = len(self.places)
        if not isinstance(gates, _TENSOR):
            raise ValueError(f"switches: {name} is a {type(gates).__name__}; expected a tensor of {count} gates.")
        if gates.ndim == 0 or len(gates) != count:
            raise ValueError(f"switches: {name} has shape {tuple(gates.shape)}; expected {count} gates, one a place.")
        if _moves(gates):
            return [True] * count
        flat = gates.detach().reshape(count, -1)
        if flat.isnan().any():
            raise ValueError(f"switches: {name} is NaN at {flat.isnan().any(1).nonzero().flatten().tolist()}.")
        return (flat != 1).any(1).tolist()


def _rows_of(told):
    """What was seen and not taken, each line and reason once."""
    seen = Counter((line, why) for _, line, why in told)
    first = {(line, why): module or "(the model)" for module, line, why in reversed(told)}
    rows = [f"{count:3}x  {first[each]}  {each[0]}  {each[1]}" for each, count in seen.items()]
    return "\n".join(["\nseen and not taken:", *rows]) if rows else ""


def _named(name, at, gate, place):
    return f"switches: {name} gate {at} of shape {tuple(gate.shape)} at {place.module or 'the model'}, {place.line},"


def _kind(x):
    return f"{'a nested tensor' if x.is_nested else f'{x.dtype} of shape {tuple(x.shape)}'}"


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
    nothing on it, and the other, the branch, does: by a matrix, a convolution, attention, pooling, a Fourier transform.
    A way is as long as it mixes often, then as it has steps. Three more cases count, outside of branches, and in them
    where both come from the stream itself: a stream with gains of its own; parts of one tensor; and a stream that is
    mixed too, as where a ResNet's block changes its shape, if less often than the branch, and without a bend where the
    branch has one. In a branch, what is added must be mixed within that branch. Parallel convolutions beside a norm
    are one branch. What is taken away from its branch, F(x) - x, does not count.

    only: a function of a `Place`; additions for which it is true are taken, whatever else speaks against them.

    The model's weights, buffers and random numbers are not touched.
    ValueError: there is no such addition; a fused or compiled one is not seen.
    """
    _check(model, inputs, named)
    devices = {p.device for p in model.parameters() if p.device.type not in ("cpu", "meta")}
    drawn = random.getstate()
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.random.fork_rng(devices, device_type=next((each.type for each in devices), "cuda")),
    ):
        scripted = [path for path, part in model.named_modules() if isinstance(part, torch.jit.ScriptModule)]
        weights = {
            name: _own(p).requires_grad_(_differs(p))
            for name, p in model.named_parameters()
            if not any(name.startswith(f"{path}.") for path in scripted)
        }
        nodes = {name: get_gradient_edge(p).node for name, p in weights.items() if p.requires_grad}
        for constants in True, False:  # numpy, say, takes no constant that records gradients
            seen, state = _Search(model, set(nodes.values()), constants), torch.get_rng_state()
            buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
            try:
                with seen:
                    given = tree_map_only(torch.Tensor, _traced, (inputs, named))
                    output = functional_call(model, weights | buffers, *given)
                break
            except Exception:
                if not constants:
                    raise
                torch.set_rng_state(state)
            finally:
                random.setstate(drawn)
    return seen.gathered(only, scripted, nodes, output)


def _check(model, inputs, named):
    """What torch itself would refuse later, in other words."""
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            "switches: the model is scripted or traced, so no addition is seen; give the one it was made of."
        )
    lazy = [name for name, p in model.named_parameters() if isinstance(p, torch.nn.parameter.UninitializedParameter)]
    if lazy:
        raise ValueError(f"switches: {lazy[0]} has no shape yet; run the model once before.")
    tensors = [each for each in tree_leaves((inputs, named)) if isinstance(each, _TENSOR)]
    if any(torch._C._functorch.is_functorch_wrapped_tensor(each) for each in tensors):
        raise ValueError(
            "switches: additions are found outside of vmap, grad and jvp; call switches() before, on one net."
        )


class _Search(_Additions):
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
            if not _differs(out):
                return out
            self.ways.weights.add(get_gradient_edge(out.requires_grad_()).node)
            return out.clone()  # a stream may begin as a constant
        if func in _OTHERS and self.running:
            one, two = [each for each in tree_leaves(args) if isinstance(each, _TENSOR) and _differs(each)][:2]
            self._tell_of_both(one, two, f"{func.__name__} has no gate")
        return super().__torch_function__(func, types, args, kwargs)

    def _tell_of_both(self, a, b, why):
        if a.requires_grad and b.requires_grad:
            verdict = self.ways.told(*(self.ways.vertex(get_gradient_edge(each)) for each in (a, b)))
            if verdict.why is None:
                self.told.append((self.running[-1][0], _line(), why))

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
        elif any(_differs(each) and each.shape == total.shape and not each.requires_grad for each in (a, b)):
            self.told.append((*place[:2], "one side records no gradient"))
        return total

    def gathered(self, only, scripted, nodes, output):
        """Switches for what is residual."""
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
                f"fused or the sum of a stack, or its forward without gradients?{_rows_of(told)}"
            )
        return Switches(self.model, streams, self.times, joined, told, never)


def _owners(name):
    """The paths of all modules that a weight is in."""
    while name := name.rpartition(".")[0]:
        yield name


def _own(x):
    """A leaf of the same memory, or, of what inference mode made, a copy."""
    return x.clone().detach() if x.is_inference() else x.detach()


def _traced(x):
    return _own(x).requires_grad_().clone() if _differs(x) else x


def _differs(x):
    """Whether there are derivatives with respect to such numbers."""
    return x.is_floating_point() or x.is_complex()


def _line():
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ or frame.f_code.co_name == "__torch_function__":  # gates inside gates
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
