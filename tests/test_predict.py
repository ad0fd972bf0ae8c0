"""Predictions in the built site: chosen, remembered, told in words, listed on the last page, forgotten."""

import re

import nbformat
import pytest
from browser import ROOT

PAGES = sorted((ROOT / "chapters").glob("*.ipynb"))
CHAPTER = "chapters/05-degradation.html"
OWN = "chapters/take-along.html"
BLOCKED = """Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError') } })"""
QUESTION = re.compile(r'(?:^|\n\n)([^\n]+)\n+<div class="px-choices">(.*?)\n</div>', re.S)
CHOICE = re.compile(
    r'<details name="([\w-]+)"( data-right)?[^>]*><summary>([^\n]*)</summary>\n\n(.*?)\n\n</details>', re.S
)


def prose(path):
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def questions(path):
    """The question above each box of choices, and the choices: name, whether it is marked right, words, answer."""
    text = prose(path)
    found = [(question, CHOICE.findall(choices)) for question, choices in QUESTION.findall(text)]
    assert len(found) == text.count('class="px-choices"')
    assert sum(len(choices) for _, choices in found) == text.count("<details ")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_box_says_which_choice_is_right(path):
    """A prediction in its markup, as its text must not tell; a self-check in its text, which begins with Right."""
    names = []
    for question, choices in questions(path):
        marked = [bool(right) for _, right, _, _ in choices]
        told = [text.startswith("Right") for *_, text in choices]
        names += {name for name, *_ in choices}
        if question.startswith("**Predict.** "):
            assert any(marked) and not all(marked) and not any(told), question
        else:
            assert sum(told) == 1 and not any(marked), question
        # Within the tag no formula is set.
        assert not any("$" in words for _, _, words, _ in choices), question
    assert len(names) == len(set(names))


def choose(page, box, words, key=None):
    summary = page.locator(f"#{box} summary", has_text=words).first
    if key:
        summary.press(key)
    else:
        summary.click()


def state(page, box):
    """What the box says of its choices, and below them."""
    tags = page.locator(f"#{box} .px-tag").all_text_contents()
    told = page.locator(f"#{box} [role=status]")
    return tags, told.text_content() if told.is_visible() else ""


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_choice_is_kept_told_and_changed(site_url, open_page, axe, width, theme):
    box = "ch5-predict-copy"
    page, foreign, errors = open_page(f"{site_url}/{CHAPTER}", width=width, theme=theme)
    assert state(page, box) == (["", "", ""], "")
    choose(page, box, "Where the net with skips ends")
    kept, measured = (
        "Your prediction is kept, in this browser only.",
        "Measured: “Where they ended from random weights”.",
    )
    assert state(page, box) == (["your choice", "", ""], kept)
    page.reload()
    assert state(page, box) == (["your choice", "", ""], kept)
    page.get_by_role("button", name="What was measured?").press("Enter")
    assert state(page, box) == (
        ["your choice", "measured", ""],
        f"{measured} You predicted “Where the net with skips ends”.",
    )
    assert page.evaluate("document.activeElement.getAttribute('role')") == "status"
    choose(page, box, "random weights", key="Enter")
    assert state(page, box) == (["", "your choice, measured", ""], f"{measured} As you predicted.")
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= width
    assert foreign == [] and errors == []


