"""The Sphinx extension for what of a chapter is in sight: where its explorers stand, and which code carries an idea.

Only classes are added, which stylesheets and pages.py read: the order of the page stays as it is for keyboards, screen
readers, paper and slides.
"""

import re

import nbformat
from docutils import nodes

from plusx.markup import found

IDEA = 15  # lines that code may have to stay open in Read, where no cell is called an idea
WIDE = "full-width"  # the theme folds the page's contents beside what has this class


def holds_explorer(node) -> bool:
    """Whether a node is a cell that shows an explorer."""
    if node.get("nb_element") != "cell_code":
        return False
    return any(found(raw.astext(), "explore") for raw in node.findall(nodes.raw))


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


def _place(app, doctree, docname):
    source = app.env.doc2path(docname)
    if app.builder.format != "html" or not source.endswith(".ipynb"):
        return
    open_cells = ideas(nbformat.read(source, as_version=4))
    for cell in doctree.findall(nodes.container):
        if holds_explorer(cell):
            cell["classes"].append(WIDE)
        if cell.get("nb_element") == "cell_code" and cell["cell_index"] in open_cells:
            cell["classes"].append("px-idea")


def setup(app):
    app.connect("doctree-resolved", _place)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
