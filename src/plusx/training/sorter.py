"""The second net of *Train it yourself*: a transformer that learns to sort, its step written once, as in `step`.

Here live the net, its start and its setting. How a step moves weights, and where random numbers come from, is in
`plusx.training.step`; both modules have the same names, so that a page and a kernel take either.
"""

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.func import grad_and_value
from torch.nn import functional as F

from .step import Took, choices, moved, normal, normalise, size, split, uniform

LAYERS, WIDTH, HEADS, BATCH = 4, 16, 2, 16
KINDS = PLACES = 6  # of tokens; tokens of a sequence
BRANCHES = 2 * LAYERS  # attention and feed-forward net of layer 1, of layer 2, ...
SEQUENCES = 256  # to look at
TASKS = ("sort",)
NORMS = "none", "pre", "post"
SHAPES = {
    "token": (KINDS, WIDTH),
    "place": (PLACES, WIDTH),
    "qkv": (LAYERS, 3 * WIDTH, WIDTH),
    "qkv_bias": (LAYERS, 3 * WIDTH),
    "output": (LAYERS, WIDTH, WIDTH),
    "output_bias": (LAYERS, WIDTH),
    "up": (LAYERS, 4 * WIDTH, WIDTH),
    "up_bias": (LAYERS, 4 * WIDTH),
    "down": (LAYERS, WIDTH, 4 * WIDTH),
    "down_bias": (LAYERS, WIDTH),
    "leave": (KINDS, WIDTH),
    "leave_bias": (KINDS,),
}
LAYER = tuple(SHAPES)[2:-2]  # what each layer has one of
COUNT = sum(map(math.prod, SHAPES.values()))


class Setting(NamedTuple):
    """What a reader may change while a net trains: a tensor each, in the dtype of the weights.

    skip: (8,), 1 or 0 for each branch. place: (3,), 1 at one of NORMS: no LayerNorm, one before each branch and before
    the last map (2002.04745, figure 1 b), or one after each sum (1706.03762). scale: (), of all branches. rate: ().
    adam: (), 1 for Adam, 0 for plain descent.
    """

    skip: torch.Tensor
    place: torch.Tensor
    scale: torch.Tensor
    rate: torch.Tensor
    adam: torch.Tensor


def parts(weights):
    """Name to tensor of SHAPES, from the flat vector."""
    return split(weights, SHAPES)


def attend(x, qkv, qkv_bias, output, output_bias):
    """Self-attention without a mask (1706.03762, section 3.2): (batch, 6, 16) keeps its shape."""
    q, k, v = F.linear(x, qkv, qkv_bias).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)  # (batch, heads, 6, 8)
    shares = torch.softmax(q @ k.mT / math.sqrt(WIDTH // HEADS), -1)
    return F.linear((shares @ v).transpose(1, 2).flatten(-2), output, output_bias)


def feed(x, up, up_bias, down, down_bias):
    """The feed-forward net, four times as wide inside: (batch, 6, 16) keeps its shape."""
    return F.linear(torch.relu(F.linear(x, up, up_bias)), down, down_bias)


def run(weights, tokens, s, pushes=(0,) * BRANCHES):
    """Tokens (batch, 6) to scores (batch, 6, 6), kinds last, and each branch's size over that of the stream, (8,).
    pushes: (8, batch, 6, 16), added to the state behind each branch, as in `step`."""
    p = parts(weights)
    _, before, after = s.place

    def norm(h, wanted):
        return torch.where(wanted > 0.5, normalise(h), h)

    h = torch.eye(KINDS).to(weights)[tokens] @ p["token"] + p["place"]
    beside, each = [], zip(s.skip, pushes)
    for *attention, up, up_bias, down, down_bias in zip(*(p[name].unbind() for name in LAYER)):
        for branch, own in (attend, attention), (feed, (up, up_bias, down, down_bias)):
            written = s.scale * branch(norm(h, before), *own)
            beside.append(size(written) / size(h))
            skip, push = next(each)
            h = norm(skip * h + written, after) + push
    return F.linear(norm(h, before), p["leave"], p["leave_bias"]), torch.stack(beside)


class Lane(nn.Module):
    """The sequences to look at, and what is done with a net: `begin`, `step` and `look`."""

    def __init__(self):
        super().__init__()
        drawn = KINDS * uniform(10_000, 0, SEQUENCES * PLACES)  # a seed that no reader can choose
        self.register_buffer("tokens", torch.tensor(drawn, dtype=torch.int64).view(SEQUENCES, PLACES))

    def begin(self, noise, gain):
        """First weights from standard normal numbers (COUNT,): embeddings as drawn, matrices with variance 1 / fan_in,
        as in `plusx.nets.transformer`, those of branches times gain; no biases."""
        drawn = []
        for name, part in parts(noise).items():
            if name.endswith("_bias"):
                drawn.append(torch.zeros_like(part))
            else:
                scale = 1 if name in ("token", "place") else part.shape[-1] ** -0.5
                drawn.append(part * scale * (gain if name in LAYER else 1))
        return torch.cat([part.flatten() for part in drawn])

    def error(self, weights, pushes, tokens, s):
        """The loss, cross-entropy over all places; and the size of each branch over the stream."""
        scores, beside = run(weights, tokens, s, pushes)
        wanted = torch.eye(KINDS).to(weights)[tokens.sort(-1).values]
        return -(wanted * torch.log_softmax(scores, -1)).sum(-1).mean(), beside

    def step(self, weights, exp_avg, exp_avg_sq, count, at, s):
        """One step, as in `step`, on sequences whose tokens are `at`, (96,). Of what it leaves, gradient and
        branch are (8,): the gradient of the state behind each branch, the branch's size over that of the stream."""
        none = weights.new_zeros(BRANCHES, BATCH, PLACES, WIDTH)
        ask = grad_and_value(self.error, argnums=(0, 1), has_aux=True)
        (slope, reached), (loss, beside) = ask(weights, none, at.view(BATCH, PLACES), s)
        gradient = torch.sqrt(reached.square().sum((1, 2, 3)))
        return Took(*moved(weights, exp_avg, exp_avg_sq, slope, count, s), loss, gradient, beside)

    def look(self, weights, s):
        """1 for each of SEQUENCES sequences that is sorted without a mistake, else 0."""
        scores, _ = run(weights, self.tokens, s)
        return (scores.argmax(-1) == self.tokens.sort(-1).values).all(-1).to(scores)


def setting(task, *, skips="1" * BRANCHES, place="pre", scale=1.0, rate=0.003, optimiser="Adam"):
    """A `Setting` in float32 from words: skips says 1 or 0 for each branch. task: "sort", there is no other."""
    told = [[float(skip) for skip in skips], [float(place == name) for name in NORMS]]
    told += [float(scale), float(rate), float(optimiser == "Adam")]
    return Setting(*(torch.tensor(each, dtype=torch.float32) for each in told))


def noise(seed):
    """The standard normal numbers (COUNT,) from which a seed's net is made."""
    return normal(seed, COUNT)


def batch(seed, count):
    """The tokens of step `count`, from 1 on: (96,)."""
    return choices(seed, COUNT, count, BATCH * PLACES, KINDS)
