"""How far a reader has come: the line above a chapter, the marks beside its name, and the way back to it."""

import pytest

FILE = "07-ensemble-of-paths.html"
KEPT = "JSON.parse(localStorage.progress ?? '{}')"
COME = ".bd-docs-nav a[href*='07-'] .px-come"


def read_until(page, section):
    page.evaluate("(id) => document.getElementById(id).scrollIntoView()", section)
    page.wait_for_function(f"(id) => {KEPT}['{FILE}']?.place === id", arg=section)


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_reader_finds_the_way_back_and_can_have_it_forgotten(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/chapters/{FILE}", width=width, theme=theme)
    page.wait_for_timeout(500)
    assert page.evaluate(KEPT) == {}  # opened is not begun
    sections = page.locator(".bd-article section > h2").evaluate_all("all => all.map((e) => e.parentElement.id)")
    read_until(page, sections[2])
    there = page.evaluate(f"{KEPT}['{FILE}']")
    line = page.evaluate("new DOMMatrix(document.querySelector('.px-progress').style.transform).a")
    assert there["share"] == pytest.approx(line, abs=0.01) and 0.2 < line < 0.9
    read_until(page, sections[1])
    assert page.evaluate(f"{KEPT}['{FILE}'].share") == there["share"]  # what was read stays read
    page.goto(f"{site_url}/index.html")
    heading = page.evaluate(f"{KEPT}['{FILE}'].words")
    offer = page.locator(".px-goon")
    assert offer.inner_text().startswith(f"Go on where you left off: 7. An ensemble of paths, “{heading}”")
    assert page.locator(f"{COME}, .px-chapters a[href*='{FILE}'] .px-come").all_text_contents() == [", begun"] * 2
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("link", name=heading).click()
    page.wait_for_url(f"**/{FILE}#{sections[1]}")
    assert page.locator(f"#{sections[1]} > h2").is_visible()
    page.go_back()
    page.get_by_role("button", name="Forget where I am").press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Forgotten."
    assert page.evaluate(KEPT) == {} and page.locator(".px-come").count() == 0
    page.reload()
    assert offer.count() == 0 and foreign == errors == []


def test_a_chapter_read_to_its_end_is_said_to_be_read_and_not_offered(site_url, open_page):
    page, _, errors = open_page(f"{site_url}/chapters/{FILE}")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_function(f"{KEPT}['{FILE}']?.share > 0.9")
    page.goto(f"{site_url}/index.html")
    assert page.locator(COME).text_content() == ", read" and page.locator(".px-goon").count() == 0
    page.emulate_media(media="print")
    assert not page.locator(f".px-chapters a[href*='{FILE}'] .px-come").is_visible() and errors == []


def test_what_another_edition_kept_and_what_nobody_can_read_harm_nothing(site_url, open_page):
    page, _, errors = open_page(f"{site_url}/index.html")
    for kept in ('{"99-gone.html": {"share": 0.5, "place": "x", "words": "X", "time": 9}}', "[", "null", "7"):
        page.evaluate("(kept) => localStorage.setItem('progress', kept)", kept)
        page.reload()
        page.wait_for_function("document.querySelector('.wr-whole:not([hidden])')")
        assert page.locator(".px-goon, .px-come").count() == 0, kept
    assert errors == []
