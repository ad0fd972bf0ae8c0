"""What the search lists while one types: the glossary's terms, and every section with its chapter and first words.

It is a script, which works from disk, too; finding.js loads it when somebody begins to search.
"""

import json
import re
from html import unescape
from pathlib import Path

WORDS = 300  # letters of a section
SECTION = re.compile(r'<section[^>]* id="([^"]+)">\s*(?:<span id="[^"]*"></span>\s*)*<h[1-3]>(.*?)</h[1-3]>', re.S)
TERM = re.compile(r'<dt id="(term-[^"]*)">(.*?)</dt>(?:\s*<dt.*?</dt>)*\s*<dd>(.*?)</dd>', re.S)
# Not what one looks for, or not words.
UNSAID = re.compile(
    r"<(script|style|template|svg|mjx-math|pre|form|table|noscript)\b.*?</\1>|<a class=\"headerlink\".*?</a>"
    r"|<p class=\"px-(?:minutes|alone)\".*?</p>",
    re.S,
)


def written(html: str) -> str:
    """The words of some HTML."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", UNSAID.sub(" ", html))).split())


def index_sections(app, pages: dict, outdir: Path) -> None:
    """Write _static/plusx/sections.js: (address, whether it is a term, title, chapter, first words) of all."""
    found = []
    for path, html in sorted(pages.items()):
        address = path.relative_to(outdir).as_posix()
        article = html.partition("<article")[2].partition("</article>")[0]
        if path.name == "glossary.html":
            found += [
                (f"{address}#{name}", 1, written(title), "Glossary", written(said)[:WORDS])
                for name, title, said in TERM.findall(article)
            ]
            continue
        _, *parts = SECTION.split(article)  # of each section its id, its title and what it says
        for name, title, said in zip(parts[::3], parts[1::3], parts[2::3]):
            found.append((f"{address}#{name}", 0, written(title), written(parts[1]), written(said)[:WORDS]))
    script = f"(globalThis.plusx ??= {{}}).sections = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"
    (outdir / "_static" / "plusx" / "sections.js").write_text(script, encoding="utf8")


SCRIPTED, HEARS = re.compile(""), {"pages-mended": index_sections}  # on every page
