"""A chapter on a projector in Chromium: what a class sees, how one goes through it, and what is left after it."""

import re

import pytest
from browser import CHAPTERS, EXPLORING, SAMPLES, address, sampled

ON = "document.documentElement.matches('.px-slides')"
PARTS = "section > :is(h1, h2, h3), .plusx-explore, .plusx-playground, .plusx-lanes, p:has(+ .px-choices)"


def show(open_page, url, size=(1280, 720), theme="light"):
    page, foreign, errors = open_page("about:blank", theme=theme, solid=False)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    errors.clear()  # a blank page has no store
    page.goto(url)
    page.wait_for_function("[...document.querySelectorAll('.plusx-explore fieldset')].every(e => !e.disabled)")
    return page, foreign, errors


def words(root):
    return root.locator(".px-result").text_content()


def test_each_chapter_offers_it_and_no_other_page_does(site):
    offering = {str(path.relative_to(site)) for path in site.glob("**/*.html") if "btn-slides" in path.read_text()}
    assert offering == set(CHAPTERS)
    for chapter in CHAPTERS:
        assert (site / chapter).read_text().count("plusx/slides.js") == 1


@pytest.mark.parametrize(
    "chapter, size, theme",
    list(zip(SAMPLES, [(1280, 720), (1920, 1080), (1366, 768)], ["light", "dark", "dark"])),
)
def test_steps_pass_every_part_and_all_of_the_text_in_large_type(site, chapter, open_page, size, theme):
    page, foreign, errors = show(open_page, (site / chapter).as_uri() + "#slides", size, theme)
    seen, reached, last = set(), set(), -1
    while (here := page.evaluate("scrollY")) != last:
        last = here
        tops, shown = page.evaluate(f"""() => {{
            const inside = ({{ top, bottom }}) => bottom > 0 && top < innerHeight;
            const ofText = [...document.querySelectorAll('.bd-article :is(p, li, h1, h2, h3, summary)')];
            return [[...document.querySelectorAll('.bd-article :is({PARTS})')].flatMap((part, i) =>
                Math.abs(part.getBoundingClientRect().top) < 60 ? [i] : []),
              ofText.flatMap((node, i) => inside(node.getBoundingClientRect()) ? [i] : [])]; }}""")
        reached.update(tops)
        seen.update(shown)
        page.keyboard.press("PageDown")
    parts, texts = page.evaluate(f"""() => [`:is({PARTS})`, ':is(p, li, h1, h2, h3, summary)'].map((kind) =>
        [...document.querySelectorAll(`.bd-article ${{kind}}`)].flatMap((e, i) => e.checkVisibility() ? [i] : []))""")
    assert len(parts) > 15 and set(parts) <= reached and set(texts) <= seen
    letters = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.bd-article')).fontSize)")
    assert letters > size[1] / 36 and page.evaluate("document.documentElement.scrollWidth") <= size[0]
    figures = page.locator(".plusx-explore > .px-figure").evaluate_all(
        "all => all.filter((e) => e.checkVisibility()).map((e) => [e.offsetWidth, e.offsetHeight])"
    )
    assert all(wide > 0.4 * size[0] and high > 0.5 * size[1] for wide, high in figures) and figures
    assert foreign == errors == []


@pytest.mark.parametrize("chapter", sampled(EXPLORING, ["chapters/02-gradients-through-depth.html", SAMPLES[1]]))
def test_what_is_switched_and_what_it_does_are_on_one_screen(site, chapter, open_page):
    page, _, errors = show(open_page, (site / chapter).as_uri() + "#slides")
    sizes = page.locator(".plusx-explore").evaluate_all(
        "all => all.filter((e) => e.checkVisibility()).map((e) => [e.dataset.name, e.offsetHeight])"
    )
    assert sizes and [each for each in sizes if each[1] > 720] == [] and errors == []


def test_a_lab_note_that_a_lesson_leads_to_is_shown_and_no_other(site, open_page):
    """The plans of lessons have links to explorers in lab notes."""
    address = (site / "chapters" / "02-gradients-through-depth.html").as_uri() + "#inside_one_layer?norm=none"
    page, _, errors = show(open_page, address)
    note = page.locator(".px-notes > section", has=page.locator("#explore-inside_one_layer"))
    page.locator("#explore-inside_one_layer").wait_for()
    page.keyboard.press("Alt+KeyS")
    assert page.evaluate(ON) and page.locator("#explore-inside_one_layer").is_visible()
    assert page.locator("#explore-inside_one_layer").evaluate("e => e.getBoundingClientRect().top < innerHeight")
    assert page.locator(".px-notes > *").filter(visible=True).count() == note.count() == 1 and errors == []


