"""Chapter 17's verdicts: every reading is a row that another chapter printed, and nobody chose the verdict."""

import html
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import nbformat
import pytest
from browser import ROOT, soup
from chapter_code import chapter_code, printed

from plusx.explore import explore
from plusx.show.draw import bars, figure, panel
from plusx.show.tables import Table

STEM = "17-claims-tested"
CELLS = [
    "lookup-chapters",
    "verdict",
    "rules",
    "claims-one",
    "claims-two",
    "claims-three",
    "claims-four",
    "show-claims",
    "count-verdicts",
    "verdicts-nets",
]
# What a chapter's "What to take along" says, and the verdicts that it must not contradict.
TAKEN = {
    (1, "returns its input"): {"Starting at a = 0, x + a F(x) is the identity.": "holds"},
    (2, "the first weights decide"): {"The gradients of deep plain nets vanish.": "holds if"},
    (2, "ratio $r$ of branch to stream decides"): {"Skips fix vanishing gradients.": "holds if"},
    (3, "Plain nets with BatchNorm turn to sand"): {"The gradients of deep plain nets are noise.": "holds if"},
    (3, "A skip keeps neighbours alike"): {"Skips keep the gradients of neighbours alike.": "holds"},
    (4, "set by the rate"): {
        "Early, the gradient goes along the skip; later the two change places.": "fails",
    },
    (5, "costs without"): {"Deeper plain nets train worse.": "holds if"},
    (5, "neither overfitting nor a vanishing gradient"): {"That is because their gradients vanish.": "fails"},
    (5, "a start at the identity is not a skip"): {"A plain net need only start at the identity.": "holds if"},
    (6, "are level"): {"Pre-activation trains better than the original order.": "holds if"},
    (7, "A block can be removed if its branch is small"): {"A residual net survives the loss of a block.": "holds if"},
    (7, "not a vote"): {"It is an ensemble: its blocks vote.": "holds if"},
    (8, "after gradient descent with large steps there is no difference"): {
        "Nets with skips end in wider minima.": "holds if"
    },
    (8, "every net has directions that curve down"): {"Skips make the loss convex, near the minimum.": "fails"},
    (9, "A norm does a part of both, and learns better with a number"): {"Depth needs normalisation.": "holds if"},
    (10, "without a mask no share is zero"): {"Dissimilar words zero out.": "holds if"},
    (10, "go by distance and not by similarity"): {"Attention looks at similar words.": "holds if"},
    (10, "Any tokens will do"): {"Learned embeddings do not matter that much.": "holds if"},
    (11, "needed a warm-up at a high rate, and none at its best"): {
        "A post-norm transformer needs warm-up.": "not settled"
    },
    (11, "no single layer, the last or the first"): {
        "Warm-up is needed because the last layers' gradients are large.": "fails",
    },
    (11, "RMSNorm is within a tenth"): {"RMSNorm does as well as LayerNorm.": "holds"},
    (12, "None is missing"): {"An activation is missing after attention.": "fails"},
    (12, "**On the stream a ReLU costs,**"): {"An activation is missing after the addition.": "fails"},
    (13, "sorters of two layers are slower"): {"Skips around attention matter only in very deep nets.": "fails"},
    (13, "not the gradient's size but its meaning"): {"Skips around attention prevent vanishing gradients.": "fails"},
    (13, "lets four layers sort"): {
        "Without skips around attention nothing is learned.": "holds if",
        "Another start can stand in for the skip around attention.": "fails",
    },
    (14, "cubes what tells tokens apart"): {"Attention alone loses its rank doubly exponentially.": "holds if"},
    (14, "slows the collapse and does not stop it"): {"Skips stop the collapse.": "holds if"},
    (15, "as orthogonal as anything drawn by lot"): {"Layers add roughly orthogonal features.": "holds if"},
    (15, "and reinforce or cancel"): {"Layers vote: what they write adds up.": "not settled"},
    (15, "can get lost"): {"Features, once added, are not lost.": "fails"},
    (16, "each of the twelve branches is missed less"): {
        "A trained net misses its skips more than its branches.": "not settled",
    },
    (16, "noise is worse than silence"): {"A broken branch is worse than none.": "not settled"},
    (18, "Ask for one stream with learned gates"): {"Four streams train better than one.": "fails"},
    (19, "Output needs QK"): {"A norm on the branch's output can replace the one before it.": "fails"},
    (19, "the late layers' share as well"): {
        "In pre-norm nets late layers do less than early ones.": "holds",
        "Pre-norm branches times 1/√l give late layers more to do.": "fails",
    },
    (20, "Compare a cut net with a small one"): {
        "A net trained with dropped layers holds small ones as good as if they had been trained alone.": "fails",
    },
}


