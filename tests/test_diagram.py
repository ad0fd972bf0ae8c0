"""plusx.explore.diagram: what a state's drawing says, and its parts pressed in Chromium."""

import gzip
import itertools
import json
import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from browser import ROOT
from bundle import bundled

from plusx.explore import ExploreError, diagram
from plusx.explore.controls import bind
from plusx.explore.diagram import draw

LAYER = (
    "[norm:norm=pre attention]:attention_skip norm:norm=post "
    "[norm:norm=pre linear activation:activation linear]:FFN_skip norm:norm=post"
)
OPTIONS = dict(
    norm=["none", "pre", "post"], attention_skip=True, FFN_skip=True, activation=["relu", "gelu", "identity"]
)
# A layer of the playground, half by half.
NORM = ["off", "before the branch", "after the addition"]
HALVES = [
    (
        "attention:[norm:norm_of_attention=before_the_branch attention]:skip_around_attention "
        "norm:norm_of_attention=after_the_addition",
        dict(attention=True, skip_around_attention=True, norm_of_attention=NORM),
    ),
    (
        "FFN:[norm:norm_of_FFN=before_the_branch W₁ activation:activation W₂]:skip_around_FFN "
        "norm:norm_of_FFN=after_the_addition",
        dict(FFN=True, skip_around_FFN=True, norm_of_FFN=NORM, activation=["off", "ReLU", "GELU", "tanh"]),
    ),
]


def controls(**options):
    names = {}
    exec(f"def shown({', '.join(options)}): pass", names)
    return bind(names["shown"], options)


def states(given):
    return list(itertools.product(*(range(len(control.values)) for control in given)))


def drawn(line, state=(), **options):
    """The pieces as elements."""
    given = controls(**(options or {"skip": True}))
    return [ET.fromstring(piece["html"]) for piece in draw(line, given, state or tuple(c.start for c in given))]


def tied(pieces):
    """(control, on, what a press chooses) of each part that can be pressed."""
    found = [each for piece in pieces for each in piece.iter() if "data-set" in each.attrib]
    return [(each.get("data-set"), each.get("data-on") == "true", int(each.get("data-to"))) for each in found]


def words(pieces):
    return [each.text for piece in pieces for each in piece.iter("text")]


# What a state says


def test_a_branch_with_its_skip_and_plus_is_one_piece_and_a_part_on_the_stream_another():
    pieces = drawn("[norm linear] relu norm []")
    assert [len(piece.findall(".//circle[@class='px-plus']")) for piece in pieces] == [1, 0, 0, 1]
    assert words(pieces) == ["norm", "linear", "relu", "norm"]
    assert [piece.get("aria-label") for piece in pieces] == [
        "branch: norm, linear; added to the stream",
        "on the stream: relu",
        "on the stream: norm",
        "branch: nothing; added to the stream",
    ]


def test_a_switch_turns_a_part_and_a_skip_on_and_off():
    on = drawn("[norm:norm linear]:skip", (1, 1), skip=True, norm=True)
    assert tied(on) == [("norm", True, 0), ("skip", True, 0)]
    off = drawn("[norm:norm linear]:skip", (0, 0), skip=True, norm=True)
    assert tied(off) == [("norm", False, 1), ("skip", False, 1)]
    assert off[0].get("aria-label") == "branch: norm off, linear; added to the stream; skip cut"
    assert words(on) == words(off) == ["norm", "linear"]


@pytest.mark.parametrize("label", ["off", "none", "no", "identity", "None", "0", "False"])
def test_these_labels_mean_off(label):
    assert tied(drawn("relu:kind", (0,), kind=[label, "relu"])) == [("kind", False, 1)]
    assert tied(drawn("relu:kind", (1,), kind=[label, "relu"])) == [("kind", True, 0)]


def test_a_number_is_on_unless_it_is_zero_and_a_bool_is_what_it_is():
    assert tied(drawn("a:a", (0,), a={"nothing": 0.0, "half": 0.5}))[0][1] is False
    assert tied(drawn("a:a", (0,), a={"none": True, "with": False}))[0][1] is True


def test_a_part_of_several_labels_shows_the_present_one_and_when_off_the_one_that_a_press_brings_back():
    kinds = ["relu", "gelu", "identity"]
    assert [words(drawn("activation:kind", (i,), kind=kinds)) for i in range(3)] == [["relu"], ["gelu"], ["relu"]]
    assert [tied(drawn("activation:kind", (i,), kind=kinds))[0][1:] for i in range(3)] == [
        (True, 2),
        (True, 2),
        (False, 0),
    ]
    widths = {drawn("activation:kind", (i,), kind=kinds)[0].get("width") for i in range(3)}
    assert len(widths) == 1, "the picture stays put when a label changes"


