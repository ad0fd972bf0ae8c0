"""The page *Guess first* and the kept answers of graph nets: what is marked is what was measured."""

import json
import re
import sys

import nbformat
import pytest
from browser import GUESSES, ROOT
from chapter_code import printed

sys.path.append(str(ROOT / "tools"))
import graphs

CELLS = nbformat.read(ROOT / "chapters" / "guess-first.ipynb", as_version=4).cells
TEXT = "\n\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
BOX = re.compile(r'<div class="px-choices">(.*?)\n</div>', re.S)
CHOICE = re.compile(r'<details name="([\w-]+)"( data-right)?(?: data-guessed="(\d+)")?><summary>(.*?)</summary>')
BOXES = [CHOICE.findall(box) for box in BOX.findall(TEXT)]
TALLY = ".px-tally"


def rows():
    """Of the tables: what was guessed, and the choice that fits what was measured, where a row asks for one."""
    tables = [printed(cell).splitlines() for cell in CELLS if cell.id.endswith("-table") and cell.id != "lists-table"]
    found = [re.split(r"\s{2,}", line) for table in tables for line in table[2:]]
    return [(row[1], row[3]) for row in found if len(row) == 4]


def test_every_question_marks_what_fits_the_measurement_and_what_was_guessed():
    asked = rows()
    assert len(BOXES) == len(asked) >= 16
    for box, (guess, fits) in zip(BOXES, asked):
        (right,) = [words for _, marked, _, words in box if marked]
        (sure,) = [sure for _, _, sure, _ in box if sure]
        assert right.partition(": ")[0] == fits, right
        assert f"({sure})" in guess, (guess, right)


def test_the_kept_answers_were_made_by_the_tool_of_today():
    kept = json.loads(graphs.KEPT.read_text())
    assert kept.keys() == graphs.NETS.keys()
    assert {name: found["made_by"]["code"] for name, found in kept.items()} == {
        name: graphs.own_code(name) for name in kept
    }
    assert graphs.KEPT.stat().st_size < 76_000


def test_gates_stand_on_the_sums_that_the_sources_of_the_nets_have():
    kept = json.loads(graphs.KEPT.read_text())
    assert sorted(kept["chgnet"]["places"]) == sorted(
        [*(f"atom {at}" for at in range(1, 5)), *(f"{kind} {at}" for kind in ("bond", "angle") for at in range(1, 4))]
    )
    parts = dict(encoder=("message", "dense", "edge"), decoder=("message", "dense"))
    assert list(kept["proteinmpnn"]["places"]) == [
        f"{side} {at} {part}" for side, some in parts.items() for at in (1, 2, 3) for part in some
    ]


def test_a_layer_that_nobody_reads_costs_nothing_and_an_empty_stream_is_cut_for_nothing():
    kept = json.loads(graphs.KEPT.read_text())
    idle, first = kept["chgnet"]["places"]["angle 3"], kept["proteinmpnn"]["places"]["encoder 1 message"]
    assert {*idle["skip"], *idle["branch"], *first["skip"]} == {0} and min(first["branch"]) > 0


def test_of_the_guesses_as_many_were_right_as_the_page_says():
    table = next(printed(cell) for cell in CELLS if cell.id == "lists-table")
    assert re.search(r"^all +44 +12 +9 +23$", table, re.M)
    assert "Of forty-four guesses it had twelve right and nine half right" in TEXT


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_press_tells_what_was_measured_and_guessed_and_counts(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/{GUESSES}", width=width, theme=theme)
    assert page.locator(TALLY).text_content() == ""
    for at, (name, words, mine, its) in enumerate(
        [("crystal-branch", "The last", 1, 1), ("crystal-angles", "By about", 1, 1), ("crystal-swap", "By less", 2, 1)]
    ):
        box = page.locator(f"#guess-{name}")
        box.locator("summary", has_text=words).press("Enter")
        box.get_by_role("button", name="What was measured?").press("Enter")
        told = f"Of {at + 1}: you were right in {mine}, the language model in {its}."
        assert page.locator(TALLY).text_content() == told
    swapped = page.locator("#guess-crystal-swap")
    assert swapped.get_by_role("status").text_content() == (
        "Measured: “By less than 0.5”. As you predicted. The language model guessed “By about 1.2”, 45 % sure."
    )
    assert swapped.locator(".px-tag").all_text_contents() == [
        "your choice, measured", "the language model's guess", ""
    ]  # fmt: skip
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    assert foreign == [] and errors == []
