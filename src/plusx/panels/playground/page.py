"""Static: the playground as one HTML fragment, with the presets computed beforehand."""

import base64
import gzip
import html
import itertools
import json

import numpy as np
import torch
from torch.nn import functional as F

from ...explore.controls import Control
from ...explore.diagram import draw
from ...explore.static import opening, states
from ...nets.switched import VALUES, Seen, encode, examples

START = {
    "characters": dict(
        title="Text", start="the default valu", hint="Any plain characters", knows="English ASCII text without accents"
    ),
    "sorting": dict(title="Sorting", start="3141592653", hint="Digits", knows="digits"),
}
# The switches of a layer as readers know them, as in `switched.LAYER`; a digit is a value's index.
NAMES = "skip_around_attention attention norm_of_attention skip_around_FFN FFN norm_of_FFN activation".split()
SPELLED = {"relu": "ReLU", "gelu": "GELU"}
CONTROLS = tuple(
    Control(name, "radio", tuple(SPELLED.get(label, label) for label in labels), tuple(range(len(labels))), 1)
    for name, labels in zip(NAMES, VALUES)
)
# What a layer is drawn from: the order of each half, and its switches.
HALVES = (
    (
        "attention:[norm:norm_of_attention=before_the_branch attention]:skip_around_attention "
        "norm:norm_of_attention=after_the_addition",
        CONTROLS[:3],
    ),
    (
        "FFN:[norm:norm_of_FFN=before_the_branch W₁ activation:activation W₂]:skip_around_FFN "
        "norm:norm_of_FFN=after_the_addition",
        CONTROLS[3:],
    ),
)


def markup(nets, presets, challenges, known=None, before=""):
    """What both doors share: a stage for js/playground.js, and what it needs to know.

    before: HTML between the two.
    """
    setup = {
        "nets": {
            name: {
                **START[name],
                "alphabet": net.task.alphabet,
                "places": net.task.places,
                "causal": net.task.causal,
                "heads": net.task.heads,
                "layers": net.task.layers,
            }
            for name, net in nets.items()
        },
        "switches": [{"control": c.name, "name": c.title, "labels": c.labels} for c in CONTROLS],
        **drawings(),
        "presets": [{"name": name, "switches": digits(switches)} for name, switches in presets.items()],
        "known": {
            name: {digits(key): round(loss, 3) for key, loss in each.items()} for name, each in (known or {}).items()
        },
        "challenges": [{**c._asdict(), "accepted": [digits(s) for s in c.accepted]} for c in challenges],
    }
    data = json.dumps(setup, separators=(",", ":")).replace("<", "\\u003c")
    return f"""{opening("playground", id="playground")}
<div class="pn-stage"></div>
{before}<script type="application/json" class="pg-setup">{data}</script>
</div>"""


def fragment(nets, presets, challenges, known=None):
    """The playground's HTML for a page without a kernel, with all presets at the start inputs."""
    seen = {name: look_at(net, START[name]["start"], presets) for name, net in nets.items()}
    tables = "".join(table(net, name, presets, seen[name]) for name, net in nets.items())
    payload = base64.b64encode(gzip.compress(pack(seen), 9, mtime=0)).decode()
    before = f"""<noscript><p class="px-message">The switches need JavaScript, the table below does not.</p></noscript>
<details class="pg-table"><summary>The presets as a table</summary>
<div class="px-table" role="region" aria-label="The presets as a table" tabindex="0">{tables}</div></details>
{states(payload)}
"""
    return markup(nets, presets, challenges, known, before)


def drawings():
    """The different pieces of which layers consist, and for each half which of them, by the digits of its switches."""
    pieces, halves = {}, []
    for line, controls in HALVES:
        drawn = {state: draw(line, controls, state) for state in itertools.product(*(c.values for c in controls))}
        halves.append(
            {digits(state): [pieces.setdefault(p["html"], len(pieces)) for p in each] for state, each in drawn.items()}
        )
    return {"pieces": list(pieces), "halves": halves}


def digits(switches):
    return "".join(map(str, switches))


@torch.no_grad()
def look_at(net, text, presets):
    """`Seen` of a text under each preset."""
    return [net.look(encode(net.task, text), switches) for switches in presets.values()]


def pack(seen):
    """All of them as 16-bit numbers: the low bytes, then the high ones, which compress better apart.

    Scores become log probabilities, which are all that is shown of them. The scales are
    those that js/table.js undoes: relative errors below 4e-4.
    """
    words = []
    for looks in seen.values():
        for scores, attention, similarity, norm in looks:
            words += [
                torch.log1p(-torch.log_softmax(scores, -1)) * 3000,
                attention * 65535,
                (similarity + 1) * 32767,
                torch.log1p(norm) * 3000,
            ]
    numbers = np.concatenate([part.double().numpy().ravel() for part in words])
    if not (numbers.min() >= -0.5 and numbers.max() < 65535.5):
        raise ValueError(f"pack: numbers from {numbers.min()} to {numbers.max()} do not fit 16 bits.")
    return np.rint(numbers).astype("<u2").view(np.uint8).reshape(-1, 2).T.tobytes()


def table(net, name, presets, seen):
    """What each preset does to the start input, in numbers and words."""
    text = START[name]["start"]
    given = encode(net.task, text)[None]
    _, wanted = examples(net.task, given)
    head = ["Switches", "loss", "next" if net.task.causal else "answer", "mean cosine at the end"]
    rows = []
    for preset, state in zip(presets, seen):
        answer = state.scores[-1]  # (n, V)
        loss = F.cross_entropy(answer[: wanted.shape[1]], wanted[0])
        best = answer.argmax(-1)
        said = best[-1:] if net.task.causal else best
        rows.append([preset, f"{loss:.2f}", "".join(net.task.alphabet[i] for i in said), f"{mean_cosine(state):.2f}"])
    cells = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    return (
        f"<table><caption>{html.escape(START[name]['title'])}, input “{html.escape(text)}”</caption><thead><tr>"
        f"{titles}</tr></thead><tbody>{cells}</tbody></table>"
    )


def mean_cosine(seen: Seen):
    """Of each two different tokens after the last layer."""
    n = seen.similarity.shape[-1]
    return ((seen.similarity[-1].sum() - seen.similarity[-1].trace()) / (n * (n - 1))).item()
