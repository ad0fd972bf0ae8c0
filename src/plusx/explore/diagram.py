"""Diagram: a block's order as pieces of SVG that show an explorer's state, and whose parts press its controls.

Here lives what is drawn, from a line as `plusx.order` reads it. js/diagram.js lets the parts be pressed,
diagram.css says how they look; without the two it is a picture.

A value is off if it is False or 0, or if its label is off, none, no, identity, false or 0. Any other value is on. A
tied part is on where its control's value is on; if it names labels, where the control has one of them. Pressing a part
that is on sets its control to the first off value, or to the next value if none is off. Pressing one that is off sets
the first label that the part names, or the first on value. If a control has several on values, its part shows the
present one as its word.
"""

import html
from functools import cache
from numbers import Real
from typing import NamedTuple

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from ..order import Branch, Tie, parse
from .controls import Control, ExploreError

OFF = {"off", "none", "no", "identity", "false", "0"}
BENDING = {"activation", "relu", "gelu", "tanh", "sigmoid", "silu"}  # drawn round

# In pixels. Branches run at height TOP, the stream at WIRE; what can be pressed is 40 high around them.
HEIGHT, TOP, WIRE = 84, 22, 62
EDGE = 12  # from a piece's end to its first thing
LEAD = 14  # from the tap to the first box, and from the last to the plus
GAP = 8  # between boxes
RADIUS = 9  # of the plus
BOX = 28  # how high a box is
FONT = FontProperties(family="DejaVu Sans", size=13)  # about as wide as any that a system has for its interface


