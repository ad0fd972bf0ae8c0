"""Read and Lab in the built site: what of a chapter's code is open, and that a reader's choice is kept."""

import pytest

CHAPTER = "chapters/05-degradation.html"
# How many blocks of code and printed tables are seen, apart from those that a tag of their cell folds.
OPEN = """() => [...document.querySelectorAll('.bd-article .cell:not([class*=tag_hide]) pre')]
    .filter((pre) => pre.checkVisibility()).length"""


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_read_folds_code_and_lab_shows_it_until_the_reader_says_otherwise(site_url, open_page, axe, width, theme):
    page, foreign, errors = open_page(f"{site_url}/{CHAPTER}", width=width, theme=theme)
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
    page, _, _ = open_page(f"{site_url}/{CHAPTER}", scripts=False)
    folded = page.locator(".px-fold > .cell_input")
    assert folded.count() > 5
    assert all(each.is_visible() for each in folded.all()) and page.locator(".px-badge").first.is_hidden()
    page, _, _ = open_page(f"{site_url}/{CHAPTER}")
    page.emulate_media(media="print")
    assert all(each.is_visible() for each in page.locator(".px-fold > .cell_input").all())


def test_what_defines_an_idea_in_a_few_lines_stays_open(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{CHAPTER}")
    shown = page.locator(".bd-article .cell:not([class*=tag_hide]):not(.px-fold) pre").all_text_contents()
    assert any(code.startswith("class Block(nn.Module):") for code in shown)
    assert all(len(code.rstrip().splitlines()) <= 20 for code in shown)
