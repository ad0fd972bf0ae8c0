"""Drawn figures: the page holds what torch computed, in every state; pressed, pointed at and morphed in Chromium."""

import re

import numpy as np
import pytest
import torch
from decoding import decode, state
from test_palette import contrast
from test_view import page_of, result, settle  # noqa: F401

from plusx.explore.controls import ExploreError, bind
from plusx.explore.drawn import paths, shares, still_drawn, told
from plusx.explore.figures import normalise
from plusx.explore.saved import saved
from plusx.explore.states import DEFAULT, Explorer
from plusx.explore.static import as_seen, fragment
from plusx.show import along, carpet, dots, fanned, fold, river, threads, waterfall

LAYERS = range(1, 7)
D = "[...document.querySelectorAll('.px-plot .px-threads')].map((line) => line.getAttribute('d'))"
STILL = "[...document.querySelectorAll('.px-still .px-threads')].map((line) => line.getAttribute('d'))"


def heights(cut, a=1.0):
    torch.manual_seed(0)
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None] * torch.ones(4, dtype=torch.float64) / 2
    seen = [x]
    for layer in LAYERS:
        w = torch.randn(4, 4, dtype=torch.float64) / 4
        fx = a * torch.tanh(x @ w)
        x = fx if cut in (layer, "all") else fx + x
        seen.append(x)
    return along(torch.stack(seen), torch.ones(4) / 2)


def nine(cut="none", a=1.0):
    """Which skip is cut?"""
    return threads(heights(cut, a), f"cut {cut}, a {a:g}", (-4, 4), skip=("cut", cut))


CONTROLS = dict(cut=["none", *LAYERS, "all"], a=[0.0, 1.0, 2.0])


def test_the_page_holds_the_heights_that_torch_computed_in_every_state():
    explorer = Explorer(nine, bind(nine, CONTROLS), DEFAULT)
    table, leaves = decode(re.search('class="px-states">([^<]+)<', fragment(explorer))[1])
    step = 2.0**-6  # of 8 over 340 pixels: the next power of two below
    for at, indices in enumerate(explorer.states):
        cut, a = (control.values[i] for control, i in zip(explorer.controls, indices))
        told = np.array(state(table, leaves, at)["data"][0]["z"])
        assert np.abs(told - heights(cut, a).T.numpy()).max() <= step / 2 + 1e-6


def test_all_states_share_one_direction():
    states = torch.randn(3, 5, 7, 4, generator=torch.Generator().manual_seed(0)).double()
    found = along(states)
    assert found.shape == (3, 5, 7)
    _, _, directions = np.linalg.svd((states - states.mean(-2, keepdim=True)).reshape(-1, 4).numpy())
    np.testing.assert_allclose(np.abs(found.numpy()), np.abs(states.numpy() @ directions[0]), atol=1e-9)


def test_a_fan_that_is_turned_and_moved_stays_as_wide_and_nobody_in_it_changes_sides():
    rng = torch.Generator().manual_seed(0)
    inputs, sizes = torch.linspace(-1, 1, 9).double(), [1.0, 2.0, 0.25, 0.25]
    ways = torch.nn.functional.normalize(torch.randn(4, 5, generator=rng).double(), dim=1)
    ways[3] = -ways[2]  # even if it is turned round
    states = torch.stack([size * inputs[:, None] * way + 7 * way.flip(0) for size, way in zip(sizes, ways)])
    torch.testing.assert_close(fanned(states), torch.tensor(sizes).double()[:, None] * inputs)
    assert not fanned(torch.zeros(2, 3, 4)).any()


def drawn(grid, kind="threads", span=(-1, 1), **more):
    figure = dict(drawn=kind, span=list(span), data=[dict(type="heatmap", x=[0, 1, 2], y=["a", "b"], z=grid)])
    return figure | dict(layout=dict(title="t", height=100), wire={}) | more


def test_a_thread_goes_through_its_heights():
    _, figure = normalise(drawn([[0, 1, -9], [1, float("nan"), 0]]), "f()")
    first, second = (re.findall(r"[Mc ,h]?(-?[\d.]+)", path) for path in paths(figure))
    assert [float(first[i]) for i in (1, 8, 14)] == [50, -42, 168]  # the middle, up to the edge, down and out
    assert float(second[8]) == 84  # what is no number lies on the lower edge


