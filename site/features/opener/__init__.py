"""What one can do after a chapter, folded at its head."""

import re
from pathlib import Path

from assets import carry, load
from sphinx.errors import ExtensionError

CHAPTER = re.compile(r"\d+-")
GOALS = re.compile(r"<p>((?:(?!</?p>).)*?)After this chapter you can</p>\s*(<([ou])l\b.*?</\3l>)", re.S)


def fold_goals(app, pages: dict, outdir: Path) -> None:
    """In the texts of all pages. ExtensionError: a chapter does not say what one can do after it."""
    for path, html in pages.items():
        if path.parent.name == "chapters" and CHAPTER.match(path.name):
            pages[path], folded = GOALS.subn(_fold, html, count=1)
            if not folded:
                raise ExtensionError(f"opener: {path.name} has no list after 'After this chapter you can'.")


def _fold(goals) -> str:
    before = f"<p>{goals[1].strip()}</p>\n" if goals[1].strip() else ""
    summary = "<summary>After this chapter you can …</summary>"
    return f'{before}<details class="px-goals">{summary}\n{goals[2]}</details>'


def setup(app):
    carry(app, Path(__file__).with_name("opener.css"))
    app.connect("builder-inited", lambda app: load(app, "opener.css"))
    app.connect("pages-mended", fold_goals)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
