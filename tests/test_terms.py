"""Terms explained where they stand: by mouse, focus and finger, in the glossary's words."""

import re
from pathlib import Path

import pytest
import terms
from browser import sampled, soup
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

CHAPTER = "chapters/02-gradients-through-depth.html"
TERM = '.bd-article a[href*="glossary.html#term-"]'
CARD = ".px-term"


def said(site, address):
    """The glossary's words on a term, as one reads them."""
    entry = soup(site / "chapters" / "glossary.html").find(id=address.partition("#")[2])
    return " ".join(entry.find_next("dd").text.split())


def test_every_page_has_the_words_on_each_term_that_it_links_to(site):
    checked = 0
    for path in sorted(site.rglob("*.html")):
        html = path.read_text("utf8")
        wanted = set(re.findall(r'<a [^>]*href="[^"]*glossary\.html#(term-[^"]*)"', html))
        template = re.search(r'<template id="px-terms">(.*?)</template>', html, re.S)
        kept = BeautifulSoup(template[1] if template else "", "html.parser").select("[data-term]")
        assert {each["data-term"] for each in kept} == wanted or path.name == "glossary.html", path.name
        assert all(each.text and not each.find("a") for each in kept)
        checked += len(kept)
    assert checked > 60


def test_a_term_that_the_glossary_does_not_have_stops_the_build():
    pages = {
        Path("chapters/glossary.html"): '<dt id="term-skip">skip</dt><dd><p>x</p></dd>',
        Path("chapters/01-a.html"): '<article><a href="glossary.html#term-skip">skip</a></article>',
    }
    terms.explain(None, pages, Path())
    assert '<div data-term="term-skip">x</div>' in pages[Path("chapters/01-a.html")]
    pages[Path("chapters/01-a.html")] = '<article><a href="glossary.html#term-stream">stream</a></article>'
    with pytest.raises(ExtensionError, match="01-a.html links to term-stream, which the glossary does not have"):
        terms.explain(None, pages, Path())


@pytest.mark.parametrize("width, theme", sampled([(1280, "light"), (390, "dark")], [(390, "dark")]))
def test_the_mouse_and_the_focus_show_what_a_term_means_and_escape_hides_it(
    site, site_url, open_page, axe, width, theme
):
    page, _, errors = open_page(f"{site_url}/{CHAPTER}", width=width, theme=theme)
    card, link = page.locator(CARD), page.locator(TERM).first
    words = said(site, link.get_attribute("href"))
    page.keyboard.press("Shift")  # the reader is there: all is laid out
    begun = "[...document.querySelectorAll('.plusx-explore fieldset')].every((each) => !each.disabled)"
    page.wait_for_function(begun)  # an explorer that begins sets its second sentence small
    page.evaluate("[document.documentElement.scrollHeight, document.fonts.ready][1]")
    tall = page.evaluate("document.documentElement.scrollHeight")
    link.hover()
    card.wait_for()
    assert " ".join(card.text_content().split()) == words
    assert page.evaluate("document.documentElement.scrollHeight") == tall
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    card.hover()  # it stays for who reads it with the mouse
    page.wait_for_timeout(400)
    assert card.is_visible() and link.get_attribute("aria-describedby") == card.get_attribute("id")
    assert axe(page) == []
    page.keyboard.press("Escape")
    assert not card.is_visible() and link.get_attribute("aria-describedby") is None
    page.mouse.move(0, 0)
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert card.is_visible() and link.evaluate("link => link === document.activeElement")
    box, sight = card.bounding_box(), page.viewport_size
    assert box["x"] >= 0 and box["x"] + box["width"] <= sight["width"]
    assert box["y"] >= 0 and box["y"] + box["height"] <= sight["height"]
    page.keyboard.press("Tab")
    assert not card.is_visible() and errors == []


def test_no_card_covers_its_own_term_where_it_breaks_over_lines(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/11-the-transformer-layer.html", width=390)
    covered = page.evaluate(
        """([term, card]) => [...document.querySelectorAll(term)]
          .filter((link) => link.checkVisibility()).map((link) => {
            link.scrollIntoView({ block: "center", behavior: "instant" });
            link.dispatchEvent(new PointerEvent("click", { pointerType: "touch", bubbles: true, cancelable: true }));
            const box = document.querySelector(card).getBoundingClientRect();
            const lines = [...link.getClientRects()];
            const apart = lines.every((line) => line.bottom <= box.top || line.top >= box.bottom);
            return [lines.length, box.height > 0 && apart];
        })""",
        [TERM, CARD],
    )
    assert max(lines for lines, _ in covered) == 2
    assert [shown for _, shown in covered] == [True] * len(covered)


def test_a_first_tap_explains_and_a_second_follows(site_url, launch):
    context = launch(False).new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{site_url}/{CHAPTER}")
    link = page.locator(TERM).first
    link.tap()
    assert page.locator(CARD).is_visible() and CHAPTER in page.url
    page.locator(".bd-article h2").first.tap()
    assert not page.locator(CARD).is_visible()
    link.tap()
    link.tap()
    page.wait_for_url("**/glossary.html#term-*")
    context.close()