@pytest.fixture(scope="module")
def page():
    """The names of the chapter's cells, in the folder where it finds the others."""
    names = dict(
        Path=Path, json=json, re=re, os=os, html=html, math=math, HTML=str, Counter=Counter, Callable=Callable,
        NamedTuple=NamedTuple, ElementTree=ElementTree, Table=Table, bars=bars, figure=figure, panel=panel,
        explore=explore,
    )  # fmt: skip
    before = os.getcwd()
    os.chdir(ROOT)
    yield chapter_code(STEM, *CELLS, **names)
    os.chdir(before)


@pytest.fixture
def reading(page):
    def made(low, high, met=True):
        return page.Reading("a net", "", low, high, met, "")

    return made


def test_every_reading_is_a_row_of_a_checked_table(page, site):
    cells = [cell for _, notebook in page.CHAPTERS.values() for cell in notebook["cells"] if cell.get("outputs")]
    shown = "".join(map(printed, cells))
    for claim in page.both:
        assert claim.readings and all(each.text in shown for each in claim.readings)
    rows = soup(site / "chapters" / f"{STEM}.html").select(".px-claims tr[data-kind]")
    assert len(rows) == len(page.both) > 30
    for row, claim in zip(rows, page.both):
        assert row.td.text.startswith(claim.said) and row.select("strong")[-1].text == page.kind(claim)
        assert len(row.select("li")) >= len(claim.readings)  # one of both kinds of net stands in both columns
        assert (site / "chapters" / row.select("td")[-1].a["href"]).exists()


def test_net_by_net_each_cell_says_what_a_checked_table_says_of_that_net(page, site):
    rows = soup(site / "chapters" / f"{STEM}.html").select(".px-nets tbody tr")
    assert len(rows) == len(page.BY_NET) >= 6
    shown = {
        (group or label, text)
        for column in ("skip > branch", "alike without skips")
        for group, label, text in page.rows(page.REAL, "claims-table", column)
    }
    for row, claim in zip(rows, page.BY_NET):
        assert {each.net for each in claim.readings} <= {name for name, _ in shown}
        for each in claim.readings:
            said = f"{each.net}: {each.text}, {page.SIGNS[claim.rule(each.low, each.high)]}"
            assert said in row.get_text(), claim.said
        assert row.select("strong")[-1].text == page.kind(claim)


def test_every_chapter_has_a_claim(page):
    assert {claim.chapter for claim in page.both} == {*range(1, 17), 18, 19, 20}


@pytest.mark.parametrize(
    "readings, condition, verdict",
    [
        ([(1.2, 2, True), (3, 4, True)], "", "holds"),
        ([(1.2, 2, True), (0.9, 4, True)], "", "not settled here"),
        ([(1.2, 2, True), (0.5, 0.9, True)], "", "fails"),
        ([(1.2, 2, True), (0.5, 0.9, False)], "deep", "holds if deep"),
        ([(1.2, 2, True), (0.5, 1.9, False)], "deep", "holds if deep"),
        ([(1.2, 2, True), (1.5, 1.9, False)], "deep", "holds"),
        ([(1.2, 2, True), (0.5, 0.9, False), (2, 3, False)], "deep", "not settled here"),
        ([(1.2, 2, True), (0.5, 0.9, True), (0.2, 0.3, False)], "deep", "fails"),
        ([(0.2, 2, True), (0.5, 0.9, False)], "deep", "not settled here"),
    ],
)
def test_the_readings_alone_decide(page, reading, readings, condition, verdict):
    assert page.verdict([reading(*each) for each in readings], page.above(1), condition) == verdict