def test_a_self_check_says_in_words_whether_the_choice_is_right(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/01-f-of-x-plus-x.html")
    choose(page, "ch1-check-1", "Zeros")
    assert state(page, "ch1-check-1")[0] == ["your choice, not right", "", ""]
    choose(page, "ch1-check-1", "Its input")
    page.reload()
    assert state(page, "ch1-check-1")[0] == ["", "your choice, right", ""]


def test_the_last_page_lists_what_was_believed_and_forgets_it(site_url, open_page, axe):
    page, foreign, errors = open_page(f"{site_url}/{OWN}", width=390)
    empty = page.get_by_text("Choose an answer wherever")
    assert empty.is_visible() and page.locator(".px-believed table").is_hidden()
    for chapter, box, words in [
        ("relatives", "relatives-predict-unet", "Yes"),  # stands between chapters 9 and 10
        ("10-attention-mixes", "ch10-predict-zero-score", "0 for both"),
        ("02-gradients-through-depth", "ch2-predict-one-change", "Take the ReLU away"),
        ("02-gradients-through-depth", "ch2-check-1", ""),
    ]:
        page.goto(f"{site_url}/chapters/{chapter}.html")
        page.locator(f"#{box} summary", has_text=words).first.click()
    page.goto(f"{site_url}/{OWN}")
    assert empty.is_hidden()
    rows = page.locator(".px-believed tbody tr:visible")
    found = [[" ".join(cell.inner_text().split()) for cell in row.locator("td").all()] for row in rows.all()]
    assert [mine for _, mine, _ in found] == [
        "Take the ReLU away",
        "Yes: its middle holds 80 numbers, twice the signal's 40",
        "0 for both: dissimilar words drop out",
    ]
    assert [measured for *_, measured in found] == [
        "Add a skip around every block; Draw larger weights (Kaiming)",
        "No",
        "Small but positive ones",
    ]
    assert found[0][0].startswith("Gradients through depth Take the plain net")
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    assert rows.count() == 3 and page.get_by_role("button", name="Forget").is_hidden()
    page.emulate_media(media="screen")
    rows.first.get_by_role("link").click()
    assert page.url.endswith("#ch2-predict-one-change") and page.locator("#ch2-predict-one-change").is_visible()
    page.go_back()
    said, asked = page.locator(".px-believed [role=status]"), []
    page.get_by_role("button", name="Forget all 3 predictions").press("Enter")
    assert said.text_content() == "" and rows.count() == 3  # the browser asks, and here the answer is no
    page.once("dialog", lambda dialog: asked.append(dialog.message) or dialog.accept())
    page.get_by_role("button", name="Forget all 3 predictions").press("Enter")
    assert asked == ["Forget all 3 predictions?"]
    assert said.text_content() == "All predictions are forgotten." and empty.is_visible() and rows.count() == 0
    assert page.evaluate("localStorage.getItem('predictions')") is None
    page.reload()
    assert empty.is_visible()
    assert foreign == [] and errors == []


def test_where_nothing_can_be_stored_a_choice_lasts_as_long_as_the_page(site_url, open_page):
    page, _, _ = open_page("about:blank")
    errors = []
    page.on("pageerror", lambda error: errors.append(error.stack))
    page.add_init_script(BLOCKED)
    page.goto(f"{site_url}/{CHAPTER}")
    choose(page, "ch5-predict-copy", "In between")
    choose(page, "ch5-check-1", "")
    assert state(page, "ch5-predict-copy")[0] == ["", "", "your choice"]
    page.goto(f"{site_url}/{OWN}")
    assert page.get_by_text("Choose an answer wherever").is_visible()
    assert not [error for error in errors if "predict.js" in error]


@pytest.mark.parametrize("damaged", ["{", "7", "null", '["In between"]', '{"ch5-predict-copy": {"drawn": 3}}'])
def test_what_is_damaged_counts_as_nothing(site_url, open_page, damaged):
    page, _, errors = open_page(f"{site_url}/{CHAPTER}")
    page.evaluate("damaged => localStorage.setItem('predictions', damaged)", damaged)
    page.reload()
    assert state(page, "ch5-predict-copy") == (["", "", ""], "")
    choose(page, "ch5-predict-copy", "In between")
    assert state(page, "ch5-predict-copy")[0] == ["", "", "your choice"] and errors == []


def test_without_scripts_choices_open_and_the_last_page_says_how_it_fills(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{CHAPTER}", scripts=False)
    page.locator("#ch5-predict-depth summary").first.click()
    assert page.locator("#ch5-predict-depth details p").first.is_visible()
    page, _, _ = open_page(f"{site_url}/{OWN}", scripts=False)
    assert page.get_by_text("Choose an answer wherever").is_visible() and page.locator(".px-believed table").is_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_circle_of_a_choice_stands_beside_its_first_line(site_url, open_page, width):
    page, _, _ = open_page(f"{site_url}/chapters/19-where-the-norm-stands.html", width=width)
    below = page.evaluate("""() => [...document.querySelectorAll('.px-choices summary')]
      .filter((summary) => summary.checkVisibility()).map((summary) => {
        const words = document.createRange();
        words.selectNodeContents(summary);
        return words.getClientRects()[0].top - summary.getBoundingClientRect().top; })""")
    assert len(below) > 12 and max(below) < 16