def test_a_thread_that_leaves_the_picture_has_an_arrowhead_where_it_does():
    _, figure = normalise(drawn([[0, 1, -9], [0.5, float("inf"), 0]]), "f()")
    (*_, down), (*_, up) = (re.findall(r"M([\d.]+),(\d+)L([\d.]+),(\d+)L([\d.]+),(\d+)", way) for way in paths(figure))
    for (left, foot, tip, edge, right, foot_too), (wanted, inwards) in {down: (98, 90), up: (2, 10)}.items():
        assert (int(edge), int(foot), foot_too) == (wanted, inwards, foot)
        assert float(right) - float(left) == pytest.approx(8) and float(left) < float(tip) < float(right)
    assert 500 < float(down[2]) < 960 and 40 < float(up[2]) < 500  # between the layers where it is in and out
    assert all(way.count("L") == 2 for way in paths(figure))  # one that comes back has no more of them
    (wide,) = paths(normalise(river([1.0, 1e40], "t", (-8, 8), size=116), "f()")[1])
    assert re.search(r"c[\d.]+,0 [\d.]+,(-?[\d.]+)", wide)[1] == "-75.0"  # from half of its room to twice all of it


def test_names_stand_one_below_the_other_where_their_threads_begin(page_of):  # noqa: F811
    def told(cut="none"):
        states = torch.tensor([[0.0, 0.125, 0.25], [-1.0, 0.5, 0.0]])
        return threads(states, f"cut {cut}", (-1, 1), ["low", "mid", "high"], named=True, size=300, skip=("cut", cut))

    page, errors = page_of(told, cut=["none", 1])
    ways = [re.match(r"M0,([\d.]+)c20,0 20,(-?[\d.]+) 40,", way).groups() for way in page.evaluate(D)]
    assert [float(at) for at, _ in ways] == [250, 150, 50]
    assert [float(at) + float(up) for at, up in ways] == pytest.approx([150, 132.2, 114.5], abs=0.2)
    figure = page.locator(".px-figure").bounding_box()
    for name, (at, _) in zip(["low", "mid", "high"], ways):
        box = page.locator(".px-names").get_by_text(name, exact=True).bounding_box()
        assert box["x"] + box["width"] <= figure["x"]
        assert box["y"] + box["height"] / 2 == pytest.approx(figure["y"] + float(at) / 300 * figure["height"], abs=2)
    rule, piece = (page.locator(each).first.bounding_box()["x"] for each in (".px-plot .px-layer", ".px-piece"))
    assert abs(rule - piece) < 1.5 and errors == []


def test_the_river_is_as_wide_as_the_logarithm_of_its_size():
    _, figure = normalise(river([1e-8, 1.0, 1e8], "t", (-8, 8), size=116), "f()")
    (path,) = paths(figure)
    ys = [float(y) for y in re.findall(r"M0,([\d.]+)|c[\d.]+,0 [\d.]+,(-?[\d.]+)", path)[0] if y]
    assert ys == [57.2]  # a hair: 0.75 above the middle
    bends = [float(y) for y in re.findall(r"c[\d.]+,0 [\d.]+,(-?[\d.]+) ", path)]
    assert np.cumsum(bends)[:2] == pytest.approx([-24.2, -49.2], abs=0.1)  # half of 50, all of it


def test_two_rivers_share_the_room_and_keep_their_order():
    _, figure = normalise(river([[1.0, 1.0], [1e-8, 1e8]], "t", (-8, 8), ["upper", "lower"], size=116), "f()")
    upper, lower = paths(figure)
    assert upper.startswith("M0,18.5h40")  # a middle of 29, less half of the 21 that its room allows
    assert lower.startswith("M0,86.2h40") and "c" in lower  # a hair above 87
    assert shares(figure) == [1.0, 0.0]
    assert told(figure) == "upper from 10 to the power 0.0 to 0.0; lower from 10 to the power -8.0 to 8.0."


def woven(skip=True):
    """Is there a pattern?"""
    grid = torch.outer(torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 9)) if skip else torch.zeros(5, 9)
    return carpet(grid, f"skip {skip}", (-1, 1), ("agreement", torch.arange(5)), what="slope")


def folded(place="branch"):
    """Where is the ReLU?"""
    sheet = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 5), indexing="xy"), -1)
    layers = torch.stack([sheet, sheet / 2, sheet.relu() if place == "stream" else sheet / 4])
    return fold(layers, place, 1, ("zeros", (layers == 0).double().mean((1, 2, 3))))


PLACES = torch.tensor([[1.0, 0.0], [-1.0, 0.5], [0.0, -1.0]])


