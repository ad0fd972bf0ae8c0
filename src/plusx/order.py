"""A block's order in one line: words are its parts in sequence, [brackets] are a residual branch.

What a branch holds is added to what entered it: "[norm attention] [norm linear relu linear]".
Here lives the notation alone. What a word makes is in `plusx.nets.resnet` and `plusx.nets.transformer`.

For a drawing, a colon ties a piece to a control of an explorer:

    norm:normalise          the part follows the control
    norm:place=pre          it is on where the control says so; "pre|both" names two labels,
                            and _ stands for a blank in a label
    [norm linear]:skip      the skip around the branch
    block_1:[norm linear]   the branch itself; in it, words without a control of their own press this one
"""

import re
from typing import NamedTuple


class Tie(NamedTuple):
    """The control that a piece follows; labels: where it is on, none for wherever the control is."""

    control: str
    labels: tuple[str, ...] = ()


class Part(NamedTuple):
    name: str
    tie: Tie | None


class Branch(NamedTuple):
    """parts: what it holds. tie: of the branch itself. skip: of the skip around it."""

    parts: tuple[Part, ...]
    tie: Tie | None
    skip: Tie | None


def parse(line: str) -> list[Part | Branch]:
    """The pieces of a line in sequence.

    ValueError: brackets that do not pair or are nested, a tie without a name.
    """
    pieces, branch, before = [], None, None
    for token in re.findall(r"[^][\s]*:\[|\[|\](?::[^][\s]*)?|[^][\s]+", line):
        opens, closes = token.endswith("["), token.startswith("]")
        if opens and branch is not None or closes and branch is None:
            raise ValueError(f"order: unbalanced or nested brackets in {line!r}.")
        if opens:
            branch, before = [], _tie(token[:-2], token, line) if token != "[" else None
        elif closes:
            pieces.append(Branch(tuple(branch), before, _tie(token[2:], token, line) if token != "]" else None))
            branch = None
        else:
            name, colon, rest = token.partition(":")
            if not name:
                raise ValueError(f"order: {token!r} in {line!r} ties no part. Write part:control, as in norm:norm.")
            part = Part(name, _tie(rest, token, line) if colon else None)
            (pieces if branch is None else branch).append(part)
    if branch is not None:
        raise ValueError(f"order: unbalanced or nested brackets in {line!r}.")
    return pieces


def _tie(text: str, token: str, line: str) -> Tie:
    control, equals, labels = text.partition("=")
    tie = Tie(control, tuple(labels.split("|")) if equals else ())
    if not control or not all(tie.labels):
        raise ValueError(f"order: {token!r} in {line!r} lacks a name. Write :control or :control=label|label.")
    return tie


def runs(line: str) -> list[tuple[tuple[str, ...], bool]]:
    """The names of a line as runs of neighbours, each with whether it is a residual branch.

    ValueError: as `parse`, or a tie, which only a drawing can follow.
    """
    if ":" in line:
        raise ValueError(f"order: {line!r} ties parts to controls. A net takes the line without colons.")
    found: list[tuple[tuple[str, ...], bool]] = []
    for piece in parse(line):
        if isinstance(piece, Branch):
            found.append((tuple(part.name for part in piece.parts), True))
        elif found and not found[-1][1]:
            found[-1] = (*found[-1][0], piece.name), False
        else:
            found.append(((piece.name,), False))
    return found
