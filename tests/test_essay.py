"""The first page's essay: what one reads sets the picture beside it, and the picture stays in sight."""

import gzip
import re
from pathlib import Path

import pytest
from browser import soup
from essay import bring
from sphinx.errors import ExtensionError

SAID = '.px-scene p:has(a[href^="#"])'
# The state that a step's picture shows, by its link, and whether it says that something is not offered.
SHOWN = """step => [step.querySelector('.px-link').hash.split('?')[1],
                    step.querySelector('.px-message[role=alert]').hidden]"""
MIDDLE = """p => { const { top, height } = p.getBoundingClientRect();
  const at = innerWidth < 1200 ? 0.65 : 0.5; // of the window: where one reads
  scrollTo({ top: top + scrollY + height / 2 - at * innerHeight, behavior: 'instant' }); }"""
RESTS = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))"


@pytest.fixture
def essay(site_url, open_page):
    def essay(width=1280, **how):
        page, foreign, errors = open_page(f"{site_url}/index.html", width=width, **how)
        page.emulate_media(reduced_motion="reduce")
        return page, foreign, errors

    return essay


def read(page, paragraph):
    """Bring a paragraph to where one reads."""
    paragraph.evaluate(MIDDLE)
    page.evaluate(RESTS)


def words(hash):
    return set(re.split("[?&]", hash)[1:])


@pytest.mark.parametrize("width", [1280, 390])
def test_each_paragraph_sets_the_picture_which_stays_in_sight(essay, axe, width):
    page, foreign, errors = essay(width)
    count = page.locator(SAID).count()
    assert count >= 15
    for at in range(count):
        paragraph = page.locator(SAID).nth(at)
        step = paragraph.locator("xpath=ancestor::div[contains(@class, 'px-scene')]")
        read(page, paragraph)
        wanted = words(paragraph.locator('a[href^="#"]').first.evaluate("a => a.hash"))
        page.wait_for_function(
            """([step, words]) => { const link = step.querySelector('.px-link').hash.split(/[?&]/);
                return words.every((word) => link.includes(word)); }""",
            arg=[step.element_handle(), sorted(wanted)],
        )
        assert step.evaluate(SHOWN)[1], wanted
        assert "px-now" in paragraph.get_attribute("class")
        box = step.locator(".px-figure").bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= 900
        if width == 1280:  # on a phone the text goes below the picture
            assert paragraph.bounding_box()["x"] >= box["x"] + box["width"], at
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)  # until the way back to the top has faded
    assert axe(page) == foreign == errors == []


PASSED = """() => [...document.querySelectorAll('.px-scene')].every((step) => {
  const name = step.querySelector('.plusx-explore').dataset.name;
  const links = [...step.querySelectorAll(`p a[href^="#${name}?"]`)];
  const at = innerWidth < 1200 ? 0.65 : 0.5;
  const last = links.findLast((link) => link.closest('p').getBoundingClientRect().top < at * innerHeight);
  const { bottom } = step.getBoundingClientRect();
  if (!last || bottom < 0) return true;
  const shown = step.querySelector('.px-link').hash.split(/[?&]/);
  return last.hash.split(/[?&]/).slice(1).every((word) => shown.includes(word));
})"""


