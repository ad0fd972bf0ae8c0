"""The Sphinx extension for where a chapter's explorers stand.

An explorer and the text that speaks of it become a stage and its script: stage.css lets the explorer stand beside the
text, and stage.js lets a paragraph set its state. Nothing is moved: keyboards, screen readers, paper and slides have
the order that the notebook has.
"""

import re
from itertools import takewhile

from docutils import nodes

from plusx.sphinx.markup import found as found_in

WORDS = 60  # that a text has at least, if its explorer is to stand beside it
TEXT = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list)
OPEN_OR_CLOSE = re.compile(r"<(/?)(?:div|details)\b")
WIDE = "full-width"  # the theme folds the page's contents beside what has this class


def holds_explorer(node, also_drawn=True) -> bool:
    """Whether a node is a cell that shows an explorer; also_drawn: or one that is drawn, over all the width."""
    if not isinstance(node, nodes.Element) or node.get("nb_element") != "cell_code":
        return False
    explorers = [each for raw in node.findall(nodes.raw) for each in found_in(raw.astext(), "explore")]
    return any(also_drawn or "data-drawn" not in each for each in explorers)


def _lead_in(section) -> None:
    """Wrap the first words of a page whose picture is drawn: side by side they leave room for it on a first screen."""
    first = next(filter(holds_explorer, section.children), None)
    if first is None or holds_explorer(first, False):
        return
    words = list(takewhile(lambda child: isinstance(child, TEXT), section.children[1:]))
    section.children[1 : 1 + len(words)] = []
    for setup in section.children[1 : section.index(first)]:
        setup["classes"].append("px-setup")  # known before the picture has come: what is hidden then would move it
    section.insert(1, nodes.container("", *words, classes=["px-lead", WIDE]))


def _put_on_stage(section) -> None:
    """Wrap each explorer of a section and the text that speaks of it, where there is enough."""
    children = section.children
    cells = [i for i, child in enumerate(children) if holds_explorer(child, False)]
    subsections = [i for i, child in enumerate(children) if isinstance(child, nodes.section)]
    end = min(subsections, default=len(children))
    asked = _predictions(children)
    for k, at in reversed(list(enumerate(cells))):
        since = cells[k - 1] + 1 if k else 1  # after the explorer before it, or the title
        between = [(first, last) for first, last in asked if since <= first < at]
        # What stands between two explorers speaks of the first, but a prediction is about the second.
        begin = between[-1][1] + 1 if between else at if k else since
        _wrap(section, begin, at, end)
        end = between[0][0] - 1 if between else at


def _wrap(section, begin: int, at: int, end: int) -> None:
    """Put the cell at `at` on a stage beside the children around it, from `begin` to before `end`."""
    stage = section.children[at]
    parts = section.children[begin:at], section.children[at + 1 : end]
    words = sum(len(child.astext().split()) for part in parts for child in part if isinstance(child, TEXT))
    if words < WORDS:
        return
    stage["classes"].append("px-stage")
    before, after = (nodes.container("", *part, classes=["px-words"]) for part in parts)
    section.children[begin:end] = []
    section.insert(begin, nodes.container("", before, stage, after, classes=["px-script"]))


def _predictions(children) -> list[tuple[int, int]]:
    """The first and last places of each prediction: raw nodes around the text of its options."""
    found, depth = [], 0
    for i, child in enumerate(children):
        tags = OPEN_OR_CLOSE.findall(child.astext()) if isinstance(child, nodes.raw) else []
        if tags and not depth:
            first = i
        depth += sum(-1 if closes else 1 for closes in tags)
        if tags and not depth:
            found.append((first, i))
    return found


def _place(app, doctree, docname):
    if app.builder.format != "html":
        return
    for cell in doctree.findall(nodes.container):
        if holds_explorer(cell):
            cell["classes"].append(WIDE)
    for section in list(doctree.findall(nodes.section)):
        if section.parent is doctree:
            _lead_in(section)
        _put_on_stage(section)


SCRIPTED, HEARS = re.compile('class="px-script'), {"doctree-resolved": _place}
