"""The first page's essay: pictures of chapters stay in sight while the text beside them scrolls past and sets them.

A step is `<div class="px-scene" data-from="chapters/PAGE.html#EXPLORER">` around paragraphs. A link in a paragraph to a
state of that explorer sets it, as one comes to read it (essay.js) or at a press. The race is that of a chapter, closed
as there; its script comes late (race.js). The writer is a chapter's, with what was kept of attention's skips and
branches, and no more.
"""

import json
import re
from pathlib import Path

from assets import load
from sphinx.errors import ExtensionError

STEP = re.compile(r'<div class="px-scene" data-from="([^"#]+)#(\w+)">')
PLACE = '<div class="px-race"></div>'
CHAPTER = "chapters/05-degradation.html"
SCRIPT = re.compile(r'<script defer="defer" src="\.\./([^"]*/lanes\.js[^"]*)"')
RACE = re.compile(r'<div class="plusx-lanes".*?class="pn-setup">.*?</script>\s*</div>', re.S)
HERO = '<div class="px-hero"></div>'
WRITERS = "chapters/a-real-language-model.html"
WRITER = re.compile(r'<div class="plusx-writer".*?class="pn-setup">([^<]*)</script>\s*</div>', re.S)
# What wants a model, and the FFN's additions.
ASKS = re.compile(
    r' data-files="[^"]*"|<form.*?</form>\n|<div class="wr-wire"><span class="wr-part">FFN.*?</div></div>\n', re.S
)
TABLE = re.compile(r"<table.*?</table>", re.S)  # of the data: explore.js writes it anew when it is opened


def bring(app, pages: dict, outdir: Path) -> None:
    """Each step's picture from its chapter's page, without a drawing of its own, the race and the writer.

    ExtensionError: there is none.
    """
    index = outdir / "index.html"
    if PLACE in pages.get(index, ""):
        found, script = (each.search(pages[outdir / CHAPTER]) for each in (RACE, SCRIPT))
        if not found or not script:
            raise ExtensionError(f"essay: {CHAPTER} has no lanes for index.html; name another chapter.")
        race = found[0].replace('data-src="../', 'data-src="')
        late = f'<div class="px-race" data-script="{script[1]}">\n{race}\n</div>'
        pages[index] = pages[index].replace(PLACE, late)
    if HERO in pages.get(index, ""):
        if not (found := WRITER.search(pages[outdir / WRITERS])):
            raise ExtensionError(f"essay: {WRITERS} has no writer for index.html; name another chapter.")
        told = json.loads(found[1])
        told["texts"] = {cut: text for cut, text in told["texts"].items() if not cut.startswith("FFN")}
        setup = json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")
        pages[index] = pages[index].replace(HERO, ASKS.sub("", found[0].replace(found[1], setup)))
    if not STEP.search(pages.get(index, "")):
        return

    def with_picture(step):
        page, name = step.groups()
        explorer = rf'<div class="plusx-explore" id="explore-{name}".*?class="px-states"[^>]*></script>\s*</div>'
        found = re.search(explorer, pages.get(outdir / page, ""), re.S)
        if not found or "data-drawn" not in found[0][:200]:
            raise ExtensionError(f"essay: {page} has no drawn explorer {name} for index.html.")
        borrowed = TABLE.sub("", found[0]).replace('data-src="../', 'data-src="')
        return f'{step[0]}\n<div class="px-beside">{borrowed}</div>\n'

    # Not by :has, which holds once the first step has come: what stands above it would move.
    pages[index] = STEP.sub(with_picture, pages[index]).replace("<body ", "<body data-essay ", 1)


def _equip(app, pagename, templatename, context, doctree):
    body = context.get("body") or ""
    if STEP.search(body):
        load(app, "explore.js", "essay.js")
    load(app, *(script for place, script in ((PLACE, "race.js"), (HERO, "writer.js")) if place in body))


CARRIED = [Path(__file__).with_name("race.js")]
HEARS = {"html-page-context": _equip, "pages-mended": bring}
