"""Explorers on a small page: ghosts and pins, the diagram, what a kernel answers, and faults that once were there."""

import base64
import re
import shutil
from pathlib import Path

import numpy as np
import plotly
import pytest
import torch
from browser import address, sampled, serve

from plusx.explore.controls import bind
from plusx.explore.figures import table
from plusx.explore.live import Live, _plotly
from plusx.explore.states import DEFAULT, Explorer, packed
from plusx.explore.static import as_seen, fragment
from plusx.show import dots, threads, waterfall
from plusx.sphinx.extension import ASSETS, EXPLORE

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
LOADED = "document.querySelectorAll('.plusx-explore.px-live').length"
# What plotly draws of the present state, then the ghosts that are drawn into its picture.
TRACES = """() => {
  const plot = document.querySelector('.px-plot'), traces = plot.data.filter(({ mode }) => mode !== 'none');
  const drawn = Object.values(plot._fullLayout._plots).flatMap(({ plot: layer, yaxis }) =>
    [...layer.node().querySelectorAll('.px-ghosts > g')].map((ghost) => {
      const path = ghost.firstChild, places = path.getAttribute('d').matchAll(/[ML][\\d.-]+,([\\d.-]+)/g);
      return { y: [...places].map(([, y]) => Math.round(yaxis.p2d(Number(y)) * 10) / 10), faint: true,
        opacity: ghost.style.opacity, dash: path.style.strokeDasharray, color: getComputedStyle(path).stroke };
    }));
  const own = traces.map(({ y }) => ({ y: Array.from(y ?? []), faint: false }));
  return [...own, ...drawn];
}"""

# Texts and paths, where each lies and how it looks; ticks in the order of their texts.
PICTURE = """() => { const looks = (node) => {
    const style = getComputedStyle(node), filled = ['fill', 'fill-opacity', 'opacity', 'font-size'];
    const stroked = ['stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray'];
    return [...filled, ...(parseFloat(style.strokeWidth) ? stroked : [])].map((name) => style.getPropertyValue(name));
  };
  return [...document.querySelectorAll('.px-plot .main-svg :is(path, text)')].map((node) => [
    node.closest('[class*=tick], .gridlayer') ? `tick ${node.textContent}` : 'drawn', node.textContent,
    ...['d', 'transform', 'x', 'y'].map((name) => node.getAttribute(name) ?? ''),
    ...looks(node)].join(' '))
  .map((text, i) => (text.startsWith('tick') ? text : `${1000 + i} ${text}`)).sort(); }"""
NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")


def curve(skip, depth, kind="relu"):
    y = [depth * x + (10 if skip else 0) for x in range(4)]
    return dict(
        data=[dict(x=[0, 1, 2, 3], y=y, name="y")],
        layout=dict(title=f"{skip} {depth} {kind}", xaxis=dict(range=[0, 3]), yaxis=dict(range=[0, 60])),
        diagram="[linear kind:kind]:skip",
    )


CONTROLS = dict(skip=True, depth=[1, 2, 4, 8, 16], kind=["relu", "tanh", "identity"])


@pytest.fixture
def page_of(tmp_path, open_page):
    """Open a page with an explorer of a function, drawn; returns the page and the errors it logs."""

    def page_of(function, query="", drawn=True, setup="", **controls):
        for name in ASSETS:
            shutil.copy(EXPLORE / name, tmp_path)
        shutil.copy(PLOTLY, tmp_path)
        loads = "".join(
            f'<link rel="stylesheet" href="{name}">'
            if name.endswith(".css")
            else f'<script defer src="{Path(name).name}" data-plotly="plotly.min.js"></script>'
            for name in ASSETS
        )
        body = fragment(Explorer(function, bind(function, controls), DEFAULT))
        head = f'<meta charset="utf-8"><title>A page</title>{setup}{loads}'
        body = f"<body><main><h1>A page</h1>{body}</main></body>"
        html = f'<html lang="en" data-theme="light"><head>{head}</head>{body}</html>'
        (tmp_path / "page.html").write_text(f"<!doctype html>{html}")
        page, foreign, errors = open_page((tmp_path / "page.html").as_uri(), solid=False)
        if query:
            page.evaluate("(query) => { location.hash = query; location.reload(); }", query)
            page.wait_for_load_state()
        if drawn:
            page.wait_for_function(LOADED)
        return page, errors

    return page_of


def settle(page):
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def press(page, name):
    page.locator(f"input[name={name}]").first.press("Space" if name == "skip" else "ArrowRight")
    settle(page)


def result(page):
    return page.locator(".px-result").inner_text()


def curves(page):
    """What is drawn, and the ghosts: the y of each."""
    traces = page.evaluate(TRACES)
    return [t["y"] for t in traces if not t["faint"]], [t["y"] for t in traces if t["faint"]]


