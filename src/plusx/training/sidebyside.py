"""Many nets side by side, written as one, and the loop that trains them.

Here lives how nets are run and trained together; nets and data live elsewhere.
"""

import contextlib
import copy
import functools
import os

import torch
from IPython.display import ProgressBar
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

Adam = functools.partial(torch.optim.Adam, fused=True)  # all of a tensor's numbers in one go, several times faster


class SideBySide(nn.Module):
    """N nets that differ in their tensors' values alone, run at once.

    `SideBySide([make(seed) for seed in seeds])` is used like one of the nets, with N first:
    called with an input for each net, (N, ...), it gives their outputs, (N, ...). Its parts
    and methods are those of all nets: `nets.blocks[3](x)`, `nets.states(x)`, `for block in
    nets.blocks`. Its tensors are stacked: `nets.blocks[3].weight` is (N, outputs, inputs).

    `torch.func.vmap` runs the code of one net on all; for small nets that costs little more
    than one. They share no number, so the gradient of the sum of their losses is for each
    net that of its own loss.

    ValueError: there is no net, or they differ in more, such as shapes or a number that is
    neither parameter nor buffer.
    """

    def __init__(self, nets):
        super().__init__()
        nets = list(nets)
        _check_alike(nets)
        parameters, buffers = stack_module_state(nets)
        stacked = {name: nn.Parameter(p.detach(), p.requires_grad) for name, p in parameters.items()} | buffers
        drawn = _tensors(nets[0])
        self.net = _with(nets[0], {id(drawn[name]): tensor for name, tensor in stacked.items()})
        self.count = len(nets)

    def _part(self, stacked):
        """The same part of all nets: its tensors are stacked already."""
        part = SideBySide.__new__(SideBySide)
        nn.Module.__init__(part)
        part.net, part.count, part.training = stacked, self.count, stacked.training
        return part

    def each(self, function, *inputs):
        """What function(net, *inputs) gives for each net and its inputs, N first.

        inputs: tensors with the nets first; what is no tensor is the same for each net.

        ValueError: a tensor has not one entry for each net.
        """
        for at, x in enumerate(inputs):
            if isinstance(x, torch.Tensor) and x.shape[:1] != (self.count,):
                raise ValueError(
                    f"SideBySide: input {at} has shape {tuple(x.shape)}; expected ({self.count}, ...), one for each "
                    "net. `nets.same(x)` gives the same to each."
                )
        dims = [0 if isinstance(x, torch.Tensor) else None for x in inputs]
        apply = _Apply(self.net, function)
        tensors = {f"net.{name}": tensor for name, tensor in _tensors(self.net).items()}
        # Both names are given of a tensor that has two; to look for such would take a tenth of a step.
        run = vmap(lambda given, *inputs: functional_call(apply, given, inputs, tie_weights=False), in_dims=(0, *dims))
        return run(tensors, *inputs)

    def forward(self, *inputs):
        return self.each(type(self.net).__call__, *inputs)

    def same(self, x):
        """The same input for each net, (N, *x.shape), without a copy."""
        return x.expand(self.count, *x.shape)

    def at(self, tensors):
        """Nets with other parameters and buffers, by their names in one net: M nets, if those are (M, ...)."""
        here = _tensors(self.net)
        nets = self._part(_with(self.net, {id(here[name]): tensor for name, tensor in tensors.items()}))
        nets.count = len(next(iter(tensors.values())))
        return nets

    def named_parameters(self, *args, **kwargs):
        """By their names in one net."""
        return self.net.named_parameters(*args, **kwargs)

    def named_buffers(self, *args, **kwargs):
        """By their names in one net."""
        return self.net.named_buffers(*args, **kwargs)

    def __getattr__(self, name):
        net = super().__getattr__("net")
        if name == "net":
            return net
        found = getattr(net, name)
        if isinstance(found, nn.Module):
            return self._part(found)
        if getattr(found, "__self__", None) is net:  # a method
            return functools.partial(self.each, found.__func__)
        return found

    def __getitem__(self, at):
        return self._part(self.net[at])

    def __iter__(self):
        return map(self._part, self.net)

    def __len__(self):
        return len(self.net)


def _tensors(net):
    """All parameters and buffers by each of their names."""
    return {
        f"{path}.{name}".lstrip("."): tensor
        for path, part in net.named_modules()
        for own in (part._parameters, part._buffers)
        for name, tensor in own.items()
        if tensor is not None
    }


def _with(net, tensors):
    """The same net with other tensors, by the ids of those it has; `copy.deepcopy` takes six times as long."""
    other = copy.copy(net)
    for own in "_parameters", "_buffers":
        setattr(other, own, {name: None if t is None else tensors[id(t)] for name, t in getattr(net, own).items()})
    other._modules = {name: None if m is None else _with(m, tensors) for name, m in net._modules.items()}
    return other


