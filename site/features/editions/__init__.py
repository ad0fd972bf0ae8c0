"""The Sphinx extension for a class's editions of the site. The environment's PLUSX_EDITION names the side of the room:
`student` without the solutions, `teacher` with the solutions open.

A student's edition holds no word of a solution. sphinx-exercise keeps them out of what Sphinx writes: pages, the index
of the search, the inventory of link targets. The sources beside the pages are copies of files, and are cut here.
"""

import os
import re
from pathlib import Path

import nbformat
from sphinx.errors import ExtensionError
from sphinx_exercise.nodes import solution_node

EDITIONS = ("student", "teacher")
SOLUTION = re.compile(r"^(?P<fence>`{3,}|:{3,})\{solution\}.*?^(?P=fence)[ \t]*$\n*", re.M | re.S)


def _open_solutions(app, doctree):
    for solution in doctree.findall(solution_node):
        solution["classes"].append("toggle-shown")


def _cut_sources(app, exception):
    """Take the solutions out of the copied notebooks; no other page has any."""
    for path in () if exception else sorted(Path(app.outdir, "_sources").rglob("*")):
        if path.suffix == ".ipynb":
            notebook = nbformat.read(path, as_version=4)
            for cell in notebook.cells:
                cell.source = SOLUTION.sub("", cell.source)
            nbformat.write(notebook, path)
        if path.is_file() and "{solution" in path.read_text(encoding="utf8"):
            raise ExtensionError(f"editions: {path.name} has a solution written in a way that is not known here.")


def setup(app):
    edition = os.environ.get("PLUSX_EDITION", "")
    if edition not in ("", *EDITIONS):
        raise ExtensionError(f"editions: PLUSX_EDITION is {edition!r}, expected one of {', '.join(EDITIONS)}.")
    if edition == "student":
        app.connect("config-inited", lambda app, config: setattr(config, "hide_solutions", True))
        app.connect("build-finished", _cut_sources)  # before book.py lists and hashes all files
    elif edition == "teacher":
        app.connect("doctree-read", _open_solutions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