# ---- what loads when ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", sampled(["mouse", "key", "scroll"], ["mouse", "scroll"]))
def test_plotly_waits_for_a_sign_of_the_reader(page_of, sign):
    page, errors = page_of(curve, **CONTROLS)
    page.reload()
    page.wait_for_selector("fieldset:not([disabled])")
    page.wait_for_timeout(2500)
    assert page.evaluate(LOADED) == 0 and page.evaluate("typeof Plotly") == "undefined"
    if sign == "mouse":
        page.mouse.move(9, 9, steps=3)
    elif sign == "key":
        page.keyboard.press("Tab")
    else:
        page.evaluate("document.body.style.height = '300vh', scrollTo(0, 1)")
    page.wait_for_function(f"{LOADED} === 1")
    assert errors == []


# ---- all that plotly draws without another host ----------------------------------------------------------------------

OTHERS = {
    "polar": dict(type="scatterpolar", r=[1, 2, 3], theta=[0, 90, 180]),
    "sankey": dict(
        type="sankey", node=dict(label=["x", "skip", "F"]), link=dict(source=[0, 0], target=[1, 2], value=[2, 1])
    ),
    "image": dict(type="image", z=[[[255, 0, 0], [0, 255, 0]]]),
    "pie": dict(type="pie", labels=["skip", "F"], values=[2, 1]),
    "dates": dict(x=["2026-01-01", "2026-01-09"], y=[1, 2]),
    "solid": dict(type="scatter3d", x=[1, 2], y=[1, 2], z=[1, 2]),
}


def test_other_kinds_of_traces_are_drawn_with_their_words(page_of):
    def drawn(kind):
        layout = dict(title=f"This is {kind}")
        return dict(data=[OTHERS[kind]], layout=layout | (dict(xaxis=dict(type="date")) if kind == "dates" else {}))

    page, errors = page_of(drawn, kind=[*OTHERS])
    for kind in OTHERS:
        page.get_by_role("combobox").select_option(label=kind)
        settle(page)
        assert result(page) == f"This is {kind}"
        size = page.evaluate("""() => { const { width, height } =
          document.querySelector('.px-plot .main-svg').getBoundingClientRect(); return width * height; }""")
        assert size > 1000 and page.locator(".px-plot .plot-container").is_visible()
    assert errors == []


# ---- what was there before -----------------------------------------------------------------------------------------


def test_the_last_states_curves_stay_until_the_next_change(page_of):
    page, errors = page_of(curve, **CONTROLS)
    assert curves(page) == ([[10, 11, 12, 13]], [])
    press(page, "skip")
    assert curves(page) == ([[0, 1, 2, 3]], [[10, 11, 12, 13]])
    press(page, "depth")
    assert curves(page) == ([[0, 2, 4, 6]], [[0, 1, 2, 3]])
    (ghost,) = [trace for trace in page.evaluate(TRACES) if trace["faint"]]
    assert float(ghost["opacity"]) < 0.5 and ghost["color"] == "rgb(27, 86, 147)"  # of its trace
    page.locator("button[type=reset]").click()
    settle(page)
    assert curves(page) == ([[10, 11, 12, 13]], []) and errors == []


def test_a_pinned_state_stays_with_its_name(page_of):
    page, errors = page_of(curve, **CONTROLS)
    pin, legend = page.get_by_role("button", name="Pin"), page.locator(".px-legend")
    pin.click()
    assert pin.get_attribute("aria-pressed") == "true" and "pinned: this state" in legend.inner_text()
    press(page, "skip")
    press(page, "depth")
    assert "pinned: skip on, depth 1" in legend.inner_text()
    assert curves(page) == ([[0, 2, 4, 6]], [[0, 1, 2, 3], [10, 11, 12, 13]])
    assert [trace.get("dash") for trace in page.evaluate(TRACES)][1:] == ["none", "3, 3"]
    pin.click()
    assert curves(page)[1] == [[0, 1, 2, 3]] and "pinned" not in legend.inner_text()
    assert errors == []


def test_a_link_holds_ghost_and_pin(page_of):
    page, _ = page_of(curve, **CONTROLS)
    page.get_by_role("button", name="Pin").click()
    press(page, "skip")
    press(page, "depth")
    before, words = curves(page), page.locator(".px-legend").inner_text()
    link = address(page)
    assert page.locator(".px-link").get_attribute("href") == f"#{link.split('#')[1]}"
    fresh, errors = page_of(curve, query=f"#{link.split('#')[1]}", **CONTROLS)
    assert curves(fresh) == before and fresh.locator(".px-legend").inner_text() == words
    wrong, _ = page_of(curve, query="#curve?skip=off&.pin=depth%3D3", **CONTROLS)
    assert "The link asks for depth=3, which is not offered here." in wrong.locator("[role=alert]").inner_text()
    assert errors == []


