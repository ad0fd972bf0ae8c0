"""The code a reader sees: named cells of a chapter, executed, so that tests test that and no copy."""

from types import SimpleNamespace

import nbformat
from browser import ROOT


def chapter_code(stem, *cells, **names):
    """What the cells of chapters/`stem`.ipynb with these ids define, run in the order given.

    names: what they expect to find, such as the imports of an earlier cell.

    LookupError: the chapter has no code cell of that id.
    """
    notebook = nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", as_version=4)
    sources = {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}
    namespace = {"__name__": stem, **names}
    for cell in cells:
        if cell not in sources:
            raise LookupError(
                f"chapter_code: {stem} has no code cell '{cell}'; it has {', '.join(sources)}. "
                "Was it renamed? Rename it in the test too."
            )
        exec(compile(sources[cell], f"{stem}:{cell}", "exec"), namespace)
    return SimpleNamespace(**namespace)
