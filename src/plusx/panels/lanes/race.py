"""A lane in words, as a page writes it, and its training by torch: one lane for a kernel, all presets for a page."""

from typing import Any, NamedTuple

import torch
from torch.func import vmap

from ...training import sorter, step


class Code(NamedTuple):
    """What is used of a module with a step; evidence is told by this, and cannot be by a module."""

    TASKS: Any
    COUNT: int
    Lane: type
    Setting: type
    setting: Any
    noise: Any
    batch: Any

    @classmethod
    def of(cls, module):
        return cls(*(getattr(module, name) for name in cls._fields))


class Kind(NamedTuple):
    """A kind of net that lanes train.

    options: part to what it may be set to, and the label as readers see it. usual: a
    lane as it is unless changed; it has skips, too, a digit for each, and where blocks can be passed by, depth.
    """

    name: str
    code: Code
    options: dict
    usual: dict


STARTS = "identity", "0.25", "0.5", "1", "1.5", "2"
SCALES = "0", "0.1", "0.25", "0.5", "1"
RATES = "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"
SCALE = {scale: scale for scale in SCALES}
BY_RATE = {"rate": {rate: rate for rate in RATES}, "optimiser": {"Adam": "Adam", "SGD": "plain descent"}}
STACK = Kind(
    "stack",
    Code.of(step),
    {
        "norm": {"0": "none", "1": "norm"},
        "activation": {"relu": "ReLU", "tanh": "tanh", "none": "none"},
        "start": {start: f"gain {start}" for start in STARTS} | {"identity": "the identity", "1": "Kaiming"},
        "scale": SCALE,
        "learned": {"0": "fixed", "1": "learned"},
        **BY_RATE,
    },
    {
        "skips": "1" * step.BLOCKS,
        "depth": str(step.BLOCKS),
        "norm": "0",
        "activation": "relu",
        "start": "1",
        "scale": "0.25",
        "learned": "0",
        "rate": "0.003",
        "optimiser": "Adam",
    },
)
SORTER = Kind(
    "sorter",
    Code.of(sorter),
    {
        "place": {"none": "none", "pre": "pre-norm", "post": "post-norm"},
        "start": {start: f"gain {start}" for start in STARTS[1:]},
        "scale": SCALE,
        **BY_RATE,
    },
    {
        "skips": "1" * sorter.BRANCHES,
        "place": "pre",
        "start": "1",
        "scale": "1",
        "rate": "0.003",
        "optimiser": "Adam",
    },
)
KINDS = {task: kind for kind in (STACK, SORTER) for task in kind.code.TASKS}
KEPT = 300  # steps of a kept run
EVERY = 20  # steps from picture to picture


def check(name, task, changes):
    """ValueError: naming what, where there is no such task or a lane cannot be set so."""
    if task not in KINDS:
        raise ValueError(f"lanes: '{name}' has the task {task!r}; choose one of {', '.join(KINDS)}.")
    _, _, options, usual = KINDS[task]
    for part, value in changes.items():
        if part == "skips":
            fits = len(value) == len(usual["skips"]) and set(value) <= set("01")
        elif part == "depth" and part in usual:
            fits = value in map(str, range(1, int(usual["depth"]) + 1))
        else:
            fits = value in options.get(part, ())
        if not fits:
            raise ValueError(f"lanes: '{name}' sets {part} to {value!r}; see plusx.panels.lanes.race.")


def filled(changes, kind=STACK):
    """A whole lane, from what in it is not as usual."""
    return kind.usual | changes


def read(task, words):
    """The `Setting` of a lane."""
    as_number = {"depth": int, "scale": float, "rate": float, "norm": "1".__eq__, "learned": "1".__eq__}
    told = {part: as_number.get(part, str)(word) for part, word in words.items() if part != "start"}
    return KINDS[task].code.setting(task, **told)


def number(value):
    return torch.tensor(value, dtype=torch.float32)


def begun(lane, task, seed, words):
    """First weights of a lane, and Adam's averages: (COUNT,) each, float32."""
    identity = words["start"] == "identity"
    gain = number(1.0 if identity else float(words["start"]))
    more = (number(identity), read(task, words).task) if KINDS[task] is STACK else ()
    weights = lane.begin(KINDS[task].code.noise(seed), gain, *more)
    return weights, torch.zeros_like(weights), torch.zeros_like(weights)


class Training:
    """A lane that trains, step after step, by what it is told at each."""

    def __init__(self, lane, task, seed, words):
        self.lane, self.task, self.seed, self.count = lane, task, seed, 0
        self.state = begun(lane, task, seed, words)

    def step(self, words):
        self.count += 1
        count, s = number(self.count), read(self.task, words)
        took = self.lane.step(*self.state, count, KINDS[self.task].code.batch(self.seed, self.count), s)
        self.state = took[:3]
        return took

    def look(self, words):
        return self.lane.look(self.state[0], read(self.task, words))


def trained(preset, steps=KEPT):
    """Both lanes of a preset, trained together in float32, seed 0.

    loss: (2, steps). gradient, branch: (2, steps / EVERY, blocks), at each EVERY-th step. seen: (2, steps / EVERY + 1,
    points), before the first step and after each EVERY-th: of the line each eighth point, of the plane all, else the
    share that is told right. What is noted at each EVERY-th step is missing where no step is one.
    """
    kind = KINDS[preset.task]
    lane = kind.code.Lane()
    words = [filled(changes, kind) for changes in (preset.A, preset.B)]
    state = tuple(map(torch.stack, zip(*(begun(lane, preset.task, 0, each) for each in words))))
    found = {"loss": [], "gradient": [], "branch": [], "seen": []}
    take, look = vmap(lane.step, in_dims=(0, 0, 0, None, None, 0)), vmap(lane.look)

    def settings():
        return kind.code.Setting(*map(torch.stack, zip(*(read(preset.task, each) for each in words))))

    def seen():
        points = look(state[0], s)
        if preset.task == "line":
            return points[:, ::8]
        return (100 * points).round() / 100 if preset.task == "spirals" else points.mean(1, keepdim=True)

    s = settings()
    for count in range(steps):
        if count % EVERY == 0:
            found["seen"].append(seen())
        if preset.then and preset.then[0] == count:
            words[1] |= preset.then[1]
            s = settings()
        took = take(*state, number(count + 1), kind.code.batch(0, count + 1), s)
        state = took[:3]
        found["loss"].append(took.loss)
        if (count + 1) % EVERY == 0:
            found["gradient"].append(took.gradient)
            found["branch"].append(took.branch)
    found["seen"].append(seen())
    return {name: torch.stack(each, 1) for name, each in found.items() if each}