@pytest.mark.parametrize("turn", [130, 800])
def test_no_turn_of_a_wheel_carries_the_picture_past_what_is_read(essay, turn):
    page, _, _ = essay()
    for _ in range(5200 // turn):
        page.mouse.wheel(0, turn)
        page.wait_for_function(PASSED)


def test_from_disk_with_the_network_cut_the_text_sets_the_picture(site, open_page):
    page, foreign, errors = open_page((site / "index.html").as_uri())
    read(page, page.locator(SAID).nth(1))
    page.wait_for_function("() => document.querySelector('.px-scene .px-result').textContent.includes('become one')")
    page.locator(".wr-whole").click()
    assert page.locator(".plusx-writer [role=status]").text_content() == "Off: attention skip of layer 5."
    assert foreign == errors == []


def test_who_presses_takes_over_until_the_next_paragraph(essay):
    page, _, _ = essay()
    first, second = page.locator(SAID).nth(0), page.locator(SAID).nth(1)
    step = page.locator(".px-scene").first
    read(page, first)
    step.locator(".px-diagram [role=switch]").nth(3).click()
    pressed = step.evaluate(SHOWN)[0]
    assert "cut=4" in pressed
    page.mouse.wheel(0, 30)
    page.evaluate(RESTS)
    assert step.evaluate(SHOWN)[0] == pressed
    read(page, second)
    page.wait_for_function("() => document.querySelector('.px-scene .px-link').hash.includes('cut=all')")


def test_coming_down_again_one_reads_the_first_paragraph_anew(essay):
    page, _, _ = essay()
    step, first = page.locator(".px-scene").first, page.locator(SAID).first
    read(page, first)
    step.locator(".px-diagram [role=switch]").nth(3).click()
    assert "cut=4" in step.evaluate(SHOWN)[0]
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.evaluate(RESTS)
    read(page, first)
    page.wait_for_function("() => document.querySelector('.px-scene .px-link').hash.includes('cut=none')", timeout=5000)


def test_a_paragraph_has_one_state_so_that_who_scrolls_sees_each(site):
    paragraphs = [each for each in soup(site / "index.html").select(".px-scene > p") if each.select('a[href^="#"]')]
    assert len(paragraphs) >= 18
    for each in paragraphs:
        assert len(each.select('a[href^="#"]')) == 1, each.get_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_each_picture_can_be_pressed_or_has_what_sets_it_beside_it(essay, width):
    page, _, errors = essay(width)
    for step in page.locator(".px-scene").all():
        read(page, step.locator(":scope > p").nth(1))  # the picture rests: nothing has to scroll for a press
        page.wait_for_timeout(300)
        before = step.evaluate(SHOWN)[0]
        hands = step.locator(".px-diagram [role=switch], .px-controls :is(label.px-switch, label:has([type=radio]))")
        if hands.count():
            hands.filter(visible=True).last.click()
        else:
            step.locator("select").select_option(index=3)  # which no paragraph sets
        page.evaluate(RESTS)
        assert step.evaluate(SHOWN)[0] != before
        assert step.locator(".px-actions").is_hidden()
        assert all(wire.is_hidden() for wire in step.locator(".px-select:has([data-name=cut])").all())
    assert errors == []


def test_every_state_that_the_text_links_to_is_offered(essay):
    page, _, errors = essay()
    links = page.locator('.px-scene p a[href^="#"]')
    for at in range(links.count()):
        step = links.nth(at).locator("xpath=ancestor::div[contains(@class, 'px-scene')]")
        read(page, links.nth(at).locator("xpath=ancestor::p"))  # a press that has to scroll first is no reader's
        links.nth(at).click()
        page.evaluate(RESTS)
        state, offered = step.evaluate(SHOWN)
        assert offered and words(links.nth(at).evaluate("a => a.hash")) <= set(state.split("&"))
    assert errors == []


def test_before_scrolling_it_asks_for_little_and_nothing_jumps(site, site_url, open_page):
    page, _, _ = open_page("about:blank", solid=False)
    asked = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(f"{site_url}/").partition("?")[0]))
    page.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => { for (const each of list.getEntries())
            if (!each.hadRecentInput) shift += each.value; }).observe({ type: 'layout-shift', buffered: true });"""
    )
    page.goto(f"{site_url}/index.html")
    page.wait_for_timeout(1_500)
    files = [Path(site, name) for name in asked if name]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= 350_000
    for _ in range(12):
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(150)
    assert page.evaluate("shift") < 0.02


def test_without_scripts_each_step_has_its_still(site):
    for step in soup(site / "index.html").select(".px-scene"):
        assert step.select_one(".px-still svg path") and step.select_one(".px-result").get_text(strip=True)


def test_a_step_without_its_picture_stops_the_build(tmp_path):
    index, page = tmp_path / "index.html", tmp_path / "chapters" / "one.html"
    pages = {index: '<div class="px-scene" data-from="chapters/one.html#gone">', page: "<p>Nothing.</p>"}
    with pytest.raises(ExtensionError, match="chapters/one.html has no drawn explorer gone"):
        bring(None, pages, tmp_path)
