"""Write the first page's writer, as HTML, where the last argument says: what was kept of it in its chapter."""

import json
import sys
from pathlib import Path

from ...measure.kept import KEPT
from .page import LAYERS, markup

PROMPT = "Once upon a time, there was a little girl who"
KEPT_TEXTS = KEPT / "sentence_through_layers.json"


def texts() -> dict:
    """What it wrote with all of attention's additions whole, and with one skip cut or one branch out."""
    kept = json.loads(KEPT_TEXTS.read_text(encoding="utf8"))
    points = [dict(cut=cut, part=part) for cut in kept["made_by"]["grid"]["cut"] for part in ("attention", "FFN")]
    found = {}
    for point, values in zip(points, kept["values"], strict=True):
        kind, _, layer = point["cut"].partition(" ")
        if point["part"] == "attention" and (kind == "none" or layer.isdecimal()):
            codes = (1000 * high + low for high, low in zip(values["high"][0], values["low"][0]))
            text = " " + "".join(chr(int(code)) for code in codes).strip()
            found[(point["part"], kind, int(layer)) if layer else ()] = text
    if len(found) != (expected := 1 + 2 * LAYERS["smollm2"]):
        raise ValueError(f"writer: {KEPT_TEXTS.name} has {len(found)} texts; expected {expected}.")
    return found


if __name__ == "__main__":
    Path(sys.argv[-1]).write_text(markup(PROMPT, texts(), ("attention",)), encoding="utf8")
