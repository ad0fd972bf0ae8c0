"""The chapters' explorers: what switches a part of a block is a part of its diagram, and a press there moves it."""

import re

import pytest
from browser import EXPLORING, SAMPLES, sampled, soup
from playwright.sync_api import expect
from test_site import ready, take_over

OF_A_BLOCK = re.compile(r"skip|norm|activation|relu|block_|attention_\d|FFN_\d")


def untied(page):
    """(explorer, control) for each control named after a part of a block that no part of the diagram presses."""
    return {
        (explorer["data-name"], control["data-name"])
        for explorer in page.select(".plusx-explore:not([data-drawn])")  # whose wire has a skip for each layer
        for control in explorer.select("[data-control]")
        if OF_A_BLOCK.search(control["data-name"])
        and not explorer.select(f'.px-diagram [data-set="{control["data-name"]}"]')
    }


def test_each_switch_of_a_block_is_a_part_of_its_diagram(site):
    assert set().union(*(untied(soup(site / chapter)) for chapter in EXPLORING)) == set()


CHOSEN = """(explorer) => Object.fromEntries(
  [...explorer.querySelectorAll("[data-control]")]
    .filter(({ type, checked }) => type !== "radio" || checked)
    .map(({ name, type, checked, value }) => [name, type === "checkbox" ? Number(checked) : Number(value)])
)"""


@pytest.mark.parametrize("chapter", sampled(SAMPLES, SAMPLES[::2]))
def test_each_part_of_a_diagram_presses_its_control_and_follows_it(site_url, open_page, chapter):
    page, _, errors = open_page(f"{site_url}/{chapter}")
    ready(page)
    page.get_by_role("button", name="Read Lab: all code open").click()  # lab notes have explorers, too
    take_over(page)  # else the text that a press scrolls into sight may set the state before the press
    pressed = 0
    for explorer in page.locator(".plusx-explore:has(.px-diagram [data-set])").all():
        parts = explorer.locator(".px-diagram [data-set]")
        for index in range(parts.count()):
            part = parts.nth(min(index, parts.count() - 1))
            control, value = part.get_attribute("data-set"), int(part.get_attribute("data-to"))
            expected = explorer.evaluate(CHOSEN) | {control: value}
            part.locator(".px-hit").last.click()
            assert explorer.evaluate(CHOSEN) == expected
            offered = explorer.locator(f'[data-set="{control}"][data-to="{value}"]')
            expect(offered).to_have_count(0)  # in this state, whose line may have other parts
            pressed += 1
    assert pressed > 0 and errors == []


def test_a_layer_that_nothing_presses_is_no_button(site_url, open_page):
    """Chapter 1's wire has skips to press and no branches, chapter 20's has branches."""
    strokes = """() => [...document.querySelectorAll(".plusx-explore .px-branch > .px-box")].map((box) =>
      [Boolean(box.closest("[data-set]")), getComputedStyle(box).stroke === "none"])"""
    found = set()
    for chapter in ("chapters/01-f-of-x-plus-x.html", "chapters/20-what-depth-does.html"):
        page, _, _ = open_page(f"{site_url}/{chapter}")
        ready(page)
        found |= set(map(tuple, page.evaluate(strokes)))
    assert found == {(True, False), (False, True)}
