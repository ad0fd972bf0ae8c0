"""The Sphinx extension for what of a chapter is in sight: where its explorers stand, and which code carries an idea.

A section with one explorer and text after it becomes a script and its stage: stage.css lets the explorer stand beside
the text, and stage.js lets a paragraph set its state. Nothing is moved: keyboards, screen readers, paper and slides have
the order that the notebook has.
"""

import re

import nbformat
from docutils import nodes

from plusx.markup import found

WORDS = 60  # that text after an explorer has at least, if it is to stand beside it
TEXT = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list)
OPEN_OR_CLOSE = re.compile(r"<(/?)(?:div|details)\b")
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


def _put_on_stage(section) -> None:
    """Wrap a section's only explorer and the text that speaks of it.

    That text begins after the last prediction, which the picture would give away, and ends where a subsection begins.
    """
    cells = [i for i, child in enumerate(section.children) if isinstance(child, nodes.Element) and holds_explorer(child)]
    if len(cells) != 1:
        return
    at = cells[0]
    ends = [i for i, child in enumerate(section.children) if i > at and isinstance(child, nodes.section)]
    end = min(ends, default=len(section.children))
    begin = _end_of_predictions(section.children[:at])
    after = section.children[at + 1 : end]
    if sum(len(child.astext().split()) for child in after if isinstance(child, TEXT)) < WORDS:
        return
    stage = section.children[at]
    stage["classes"].append("px-stage")
    words = [nodes.container("", *part, classes=["px-words"]) for part in (section.children[begin:at], after)]
    section.children[begin:end] = []
    section.insert(begin, nodes.container("", words[0], stage, words[1], classes=["px-script"]))


def _end_of_predictions(children) -> int:
    """Where the text after the last prediction begins, or that after the title. A prediction is several raw nodes."""
    depth, begin = 0, 1
    for i, child in enumerate(children):
        if not isinstance(child, nodes.raw):
            continue
        tags = OPEN_OR_CLOSE.findall(child.astext())
        depth += sum(-1 if closes else 1 for closes in tags)
        if tags and not depth:
            begin = i + 1
    return begin


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
    sections = list(doctree.findall(nodes.section))
    for section in sections:
        _put_on_stage(section)


def _equip(app, pagename, templatename, context, doctree):
    if 'class="px-script' in (context.get("body") or ""):
        app.add_js_file("plusx/stage.js", defer="defer")


def setup(app):
    app.connect("doctree-resolved", _place)
    app.connect("html-page-context", _equip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
