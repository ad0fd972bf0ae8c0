"""The first page's cards: each has its number, and a miniature of a picture that its chapter shows."""

import re

import cards
import pytest
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

STILL = """<div id="explore-runs"><div class="px-still px-wide"><svg viewBox="0 0 540 300">
<path d="M 10 0 L 10 90" clip-path="url(#p1)" style="fill: none; stroke: var(--px-grid); stroke-width: 0.75"/>
<path d="M 10 90 L 60 40 L 110 90" clip-path="url(#p1)" style="fill: none; stroke: var(--px-C1); stroke-width: 2.25"/>
<path d="M 10 1 L 60 2" clip-path="url(#p1)" style="fill: none; stroke: var(--px-C1); stroke-width: 0.75"/>
<path d="M 0 0 L 999 999" clip-path="url(#p2)" style="fill: none; stroke: var(--px-C0); stroke-width: 2.25"/>
</svg></div></div>"""


def test_a_miniature_has_the_thick_lines_of_the_upper_panel_and_fills_its_room():
    lines = BeautifulSoup(cards.miniature(STILL, "runs"), "html.parser")("polyline")
    assert [(line["stroke"], line["points"]) for line in lines] == [("var(--px-C1)", "0,50 50,0 100,50 100,50")]


DRAWN = """<div id="explore-drawn"><div class="px-still px-wide"><svg class="px-drawn" viewBox="0 0 1000 340">
<path class="px-layer" d="M40.0,0V340"/>
<path class="px-threads" style="--px-at:0.0%" d="M0,100.0h40c50.0,0 50.0,60.0 100.0,60.0c5,0 5,-60.0 100.0,-60.0h4"/>
<path class="px-threads" style="--px-at:100.0%" d="M0,200.0h40c50.0,0 50.0,0.0 100.0,0.0c50.0,0 50.0,0.0 100.0,0.0h40"/>
</svg></div></div>"""


def test_a_miniature_of_threads_goes_where_they_go_in_their_colours():
    lines = BeautifulSoup(cards.miniature(DRAWN, "drawn"), "html.parser")("polyline")
    assert [line["points"] for line in lines] == ["0,0 50,30 100,0", "0,50 50,50 100,50"]
    assert "0.0%" in lines[0]["style"] and "100.0%" in lines[1]["style"]


def test_a_thread_that_leaves_its_picture_leaves_the_miniature():
    """Where it is drawn beyond its picture, it is no line along the edge."""
    leaves = DRAWN.replace("100.0,60.0c", "100.0,-440.0c")
    lines = BeautifulSoup(cards.miniature(leaves, "drawn"), "html.parser")("polyline")
    places = [[int(place.split(",")[1]) for place in line["points"].split()] for line in lines]
    assert places[1] == [50, 50, 50] and places[0][0] == 25 and places[0][1] < -2


@pytest.mark.parametrize("name, html", [("other", STILL), ("runs", STILL.replace("2.25", "0.75"))])
def test_a_picture_that_is_not_there_stops_the_build(name, html):
    with pytest.raises(ExtensionError, match=f"cards: .*{name}"):
        cards.miniature(html, name)


def test_every_card_shows_its_chapter_s_number_and_colours_of_its_picture(site, site_url, open_page):
    page, _, _ = open_page(f"{site_url}/index.html")
    found = page.evaluate("""() => [...document.querySelectorAll('.px-chapters li')].map((card) => [
        card.querySelector('a').getAttribute('href'),
        getComputedStyle(card).counterIncrement,
        card.closest('ol').start + [...card.parentElement.children].indexOf(card),
        [...card.querySelectorAll('.plusx-card :is(polyline, path), polyline')].map((line) => line.outerHTML),
        card.querySelector('svg')?.getBoundingClientRect().height > 20])""")
    assert [int(re.search(r"/(\d+)-", address)[1]) for address, *_ in found] == list(range(1, 21))
    for address, increment, number, lines, tall in found:
        assert (increment, number) == ("list-item 1", int(re.search(r"/(\d+)-", address)[1]))
        chapter = (site / address).read_text(encoding="utf8")
        colours = set(re.findall(r"--px-\w+", "".join(lines)))  # of threads, the ends of their scale
        there = all(colour in chapter for colour in colours) or re.search(r'class="px-threads"', chapter)
        drawn = "px-" in "".join(lines)  # as in its chapter, where classes give the colours
        assert (tall and (colours or drawn) and there) or number not in cards.SHOWN
