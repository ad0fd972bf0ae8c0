"""Rules: what of a net's X-ray is worth a sentence, each by a threshold that stands here.

Here lives what is said in words; no rule knows what net it speaks of.
"""

import math
from itertools import groupby

import numpy as np

MOVED = "how far the output moves, beside its size"  # what a cut costs where nothing is asked of the output
SPARE = 0.05  # a branch is spare that costs less than this share of what a skip costs at the median
GROWS = 10.0  # a stream grows or fades by so much or more
LOUD = 2.0  # a branch is loud beside its stream
FADES = 0.1  # a gradient arrives at the first addition with less of what it is at the last
LEFT = 0.1  # of what told tokens or samples apart at the start, the cosine at the end
ONE = 0.98  # the mean cosine of tokens or samples that have become one
APART = 0.9  # and of those that were not at the start
MOSTLY_MEAN = 0.5  # of its square is a branch's mean: then the mean is tried in its place
CONSTANT = 0.1  # a branch is a constant if its mean in its place costs less than this share of leaving it out
SILENT = 1e-6  # a branch does nothing beside its stream
IDLE = 1e-6  # a cut changes nothing, beside the loss
GIANT = 100.0  # the largest number of a state beside its median
HALF = 65504  # float16's largest number
GONE = 0.2  # a giant is taken away where less than this is left of it
# How reasons begin for which a sum is no residual addition, and nothing is amiss.
USUAL = ("nothing that both come from", "the branch takes each number", "inside the branch", "what the branch")

BARS = "▁▂▃▄▅▆▇█"
WIDE = 60  # characters of a line of bars


def where(x, at):
    return f"{at + 1} ({x.places[at].module or 'the model'})"


def number(value):
    if not math.isfinite(value):
        return "infinite" if value > 0 else "not a number"
    if 0 < abs(value) < 1e-4:
        return "under 0.0001" if value > 0 else "over −0.0001"
    return (f"{value:.2g}" if abs(value) < 100 else f"{value:,.0f}").replace("-", "−")


def known(values):
    return [(each, at) for at, each in enumerate(values) if not math.isnan(each)]


