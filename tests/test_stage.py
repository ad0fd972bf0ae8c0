"""Explorers in the built site: each fits a screen, and stands beside the text that speaks of it and sets it."""

from itertools import cycle, product

import pytest
from browser import CHAPTERS, EXPLORING, SAMPLES, sampled, soup
from decoding import decode, payload, state
from playwright.sync_api import expect

SCREENS = {1280: (1280, 800), 390: (390, 844)}
FIRST = "chapters/01-f-of-x-plus-x.html"
SEEN = """part => { const { top, bottom, height } = part.getBoundingClientRect();
    return (Math.min(bottom, innerHeight) - Math.max(top, 0)) / height; }"""
READ = """link => {
    const top = scrollY + link.getBoundingClientRect().top - 0.47 * innerHeight;
    scrollTo({ top, behavior: 'instant' }); }"""


def opened(open_page, url, width, **settings):
    page, foreign, errors = open_page(url, width=width, **settings)
    page.set_viewport_size(dict(zip(("width", "height"), SCREENS[width])))
    return page, foreign, errors


@pytest.mark.parametrize("chapter, width", sampled(product(EXPLORING, SCREENS), zip(EXPLORING[::2], cycle(SCREENS))))
def test_every_explorer_fits(site_url, open_page, chapter, width):
    """One screen of a desk's, two of a phone's."""
    page, _, _ = opened(open_page, f"{site_url}/{chapter}", width, solid=False)
    tall = page.locator(".plusx-explore").evaluate_all("all => all.map((root) => [root.id, root.offsetHeight])")
    screens = {1280: 1, 390: 2}[width]
    assert tall
    assert not [each for each in tall if each[1] > screens * SCREENS[width][1]]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_controls_stand_left_of_the_picture_where_there_is_room_and_above_it_elsewhere(site_url, open_page):
    url = f"{site_url}/chapters/18-more-than-one-stream.html"
    for width, beside in ((1280, True), (390, False)):
        page, _, _ = opened(open_page, url, width)
        root = page.locator("#explore-mixing_product")  # no text stands beside it
        page.wait_for_function("document.getElementById('explore-mixing_product').explorer")
        controls, figure = (root.locator(part).bounding_box() for part in (".px-controls", ".px-figure"))
        assert (controls["x"] + controls["width"] <= figure["x"]) == beside
        assert (controls["y"] + controls["height"] <= figure["y"]) != beside


@pytest.mark.parametrize("theme", sampled(["light", "dark"], ["dark"]))
def test_the_explorer_stays_in_sight_and_the_text_sets_it_until_the_reader_does(site_url, open_page, axe, theme):
    page, foreign, errors = opened(open_page, f"{site_url}/{FIRST}", 1280, theme=theme)
    root = page.locator("#explore-one_block")
    skip, links = root.locator("input[name=skip]"), page.locator(".px-words a[href^='#one_block']")
    for link, on, zero in zip(links.all(), [True, False, True], [True, True, False], strict=True):
        link.evaluate(READ)
        page.wait_for_function("link => link.matches('.px-speaks')", arg=link.element_handle())
        assert root.locator(".px-figure").evaluate(SEEN) > 0.7
        expect(skip).to_be_checked(checked=on)  # waits: the explorer's states come when it is near
        expect(root.get_by_role("radio", name="W₂ all zero")).to_be_checked(checked=zero)
    assert axe(page) == []
    root.locator(".px-diagram [data-set=skip]").click()
    page.evaluate("scrollTo({ top: scrollY - 400, behavior: 'instant' })")
    page.evaluate("scrollTo({ top: scrollY + 400, behavior: 'instant' })")
    page.wait_for_timeout(200)
    assert not skip.is_checked() and page.locator(".px-speaks").count() == 0
    links.last.click()  # a press of the link is the reader's, too
    expect(skip).to_be_checked()
    assert root.locator(".px-figure").evaluate(SEEN) > 0.7
    assert foreign == [] and errors == []


