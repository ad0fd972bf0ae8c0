"""Chapters by their numbers, wherever a page names one: its heading, its window, the sidebar, previous and next.

A number is that of the chapter's file, and what a chapter asks and how long it takes is what its card on the first page
says: nothing is written twice.
"""

import re
from pathlib import Path
from typing import NamedTuple

from sphinx.errors import ExtensionError

CARD = re.compile(r'<li><p><a [^>]*href="chapters/(\d+-[^"]*)"[^>]*>.*?</a> · (\d+) min<br />\s*(.*?)</p>', re.S)
SIDEBAR = re.compile(r'(<li class="toctree-l1[^"]*"><a class="[^"]*" href="([^"]*)">)')
HEADING = re.compile(r"(<section[^>]*>\s*<h1>)(.*?</h1>)", re.S)
WINDOW = re.compile(r"(<title>)")
NEIGHBOUR = re.compile(
    r'(<a class="(?:left-prev|right-next)"\s+href="([^"]*)".*?<p class="prev-next-title">)(.*?</p>)', re.S
)


class Card(NamedTuple):
    minutes: str
    question: str


def number_chapters(app, pages: dict, outdir: Path) -> None:
    """In the texts of all pages. ExtensionError: a chapter has no card, or a page no place for its number."""
    cards = {name: Card(*said) for name, *said in CARD.findall(pages[outdir / "index.html"])}
    for path, html in pages.items():
        own = path.name

        def number(address, own=own):
            found = re.match(r"(\d+)-", (own if address == "#" else address).rsplit("/", 1)[-1])
            return f"{int(found[1])}. " if found else ""

        def with_question(match, number=number):
            card = cards.get(match[2].rsplit("/", 1)[-1])
            asked = f'\n        <p class="px-asks">{card.question}</p>' if card else ""
            return f"{match[1]}{number(match[2])}{match[3]}{asked}"

        html = SIDEBAR.sub(lambda match: match[1] + number(match[2]), html)
        html = NEIGHBOUR.sub(with_question, html)
        if number("#") and path.parent.name == "chapters":
            if own not in cards:
                raise ExtensionError(f"numbering: index.md has no card of {own}, with its minutes and its question.")
            takes = f"{cards[own].minutes} minutes, and as much again with the exercises"
            minutes = f'\n<p class="px-minutes">{takes}</p>'
            for place, put in [
                (WINDOW, rf"\g<1>{number('#')}"),
                (HEADING, rf"\g<1>{number('#')}\g<2>{minutes}"),
            ]:
                html, found = place.subn(put, html, count=1)
                if not found:
                    raise ExtensionError(f"numbering: {own} has no {place.pattern} for its number.")
        pages[path] = html


def setup(app):
    app.connect("pages-mended", number_chapters)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
