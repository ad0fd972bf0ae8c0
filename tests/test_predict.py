"""Predictions in the built site: chosen or drawn, remembered, told in words, listed on the last page, forgotten."""

import re
from html import unescape
from urllib.parse import parse_qsl

import decoding
import nbformat
import numpy as np
import pytest
from browser import ROOT, sampled

PAGES = sorted((ROOT / "chapters").glob("*.ipynb"))
CHAPTER = "chapters/05-degradation.html"
OWN = "chapters/take-along.html"
BLOCKED = """Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError') } })"""
QUESTION = re.compile(
    r'(?:^|\n\n)([^\n]+)\n+(?:<div class="plusx-sketch[^>]*>\n+)?<div class="px-choices">(.*?)\n</div>', re.S
)
CHOICE = re.compile(r'<details name="([\w-]+)"( data-right)?><summary>([^\n]*)</summary>\n\n(.*?)\n\n</details>', re.S)


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
        "Yes: with 16 channels the middle holds 80 numbers, twice the signal's 40",
        "0 for both: dissimilar words drop out",
    ]
    assert [measured for *_, measured in found] == [
        "Add a skip around every block; Draw larger weights (Kaiming)",
        "No, it stays above 0.25",
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
    said = page.locator(".px-believed [role=status]")
    page.get_by_role("button", name="Forget all 3 predictions").press("Enter")
    assert "press again" in said.text_content() and rows.count() == 3
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Forget all 3 predictions").press("Enter")
    page.get_by_role("button", name="Press again to forget all 3 predictions").press("Enter")
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


# ---- drawn predictions -----------------------------------------------------------------------------------------


OPENING = re.compile(r"([^\n]+)\n\n<div class=\"plusx-sketch\"([^>]*)>\n\n(.*?)\n\n</div>", re.S)
SKETCHES = {}  # id -> the chapter's page, and the attributes
for path in PAGES:
    for _, attributes, _ in OPENING.findall(prose(path)):
        found = {key: unescape(value) for key, value in re.findall(r' ([\w-]+)="([^"]*)"', attributes)}
        SKETCHES[found["id"]] = f"chapters/{path.stem}.html", found
CURVE = "ch14-predict-depth"


def test_what_is_drawn_has_a_question_and_words_for_readers_who_cannot_draw():
    assert len({chapter for chapter, _ in SKETCHES.values()}) >= 4
    for path in PAGES:
        for question, attributes, inside in OPENING.findall(prose(path)):
            assert question.startswith("**Predict.** ")
            id = re.search(' id="([^"]*)"', attributes)[1]
            names = set(re.findall('<details name="([^"]*)"', inside))
            assert names == {id} if names else inside.startswith("In the built book you "), id


def open_sketch(open_page, site_url, id, **how):
    page, foreign, errors = open_page(f"{site_url}/{SKETCHES[id][0]}", **how)
    page.locator(f"#{id} .px-see").wait_for()
    return page, page.locator(f"#{id}"), (foreign, errors)


def measured_in_table(site, page, id):
    """The x axis, the y axis and the median line of the explorer's state, decoded apart from the browser."""
    chapter, attributes = SKETCHES[id]
    name, _, words = attributes["data-explorer"].partition("?")
    told = dict(parse_qsl(words))
    controls, start = page.locator(f"#explore-{name}").evaluate(
        "({ explorer }) => [explorer.controls.map(({ name, labels }) => [name, labels]), explorer.start]"
    )
    assert told.keys() <= {name for name, _ in controls}
    at = 0
    for (control, labels), first in zip(controls, start):
        at = at * len(labels) + (labels.index(told[control]) if control in told else first)
    figure = decoding.state(*decoding.decode(decoding.payload(site / chapter, f"explore-{name}")), at)
    lines = [trace for trace in figure["data"] if trace.get("name") == attributes["data-trace"]]
    (line,) = [trace for trace in lines if "lines" in trace["mode"] and trace["line"]["width"] >= 3]
    return line, figure["layout"]["yaxis" + line.get("yaxis", "y")[1:]]


def shares(axis, values):
    """Where values stand on an axis, 0 to 1."""
    low, high = axis["range"]
    places = np.log10(values) if axis.get("type") == "log" else np.asarray(values)
    return np.clip((places - low) / (high - low), 0, 1)


def predict(sketch):
    """Something, by the keyboard."""
    sketch.locator("circle").first.press("ArrowUp")


@pytest.mark.parametrize("id", sampled(SKETCHES, [CURVE, "ch05-predict-curve"]))
def test_what_is_shown_as_measured_is_the_explorers_table(site, site_url, open_page, id):
    page, sketch, complaints = open_sketch(open_page, site_url, id)
    see, said = sketch.get_by_role("button", name="See what was measured"), sketch.locator(".px-said")
    assert see.is_disabled() and sketch.locator(".px-choices").filter(visible=True).count() == 0
    predict(sketch)
    see.press("Enter")
    assert said.evaluate("said => said === document.activeElement") and see.is_hidden()
    line, axis = measured_in_table(site, page, id)
    drawn = sketch.locator(".px-measured-line").get_attribute("d")
    heights = np.array([float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", drawn)])
    ys = [float(sketch.locator("g line").last.get_attribute(key)) for key in ("y1", "y2")]
    np.testing.assert_allclose((max(ys) - heights) / (max(ys) - min(ys)), shares(axis, line["y"]), atol=1e-3)
    words = said.text_content()
    assert re.match("You: .+ Measured: .+", words)
    page.reload()
    see.wait_for(state="hidden")
    said.filter(has_text="Measured").wait_for()
    assert said.text_content() == words
    mine, measured = re.match(r"You: (.+)\. Measured: (.+?)\. ?(?:[A-Z]|\d+ of|$)", words).groups()
    page.goto(f"{site_url}/{OWN}")
    cells = page.locator(f".px-believed [data-box={id}] td").all_inner_texts()
    assert cells[1:] == [mine, measured]
    assert complaints == ([], [])


def kept(page, id):
    return page.evaluate("id => JSON.parse(localStorage.getItem('predictions'))?.[id]?.drawn", id)


def stroke(sketch):
    """Where a hand draws, from the upper left of the axes to the lower right."""
    sketch.scroll_into_view_if_needed()
    box = sketch.locator("svg").bounding_box()
    return [(box["x"] + 66 + t * (box["width"] - 140), box["y"] + 40 + t * 150) for t in np.linspace(0, 1, 9)]


def test_a_curve_is_drawn_by_mouse_and_its_points_moved_by_keys(site_url, open_page):
    page, sketch, _ = open_sketch(open_page, site_url, CURVE)
    points = stroke(sketch)
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[::4]:  # a fast hand passes points
        page.mouse.move(*point)
    page.mouse.up()
    drawn = kept(page, CURVE)
    assert (
        drawn == sorted(drawn, reverse=True)
        and len(set(drawn)) == len(drawn) == 7
        and drawn[0] > 0.01 > 1e-9 > drawn[-1]
    )
    handle = sketch.get_by_role("slider", name="layer 12", exact=True)
    before = int(handle.get_attribute("aria-valuenow"))
    handle.press("ArrowDown")
    assert int(handle.get_attribute("aria-valuenow")) == before - 1
    assert kept(page, CURVE)[3] < drawn[3] and kept(page, CURVE)[4] == drawn[4]
    handle.press("End")
    assert handle.get_attribute("aria-valuetext") == "3.2" and handle.evaluate("it => it === document.activeElement")
    page.goto(f"{site_url}/{OWN}")
    cells = page.locator(f".px-believed [data-box={CURVE}] td").all_inner_texts()
    assert cells[1].startswith("below 10⁻⁶ at layer ") and cells[2] == "not looked at yet"


def test_a_finger_draws_and_does_not_scroll(site_url, open_page):
    page, sketch, _ = open_sketch(open_page, site_url, CURVE, width=390)
    points = stroke(sketch)
    hand = page.context.new_cdp_session(page)
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    before = page.evaluate("scrollY")
    for kind, point in [("touchStart", points[0]), *(("touchMove", point) for point in points), ("touchEnd", None)]:
        where = [dict(x=point[0], y=point[1])] if point else []
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})
    assert page.evaluate("scrollY") == before
    drawn = kept(page, CURVE)
    assert len(set(drawn)) == 7 and drawn[-1] < 1e-9


def test_a_finger_that_sets_out_upwards_scrolls_and_draws_nothing(site_url, open_page):
    page, sketch, _ = open_sketch(open_page, site_url, CURVE, width=390)
    x, y = stroke(sketch)[0][0] + 30, stroke(sketch)[4][1]
    hand = page.context.new_cdp_session(page)
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    before = page.evaluate("scrollY")
    hand.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [dict(x=x, y=y)]})
    for step in range(15):
        moved = [dict(x=x, y=y - 10 * step)]
        hand.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": moved})
        page.wait_for_timeout(16)
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"scrollY > {before} + 50")
    assert page.evaluate("localStorage.predictions ?? '{}'") == "{}" and sketch.locator(".px-see").is_disabled()