def middle(values):
    values = sorted(each for each in values if not math.isnan(each))
    return values[len(values) // 2] if values else math.nan


def several(ats):
    """Numbers of additions, runs of neighbours in short: 3 to 7, 9."""
    runs = [[at + 1 for _, at in run] for _, run in groupby(enumerate(ats), lambda each: each[1] - each[0])]
    return ", ".join(
        f"{run[0]}{' and ' if len(run) == 2 else ' to '}{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs
    )


def dearest_skip(x):
    """Which skip costs most, and how many cost more than their branch; at least IDLE of the loss."""
    cost, at = max(known(x.asked["no skip"]), default=(0, 0))
    worse = sum(a > b for a, b in zip(x.asked["no skip"], x.asked["no branch"]))
    if cost > least(x):
        return (
            f"The dearest skip is that of addition {where(x, at)}: without it, {number(cost)} more. "
            f"{worse} of {len(x.places)} skips cost more than the branch beside them."
        )


def dearest_branch(x):
    """Which branch costs most, if that is more than its own skip does."""
    cost, at = max(known(x.asked["no branch"]), default=(0, 0))
    if cost > max(x.asked["no skip"][at], least(x)):
        return f"At addition {where(x, at)} the branch is missed more than the skip: {number(cost)} more without it."


def spare(x):
    """Branches that cost less than SPARE of the median skip."""
    usual = middle(x.asked["no skip"])
    return [at for at, cost in enumerate(x.asked["no branch"]) if cost < SPARE * usual and usual > least(x)]


def spare_branches(x):
    """There are some."""
    if found := spare(x):
        return (
            f"{len(found)} of {len(x.places)} branches are spare, one at a time: without it, less than {SPARE:.0%} of "
            f"what a skip costs at the median ({number(middle(x.asked['no skip']))}). They are {several(found)}."
        )


def growth(x):
    """The stream at the end is GROWS times as large as at the start, or as small."""
    start, end = x.start, x.asked["size"][-1]
    factor = end / start if start and x.streams == "one" else 1
    if not math.isfinite(end):
        return "The stream does not stay finite."
    if factor >= GROWS:
        return f"The stream grows {number(factor)} times, from {number(start)} to {number(end)}."
    if factor <= 1 / GROWS:
        less = number(1 / max(factor, 1e-300))
        return f"The stream fades to 1/{less} of its size, from {number(start)} to {number(end)}."


def loud_branch(x):
    """A branch is LOUD times its stream, or louder."""
    if loud := [(ratio, at) for ratio, at in known(x.asked["branch / stream"]) if ratio >= LOUD]:
        ratio, at = max(loud)
        times = "its stream is zeros" if math.isinf(ratio) else f"{number(ratio)} times its stream"
        rest = f" {len(loud)} of {len(x.places)} are louder than {LOUD:g} times." if len(loud) > 1 else ""
        return f"The branch at addition {where(x, at)} is loud: {times}.{rest}"


def gradient(x):
    """The first that is known is less than FADES of that at the last addition, or more than 1 / FADES."""
    first, at = next(iter(known(x.asked["gradient"])), (1, 0))
    if not FADES < first < 1 / FADES:
        share = f"{first:.0%} of" if 0.005 <= first < 1 else f"{number(first)} times"
        return f"The gradient at addition {at + 1} is {share} that at the last."


def forgotten(x):
    """Less than LEFT of the first stream is left at the end."""
    left = x.asked["left of x"]
    if left[-1] < LEFT and x.streams == "one":
        at = next(at for at, each in enumerate(left) if each < LEFT)
        end = f"{left[-1]:.2f}".replace("-", "−")
        return f"Next to nothing is left of x at the end, a cosine of {end}; below {LEFT:g} from addition {at + 1} on."


def one(x):
    """Tokens or samples that were apart, and whose mean cosine stays above ONE from some addition on."""
    alike = x.asked["alike"]
    late = next((at for at in range(len(alike)) if all(each > ONE for each in alike[at:])), None)
    if late is not None and (alike[0] if late else x.begun) < APART:
        what = "tokens" if x.stages[-1].what == "token" else "samples"
        return f"The {what} become one: from addition {where(x, late)} on the mean cosine of two is {alike[-1]:.3f}."


def constants(x):
    """Branches of which the mean is nearly all: it costs less than CONSTANT of what leaving them out does."""
    missed = SPARE * middle(x.asked["no skip"])
    cost, mean = x.asked["no branch"], x.asked["mean branch"]
    if found := [at for at in range(len(cost)) if cost[at] > max(missed, least(x)) and mean[at] < CONSTANT * cost[at]]:
        at = max(found, key=lambda at: cost[at])
        rest = f" So it is at {several(found)}." if len(found) > 1 else ""
        return (
            f"The branch at addition {where(x, at)} is a constant: without it {number(cost[at])} more, with its mean "
            f"over samples and tokens in its place {number(mean[at])}.{rest}"
        )


def silent(x):
    """Branches smaller than SILENT beside their stream."""
    if found := [at for at, ratio in enumerate(x.asked["branch / stream"]) if ratio < SILENT]:
        return f"Branches that do nothing at all, for what they add is 0 beside the stream: {several(found)}."


def idle(x):
    """Additions of which neither cut changes the loss, though their branch is not 0."""
    pairs = zip(x.asked["no skip"], x.asked["no branch"], x.asked["branch / stream"])
    if found := [at for at, (*costs, ratio) in enumerate(pairs) if max(map(abs, costs)) < least(x) and ratio >= SILENT]:
        cuts = "neither the skip's cut nor the branch's changes a thing"
        return f"Additions that nothing reads: {cuts}: {several(found)}."


def giant(x):
    """One number of a state is GIANT times its median or more; who writes it, and where it is gone."""
    sizes = x.asked["giant"]
    ratio, at = max(known(sizes), default=(0, 0))
    if ratio < GIANT:
        return None
    writer = next(i for i in range(at + 1) if sizes[i] > ratio / 10)
    taken = next((i for i in range(at + 1, len(sizes)) if sizes[i] < GONE * ratio), len(sizes))
    again = next((i for i in range(taken, len(sizes)) if sizes[i] > ratio / 10), None)
    end = f"addition {where(x, taken)} takes it away" if taken < len(sizes) else "it stays"
    end += "" if again is None else f", until addition {again + 1} writes one again"
    place = x.giants[at]
    number_of = f"feature {place[1 if len(place) == 4 else -1]}{f', of token {place[1] + 1}' * (len(place) == 3)}"
    return (
        f"A giant: one number, {number_of}, is {number(ratio)} times the median. "
        f"Addition {where(x, writer)} writes it and {end}."
    )


def outgrows_float16(x):
    """A number on the stream is finite, and beyond HALF."""
    if beyond := [at for at, each in enumerate(x.asked.get("largest", ())) if HALF < each < math.inf]:
        most = max(x.asked["largest"][at] for at in beyond)
        return (
            f"The stream outgrows float16, which ends at {HALF:,}: at addition {where(x, beyond[0])} and later, up to "
            f"{number(most)}. Keep it in float32, or take bfloat16."
        )


def not_seen(x):
    """Additions that were passed over, as the search tells them."""
    return f"Not seen as residual, and not cut: {'; '.join(x.unseen[:3])}." if x.unseen else None


def least(x):
    return IDLE * max(abs(x.whole), 1e-3)


# The rule, and the chapter that explains it.
RULES = {
    dearest_skip: "a-real-language-model",
    dearest_branch: "a-real-language-model",
    spare_branches: "07-ensemble-of-paths",
    growth: "09-depth-without-normalisation",
    loud_branch: "15-the-residual-stream",
    gradient: "02-gradients-through-depth",
    forgotten: "09-depth-without-normalisation",
    one: "14-rank-collapse",
    constants: "15-the-residual-stream",
    silent: "07-ensemble-of-paths",
    idle: "07-ensemble-of-paths",
    giant: "a-real-language-model",
    outgrows_float16: "real-nets",
    not_seen: "20-what-depth-does",
}


def sentences(x):
    """(rule, sentence, chapter), in the order above."""
    said = ((rule, rule(x), chapter) for rule, chapter in RULES.items())
    return [(rule.__name__.replace("_", " "), sentence, chapter) for rule, sentence, chapter in said if sentence]


ORDINARY = "By these rules nothing is remarkable here."


def bars(values):
    """Numbers as bars, by their logarithms, from the least to the most; the mean of neighbours where there are many."""
    logs = [math.log10(max(abs(each), 1e-12)) if math.isfinite(each) else math.nan for each in values]
    groups = [group[~np.isnan(group)] for group in np.array_split(logs, min(WIDE, len(logs)))]
    shown = [group.mean() if group.size else math.nan for group in groups]
    low, high = min(known(shown), default=(0,))[0], max(known(shown), default=(0,))[0]
    places = [min(int(8 * (each - low) / max(high - low, 1e-9)), 7) if each == each else -1 for each in shown]
    return "".join(f"{BARS} "[place] for place in places)


def told(x):
    """The page in thirty lines or fewer."""
    found = [sentence for _, sentence, _ in sentences(x)]
    lines = [f"{x.net}: {len(x.places)} residual additions", f"asked with {x.inputs}; {x.measure}: {number(x.whole)}"]
    if x.says["none"]:
        lines.append("it says " + ", ".join(f"{words!r} {share:.0%}" for words, share in x.says["none"][:3]))
    lines += ["", *(f"- {each}" for each in found or [ORDINARY]), ""]
    for name, values in x.asked.items():
        real = [each for each, _ in known(values)]
        if real:
            lines.append(f"{name:15} {bars(values)}  {number(min(real))} to {number(max(real))}")
    return "\n".join([*lines, "", "save('net.html') draws it; to_dict() has every number."])
