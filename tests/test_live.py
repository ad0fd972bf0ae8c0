"""plusx.explore.live and saved: widgets call the function and survive its errors; what the notebook's file keeps."""

import base64
import html
import json
import random
import re
import xml.etree.ElementTree as ET

import IPython.display
import numpy as np
import plotly.graph_objects as go
import pytest
from browser import EXPLORING
from decoding import decode, payload, state
from IPython.core.formatters import DisplayFormatter

from plusx.explore import explore
from plusx.explore.controls import bind
from plusx.explore.figures import coloured, normalise, table
from plusx.explore.live import _redraw, panel
from plusx.explore.saved import PALETTE
from plusx.explore.states import DEFAULT, Explorer


def scene(skip, activation, depth, extra):
    if depth == 13:
        raise ValueError("thirteen")
    x = np.linspace(-1, 1, 11)
    trace = dict(x=x, y=x**depth + skip, name=activation)
    if activation == "relu":
        trace["fill"] = "tozeroy"
    layout = dict(title=f"depth {depth}, {activation}")
    if skip:
        layout["yaxis"] = dict(range=[0, 2], title="y")
    return dict(data=[trace] * (extra + 1), layout=layout)


CONTROLS = dict(skip=True, activation=["relu", "tanh"], depth=[1, 2, 4, 8, 13], extra=[0, 1])


@pytest.fixture
def shown():
    explorer = Explorer(scene, bind(scene, CONTROLS), DEFAULT)
    box = panel(explorer)
    inputs, message, result, figure, data = box.children
    return explorer, inputs.children[:-1], inputs.children[-1], message, result, figure, data


def drawn(figure):
    """What plotly.js gets to draw; plotly's default template is not part of our figures."""
    figure = json.loads(go.Figure(figure).to_json())
    figure["layout"].pop("template", None)
    return figure


def test_the_picture_follows_200_random_changes(shown):
    explorer, inputs, _, message, result, figure, data = shown
    rng = random.Random(0)
    state = list(explorer.start)
    for _ in range(200):
        i = rng.randrange(len(inputs))
        state[i] = rng.randrange(len(explorer.controls[i].values) - (i == 2))
        inputs[i].value = bool(state[i]) if i == 0 else state[i]
        title, expected = explorer.figure(tuple(state))
        assert title in result.value and message.value == ""
        assert drawn(figure) == drawn(coloured(expected, PALETTE))
        assert data.value.count("<table>") == 1


def test_a_page_that_connects_late_gets_the_current_picture(shown, monkeypatch):
    _, inputs, _, _, _, figure, _ = shown
    keys = ["_widget_data", "_widget_layout"]
    sent = []
    monkeypatch.setattr(figure, "send_state", lambda key=None: sent.append(key))
    for widget, value in ((inputs[1], 1), (inputs[3], 1), (inputs[0], False)):
        widget.value = value
        assert sent and not any("_widget" in str(key) for key in sent)  # no second message with all of it
        asked = figure.get_state(keys)
        figure._repr_mimebundle_()  # what plotly does when a figure itself is displayed
        assert asked == figure.get_state(keys) and asked["_widget_data"]
        sent.clear()


def test_an_error_is_shown_and_the_last_good_picture_stays(shown):
    _, inputs, _, message, result, figure, _ = shown
    before = drawn(figure), result.value
    inputs[2].value = 4
    assert "scene(skip=on, activation=relu, depth=13, extra=0) raised ValueError: thirteen" in message.value
    assert (drawn(figure), result.value) == before
    inputs[2].value = 1
    assert message.value == "" and "depth 2" in result.value


def test_reset_returns_to_the_start(shown):
    explorer, inputs, reset, _, result, figure, _ = shown
    start = drawn(figure)
    inputs[0].value = False
    inputs[1].value = 1
    assert drawn(figure) != start
    reset.click()
    assert drawn(figure) == start


def test_a_state_is_computed_once():
    calls = []

    def counted(skip):
        calls.append(skip)
        return scene(skip, "relu", 1, 0)

    switch = panel(Explorer(counted, bind(counted, dict(skip=True)), DEFAULT)).children[0].children[0]
    for value in (False, True, False):
        switch.value = value
    assert calls == [True, False]


def test_labels_are_text_never_markup():
    def hostile(a):
        return dict(data=[dict(x=[1], y=[1], name="<img src=x>")], layout=dict(title="<script>alert(1)</script>"))

    _, _, result, _, data = panel(Explorer(hostile, bind(hostile, dict(a=True)), DEFAULT)).children
    assert "<script>" not in result.value and "&lt;script&gt;" in result.value
    assert "<img" not in data.value


def test_the_decorated_function_still_calls(monkeypatch):
    monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
    decorated = explore(**CONTROLS)(scene)
    assert decorated(True, "tanh", 2, 0)["layout"]["title"] == "depth 2, tanh"


# ---- what a notebook's file keeps --------------------------------------------------------------------------------

WIDGET = "application/vnd.jupyter.widget-view+json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def display(monkeypatch):
    """Decorate a function with live controls; returns the MIME bundle that it displays."""

    def display(function, **controls):
        shown = []
        monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
        monkeypatch.setattr(IPython.display, "display", shown.append)
        explore(**controls)(function)
        (panel,) = shown
        bundle, _ = DisplayFormatter().format(panel)
        assert bundle.keys() == {WIDGET, "text/html", "text/plain"}
        return bundle

    return display


