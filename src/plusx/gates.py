"""Your own model: a gate on each residual addition of a net that somebody else wrote.

Here lives how such additions are found and gated; what one learns from closing them lives in chapters.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode

_IN_PLACE = {torch.Tensor.add_, torch.Tensor.__iadd__}
_ADDITIONS = {torch.add, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.__radd__} | _IN_PLACE


class Place(NamedTuple):
    """Where an addition is: the module in whose code it stands, by its path, and the line."""

    module: str
    line: str


class Switches(TorchFunctionMode):
    """The residual additions of a model, x + F(x), as skip x + branch F(x) while `with` lasts.

    places: where they are, in the order in which they are computed.
    skip, branch: a number for each, tensors (len(places),) of ones at first: set what you like.

        gates = switches(model, tokens)
        gates.branch[3] = 0
        with gates:
            scores = model(tokens)
    """

    def __init__(self, model, streams):
        super().__init__()
        self.model, self.streams = model, streams
        self.places = list(streams)
        self.skip, self.branch = torch.ones(2, len(streams), dtype=torch.float64)

    def __repr__(self):
        rows = (f"{i:3}  {place.module}  {place.line}" for i, place in enumerate(self.places))
        return "\n".join([f"{len(self.places)} residual additions", *rows])

    def __enter__(self):
        self.inside, self.hooks = _follow(self.model)
        return super().__enter__()

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _ADDITIONS and (place := _place(self.inside)) in self.streams:
            at, first = self.places.index(place), self.streams[place] == 0
            stream, written = args[:2] if first else args[1::-1]
            total = self.skip[at].item() * stream + self.branch[at].item() * written
            return args[0].copy_(total) if func in _IN_PLACE else total
        return func(*args, **(kwargs or {}))


def switches(model, *inputs, **named):
    """Find a model's residual additions, by running it once on these inputs.

    An addition of two tensors is residual if one of them, the stream, went into what the other was computed from,
    with parameters on the way. Where a module has no such addition, one of two maps of the same tensor counts, as
    where a ResNet's block changes its shape; the stream is then the one with fewer steps. The model's weights are
    not touched.

    ValueError: there is no such addition; a compiled or fused one is not seen.
    """
    seen = _Additions(model)
    frozen = [p for p in model.parameters() if not p.requires_grad and p.is_floating_point()]
    try:
        for p in frozen:
            p.requires_grad_(True)
        with torch.enable_grad(), seen:
            model(*inputs, **named)
    finally:
        for p in frozen:
            p.requires_grad_(False)
    straight = {place for place, (_, direct) in seen.found.items() if direct}
    modules = {place.module for place in straight}
    streams = {
        place: stream for place, (stream, direct) in seen.found.items() if direct or place.module not in modules
    }
    if not streams:
        raise ValueError(
            f"switches: no residual addition in {type(model).__name__}; {seen.count} additions of two tensors of one "
            "shape were seen, and in none had one operand gone into the other. Is it compiled, or its addition fused?"
        )
    return Switches(model, streams)


class _Additions(TorchFunctionMode):
    """found: place -> (which operand is the stream, whether it is itself what the other was computed from)."""

    def __init__(self, model):
        super().__init__()
        self.model, self.found, self.count = model, {}, 0

    def __enter__(self):
        self.inside, self.hooks = _follow(self.model)
        return super().__enter__()

    def __exit__(self, *error):
        for hook in self.hooks:
            hook.remove()
        return super().__exit__(*error)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in _ADDITIONS and all(isinstance(x, torch.Tensor) for x in args[:2]) and args[0].shape == args[1].shape:
            self.count += 1
            if (stream := _stream(*args[:2])) is not None:
                self.found[_place(self.inside)] = stream
        return func(*args, **(kwargs or {}))


def _stream(a, b):
    """(0 or 1, direct): which of two tensors is the stream; None if the sum is not residual."""
    if a.grad_fn is None or b.grad_fn is None:
        return None
    before = [_ancestors(x.grad_fn) for x in (a, b)]
    for i, x in enumerate((a, b)):
        if x.grad_fn in before[1 - i]:
            learned = _learned(before[1 - i] - before[i])
            return (i, True) if learned else None
    common = before[0] & before[1]
    own = [each - common for each in before]
    if common == _learned(common) or not any(map(_learned, own)):
        return None
    return int(len(own[1]) < len(own[0])), False


def _ancestors(node):
    """All nodes of the autograd graph behind a node, and itself."""
    found, open_ends = set(), [node]
    while open_ends:
        node = open_ends.pop()
        if node not in found:
            found.add(node)
            open_ends += [before for before, _ in node.next_functions if before is not None]
    return found


def _learned(nodes):
    return {node for node in nodes if hasattr(node, "variable")}


def _follow(model):
    """A list that names, from the outside in, the modules that run; and the hooks that keep it."""
    inside, hooks = [], []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(lambda *_, name=name: inside.append(name)))
        hooks.append(module.register_forward_hook(lambda *_: inside.__delitem__(-1), always_call=True))
    return inside, hooks


def _place(inside):
    frame = sys._getframe(2)
    while "/torch/" in frame.f_code.co_filename.replace("\\", "/") or frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return Place(inside[-1] if inside else "", f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