def starred(what="words"):
    """Who takes from whom?"""
    taken = torch.tensor([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.125, 0.125, 0.75]])
    places = PLACES if what == "words" else taken @ PLACES
    return dots(places, taken, what, 2, ["the", "cat", "the"])


def fallen(which="first"):
    """Who wrote it?"""
    steps = torch.tensor([2.0, -1.0, 3.0] if which == "first" else [-1.0, 4.0, 0.0])
    says = ["x", "y", "z"] if which == "first" else ["y", "y", "y"]
    return waterfall(steps, which, (-2, 6), ["E", "A1", "F1"], says, what="score")


def test_dots_lie_at_their_places_with_wedges_as_wide_as_shares():
    _, figure = normalise(starred(), "f()")
    ways = paths(figure)
    unit, middle = (420 - 48) / 4, np.array([230, 210])
    for way, dot, place in zip(ways[6:9], ways[9:], PLACES.numpy() * [1, -1] * unit + middle):
        assert way == "M{:.1f},{:.1f}h0".format(*place) and dot == "translate({:.1f},{:.1f})".format(*place)
    one, tip, other = np.array(re.findall(r"([\d.]+),([\d.]+)", ways[0]), float)  # the first takes a quarter of cat
    assert np.hypot(*(one - other)) == pytest.approx(2 * 26 / 4, abs=0.2)
    np.testing.assert_allclose([tip, (one + other) / 2], PLACES[:2].numpy() * [1, -1] * unit + middle, atol=0.11)
    assert ways[2] == "M{0},{1}L{0},{1}L{0},{1}Z".format("323.0", "210.0").replace(
        "L323.0,210.0L", f"L{ways[7][1:-2]}L"
    )  # cat takes nothing of the first: a line without a foot
    assert figure["data"][0]["y"] == ["the", "cat", "the (2)"]


def test_steps_of_a_sum_go_up_and_down_from_where_the_last_one_ended():
    up, down, runs = paths(normalise(fallen(), "f()")[1])
    ys = [292 - 284 * (total + 2) / 8 for total in (0, 2, 1, 4)]  # of 300 pixels, from -2 to 6
    found = [[float(y) for y in re.findall(r"[,V]([\d.]+)", way)] for way in (up, down, runs)]
    assert found[0] == pytest.approx([ys[0], ys[1], ys[0], ys[2], ys[3], ys[2]], abs=0.06)
    assert found[1] == pytest.approx([ys[1], ys[2], ys[1]], abs=0.06) and found[2] == pytest.approx(ys[1:], abs=0.06)


def test_a_sheet_stands_in_its_column_with_all_its_lines():
    _, figure = normalise(folded("stream"), "f()")
    lines = [np.array(re.findall(r"(-?[\d.]+),(-?[\d.]+)", path), float) for path in paths(figure)]
    assert [len(line) for line in lines] == [5] * 30  # five rows and five columns of three sheets
    wide = 1000 / 3
    ends = [0.5 * wide - 0.47 * wide, 0.5 * wide + 0.47 * wide]
    np.testing.assert_allclose(lines[0][[0, -1]], np.transpose([ends, [172, 172]]), atol=0.1)  # the lowest row
    folded_sheet = np.concatenate(lines[20:])
    assert folded_sheet[:, 0].min() == pytest.approx(2.5 * wide, abs=0.1) and folded_sheet[:, 1].max() == 90


def test_words_say_what_converges_and_where():
    _, figure = normalise(drawn([[1, 0.05, 0.001], [-1, -0.05, 0]]), "f()")
    assert told(figure) == (
        "2 threads through 2 layers. They lie within 10% of their first spread from layer 1 on, within 1% of their "
        "first spread from layer 2 on. At the end they spread over 0% of what they did at the start."
    )
    assert told(normalise(starred(), "f()")[1]) == "From the middle of all: cat 1.2, the 1, the (2) 0.83."
    assert told(normalise(fallen(), "f()")[1]) == "3 steps to 4; the largest: F1 +3, E +2, A1 -1."


@pytest.mark.parametrize(
    "figure, message",
    [
        (
            drawn([[0, 0, 0], [0, 0, 0]], kind="thread"),
            "f() returned a figure drawn as 'thread'; draw threads or river",
        ),
        (drawn([[0, 0, 0], [0, 0, 0]], span=(1, 1)), "f() returned the span [1, 1]; give [low, high]"),
        (drawn([[0, 0, 0], [0, 0, 0]], wire=dict(norm=("c", 1))), "a wire with 'norm'"),
        (drawn([[0, 0], [0, 0]]), "data[0] has a z (2, 2), 2 y and 3 x"),
        (drawn([[0, 0, 0], [0, 0, 0]], data=[]), "f() returned nothing to draw; give a first trace with z"),
    ],
)
def test_refusals(figure, message):
    with pytest.raises(ExploreError) as caught:
        normalise(figure, "f()")
    assert message in str(caught.value)