class _Apply(nn.Module):
    """function(net, *inputs) as a module's call, which is what `functional_call` takes."""

    def __init__(self, net, function):
        super().__init__()
        self.net, self.function = net, function

    def forward(self, *inputs):
        return self.function(self.net, *inputs)


def _check_alike(nets):
    if not nets:
        raise ValueError("SideBySide: there is no net; expected one or more.")
    first = _facts(nets[0])
    for number, net in enumerate(nets[1:], 1):
        facts = _facts(net)
        for name in first | facts:
            mine, theirs = first.get(name, "nothing"), facts.get(name, "nothing")
            if mine != theirs:
                raise ValueError(
                    f"SideBySide: {name} is {theirs} in net {number} and {mine} in net 0; expected nets that differ "
                    "in their tensors' values alone. Make a number that differs a buffer."
                )


def _facts(net):
    """What has to be the same in all nets: kinds of parts, shapes, and attributes that are no tensors."""
    found = {}
    for path, part in net.named_modules():
        prefix = f"{path}." if path else ""
        found[path or "the net"] = type(part).__name__
        for name, value in vars(part).items():
            if name[0] != "_" and (callable(value) or isinstance(value, (bool, int, float, str, tuple))):
                found[prefix + name] = getattr(value, "__code__", value)  # a lambda is made anew in each net
    return found | {name: tuple(tensor.shape) for name, tensor in _tensors(net).items()}


def train(losses, nets, steps, optimiser=Adam, lr=1e-3):
    """Take `steps` optimiser steps; return the losses before each: (steps, N).

    losses: function of the step's number that gives the loss of each net, (N,). Their sum is
        minimised; what is not finite in one net stays there.
    nets: a `SideBySide`, whose parameters are trained.
    optimiser: a class of `torch.optim` that treats every number by itself, such as SGD or
        Adam; clipping by a common norm would tie the nets together.
    lr: a number; or one for each net, (N,); or a function of the step's number and a
        parameter's name that gives either.

    ValueError: there is not one loss, or not one rate, for each net.
    """
    trained = {name: p for name, p in nets.named_parameters() if p.requires_grad}
    update = _updates(optimiser, trained, lr)
    seen = []
    for step in progress(range(steps)):
        each = losses(step)
        if each.shape != (nets.count,):
            raise ValueError(f"train: the losses have shape {tuple(each.shape)}; expected one a net, ({nets.count},).")
        nets.zero_grad()
        each.sum().backward()
        update(step)
        seen.append(each.detach())
    return torch.stack(seen)


def _updates(optimiser, trained, lr):
    """A function of the step's number that moves all tensors by what `optimiser` makes of their gradients.

    A step of SGD or Adam is proportional to the rate. So theirs is taken at rate 1 and from
    0, and each net moves by its rate times that.
    """
    if isinstance(lr, float):
        optim = optimiser(trained.values(), lr=lr)
        return lambda step: optim.step()
    moves = {name: torch.zeros_like(tensor) for name, tensor in trained.items()}
    optim = optimiser(moves.values(), lr=1.0)
    if any(group.get("weight_decay") for group in optim.param_groups):
        raise ValueError("train: weight_decay with a rate for each net; expected none, it is not computed.")

    @torch.no_grad()
    def update(step):
        for name, tensor in trained.items():
            moves[name].grad = tensor.grad
        optim.step()
        for name, tensor in trained.items():
            rate = torch.as_tensor(lr(step, name) if callable(lr) else lr)
            if rate.shape not in ((), tensor.shape[:1]):
                raise ValueError(
                    f"train: the rate of {name} has shape {tuple(rate.shape)}; expected () or ({len(tensor)},)."
                )
            tensor.addcmul_(moves[name], rate.to(tensor).view(-1, *[1] * (tensor.ndim - 1)))
            moves[name].zero_()

    return update


_without = []


def progress(items):
    """Iterate over a sequence with a bar below the cell; no bar while the book is built, or `without_bars`."""
    if os.environ.get("PLUSX_EXPLORE") == "static" or _without:
        yield from items
        return
    bar = ProgressBar(len(items))
    bar.display()
    for done, item in enumerate(items, 1):
        yield item
        if done * 50 // len(items) > (done - 1) * 50 // len(items):  # each update is a message to the page
            bar.progress = done


@contextlib.contextmanager
def without_bars():
    """Show no bar while this lasts: many trainings in a row have one of their own."""
    _without.append(True)
    try:
        yield
    finally:
        _without.pop()
