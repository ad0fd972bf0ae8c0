"""What no page's prose may say: a word left for later, a section or an exercise that is not there, a minus that is a
hyphen.

Here lives what can be told from the text alone. What a number in it rests on is asked in test_chapters.py.
"""

import re

import nbformat
import pytest
from browser import ROOT
from chapter_code import printed

PAGES = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("chapters/*.md"), ROOT / "index.md"])
CODE = r"```(?:\w*|\{code.*?)\n.*?\n```|^ {4}[^\n]*|`[^`\n]+`"
NO_PROSE = CODE + r"|\]\([^)]*\)|<[^>]+>|\$\$.*?\$\$|\$[^$]*\$"  # nor addresses, nor formulas
MINUS = r"(?<![\w.,()\[\]–—−/-])-\d"


def prose(path):
    """Each piece of a page's text."""
    if path.suffix == ".md":
        return [path.read_text("utf8")]
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]


def plain(text):
    return re.sub(NO_PROSE, " ", text, flags=re.S | re.M)


def titles(text):
    """Headings and exercises, without marks and their question mark."""
    found = re.findall(r"^#+ (.+)$|^`{3,}\{exercise\} (.+)$", text, re.M)
    return {re.sub(r"[*`]|\?$", "", "".join(each)).strip() for each in found}


def not_there(text, known):
    """Sections that a text sends to, in italics after "in", "under", "see" or "of", of which no page has one."""
    sent = re.findall(r"\b(?:in|under|see|cell of|table of) \*([A-Z][^*\n]+)\*(?!\*)", text)
    return [each for each in sent if re.sub(r"[?,.]$", "", each) not in known]


@pytest.fixture(scope="module")
def known():
    names = set().union(*(titles(text) for path in PAGES for text in prose(path)))
    code = "".join(path.read_text("utf8") for path in PAGES)
    lines = re.findall(r'"([A-Z][\w ]+)":', code.replace('\\"', '"'))  # what a table or a picture calls an arm
    return names | set(lines)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_word_was_left_for_later(path):
    assert [word for text in prose(path) for word in re.findall(r"\b[A-Z]{10,}\b", plain(text))] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_text_sends_only_to_sections_that_are_there(path, known):
    assert [each for text in prose(path) for each in not_there(text, known)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_an_exercise_is_named_and_not_numbered(path):
    """The site counts exercises through all pages, so a chapter's own count matches nothing."""
    assert [each for text in prose(path) for each in re.findall(r"\b[Ee]xercises? \d+", plain(text))] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_minus_is_no_hyphen(path):
    told = [plain(text) for text in prose(path)]
    if path.suffix == ".ipynb":
        told += [printed(cell) for cell in nbformat.read(path, 4).cells if cell.get("outputs")]
    assert [each for text in told for each in re.findall(rf".{{0,15}}{MINUS}[\d.]*", text)] == []


def test_each_rule_finds_what_it_is_for():
    assert re.findall(r"\b[A-Z]{10,}\b", plain("REVERSEMEANS, `PLACEHOLDER` and BatchNorm")) == ["REVERSEMEANS"]
    assert not_there("the table of the lens in *Further*, and see *The count*", {"The count"}) == ["Further"]
    assert re.findall(MINUS, "from -0.1 to 5e-7, a 3-4 tie, −2, for x in [-2, 2]") == ["-0"]