def test_paper_has_neither(page_of):
    page, _ = page_of(curve, **CONTROLS)
    page.get_by_role("button", name="Pin").click()
    press(page, "skip")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    settle(page)
    assert curves(page)[1] == [] and not page.locator(".px-pinned").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    settle(page)
    assert len(curves(page)[1]) == 1


def test_only_what_speaks_leaves_a_ghost(page_of):
    def mixed(skip, unit):
        x = [0, 1, 2]
        data = [
            dict(type="bar", x=x, y=[int(skip), 2, 3]),
            dict(x=x, y=[int(skip), 1, 1], mode="lines", line=dict(width=1)),  # one of many thin ones
            dict(x=x, y=[int(skip), 1, 2], mode="lines", opacity=0.3),
            dict(x=x, y=[int(skip), 1, 2], mode="text", text=["a", "b", "c"]),
            dict(x=x, y=[int(skip), 5, 5], mode="lines", yaxis="y2"),
            dict(x=x, y=[int(skip), 5, 6], mode="markers+text", text=["a", "b", "c"]),
        ]
        second = dict(domain=[0.6, 1], title=unit)  # its numbers mean another thing
        return dict(data=data, layout=dict(title=f"{skip} {unit}", yaxis=dict(domain=[0, 0.5]), yaxis2=second))

    page, errors = page_of(mixed, skip=True, unit=["m", "s"])
    press(page, "skip")
    assert curves(page)[1] == [[1, 2, 3], [1, 5, 6], [1, 5, 5]]
    places = page.evaluate("[...document.querySelectorAll('.barlayer .point path')].map((p) => p.getBBox().x)")
    drawn = page.locator(".px-ghosts path").first.get_attribute("d")
    assert places == pytest.approx([float(x) for x in re.findall(r"M([\d.]+)", drawn)], abs=0.5)  # where the trace's do
    press(page, "unit")
    assert curves(page)[1] == [[0, 2, 3], [0, 5, 6]] and errors == []

    def heat(skip):
        return dict(data=[dict(type="heatmap", x=[0, 1], y=[0], z=[[int(skip), 1]])], layout=dict(title=f"{skip}"))

    page, _ = page_of(heat, skip=True)
    press(page, "skip")
    assert len(page.evaluate(TRACES)) == 1 and page.get_by_role("button", name="Pin").count() == 0


def test_the_page_writes_words_and_numbers_as_python_does(page_of):
    values = [0.0, -0.0, 1 / 3, -2.0625, 12345.0, 99999.0, 1e5, -1e5, 1e-3, 9.99e-4, -3.2e-24]
    values += [float("nan"), float("inf"), float("-inf")]

    def f(skip):
        words = [f"<b>{i}" for i in range(len(values))]
        line = dict(x=words, y=values if skip else values[::-1], name="<i>", mode="lines")
        return dict(data=[line], layout=dict(title=f"{skip}", xaxis=dict(title="<u>")))

    page, _ = page_of(f, skip=True)
    page.get_by_text("Data of this picture").click()
    press(page, "skip")
    (shown,) = page.evaluate("[...document.querySelectorAll('.px-table table')].map((table) => table.outerHTML)")
    explorer = Explorer(f, bind(f, dict(skip=True)), DEFAULT)
    assert shown == table(explorer.figure((0,))[1]) and "<td>−∞</td>" in shown


def test_a_change_moves_unless_the_reader_wants_none(page_of):
    page, _ = page_of(curve, **CONTROLS)
    press(page, "depth")
    path = "getComputedStyle(document.querySelector('.scatterlayer path.js-line')).transitionDuration"
    assert page.evaluate(path) == "0.12s, 0.12s"
    press(page, "depth")
    places = page.evaluate("""() => {
      const move = document.getAnimations().find(({ effect }) => effect.target.matches('.js-line'));
      move.pause();
      const times = Array.from({ length: 25 }, (_, i) => 5 * i);
      return new Set(times.map((at) => { move.currentTime = at; return getComputedStyle(move.effect.target).d; })).size;
    }""")
    assert 1 < places <= 4  # each costs a frame
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(path) == "0s"


