"""Net: all that an X-ray knows of a net, measured in a few passes and kept as what is drawn of it.

Here live `xray` and its numbers; what they say in words lives in `rules`, how they look in `page`.
"""

import json
import math
import platform
import re
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import torch

from ..explore import explore
from ..explore.states import grids
from ..measure import switches
from ..measure.asked import as_found, watched
from ..measure.forks import losses
from ..measure.meetings import Place
from . import page, rules

THREADS = 32  # at most, of what there are more: evenly chosen
MEANS = 8  # of so many branches, the dearest, the mean is tried
CUTS = ("skip", "branch")
KEPT = ("net", "inputs", "measure", "whole", "start", "giants", "begun", "streams", "unseen", "made")  # as they are


@dataclass
class Stage:
    """Additions, from the first on, whose sums have one shape. heights: cut -> (additions + 1, threads)."""

    first: int
    shape: tuple
    what: str
    names: list
    heights: dict = field(default_factory=dict)
    direction: torch.Tensor | None = None

    @cached_property
    def span(self):
        """The heights at the lower and upper edge, the same for all cuts."""
        ends = [end.item() for heights in self.heights.values() for end in heights.aminmax()]
        room = max(0.05 * (max(ends) - min(ends)), 1e-6)
        return min(ends) - room, max(ends) + room


@dataclass
class Xray:
    """A net's additions, asked and cut. `print` says what is remarkable, `save` writes the page, `to_dict` has all.

    asked: name -> a number for each addition, NaN where there is none. says: cut -> [(words, probability)]. A cut is
    "none", or such as "skip 1", "branch 1".
    """

    net: str
    inputs: str
    measure: str
    whole: float
    places: list
    asked: dict
    stages: list
    says: dict
    made: list
    unseen: list
    start: float
    giants: list
    begun: float
    streams: str

    def __str__(self):
        return rules.told(self)

    @property
    def sentences(self):
        """(rule, sentence, chapter) for each rule that holds here."""
        return rules.sentences(self)

    def to_dict(self):
        """All but heights, and what is remarkable; a number that is none is None, an infinite one a word."""
        additions = [
            dict(number=at + 1, module=place.module, line=place.line, time=place.time)
            | {name: _plain(each[at]) for name, each in self.asked.items()}
            for at, place in enumerate(self.places)
        ]
        says = {cut: [dict(says=words, share=share) for words, share in each] for cut, each in self.says.items()}
        said = [dict(rule=rule, says=sentence, chapter=chapter) for rule, sentence, chapter in self.sentences]
        stages = [dict(first=s.first, shape=[*s.shape], what=s.what, names=s.names) for s in self.stages]
        return {name: _plain(getattr(self, name)) for name in KEPT} | dict(
            remarkable=said, additions=additions, says=says, stages=stages
        )

    def to_json(self):
        return json.dumps(self.to_dict(), allow_nan=False)

    def save(self, file, book=None):
        """Write the page, one file that needs no network. book: an address of this book's chapters, to link to."""
        page.save(file, page.written({"": self}, book))

    def show(self, name="your_net"):
        """Display an explorer for each stage. name: the first one's, by which links know it."""
        for function in page.functions(self, name):
            explore(page.ROOM, cut=list(self.says))(function)

    def _ipython_display_(self):
        print(self)
        self.show()


