"""Markup: the tags by which a page's explorers and panels are known, written and read back in this one place.

It imports nothing of plusx: Sphinx's side needs these tags alone, and what draws explorers is slow to load.
"""

import html
import re
from collections.abc import Callable

OPENING = re.compile(r'<div class="plusx-(explore|playground|lanes|writer)"([^>]*)>')
ATTRIBUTE = re.compile(r' ([\w-]+)="([^"]*)"')
STATES = re.compile(r'<script type="text/plain" class="px-states">([^<]*)</script>')


def opening(kind: str, **attributes: str) -> str:
    """The tag that begins an explorer, "explore", or a panel, such as "lanes"; data_x is the attribute data-x."""
    written = "".join(f' {key.replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items())
    return f'<div class="plusx-{kind}"{written}>'


def states(payload: str) -> str:
    """The states of an explorer, or of a panel, as they stand in its page."""
    return f'<script type="text/plain" class="px-states">{payload}</script>'


def found(page: str, kind: str) -> list[dict[str, str]]:
    """The attributes of each explorer, or panel, of a page or a part of one."""
    return [_attributes(rest) for each, rest in OPENING.findall(page) if each == kind]


def equipped(page: str, kind: str, **attributes: str) -> str:
    """The page with more attributes at each tag of the kind."""

    def equip(tag: re.Match) -> str:
        return opening(kind, **_attributes(tag[2]), **attributes) if tag[1] == kind else tag[0]

    return OPENING.sub(equip, page)


def states_beside(page: str, put: Callable[[str, str], str]) -> str:
    """The page without its states. put: takes an id and its states, and returns the address where it has put them."""
    tags = [(tag.start(), _attributes(tag[2])) for tag in OPENING.finditer(page)]

    def move(states: re.Match) -> str:
        owner = next(attributes for start, attributes in reversed(tags) if start < states.start())
        source = html.escape(put(owner["id"], states[1]))
        return f'<script type="text/plain" class="px-states" data-src="{source}"></script>'

    return STATES.sub(move, page)


def _attributes(text: str) -> dict[str, str]:
    return {key: html.unescape(value) for key, value in ATTRIBUTE.findall(text)}
