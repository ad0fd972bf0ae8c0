"""The presets' runs, kept beside the chapters: `make evidence` trains, and who reads one takes its first steps anew."""

import functools
import hashlib
import json
import re

import numpy as np
import torch

from ...measure.kept import ROOT, SAME, Disagreement
from ...measure.sources import sources
from .race import KINDS, filled, trained

KEPT = ROOT / "chapters" / "data" / "lanes"
FIRST = 5  # steps that are taken again: after ten, float32's last bit can have grown to a hundredth
known = functools.cache(sources)  # of all presets the same, a third of a second


def kept_in(preset):
    """The file of a preset's run, named after it and all that it depends on."""
    kind = KINDS[preset.task]
    made_by = [preset.task, filled(preset.A, kind), filled(preset.B, kind), preset.then, known(trained)]
    digest = hashlib.sha256(json.dumps([*made_by, torch.__version__.partition("+")[0]]).encode())
    return KEPT / f"{re.sub(r'[^a-z0-9]+', '-', preset.name.lower())}-{digest.hexdigest()[:8]}.npz"


def kept(preset):
    """What `trained` gives for a preset; it trains only where there is no file.

    Disagreement: its first steps are not those of the file.
    """
    file = kept_in(preset)
    if not file.exists():
        return trained(preset)
    run = {name: torch.from_numpy(each) for name, each in np.load(file).items()}
    first, loss = trained(preset, FIRST)["loss"], run["loss"][:, :FIRST]
    if not torch.allclose(first, loss, rtol=SAME, atol=SAME**2, equal_nan=True):
        raise Disagreement(f"lanes: '{preset.name}' begins with losses {first}, and {file.name} says {loss}.")
    return run


def keep(preset):
    """Train a preset, and write its file if there is none."""
    file = kept_in(preset)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **{name: each.numpy() for name, each in trained(preset).items()})
