"""Lanes: two nets that train side by side, and a switch on all that tells them apart.

Here lives `lanes`, and what a chapter gives it. In the book's page onnxruntime-web takes the steps of
`plusx.training.step` or `plusx.training.sorter`, in a live notebook torch does; the panel is the same.
"""

import os
from typing import NamedTuple

from ..live import open_door
from .kept import keep
from .live import Live
from .page import fragment, markup
from .race import KINDS, check


class Preset(NamedTuple):
    """Two lanes with a story.

    task: one of the `TASKS` of `plusx.training.step` or `plusx.training.sorter`. A, B: what in each lane is not as
    usual for nets of that kind, see `plusx.panels.lanes.race`. then: (step, changes
    of B), what happens while it trains. says: what to look at.
    """

    name: str
    task: str
    A: dict
    B: dict
    says: str
    then: tuple | None = None


class Challenge(NamedTuple):
    """A result that the reader has to reach in lane B.

    task: on which data. fixed: what has to be set in lane B. below: the loss to come below, as mean of 20 steps.
    within: steps. told: what to tell who has done it.
    """

    ask: str
    task: str
    fixed: dict
    below: float
    within: int
    told: str


def lanes(presets, challenges=(), closed=""):
    """Show two lanes that start with the first preset; in the static page the presets replay before anything is loaded.

    presets: of `Preset`, seed 0. challenges: of `Challenge`. All their tasks are for nets of one kind. closed: the
    words of a bar to press, until when a page shows no more of the lanes than that, and fetches nothing for them.

    ValueError: a task or a part of a lane that there is not, or tasks for nets of two kinds.
    """
    for preset in presets:
        for changes in (preset.A, preset.B, *([preset.then[1]] if preset.then else [])):
            check(preset.name, preset.task, changes)
    for challenge in challenges:
        check(challenge.ask, challenge.task, challenge.fixed)
    kinds = {KINDS[each.task].name for each in (*presets, *challenges)}
    if len(kinds) > 1:
        raise ValueError(f"lanes: the tasks are for a {' and a '.join(sorted(kinds))}; give each a panel of its own.")
    if os.environ.get("PLUSX_EVIDENCE"):
        for preset in presets:
            keep(preset)
        return
    given = presets, challenges, closed
    open_door(lambda: fragment(*given), lambda: Live(markup(*given), KINDS[presets[0].task]))