def free(skip, scale, kind):
    """Lines, dots, gaps and bars on axes that plotly chooses."""
    x = np.arange(1, 9.0)
    y = scale * (x**2 + (30 if skip else 0))
    gap = np.where(x == 4, np.nan, y / 2)
    width, dash, symbol = (1, "dot", "square") if scale > 1 else (2, "solid", "diamond-open")
    traces = dict(
        lines=[dict(x=x, y=y, mode="lines"), dict(x=x, y=gap, mode="lines", line=dict(dash="dash"))],
        dots=[dict(x=x, y=y), dict(x=x, y=-gap, mode="markers", marker=dict(symbol="square", size=9))],
        names=[dict(x=[f"n{i:g}" for i in x], y=y, mode="lines")],
        bars=[dict(type="bar", x=["p", "q", "r"], y=y[:3] - scale), dict(type="bar", x=["p", "q", "r"], y=y[2:5])],
        log=[dict(x=x, y=y, mode="lines+markers"), dict(x=x, y=gap - scale, mode="lines")],
        looks=[
            dict(x=x, y=y, visible=False),
            dict(x=x, y=y, mode="lines+markers", line=dict(color="C1" if skip else "#333", dash=dash, width=width)),
            dict(x=x, y=gap, mode="lines+markers", marker=dict(symbol=symbol, size=4 * width, color="ink")),
            dict(x=x, y=-gap, mode="markers", marker=dict(color=[f"C{i % (2 + width)}" for i in range(8)])),
            dict(x=x, y=-gap, mode="markers+text", text=["a"] * 8, marker=dict(color=y, size=x + width)),
        ],
    )[kind.removesuffix(", axes fixed")]
    across, up = dict(title="x"), dict(title="y", **(dict(type="log") if kind == "log" else {}))
    if kind.endswith("fixed"):
        across, up = across | dict(range=[0, 9]), up | dict(range=[0, 60])
    return dict(data=traces, layout=dict(title=f"{skip} {scale} {kind}", xaxis=across, yaxis=up))


@pytest.mark.parametrize("kind", ["lines", "dots", "names", "bars", "log", "looks", "looks, axes fixed"])
def test_what_is_moved_is_what_plotly_draws_anew(page_of, kind):
    """Also where plotly chooses the axes: after each press nothing is drawn anew, and drawing anew changes nothing."""

    def moving(skip, scale):
        return free(skip, scale, kind)

    page, errors = page_of(moving, skip=True, scale=[1e-6, 1, 2, 30, 4e4, 5e6])
    page.set_default_timeout(20_000)
    press(page, "scale")
    page.evaluate("""() => {
      const { react } = Plotly;
      window.redrawn = 0;
      Plotly.react = (...all) => { window.redrawn += 1; return react(...all); }; }""")
    for turn, name in enumerate(("skip", "scale", "scale", "skip", "scale", "scale")):
        if turn == 3:
            page.evaluate("document.documentElement.dataset.theme = 'dark'")
            settle(page)
            page.evaluate("window.redrawn = 0")
        press(page, name)
        moved, redrawn = page.evaluate(PICTURE), page.evaluate("window.redrawn")
        page.evaluate("""() => {
          const { picture } = document.querySelector('.plusx-explore').explorer;
          Plotly.purge(picture.plot);
          picture.repaint(); }""")
        settle(page)
        assert page.evaluate("window.redrawn") == redrawn + 1
        fresh = page.evaluate(PICTURE)
        assert len(moved) == len(fresh)
        for one, other in zip(moved, fresh):
            assert NUMBER.sub("", one) == NUMBER.sub("", other)
            assert [float(n) for n in NUMBER.findall(one)] == pytest.approx(
                [float(n) for n in NUMBER.findall(other)], abs=0.1
            )
        page.evaluate("window.redrawn = 0")
        assert redrawn == 0
    assert errors == []


# ---- the buttons ----------------------------------------------------------------------------------------------------


def test_reset_is_offered_where_there_is_something_to_reset(page_of):
    page, errors = page_of(curve, **CONTROLS)
    reset = page.locator("button[type=reset]")
    for button in ("input[name=skip]", ".px-pin"):
        assert reset.get_attribute("aria-disabled") == "true", button
        page.locator(button).press("Space")
        settle(page)
        assert reset.get_attribute("aria-disabled") == "false", button
        reset.press("Enter")
        settle(page)
    assert page.evaluate("document.activeElement.type") == "reset" and errors == []


# ---- the diagram ---------------------------------------------------------------------------------------------------


GROUND = "part => getComputedStyle(part, {}).backgroundColor"


def test_where_colours_are_forced_what_is_chosen_still_shows(page_of):
    page, _ = page_of(curve, **CONTROLS)
    page.emulate_media(forced_colors="active")
    options = page.locator(".px-radio span")
    chosen, other = (options.nth(at).evaluate(GROUND.format("null")) for at in (0, 1))
    assert chosen != other
    switch, knob = page.locator(".px-switch input"), GROUND.format("'::before'")
    on = switch.evaluate(GROUND.format("null"))
    assert switch.evaluate(knob) != on
    switch.click()
    off = switch.evaluate(GROUND.format("null"))
    assert off != on and switch.evaluate(knob) != off
    pin = page.get_by_role("button", name="Pin")
    before = pin.evaluate(GROUND.format("null"))
    pin.click()
    assert page.locator("[aria-pressed=true]").evaluate(GROUND.format("null")) != before