def test_a_drawing_on_a_phone_in_the_dark_and_on_paper(site_url, open_page, axe):
    page, sketch, (foreign, errors) = open_sketch(open_page, site_url, CURVE, width=390, theme="dark")
    assert axe(page) == []
    predict(sketch)
    sketch.locator(".px-see").click()
    page.wait_for_timeout(1000)  # what arrives has arrived
    assert axe(page) == [] and page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    assert sketch.locator(".px-said").is_visible() and not sketch.get_by_role("button").filter(visible=True).count()
    assert foreign == [] and errors == []


@pytest.mark.parametrize("id", SKETCHES)
def test_who_cannot_draw_reads_choices_or_a_sentence(site_url, open_page, id):
    page, _, _ = open_page(f"{site_url}/{SKETCHES[id][0]}", scripts=False)
    inside = page.locator(f"#{id} :is(summary, p)")
    assert inside.first.is_visible() and inside.first.text_content()


def test_a_drawing_lasts_as_long_as_the_page_where_nothing_can_be_stored(site_url, open_page):
    page, _, _ = open_page("about:blank")
    page.add_init_script(BLOCKED)
    page.goto(f"{site_url}/{SKETCHES[CURVE][0]}")
    sketch = page.locator(f"#{CURVE}")
    sketch.locator(".px-see").wait_for()
    predict(sketch)
    sketch.locator(".px-see").click()
    assert sketch.locator(".px-said").text_content().endswith("Measured: below 10⁻⁶ at layer 3. ")