def test_a_part_that_is_never_off_is_a_button_that_goes_on_to_the_next_label():
    for index, said in enumerate(["relu; press for gelu", "gelu; press for tanh", "tanh; press for relu"]):
        (part,) = drawn("activation:kind", (index,), kind=["relu", "gelu", "tanh"])[0].findall("g")
        assert (part.get("data-role"), part.get("data-to")) == ("button", str((index + 1) % 3))
        assert part.get("data-name") == f"kind: activation, {said}"


def test_a_norm_in_one_of_two_places_is_a_switch_at_each():
    line, norm = "[norm:norm=pre linear] norm:norm=post_sum", ["none", "pre", "post sum"]
    seen = [[each[1:] for each in tied(drawn(line, (i,), norm=norm))] for i in range(3)]
    assert seen == [[(False, 1), (False, 2)], [(True, 0), (False, 2)], [(False, 1), (True, 0)]]
    moved = [[each[1:] for each in tied(drawn(line, (i,), norm=norm[1:]))] for i in range(2)]  # it is never off
    assert moved == [[(True, 1), (False, 1)], [(False, 0), (True, 0)]]
    first = drawn("norm:norm=pre|post_sum", (0,), norm=norm)[0].find("g")
    assert (first.get("data-role"), first.get("data-name")) == ("switch", "norm, pre or post sum")


def test_a_branch_that_is_off_is_removed_and_its_untied_words_bring_it_back_as_one():
    options = dict(FFN=True, kind=["off", "relu"])
    on = drawn("FFN:[linear activation:kind linear]", (1, 1), **options)
    assert tied(on) == [("FFN", True, 0), ("kind", True, 0)]
    off = drawn("FFN:[linear activation:kind linear]", (0, 1), **options)
    assert tied(off) == [("FFN", False, 1), ("kind", True, 0)]
    assert off[0].find("g[@class='px-branch']").get("data-on") == "false"
    assert off[0].get("aria-label") == "branch removed: linear off, activation, linear off"
    assert off[0].find(".//g[@data-set='FFN']").get("data-name") == "FFN: branch"


def test_what_has_nothing_to_choose_is_a_picture():
    assert tied(drawn("[relu:order norm] norm", (0,), order=["original"])) == []
    assert tied(drawn("relu:order=original|pre", (0,), order=["original", "pre"])) == []


