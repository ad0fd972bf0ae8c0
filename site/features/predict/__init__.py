"""What a reader predicts: kept in the browser, shown at its question, and all of them as a table on the page that wants
it.

A prediction is a paragraph that begins with **Predict.**, and behind it choices, of which `data-right` marks those that
were measured, and `data-guessed` the one that a language model guessed, and how sure it was. predict.js shows of the
table what a reader has predicted.
"""

import os
import re
from pathlib import Path

# A question, its choices, and their name.
BOX = re.compile(
    r'<p>((?:(?!</p>).)*)</p>\s*<div class="px-choices">\s*(<details name="([\w-]+)".*?</details>)\s*</div>', re.S
)
CHOICE = re.compile(r'<details name="[\w-]+"( data-right)?[^>]*>\s*<summary>(.*?)</summary>', re.S)
PREDICT = "<strong>Predict.</strong>"
PLACE = re.compile(r'(?<=<div class="px-believed">)\s*<p>.*?</p>', re.S)
LINK = re.compile(r'<a class="reference internal" href="([^"#]+)"')
TITLE = re.compile(r'<h1[^>]*>((?:(?!</h1>).)*?)<a class="headerlink"', re.S)
TABLE = """
<table class="px-claims" hidden>
<thead><tr><th scope="col">question</th><th scope="col">I believed</th><th scope="col">measured</th></tr></thead>
<tbody>{rows}</tbody>
</table>
"""
ROW = """
<tr data-box="{name}" hidden><td><small><a href="{href}#{name}">{title}</a></small> {question}</td>
<td data-label="I believed">{choices}</td><td data-label="measured">{measured}</td></tr>"""


def tabulate(app, pages: dict[Path, str], outdir: Path) -> None:
    """Put the table where a page has the place for it, and name each box of choices, so that links lead there."""
    for path, html in pages.items():
        pages[path] = PLACE.sub(lambda empty, path=path: empty[0] + TABLE.format(rows=_rows(path, pages)), html)
    for path, html in pages.items():
        pages[path] = BOX.sub(lambda box: box[0].replace('"px-choices"', f'"px-choices" id="{box[3]}"'), html)


def _rows(place: Path, pages: dict[Path, str]) -> str:
    """A row for each prediction, in the order of the contents beside the page."""
    order = dict.fromkeys((place.parent / link).resolve() for link in LINK.findall(pages[place]))
    found = {path.resolve(): html for path, html in pages.items()}
    return "".join(
        _row(os.path.relpath(path, place.parent), TITLE.search(found[path])[1], box)
        for path in order
        for box in BOX.finditer(found.get(path, ""))
        if box[1].startswith(PREDICT)
    )


def _row(href: str, title: str, box: re.Match) -> str:
    words = CHOICE.findall(box[2])
    # A choice may give its reason after a colon, which no measurement settles.
    measured = "; ".join(text.split(": ")[0] for right, text in words if right)
    shown = "".join(f"<span hidden>{text}</span>" for _, text in words)
    question = box[1].removeprefix(PREDICT).strip()
    return ROW.format(name=box[3], href=href, title=title, question=question, choices=shown, measured=measured)


SCRIPTED, HEARS = re.compile('class="px-(choices|believed)"'), {"pages-written": tabulate}
