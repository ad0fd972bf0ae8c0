"""Static: the lanes as one HTML fragment, with the presets trained beforehand."""

import html
import itertools
from typing import NamedTuple

import torch

from ...explore.controls import Control
from ...explore.diagram import draw
from ...training.step import examples
from ..page import STAGE, beforehand, panel, planes, table
from .kept import kept
from .race import EVERY, KEPT, KINDS, filled

TITLES = {
    "line": "A function of one number",
    "spirals": "Two spirals",
    "signals": "MNIST-1D, ten digits",
    "sort": "Six tokens to sort",
}
LABELS = {
    "norm": "Norm",
    "place": "Norm",
    "activation": "Activation",
    "start": "Starts as",
    "scale": "Branch scale",
    "learned": "Scale is",
    "rate": "Rate",
    "optimiser": "Optimiser",
}
DOTS = 16  # each 16th example of the spirals is drawn


class Look(NamedTuple):
    """How a kind of net is drawn.

    id: of its panel. of: added to the name of a lane for those who hear a page. piece: what is drawn large, from `line`
    with its controls and those of the groups: branches, at which places, whose skips one switches at once; `short`
    stands before the number of one in its picture.
    """

    id: str
    of: str
    piece: str
    line: str
    controls: tuple
    groups: tuple


LOOKS = {  # by kind of net
    "stack": Look(
        "lanes",
        "",
        "Block",
        "[norm:norm W₁ activation:activation W₂]:skip",
        (
            Control("norm", "radio", ("none", "norm"), (0, 1), 0),
            Control("activation", "radio", ("ReLU", "tanh", "none"), (2, 1, 0), 0),
        ),
        ({"control": "skip", "name": "block", "short": "", "at": [*range(16)]},),
    ),
    "sorter": Look(
        "sorters",
        " of the sorters",
        "Layer",
        "[norm:place=before_the_branch attention]:skip_around_attention norm:place=after_the_sum "
        "[norm:place=before_the_branch W₁ ReLU W₂]:skip_around_FFN norm:place=after_the_sum",
        (Control("place", "radio", ("none", "before the branch", "after the sum"), (0, 1, 2), 1),),
        (
            {"control": "skip_around_attention", "name": "attention", "short": "A", "at": [*range(0, 8, 2)]},
            {"control": "skip_around_FFN", "name": "FFN", "short": "F", "at": [*range(1, 8, 2)]},
        ),
    ),
}


def markup(presets, challenges, closed="", before=""):
    """What both doors share: a stage for js/lanes.js, and what it needs to know.

    closed: words of a bar that opens the stage; "" for one that is open. before: HTML below the stage.
    """
    kind = KINDS[presets[0].task]
    look = LOOKS[kind.name]
    skips = [Control(group["control"], "radio", ("none", "some"), (0, 1), 1) for group in look.groups]
    controls = *look.controls, *skips
    states = itertools.product(*(range(len(control.labels)) for control in controls))
    spirals, classes, *_ = examples("spirals")
    setup = {
        "kind": kind.name,
        "tasks": {task: TITLES[task] for task in kind.code.TASKS},
        "usual": kind.usual,
        # JavaScript would sort "1" first.
        "options": {part: list(values.items()) for part, values in kind.options.items()},
        "labels": LABELS,
        "of": look.of,
        "piece": look.piece,
        "controls": [control.name for control in controls],
        "groups": look.groups,
        # By a digit for each control: which of its options it has, or 1 where some of the skips are there.
        "drawings": {"".join(map(str, state)): draw(look.line, controls, state) for state in states},
        "presets": [each._asdict() | {"A": filled(each.A, kind), "B": filled(each.B, kind)} for each in presets],
        "challenges": [challenge._asdict() for challenge in challenges],
        "dots": torch.cat([spirals[::DOTS, :2], classes[::DOTS, 1:2]], 1).double().round(decimals=2).tolist(),
        "kept": KEPT,
        "every": EVERY,
    }
    stage = STAGE + before
    if closed:
        stage = f'<details class="ln-closed"><summary>{html.escape(closed)}</summary>\n{stage}</details>\n'
    return panel("lanes", setup, stage, id=look.id)


def fragment(presets, challenges, closed):
    """The lanes' HTML for a page without a kernel, with the kept runs of all presets."""
    runs = [kept(preset) for preset in presets]
    return markup(presets, challenges, closed, beforehand("To train needs", losses(presets, runs), pack(runs)))


def pack(runs):
    """A loss, a gradient and a branch by its logarithm, from 1e-24 to 1e24, with 65535 for what is not a number; what
    is seen from -4 to 4.
    """
    words = []
    for run in runs:
        for lane in range(2):
            words += [logarithm(run[name][lane]) for name in ("loss", "gradient", "branch")]
            words.append((run["seen"][lane].nan_to_num(4).clamp(-4, 4) + 4) * 65535 / 8)
    return planes(words)


def logarithm(x):
    words = ((x.clamp(1e-24, 1e24).log10() + 24) / 48 * 65534).round()
    return torch.where(x.isfinite(), words, 65535)


def losses(presets, runs):
    """The loss of each preset's lanes: before the first step, and over the last 20."""
    rows = []
    for preset, run in zip(presets, runs):
        for loss, name in zip(run["loss"], "AB"):
            last = f"{loss[-EVERY:].mean():.3f}" if loss[-EVERY:].isfinite().all() else "not a number"
            rows.append([f"{preset.name}, {name}", TITLES[preset.task], f"{loss[0]:.2f}", last])
    return table("Loss", ("Preset", "data", "first loss", f"after {KEPT} steps"), rows)
