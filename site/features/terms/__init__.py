"""Terms explained where they stand: into each page the glossary's words on the terms that it links to.

terms.js shows them beside a term that the mouse or the focus is on.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

ENTRY = re.compile(r"((?:<dt id=\"term-[^\"]*\">(?:(?!</dt>).)*</dt>\s*)+)<dd>(.*?)</dd>", re.S)
NAME = re.compile(r'<dt id="(term-[^"]*)">')
LINK = re.compile(r'href="[^"]*glossary\.html#(term-[^"]*)"')
TAGS = re.compile(r'</?(?:a|p)\b[^>]*>|\s(?:id|tabindex)="[^"]*"')


def explain(app, pages: dict, outdir: Path) -> None:
    """In the texts of all pages. ExtensionError: a page links to a term that the glossary does not have."""
    said = {
        name: TAGS.sub("", words).strip()
        for names, words in ENTRY.findall(pages.get(outdir / "chapters" / "glossary.html", ""))
        for name in NAME.findall(names)
    }
    for path, html in pages.items():
        terms = sorted({*LINK.findall(html)})
        if unknown := [term for term in terms if term not in said]:
            raise ExtensionError(f"terms: {path.name} links to {', '.join(unknown)}, which the glossary does not have.")
        if terms and path.name != "glossary.html":
            kept = "".join(f'<div data-term="{term}">{said[term]}</div>' for term in terms)
            pages[path] = html.replace("</article>", f'</article>\n<template id="px-terms">{kept}</template>', 1)


SCRIPTED, HEARS = LINK, {"pages-mended": explain}