def test_a_rule_agrees_contradicts_or_does_neither(page):
    larger, smaller, level = page.above(1, but=1.1), page.below(1, but=0.9), page.between(0.9, 1.1)
    assert [larger(1.2, 1.5), larger(1.01, 1.3), larger(0.9, 1.3), larger(1.01, 1.08), larger(0.5, 0.9)] == [
        True, True, None, False, False]  # fmt: skip
    assert [smaller(0.5, 0.8), smaller(0.5, 1.2), smaller(0.92, 0.99)] == [True, None, False]
    assert [level(0.95, 1.05), level(0.95, 1.2), level(1.2, 1.3), level(0.9, 1.1)] == [True, None, False, True]
    assert page.between(1, 1)(1, 1) is True


def test_intervals_are_read_as_printed(page):
    assert page.interval("1.42 (1.15 to 1.76)") == (1.15, 1.76)
    assert page.interval("−0.03 (−0.14 to 0.06)") == (-0.14, 0.06)
    assert page.interval("0.35 to 0.57") == (0.35, 0.57)
    assert page.interval("240,000 (94,000 to 3.9e+05)") == (94000, 390000)
    assert page.interval("8.7e-42") == (8.7e-42, 8.7e-42)
    # Wilson (1927): for 10 of 10 the lower end is 10 / (10 + 1.96^2)
    assert page.interval("10 of 10") == pytest.approx((10 / (10 + 1.96**2), 1))
    assert page.interval("no better than guessing") == (math.inf, math.inf)
    with pytest.raises(ValueError, match="no number in 'lost'"):
        page.interval("lost")


@pytest.mark.parametrize(
    "where, message",
    [
        ((2, "no-such-cell", "median"), "chapter 2 has no table in no-such-cell"),
        ((2, "one-change", "mean"), "chapter 2, one-change: no column 'mean'"),
        ((2, "one-change", "median", "no such row"), "chapter 2, one-change: no row 'no such row'"),
    ],
)
def test_a_row_that_is_not_there_is_an_error(page, where, message):
    with pytest.raises(LookupError, match=message):
        page.read(*where)


def test_another_number_gives_another_verdict(page):
    said = "That is because their gradients vanish."
    stem, notebook = page.CHAPTERS[5]
    shrunk = re.sub(r">[\d.]+ \([\d.]+ to [\d.]+\)", ">0.2 (0.1 to 0.3)", json.dumps(notebook))
    page.CHAPTERS[5] = stem, json.loads(shrunk)
    changed = next(claim for claim in page.claims_one(1.1) if claim.said == said)
    page.CHAPTERS[5] = stem, notebook
    before = next(claim for claim in page.both if claim.said == said)
    assert (page.decided(before), page.decided(changed)) == ("fails", "holds")


@pytest.mark.parametrize("chapter, phrase", TAKEN)
def test_no_chapter_takes_along_what_its_verdict_contradicts(page, chapter, phrase):
    cells = page.CHAPTERS[chapter][1]["cells"]
    along = ["".join(cell["source"]) for cell in cells if "## What to take along" in "".join(cell["source"])]
    assert len(along) == 1 and phrase in along[0]
    kinds = {claim.said: page.kind(claim) for claim in page.both}
    assert {said: kinds[said] for said in TAKEN[chapter, phrase]} == TAKEN[chapter, phrase]


