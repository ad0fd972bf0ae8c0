"""Fully connected ResNets with BatchNorm, many independent nets side by side.

Here live the block in its five orders and the net made of it; `Residual` itself lives
in `plusx.residual`, training in `plusx.train`.
"""

import math

import torch
from torch import nn

from .order import runs
from .residual import Residual

# From a block's input to its output, as `plusx.order` reads it. 1603.05027, figure 4 (a) to (e).
ORDERS = {
    "original": "[weight norm relu weight norm] relu",
    "BN after addition": "[weight norm relu weight] norm relu",
    "ReLU before addition": "[weight norm relu weight norm relu]",
    "ReLU-only pre-activation": "[relu weight norm relu weight norm]",
    "full pre-activation": "[norm relu weight norm relu weight]",
}


class Linear(nn.Module):
    """x W^T + b, one W and b per net: (..., S, batch, inputs) to (..., S, batch, outputs).

    W is drawn from N(0, 2 / inputs), b = 0 (1502.01852, eq. 10), from one generator per
    net. weight: (S, outputs, inputs). bias: (S, 1, outputs).
    """

    def __init__(self, inputs, outputs, generators):
        super().__init__()
        draws = [torch.empty(outputs, inputs).normal_(generator=g) for g in generators]
        self.weight = nn.Parameter(math.sqrt(2 / inputs) * torch.stack(draws))
        self.bias = nn.Parameter(torch.zeros(len(draws), 1, outputs))

    def forward(self, x):
        return x @ self.weight.mT + self.bias


class BatchNorm(nn.Module):
    """BatchNorm over the batch, each net by itself: (S, batch, width) keeps its shape.

    In evaluation x may have leading dimensions, (..., S, batch, width).
    1502.03167, algorithms 1 and 2, with the numbers of `torch.nn.BatchNorm1d`: eps 1e-5,
    running averages by a tenth. All parameters and averages: (S, 1, width).
    """

    def __init__(self, width, nets):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(nets, 1, width))
        self.bias = nn.Parameter(torch.zeros(nets, 1, width))
        self.register_buffer("mean", torch.zeros(nets, 1, width))
        self.register_buffer("variance", torch.ones(nets, 1, width))

    def forward(self, x):
        mean, variance = self.mean, self.variance
        if self.training:
            mean = x.mean(-2, keepdim=True)
            variance = (x - mean).square().mean(-2, keepdim=True)  # faster than torch.var here
            with torch.no_grad():
                batch = x.shape[-2]
                self.mean.lerp_(mean, 0.1)
                self.variance.lerp_(variance * batch / (batch - 1), 0.1)
        return (x - mean) * (self.weight * torch.rsqrt(variance + 1e-5)) + self.bias


def block(order, width, generators, skip=1.0):
    """One block of two linear maps, (S, batch, width) to the same, in an order of ORDERS.

    generators: one per net. skip: as for `Residual`; 0 gives the plain block.

    ValueError: the order has no such name.
    """
    if order not in ORDERS:
        raise ValueError(f"block: unknown order {order!r}; choose one of {', '.join(ORDERS)}.")
    make = {
        "weight": lambda: Linear(width, width, generators),
        "norm": lambda: BatchNorm(width, len(generators)),
        "relu": nn.ReLU,
    }
    (before, _), *rest = runs(ORDERS[order])
    branch = nn.Sequential(*[make[part]() for part in before])
    return nn.Sequential(Residual(branch, skip=skip), *[make[part]() for after, _ in rest for part in after])


def resnet_mlp(inputs, width, blocks, classes, *, order="full pre-activation", skip=1.0, seeds=range(3)):
    """Linear, `blocks` blocks, (norm and relu,) Linear: (..., batch, inputs) to (S, batch, classes).

    The blocks are net[1] to net[blocks]. The two pre-activation orders need the norm and
    relu after the last block (1603.05027, appendix); the others end without.
    Each seed draws its own net.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    stem = Linear(inputs, width, generators)
    middle = [block(order, width, generators, skip) for _ in range(blocks)]
    tail = [BatchNorm(width, len(generators)), nn.ReLU()] if "pre-activation" in order else []
    return nn.Sequential(stem, *middle, *tail, Linear(width, classes, generators))