def test_a_part_of_the_diagram_presses_its_control_and_follows_it(page_of):
    page, errors = page_of(curve, **CONTROLS)
    skip, kind = page.locator("[data-set=skip]"), page.locator("[data-set=kind]")
    skip.click()
    assert result(page) == "False 1 relu" and skip.get_attribute("aria-checked") == "false"
    assert not page.locator("input[name=skip]").is_checked() and "skip=off" in address(page)
    skip.press("Enter")
    assert result(page) == "True 1 relu" and skip.get_attribute("aria-checked") == "true"
    skip.press("ArrowLeft")
    assert kind.evaluate("part => part === document.activeElement")
    kind.press("Space")
    assert result(page) == "True 1 identity"
    page.get_by_text("tanh", exact=True).first.click()
    assert kind.locator("text").text_content() == "tanh" and errors == []
    settle(page)
    assert curves(page)[0] == [[10, 11, 12, 13]]


def test_an_order_that_changes_with_the_state_is_drawn_whole(page_of):
    orders = {"original": "[weight norm relu weight norm]:skip relu", "pre": "[norm relu weight]:skip norm"}

    def f(skip, order):
        return curve(skip, 1) | {"diagram": orders[order]}

    page, errors = page_of(f, skip=True, order=list(orders))
    words = "[...document.querySelectorAll('.px-piece text')].map((t) => t.textContent)"
    assert page.evaluate(words) == ["weight", "norm", "relu", "weight", "norm", "relu"]
    page.locator("input[name=order]").first.press("ArrowRight")
    assert page.evaluate(words) == ["norm", "relu", "weight", "norm"]
    page.locator("[data-set=skip]").click()
    assert page.evaluate(words) == ["norm", "relu", "weight", "norm"] and errors == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_longer_order_moves_nothing_that_stands_below_it(page_of, width):
    orders = {"long": "[weight norm relu weight norm relu weight]:skip relu [norm relu weight]:skip", "short": "[norm]"}

    def f(skip, order):
        return curve(skip, 1) | {"diagram": orders[order]}

    page, errors = page_of(f, skip=True, order=list(orders))
    page.set_viewport_size({"width": width, "height": 900})
    tops = set()
    for order in ("long", "short", "long"):
        page.get_by_text(order, exact=True).click()
        tops.add(page.locator(".px-figure").bounding_box()["y"])
    assert len(tops) == 1 and errors == []


def test_the_keyboard_stays_where_a_press_changes_the_order(page_of):
    orders = {"plain": "[linear]:bent=bent linear", "bent": "[linear relu linear]:bent=bent norm relu"}

    def f(skip, bent):
        return curve(skip, 1) | {"diagram": orders[bent]}

    page, errors = page_of(f, skip=True, bent=list(orders))
    for checked in ("true", "false"):
        page.locator("[data-set=bent]").press("Space")
        assert page.locator("[data-set=bent]").get_attribute("aria-checked") == checked
        assert page.evaluate("document.activeElement.dataset.set") == "bent" and errors == []


def test_a_piece_that_is_tied_otherwise_is_drawn_anew(page_of):
    lines = {"the skip": "[linear]:skip", "the branch": "skip:[linear]"}

    def f(skip, off_removes):
        return curve(skip, 1) | {"diagram": lines[off_removes]}

    page, errors = page_of(f, skip=True, off_removes=list(lines))
    presses = "[...document.querySelectorAll('[data-set]')].map((part) => part.getAttribute('class'))"
    assert page.evaluate(presses) == ["px-skip"]
    for _ in range(2):
        page.get_by_text("the branch", exact=True).click()
        assert page.evaluate(presses) == ["px-part"]
        page.get_by_text("the skip", exact=True).click()
        assert page.evaluate(presses) == ["px-skip"] and errors == []


# ---- faults that were there -----------------------------------------------------------------------------------------


def test_a_word_that_is_called_like_a_colour_stays_a_word(page_of):
    def f(skip):
        trace = dict(
            type="bar", x=["C0", "ink", "grid"], y=[1, 2, 3], name="muted", marker=dict(color=["C1", "ink", "C2"])
        )
        layout = dict(title="C0", xaxis=dict(title="grid"), yaxis=dict(title="C1", linecolor="C1"))
        return dict(data=[trace], layout=layout)

    page, _ = page_of(f, skip=True)
    shown = page.evaluate("[...document.querySelectorAll('.px-plot text')].map((t) => t.textContent)")
    assert {"C0", "ink", "grid", "C1"} <= set(shown)
    fills = page.evaluate("[...document.querySelectorAll('.barlayer .point path')].map((p) => p.style.fill)")
    assert fills == ["rgb(187, 78, 9)", "rgb(34, 38, 46)", "rgb(12, 129, 73)"]
    still = page.locator(".px-still.px-wide").evaluate("s => s.textContent")
    assert "C0" in still and "grid" in still


