"""The search while one types: sections at once, definitions first, from disk too."""

import gzip
import json
import re

import pytest

FOUND = "#pst-search-dialog .px-listed a"


@pytest.fixture
def search(site_url, open_page):
    """A chapter with its search open, its results for some words, and what it logs as errors."""

    def search(words, url=f"{site_url}/chapters/02-gradients-through-depth.html", **settings):
        page, foreign, errors = open_page(url, **settings)
        page.keyboard.press("Control+k")
        page.locator("#pst-search-dialog input").fill(words)
        page.locator(FOUND).first.wait_for()
        return page, foreign, errors

    return search


def listed(page):
    return page.locator(FOUND).evaluate_all(
        "links => links.map((link) => [link.href.split('/').pop(), link.querySelector('strong').textContent])"
    )


@pytest.mark.parametrize(
    "words, first, then",
    [
        ("pre-norm", "glossary.html#term-pre-norm", "11-the-transformer-layer.html"),
        ("ReZero", "glossary.html#term-ReZero", "09-depth-without-normalisation.html"),
        ("why skip", "13-why-skips-around-attention.html", "13-why-skips-around-attention.html"),
        ("rank coll", "glossary.html#term-rank-collapse", "14-rank-collapse.html"),
    ],
)
def test_a_definition_or_the_section_that_answers_comes_first(search, words, first, then):
    page, foreign, errors = search(words)
    found = [address for address, _ in listed(page)]
    assert found[0].startswith(first) and any(address.startswith(then) for address in found[:6]), found
    assert re.match(
        r"(The first 10 of )?\d+ sections?", page.locator("#pst-search-dialog [role=status]").text_content()
    )
    assert foreign == [] and errors == []


def test_arrows_walk_through_what_was_found_and_return_goes_there(search, axe):
    page, _, errors = search("left of x", theme="dark", width=390)
    assert axe(page) == []
    links = page.locator(FOUND)
    focused = "index => document.querySelectorAll('#pst-search-dialog .px-listed a')[index] === document.activeElement"
    for index in (0, 1):
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused, index)
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused, 0)
    address = links.first.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(address)
    assert not page.locator("#pst-search-dialog").is_visible() and errors == []


def test_nothing_found_is_said_and_escape_leaves(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/index.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("xylophone")
    page.get_by_text("No sections").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("#pst-search-dialog").is_visible()


def test_it_works_from_disk(site, open_page):
    page, _, errors = open_page((site / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("orthogonal features")
    page.locator(FOUND).first.wait_for()
    assert errors == [] and listed(page)[0][0].endswith("features") or "15-the" in listed(page)[0][0]


def test_the_index_loads_when_one_searches_and_leads_to_places_that_exist(site, site_url, open_page):
    page, _, _ = open_page(f"{site_url}/index.html")
    loaded = "() => performance.getEntriesByType('resource').some(({ name }) => name.includes('sections.js'))"
    assert not page.evaluate(loaded)
    page.keyboard.press("Control+k")
    page.wait_for_function(loaded)
    script = (site / "_static" / "plusx" / "sections.js").read_text("utf8")
    sections = json.loads(script.partition(".sections = ")[2].rstrip(";\n"))
    assert len(sections) > 250 and len(gzip.compress(script.encode())) < 75_000
    for address, *_ in sections:
        name, _, place = address.partition("#")
        assert f'id="{place}"' in (site / name).read_text("utf8"), address


@pytest.mark.parametrize("width", [1280, 390])
def test_what_was_found_stands_one_below_the_other_within_the_dialog(search, width):
    page, _, _ = search("why skip", width=width)
    tops, rights = page.evaluate("""() => {
        const boxes = [...document.querySelectorAll('#pst-search-dialog li')].map((row) => row.getBoundingClientRect());
        return [boxes.map(({ top }) => top), boxes.map(({ right }) => right)]; }""")
    assert len(tops) == 10 and tops == sorted(set(tops)) and max(rights) <= width
