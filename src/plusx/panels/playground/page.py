"""Static: the playground as one HTML fragment, with the presets computed beforehand."""

import itertools

import torch
from torch.nn import functional as F

from ...explore.controls import Control
from ...explore.diagram import draw
from ...nets.switched import VALUES, encode, examples
from ..page import STAGE, beforehand, panel, planes, table

START = {
    "characters": dict(
        title="Text", start="the default valu", hint="Any plain characters", knows="English ASCII text without accents"
    ),
    "sorting": dict(title="Sorting", start="3141592653", hint="Digits", knows="digits"),
}
TOLD = "alphabet", "places", "causal", "heads", "layers"  # of a net's task
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
        "nets": {name: START[name] | {part: getattr(net.task, part) for part in TOLD} for name, net in nets.items()},
        "switches": [{"control": c.name, "name": c.title, "labels": c.labels} for c in CONTROLS],
        **drawings(),
        "presets": [{"name": name, "switches": digits(switches)} for name, switches in presets.items()],
        "known": {
            name: {digits(key): round(loss, 3) for key, loss in each.items()} for name, each in (known or {}).items()
        },
        "challenges": [{**c._asdict(), "accepted": [digits(s) for s in c.accepted]} for c in challenges],
    }
    return panel("playground", setup, STAGE + before, id="playground")


def fragment(nets, presets, challenges, known=None):
    """The playground's HTML for a page without a kernel, with all presets at the start inputs."""
    seen = seen_first(nets, presets)
    before = beforehand("The switches need", answers(nets, presets, seen), pack(seen))
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


def seen_first(nets, presets):
    """`Seen` of each net's start input under each preset."""
    return {name: look_at(net, START[name]["start"], presets) for name, net in nets.items()}


def pack(seen):
    """All of them. Scores become log probabilities, which are all that is shown of them. The scales are
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
    return planes(words)


def answers(nets, presets, seen):
    """What each preset does to the start inputs, in numbers and words: a table for each net."""
    tables = []
    for name, net in nets.items():
        text, rows = START[name]["start"], []
        given = encode(net.task, text)[None]
        _, wanted = examples(net.task, given)
        for preset, state in zip(presets, seen[name]):
            answer = state.scores[-1]  # (n, V)
            loss = F.cross_entropy(answer[: wanted.shape[1]], wanted[0])
            best = answer.argmax(-1)
            said = "".join(net.task.alphabet[i] for i in (best[-1:] if net.task.causal else best))
            alike, n = state.similarity[-1], len(text)
            cosine = (alike.sum() - alike.trace()) / (n * (n - 1))  # of each two different tokens
            rows.append([preset, f"{loss:.2f}", said, f"{cosine:.2f}".replace("-", "−")])
        head = ["Switches", "loss", "next" if net.task.causal else "answer", "mean cosine at the end"]
        tables.append(table(f"{START[name]['title']}, input “{text}”", head, rows))
    return "".join(tables)