@pytest.mark.parametrize("controls", [dict(cut=["none", 1]), dict(cut=["all", *LAYERS]), dict(other=[1])])
def test_a_wire_needs_a_control_with_its_layers(controls):
    def cuts(cut=None, other=1):
        return nine("none") | dict(wire=dict(skip=("cut", "none")))

    cuts.__defaults__ = controls.get("cut", [None])[0], 1
    with pytest.raises(ExploreError, match="the wire's skip is .'cut', 'none'.; give .control, value., of a control"):
        fragment(Explorer(cuts, bind(cuts, controls), DEFAULT))


def test_one_control_may_cut_skips_and_branches():
    def cuts(cut):
        return nine("none") | dict(wire=dict(skip=("cut", cut), branch=("cut", cut)))

    words = [
        "none",
        *(f"{part} {layer}" for part in ("skip", "branch") for layer in LAYERS),
        "all skips",
        "all branches",
    ]
    explorer = Explorer(cuts, bind(cuts, dict(cut=words)), DEFAULT)
    for at, off in [("skip 3", {"Skip around layer 3"}), ("branch 5", {"Branch of layer 5"})]:
        pieces = "".join(each["html"] for each in explorer.figure((words.index(at),))[1]["diagram"])
        found = re.findall(r'data-to="(\d+)" data-role="switch" data-on="(\w+)" data-name="([^"]+)"', pieces)
        assert {name for _, on, name in found if on == "false"} == off and len(found) == 12
        for to, on, name in found:
            part, layer = name.split()[0].lower(), name[-1]
            assert words[int(to)] == ("none" if on == "false" else f"{part} {layer}")
    pieces = "".join(each["html"] for each in explorer.figure((len(words) - 1,))[1]["diagram"])
    assert pieces.count('data-on="false"') == 6


def test_an_explorer_is_drawn_in_all_states_or_in_none():
    def mixed(a):
        return drawn([[0, 1, 0], [1, 0, 0]]) if a else dict(data=[dict(y=[1])], layout=dict(title="t"))

    with pytest.raises(ExploreError, match="mixed is drawn in some states and not in others"):
        fragment(Explorer(mixed, bind(mixed, dict(a=True)), DEFAULT))


