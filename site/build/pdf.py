"""The whole book as one PDF: _build/plusx.pdf from the site in _build/html, or of another edition of it.

The pages become one document of print, in the order of the table of contents, with the pictures that the build drew
of each explorer, solutions at the end of their chapter, and links that lead from page to page.
"""

import argparse
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup
from chromium import chromium
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
# Scripts, what only a screen can use, and folded code that draws.
SCREEN_ONLY = (
    "script, noscript, .headerlink, .px-actions, .px-data, .px-narrow, .px-plot, .pn-stage,"
    ".tag_hide-input > details, .px-mathml"
)
# As in book.css, but paper waits for it.
TYPE = """
@font-face {{ font-family: "Source Sans"; font-weight: 200 900; src: url({folder}/source-sans.woff2); }}
@font-face {{ font-family: "Source Serif"; font-weight: 600; src: url({folder}/source-serif.woff2); }}
"""
STYLE = """
@page { size: A4; margin: 20mm 18mm 20mm; @bottom-center { content: counter(page); font: 9pt sans-serif; } }
@page :first { @bottom-center { content: none; } }
html { font-size: 10.5pt; scroll-padding: 0; }
body { margin: 0; background: #fff; display: block; }
.bd-article { padding: 0; break-before: page; line-height: 1.45; }
.bd-article h1 { margin: 0 0 1rem; }
.bd-article :is(h1, h2, h3) { break-after: avoid; }
.bd-article :is(.admonition-title, .px-result, .px-legend) { break-after: avoid; }
.bd-article p { orphans: 2; widows: 2; }
.bd-article pre { font-size: 8pt; content-visibility: visible; white-space: pre-wrap; overflow: visible; }
.bd-article :is(pre, tr, .px-choices > details, .cell_output) { break-inside: avoid; }
.bd-article pre.long, .bd-article .cell_output:has(table, pre.long) { break-inside: auto; }
.bd-article .pst-scrollable-table-container { overflow: visible; }
.bd-article table { width: 100%; font-size: 9pt; }
.bd-article mjx-container[display] { overflow: visible; }
.bd-article .plusx-explore { font-size: 0.9rem; }
.px-choices summary { min-height: 0; padding: 0.3rem 0.8rem; }
.title-page { height: 240mm; display: flex; flex-direction: column; justify-content: center; break-after: page; }
.title-page h1 { font-size: 44pt; margin: 0 0 1rem; }
.contents ol { list-style: none; margin: 0; padding: 0; }
.contents li { display: flex; gap: 0.5rem; line-height: 1.9; }
.contents li span.dots { flex: 1; border-bottom: 1px dotted; margin-bottom: 0.45rem; }
.contents a { color: inherit; text-decoration: none; }
"""


def toc(index: BeautifulSoup) -> list[tuple[str | None, str, str]]:
    """(part, or None before the first; file; title) of each page, in order."""
    entries, part = [(None, "index.html", "About this book")], None
    for tag in index.select(".bd-docs-nav :is(.caption-text, ul:not(.bd-sidenav__home-link) a)"):
        if tag.name == "a":
            entries.append((part, tag["href"], tag.get_text(" ", strip=True)))
        else:
            part = tag.get_text()
    return entries


def name_of(file: str) -> str:
    return Path(file).stem


def article(site: Path, file: str, files: set[str]) -> BeautifulSoup:
    """A page's article, fit for paper; its links lead within the document where they can."""
    soup = BeautifulSoup((site / file).read_text(encoding="utf8"), "html.parser")
    found = soup.select_one("article.bd-article")
    for tag in found.select(SCREEN_ONLY):
        tag.decompose()
    name = name_of(file)
    for tag in found.find_all(id=True):
        if not tag.find_parent("svg") and tag.name != "svg":
            tag["id"] = f"{name}--{tag['id']}"
    found["id"] = name
    for link in found.find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = urljoin(file, unquote(address.path)) if address.path else file
        if target not in files:
            del link["href"]
            continue
        fragment = unquote(address.fragment).split("=")[0]
        if "?" in fragment:  # a state of an explorer
            fragment = f"explore-{fragment.split('?')[0]}"
        link["href"] = f"#{name_of(target)}" + (f"--{fragment}" if fragment and fragment != "slides" else "")
    for table in found.select(".pg-table, .ln-closed"):  # all that paper can show of a panel
        table["open"] = ""
    for image in found.find_all("img", src=True):
        image["src"] = (site / file).parent.joinpath(unquote(image["src"])).resolve().as_uri()
    for fieldset in found.select("fieldset[disabled]"):
        del fieldset["disabled"]
    for goals in found.select(".px-goals"):
        goals["open"] = ""
    for block in found.find_all("pre"):
        if len(block.get_text().splitlines()) > 45:
            block["class"] = [*block.get("class", []), "long"]
    append_answers(soup, found, name)
    return found


