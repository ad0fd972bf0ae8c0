"""What the book's headlines rest on, and the test's mark that somebody has read each beside that.

    .venv/bin/python tests/headlines.py     # after you have read the sentences that the test names: marks them as read

Here live the sentences of all chapters that measure, the answers of *Questions* and the rows of the first page's table;
`test_headlines.py` asks.
"""

import functools
import hashlib
import json
import re

import nbformat
from browser import ROOT
from chapter_code import printed

FILE = ROOT / "tests" / "headlines.json"
ITEM = re.compile(r"^(?:-|\d+\.) (.+?)(?=\n(?:-|\d+\.) |\n\n|\Z)", re.M | re.S)
RESTS_ON = {  # the checked cells of a page, or of others by their name, for each of its sentences
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
    "10-attention-mixes": [
        "shares-table heads-table a-real-language-model:heads-table",
        "equivariance-table opener-draws undo-table",
        "embeddings-table",
    ],
    "11-the-transformer-layer": ["opener-draws start-table loss-table", "which-layers", "norms-table"],
    "12-why-no-activation": ["places-table linear-table seventh-table", "settings-table shift-check", "settings-table"],
    "13-why-skips-around-attention": [
        "depth-table reverse-table",
        "start-table",
        "starts-table neighbour-line conditioning-table",
    ],
    "14-rank-collapse": [
        "one-layer-slopes causal-table causal-means-alone",
        "deep-table depth-table",
        "training-table",
    ],
    "15-the-residual-stream": ["writes-table", "room-line features-table", "text-probes"],
    "16-playground": [
        "one-table seeds-table",
        "seeds-table a-real-language-model:instead-table",
        "one-table seeds-table",
    ],
    "18-more-than-one-stream": ["exact-check", "product-table mean-check learned-table", "way-table text-table"],
    "19-where-the-norm-stands": ["start-table", "qk-table loss-table", "cut-table profiles-table text-table"],
    "20-what-depth-does": [
        "edit-table order-check a-real-language-model:changed-layer-table",
        "drop-table",
        "small-table",
    ],
    "a-real-language-model": [
        "lesion-table instead-table real-nets:claims-table",
        "alone-table",
        "lesion-table passages-table",
    ],
    "real-nets": ["claims-table place-table", "mean-table", "alike-table"],
    "relatives": ["left-table", "gates-table", "unet-table"],
    "train-it-yourself": ["arms-table arms-compared", "arms-table arms-compared", "arms-table trap-table"],
    "index": [  # the rows of its table
        "02-gradients-through-depth:one-change 02-gradients-through-depth:ratio-table",
        "05-degradation:depth-table 05-degradation:start-table",
        "08-loss-landscape:slice-misses-table",
        "10-attention-mixes:shares-table a-real-language-model:heads-table",
        "14-rank-collapse:deep-table",
        "15-the-residual-stream:writes-table",
    ],
    "questions": [  # the answers; one rests on papers alone
        "01-f-of-x-plus-x:shape-errors",
        "relatives:gates-table",
        "11-the-transformer-layer:equal-to-torch 11-the-transformer-layer:loss-table",
        "02-gradients-through-depth:one-change",
        "02-gradients-through-depth:relu-table",
        "03-shattered-gradients:headline-table 03-shattered-gradients:norms-table 03-shattered-gradients:train-table",
        "05-degradation:start-table 02-gradients-through-depth:idea-plain-starts",
        "05-degradation:identity-table 10-attention-mixes:branch-numbers",
        "07-ensemble-of-paths:paths-check 07-ensemble-of-paths:path-table 07-ensemble-of-paths:halves-table",
        "05-degradation:depth-table 05-degradation:images-table 05-degradation:cifar-table",
        "03-shattered-gradients:variants-table 12-why-no-activation:settings-table",
        "05-degradation:depth-table 13-why-skips-around-attention:depth-table",
        "09-depth-without-normalisation:best-table 05-degradation:identity-table 06-resnet-blocks:pairs-table",
        "01-f-of-x-plus-x:rezero-gradients",
        "04-who-gets-the-gradient:start-table",
        "04-who-gets-the-gradient:swap-table 04-who-gets-the-gradient:fade-table",
        "04-who-gets-the-gradient:quiet-table",
        "01-f-of-x-plus-x:fit-table 05-degradation:identity-table 05-degradation:matrix-same",
        "06-resnet-blocks:pairs-table",
        "12-why-no-activation:settings-table 12-why-no-activation:seventh-table",
        "12-why-no-activation:settings-table",
        "10-attention-mixes:torch-check 10-attention-mixes:shares-table",
        "10-attention-mixes:shares-table 10-attention-mixes:heads-table a-real-language-model:heads-table",
        "10-attention-mixes:meanings",
        "10-attention-mixes:embeddings-table",
        "10-attention-mixes:equivariance-table 10-attention-mixes:undo-table",
        "13-why-skips-around-attention:depth-table a-real-language-model:alone-table",
        "13-why-skips-around-attention:starts-table",
        "13-why-skips-around-attention:probe-trained",
        "13-why-skips-around-attention:start-table",
        "",
        "14-rank-collapse:deep-table 14-rank-collapse:depth-table",
        "14-rank-collapse:trained-rho",
        "15-the-residual-stream:writes-table 15-the-residual-stream:features-table",
        "15-the-residual-stream:text-probes 15-the-residual-stream:what-is-left",
        "15-the-residual-stream:text-probes",
        "16-playground:seeds-table a-real-language-model:lesion-table real-nets:claims-table",
        "18-more-than-one-stream:way-table 18-more-than-one-stream:text-table",
        "20-what-depth-does:edit-table 20-what-depth-does:small-table",
    ],
}


def sentences(name):
    """Those that a chapter wants to be taken along, the rows of the first page's table, or the answers to questions."""
    if name == "index":
        return re.findall(r"^\| (?!What people|-)(.+) \|$", (ROOT / "index.md").read_text("utf8"), re.M)
    if name == "questions":
        return re.split(r"^### ", (ROOT / "chapters" / "questions.md").read_text("utf8"), flags=re.M)[1:]
    text = next(cell.source for cell in cells_of(name) if cell.source.startswith("## What to take along"))
    return [" ".join(each.split()) for each in ITEM.findall(text.partition("**The next question.**")[0])]


@functools.cache
def cells_of(stem):
    return nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", 4).cells


def told(stem, id):
    """What a checked cell prints. LookupError: the page has none of that id."""
    for cell in cells_of(stem):
        if cell.id == id and "nbval-check-output" in cell.metadata.get("tags", []):
            return printed(cell)
    raise LookupError(f"headlines: {stem} has no checked cell '{id}'.")


def seen(name):
    """A mark for each sentence, which changes with it and with what its cells print."""
    marks = []
    for said, cells in zip(sentences(name), RESTS_ON[name]):
        shown = [told(*(cell if ":" in cell else f"{name}:{cell}").split(":")) for cell in cells.split()]
        marks.append(hashlib.sha256("\n".join([said, *shown]).encode()).hexdigest()[:8])
    return marks


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: seen(name) for name in RESTS_ON}, indent=1) + "\n")
