"""What each sentence of *What to take along* rests on, and the test's mark that somebody has read it beside that.

    .venv/bin/python tests/headlines.py     # after you have read the sentences that the test names: marks them as read

Here live the sentences of chapters 1 to 9 and the two pages beside them; `test_headlines.py` asks.
"""

import hashlib
import json
import re

import nbformat
from browser import ROOT
from chapter_code import printed

FILE = ROOT / "tests" / "headlines.json"
ITEM = re.compile(r"^(?:-|\d+\.) (.+?)(?=\n(?:-|\d+\.) |\n\n|\Z)", re.M | re.S)
RESTS_ON = {  # the checked cells of a page, for each of its sentences
    "01-f-of-x-plus-x": ["idea-code", "ten-other-draws other-blocks", "fit-table fit-compared otherwise-numbers"],
    "02-gradients-through-depth": [
        "idea-plain-starts one-change",
        "ratio-table same-ratio",
        "power-table headline-table",
    ],
    "03-shattered-gradients": ["opener-draws headline-table", "unrelated-table", "train-table"],
    "04-who-gets-the-gradient": ["start-table", "swap-table", "skip-table eight-table"],
    "05-degradation": [
        "depth-table images-table hundred-layers cifar-table",
        "depth-table start-table",
        "identity-table matrix-same matrix-table",
    ],
    "06-resnet-blocks": [
        "orders-table skip-alone-table",
        "pairs-table sgd-table deeper-table",
        "pairs-table dead-branches",
    ],
    "07-ensemble-of-paths": ["paths-check path-table", "size-table another-table", "refinement-table halves-table"],
    "08-loss-landscape": [
        "flatness-table descent-table",
        "growth-table flatness-table",
        "convexity-table slice-misses-table",
    ],
    "09-depth-without-normalisation": ["best-table", "jobs-table momentum-table best-table", "depth-table"],
    "relatives": ["left-table", "gates-table", "unet-table"],
    "train-it-yourself": ["arms-table arms-compared", "arms-table arms-compared", "arms-table trap-table"],
}


def sentences(stem):
    """Those that the page wants to be taken along."""
    cells = nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", 4).cells
    text = next(cell.source for cell in cells if cell.source.startswith("## What to take along"))
    return [" ".join(each.split()) for each in ITEM.findall(text.partition("**The next question.**")[0])]


def seen(stem):
    """A mark for each sentence, which changes with it and with what its cells print.

    KeyError: a page has no checked cell of that id.
    """
    cells = nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", 4).cells
    told = {cell.id: printed(cell) for cell in cells if "nbval-check-output" in cell.metadata.get("tags", [])}
    pairs = zip(sentences(stem), RESTS_ON[stem])
    return [
        hashlib.sha256("\n".join([said, *(told[id] for id in ids.split())]).encode()).hexdigest()[:8]
        for said, ids in pairs
    ]


if __name__ == "__main__":
    FILE.write_text(json.dumps({stem: seen(stem) for stem in RESTS_ON}, indent=1) + "\n")