def _plain(value):
    """As JSON has it, whose numbers are finite; `_number` is the inverse."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def opened(file):
    """The X-ray of a page that `save` wrote. ValueError: it is no such page."""
    text = Path(file).read_text("utf8")
    held = re.search(r'<script type="application/json" id="xray">(.+?)</script>', text)
    if not held:
        raise ValueError(f"xray: {file} is no page of one net; expected one that `save` wrote.")
    held = json.loads(held[1])
    additions, facts = held["additions"], ("number", "module", "line", "time")
    drawn = map(grids, re.findall(r'class="px-states">(.*?)</script>', text))
    return Xray(
        places=[Place(each["module"], each["line"], "", each["time"]) for each in additions],
        asked={name: [_number(each[name]) for each in additions] for name in additions[0] if name not in facts},
        stages=[
            Stage(*stage.values(), {cut: torch.from_numpy(each.T) for cut, each in zip(held["says"], grids)})
            for stage, grids in zip(held["stages"], drawn)
        ],
        says={cut: [tuple(each.values()) for each in said] for cut, said in held["says"].items()},
        **{name: _number(held[name]) if name in ("whole", "begun", "start") else held[name] for name in KEPT},
    )


def _number(value):
    return math.nan if value is None else float(value)


def xray(model, inputs, loss=None, names=None, says=None, megabytes=128):
    """Draw a net: each residual addition asked, its skip cut, its branch left out.

    inputs: what the model is called with: a tensor, a tuple, or a dict of names. The first sample is drawn, of feature
        vectors all. loss: of the model's output, a scalar; without one the output's own, of a model that writes that of
        the next token, and of any other how far its output moves. names: of the threads, as of tokens.
    says: number -> word, as a tokenizer's decode, for what the model says last; else it shows numbers.
    megabytes: about so much is taken for cuts that share a pass.

    ValueError: the inputs are none of these, or no residual addition is found.
    """
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, tuple | list | dict) and not hasattr(inputs, "keys"):
        raise ValueError(f"xray: the inputs are a {type(inputs).__name__}; give a tensor, a tuple, or a dict of names.")
    weights = next(model.parameters(), torch.zeros(()))
    if weights.is_meta:
        raise ValueError("xray: the model is on the device meta, where numbers are not; put it on another.")
    given, named = ((), dict(inputs)) if hasattr(inputs, "keys") else (tuple(inputs), {})
    ids, run = named.get("input_ids", given[0] if given else None), partial(model, *given, **named)
    with as_found(model):
        gates = switches(model, *given, **named)
        with torch.no_grad():
            question = _Question(model, run(), ids, loss, says)
        draw = _Drawn()
        _, answers = watched(gates, lambda: question.slope(run()), draw.look, draw.before)
        cuts = [(at, kind) for at in range(len(gates.places)) for kind in CUTS]
        if names is None and says and ids is not None and ids.ndim == 2:
            names = {"token": [says(int(at)) for at in ids[0]]}
        draw.begin(cuts, names)
        numbers, how = losses(gates, lambda: question.numbers(run()), cuts, draw.look, megabytes)
        costs = (numbers[:, 0] - question.whole[0]).view(-1, 2)
        means = torch.full([len(gates.places)], torch.nan, dtype=torch.float64)
        missed = rules.SPARE * rules.middle(costs[:, 0].tolist())
        mostly = [at for at, share in enumerate(draw.constant) if share > rules.MOSTLY_MEAN and costs[at, 1] > missed]
        if alike := [(at, "mean") for at in sorted(mostly, key=lambda at: -costs[at, 1])[:MEANS]]:
            found, _ = losses(gates, lambda: question.numbers(run()), alike, megabytes=megabytes)
            means[[at for at, _ in alike]] = found[:, 0] - question.whole[0]
    asked = answers | draw.asked | {"no skip": costs[:, 0], "no branch": costs[:, 1], "mean branch": means}
    shapes = [f"{tuple(each.shape)}" for each in given if torch.is_tensor(each)]
    shapes += [f"{name} {tuple(each.shape)}" for name, each in named.items() if torch.is_tensor(each)]
    count = sum(p.numel() for p in model.parameters())
    kinds = ", ".join(dict.fromkeys(f"{len(s.names)} {s.what}s" for s in draw.stages))
    made = [
        f"{how} Cuts share passes where the model takes a batch that grows.",
        f"Threads: {kinds}, each at its own size, along the direction in which the whole net's differ most; of images "
        "the mean of a channel.",
        f"torch {torch.__version__}, Python {platform.python_version()}, {weights.dtype}, {weights.device.type}, "
        f"{'training' if model.training else 'evaluation'} mode, random numbers from seed {torch.initial_seed()}.",
    ]
    told = [each for each in gates.told if not each[2].startswith(rules.USUAL)]
    unseen = list(dict.fromkeys(f"{line} in {module or 'the model'} ({why})" for module, line, why in told))
    return Xray(
        f"{type(model).__name__}, {count:,} weights", ", ".join(shapes), question.measure, question.whole[0].item(),
        gates.places, {name: torch.as_tensor(each).tolist() for name, each in asked.items()}, draw.stages,
        {_name_of(cut): question.words(each) for cut, each in zip([None, *cuts], [question.whole, *numbers])}, made,
        unseen, draw.start, draw.giants, draw.begun, "several" if draw.jumps else "one",
    )  # fmt: skip


class _Question:
    """What a run is asked: numbers(output) is its loss and what it says, so much that all fits into one tensor."""

    def __init__(self, model, output, ids, loss, says):
        self.ids, self.loss, self.says = ids, loss, says
        self.reference = _first(output).detach().double()
        logits = getattr(output, "logits", None)
        writes = getattr(model, "can_generate", bool)() and logits is not None and logits.shape[:2] == ids.shape
        self.measure = rules.MOVED if loss is None else "the loss"
        if loss is None and getattr(output, "loss", None) is not None:
            self.loss, self.measure = (lambda output: output.loss), "its own loss"
        elif loss is None and writes and ids.shape[1] > 1:
            self.loss, self.measure = self._next, "nats for each next token"
        self.choices = writes or (logits is not None and logits.ndim == 2 and logits.shape[1] > 1)
        self.labels = {} if writes else getattr(getattr(model, "config", None), "id2label", None) or {}
        self.whole = self.numbers(output).detach().double().cpu()

    def _next(self, output):
        return torch.nn.functional.cross_entropy(output.logits[:, :-1].flatten(0, 1), self.ids[:, 1:].flatten())

    def slope(self, output):
        return self.loss(output) if self.loss else _first(output).square().mean()

    def numbers(self, output):
        if self.loss:
            lost = torch.as_tensor(self.loss(output)).double()
        else:
            moved = _first(output).double() - self.reference
            lost = (moved.square().mean() / self.reference.square().mean()).sqrt()
        if lost.ndim:
            raise ValueError(f"xray: the loss has shape {tuple(lost.shape)}; expected a scalar.")
        if not self.choices:
            return lost[None]
        last = output.logits[0] if output.logits.ndim == 2 else output.logits[0, -1]
        top = last.double().softmax(-1).topk(min(5, len(last)))
        return torch.cat([lost[None].cpu(), top.values.cpu(), top.indices.double().cpu()])

    def words(self, numbers):
        shares, which = numbers[1:].chunk(2) if len(numbers) > 1 else ((), ())
        name = self.says or (lambda at: self.labels.get(at, at))
        return [(str(name(int(at))), float(share)) for share, at in zip(shares, which)]


def _first(output):
    """The first tensor of real numbers that a model gives, or its logits."""
    if (logits := getattr(output, "logits", None)) is not None:
        return logits
    leaves = torch.utils._pytree.tree_flatten(output)[0]
    return next(each for each in leaves if isinstance(each, torch.Tensor) and each.is_floating_point())


def _name_of(cut):
    return "none" if cut is None else f"{cut[1]} {cut[0] + 1}"


class _Drawn:
    """What is kept of streams while they are there: first the whole's, then heights of threads for each cut."""

    def __init__(self):
        self.seen, self.stages, self.constant = [], [], []  # seen: stream and sum of each addition, in turn

    def before(self, at, stream, branch):
        """How much of the branch's square its mean is."""
        branch = _rows(branch)
        self.constant.append((branch.mean(0).square().sum() / branch.square().sum(-1).mean()).item())

    def look(self, rows, at, when, state):
        if not self.stages:
            return self.seen.append(state.clone())
        stage = next(stage for stage in reversed(self.stages) if stage.first <= at)
        if when == "sum" or at == stage.first:
            for cut, each in zip(rows, _heights(state, len(rows), stage.direction)):
                if cut:
                    stage.heights[_name_of(cut)][at - stage.first + (when == "sum")] = each

    def begin(self, cuts, names):
        """The whole has been seen: what it is, and the directions along which cuts are seen. names: of the threads."""
        streams, sums = self.seen[::2], self.seen[1::2]
        firsts = [at for at, x in enumerate(streams) if not at or x.shape[1:] != streams[at - 1].shape[1:]]
        for at, end in zip(firsts, [*firsts[1:], len(sums)]):
            wholes = [streams[at], *sums[at:end]]
            direction = _farthest([_threads(each, 1)[0] for each in wholes])
            whole = torch.stack([_heights(each, 1, direction)[0] for each in wholes])
            heights = {_name_of(cut): whole.clone() for cut in [None, *cuts]}
            what = ("channel", "sample", "token")[(wholes[0].ndim < 3) + 2 * (wholes[0].ndim in (3, 5))]
            own, which = names.get(what) if isinstance(names, dict) else names, _chosen(wholes[0])
            is_named = own is not None and len(own) > max(which)
            shown = [str(own[i]) if is_named else f"{what} {i + 1}" for i in which]
            self.stages.append(Stage(at, wholes[0].shape[1:], what, shown, heights, direction))
        self.jumps = any(a.shape == b.shape and _cosine(a, b) < 0.5 for a, b in zip(sums, streams[1:]))
        self.start, *sizes = (x.double().square().mean().sqrt().item() for x in [streams[0], *sums])
        self.begun, *alike = map(_alike, [streams[0], *sums])
        apart = (rows - rows.mean(0) for rows in map(_rows, [streams[0], *sums]))
        first = next(apart)
        left = [_cosine(first, x) if x.shape == first.shape and len(x) > 1 else torch.nan for x in apart]
        largest, ratios, self.giants = ([*each] for each in zip(*map(_giant, sums)))
        self.asked = {"size": sizes, "left of x": left, "alike": alike, "giant": ratios, "largest": largest}
        self.seen = None