@pytest.mark.parametrize("theme", sampled(["light", "dark"], ["dark"]))
def test_it_is_accessible_and_all_bars_are_gone(site_url, open_page, axe, theme):
    page, _, errors = show(open_page, f"{site_url}/{SAMPLES[0]}#slides", theme=theme)
    assert axe(page) == []
    outside = page.evaluate("""() => [...document.querySelectorAll('a, button, input, summary, [tabindex]')]
        .filter((e) => e.checkVisibility() && !e.closest('.bd-article, .px-bar')).map((e) => e.outerHTML)""")
    assert outside == [] and page.locator(".px-notes, .px-badge").filter(visible=True).count() == 0 and errors == []


def test_an_explorer_keeps_its_state_and_its_arrow_keys_and_plotly_knows_the_pointer(site, open_page):
    page, _, errors = show(open_page, (site / SAMPLES[0]).as_uri())
    root = page.locator(".plusx-explore[data-bundle]").first
    root.scroll_into_view_if_needed()
    root.locator("[role=switch]").first.click()
    changed = words(root)
    page.wait_for_function("document.querySelector('.plusx-explore[data-bundle]').matches('.px-live')")
    page.locator(".btn-slides-button").click()
    assert words(root) == changed
    root.evaluate("root => root.scrollIntoView()")
    figure = root.locator(".px-figure").bounding_box()
    page.wait_for_function("""([wide, high]) => {
        const drawn = document.querySelector('.plusx-explore[data-bundle] .main-svg').getBoundingClientRect();
        return Math.abs(drawn.width - wide) < 3 && Math.abs(drawn.height - high) < 3; }""",
        arg=[figure["width"], figure["height"]],
    )  # fmt: skip
    for part in range(20, 80, 4):  # down across the lines
        page.mouse.move(figure["x"] + 0.6 * figure["width"], figure["y"] + part / 100 * figure["height"])
        page.wait_for_timeout(60)
        if told := root.locator(".hoverlayer .hovertext").evaluate_all("all => all.map((e) => e.textContent)"):
            break
    assert re.search(r"\b(3[4-9]|4[0-3])\b", told[0]), told  # of 64 layers
    root.locator("input[type=radio]:checked").first.focus()
    place = page.evaluate("scrollY")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("scrollY") == place and words(root) != changed  # the arrow was for the control
    page.keyboard.press("PageDown")  # a remote's
    assert page.evaluate("scrollY") > place
    changed = words(root)
    page.keyboard.press("Escape")
    assert words(root) == changed and errors == []


def test_it_opens_where_one_reads_and_escape_leaves_no_trace_but_the_place(site, open_page):
    page, _, errors = show(open_page, (site / SAMPLES[0]).as_uri())
    url, looks = address(page), "[document.documentElement.className, document.querySelectorAll('.px-bar').length]"
    before = page.evaluate(looks)
    in_sight = "e => { const { top } = e.getBoundingClientRect(); return top > -5 && top < innerHeight }"
    reading = page.locator(".bd-article section > h2").nth(3).element_handle()
    reading.evaluate("heading => heading.scrollIntoView({ behavior: 'instant' })")
    page.keyboard.press("Alt+s")
    assert page.evaluate(ON) and reading.evaluate(in_sight)
    for name, further in (("Next part", True), ("Next part", True), ("Previous part", False)):
        place = page.evaluate("scrollY")
        page.get_by_role("button", name=name).click()
        assert (page.evaluate("scrollY") > place) == further
    place = page.locator(f".bd-article :is({PARTS})").evaluate_all(
        "all => all.findIndex((part) => Math.abs(part.getBoundingClientRect().top) < 60)"
    )
    page.keyboard.press("Escape")
    assert page.locator(f".bd-article :is({PARTS})").nth(place).evaluate(in_sight)
    assert page.evaluate(looks) == before and address(page) == url
    assert page.evaluate("document.activeElement.matches('.btn-slides-button')")
    page.evaluate("location.hash = 'slides'")  # as a link of a lesson plan
    page.wait_for_function(ON)
    page.get_by_role("button", name="Leave (Esc)").click()
    assert not page.evaluate(ON) and address(page) == url and errors == []