def test_a_trace_without_x_is_drawn_in_each_state(page_of):
    def f(skip, depth):
        layout = dict(title=f"{skip} {depth}", xaxis=dict(range=[0, 2]), yaxis=dict(range=[0, 60]))
        return dict(data=[dict(y=[int(skip), depth, 3])], layout=layout)

    page, errors = page_of(f, skip=True, depth=[1, 2, 4, 8, 16])
    lines = set()
    for name in ("skip", "depth", "depth", "skip"):
        press(page, name)
        lines.add(page.evaluate("document.querySelector('.js-line').getAttribute('d')"))
    assert len(lines) == 4 and errors == []


def test_where_plotlys_inner_steps_fail_all_is_drawn_anew(page_of):
    page, errors = page_of(curve, **CONTROLS)
    press(page, "skip")
    page.evaluate("""() => {
        const plot = document.querySelector('.px-plot');
        const { react } = Plotly;
        Object.defineProperty(plot, 'calcdata', { get() { throw new Error(); }, configurable: true });
        Plotly.react = (...all) => { delete plot.calcdata; return react(...all); }; }""")
    press(page, "depth")
    assert curves(page)[0] == [[0, 2, 4, 6]] and errors == []
    page.evaluate("() => { Plotly.react = () => { throw new Error('no need'); }; }")
    press(page, "depth")
    assert curves(page)[0] == [[0, 4, 8, 12]] and errors == []


def test_plotly_is_asked_for_again_after_it_failed(page_of, tmp_path):
    setup = """<script>addEventListener('DOMContentLoaded', () => {
      const { append } = document.head;
      document.head.append = (script) => {
        window.asked = (window.asked ?? 0) + 1;
        if (!window.online) script.src = 'gone.js';
        append.call(document.head, script);
      }; });</script>"""
    page, _ = page_of(curve, setup=setup, drawn=False, **CONTROLS)
    alert = page.locator("[role=alert]")
    alert.get_by_text("The plotting library did not load").wait_for()
    press(page, "skip")
    assert result(page) == "False 1 relu"  # the words follow
    page.evaluate("window.online = true")
    press(page, "depth")
    page.wait_for_function(LOADED)
    settle(page)
    assert curves(page)[0] == [[0, 2, 4, 6]] and alert.is_hidden()


def test_reset_is_one_change(page_of):
    page, _ = page_of(curve, **CONTROLS)
    for name in ("skip", "depth", "kind"):
        press(page, name)
    page.evaluate("""() => {
        const result = document.querySelector('.px-result');
        window.words = [];
        new MutationObserver(() => words.push(result.textContent)).observe(result, { childList: true }); }""")
    page.locator("button[type=reset]").click()
    settle(page)
    assert page.evaluate("words") == ["True 1 relu"]


# ---- beside a kernel -------------------------------------------------------------------------------------------------

LIKE_ANYWIDGET = """async (esm) => {
  const url = URL.createObjectURL(new Blob([esm], { type: 'text/javascript' }));
  window.widget = (await import(url)).default;
}"""
# A model as anywidget gives it, whose kernel answers from `answers`: what is not there it leaves unanswered.
MODEL = """([markup, answers, names]) => {
  const listeners = [];
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer);
  const state = Object.fromEntries(names.map((name) => [name, 0]));
  state.skip = 1;
  window.sent = [];
  window.kernel = {
    say: (event, ...words) => [...listeners].forEach(([name, call]) => name === event && call(...words)),
    tell: (content, payload) => kernel.say('msg:custom', content, payload ? [bytes(payload)] : []),
    set(changes) {
      Object.assign(state, changes);
      for (const key of Object.keys(changes)) kernel.say(`change:${key}`);
    },
    listeners, state,
  };
  const model = {
    get: (name) => (name === 'markup' ? markup : state[name]),
    set: (name, value) => { if (state[name] !== value) kernel.set({ [name]: value }); },
    save_changes: () => sent.push({ saved: { ...state } }),
    on: (name, call) => listeners.push([name, call]),
    off: (name, call) => listeners.splice(listeners.findIndex((each) => each[0] === name && each[1] === call), 1),
    send: (question) => {
      if (window.dead) throw new Error('Cannot send');
      sent.push(question);
      const key = question.plotly ? 'plotly' : question.state.join();
      const heard = answers[key] && !(window.mute && question.plotly);
      setTimeout(() => { if (heard) kernel.tell(answers[key].content, answers[key].payload); });
    },
  };
  window.view = () => {
    const el = document.body.appendChild(document.createElement('div'));
    return widget.render({ model, el });
  };
}"""


