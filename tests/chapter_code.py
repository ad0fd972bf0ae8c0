"""The code a reader sees: named cells of a chapter, executed, so that tests test that and no copy; its outputs."""

import linecache
from types import SimpleNamespace

import nbformat
from browser import ROOT
from IPython import get_ipython
from IPython.core.inputtransformer2 import TransformerManager


def chapter_code(stem, *cells, **names):
    """What the cells of chapters/`stem`.ipynb with these ids define, run in the order given.

    names: what they expect to find, such as the imports of an earlier cell.

    LookupError: the chapter has no code cell of that id.
    """
    sources = code_of(stem)
    namespace = {"__name__": stem, "get_ipython": get_ipython, **names}
    for cell in cells:
        if cell not in sources:
            raise LookupError(
                f"chapter_code: {stem} has no code cell '{cell}'; it has {', '.join(sources)}. "
                "Was it renamed? Rename it in the test too."
            )
        name = f"{stem}:{cell}"
        python = TransformerManager().transform_cell(sources[cell])  # IPython's commands are none
        linecache.cache[name] = len(python), None, python.splitlines(True), name  # evidence looks its code up
        exec(compile(python, name, "exec"), namespace)
    return SimpleNamespace(**namespace)


def code_of(stem):
    """Source of each code cell of a chapter by its id."""
    cells = nbformat.read(ROOT / "chapters" / f"{stem}.ipynb", as_version=4).cells
    return {cell.id: cell.source for cell in cells if cell.cell_type == "code"}


def printed(cell):
    """What a cell of a notebook, read with nbformat or json, printed or showed as text."""
    told = (output["text"] if "text" in output else [*output["data"]["text/plain"], "\n"] for output in cell["outputs"])
    return "".join("".join(lines) for lines in told)


def playground_cells():
    """Chapter 16's playground without the searches before it, and so without its challenges."""
    cells = code_of("16-playground")
    nets = 'nets = {name: load(name) for name in ("characters", "sorting")}\nnet = nets["characters"]'
    off = cells["one-switch"].split("\n\n\ndef without_one")[0]
    return [cells["setup-torch"], nets, off, cells["presets"], "playground(nets, presets, [])"]