@pytest.mark.parametrize(
    "draw, message",
    [
        (lambda: threads([1.0, 2.0], "t", (0, 1)), r"threads: came a shape \(2,\); expected \(layers \+ 1, inp"),
        (lambda: threads([[float("nan"), 1.0]], "t", (0, 1)), "threads: 1 of its 2 numbers are NaN"),
        (lambda: river([[[1.0]]], "t", (0, 1)), r"river: came a shape \(1, 1, 1\)"),
        (lambda: river([[1.0], [1.0]], "t", (0, 1)), "river: came 2 rivers and 1 names"),
        (lambda: carpet(torch.ones(3), "t", (-1, 1), ("x", [0]), what="y"), r"carpet: came a shape \(3,\)"),
        (lambda: dots(PLACES, torch.eye(2), "t", 2, "abc"), r"dots: came places \(3, 2\), shares \(2, 2\) and 3 names"),
        (lambda: waterfall([1.0], "t", (0, 1), ["a", "b"], ["c"], "x"), "waterfall: came 1 steps, 2 names and 1 words"),
        (lambda: fold(torch.full((2, 3, 3, 2), torch.nan), "t", 1.0, ("x", [0, 1])), "fold: 36 of its 36"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


# ---- in a browser ------------------------------------------------------------------------------------------------


@pytest.fixture
def page(page_of):  # noqa: F811
    page, errors = page_of(nine, **CONTROLS)
    page.emulate_media(reduced_motion="reduce")
    yield page
    assert errors == []


def expected(**controls):
    _, figure = normalise(nine(**controls), "f()")
    return paths(as_seen(figure))


def numbers(found):
    return np.array([float(n) for path in found for n in re.findall(r"-?[\d.]+", path)])


def assert_drawn(page, **controls):
    np.testing.assert_allclose(numbers(page.evaluate(D)), numbers(expected(**controls)), atol=0.11)


# What a thread has on the page: its colour between both ends of the scale, of which 0.85 covers the ground.
STROKES = """thread => {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const of = (colour) => {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  thread.style.fill = 'var(--px-page)';
  const ground = of(getComputedStyle(thread).fill);
  const { strokeOpacity } = getComputedStyle(thread);
  return [ground, ...Array.from({ length: 21 }, (_, at) => {
    thread.style.setProperty('--px-at', `${5 * at}%`);
    return of(getComputedStyle(thread).stroke).map((part, i) => part * strokeOpacity + ground[i] * (1 - strokeOpacity));
  })].map((colour) => '#' + colour.slice(0, 3).map((part) => Math.round(part).toString(16).padStart(2, '0')).join(''));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_thread_of_any_colour_stands_out_from_the_page(page, theme):
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    ground, *colours = page.locator(".px-threads").first.evaluate(STROKES)
    assert len({*colours}) > 15
    assert min(contrast(colour, ground) for colour in colours) >= 3


@pytest.mark.parametrize("span, there", [((-1, 3), 1), ((-5, 2), 1), ((1, 3), 0)])
def test_threads_have_a_line_where_a_height_of_nought_is(span, there):
    _, figure = normalise(threads(torch.zeros(3, 2), "At nought", span), "here")
    lines = re.findall('class="px-zero" d="M0,([^H]*)H', still_drawn(figure))
    assert lines == re.findall("^M0,([^h]*)h", paths(figure)[0])[:there]


def test_the_still_is_the_picture_and_no_plotly_is_asked_for(page):
    np.testing.assert_allclose(numbers(page.evaluate(STILL)), numbers(page.evaluate(D)), atol=0.11)
    assert_drawn(page)
    assert page.evaluate("typeof Plotly") == "undefined"
    assert (
        page.locator(".px-figure").get_attribute("aria-label").startswith("cut none, a 1. 9 threads through 6 layers.")
    )


def test_the_wire_cuts_and_mends_by_mouse_touch_and_key(page):
    skip = page.get_by_role("switch", name="Skip around layer 3")
    skip.click()
    assert result(page) == "cut 3, a 1" and skip.get_attribute("aria-checked") == "false"
    assert_drawn(page, cut=3)
    skip.click()
    assert result(page) == "cut none, a 1"
    skip.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert result(page) == "cut 4, a 1"
    page.wait_for_url("**cut=4**")  # written after the picture
    page.get_by_role("button", name="Reset").click()
    assert result(page) == "cut none, a 1"
    assert_drawn(page)


def middle(part):
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + 12


def test_a_hand_that_goes_along_the_wire_takes_the_cut_with_it(page):
    skips = [page.get_by_role("switch", name=f"Skip around layer {layer}") for layer in LAYERS]
    page.mouse.move(*middle(skips[1]))
    page.mouse.down()
    seen = []
    for skip in skips[2:5]:
        page.mouse.move(*middle(skip), steps=3)
        seen.append(result(page))
    page.mouse.up()
    assert seen == ["cut 3, a 1", "cut 4, a 1", "cut 5, a 1"] == [*seen[:2], result(page)]
    skips[4].click()
    assert result(page) == "cut none, a 1"  # a press is a press again
    hand = page.context.new_cdp_session(page)
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, skip in [("touchStart", skips[0]), ("touchMove", skips[1]), ("touchMove", skips[5]), ("touchEnd", None)]:
        points = [dict(zip("xy", middle(skip)))] if skip else []
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert result(page) == "cut 6, a 1"
    assert_drawn(page, cut=6)


def test_a_hand_may_leave_the_wire_and_the_next_press_counts(page):
    skips = [page.get_by_role("switch", name=f"Skip around layer {layer}") for layer in LAYERS]
    page.mouse.move(*middle(skips[1]))
    page.mouse.down()
    page.mouse.move(*middle(skips[2]), steps=3)
    page.mouse.move(5, 5)
    page.mouse.up()
    assert result(page) == "cut 3, a 1"
    page.mouse.click(*middle(skips[2]))
    assert result(page) == "cut none, a 1"
    page.mouse.move(*middle(skips[0]))
    page.mouse.down()
    page.mouse.move(5, 5)
    page.mouse.up()
    page.mouse.down()  # beside the wire, and across it
    page.mouse.move(*middle(skips[4]), steps=5)
    page.mouse.up()
    assert result(page) == "cut none, a 1"


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("layers", [12, 16, 30])
def test_numbers_of_a_wire_stand_beside_one_another_on_a_narrow_page(page_of, layers, width):  # noqa: F811
    def narrow(cut):
        return threads(torch.zeros(layers + 1, 2), f"cut {cut}", (-1, 1), skip=("cut", cut))

    page, _ = page_of(narrow, cut=["none", *range(1, layers + 1)])
    page.set_viewport_size({"width": width, "height": 700})
    page.add_style_tag(content="body { margin: 0 36px }")  # as in the book
    seen = page.locator(".px-diagram text:visible").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right, top }) => [left, right, top])"
    )
    assert len(seen) == layers
    assert all(right <= left or top < below for (_, right, top), (left, _, below) in zip(seen, seen[1:])), seen
    least = page.locator(".px-diagram .px-hit").evaluate_all(
        "all => Math.min(...all.map((one) => one.getBoundingClientRect()).flatMap((one) => [one.width, one.height]))"
    )
    assert width < 390 or least >= 24  # as a finger needs


def test_each_sum_of_a_wire_is_seen_whole_also_where_one_points_at_the_skip_behind_it(page):
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.mouse.move(*middle(page.locator(".px-diagram .px-skip").nth(3)))
        sums, lines, grounds = page.evaluate(
            """() => [".px-plus", ".px-line", ".px-hit"].map((what) => [...document.querySelectorAll(what)])
              .map((all) => all.map((node) => [node.getBoundingClientRect(), getComputedStyle(node).fill]))
              .map((all) => all.map(([{ left, right }, fill]) => [left, right, fill]))"""
        )
        assert all(right <= left + 1 for (_, right, _), (left, *_) in zip(sums, lines[1:])), (sums, lines)
        assert {fill for *_, fill in grounds} == {"none"}


def test_of_three_rivers_the_middle_one_is_the_skips_and_the_others_are_the_branches(page_of):  # noqa: F811
    def bands(net=1):
        """Which?"""
        return river(torch.ones(3, 4), "three", (0, 1), names=["branch out", "skip cut", "its mean"])

    page, errors = page_of(bands, net=[1, 2])
    found, known = page.evaluate(
        """() => { const root = document.querySelector(".plusx-explore");
          const fill = (node) => getComputedStyle(node).fill;
          const probe = (name) => {
            const node = root.querySelector(".px-plot").appendChild(document.createElement("i"));
            node.style.fill = `var(--px-${name})`;
            return fill(node); };
          const rivers = [...root.querySelectorAll(".px-plot .px-river")].map(fill);
          return [rivers, ["branch", "skip", "branch"].map(probe)]; }"""
    )
    assert found == known and errors == []


def test_columns_of_the_wire_are_those_of_the_threads(page):
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        rules, pieces = page.evaluate(
            """() => [".px-plot .px-layer", ".px-piece"].map((what) => [...document.querySelectorAll(what)]
              .map((node) => node.getBoundingClientRect()).map(({ x, right }) => [x, right]))"""
        )
        assert len(rules) == len(pieces) + 1
        for (left, _), (right, _), (begin, end) in zip(rules, rules[1:], pieces):
            assert abs(begin - left) < 1.5 and abs(end - right) < 1.5
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_second_press_takes_over_from_where_the_threads_are(page):
    page.emulate_media(reduced_motion="no-preference")
    page.reload()
    page.wait_for_selector(".px-live")
    page.evaluate(
        """() => {
          const line = document.querySelector(".px-plot .px-threads");
          window.seen = [];
          const look = () => { window.seen.push(line.getAttribute("d")); requestAnimationFrame(look); };
          look();
        }"""
    )
    page.get_by_role("switch", name="Skip around layer 2").click()
    page.wait_for_timeout(250)
    page.get_by_role("switch", name="Skip around layer 2").click()
    page.wait_for_timeout(900)
    ends = [sum(float(up) for up in re.findall(r",(-?[\d.]+)(?=c|h)", path)) for path in page.evaluate("window.seen")]
    steps = np.abs(np.diff(ends))
    assert len(set(ends)) > 8 and steps.max() < 0.5 * (max(ends) - min(ends)) + 1  # on its way, without a leap
    assert_drawn(page)


def test_one_thread_stands_out_with_its_name_by_pointer_and_by_key(page):
    box = page.locator(".px-plot").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 340 - 8 - 0.75 * 324)  # where the highest begins
    assert page.locator(".px-plot .px-on").count() == 1
    assert re.match(r"2: from 2 to [\d.]+ after 6 layers", page.locator(".px-told").inner_text())
    page.mouse.move(5, 5)
    assert page.locator(".px-told").inner_text() == ""
    page.locator(".px-plot").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.locator(".px-told").inner_text().startswith("-1.5: from -1.5")
    page.keyboard.press("Escape")
    assert page.locator(".px-plot .px-on").count() == 0


def test_the_state_before_stays_faintly_and_a_pinned_one_too(page):
    page.get_by_role("switch", name="Skip around layer 1").click()
    assert page.locator(".px-faint path").count() == 9
    page.get_by_role("button", name="Pin").click()
    page.get_by_role("switch", name="Skip around layer 5").click()
    settle(page)
    assert page.locator(".px-faint path").count() == 9  # the last state is the pinned one
    page.get_by_role("switch", name="Skip around layer 6").click()
    assert page.locator(".px-faint path").count() == 18
    page.get_by_text("Data of this picture").click()
    assert page.locator(".px-table td").count() == 9 * 8


PIXELS = """async () => {
  const seen = (image, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    return [...canvas.getContext("2d").getImageData(0, 0, width, height).data];
  };
  const [canvas, still] = [document.querySelector("canvas.px-carpet"), document.querySelector(".px-still image")];
  const image = new Image();
  image.src = still.getAttribute("href");
  await image.decode();
  return [canvas, image].map((each) => seen(each, canvas.width, canvas.height));
}"""


def test_the_carpet_is_its_still_and_follows_theme_and_state(page_of):  # noqa: F811
    page, errors = page_of(woven, skip=True)
    woven_, still = (np.array(each).reshape(5, 9, 4) for each in page.evaluate(PIXELS))
    assert np.abs(woven_ - still).max() <= 3  # what a canvas makes of colours that are half transparent
    assert woven_[0, 0, 3] == 255 and woven_[2, 4, 3] == 0
    assert tuple(woven_[0, 0, :3]) == (0xBB, 0x4E, 0x09) and tuple(woven_[0, -1, :3]) == (0x1B, 0x56, 0x93)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_timeout(100)
    assert page.evaluate(PIXELS)[0][:3] == [0xF6, 0x8F, 0x3F]
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("switch", name="skip").click()
    assert set(page.evaluate(PIXELS)[0][3::4]) == {0} and result(page) == "skip False"
    assert page.get_by_role("button", name="Pin").count() == 0
    page.get_by_text("Data of this picture").click()
    page.locator(".px-table th").first.wait_for()
    assert page.locator(".px-table th").all_text_contents() == ["layer", "agreement: slope"]
    assert errors == []


@pytest.mark.parametrize(
    "figure, name, kind, options",
    [
        (folded, "place", "fold", ["branch", "stream"]),
        (starred, "what", "dots", ["words", "means"]),
        (fallen, "which", "waterfall", ["first", "second"]),
    ],
)
def test_a_figure_is_drawn_in_each_state_and_begins_as_its_still(page_of, figure, name, kind, options):  # noqa: F811
    page, errors = page_of(figure, **{name: options})
    page.emulate_media(reduced_motion="reduce")
    way = "line.getAttribute('d') ?? line.getAttribute('transform')"
    ways = f"(box) => [...document.querySelectorAll(`${{box}} .px-{kind}`)].map((line) => {way})"
    np.testing.assert_allclose(
        numbers(page.evaluate(ways, ".px-still")), numbers(page.evaluate(ways, ".px-plot")), atol=0.11
    )
    for option in options:
        page.get_by_text(str(option), exact=True).first.click()
        found = page.evaluate(ways, ".px-plot")
        np.testing.assert_allclose(numbers(found), numbers(paths(normalise(figure(option), "f()")[1])), atol=0.11)
    assert errors == []


def test_a_dot_says_from_whom_it_takes_by_pointer_and_by_key(page_of):  # noqa: F811
    page, errors = page_of(starred, what=["words", "means"])
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        dot = page.locator(".px-plot .px-dot").nth(2).bounding_box()
        page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
        assert page.locator(".px-told").inner_text() == "the (2) takes 75 % of itself, 13 % of the, 13 % of cat"
        assert page.locator(".px-plot .px-on").count() == 4  # two wedges, itself and its name
        page.mouse.move(2, 2)
        assert page.locator(".px-told").inner_text() == ""
    page.locator(".px-plot").focus()
    page.keyboard.press("Home")
    assert page.locator(".px-told").inner_text().startswith("the takes 50 % of itself")
    assert errors == []


def test_below_each_step_stands_who_adds_and_what_one_would_read(page_of):  # noqa: F811
    page, errors = page_of(fallen, which=["first", "second"])
    marks = page.locator(".px-marks > span")
    assert [mark.inner_text().split() for mark in marks.all()] == [["E", "x"], ["A1", "y"], ["F1", "z"]]
    page.get_by_text("second", exact=True).first.click()
    assert page.locator(".px-marks b").all_text_contents() == ["y", "y", "y"]
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        plot = page.locator(".px-plot").bounding_box()
        middles = [mark.bounding_box()["x"] + mark.bounding_box()["width"] / 2 for mark in marks.all()]
        np.testing.assert_allclose((np.array(middles) - plot["x"]) / plot["width"], [1 / 6, 1 / 2, 5 / 6], atol=0.01)
    page.get_by_text("Data of this picture").click()
    assert page.locator(".px-table").inner_text().count("A1") >= 1
    assert errors == []


def test_the_result_is_weighed_before_scripts_as_after(page_of):  # noqa: F811
    """Words that grow small only when a script arrives move all below them: 21 px on a phone."""
    titles = ["Two & more (1 to 2), then (a) and (3 to 4). Then the rest (5 to 6). End", "One sentence", "a. b. C"]

    def said(at):
        return dict(data=[dict(x=[0, 1], y=[0, at])], layout=dict(title=titles[at]))

    for at in range(3):
        explorer = Explorer(said, bind(said, dict(at=[at, *{0, 1, 2} - {at}])), DEFAULT)
        before = re.search('role="status"[^>]*>(.*?)</p>', fragment(explorer))[1]
        page, _ = page_of(said, at=[at, *{0, 1, 2} - {at}])
        assert page.locator(".px-result").evaluate("(result) => result.innerHTML") == before
        assert "<small>" in before


SEEN = """async () => {
  const image = document.querySelector("img");
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext("2d").drawImage(image, 0, 0, image.width, image.height);
  const { data } = canvas.getContext("2d").getImageData(0, 0, image.width, image.height);
  const hues = { orange: 0, blue: 0, violet: 0, all: data.length / 4, tall: image.height };
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b, a] = data.slice(i, i + 4);
    if (a > 100 && r - b > 80) hues.orange += 1;
    if (a > 100 && b - r > 80) hues.blue += 1;
    if (a > 100 && b - g > 60) hues.violet += 1;
  }
  return hues;
}"""


def flowing(a):
    """How large is it?"""
    return river([1.0, 1e3], "t", (-4, 4), size=100)


@pytest.mark.parametrize(
    "figure, controls, hues",
    [
        (nine, CONTROLS, ["orange", "blue"]),
        (flowing, dict(a=[1]), ["violet"]),
        (folded, dict(place=["branch", "stream"]), ["orange", "blue"]),
        (starred, dict(what=["words"]), ["orange", "blue"]),
        (fallen, dict(which=["first"]), ["orange", "blue"]),
    ],
)
def test_what_a_notebooks_file_keeps_is_coloured_lines_and_not_black_areas(open_page, figure, controls, hues):
    explorer = Explorer(figure, bind(figure, controls), DEFAULT)
    kept = saved(explorer, explorer.figure(explorer.start))["text/html"]
    page, _, _ = open_page("about:blank")
    page.set_content(kept)
    found = page.evaluate(SEEN)
    assert found["tall"] == explorer.figure(explorer.start)[1]["layout"]["height"]
    assert all(50 < found[hue] < 0.6 * found["all"] for hue in hues), found


def test_nothing_is_drawn_that_a_stranger_named():
    def hostile(cut):
        return threads(
            heights(cut), "<b>", (-4, 4), names=["<b>"] * 9, what="<b>", ends=("<b>", "<b>"), skip=("cut", cut)
        )

    def dotted(a):
        return dots(PLACES, torch.eye(3), "<b>", 2, ["<b>"] * 3)

    def summed(a):
        return waterfall(torch.ones(2), "<i>", (0, 3), ["<i>", "<i>"], ["<i>", "<i>"], what="<i>")

    html = fragment(Explorer(hostile, bind(hostile, {"cut": CONTROLS["cut"]}), DEFAULT))
    assert "<b>" not in html and html.count("&lt;b&gt;") > 9
    html = fragment(Explorer(dotted, bind(dotted, {"a": True}), DEFAULT))
    assert "<b>" not in html and html.count("&lt;b&gt;") > 3
    html = fragment(Explorer(summed, bind(summed, {"a": True}), DEFAULT))
    assert "<i>" not in html and html.count("&lt;i&gt;") > 4