@pytest.fixture
def hosted(tmp_path, open_page):
    """A page as a notebook's, where window.view() makes a view of one model; states of depth 16 are never answered."""
    explorer = Explorer(curve, bind(curve, CONTROLS), DEFAULT)
    answers = {"plotly": dict(content={"plotly": True}, payload=base64.b64encode(_plotly()).decode())}
    for state in explorer.states:
        if state[1] != 4:
            answers[",".join(map(str, state))] = dict(content={"state": state}, payload=payload(explorer, state))
    answers["1,3,0"] = dict(content={"state": (1, 3, 0), "error": "explore: curve(depth=8) raised ValueError: eight."})
    widget = Live(explorer)
    (tmp_path / "page.html").write_text(f"<!doctype html><title>A notebook</title><style>{widget._css}</style>")
    (tmp_path / "favicon.ico").touch()
    with serve(tmp_path) as url:
        page, _, errors = open_page(f"{url}/page.html", solid=False)
        page.evaluate(LIKE_ANYWIDGET, widget._esm)
        page.evaluate(MODEL, [widget.markup, answers, list(CONTROLS)])
        yield page, errors


def payload(explorer, state):
    title, figure = explorer.figure(state)
    return base64.b64encode(packed([(title, as_seen(figure))], 1)).decode()


def test_two_views_of_one_model_share_its_state(hosted):
    page, errors = hosted
    page.evaluate("void [view(), view()]")
    page.wait_for_function(f"{LOADED} === 2")
    assert page.evaluate("sent.filter((each) => each.plotly).length") == 1  # plotly comes once
    one, other = page.locator(".plusx-explore").all()
    one.locator("input[name=skip]").click()
    other.get_by_text("False 1 relu").wait_for()
    assert not other.locator("input[name=skip]").is_checked()
    other.get_by_text("tanh", exact=True).first.click()
    one.get_by_text("False 1 tanh").wait_for()
    page.evaluate("kernel.set({ skip: 1, depth: 2, kind: 0 })")  # as Python sets them
    for each in (one, other):
        each.get_by_text("True 4 relu").wait_for()
    assert page.evaluate("sent.filter((each) => each.state?.join() === '1,2,0').length") <= 2
    assert errors == []


def test_a_view_draws_although_the_one_that_asked_for_plotly_is_gone(hosted):
    """As where an application shows a cell twice in a row: plotly is asked for once, by a view that hears no answer."""
    page, errors = hosted
    page.evaluate("void (window.mute = true, window.ending = view())")
    page.wait_for_function("sent.some((each) => each.plotly)")
    page.evaluate("void view()")
    page.wait_for_timeout(1500)  # it is at rest within a second, and waits for the answer to the first
    assert page.evaluate("sent.filter((each) => each.plotly).length") == 1
    page.evaluate("void (window.mute = false, ending())")
    page.wait_for_function(f"{LOADED} === 1")
    assert page.evaluate("sent.filter((each) => each.plotly).length") == 2
    assert errors == []


@pytest.mark.audit
def test_a_view_that_closes_late_leaves_what_another_has_asked_for(hosted):
    page, errors = hosted
    page.evaluate("void (window.mute = true, window.ending = view())")
    page.wait_for_function("sent.some((each) => each.plotly)")
    page.wait_for_timeout(4500)  # the kernel is silent: the next view asks for itself
    for views in ("view()", "ending(), view()"):
        page.evaluate(f"void ({views})")
        page.wait_for_timeout(1500)
        assert page.evaluate("sent.filter((each) => each.plotly).length") == 2
    assert errors == []


def test_a_state_that_another_view_asked_for_needs_no_question(hosted):
    page, _ = hosted
    page.evaluate("void view()")
    page.wait_for_function(LOADED)
    told = payload(Explorer(curve, bind(curve, CONTROLS), DEFAULT), (0, 0, 0))
    page.evaluate("(payload) => kernel.tell({ state: [0, 0, 0] }, payload)", told)
    page.wait_for_timeout(50)
    page.evaluate("window.sent = []")
    click = "() => { document.querySelector('input').click(); return document.querySelector('.px-result').innerText; }"
    assert page.evaluate(click) == "False 1 relu"
    assert [each for each in page.evaluate("sent") if "state" in each] == []


