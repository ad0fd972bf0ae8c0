"""The Sphinx extension for where an explorer stands: wide, its controls beside its picture, or beside its text.

Only classes are added, which stage.css reads: the order of the page stays as it is for keyboards, screen readers,
paper and slides.
"""

from docutils import nodes

from plusx.markup import found

WIDE = "full-width"  # the theme folds the page's contents beside what has this class


def holds_explorer(node) -> bool:
    """Whether a node is a cell that shows an explorer."""
    if node.get("nb_element") != "cell_code":
        return False
    return any(found(raw.astext(), "explore") for raw in node.findall(nodes.raw))


def _place(app, doctree, docname):
    if app.builder.format != "html":
        return
    for cell in doctree.findall(nodes.container):
        if holds_explorer(cell):
            cell["classes"].append(WIDE)


def setup(app):
    app.connect("doctree-resolved", _place)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