def test_what_it_takes_along_is_its_own_count(page):
    cells = nbformat.read(ROOT / "chapters" / f"{STEM}.ipynb", 4).cells
    along = next(cell.source for cell in cells if cell.id == "take-along")
    count = Counter(map(page.kind, page.both))
    said = [int(number) for number in re.findall(r"\d+", along.split("\n- ")[1])]
    assert said == [len(page.both), *(count[kind] for kind in page.KINDS)]


def test_every_chapter_with_a_verdict_takes_something_along_from_it(page):
    assert {chapter for chapter, _ in TAKEN} == {claim.chapter for claim in page.both}


def test_an_answer_quotes_what_its_chapters_print(page):
    text = (ROOT / "chapters" / "questions.md").read_text("utf8")
    answers = re.split(r"^###? .*\n", text, flags=re.M)[1:]
    checked = 0
    for answer in answers:
        told = re.sub(r"\{cite.*?`.*?`|\]\(.*?\)|`.*?`|\$.*?\$", "", answer)
        numbers = re.findall(r"−?\d[\d,]*\.\d+(?:e[+-]\d+)?", told)
        shown = ""
        for name in re.findall(r"\]\((.*?\.ipynb)\)", answer):
            cells = nbformat.read(ROOT / "chapters" / name, 4).cells
            shown += "".join(printed(cell) for cell in cells if cell.cell_type == "code" and cell.outputs)
        assert [number for number in numbers if number not in shown] == [], answer
        checked += len(numbers)
    assert checked > 20 and len([answer for answer in answers if "*Evidence:*" in answer]) > 25


def test_each_reading_leads_to_the_lab_note_with_its_table(site):
    links = [link["href"] for link in soup(site / "chapters" / f"{STEM}.html").select(".px-claims li a")]
    assert len(links) > 200
    for link in sorted(set(links)):  # to search a page takes longer than all else
        file, heading = link.split("#")
        note = soup(site / "chapters" / file).find(id=heading)
        assert note and note.select_one(".px-measured"), link


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_the_tables_keep_what_one_text_says(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/chapters/{STEM}.html", width=width, theme=theme)
    rows = page.locator(".px-claims tr[data-kind]")
    assert rows.count() == 49 and rows.filter(visible=True).count() == 49
    page.get_by_label("answers to: why no activation after attention?").check()
    kept = rows.filter(visible=True).locator("td:first-child").all_inner_texts()
    assert len(kept) == 6 and sum("activation is missing" in said for said in kept) == 2
    for choice in page.locator("[name=px-of]").all()[1:]:
        choice.check()
        assert 3 <= rows.filter(visible=True).count() <= 8
    assert page.evaluate("document.documentElement.scrollWidth") <= width and axe(page) == []
    page.get_by_label("everybody").check()
    assert rows.filter(visible=True).count() == 49
    page.get_by_label("fails", exact=True).check()
    assert set(rows.filter(visible=True).locator("strong").all_inner_texts()) == {"fails"}
    assert rows.filter(visible=True).count() == 19
    page.get_by_label("answers to: why no activation after attention?").check()
    assert 1 <= rows.filter(visible=True).count() <= 6
    assert foreign == [] and errors == []


def test_the_page_is_six_thousand_pixels_at_most(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/{STEM}.html")
    assert page.evaluate("document.documentElement.scrollHeight") <= 6000


def test_nothing_lies_over_a_row_beside_the_pages_contents(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/{STEM}.html")
    rows = page.locator("table.px-claims:not(.px-nets) tr[data-kind]")
    rows.first.evaluate("row => window.scrollTo(0, row.getBoundingClientRect().top + scrollY - 100)")
    over = """links => links.map((link) => [link, link.getBoundingClientRect()])
        .filter(([, { top, bottom }]) => top > 60 && bottom < innerHeight)
        .map(([link, { left, right, top, bottom }]) =>
          document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === link)"""
    seen = rows.locator("td:last-child a").evaluate_all(over)
    assert len(seen) > 10 and all(seen)