class _Switch(NamedTuple):
    """A tie and its control. For each value: is the piece `on`, and `to` which value does a press go, if to any."""

    at: int  # of the control
    control: str
    title: str
    labels: tuple[str, ...]
    named: tuple[str, ...]  # the labels that the tie names
    on: tuple[bool, ...]
    to: tuple[int | None, ...]
    role: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels to show in place of the word: none, if there is but one way to be on."""
        shown = tuple(label for label, on in zip(self.labels, self.on) if on)
        return shown if len(shown) > 1 and not self.named else ()


class _Piece(NamedTuple):
    parts: tuple[tuple[str, _Switch | None], ...]
    residual: bool
    branch: _Switch | None
    skip: _Switch | None

    @property
    def at(self) -> tuple[int, ...]:
        """Which controls it shows."""
        switches = [*(switch for _, switch in self.parts), self.branch, self.skip]
        return tuple(switch.at for switch in switches if switch)


def draw(line: str, controls: tuple[Control, ...], state: tuple[int, ...]) -> list[dict]:
    """The pieces of a line in a state, from the stream's entrance to its end: {"html": an SVG} each.

    A branch with its skip and plus is a piece, and so is each part on the stream. Pieces join where they stand side by
    side with their lower ends at one height, also those of several lines. A piece has the same elements in each state.

    ExploreError: naming line and word, where a line cannot be read or a tie has no such control or label.
    """
    facts = tuple((c.name, c.title, c.labels, tuple(map(_is_on, c.values, c.labels))) for c in controls)
    return [{"html": _svg(piece, tuple((at, state[at]) for at in piece.at))} for piece in _pieces(line, facts)]


def _is_on(value, label: str) -> bool:
    if isinstance(value, Real):  # a bool is one
        return value != 0
    return label.lower() not in OFF


@cache
def _pieces(line: str, facts: tuple) -> tuple[_Piece, ...]:
    """The pieces of a line, their ties looked up among the controls: (name, title, labels, whether on) each."""
    try:
        read = parse(line)
    except ValueError as error:
        raise ExploreError(f"explore: the diagram {line!r} cannot be read. {error}") from error

    def switch(tie: Tie | None, word: str) -> _Switch | None:
        return _switch(tie, word, line, facts) if tie else None

    def part(each) -> tuple[str, _Switch | None]:
        return each.name.replace("_", " "), switch(each.tie, f"{each.name}:")

    return tuple(
        _Piece(tuple(map(part, piece.parts)), True, switch(piece.tie, ""), switch(piece.skip, "]:"))
        if isinstance(piece, Branch)
        else _Piece((part(piece),), False, None, None)
        for piece in read
    )


def _switch(tie: Tie, word: str, line: str, facts: tuple) -> _Switch:
    names = [name for name, *_ in facts]
    where = f"explore: the diagram {line!r} has '{word}{tie.control}{'=' * bool(tie.labels)}{'|'.join(tie.labels)}'"
    if tie.control not in names:
        raise ExploreError(f"{where}, and no control is called '{tie.control}'. There are {', '.join(names)}.")
    at = names.index(tie.control)
    _, title, labels, values = facts[at]
    written = [label.replace(" ", "_") for label in labels]
    for label in tie.labels:
        if label.replace(" ", "_") not in written:
            raise ExploreError(f"{where}, and '{tie.control}' has no label '{label}'. It has {', '.join(written)}.")
    mine = [written.index(label) for label in tie.labels]
    on = tuple(index in mine for index in range(len(labels))) if mine else values
    others = [index for index in range(len(labels)) if not (on[index] and mine)]
    offs = [index for index in others if not values[index]]
    wanted = mine or [index for index in range(len(labels)) if values[index]]

    def press(index: int) -> int | None:
        following = [other for other in others if other > index] + [other for other in others if other < index]
        choice = (offs or following) if on[index] else wanted
        return choice[0] if choice else None

    role = "switch" if tie.labels or not all(values) else "button"
    named = tuple(labels[index] for index in mine)
    return _Switch(at, tie.control, title, labels, named, on, tuple(map(press, range(len(labels)))), role)


@cache
def _svg(piece: _Piece, state: tuple) -> str:
    """One piece. state: the value of each control that it shows, as (which control, which value)."""
    drawn, width, label = (_branch if piece.residual else _on_stream)(piece, dict(state))
    top = 0 if piece.residual else TOP + 16
    drawn += f'<path class="px-tip px-end" d="M{width} {WIRE - 5}v10l9-5z"/>'  # beyond the edge of the last piece
    return (
        f'<svg class="px-piece" role="img" aria-label="{html.escape(label)}" width="{width}" height="{HEIGHT - top}" '
        f'viewBox="0 {top} {width} {HEIGHT - top}">{drawn}</svg>'
    )


def _on_stream(piece: _Piece, values: dict[int, int]) -> tuple[str, int, str]:
    """Elements, width and words of a part on the stream. values: of the controls."""
    drawn, words, end = _parts(piece, values, EDGE, WIRE)
    width = end + EDGE
    return f'<path class="px-stream" d="M0 {WIRE}H{width}"/>{drawn}', width, f"on the stream: {words}"


def _branch(piece: _Piece, values: dict[int, int]) -> tuple[str, int, str]:
    """The same of a branch with its skip and plus."""
    drawn, words, end = _parts(piece, values, EDGE + LEAD, TOP)
    plus = end + LEAD + 2
    width = plus + RADIUS + EDGE
    is_there, is_joined = _is_there(piece.branch, values), _is_there(piece.skip, values)
    label = f"branch: {words}; added to the stream" if is_there else f"branch removed: {words}"
    end, middle = plus - RADIUS, (EDGE + plus - RADIUS) / 2
    skip = (  # its hit area, the line with its tip, and the cross where it is cut
        f'<rect class="px-hit" x="{EDGE + 4}" y="{WIRE - 19}" width="{end - EDGE - 4}" height="40" rx="6"/>'
        f'<path class="px-line" d="M{EDGE} {WIRE}H{end - 6}"/><path class="px-tip" d="M{end - 9} {WIRE - 6}v12l9-6z"/>'
        f'<path class="px-cut" d="M{middle - 6:g} {WIRE - 6}l12 12m0-12l-12 12"/>'
    )
    drawn = (
        f'<path class="px-stream" d="M0 {WIRE}H{EDGE}M{plus} {WIRE}H{width}"/>'
        f'<g class="px-branch" data-on="{str(is_there).lower()}">'
        f'<path class="px-wire" d="M{EDGE} {WIRE}V{TOP + 6}q0-6 6-6H{plus - 6}q6 0 6 6V{WIRE - RADIUS - 5}"/>'
        f'<path class="px-tip" d="M{plus - 4} {WIRE - RADIUS - 7}h8l-4 7z"/>{drawn}</g>'
        f"{_group('px-skip', piece.skip, values, 'skip', skip)}"
        f'<circle class="px-tap" cx="{EDGE}" cy="{WIRE}" r="3.5"/>'
        f'<circle class="px-plus" cx="{plus}" cy="{WIRE}" r="{RADIUS}"/>'
        f'<path class="px-cross" d="M{plus - 5} {WIRE}h10m-5-5v10"/>'
    )
    return drawn, width, label if is_joined else f"{label}; skip cut"


def _parts(piece: _Piece, values: dict[int, int], x: int, y: int) -> tuple[str, str, int]:
    """Boxes side by side from x on: the elements, their words, and where they end."""
    groups, common, words = [], [], []  # common: the boxes that press the branch
    for name, switch in piece.parts:
        choices = switch.choices if switch else ()
        width = max(30, *(_width(word) + 14 for word in choices or [name]))
        is_on, word = _is_there(switch or piece.branch, values), name
        if choices:
            word = switch.labels[values[switch.at]] if is_on else choices[0]
        box = _box(x, y, width, word, name)
        if switch or not piece.branch:
            groups.append(_group("px-part", switch, values, name, box))
        else:
            groups += [] if common else [""]  # the place of them all
            common.append(box)
        words.append(word if is_on else f"{word} off")
        x += width + GAP
    if common:
        groups[groups.index("")] = _group("px-part", piece.branch, values, "branch", "".join(common))
    return "".join(groups), ", ".join(words) or "nothing", x - GAP if words else x + 30


def _box(x: int, y: int, width: int, text: str, name: str) -> str:
    """A part: its hit area, its box, its word, and the line that runs through where the part is off."""
    top, rx = y - BOX // 2, BOX // 2 if name.lower() in BENDING else 4
    return (
        f'<rect class="px-hit" x="{x - GAP // 2}" y="{y - 20}" width="{width + GAP}" height="40" rx="{rx + GAP // 2}"/>'
        f'<rect class="px-box" x="{x}" y="{top}" width="{width}" height="{BOX}" rx="{rx}"/>'
        f'<text x="{x + width / 2:g}" y="{y + 4.5:g}">{html.escape(text)}</text>'
        f'<path class="px-strike" d="M{x} {y}h{width}"/>'
    )


def _group(kind: str, switch: _Switch | None, values: dict[int, int], word: str, drawn: str) -> str:
    """Elements that a press takes as one; a picture, where there is nothing to choose."""
    said = f'class="{kind}" data-on="{str(_is_there(switch, values)).lower()}"'
    if switch and switch.to[values[switch.at]] is not None:
        value = values[switch.at]
        said += f' data-set="{html.escape(switch.control)}" data-to="{switch.to[value]}"'
        said += f' data-role="{switch.role}" data-name="{html.escape(_named(switch, word, value))}"'
    return f"<g {said}>{drawn}</g>"


def _named(switch: _Switch, word: str, value: int) -> str:
    """What a screen reader calls a part: its control, and what it is there if that does not say it."""
    name = switch.title if word in switch.title else f"{switch.title}: {word}"
    if switch.role == "button":
        return f"{name}, {switch.labels[value]}; press for {switch.labels[switch.to[value]]}"
    if switch.named:
        return f"{name}, {' or '.join(switch.named)}"
    return f"{name}, {switch.labels[value]}" if switch.choices and switch.on[value] else name


def _is_there(switch: _Switch | None, values: dict[int, int]) -> bool:
    return switch is None or switch.on[values[switch.at]]


@cache
def _width(text: str) -> int:
    return round(text_to_path.get_text_width_height_descent(text, FONT, ismath=False)[0])