def test_waiting_failing_and_a_kernel_that_is_gone_are_told(hosted):
    page, errors = hosted
    page.evaluate("void view()")
    page.wait_for_function(LOADED)
    alert, depth = page.locator("[role=alert]"), page.locator("input[name=depth]")
    depth.press("End")  # never answered
    alert.get_by_text("Computing this state …").wait_for()
    assert result(page) == "True 1 relu" and depth.input_value() == "4"
    alert.get_by_text("No answer from the kernel yet: it is busy, or it was stopped.").wait_for()
    depth.press("ArrowLeft")  # fails
    alert.get_by_text("explore: curve(depth=8) raised ValueError: eight. The picture is the last good one.").wait_for()
    depth.press("ArrowLeft")
    page.get_by_text("True 4 relu").wait_for()
    assert alert.is_hidden()
    page.evaluate("window.dead = true")
    page.locator("input[name=skip]").click()
    alert.get_by_text("The kernel no longer has this explorer, as after a restart: run its cell again.").wait_for()
    depth.press("Home")
    page.locator("input[name=skip]").click()  # known from the start
    page.get_by_text("True 1 relu").wait_for()
    assert alert.is_hidden() and errors == []


def test_reset_is_one_question_and_a_closed_view_leaves_nothing(hosted):
    page, _ = hosted
    page.evaluate("void (window.ending = view())")
    page.wait_for_function(LOADED)
    page.locator("input[name=skip]").click()
    page.get_by_text("tanh", exact=True).first.click()
    page.get_by_text("False 1 tanh").wait_for()
    page.evaluate("window.sent = []")
    page.locator("button[type=reset]").click()
    page.wait_for_timeout(100)
    assert page.evaluate("sent") == [{"saved": {"skip": 1, "depth": 0, "kind": 0}}]
    page.evaluate("void ending()")
    page.wait_for_timeout(50)
    assert page.evaluate("kernel.listeners.length") == 0


def test_it_looks_as_its_application_does(hosted):
    page, _ = hosted
    page.evaluate("void view()")
    page.wait_for_function(LOADED)
    ink = "getComputedStyle(document.querySelector('.px-plot text')).fill"
    assert page.evaluate(ink) == "rgb(34, 38, 46)"
    page.evaluate("() => { document.body.style.color = 'oklch(0.95 0 0)'; }")
    page.wait_for_function(f"{ink} === 'rgb(230, 232, 235)'")
    assert page.locator(".plusx-explore").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(24, 28, 34)"


# ---- words of authors and of links ----------------------------------------------------------------------------------

EVIL = "\"'&<img src=x onerror='hit=1'><a href='javascript:hit=1'>go</a><script>hit=1</script>"


def evil_lines(skip, kind):
    trace = dict(x=[0, 1, 2], y=[1, 2, 3 + skip], name=EVIL, mode="lines+text", text=[EVIL] * 3, hovertext=EVIL)
    axes = dict(xaxis=dict(title=EVIL), yaxis=dict(title=EVIL))
    return dict(data=[trace, trace], layout=dict(title=f"{skip}. A {EVIL}", annotations=[dict(text=EVIL)], **axes))


def evil_threads(skip, kind):
    heights = torch.arange(6.0).reshape(3, 2) * (1 + skip)
    return threads(heights, f"{skip}. A {EVIL}", (-9, 9), names=[EVIL, EVIL], what=EVIL, ends=(EVIL, EVIL))


def evil_dots(skip, kind):
    return dots(torch.eye(2) * (1 + skip), torch.eye(2), f"{skip}. A {EVIL}", 3, [EVIL, EVIL], ends=(EVIL, EVIL))


def evil_steps(skip, kind):
    return waterfall(torch.ones(2) * (1 + skip), f"{skip}. A {EVIL}", (-4, 4), [EVIL, EVIL], [EVIL, EVIL], what=EVIL)


@pytest.mark.parametrize("function", [evil_lines, evil_threads, evil_dots, evil_steps])
def test_words_of_authors_and_links_are_never_markup(page_of, function):
    function.__doc__ = EVIL
    link = f"#{function.__name__}?kind={EVIL}&skip={EVIL}"
    page, errors = page_of(function, skip=False, kind=[EVIL, "b"], query=link, drawn=False)
    page.locator("[role=alert]").get_by_text("which is not offered here").wait_for()
    page.locator(".px-data summary").click()
    page.locator(".px-pin").dispatch_event("click")  # not every figure offers it
    page.locator("input[name=skip]").click()
    page.wait_for_function(LOADED)
    page.get_by_text("Link to this state").click()
    plot = page.locator(".px-plot")
    plot.hover()
    if plot.get_attribute("tabindex"):
        plot.press("ArrowUp")
    page.wait_for_timeout(500)
    assert result(page) == f"True. A {EVIL}"
    assert page.evaluate("document.querySelectorAll('img, [*|href^=javascript], [onerror]').length") == 0
    assert page.evaluate("window.hit") is None and errors == []
