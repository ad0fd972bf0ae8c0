"""Pair: two X-rays beside each other, as of a net before and after training: in words what differs, and one page.

Here lives what is said of two nets, and by which threshold; what is said of one lives in `rules`.
"""

import math
from dataclasses import dataclass

from . import page, rules
from .net import Xray, opened

TWICE = 2.0  # two numbers differ, one of which is so many times the other, or more
FAR = 0.2  # and two cosines, so far from each other
SAME = "By these rules the two do not differ."


def _grown(x):
    end = x.asked["size"][-1] / (x.start or math.nan)
    return math.nan if x.streams != "one" else end if math.isfinite(end) else math.inf


def _apart(a, b, rule):
    if math.isnan(a) or math.isnan(b) or rule in COSINES:
        return abs(a - b) >= FAR
    less, more = sorted([abs(a), abs(b)])
    return more >= TWICE * less and more > rules.SILENT and less < math.inf


# What of both is compared, by the rule that speaks of it in one: in which words, and what it is.
MEASURED = {
    "loss": ("The whole net's loss is", lambda x: x.whole),
    "no skip": ("Without a skip the median cost is", lambda x: rules.middle(x.asked["no skip"])),
    "no branch": ("Without a branch the median cost is", lambda x: rules.middle(x.asked["no branch"])),
    "spare branches": ("Spare branches:", lambda x: len(rules.spare(x))),
    "growth": ("The stream's size, at the end beside the start, is", _grown),
    "loud branch": (
        "The loudest branch beside its stream is",
        lambda x: max(rules.known(x.asked["branch / stream"]))[0],
    ),
    "gradient": (
        "The gradient at the first addition beside that at the last is",
        lambda x: next(iter(rules.known(x.asked["gradient"])), (math.nan,))[0],
    ),
    "forgotten": ("What is left of x at the end is a cosine of", lambda x: x.asked["left of x"][-1]),
    "one": ("The mean cosine of two tokens or samples is at the end", lambda x: x.asked["alike"][-1]),
}
COSTS, COSINES = ("loss", "no skip", "no branch"), ("forgotten", "one")


def beside(**nets):
    """Two nets, `beside(before=x, after=y)`: each an X-ray, or a file that `save` wrote; their additions by number.

    ValueError: there are not two, or a file has no X-ray of one net.
    """
    if len(nets) != 2:
        raise ValueError(f"beside: came {len(nets)} nets; give two with their names, beside(before=x, after=y).")
    return Pair({name: x if isinstance(x, Xray) else opened(x) for name, x in nets.items()})


@dataclass
class Pair:
    """`print` says what differs, `save` writes a page where one press cuts both. nets: name -> X-ray."""

    nets: dict

    @property
    def sentences(self):
        """(rule, sentence): how they were asked, what of both is far apart, what is remarkable in one alone."""
        (a, x), (b, y) = self.nets.items()
        said = []
        if len(x.places) != len(y.places):
            said.append(("additions", f"{len(x.places)} additions in {a}, {len(y.places)} in {b}, here by number."))
        if x.measure != y.measure:
            said.append(("measure", f"Costs are not compared: {x.measure} in {a}, {y.measure} in {b}."))
        one, other = ({rule: words for rule, words, _ in net.sentences} for net in (x, y))
        for rule in dict.fromkeys([*MEASURED, *one, *other]):
            words, value = MEASURED.get(rule, ("", None))
            if value and not _apart(value(x), value(y), rule) or (rule in COSTS and x.measure != y.measure):
                continue
            if (rule in one) != (rule in other):
                said.append((rule, f"Only in {a if rule in one else b}: {one.get(rule) or other.get(rule)}"))
            elif value:
                most = self._most(rule) if rule in page.CUT and len(x.places) == len(y.places) else ""
                found = f"{words} {rules.number(value(x))} in {a}, {rules.number(value(y))} in {b}."
                said.append((rule, found + most))
        return said

    def _most(self, name):
        """The addition at which a cost differs most."""
        (_, x), (_, y) = self.nets.items()
        pairs = [*zip(x.asked[name], y.asked[name])]
        at = max(range(len(pairs)), key=lambda at: abs(pairs[at][0] - pairs[at][1]))
        return f" Most apart: addition {rules.where(y, at)}, {' and '.join(map(rules.number, pairs[at]))}."

    def __str__(self):
        heads = [f"{name}: {x.net}, {len(x.places)} residual additions" for name, x in self.nets.items()]
        return "\n".join([*heads, "", *(f"- {words}" for _, words in self.sentences or [("", SAME)])])

    def show(self, name="two_nets"):
        """Display one explorer, with a control for the net, or one for each net where their stages are not alike."""
        one, other = ([len(stage.heights["none"]) for stage in x.stages] for x in self.nets.values())
        if one == other and len(one) == 1:
            return page.show_both(self.nets, name)
        for at, x in enumerate(self.nets.values()):
            x.show(f"{name}_{at + 1}")

    def save(self, file, book=None):
        """Write the page, as an X-ray's own."""
        page.save(file, page.written(self.nets, book, [words for _, words in self.sentences] or [SAME]))