def pictures(page):
    """Each image of some HTML: its text alternative, and the root of its SVG."""
    found = re.findall(r'<img alt="([^"]*)" ?[^>]*src="data:image/svg\+xml;base64,([^"]*)">', page)
    assert len(found) == page.count("<img")
    return [(html.unescape(alt), base64.b64decode(code).decode()) for alt, code in found]


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_beside_the_widget_stand_its_start_state_in_html_and_in_text(display):
    bundle = display(scene, **CONTROLS)
    page = bundle["text/html"]
    _, figure = normalise(scene(True, "relu", 1, 0), "scene()")
    assert table(figure) in page and "<strong>depth 1, relu</strong>" in page
    for text in (page, bundle["text/plain"]):
        assert "“scene” at its start (skip: on, activation: relu, depth: 1, extra: 0)" in text
        assert "depth 1, relu" in text and "run the notebook up to this cell" in text
    assert set(re.findall(r"<(\w+)", page)) <= set(
        "p strong img details summary span table thead tbody tr th td".split()
    )


def test_the_picture_stands_alone_on_light_and_on_dark(display):
    def two_lines(skip):
        traces = [dict(x=[1, 2], y=[3, 4], name=name, mode="lines+markers") for name in ("some", "other")]
        return dict(data=traces, layout=dict(title="Both < 5", xaxis=dict(title="layer")))

    *swatches, (alt, drawn) = pictures(display(two_lines, skip=True)["text/html"])
    assert alt == "Both < 5" and [alt for alt, _ in swatches] == ["", ""]
    for svg in [drawn, *(svg for _, svg in swatches)]:
        assert ET.fromstring(svg).tag == f"{SVG}svg" and "var(" not in svg and "<script" not in svg
        assert set(re.findall(r"https?://[^\"']*", svg)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }
    inks = {PALETTE["ink"], *re.findall(r"fill: (#\w{6})", drawn)}
    for ground in ("#ffffff", "#111111"):
        for ink in inks:
            light, dark = sorted([luminance(ground), luminance(ink)], reverse=True)
            assert (light + 0.05) / (dark + 0.05) > (4 if ink == PALETTE["ink"] else 3), (ink, ground)


def test_a_picture_of_a_solid_promises_no_turning(display):
    def hill(skip):
        trace = dict(type="surface", x=[0, 1], y=[0, 1], z=[[0, 1], [1, 2]])
        return dict(data=[trace], layout=dict(title="A hill"))

    page = display(hill, skip=True)["text/html"]
    assert pictures(page)[-1][0] == "A hill" and "Drag" not in page


@pytest.mark.parametrize("trace, why", [
    (dict(type="scatterpolar", r=[1, 2], theta=[0, 90]), "ExploreError: explore: no still picture for a trace of type"),
    (dict(x=[1, 2], y=[3, 4], line=dict(color="rgb(1,2,3)")), "ValueError: 'rgb(1,2,3)' is not a valid"),
])  # fmt: skip
def test_what_has_no_picture_still_lives_and_says_why(display, trace, why):
    bundle = display(lambda skip: dict(data=[trace], layout=dict(title="Alive")), skip=True)
    assert "No picture was saved" in bundle["text/html"] and html.escape(why) in bundle["text/html"]
    assert "Alive" in bundle["text/html"] and bundle[WIDGET]["model_id"]


def test_a_start_that_fails_leaves_a_sentence(display):
    bundle = display(scene, **{**CONTROLS, "depth": [13, 1]})
    assert "at its start (skip: on, activation: relu, depth: 13, extra: 0), has no result" in bundle["text/html"]
    assert bundle["text/html"] == f"<p>{bundle['text/plain']}</p>"


def test_vs_code_shows_the_widget_and_falls_back_on_the_html(display):
    # Its order: orderOfMimeTypes in microsoft/vscode, extensions/ipynb/src/deserializers.ts. Where the kernel has no
    # such model, or there is none, the widget renderer of microsoft/vscode-jupyter hands on to the next type:
    # vscode.fallbackToNextRenderer in src/webviews/webview-side/ipywidgets/renderer/index.ts.
    order = ["application/vnd.", "text/html", "image/svg+xml", "text/plain"]
    bundle = display(scene, **CONTROLS)
    ranked = sorted(bundle, key=lambda mime: next(i for i, start in enumerate(order) if mime.startswith(start)))
    assert ranked == [WIDGET, "text/html", "text/plain"] and "<script" not in bundle["text/html"]


@pytest.mark.parametrize("chapter", EXPLORING)
def test_the_widget_takes_what_the_page_shows(site, chapter):
    """Each explorer of the book beside a kernel: plotly in Python refuses more than plotly in a page."""
    ids = re.findall(r'<div class="plusx-explore" id="([^"]+)"', (site / chapter).read_text())
    assert ids
    for id in ids:
        common, leaves = decode(payload(site / chapter, id))
        count = len(leaves[0]["index"])
        widget = go.FigureWidget()
        for at in (0, count - 1, *random.Random(id).sample(range(count), 2)):
            shown = state(common, leaves, at)
            _redraw(widget, coloured({"data": shown["data"], "layout": shown["layout"]}, PALETTE))
            assert len(widget.data) == len(shown["data"])
