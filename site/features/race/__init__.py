"""The first page's race: the lanes that a chapter opens where its argument turns on training, closed as there.

They stand below the first screens, so their script comes late, by race.js.
"""

import re
from pathlib import Path

from assets import carry, load
from sphinx.errors import ExtensionError

PLACE = '<div class="px-race"></div>'
CHAPTER = "chapters/05-degradation.html"
SCRIPT = re.compile(r'<script defer="defer" src="\.\./([^"]*/lanes\.js[^"]*)"')
RACE = re.compile(r'<div class="plusx-lanes".*?class="ln-setup">.*?</script>\s*</div>', re.S)


def bring(app, pages: dict, outdir: Path) -> None:
    """Into index.html where it wants it, from the chapter's page. ExtensionError: there is none."""
    index = outdir / "index.html"
    if PLACE not in pages.get(index, ""):
        return
    found = RACE.search(pages[outdir / CHAPTER])
    script = SCRIPT.search(pages[outdir / CHAPTER])
    if not found or not script:
        raise ExtensionError(f"race: {CHAPTER} has no lanes for index.html; name another chapter.")
    lanes = found[0].replace('data-src="../', 'data-src="')
    late = f'<div class="px-race" data-script="{script[1]}">\n{lanes}\n</div>'
    pages[index] = pages[index].replace(PLACE, late)


def _equip(app, pagename, templatename, context, doctree):
    """Give a page the looks of lanes, and what fetches their scripts."""
    if PLACE in (context.get("body") or ""):
        load(app, "explore.css", "diagram.css", "panel.css", "lanes.css", "race.js", priority=500)


def setup(app):
    carry(app, Path(__file__).with_name("race.js"))
    app.connect("html-page-context", _equip)
    app.connect("pages-mended", bring)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