def _cosine(a, b):
    return torch.cosine_similarity(a.flatten(), b.flatten(), 0).item()


def _giant(state):
    """The largest number of a state, the same beside the median of those that are not 0, and where it stands."""
    sizes = state.abs()
    others = sizes[sizes != 0].median().item() if state.any() else 1.0
    place = torch.unravel_index(sizes.argmax(), sizes.shape)
    return sizes.max().item(), sizes.max().item() / others, [each.item() for each in place]


def _rows(state):
    """Its tokens, places or samples, each with its features: (all of them, d)."""
    state = state.double() if state.ndim > 1 else state.double().reshape(1, -1)
    return (state.movedim(1, -1) if state.ndim == 4 else state).flatten(0, -2)


def _threads(state, rows):
    """What is drawn, each at its own size, with one size for an image: (rows, threads, d or 1)."""
    own = state.reshape(rows, -1, *state.shape[1:])
    if state.ndim == 4:
        image = own[:, 0].float()
        size = image.square().mean((1, 2, 3), keepdim=True).sqrt()
        return (image / size).mean((2, 3))[:, _chosen(state), None]
    own = own[:, 0].flatten(1, -2) if state.ndim > 2 else own.flatten(2) if state.ndim == 2 else own[..., None]
    own = own[:, _chosen(state, rows)].float()
    return own / own.square().mean(-1, keepdim=True).sqrt()