@pytest.mark.parametrize("damaged", ['"0.1"', "[]", "[1, 2, 3, 4, 5, 6, null]", "7"])
def test_a_damaged_drawing_counts_as_nothing(site_url, open_page, damaged):
    page, sketch, (_, errors) = open_sketch(open_page, site_url, CURVE)
    page.evaluate(f'localStorage.setItem(\'predictions\', \'{{"{CURVE}": {{"drawn": {damaged}, "seen": true}}}}\')')
    page.reload()
    sketch.locator(".px-see").wait_for()
    assert sketch.locator(".px-see").is_disabled() and errors == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_circle_of_a_choice_stands_beside_its_first_line(site_url, open_page, width):
    page, _, _ = open_page(f"{site_url}/chapters/19-where-the-norm-stands.html", width=width)
    below = page.evaluate("""() => [...document.querySelectorAll('.px-choices summary')]
      .filter((summary) => summary.checkVisibility()).map((summary) => {
        const words = document.createRange();
        words.selectNodeContents(summary);
        return words.getClientRects()[0].top - summary.getBoundingClientRect().top; })""")
    assert len(below) > 12 and max(below) < 16


def test_a_sketch_has_its_room_before_it_is_there_and_its_choices_if_its_explorer_is_not(site_url, open_page):
    url = f"{site_url}/chapters/14-rank-collapse.html"
    held = []
    for width in (1280, 390):
        page, _, _ = open_page("about:blank", width=width)
        page.route("**/14-rank-collapse-residual_by_depth.js", lambda route: held.append(route))
        page.goto(url)
        box = page.locator(".plusx-sketch")
        empty = box.bounding_box()["height"]
        assert not box.locator("summary").first.is_visible()
        while not held:
            page.wait_for_timeout(50)
        held.pop().continue_()
        box.locator("svg").wait_for()
        assert abs(box.bounding_box()["height"] - empty) < 3
    page.route("**/14-rank-collapse-residual_by_depth.js", lambda route: route.abort())
    page.goto(url)
    box.locator("summary").first.wait_for()
    assert box.locator("svg").count() == 0