def append_answers(soup: BeautifulSoup, found, name: str) -> None:
    """What is folded on a screen, at the end: solutions, and the right options of the questions that have one."""
    solutions = found.select("div.solution")
    answers = []
    for choices in found.select(".px-choices"):
        for option in choices.find_all("details", recursive=False):
            summary = option.summary.extract()
            if option.get_text(strip=True).startswith("Right"):
                question = choices.find_previous_sibling("p")
                answers.append(
                    (question.get_text(" ", strip=True), summary.decode_contents(), option.decode_contents())
                )
            option.clear()
            option.append(summary)
    if not solutions and not answers:
        return
    section = soup.new_tag("section", id=f"{name}--solutions")
    heading = soup.new_tag("h2")
    heading.string = "Solutions" if solutions else "Answers"
    section.append(heading)
    for solution in solutions:
        section.append(solution.extract())
    for question, option, text in answers:
        number = re.match(r"\d+\.", question)
        label = f"Self-check {number[0]}" if number else question
        section.append(BeautifulSoup(f"<p><strong>{label}</strong> <em>{option.strip()}</em></p>{text}", "html.parser"))
    found.append(section)


def document(site: Path, numbers: dict[str, int]) -> str:
    """The HTML of the whole book. numbers: the page on which each file begins, as far as that is known."""
    entries = toc(BeautifulSoup((site / "index.html").read_text(encoding="utf8"), "html.parser"))
    files = {file for _, file, _ in entries}
    parts, lines, last = [], [], None
    for part, file, title in entries:
        if part != last:
            lines.append(f"<h2>{part}</h2>")
            last = part
        number = numbers.get(name_of(file), "000")
        lines.append(
            f'<ol><li><a href="#{name_of(file)}">{title}</a><span class="dots"></span><span>{number}</span></li></ol>'
        )
        parts.append(str(article(site, file, files)))
    folder = (site / "_static" / "plusx").as_uri()
    looks = f'<link rel="stylesheet" href="{folder}/site.css"><style>{TYPE.format(folder=folder)}{STYLE}</style>'
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>Plus x</title>'
        f"{looks}</head><body>"
        '<div class="title-page"><h1>Plus x</h1><p>An interactive book on residual connections, on paper: each explorer'
        " as a picture of the state it starts in.</p><p>The Plus x authors</p>"
        "<p>Text and figures: CC BY 4.0. Code: MIT.</p></div>"
        f'<article class="bd-article contents" id="contents"><h1>Contents</h1>{"".join(lines)}</article>'
        f"{''.join(parts)}</body></html>"
    )


def starts(pdf: bytes) -> dict[str, int]:
    """The number of the page that each link leads to. Chromium writes these objects as plain text."""
    order = re.findall(rb"(\d+) 0 obj\s*<<[^<]*?/Type\s*/Page\b(?!s)", pdf)
    at = {number: i for i, number in enumerate(order, 1)}
    found = re.findall(rb"/([^\s/\[\]<>()]+)\s*\[(\d+) 0 R\s*/XYZ", pdf)
    return {
        re.sub(r"#([0-9A-Fa-f]{2})", lambda c: chr(int(c[1], 16)), key.decode()): at[n] for key, n in found if n in at
    }


def write(site: Path, out: Path) -> int:
    """Print the site; returns how many pages there are. The first run finds the numbers for the contents."""
    numbers = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        for _ in range(2):
            source = Path(folder, "book.html")
            source.write_text(document(site, numbers), encoding="utf8")
            page.goto(source.as_uri())
            page.evaluate("document.fonts.ready")
            pdf = page.pdf(prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
            numbers = starts(pdf)
        browser.close()
    out.write_bytes(pdf)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "_build" / "html", help="such as _build/student")
    site = parser.parse_args().site.resolve()
    out = site.with_name("plusx.pdf" if site.name == "html" else f"plusx-{site.name}.pdf")
    pages = write(site, out)
    print(f"{out}: {pages} pages, {out.stat().st_size / 2**20:.1f} MB.")


if __name__ == "__main__":
    main()