def _heights(state, rows, direction):
    threads = _threads(state, rows)
    heights = threads[..., 0] if direction is None else threads @ direction
    return heights.nan_to_num(0, 0, 0).cpu()


def _chosen(state, rows=1):
    """Which channels, tokens or samples are threads: evenly chosen where there are too many."""
    own = len(state) // rows
    count = state.shape[1] if state.ndim == 4 else math.prod(state.shape[1:-1]) if state.ndim > 2 else own
    return torch.linspace(0, count - 1, min(count, THREADS)).round().long().tolist()


def _farthest(states):
    """The direction in which the threads of a layer differ most from each other, in all layers: (d,)."""
    states = torch.stack(states).nan_to_num(0, 0, 0)
    if states.shape[-1] == 1:
        return None
    apart = (states - states.mean(1, keepdim=True)).flatten(0, 1)
    direction = apart[apart.square().sum(-1).argmax()]
    for _ in range(50):
        direction = torch.nn.functional.normalize(apart.T @ (apart @ direction), dim=0)
    return -direction if apart[0] @ direction < 0 else direction  # in each net the first begins above the middle


def _alike(state):
    """The mean cosine of two samples, or of two tokens of the first, without the three loudest of 32 features."""
    rows = state.double().flatten(1) if state.ndim in (2, 4) else _rows(state[0] if state.ndim > 2 else state)
    if len(rows) < 2:
        return torch.nan
    if rows.shape[1] >= 32:
        quiet = rows.square().mean(0).argsort()[:-3]
        rows = rows[:, quiet]
    unit = torch.nn.functional.normalize(rows[:256], dim=-1)
    n = len(unit)
    return ((unit.sum(0).square().sum() - unit.square().sum()) / (n * (n - 1))).item()
