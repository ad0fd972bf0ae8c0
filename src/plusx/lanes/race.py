"""A lane in words, as a page writes it, and its training by torch: one lane for a kernel, all presets for a page."""

import torch
from torch.func import vmap

from ..step import BLOCKS, TASKS, Lane, Setting, batch, noise, setting

# What a lane may be set to, the labels as readers see them; a block's skip is one of 16 digits, depth is 1 to 16.
STARTS = "identity", "0.25", "0.5", "1", "1.5", "2"
SCALES = "0", "0.1", "0.25", "0.5", "1"
RATES = "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"
OPTIONS = {
    "norm": {"0": "none", "1": "norm"},
    "activation": {"relu": "ReLU", "tanh": "tanh", "none": "none"},
    "start": {start: f"gain {start}" for start in STARTS} | {"identity": "the identity", "1": "Kaiming"},
    "scale": {scale: scale for scale in SCALES},
    "learned": {"0": "fixed", "1": "learned"},
    "rate": {rate: rate for rate in RATES},
    "optimiser": {"Adam": "Adam", "SGD": "plain descent"},
}
USUAL = {
    "skips": "1" * BLOCKS,
    "depth": "16",
    "norm": "0",
    "activation": "relu",
    "start": "1",
    "scale": "0.25",
    "learned": "0",
    "rate": "0.003",
    "optimiser": "Adam",
}
KEPT = 300  # steps of a kept run
EVERY = 20  # steps from picture to picture


def check(name, task, changes):
    """ValueError: naming what, where there is no such task or a lane cannot be set so."""
    if task not in TASKS:
        raise ValueError(f"lanes: '{name}' has the task {task!r}; choose one of {', '.join(TASKS)}.")
    for part, value in changes.items():
        if part == "skips":
            fits = len(value) == BLOCKS and set(value) <= set("01")
        elif part == "depth":
            fits = value in map(str, range(1, BLOCKS + 1))
        else:
            fits = value in OPTIONS.get(part, ())
        if not fits:
            raise ValueError(f"lanes: '{name}' sets {part} to {value!r}; see plusx.lanes.race for what there is.")


def filled(changes):
    """A whole lane, from what in it is not as usual."""
    return USUAL | changes


def read(task, words):
    """The `Setting` of a lane."""
    return setting(
        task,
        skips=words["skips"],
        depth=int(words["depth"]),
        norm=words["norm"] == "1",
        activation=words["activation"],
        scale=float(words["scale"]),
        learned=words["learned"] == "1",
        rate=float(words["rate"]),
        optimiser=words["optimiser"],
    )


def number(value):
    return torch.tensor(value, dtype=torch.float32)


def begun(lane, task, seed, words):
    """First weights of a lane, and Adam's averages: (COUNT,) each, float32."""
    identity = words["start"] == "identity"
    gain = 1.0 if identity else float(words["start"])
    weights = lane.begin(noise(seed), number(gain), number(identity), read(task, words).task)
    return weights, torch.zeros_like(weights), torch.zeros_like(weights)


class Training:
    """A lane that trains, step after step, by what it is told at each."""

    def __init__(self, lane, task, seed, words):
        self.lane, self.task, self.seed, self.count = lane, task, seed, 0
        self.state = begun(lane, task, seed, words)

    def step(self, words):
        self.count += 1
        count, s = number(self.count), read(self.task, words)
        took = self.lane.step(*self.state, count, batch(self.seed, self.count), s)
        self.state = took[:3]
        return took

    def look(self, words):
        return self.lane.look(self.state[0], read(self.task, words))


def kept_runs(presets):
    """Both lanes of each preset, trained together for KEPT steps in float32, seed 0.

    loss: (KEPT, lanes). gradient, branch: (KEPT / EVERY, lanes, 16), at each EVERY-th step. seen: one more, with what
    was to be seen at the start: (KEPT / EVERY + 1, lanes, 1024). The lanes are A and B of the first preset, and so on.
    """
    lane = Lane()
    tasks = [preset.task for preset in presets for _ in "AB"]
    words = [filled(changes) for preset in presets for changes in (preset.A, preset.B)]
    state = tuple(map(torch.stack, zip(*(begun(lane, task, 0, each) for task, each in zip(tasks, words)))))
    found = {"loss": [], "gradient": [], "branch": [], "seen": []}
    step, look = vmap(lane.step, in_dims=(0, 0, 0, None, None, 0)), vmap(lane.look)

    def settings():
        return Setting(*map(torch.stack, zip(*map(read, tasks, words))))

    s = settings()
    for count in range(KEPT):
        if count % EVERY == 0:
            found["seen"].append(look(state[0], s))
        for at, preset in enumerate(presets):
            if preset.then and preset.then[0] == count:
                words[2 * at + 1] |= preset.then[1]
                s = settings()
        took = step(*state, number(count + 1), batch(0, count + 1), s)
        state = took[:3]
        found["loss"].append(took.loss)
        if (count + 1) % EVERY == 0:
            found["gradient"].append(took.gradient)
            found["branch"].append(took.branch)
    found["seen"].append(look(state[0], s))
    return {name: torch.stack(each) for name, each in found.items()}
