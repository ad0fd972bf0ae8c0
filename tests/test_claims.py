"""Chapter 17's table: every number is one that another chapter printed, and every verdict fits its numbers."""

import copy
import html
import json
import os
import re
from pathlib import Path

import pytest
from browser import ROOT
from bs4 import BeautifulSoup
from chapter_code import chapter_code, printed

STEM = "17-claims-tested"
CELLS = ["lookup-chapters", "claims-one", "claims-two", "claims-three", "verdicts"]


@pytest.fixture
def table(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {"Path": Path, "json": json, "re": re, "os": os, "html": html, "HTML": str}
    made = chapter_code(STEM, *CELLS, **names)
    before = copy.deepcopy(made.CHAPTERS)
    yield made
    made.CHAPTERS.update(before)


def test_the_page_shows_a_row_for_each_claim_with_numbers_another_chapter_prints(table, site):
    page = BeautifulSoup((site / "chapters" / f"{STEM}.html").read_text(), "html.parser")
    rows = page.select(".px-claims tbody tr")
    assert len(rows) == len(table.CLAIMS) > 30
    for row, (text, chapter, *_) in zip(rows, table.CLAIMS):
        claim, measured, verdict, link = (td.text for td in row.select("td"))
        assert (claim, link) == (text, str(chapter))
        assert (site / "chapters" / row.a["href"]).exists()
        assert re.match(r"\w+", verdict)[0] in ("holds", "fails")
        cells = table.CHAPTERS[chapter][1]["cells"]
        shown = "".join(printed(cell) for cell in cells if cell["cell_type"] == "code")
        told = set(re.findall(r"\d+\.\d+(?:e[+-]\d+)?", measured))
        code = set(re.findall(r"\d+\.\d+", table.CLAIMS[rows.index(row)][2]))  # a setting, such as a rate
        assert told - code <= set(re.findall(r"\d+\.\d+(?:e[+-]\d+)?", shown))


def test_every_chapter_has_a_claim(table):
    assert {claim[1] for claim in table.CLAIMS} == set(range(1, 16))


@pytest.mark.parametrize(
    "labels, message",
    [
        (("no-such-cell", "skip"), "chapter 2, cell no-such-cell is not there"),
        (("one-change", "no such line"), "chapter 2, cell one-change has no line"),
        (("one-change", "ski"), "chapter 2, cell one-change has no line"),
    ],
)
def test_a_missing_number_is_an_error(table, labels, message):
    with pytest.raises(LookupError, match=message):
        table.printed(2, *labels)


def test_labels_lead_through_headings_to_one_line(table):
    assert table.printed(5, "depth-table", "skip", "20 layers")[1] == "0.36 (0.25 to 0.54)"
    assert table.printed(5, "depth-table", "plain", "20 layers")[1] == "1.10 (0.98 to 1.28)"
    assert table.size("−0.03 (−0.14 to 0.06)") == -0.03
    assert table.size("16,384") == 16384
    assert table.size("<1e-14") == 1e-14


def test_a_verdict_that_its_numbers_contradict_is_an_error(table):
    for claim in table.CLAIMS:
        assert table.measured(claim)
    claim = next(c for c in table.CLAIMS if c[0] == "Skips fix vanishing gradients.")
    stem, notebook = table.CHAPTERS[2]
    table.CHAPTERS[2] = stem, json.loads(json.dumps(notebook).replace("8.7e-42", "1.1"))
    with pytest.raises(ValueError, match="do not support 'holds if the branches are normed"):
        table.measured(claim)
