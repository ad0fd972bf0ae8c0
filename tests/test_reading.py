"""Read and Lab in the built site: what of a chapter's code is open, and that a reader's choice is kept."""

import re

import pytest
from browser import CHAPTERS, WHOLE, sampled, soup
from test_view import settle

CHAPTER = "chapters/05-degradation.html"
FOLDED = "chapters/train-it-yourself.html"  # no part of it is a lab note
# How many blocks of code and printed tables are seen, apart from those that a tag of their cell folds.
OPEN = """() => [...document.querySelectorAll('.bd-article .cell:not([class*=tag_hide]) pre')]
    .filter((pre) => pre.checkVisibility()).length"""


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_read_folds_code_and_lab_shows_it_until_the_reader_says_otherwise(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/{FOLDED}", width=width, theme=theme)
    button = page.get_by_role("button", name="Read Lab: all code open")
    assert button.text_content() == "Read Lab" and button.get_attribute("aria-pressed") == "false"
    badges = page.locator(".px-badge")
    folded = badges.count()
    few = page.evaluate(OPEN)
    assert folded > 5 and page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == []
    badges.first.focus()
    for said in ("true", "false"):
        page.keyboard.press("Enter")
        assert badges.first.get_attribute("aria-expanded") == said
        assert badges.first.locator("xpath=..").locator("pre").first.is_visible() == (said == "true")
    button.click()
    assert page.evaluate(OPEN) >= few + folded and badges.first.is_hidden()
    page.reload()
    assert button.get_attribute("aria-pressed") == "true" and page.evaluate(OPEN) >= few + folded
    button.click()
    assert page.evaluate(OPEN) == few
    assert foreign == [] and errors == []


def test_without_scripts_and_on_paper_all_code_is_open(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{FOLDED}", scripts=False)
    folded = page.locator(".px-fold > .cell_input")
    assert folded.count() > 5
    assert all(each.is_visible() for each in folded.all()) and page.locator(".px-badge").first.is_hidden()
    page, _, _ = open_page(f"{site_url}/{FOLDED}")
    page.emulate_media(media="print")
    assert all(each.is_visible() for each in page.locator(".px-fold > .cell_input").all())


IDEAS = {"05-degradation": "def ", "09-depth-without-normalisation": "class "}  # one cell each
IMPORTS = re.compile(r"\A((import|from) .*\n)+")  # with which a cell to copy begins


@pytest.mark.parametrize("chapter, begins", IDEAS.items())
def test_what_carries_an_idea_stays_open(site_url, open_page, chapter, begins):
    page, _, _ = open_page(f"{site_url}/chapters/{chapter}.html")
    shown = page.locator(".bd-article .cell:not([class*=tag_hide]):not(.px-fold) .cell_input pre").all_text_contents()
    own = [IMPORTS.sub("", code).strip() for code in shown]
    assert own and all(code.startswith(begins) and len(code.splitlines()) <= 15 for code in own)


def test_what_is_measured_is_behind_a_badge_and_what_a_link_or_the_search_leads_to_is_open(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{FOLDED}")
    table = page.locator(".px-fold .px-measured").first
    assert table.is_hidden()
    table.locator("xpath=ancestor::div[contains(@class, 'px-fold')]").locator(".px-badge").click()
    assert table.is_visible()
    word = table.locator("caption").inner_text().split()[0]
    page.reload()
    assert table.is_hidden()
    table.evaluate("table => (table.id = 'here')")
    page.evaluate("location.hash = 'here'")
    table.wait_for()
    page.evaluate("word => localStorage.setItem('sphinx_highlight_terms', word)", word)
    page.goto(f"{site_url}/{FOLDED}")
    table.locator(".highlighted").first.wait_for()
    assert table.is_visible() and page.locator(".px-fold .px-badge[aria-expanded=true]").count() > 0


NOTE = "ten-other-draws-and-other-blocks"  # of chapter 1
LISTED = """() => [...document.querySelectorAll('.px-notes > section')]
    .map((note) => note.querySelector('p').checkVisibility())"""


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_lab_notes_are_titles_that_open_in_read_and_all_open_in_lab_on_paper_and_without_scripts(
    site_url, open_page, axe, width, theme
):
    page, foreign, errors = open_page(f"{site_url}/{CHAPTERS[0]}", width=width, theme=theme)
    assert page.evaluate(LISTED) == [False] * 8
    title = page.get_by_role("button", name="Ten other draws, and other blocks")
    assert title.get_attribute("aria-expanded") == "false"
    title.press("Enter")
    assert page.evaluate(LISTED) == [True] + [False] * 7 and title.get_attribute("aria-expanded") == "true"
    assert page.locator(f"#{NOTE} .px-measured").count() == 2 and axe(page) == []
    title.press("Enter")
    assert page.evaluate(LISTED) == [False] * 8
    page.goto(f"{site_url}/{CHAPTERS[0]}#function_and_slope?skip=off&depth=32")  # a link to what a note holds
    page.reload()
    page.locator("#explore-function_and_slope .px-result").wait_for()
    assert page.evaluate(LISTED) == [False, False, True] + [False] * 5
    page.emulate_media(media="print")
    assert all(page.evaluate(LISTED))
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Read Lab: all code open").click()
    assert all(page.evaluate(LISTED)) and title.is_disabled()
    assert foreign == [] and errors == []
    page, _, _ = open_page(f"{site_url}/{CHAPTERS[0]}", width=width, scripts=False)
    assert all(page.evaluate(LISTED)) and page.locator(f"#{NOTE} > h3").is_visible()


@pytest.mark.parametrize("width, theme", [(1280, "dark"), (390, "light")])
def test_a_mark_shows_its_note_in_a_sheet_which_gives_it_back(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/{CHAPTERS[0]}", width=width, theme=theme)
    mark = page.get_by_role("link", name="the product, drawn block by block")
    mark.focus()
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name="One number through a stack")
    sheet.locator(".px-measured").first.wait_for()
    root = sheet.locator("#explore-function_and_slope")
    root.scroll_into_view_if_needed()
    switch = root.locator("input[name=skip]")  # in a card the drawing stands for it
    (switch if switch.is_visible() else root.get_by_role("switch", name="skip").first).click()
    assert "Flat" in root.locator(".px-result").inner_text()
    box = sheet.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and axe(page) == []
    page.keyboard.press("Escape")
    sheet.wait_for(state="hidden")
    order = page.evaluate("[...document.querySelectorAll('.px-notes > section')].map(({ id }) => id)")
    assert order.index("one-number-through-a-stack") == 2 and page.locator(".px-sheet").count() == 0
    assert mark.evaluate("mark => mark === document.activeElement")
    mark.click()
    sheet.get_by_role("button", name="Close").click()
    sheet.wait_for(state="hidden")
    assert page.evaluate("document.documentElement.scrollWidth") <= width and foreign == [] and errors == []


def test_a_link_out_of_a_sheet_closes_it_and_leads_there(site_url, open_page):
    page, _, errors = open_page(f"{site_url}/{CHAPTERS[8]}")
    page.locator(".px-evidence[href='#start-and-brake-in-numbers']").first.click()
    sheet = page.locator(".px-sheet")
    sheet.locator("a[href^='#start_or_brake?start=larger']").first.click()
    sheet.wait_for(state="detached")
    root = page.locator("#explore-start_or_brake")
    page.wait_for_function(
        "document.querySelector('#explore-start_or_brake .px-result').innerText.startsWith('Larger')"
    )
    assert root.is_visible() and page.locator("#start-and-brake-in-numbers").count() == 1 and errors == []


def test_every_mark_leads_to_a_note_and_every_chapter_has_some(site):
    for chapter in CHAPTERS:
        page = soup(site / chapter)
        notes = {note["id"] for note in page.select(".px-notes > section")}
        marks = [mark["href"].removeprefix("#") for mark in page.select("a.px-evidence")]
        assert set(marks) <= notes, chapter
        unseen = page.select(".px-notes .tag_hide-cell .cell_output")  # Read shows them in no open note
        assert not unseen, chapter
        numbered = chapter.split("/")[1][:2].isdigit() and "17-" not in chapter
        assert not numbered or (len(marks) >= 4 and notes), chapter


# How many screens a chapter's text takes, and how many are above its first explorer or panel.
SCREENS = """() => [
    document.querySelector('.bd-article').scrollHeight / innerHeight,
    (document.querySelector('.plusx-explore, .plusx-playground, .plusx-lanes')?.getBoundingClientRect().top + scrollY)
        / innerHeight,
]"""


@pytest.fixture(scope="module")
def screens(site_url, launch):
    """Chapter -> what SCREENS finds on a small laptop."""
    with launch(False).new_context(viewport={"width": 1280, "height": 800}) as context:
        page, found = context.new_page(), {}
        page.add_init_script(WHOLE)
        for chapter in CHAPTERS:
            page.goto(f"{site_url}/{chapter}")
            found[chapter] = page.evaluate(SCREENS)
    return found


def test_a_chapter_with_its_exercises_is_read_in_twelve_screens(screens):
    whole_tables = {"chapters/17-claims-tested.html", "chapters/a-real-language-model.html"}
    assert {chapter: length for chapter, (length, _) in screens.items() if length > 12}.keys() <= whole_tables


def test_the_picture_of_a_chapter_begins_on_its_first_screen(screens):
    numbered = {chapter: above for chapter, (_, above) in screens.items() if chapter.split("/")[1][:2].isdigit()}
    assert len(numbered) == 20 and {chapter: above for chapter, above in numbered.items() if above > 0.9} == {}


# The parts of a chapter that are not laid out, and how many parts it has.
PARTS = "[...document.querySelectorAll('.bd-article section > :not(section, .px-script), .px-stage, .px-words > *')]"
LEFT_OUT = f"""() => {{
    const inside = {PARTS}.map((part) => part.firstElementChild).filter((child) => child?.checkVisibility());
    const out = inside.filter((child) => !child.checkVisibility({{ contentVisibilityAuto: true }}));
    return [out.length, inside.length];
}}"""
HEIGHTS = "() => [...document.querySelectorAll('.bd-article section > *')].map((part) => part.offsetHeight)"


@pytest.mark.parametrize("width", sampled([1280, 390], [390]))
def test_what_is_read_later_is_laid_out_later_and_just_the_same(site_url, launch, width):
    context = launch(False).new_context(viewport={"width": width, "height": 900})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("window.requestIdleCallback = (call) => (window.idle ??= []).push(call)")
    page.goto(f"{site_url}/{CHAPTER}")
    out, parts = page.evaluate(LEFT_OUT)
    assert out > parts / 3  # the machine was never idle
    page.keyboard.press("Shift")
    assert page.evaluate(LEFT_OUT) == [0, parts]  # the reader is there
    last = page.locator(".bd-article > section > section").last.get_attribute("id")
    page.goto(f"{site_url}/404.html")
    page.goto(f"{site_url}/{CHAPTER}#{last}")
    assert page.evaluate(LEFT_OUT) == [0, parts]  # ... or wants a place, whose height must be right
    assert page.locator(f"#{last} > h2").bounding_box()["y"] < 900

    page = context.new_page()
    page.route("**/*.woff2", lambda route: route.abort())  # which a reload would have at once
    page.goto(f"{site_url}/{CHAPTER}")
    page.wait_for_function(f"{PARTS}.every((part) => part.matches('.px-here'))")
    heights = page.evaluate(HEIGHTS)
    page.reload()
    assert page.evaluate(LEFT_OUT) == [0, parts] and page.evaluate(HEIGHTS) == heights

    page = context.new_page()
    page.add_init_script("window.requestIdleCallback = () => {}")
    page.goto(f"{site_url}/{CHAPTERS[5]}")
    badge = page.locator(".px-badge:visible").last
    badge.evaluate("badge => badge.scrollIntoView({ block: 'center' })")
    badge.hover()
    page.mouse.down()
    assert page.evaluate(LEFT_OUT)[0] > 0  # also above it, where heights are guesses: nothing moves under the finger
    page.mouse.up()
    assert badge.get_attribute("aria-expanded") == "true" and page.evaluate(LEFT_OUT)[0] == 0
    assert errors == []
    context.close()


# What a browser does with controls of a page that has loaded, for what it could fill in: with the first of each form.
LOOK = """() => document.querySelectorAll('.plusx-explore').forEach((root) =>
    root.querySelector('input, select').getBoundingClientRect())"""


def test_where_a_browser_looks_at_controls_little_else_is_laid_out(site_url, launch):
    """All that is said of an explorer was, twice and in one go: 110 ms, and four times that on a phone."""
    context = launch(False).new_context(viewport={"width": 390, "height": 900})
    page, events = context.new_page(), []
    page.add_init_script("window.requestIdleCallback = () => {}")
    page.goto(f"{site_url}/chapters/take-along.html")  # its five explorers are left out
    page.evaluate("document.fonts.ready.then(() => {})")
    settle(page)
    page.evaluate("document.body.offsetHeight")  # what the page itself still had to lay out is not what looking costs
    trace = context.browser.new_browser_cdp_session()
    trace.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    trace.on("Tracing.tracingComplete", lambda _: events.append(None))
    trace.send("Tracing.start", {"traceConfig": {"includedCategories": ["devtools.timeline"]}})
    page.evaluate(LOOK)
    trace.send("Tracing.end")
    while None not in events:
        page.wait_for_timeout(50)
    styled = [event["args"].get("elementCount", 0) for event in events[:-1] if event["name"] == "UpdateLayoutTree"]
    assert len(styled) >= 3 and max(styled) < 30, styled  # of 2,000
    context.close()
