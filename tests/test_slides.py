"""Chapters as slides in Chromium: what a class sees on a projector, and what is left when the show is over."""

import gzip
import re

import pytest
from browser import CHAPTERS, SAMPLES, address, sampled

SHOWN = """() => {
  const article = document.querySelector('.bd-article');
  const root = [...article.querySelectorAll('.plusx-explore')].find((each) => each.checkVisibility());
  const figure = root?.querySelector('.px-figure').getBoundingClientRect();
  return {
    label: article.getAttribute('aria-label'), explorer: root?.dataset.name, drawn: Boolean(root?.dataset.drawn),
    high: article.scrollHeight - article.clientHeight, wide: article.scrollWidth - article.clientWidth,
    figure: figure && [figure.width, figure.height, figure.bottom],
    texts: [...article.querySelectorAll('p, li, pre, h1, h2, h3, td, summary')]
      .flatMap((node, i) => node.checkVisibility() ? [i] : []),
  };
}"""


def show(open_page, url, size=(1280, 720), theme="light"):
    page, foreign, errors = open_page("about:blank", theme=theme, solid=False)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    errors.clear()  # a blank page has no store
    page.goto(url)
    page.wait_for_function("[...document.querySelectorAll('.plusx-explore fieldset')].every(e => !e.disabled)")
    return page, foreign, errors


def shown(page):
    return page.evaluate(SHOWN)


def number(page):
    return int(shown(page)["label"].split()[1])


def walk(page):
    """Every slide, from the one that is shown to the last."""
    return page.evaluate(f"""() => {{
        const slides = [({SHOWN})()];
        while (!document.querySelector('.px-next').disabled) {{
          document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowRight', bubbles: true }}));
          slides.push(({SHOWN})());
        }}
        return slides; }}""")


def to_slide(page, number):
    page.evaluate(f"location.hash = location.hash.replace(/=.*|$/, '={number}')")
    page.wait_for_function(f"document.querySelector('.bd-article').ariaLabel.startsWith('Slide {number} ')")


def to_explorer(page):
    page.locator(".px-next").wait_for()
    page.keyboard.press("Home")
    drawn = page.locator("[data-drawn]").evaluate_all("all => all.map((each) => each.dataset.name)")
    slide = next(slide for slide in walk(page) if slide["explorer"] not in (None, *drawn))
    to_slide(page, slide["label"].split()[1])
    return page.locator(f"#explore-{slide['explorer']}")


def words(root):
    return root.locator(".px-result").text_content()


def test_each_chapter_offers_slides_and_no_other_page_does(site):
    offering = {
        str(path.relative_to(site)) for path in site.glob("chapters/*.html") if "btn-slides-button" in path.read_text()
    }
    assert offering == set(CHAPTERS)
    for chapter in CHAPTERS:
        assert (site / chapter).read_text().count("plusx/slides.js") == 1
    script = (site / "_static" / "plusx" / "slides.js").read_bytes()
    assert len(gzip.compress(script)) < 3500


@pytest.mark.parametrize(
    "chapter, size, theme",
    list(zip(SAMPLES, [(1280, 720), (1920, 1080), (1280, 720)], ["light", "dark", "dark"])),
)
def test_all_of_a_chapter_is_on_slides_in_large_type(site, chapter, open_page, size, theme):
    url = (site / chapter).as_uri()
    page, foreign, errors = show(open_page, url, size, theme)
    whole = shown(page)["texts"]
    unfolded = page.evaluate("document.querySelectorAll('.tag_hide-input > details *').length")
    page.locator(".btn-slides-button").click()
    page.wait_for_url(f"{url}#slides=1")
    page.get_by_role("button", name="All of the chapter").click()
    page.wait_for_url(f"{url}#slides-all=1")
    slides = list(walk(page))
    seen = set().union(*(slide["texts"] for slide in slides))
    hidden = page.locator(".bd-article :is(p, li, pre, h1, h2, h3, td, summary)").evaluate_all(
        "all => all.flatMap((e, i) => e.closest('.tag_hide-input > details') ? [i] : [])"
    )
    assert unfolded and set(whole) - set(hidden) - seen == set()
    assert len(slides) > 20 and number(page) == len(slides)
    assert all(slide["wide"] <= 0 for slide in slides)
    for slide in slides:
        if slide["explorer"]:  # all of it without scrolling, and the picture takes a good part
            assert slide["high"] <= 2, slide
            part = 0.5 if slide["drawn"] else 0.64  # under one that is drawn stands its wire
            assert slide["figure"][0] > 0.5 * size[0] and slide["figure"][1] > part * size[1], slide
            assert slide["figure"][2] <= size[1]
    assert len([slide for slide in slides if slide["high"] > 2]) < 0.2 * len(slides)  # long code and tables scroll
    letters = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.bd-article')).fontSize)")
    assert letters > size[1] / 36
    assert foreign == [] and errors == []


