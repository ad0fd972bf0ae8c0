"""Chapters by their numbers, wherever a page names one: its heading, its window, the sidebar, previous and next; and at
a chapter's head, folded, what one can do after it.

A number is that of the chapter's file, and what a chapter asks and how long it takes is what its card on the first page
says: nothing is written twice.
"""

import re
from pathlib import Path

from pages import Edit, edit
from sphinx.errors import ExtensionError

CARD = re.compile(r'<li><p><a [^>]*href="chapters/(\d+-[^"]*)"[^>]*>.*?</a> · (\d+) min<br />\s*(.*?)</p>', re.S)
SIDEBAR = re.compile(r'(<li class="toctree-l1[^"]*"><a class="[^"]*" href="([^"]*)">)')
NEIGHBOUR = re.compile(
    r'(<a class="(?:left-prev|right-next)"\s+href="([^"]*)".*?<p class="prev-next-title">)(.*?</p>)', re.S
)
HEADING = r"(<section[^>]*>\s*<h1>)(.*?</h1>)"
GOALS = r"<p>((?:(?!</?p>).)*?)After this chapter you can</p>\s*(<([ou])l\b.*?</\3l>)"


def number_chapters(app, pages: dict, outdir: Path) -> None:
    """In the texts of all pages. ExtensionError: a chapter has no card, no place for its number, or no goals."""
    cards = {name: said for name, *said in CARD.findall(pages[outdir / "index.html"])}  # minutes and question

    def with_question(match):
        _, question = cards.get(match[2].rsplit("/", 1)[-1], ("", ""))
        asked = f'\n        <p class="px-asks">{question}</p>' if question else ""
        return f"{match[1]}{_number(match[2])}{match[3]}{asked}"

    for path, html in pages.items():
        own, number = path.name, _number(path.name)
        html = SIDEBAR.sub(lambda match, own=number: match[1] + (own if match[2] == "#" else _number(match[2])), html)
        html = NEIGHBOUR.sub(with_question, html)
        if number and path.parent.name == "chapters":
            if own not in cards:
                raise ExtensionError(f"numbering: index.md has no card of {own}, with its minutes and its question.")
            takes = f"{cards[own][0]} minutes, and as much again with the exercises"
            edits = [
                Edit("number in the window", "<title>", rf"\g<0>{number}"),
                Edit("number and minutes", HEADING, rf'\g<1>{number}\g<2>\n<p class="px-minutes">{takes}</p>'),
                Edit("goals folded", GOALS, _fold),
            ]
            html = edit(html, own, edits)
        else:
            html = re.sub(GOALS, _fold, html, flags=re.S)
        pages[path] = html


def _number(address) -> str:
    found = re.match(r"(\d+)-", address.rsplit("/", 1)[-1])
    return f"{int(found[1])}. " if found else ""


def _fold(goals) -> str:
    before = f"<p>{goals[1].strip()}</p>\n" if goals[1].strip() else ""
    summary = "<summary>After this chapter you can …</summary>"
    return f'{before}<details class="px-goals">{summary}\n{goals[2]}</details>'


HEARS = {"pages-mended": number_chapters}
