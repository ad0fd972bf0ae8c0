"""plusx.show.tables: how numbers and their spread are written, and a table as text, as HTML and to a screen reader."""

import math

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

from plusx.show.tables import Table, median_and_ends, short, spread

TABLE = Table("error & <spread>, 3 seeds", "", "median", "least to greatest", "swaps")
TABLE.group("a < b")
TABLE.row("skip", 0.5, "0.4 to 10", "2")
TABLE.row("no skip", 12, "-", "10")
TABLE.group("after")
TABLE.row("x", "<1e-14", "0 to 1", "0")


@pytest.mark.parametrize(
    "value, written",
    [(0.123, "0.12"), (9.94, "9.9"), (10, "10"), (999.4, "999"), (1000, "1,000"), (65_912, "66,000"),
     (4e6, "4e+06"), (-123.4, "−123"), (-1e-9, "−1e-09"),
     (0, "0"), (-0.0, "0"), (torch.tensor(3.0), "3"), (math.inf, "inf")],
)  # fmt: skip
def test_a_number_has_two_digits_or_is_whole(value, written):
    assert short(value) == written


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, lambda v: torch.tensor(v).view(3, 1)])
def test_the_spread_of_runs_is_their_median_least_and_greatest(kind):
    assert spread(kind([3.0, 1.0, 250.0])) == "3 (1 to 250)"
    assert spread(kind([-0.3, 0.04, -0.001]), ".2f") == "0.00 (−0.30 to 0.04)"
    assert median_and_ends(kind([31.0, 1.0, 2500.0]), ".1g") == ["30", "1", "2,000"]


def test_of_an_even_number_of_runs_the_median_is_the_mean_of_two():
    assert spread([1, 2, 4, 8], ".1f") == "3.0 (1.0 to 8.0)"


def test_as_text_columns_are_aligned_and_groups_are_indented():
    assert repr(TABLE).splitlines() == [
        "error & <spread>, 3 seeds",
        "           median  least to greatest  swaps",
        "a < b",
        "  skip        0.5  0.4 to 10              2",
        "  no skip      12  -                     10",
        "after",
        "  x        <1e-14  0 to 1                 0",
    ]
    plain = Table("n", "layer", "loss")
    plain.row(1, "lost")
    plain.row(16, 0.25)
    assert repr(plain).splitlines() == ["n", "layer  loss", "    1  lost", "   16  0.25"]


def test_a_row_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"Table.row: 2 cells for the 4 columns .*'median'.*\('skip', 1\)"):
        TABLE.row("skip", 1)


def test_as_html_words_are_escaped_and_numbers_stand_on_the_right():
    found = BeautifulSoup(TABLE._repr_html_(), "html.parser")
    assert found.caption.text == "error & <spread>, 3 seeds" and not found.find("spread")
    assert [[cell.text for cell in row.select("th, td")] for row in found.select("tr")] == [
        ["", "median", "least to greatest", "swaps"],
        ["a < b"],
        ["skip", "0.5", "0.4 to 10", "2"],
        ["no skip", "12", "-", "10"],
        ["after"],
        ["x", "<1e-14", "0 to 1", "0"],
    ]
    for row in found.select("tr:not(:has([scope=rowgroup]))"):
        assert ["left" in cell.get("style", "") for cell in row.select("th, td")] == [True, False, True, False]


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_page_reads_it_as_a_table_and_scrolls_none_but_it(site, site_url, open_page, axe, width, theme):
    """Before a chapter's lab notes, so that the looks are those of the book."""
    wide = Table("wide", *(["wide"] * 8))
    wide.row(*range(100_000, 100_008))
    book = BeautifulSoup((site / "chapters" / "01-f-of-x-plus-x.html").read_text(), "html.parser")
    tables = BeautifulSoup(TABLE._repr_html_() + wide._repr_html_(), "html.parser")
    book.select_one("#lab-notes").insert_before(tables)
    page, _, _ = open_page(f"{site_url}/404.html", width=width, theme=theme)
    page.route("**/tables.html", lambda route: route.fulfill(body=str(book), content_type="text/html"))
    page.goto(f"{site_url}/chapters/tables.html")
    table = page.get_by_role("table", name="error & <spread>, 3 seeds")
    assert table.get_by_role("rowheader").all_text_contents() == ["a < b", "skip", "no skip", "after", "x"]
    assert table.get_by_role("columnheader").all_text_contents() == ["median", "least to greatest", "swaps"]
    sides = "cells => cells.map((cell) => getComputedStyle(cell).textAlign)"
    cells = table.locator("tbody").first.locator("tr:nth-child(2) > *")
    assert cells.evaluate_all(sides) == ["left", "right", "left", "right"]
    box = page.locator(".px-measured").nth(1)  # the wide one, before those of the chapter itself
    assert box.evaluate("box => box.scrollWidth > box.clientWidth") == (width == 390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []
