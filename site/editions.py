"""The site in an edition for one side of the room: without the solutions for students, with them open for teachers.

A step over the pages in _build/html, which stays as it is. A student's edition holds no word of a solution: not in
its pages, the sources beside them, the index of the search, or the inventory of link targets.
"""

import argparse
import json
import re
import shutil
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

from offline import offer_to_keep
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).parents[1]
SOLUTION = "solution"
FOLDED = 'class="solution dropdown admonition"'
OPEN = 'class="solution dropdown toggle-shown admonition"'
FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})\{solution\}.*?^(?P=fence)[ \t]*$\n*", re.M | re.S)
INDEX = re.compile(r"Search\.setIndex\((.*)\)\s*", re.S)


class Finder(HTMLParser):
    """Where the solutions of a page begin and end, and the words outside of them."""

    def __init__(self, page: str):
        super().__init__()
        self.starts = [0]  # of each line
        for line in page.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.spans, self.words, self.depth = [], [], 0
        self.feed(page)
        self.close()

    def here(self):
        line, column = self.getpos()
        return self.starts[line - 1] + column

    def handle_starttag(self, tag, attributes):
        if tag != "div":
            return
        if self.depth:
            self.depth += 1
        elif SOLUTION in (dict(attributes).get("class") or "").split():
            self.depth, self.begin = 1, self.here()

    def handle_endtag(self, tag):
        if tag == "div" and self.depth:
            self.depth -= 1
            if not self.depth:
                self.spans.append((self.begin, self.here() + len("</div>")))

    def handle_data(self, data):
        if not self.depth:
            self.words.append(data)


def without_solutions(page: str) -> str:
    kept, end = [], 0
    for start, stop in Finder(page).spans:
        kept.append(page[end:start])
        end = stop
    return "".join([*kept, page[end:]])


def source_without(path: Path) -> str:
    """A page's source, a notebook or Markdown, less its solutions."""
    text = path.read_text(encoding="utf8")
    if path.suffix != ".ipynb":
        return FENCE.sub("", text)
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = FENCE.sub("", "".join(cell["source"])).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def stems(text: str) -> set[str]:
    """The words of a text as Sphinx's search writes them."""
    language = SearchEnglish({})
    found = set()
    for word in set(language.split(text)):
        stem = language.stem(word).lower()
        found.add(stem if language.word_filter(stem) else word)
    return found


def index_without(text: str, kept: dict[str, set[str]]) -> str:
    """The index of the search, where each page has only those words that are kept for it."""
    index = json.loads(INDEX.fullmatch(text)[1])
    pages = index["docnames"]

    def still(words):
        found = {}
        for word, numbers in words.items():
            numbers = [numbers] if isinstance(numbers, int) else numbers
            left = [number for number in numbers if pages[number] not in kept or word in kept[pages[number]]]
            if left:
                found[word] = left[0] if len(left) == 1 else left
        return found

    index["terms"], index["titleterms"] = still(index["terms"]), still(index["titleterms"])
    index["alltitles"] = {
        title: left
        for title, places in index["alltitles"].items()
        if (left := [place for place in places if not re.search(r"-solution-\d+$", place[1] or "")])
    }
    return f"Search.setIndex({json.dumps(index, separators=(',', ':'), ensure_ascii=False)})"


def inventory_without(data: bytes) -> bytes:
    """The list of link targets less those of solutions."""
    head, packed = re.fullmatch(rb"((?:#[^\n]*\n){4})(.*)", data, re.S).groups()
    lines = zlib.decompress(packed).splitlines(keepends=True)
    return head + zlib.compress(b"".join(line for line in lines if not re.search(rb"-solution-\d+ ", line)), 9)


def for_students(site: Path) -> int:
    """Take the solutions out of a site; returns how many there were."""
    taken, kept = 0, {}
    for page in sorted(site.rglob("*.html")):
        html = page.read_text(encoding="utf8")
        if f'"{SOLUTION} ' not in html:
            continue
        taken += len(Finder(html).spans)
        name, html = page.relative_to(site).with_suffix(""), without_solutions(html)
        (source,) = (site / "_sources").glob(f"{name}.*")
        text = source_without(source)
        if "{solution" in text or f'"{SOLUTION} ' in html:
            sys.exit(f"editions: a solution of {name} is written in a way that is not known here.")
        source.write_text(text, encoding="utf8")
        page.write_text(html, encoding="utf8")
        kept[name.as_posix()] = stems(text + " " + " ".join(Finder(html).words))
    index = site / "searchindex.js"
    index.write_text(index_without(index.read_text(encoding="utf8"), kept), encoding="utf8")
    inventory = site / "objects.inv"
    inventory.write_bytes(inventory_without(inventory.read_bytes()))
    return taken


def for_teachers(site: Path) -> int:
    """Open the solutions of a site; returns how many there are."""
    opened = 0
    for page in sorted(site.rglob("*.html")):
        html = page.read_text(encoding="utf8")
        if found := html.count(FOLDED):
            page.write_text(html.replace(FOLDED, OPEN), encoding="utf8")
            opened += found
    return opened


EDITIONS = {"student": for_students, "teacher": for_teachers}


def make(edition: str, site: Path, out: Path) -> int:
    """Write an edition of a site, and put it in place of an older one once it is whole."""
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(site, part, ignore=shutil.ignore_patterns(".inputs"))
    count = EDITIONS[edition](part)
    offer_to_keep(part)
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition", choices=EDITIONS)
    edition = parser.parse_args().edition
    out = ROOT / "_build" / edition
    count = make(edition, ROOT / "_build" / "html", out)
    print(f"{out}/index.html: {count} solutions {'left out' if edition == 'student' else 'open'}.")


if __name__ == "__main__":
    main()
