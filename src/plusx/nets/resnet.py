"""ResNets with BatchNorm: fully connected ones, and those for small images.

Here live the block in its five orders, the block of two convolutions, and the nets made of them; `Residual`
itself lives in `plusx.nets.residual`, many nets side by side in `plusx.training.sidebyside`.
"""

import math

import torch
from torch import nn

from ..order import runs
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


class Basic(nn.Module):
    """Two 3x3 convolutions with BatchNorm and a shortcut: (batch, inputs, height, width) to `outputs` channels.

    A stride divides height and width, rounded up; the shortcut then takes every stride-th pixel, and zeros
    for new channels. 1512.03385, figure 2 and section 4.2 (option A).
    skip: 1 for the residual block, 0 for the plain one.
    """

    def __init__(self, inputs, outputs, stride, skip, rng):
        super().__init__()
        self.stride, self.new, self.skip = stride, outputs - inputs, float(skip)
        self.branch = nn.Sequential(
            *conv_norm(inputs, outputs, stride, rng), nn.ReLU(), *conv_norm(outputs, outputs, 1, rng)
        )

    def forward(self, x):
        shortcut = nn.functional.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.new))
        return torch.relu(self.branch(x) + self.skip * shortcut)


def conv_norm(inputs, outputs, stride, rng):
    """A 3x3 convolution with Kaiming weights, and BatchNorm by the batch at hand, in evaluation too."""
    conv = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
    nn.init.kaiming_normal_(conv.weight, generator=rng)
    return conv, nn.BatchNorm2d(outputs, track_running_stats=False)


def resnet_images(blocks, width=16, classes=10, *, channels=1, skip=1, seed=0):
    """The net for small images of 1512.03385, section 4.2: (batch, channels, h, w) to (batch, classes).

    6 * blocks + 2 layers: a stem, three stages of `blocks` blocks with width, 2 * width and 4 * width channels, of
    which the second and third halve height and width, and a linear layer on the mean over all pixels. ResNet-20 is
    `blocks` 3 and `width` 16. The blocks are net[3] to net[3 * blocks + 2].
    """
    rng = torch.Generator().manual_seed(seed)
    parts, inputs = [*conv_norm(channels, width, 1, rng), nn.ReLU()], width
    for stage in range(3):
        for number in range(blocks):
            outputs = width * 2**stage
            parts.append(Basic(inputs, outputs, 2 if stage > 0 and number == 0 else 1, skip, rng))
            inputs = outputs
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), linear(inputs, classes, rng, gain=1.0))
