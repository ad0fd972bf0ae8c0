"""The training step of *Train it yourself*, written once: a page runs it as ONNX, a kernel as torch.

Here live the net, its start, the step and the data. All that a reader may switch is a tensor, so that one traced
graph serves every setting; weights are one flat vector, so that a page can hand them on without knowing them.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.func import grad_and_value

from .data import mnist1d

BLOCKS, WIDTH, BATCH = 16, 32, 64
INPUTS, OUTPUTS = 40, 10  # what the largest task needs; the others fill the first places
POINTS = 1024  # to train on, and as many to look at
TASKS = {"line": (1, 1), "spirals": (2, 2), "signals": (40, 10)}  # inputs and outputs that are used
ACTIVATIONS = "relu", "tanh", "none"
SHAPES = {
    "enter": (WIDTH, INPUTS),
    "enter_bias": (WIDTH,),
    "first": (BLOCKS, WIDTH, WIDTH),
    "first_bias": (BLOCKS, WIDTH),
    "second": (BLOCKS, WIDTH, WIDTH),
    "second_bias": (BLOCKS, WIDTH),
    "scale": (BLOCKS,),
    "leave": (OUTPUTS, WIDTH),
    "leave_bias": (OUTPUTS,),
}
BLOCK = "first", "first_bias", "second", "second_bias", "scale"  # what each block has one of
SIZES = {name: math.prod(shape) for name, shape in SHAPES.items()}
COUNT = sum(SIZES.values())
FAR = 12.0  # the identity start moves the stream this far up, where a ReLU lets all of it pass


class Setting(NamedTuple):
    """What a reader may change while a net trains: a tensor each, in the dtype of the weights but for `task`.

    skip, used: (16,), 1 or 0; a block that is not used is passed by. norm: (), 1 for LayerNorm before each branch and
    before the last layer. activation: (3,), 1 at one of ACTIVATIONS. scale: (), of all branches; learned: (), 1 if each
    branch learns what to add to it. rate: (). adam: (), 1 for Adam, 0 for plain descent. task: (1,), int64, of TASKS.
    """

    skip: torch.Tensor
    used: torch.Tensor
    norm: torch.Tensor
    activation: torch.Tensor
    scale: torch.Tensor
    learned: torch.Tensor
    rate: torch.Tensor
    adam: torch.Tensor
    task: torch.Tensor


class Took(NamedTuple):
    """What a step leaves: weights and Adam's two averages, (COUNT,) each; the loss before it, ().

    gradient: (16,), norm of the loss's gradient by the state behind each block: all that the block learns from.
    branch: (16,), size of the branch over that of the stream.
    """

    weights: torch.Tensor
    exp_avg: torch.Tensor
    exp_avg_sq: torch.Tensor
    loss: torch.Tensor
    gradient: torch.Tensor
    branch: torch.Tensor


def split(weights, shapes):
    """Name to tensor, from a flat vector that holds them one after the other."""
    pieces = weights.split([math.prod(shape) for shape in shapes.values()])
    return {name: piece.view(shape) for (name, shape), piece in zip(shapes.items(), pieces)}


def parts(weights):
    """Name to tensor of SHAPES, from the flat vector."""
    return split(weights, SHAPES)


def normalise(x):
    """LayerNorm (1607.06450) without gain and bias."""
    apart = x - x.mean(-1, keepdim=True)
    return apart / torch.sqrt(apart.square().mean(-1, keepdim=True) + 1e-5)


def size(h):
    """Root of the mean square, ()."""
    return torch.sqrt(h.square().mean() + 1e-30)  # a stream of zeros has a slope, too


def moved(weights, exp_avg, exp_avg_sq, slope, count, s):
    """The three after a step down the slope, (COUNT,) each: of descent, or of Adam (1412.6980) with torch's defaults.

    count: (), 1 in the first step. Adam's averages are kept in plain descent, too: a reader may change over.
    """
    exp_avg = 0.9 * exp_avg + 0.1 * slope
    exp_avg_sq = 0.999 * exp_avg_sq + 0.001 * slope.square()
    by_adam = exp_avg / (1 - 0.9**count) / (torch.sqrt(exp_avg_sq / (1 - 0.999**count)) + 1e-8)
    return weights - s.rate * torch.where(s.adam > 0.5, by_adam, slope), exp_avg, exp_avg_sq


def run(weights, x, s, pushes=(0,) * BLOCKS):
    """Inputs (n, 40) to scores (n, 10), and the size of each branch over that of the stream, (16,).

    A block is h -> skip * h + a * (W2 f(W1 norm(h) + b1) + b2): two matrices, no activation on the stream.
    pushes: (16, n, 32), added to the state behind each block; by a push of 0 one finds that state's gradient.
    """
    p = parts(weights)

    def norm(h):
        return torch.where(s.norm > 0.5, normalise(h), h)

    def bend(z):
        return s.activation[0] * torch.relu(z) + s.activation[1] * torch.tanh(z) + s.activation[2] * z

    h = x @ p["enter"].T + p["enter_bias"]
    beside = []
    each = zip(*(p[name].unbind() for name in BLOCK), s.skip, s.used, pushes)  # an index has a slope as long as all
    for first, first_bias, second, second_bias, scale, skip, used, push in each:
        branch = (s.scale + scale) * (bend(norm(h) @ first.T + first_bias) @ second.T + second_bias)
        beside.append(size(branch) / size(h))
        h = torch.where(used > 0.5, skip * h + branch, h) + push
    return norm(h) @ p["leave"].T + p["leave_bias"], torch.stack(beside)


def of_task(each, task):
    """What a task has of something that all have, tasks first; task: (1,), a tensor that tracing can follow."""
    return each.index_select(0, task)[0]


class Lane(nn.Module):
    """The data of all tasks, and what is done with them: `begin`, `step` and `look`."""

    def __init__(self):
        super().__init__()
        for name, tensor in zip(("x", "y", "points", "answers"), map(torch.stack, zip(*map(examples, TASKS)))):
            self.register_buffer(name, tensor)
        used = [[float(at < outputs) for at in range(OUTPUTS)] for _, outputs in TASKS.values()]
        self.register_buffer("classes", torch.tensor(used, dtype=torch.float32))
        fans = [inputs + 1.0 for inputs, _ in TASKS.values()]  # the 1 that a bias multiplies is an input, too
        self.register_buffer("fans", torch.tensor(fans, dtype=torch.float32))

    def begin(self, noise, gain, identity, task):
        """First weights from standard normal numbers (COUNT,).

        At gain 1 a block's matrices have variance 1 / fan_in and, after the activation, 2 / fan_in (1502.01852,
        eq. 10). identity: 1 where each branch shall be the identity, exactly for a ReLU and an input above -FAR.
        """
        p, fan = parts(noise), of_task(self.fans, task)
        eye, no_bias = torch.eye(WIDTH).to(noise).expand(BLOCKS, WIDTH, WIDTH), torch.zeros_like(p["first_bias"])
        at_identity = identity > 0.5
        drawn = {
            "enter": p["enter"] / torch.sqrt(fan),
            "enter_bias": p["enter_bias"] / torch.sqrt(fan),
            "first": torch.where(at_identity, eye, gain * math.sqrt(1 / WIDTH) * p["first"]),
            "first_bias": no_bias + FAR * identity,
            "second": torch.where(at_identity, eye, gain * math.sqrt(2 / WIDTH) * p["second"]),
            "second_bias": no_bias - FAR * identity,
            "scale": torch.zeros_like(p["scale"]),
            "leave": p["leave"] * math.sqrt(1 / WIDTH),
            "leave_bias": torch.zeros_like(p["leave_bias"]),
        }
        return torch.cat([drawn[name].flatten() for name in SHAPES])

    def error(self, weights, pushes, x, y, s):
        """The loss: mean square on the line, else cross-entropy; and the size of each branch over the stream."""
        scores, beside = run(weights, x, s, pushes)
        square = (scores - y)[:, 0].square().mean()
        logs = torch.log_softmax(self.only_classes(scores, s.task), -1)
        return torch.where(s.task[0] == 0, square, -(y * logs).sum(-1).mean()), beside

    def only_classes(self, scores, task):
        return torch.where(of_task(self.classes, task) > 0.5, scores, -1e9)

    def step(self, weights, exp_avg, exp_avg_sq, count, at, s):
        """One step on examples `at` (64,); count: (), 1 in the first."""
        x, y = of_task(self.x, s.task)[at], of_task(self.y, s.task)[at]
        none = weights.new_zeros(BLOCKS, BATCH, WIDTH)
        ask = grad_and_value(self.error, argnums=(0, 1), has_aux=True)
        (slope, reached), (loss, beside) = ask(weights, none, x, y, s)
        one = torch.ones_like(s.learned)
        held = [(s.learned if name == "scale" else one).expand(size) for name, size in SIZES.items()]
        slope = slope * torch.cat(held)
        gradient = torch.sqrt(reached.square().sum((1, 2))) * s.used
        return Took(*moved(weights, exp_avg, exp_avg_sq, slope, count, s), loss, gradient, beside)

    def look(self, weights, s):
        """What the net makes of POINTS points: the function's value, the probability of the second spiral, or 1 where a
        held-out signal is told right."""
        scores, _ = run(weights, of_task(self.points, s.task), s)
        scores = self.only_classes(scores, s.task)
        told = (scores.argmax(-1) == of_task(self.answers, s.task)).to(scores)
        return of_task(torch.stack([scores[:, 0], torch.sigmoid(scores[:, 1] - scores[:, 0]), told]), s.task)


def examples(task):
    """In float32: x (1024, 40), y (1024, 10); points to look at (1024, 40), and which output is right there, (1024,).

    The line is x + 0.3 sin 3x on [-2, 2]. The spirals are two, one and a half turns each; their points to look at are a
    square of 32 x 32, from the lower left. The signals are MNIST-1D; those to look at are not trained on.
    """
    x, y, points = (torch.zeros(POINTS, size, dtype=torch.float32) for size in (INPUTS, OUTPUTS, INPUTS))
    answers = torch.zeros(POINTS, dtype=torch.int64)
    if task == "line":
        x[:, 0] = points[:, 0] = torch.linspace(-2, 2, POINTS)
        y[:, 0] = x[:, 0] + 0.3 * torch.sin(3 * x[:, 0])
    elif task == "spirals":
        along = torch.linspace(0, 1, POINTS // 2).sqrt().repeat(2)  # evenly dense in the plane
        which = torch.arange(2).repeat_interleave(POINTS // 2)
        angle = 3 * math.pi * along + math.pi * which
        x[:, 0], x[:, 1] = 2 * along * angle.cos(), 2 * along * angle.sin()
        y[torch.arange(POINTS), which] = 1
        side = torch.linspace(-2, 2, 32)
        points[:, :2] = torch.cartesian_prod(side, side).flip(1)
    else:
        signals, labels = mnist1d(2 * POINTS)
        x, points = signals.float().split(POINTS)
        y = nn.functional.one_hot(labels[:POINTS], OUTPUTS).float()
        answers = labels[POINTS:]
    return x, y, points, answers


def setting(
    task,
    *,
    skips="1" * BLOCKS,
    depth=BLOCKS,
    norm=False,
    activation="relu",
    scale=1.0,
    learned=False,
    rate=0.003,
    optimiser="Adam",
):
    """A `Setting` in float32 from words: the first `depth` blocks are used, skips says 1 or 0 for each of all 16."""
    bends = [float(name == activation) for name in ACTIVATIONS]
    told = [[float(skip) for skip in skips], [float(block < depth) for block in range(BLOCKS)], float(norm), bends]
    told += [float(scale), float(learned), float(rate), float(optimiser == "Adam")]
    return Setting(*(torch.tensor(each, dtype=torch.float32) for each in told), torch.tensor([list(TASKS).index(task)]))


def uniform(seed, first, count):
    """`count` numbers in [0, 1) from place `first` of a seed's sequence: mulberry32, of which JavaScript has the same.

    The generator adds a constant and mixes, so each number is found without those before.
    """
    with np.errstate(over="ignore"):
        z = np.uint32(seed) + np.arange(first + 1, first + 1 + count, dtype=np.uint32) * np.uint32(0x6D2B79F5)
        z = (z ^ z >> 15) * (z | 1)
        z ^= z + (z ^ z >> 7) * (z | 61)
    return (z ^ z >> 14) / 2**32


def normal(seed, count):
    """The first `count` standard normal numbers of a seed (Box and Muller, 1958)."""
    u = uniform(seed, 0, 2 * count).reshape(count, 2)
    return torch.tensor(np.sqrt(-2 * np.log(1 - u[:, 0])) * np.cos(2 * math.pi * u[:, 1]), dtype=torch.float32)


def choices(seed, weights, count, many, below):
    """`many` whole numbers below `below` for step `count`, after those of which that many weights were made."""
    u = uniform(seed, 2 * weights + (count - 1) * many, many)
    return torch.tensor(np.floor(below * u), dtype=torch.int64)


def noise(seed):
    """The standard normal numbers (COUNT,) from which a seed's net is made."""
    return normal(seed, COUNT)


def batch(seed, count):
    """Which examples step `count`, from 1 on, is taken on: (64,), with replacement."""
    return choices(seed, COUNT, count, BATCH, POINTS)