@pytest.mark.parametrize(
    "line, message",
    [
        ("[norm", "the diagram '.norm' cannot be read. order: unbalanced or nested brackets"),
        ("[norm]:skp", "the diagram '.norm.:skp' has '.:skp', and no control is called 'skp'. There are skip, norm."),
        ("norm:norm=pro", "has 'norm:norm=pro', and 'norm' has no label 'pro'. It has none, pre, after_the_sum."),
        ("nrm:[relu]", "has 'nrm', and no control is called 'nrm'"),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused_with_its_word(line, message):
    with pytest.raises(ExploreError, match=message):
        draw(line, controls(skip=True, norm=["none", "pre", "after the sum"]), (0, 0))


def test_hostile_words_are_text():
    label = '"><script>alert(1)</script>'
    (piece,) = drawn("[<b>:kind & ']:skip", (0, 1), kind={label: 1, "b": 2}, skip=True)
    assert words([piece]) == [label, "&", "'"]
    assert piece.findall(".//script") == piece.findall(".//b") == []


# How it is drawn


@pytest.mark.parametrize("line", [LAYER, "[relu]:FFN_skip activation:activation"])
def test_every_state_has_the_same_elements_in_the_same_places(line):
    given = controls(**OPTIONS)

    def shape(state):
        pieces = [ET.fromstring(piece["html"]) for piece in draw(line, given, state)]
        return [(e.tag, e.get("class"), e.get("x"), e.get("width"), e.get("d")) for p in pieces for e in p.iter()]

    assert len({str(shape(state)) for state in states(given)}) == 1


def test_the_longest_branch_of_a_transformer_fits_a_phone():
    (piece,) = drawn("[norm linear relu linear]")
    assert int(piece.get("width")) <= 330


def test_a_layer_of_the_playground_needs_sixty_drawings_and_little_room():
    tables = [table(line, controls(**options)) for line, options in HALVES]
    assert [len(each) for each in tables] == [12, 48]
    assert len(gzip.compress(json.dumps(tables).encode(), 9)) < 15_000


# Pressed, in Chromium


def table(line, given):
    """The pieces of every state, by the state as JSON."""
    return {json.dumps(state).replace(" ", ""): draw(line, given, state) for state in states(given)}


@cache
def pressable():
    """A script that offers the module's `diagram` to a page as `diagramOf`."""
    module = ROOT / "src" / "plusx" / "explore" / "js" / "diagram.js"
    with TemporaryDirectory() as folder:
        entry = Path(folder, "entry.js")
        entry.write_text(f"import {{ diagram }} from {json.dumps(str(module))};\nglobalThis.diagramOf = diagram;\n")
        return bundled(entry, "iife")


def html(*lines, theme="light"):
    """A page of diagrams beside their tables of states; `chosen` keeps what was pressed."""
    package = ROOT / "src" / "plusx" / "explore"
    css = "".join((package / name).read_text(encoding="utf8") for name in ("explore.css", "diagram.css"))
    script = pressable()
    tables, body = [], ""
    for line, options in lines:
        given = controls(**options)
        start = tuple(control.start for control in given)
        tables.append({"names": [control.name for control in given], "start": start, "states": table(line, given)})
        pieces = "".join(piece["html"] for piece in draw(line, given, start))
        body += f'<div class="plusx-explore"><div class="px-diagram">{pieces}</div></div>'
    return f"""<!doctype html><html lang="en" data-theme="{theme}"><head><title>Diagrams</title>
<meta name="viewport" content="width=device-width"><style>{css}
[data-theme="dark"] {{ background: #121212; color: #eee }}</style></head><body><main><h1>Diagrams</h1>{body}</main>
<script>{script}</script><script>
const chosen = [];
const diagrams = [...document.querySelectorAll(".px-diagram")].map((node, n) => {{
  const {{ names, start, states }} = {json.dumps(tables)}[n];
  const diagram = diagramOf(node, (control, value) => {{
    chosen.push([control, value]);
    start[names.indexOf(control)] = value;
    diagram.show(states[JSON.stringify(start)]);
  }});
  return diagram;
}});</script></body></html>"""


@pytest.fixture
def opened(open_page):
    """Open diagrams; whatever the page complains of fails the test."""
    complaints = []

    def opened(*lines, width=1280, theme="light", scripts=True):
        page, _, errors = open_page("about:blank", width=width, theme=theme, scripts=scripts)
        errors.clear()  # a blank page has no storage, where `open_page` would note the theme
        complaints.append(errors)
        page.set_content(html(*lines, theme=theme))
        return page

    yield opened
    assert [errors for errors in complaints if errors] == []


TWO = ("[W₁ norm:norm activation:kind W₂]:skip norm:last", dict(norm=True, kind=["relu", "none"], skip=True, last=True))
BLOCKS = (" ".join(3 * ["block_1:[F]", "block_2:[F]", "block_3:[F]"]), {f"block_{i}": True for i in (1, 2, 3)})


def focused(page):
    return page.evaluate("document.activeElement.getAttribute('aria-label')")


def checked(page):
    """Name and state of each switch, as a screen reader is told."""
    return {
        switch.get_attribute("aria-label"): switch.get_attribute("aria-checked") == "true"
        for switch in page.get_by_role("switch").all()
    }


def test_a_press_by_mouse_chooses_and_the_picture_follows(opened):
    page = opened(TWO)
    assert checked(page) == {"skip": True, "norm": True, "kind: activation": True, "last: norm": True}
    for name in ("skip", "norm", "kind: activation", "last: norm"):
        for expected in (False, True, False):
            page.get_by_role("switch", name=name, exact=True).click()
            assert checked(page)[name] is expected
    assert page.evaluate("chosen").count(["kind", 1]) == 2
    assert not any(checked(page).values())
    assert page.locator(".px-cut").is_visible()
    page.locator(".px-hit").first.click()  # W₁ follows nothing
    assert len(page.evaluate("chosen")) == 12


def test_the_keyboard_stops_once_walks_all_parts_and_keeps_its_place(opened):
    page = opened(TWO, TWO)
    page.keyboard.press("Tab")
    walked = [focused(page)]
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        walked.append(focused(page))
    assert walked == ["norm", "kind: activation", "skip", "last: norm", "last: norm"]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    for key, value in [("Space", 0), ("Enter", 1), ("Space", 0)]:
        page.keyboard.press(key)
        assert page.evaluate("chosen.at(-1)") == ["norm", value]
        assert focused(page) == "norm"
        assert page.evaluate("document.activeElement.matches(':focus-visible')")
    page.keyboard.press("Tab")
    assert page.evaluate(
        "document.activeElement.closest('.px-diagram') === document.querySelectorAll('.px-diagram')[1]"
    )
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "norm"
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "skip"
    assert page.evaluate("scrollY") == 0


def test_keys_that_mean_something_to_the_browser_or_the_notebook_stay_apart(opened):
    page = opened(TWO)
    page.evaluate("window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key))")
    page.keyboard.press("Tab")
    for key in ("ArrowRight", "Enter", "Alt+ArrowUp", "a"):
        page.keyboard.press(key)
    assert page.evaluate("heard") == ["Tab", "Alt", "ArrowUp", "a"]
    assert page.evaluate("chosen.length") == 1


def test_the_playground_can_put_a_layer_together_from_two_tables(opened):
    page = opened(*HALVES)
    page.evaluate(
        """(tables) => {
          const values = [[1, 1, 1], [1, 1, 1, 1]]; // as trained
          const names = [["attention", "skip_around_attention", "norm_of_attention"],
            ["FFN", "skip_around_FFN", "norm_of_FFN", "activation"]];
          const node = document.querySelector(".px-diagram");
          document.querySelectorAll(".plusx-explore")[1].remove();
          const layer = node.cloneNode(); // without the listeners of the first
          node.replaceWith(layer);
          const pieces = () => tables.flatMap((table, half) => table[JSON.stringify(values[half])]);
          const diagram = diagramOf(layer, (control, value) => {
            const half = names[0].includes(control) ? 0 : 1;
            values[half][names[half].indexOf(control)] = value;
            window.values = values.flat().join("");
            diagram.show(pieces());
          });
          diagram.show(pieces());
        }""",
        [table(line, controls(**options)) for line, options in HALVES],
    )
    assert page.locator(".px-end:visible").count() == 1  # the stream leaves at the end of the layer
    page.keyboard.press("Tab")
    walked = []
    for _ in range(9):
        page.keyboard.press("Space")
        walked.append((focused(page), page.evaluate("values")))
        page.keyboard.press("ArrowRight")
    assert walked == [
        ("norm of attention, before the branch", "1101111"),
        ("attention: branch", "0101111"),
        ("skip around attention", "0001111"),
        ("norm of attention, after the addition", "0021111"),
        ("norm of FFN, before the branch", "0021101"),
        ("FFN: branch", "0020101"),
        ("activation", "0020100"),
        ("skip around FFN", "0020000"),
        ("norm of FFN, after the addition", "0020020"),
    ]
    assert page.locator(".px-cut:visible").count() == 2


def test_it_works_in_a_shadow_root_that_starts_empty(opened):
    page = opened(TWO)
    page.evaluate(
        """() => {
          const host = document.body.appendChild(document.createElement("div"));
          const root = host.attachShadow({ mode: "open" });
          root.append(Object.assign(document.createElement("div"), { className: "px-diagram" }));
          const diagram = diagramOf(root.firstChild, (control, value) => chosen.push(["shadow", control, value]));
          const pieces = [...document.querySelectorAll(".px-piece")].map((piece) => ({ html: piece.outerHTML }));
          diagram.show(pieces);
          root.querySelectorAll("[data-set]")[1].focus();
          diagram.show(pieces.map(({ html }) => ({ html: html.replaceAll('data-on="true"', 'data-on="false"') })));
        }"""
    )
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("chosen") == [["shadow", "kind", 1], ["shadow", "skip", 0]]


def test_a_press_that_began_before_the_picture_changed_still_counts(opened):
    page = opened(TWO)
    box = page.get_by_role("switch", name="skip", exact=True).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.evaluate(
        """() => diagrams[0].show([...document.querySelectorAll(".px-piece")].map((piece) => {
          return { html: piece.outerHTML.replace("true", "false") };
        }))"""
    )
    page.mouse.up()
    assert page.evaluate("chosen") == [["skip", 0]]


def contrast(front, ground):
    """WCAG's ratio of two colours, "rgb(r, g, b)" each."""

    def luminance(colour):
        shares = [int(c) / 255 for c in re.findall(r"\d+", colour)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted([luminance(front), luminance(ground)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_lines_stand_out_and_axe_finds_nothing(opened, axe, theme):
    page = opened((LAYER, OPTIONS), TWO, BLOCKS, theme=theme)
    page.get_by_role("switch", name="skip", exact=True).click()
    page.get_by_role("switch", name="norm", exact=True).click()
    page.get_by_role("switch", name="block 2: branch").first.click()
    page.mouse.move(0, 0)
    assert axe(page) == []
    colours = page.evaluate(
        """() => [...document.querySelectorAll(".px-piece :is(path, circle, text, .px-box)")].map((node) => {
          const { fill, stroke, display } = getComputedStyle(node);
          const ground = getComputedStyle(node.closest(".plusx-explore")).backgroundColor;
          if (node.tagName === "text") return [fill, getComputedStyle(node.previousElementSibling).fill, 4.5];
          return [stroke === "none" ? fill : stroke, ground, display === "none" ? 0 : 3];
        })"""
    )
    assert len(colours) > 100
    poor = [(front, ground) for front, ground, least in colours if contrast(front, ground) < least]
    assert poor == []


def test_on_a_phone_pieces_wrap_at_full_size_and_parts_are_large_enough_to_touch(opened):
    page = opened((LAYER, OPTIONS), TWO, BLOCKS, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelectorAll('.px-piece').length") == 4 + 2 + 9
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".px-piece")].map((piece) => {
          return piece.getBoundingClientRect().width / piece.viewBox.baseVal.width;
        })"""
    )
    assert sizes == [1] * 15, "no piece had to shrink"
    hits = page.evaluate(
        """() => [...document.querySelectorAll("[data-set] .px-hit")].map((hit) => {
          const { width, height } = hit.getBoundingClientRect();
          return [width, height];
        })"""
    )
    assert min(width for width, _ in hits) >= 24 and min(height for _, height in hits) >= 40
    assert (
        float(page.locator(".px-piece text").first.evaluate("node => parseFloat(getComputedStyle(node).fontSize)"))
        >= 12
    )


@pytest.mark.parametrize("line", [LAYER, TWO[0]])
def test_the_stream_is_one_line_at_one_height_without_gaps(opened, line):
    page = opened((line, OPTIONS if line == LAYER else TWO[1]))
    ends = page.evaluate(
        """() => [...document.querySelectorAll(".px-piece")].map((piece) => {
          const box = piece.getBoundingClientRect();
          return [box.left, box.right, piece.querySelector(".px-stream").getBoundingClientRect().top];
        })"""
    )
    for (_, end, height), (begin, _, next_height) in itertools.pairwise(ends):
        assert (begin, next_height) == (pytest.approx(end, abs=0.01), pytest.approx(height, abs=0.01))


def test_words_stay_within_their_boxes(opened):
    page = opened((LAYER, OPTIONS), TWO, BLOCKS)
    over = page.evaluate(
        """() => [...document.querySelectorAll(".px-piece text")].map((text) => {
          const box = text.previousElementSibling.getBBox(), word = text.getBBox();
          return [text.textContent, word.x - box.x, box.x + box.width - word.x - word.width];
        }).filter(([, left, right]) => Math.min(left, right) < 3)"""
    )
    assert over == []


def test_without_scripts_it_is_a_picture_with_words(opened):
    page = opened(TWO, scripts=False)
    assert page.get_by_role("switch").count() == 0
    assert page.get_by_role("img").first.get_attribute("aria-label") == (
        "branch: W₁, norm, activation, W₂; added to the stream"
    )
    box = page.locator(".px-hit").first
    assert box.evaluate("node => getComputedStyle(node).cursor") == "auto"
    assert page.locator("[tabindex]").count() == 0


def test_the_hand_shows_what_can_be_pressed(opened):
    page = opened(TWO)
    cursors = page.evaluate("[...document.querySelectorAll('.px-hit')].map((hit) => getComputedStyle(hit).cursor)")
    assert cursors == ["auto", "pointer", "pointer", "auto", "pointer", "pointer"]  # W₁ and W₂ follow nothing


def test_forced_colours_keep_lines_and_words(opened):
    page = opened(TWO)
    page.emulate_media(forced_colors="active")
    seen = page.evaluate(
        """() => [".px-stream", ".px-wire", ".px-plus", ".px-box", "text"].map((one) => {
          const { stroke, fill } = getComputedStyle(document.querySelector(`.px-piece ${one}`));
          return one === "text" ? fill : stroke;
        })"""
    )
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert "none" not in seen and ground not in seen


def test_the_script_needs_no_script_of_the_page():
    assert "currentScript" not in pressable()


def test_off_labels_are_the_documented_ones():
    said = re.search(r"its label is (.*?)\.", diagram.__doc__, re.S)[1]
    assert set(re.findall(r"\w+", said)) - {"or"} == diagram.OFF