@pytest.mark.parametrize("chapter", [CHAPTERS[0], CHAPTERS[13], CHAPTERS[16]])
def test_the_first_slides_are_the_title_predictions_explorers_and_what_to_take_along(site, chapter, open_page):
    page, _, errors = show(open_page, (site / chapter).as_uri() + "#slides")
    explorers = page.locator(".plusx-explore:not(.px-notes *)").evaluate_all("all => all.map((e) => e.dataset.name)")
    slides = walk(page)
    assert [slide["explorer"] for slide in slides if slide["explorer"]] == explorers
    assert len(slides) <= 25 and slides[-1]["label"].endswith("What to take along")
    code = page.locator(".bd-article :is(p, li, pre, h1, h2, h3, td, summary)").evaluate_all(
        "all => all.flatMap((e, i) => e.matches('.cell_input pre') ? [i] : [])"
    )
    assert code and not {*code} & {text for slide in slides for text in slide["texts"]}
    button = page.get_by_role("button", name="All of the chapter")
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true" and len(walk(page)) > len(slides)
    assert shown(page)["label"].endswith("Self-check") or number(page) > 25
    button.press("Enter")
    assert number(page) == len(slides) and errors == []


@pytest.mark.parametrize("theme", sampled(["light", "dark"], ["dark"]))
def test_slides_are_accessible(site_url, open_page, axe, theme):
    page, _, errors = show(open_page, f"{site_url}/{SAMPLES[0]}#slides-all", theme=theme)
    page.evaluate("plusx.reading()")  # Lab, in which code makes tall slides
    page.reload()
    slides = walk(page)
    tall = next(slide["label"] for slide in slides if slide["high"] > 20)
    explorer = next(slide["label"] for slide in slides if slide["explorer"])
    to_slide(page, (tall if theme == "light" else explorer).split()[1])
    assert page.evaluate("document.activeElement.matches('.bd-article')")
    assert axe(page) == []
    outside = page.evaluate("""() => [...document.querySelectorAll('a, button, input, summary, [tabindex]')]
        .filter((e) => e.checkVisibility() && !e.closest('.bd-article, .px-bar')).map((e) => e.outerHTML)""")
    assert outside == [] and errors == []


