"""Read, the default, folds a chapter's code, what it measured and its lab notes; Lab has all of it open.

What stands under the heading "Lab notes" is a list of titles in Read, each of which opens its note; a link of the class
`px-evidence` opens one right where it is read, in a sheet. A switch above each page with code, remembered.
reading-early.js and coming.js stand in the page's head: it knows before it is drawn what is folded, and what is laid
out later.
"""

import re
from pathlib import Path

from assets import button, load
from docutils import nodes
from pages import Edit, edit

HERE = Path(__file__).parent
OPEN_CELL = r'<div class="cell ((?![^"]*tag_hide-)[^"]*)">'  # one that no tag folds


def _foldable(cell: re.Match) -> str:
    """A cell that *Read* folds behind a badge, unless its code carries an idea (stage)."""
    classes, lines = cell[1], int(cell[3])
    if "px-idea" in classes:
        return f'<div class="cell px-open {classes}">\n{cell[2]}'
    what = "measured" if "tag_nbval-check-output" in classes else f"code, {lines} line{'s' if lines > 1 else ''}"
    badge = f'<button type="button" class="px-badge" aria-expanded="false">{what}</button>'
    return f'<div class="cell px-fold {classes}">\n{badge}\n{cell[2]}'


FOLDS = Edit(
    "cells that Read folds",
    OPEN_CELL.replace("cell (", "cell (?!px-open|px-fold)(")
    + r'\s*(<div class="cell_input\b.*?<pre[^>]*--lines:(\d+)">)',
    _foldable,
    times=lambda html: len(re.findall(OPEN_CELL, html)),
)


def fold(app, pages: dict, outdir: Path) -> None:
    """Every cell with code, in the texts of all pages."""
    for path, html in pages.items():
        pages[path] = edit(html, path.name, [FOLDS])


def _find_notes(app, doctree, docname):
    for section in doctree.findall(nodes.section):
        if "lab-notes" in section["ids"]:
            section["classes"].append("px-notes")


def _equip(app, pagename, templatename, context, doctree):
    if 'class="cell_input' not in (context.get("body") or ""):
        return
    for name in ("reading-early.js", "coming.js"):
        app.add_js_file(None, body=(HERE / name).read_text(encoding="utf8"))
    load(app, "reading.js")
    tooltip = "Lab: all code and measurements open"
    context["header_buttons"].append(button("reading", "fa-flask", "plusx.reading()", tooltip))


HEARS = {"doctree-resolved": _find_notes, "html-page-context": _equip, "pages-written": fold}