def test_no_text_changes_a_control_that_has_the_focus(site_url, open_page):
    """A browser scrolls to what gets the focus, and so past texts; the next key must act on what the reader saw."""
    page, _, errors = opened(open_page, f"{site_url}/{FIRST}", 1280)
    skip, links = page.locator("#explore-one_block input[name=skip]"), page.locator(".px-words a[href^='#one_block']")
    links.first.evaluate(READ)
    page.wait_for_function("link => link.matches('.px-speaks')", arg=links.first.element_handle())
    expect(skip).to_be_checked()
    expect(skip).to_be_enabled()  # until it is, it takes no focus
    page.locator("#explore-one_block .px-diagram [data-set=skip]").focus()
    links.nth(1).evaluate(READ)  # which sets it elsewhere
    page.wait_for_timeout(200)
    assert skip.is_checked() and page.locator(".px-speaks").count() == 0 and errors == []


def test_on_a_phone_the_picture_stays_at_the_top_until_it_is_closed(site_url, open_page, axe):
    page, _, errors = opened(open_page, f"{site_url}/{FIRST}", 390)
    root = page.locator("#explore-one_block")
    close = root.get_by_role("button", name="Close the picture")
    words = page.locator(".px-script", has=root).locator("> .px-words").last.locator("p").last
    words.scroll_into_view_if_needed()
    close.wait_for()
    page.wait_for_timeout(300)
    box = root.bounding_box()
    assert box["y"] < 60 and box["height"] <= 0.45 * 844 and words.bounding_box()["y"] > 0
    assert root.locator(".px-figure").bounding_box()["height"] > 200
    page.locator("#pst-back-to-top").evaluate("button => button.remove()")  # the theme's, shown on the way up
    assert axe(page) == []
    close.focus()
    page.keyboard.press("Enter")
    close.wait_for(state="hidden")
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(200)
    assert close.is_hidden() and root.evaluate("root => getComputedStyle(root).position") == "static"
    assert errors == []


def test_on_paper_in_lab_and_without_scripts_the_explorer_stands_where_the_notebook_has_it(site_url, open_page):
    stands = "script => getComputedStyle(script).display + getComputedStyle(script.querySelector('.px-stage')).position"
    page, _, _ = opened(open_page, f"{site_url}/{FIRST}", 1280)
    script = page.locator(".px-script").first
    assert script.evaluate(stands) == "gridsticky"
    page.emulate_media(media="print")
    assert script.evaluate(stands).startswith("block")
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Read Lab: all code open").click()
    assert script.evaluate(stands).startswith("block")
    page, _, _ = opened(open_page, f"{site_url}/{FIRST}", 1280, scripts=False)
    box, before = page.locator("#explore-one_block").bounding_box(), page.locator(".px-words").first.bounding_box()
    assert box["y"] >= before["y"] + before["height"]


def test_a_switch_that_is_hidden_in_a_card_can_be_pressed_in_its_drawing_in_every_state(site):
    hidden = 0
    for chapter in EXPLORING:
        for root in soup(site / chapter).select(".plusx-explore"):
            names = {label.input["data-name"] for label in root.select(".px-twice")}
            hidden += len(names)
            figure, leaves = decode(payload(site / chapter, root["id"])) if names else ({}, [])
            for at in range(max((len(leaf["index"]) for leaf in leaves), default=0)):
                drawn = str(state(figure, leaves, at)["diagram"])
                assert all(f'data-set="{name}"' in drawn for name in names), (root["id"], at)
    assert hidden > 20


def test_no_prediction_stands_beside_its_answer(site):
    beside = 0
    for chapter in CHAPTERS:
        page = soup(site / chapter)
        beside += len(page.select(".px-script > .px-words:first-child"))
        assert not page.select(".px-script > .px-words:first-child .px-choices"), chapter
    assert beside


def test_a_picture_that_is_hidden_keeps_its_scale(site_url, open_page):
    """Chapter 8 has one in its lab notes; scaled to nothing, it would be drawn infinitely wide as the notes open."""
    page, _, _ = open_page(f"{site_url}/{SAMPLES[1]}", solid=False)
    page.wait_for_function("[...document.querySelectorAll('.px-stage .plusx-explore')].every((e) => e.explorer)")
    page.get_by_role("button", name="Read Lab: all code open").click()
    page.get_by_role("button", name="Read Lab: all code open").click()
    shown = page.locator(".px-stage .plusx-explore").evaluate_all(
        "all => all.map((e) => [e.checkVisibility(), e.style.getPropertyValue('--px-fit')])"
    )
    assert False in [visible for visible, _ in shown] and "0" not in [scale for _, scale in shown]