def test_an_explorer_keeps_its_state_on_the_slide_and_after_it(site, open_page):
    page, _, errors = show(open_page, (site / SAMPLES[0]).as_uri())
    root = page.locator(".plusx-explore[data-bundle]").first
    root.scroll_into_view_if_needed()
    root.locator("[role=switch]").first.click()
    changed = words(root)
    page.wait_for_function("document.querySelector('.plusx-explore[data-bundle]').matches('.px-live')")
    page.wait_for_timeout(300)
    width = root.locator(".px-plot .main-svg").first.evaluate("e => e.getBoundingClientRect().width")
    page.locator(".btn-slides-button").click()
    root = to_explorer(page)
    assert words(root) == changed
    figure = root.locator(".px-figure").bounding_box()
    page.wait_for_function("""([wide, high]) => {
        const drawn = document.querySelector('.plusx-explore[data-bundle] .main-svg').getBoundingClientRect();
        return Math.abs(drawn.width - wide) < 3 && Math.abs(drawn.height - high) < 3; }""",
        arg=[figure["width"], figure["height"]],
    )  # fmt: skip
    for part in range(20, 80, 4):  # down across the lines: plotly knows where the pointer is
        page.mouse.move(figure["x"] + 0.6 * figure["width"], figure["y"] + part / 100 * figure["height"])
        page.wait_for_timeout(60)
        if told := root.locator(".hoverlayer .hovertext").evaluate_all("all => all.map((e) => e.textContent)"):
            break
    assert re.search(r"\b(3[4-9]|4[0-3])\b", told[0]), told  # of 64 layers
    slide = number(page)
    radio = root.locator("input[type=radio]:checked").first
    radio.focus()
    page.keyboard.press("ArrowRight")
    assert number(page) == slide and words(root) != changed  # the arrow was for the control
    changed = words(root)
    page.keyboard.press("PageDown")  # a remote's
    assert number(page) == slide + 1
    page.keyboard.press("Escape")
    assert words(root) == changed
    page.wait_for_function("""wide => {
        const drawn = document.querySelector('.plusx-explore[data-bundle] .main-svg').getBoundingClientRect();
        return Math.abs(drawn.width - wide) < 3; }""", arg=width)  # fmt: skip
    assert errors == []


def test_escape_leaves_no_trace_but_the_place(site, open_page):
    page, _, errors = show(open_page, (site / SAMPLES[0]).as_uri())
    looks = """() => [document.documentElement.className, document.querySelectorAll('.px-off, .px-bar').length,
        ...['tabindex', 'aria-label'].map((name) => document.querySelector('.bd-article').getAttribute(name)),
        document.documentElement.scrollHeight, document.documentElement.scrollWidth]"""
    page.evaluate("scrollTo(0, document.body.scrollHeight)")  # so that all code has been laid out once
    before, url = page.evaluate(looks), address(page)
    page.keyboard.press("Alt+s")
    assert page.locator(".px-bar [role=status]").text_content().startswith("1 / ")
    assert page.evaluate(looks) != before
    for _ in range(12):
        page.keyboard.press("PageDown")
    place = page.locator(".bd-article :is(p, pre):visible").first.element_handle()
    page.keyboard.press("Escape")
    after = page.evaluate(looks)
    assert after[:4] == before[:4] and after[5:] == before[5:] and abs(after[4] - before[4]) < 500
    assert address(page) == url
    assert page.evaluate("document.activeElement.matches('.btn-slides-button')")
    assert page.evaluate(
        "e => { const { top } = e.getBoundingClientRect(); return top > -5 && top < innerHeight }", place
    )
    assert errors == []


def test_the_address_names_a_slide(site, open_page):
    url = (site / SAMPLES[0]).as_uri()
    page, _, errors = show(open_page, f"{url}#slides=3")
    assert number(page) == 3
    for asked in ("slides=x", "slides=-1", "slides"):
        to_slide(page, 2)
        page.evaluate(f"location.hash = {asked!r}")
        page.wait_for_function("location.hash === '#slides=1'")
        assert number(page) == 1, asked
    page.evaluate("location.hash = 'slides=9999'")
    page.wait_for_function("document.querySelector('.px-next').disabled")
    last = number(page)
    page.keyboard.press("ArrowRight")
    assert number(page) == last
    page.locator(".px-previous").click()
    assert number(page) == last - 1
    page.evaluate("location.hash = 'exercises'")  # a link to somewhere on the page
    page.wait_for_function("document.querySelector('.bd-article').ariaLabel.endsWith('Exercises')")
    page.locator(".px-bar button", has_text="Leave").click()
    assert not page.evaluate("document.documentElement.matches('.px-slides')") and errors == []


def test_another_size_keeps_what_is_shown(site, open_page):
    page, _, _ = show(open_page, (site / SAMPLES[0]).as_uri() + "#slides")
    root = to_explorer(page)
    for width, height in [(1024, 768), (390, 844)]:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"innerWidth === {width}")
        assert root.is_visible()
        assert shown(page)["wide"] <= 0
