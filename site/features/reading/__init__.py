"""Read, the default, folds a chapter's code, what it measured and its lab notes; Lab has all of it open.

What stands under the heading "Lab notes" is a list of titles in Read, each of which opens its note; a link of the class
`px-evidence` opens one right where it is read, in a sheet. A switch above each page with code, remembered.
reading-early.js and coming.js stand in the page's head: it knows before it is drawn what is folded, and what is laid
out later.
"""

import re
from pathlib import Path

import nbformat
from assets import button, load
from docutils import nodes

from plusx.sphinx.markup import OPENING

HERE = Path(__file__).parent
IDEA = 15  # lines that code may have to stay open, where no cell is called an idea


def ideas(notebook) -> set[int]:
    """The places of the cells whose code carries an idea.

    Their ids begin with "idea"; in a notebook without such, they are short definitions that measure nothing.
    """
    code = {i: cell for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"}
    called = {i for i, cell in code.items() if cell.id.startswith("idea")}
    return called or {i for i, cell in code.items() if _defines(cell)}


def _defines(cell) -> bool:
    short = len(cell.source.splitlines()) <= IDEA and "@evidence" not in cell.source
    return short and bool(re.search(r"^(class|def) ", cell.source, re.M)) and not cell.metadata.get("tags")


def _fold(app, doctree, docname):
    """Code behind a badge, unless its cell is folded by a tag or carries an idea; and the section of the lab notes."""
    for section in doctree.findall(nodes.section):
        if "lab-notes" in section["ids"]:
            section["classes"].append("px-notes")
    source = app.env.doc2path(docname)
    if not source.endswith(".ipynb"):
        return
    open_cells = ideas(nbformat.read(source, as_version=4))
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code":
            continue
        tags = " ".join(cell["classes"])
        if "tag_hide-" not in tags and cell["cell_index"] not in open_cells:
            lines = len(cell.children[0].astext().rstrip("\n").split("\n"))
            what = "measured" if "tag_nbval-check-output" in tags else f"code, {lines} line{'s' if lines > 1 else ''}"
            badge = f'<button type="button" class="px-badge" aria-expanded="false">{what}</button>'
            cell["classes"].insert(1, "px-fold")
            cell.insert(0, nodes.raw("", f"{badge}\n", format="html"))
        if any(OPENING.search(raw.astext()) for raw in cell.findall(nodes.raw)):  # a picture comes before its code
            cell.children.sort(key=lambda child: child.get("nb_element") != "cell_code_output")


def _equip(app, pagename, templatename, context, doctree):
    if 'class="cell_input' not in (context.get("body") or ""):
        return
    for name in ("reading-early.js", "coming.js"):
        app.add_js_file(None, body=(HERE / name).read_text(encoding="utf8"))
    load(app, "reading.js")
    tooltip = "Lab: all code and measurements open"
    context["header_buttons"].append(button("reading", "fa-flask", "plusx.reading()", tooltip))


HEARS = {"doctree-resolved": _fold, "html-page-context": _equip}
