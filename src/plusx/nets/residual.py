"""The idea of the book: `Residual`, and stacks of layers with or without it.

Measuring lives in `plusx.measure.probes`, many nets side by side in `plusx.training.sidebyside`; convolutions
and attention live elsewhere.
"""

import functools
import math

import torch
from torch import nn

ACTIVATIONS = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}
# LayerNorm (1607.06450) without gain and bias, as it is at initialisation.
NORMS = {"none": lambda width: nn.Identity(), "LayerNorm": lambda width: nn.LayerNorm(width, elementwise_affine=False)}


# Drawn in float32, several times faster, and widened: 24 random bits are enough.


def _uniform(*shape, variance, generator):
    bound = math.sqrt(3 * variance)
    return torch.empty(*shape).uniform_(-bound, bound, generator=generator).double()


def default_init(width, generator):
    """Draw (W, b) as `torch.nn.Linear` does: both U(-k, k) with k = 1/sqrt(fan_in).

    Var W = 1 / (3 fan_in); `nn.Linear` says it as `kaiming_uniform_(a=sqrt(5))`.
    """
    variance = 1 / (3 * width)
    weight = _uniform(width, width, variance=variance, generator=generator)
    return weight, _uniform(width, variance=variance, generator=generator)


def kaiming_init(width, generator, gain=2):
    """Draw W from N(0, gain / fan_in), b = 0: He et al. 2015 (1502.01852), eq. 10.

    The 2 is for what comes from a ReLU; other activations get the same weights here. What comes from none has 1.
    """
    std = math.sqrt(gain / width)
    weight = torch.empty(width, width).normal_(std=std, generator=generator)
    return weight.double(), torch.zeros(width, dtype=torch.float64)


def xavier_init(width, generator):
    """Draw W uniform with variance 2 / (fan_in + fan_out), b = 0: Glorot and Bengio
    2010, eq. 16."""
    weight = _uniform(width, width, variance=1 / width, generator=generator)
    return weight, torch.zeros(width, dtype=torch.float64)


# Of a block's two matrices: the first gets the stream, the second what comes from the activation.
INITS = {
    "default": (default_init, default_init),
    "kaiming": (functools.partial(kaiming_init, gain=1), kaiming_init),
    "xavier": (xavier_init, xavier_init),
}


def _pick(owner, what, name, table):
    if name not in table:
        raise ValueError(f"{owner}: unknown {what} {name!r}; choose one of {', '.join(table)}.")
    return table[name]


class Residual(nn.Module):
    """y = skip * x + scale * branch(x): He et al. 2016 (1512.03385), eq. 1.

    branch: module or function that keeps the shape of x, (*batch, width).
    skip: number or tensor. 1 is the residual connection, 0 the plain branch.
    scale: number, tensor or `nn.Parameter`. A parameter that starts at 0 is ReZero
        (2003.04887, eq. 1).

    A tensor may hold many states at once: gates of shape (G, 1, 1) on x of shape
    (batch, width) give y of shape (G, batch, width), in one forward pass.

    ValueError: the branch changes the shape (also where broadcasting would hide it),
    or a gate stretches a dimension of x.
    """

    def __init__(self, branch, skip=1.0, scale=1.0):
        super().__init__()
        self.branch = branch
        for name, gate in (("skip", skip), ("scale", scale)):
            if isinstance(gate, torch.Tensor) and not isinstance(gate, nn.Parameter):
                self.register_buffer(name, gate)
            else:
                setattr(self, name, gate)

    def forward(self, x):
        fx = self.branch(x)
        if fx.shape != x.shape:
            raise ValueError(
                f"Residual: the branch maps {tuple(x.shape)} to {tuple(fx.shape)}; "
                "a skip needs equal shapes. Project the input first."
            )
        self._check_gate("skip", x)
        self._check_gate("scale", x)
        return self.skip * x + self.scale * fx

    def _check_gate(self, name, x):
        gate = getattr(self, name)
        if not isinstance(gate, torch.Tensor):
            return
        for size, expected in zip(reversed(gate.shape), reversed(x.shape)):
            if size not in (1, expected):
                raise ValueError(
                    f"Residual: {name} has shape {tuple(gate.shape)} and x has "
                    f"{tuple(x.shape)}; a gate's last dimensions must be 1 or those "
                    "of x. Put states in leading dimensions, e.g. (states, 1, 1)."
                )


class Linear(nn.Linear):
    """`torch.nn.Linear` without first weights: who makes it draws them, and from a generator of its own."""

    def reset_parameters(self):
        pass


class Stack(nn.Module):
    """`depth` blocks x -> skip * x + W2 activation(W1 norm(x) + b1) + b2: (..., batch, width) keeps its shape.

    skip: 0 or False for a plain net, 1 or True for a residual one, or a tensor of gates
        (see `Residual`).
    norm, activation, init: names in NORMS, ACTIVATIONS, INITS.
    seed: block l is the same at every depth.

    All weights are float64, all matrices square. A block's branch is its norm, W1, activation and W2.
    """

    def __init__(self, depth, width, *, skip=True, norm="none", activation="relu", init="default", seed=0):
        super().__init__()
        draws = _pick("Stack", "init", init, INITS)
        make_activation = _pick("Stack", "activation", activation, ACTIVATIONS)
        make_norm = _pick("Stack", "norm", norm, NORMS)
        rng = torch.Generator().manual_seed(seed)
        skip = skip if isinstance(skip, torch.Tensor) else float(skip)
        self.width, self.layers = width, nn.ModuleList()
        for _ in range(depth):
            first, second = (Linear(width, width, dtype=torch.float64) for _ in draws)
            for linear, draw in zip((first, second), draws):
                linear.weight.data, linear.bias.data = draw(width, rng)
            branch = nn.Sequential(make_norm(width), first, make_activation(), second)
            self.layers.append(Residual(branch, skip=skip))

    def forward(self, x):
        if x.ndim < 2 or x.shape[-1] != self.width:
            raise ValueError(f"Stack: x has shape {tuple(x.shape)}; expected (..., batch, {self.width}).")
        return states(self.layers, x)[-1]


def states(layers, x):
    """The stream before the first layer and after each: x and len(layers) more."""
    found = [x]
    for layer in layers:
        found.append(layer(found[-1]))
    return found
