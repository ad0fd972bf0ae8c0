"""Fully connected ResNets with BatchNorm.

Here live the block in its five orders and the net made of it; `Residual` itself lives
in `plusx.residual`, many nets side by side in `plusx.train`.
"""

import math

import torch
from torch import nn

from .order import runs
from .residual import Linear, Residual

# From a block's input to its output, as `plusx.order` reads it. 1603.05027, figure 4 (a) to (e).
ORDERS = {
    "original": "[weight norm relu weight norm] relu",
    "BN after addition": "[weight norm relu weight] norm relu",
    "ReLU before addition": "[weight norm relu weight norm relu]",
    "ReLU-only pre-activation": "[relu weight norm relu weight norm]",
    "full pre-activation": "[norm relu weight norm relu weight]",
}


def linear(inputs, outputs, rng, gain=2.0):
    """`torch.nn.Linear` with W from N(0, gain / inputs) and b = 0: for gain 2 as in 1502.01852, eq. 10.

    rng: the `torch.Generator` that W is drawn from.
    """
    made = Linear(inputs, outputs)
    nn.init.normal_(made.weight, generator=rng)
    nn.init.zeros_(made.bias)
    with torch.no_grad():
        made.weight.mul_(math.sqrt(gain / inputs))
    return made


def block(order, width, rng, skip=1.0):
    """One block of two linear maps, (batch, width) to the same, in an order of ORDERS.

    rng: what the weights are drawn from. skip: as for `Residual`; 0 gives the plain block.

    ValueError: the order has no such name.
    """
    if order not in ORDERS:
        raise ValueError(f"block: unknown order {order!r}; choose one of {', '.join(ORDERS)}.")
    make = {
        "weight": lambda: linear(width, width, rng),
        "norm": lambda: nn.BatchNorm1d(width),
        "relu": nn.ReLU,
    }
    (before, _), *rest = runs(ORDERS[order])
    branch = nn.Sequential(*[make[part]() for part in before])
    return nn.Sequential(Residual(branch, skip=skip), *[make[part]() for after, _ in rest for part in after])


def resnet_mlp(inputs, width, blocks, classes, *, order="full pre-activation", skip=1.0, seed=0):
    """Linear, `blocks` blocks, (norm and relu,) Linear: (batch, inputs) to (batch, classes).

    The blocks are net[1] to net[blocks]. The two pre-activation orders need the norm and
    relu after the last block (1603.05027, appendix); the others end without.
    """
    rng = torch.Generator().manual_seed(seed)
    stem = linear(inputs, width, rng)
    middle = [block(order, width, rng, skip) for _ in range(blocks)]
    tail = [nn.BatchNorm1d(width), nn.ReLU()] if "pre-activation" in order else []
    return nn.Sequential(stem, *middle, *tail, linear(width, classes, rng))
