"""plusx.explore.live and saved: what a kernel answers; what the notebook's file keeps."""

import base64
import html
import json
import re
import xml.etree.ElementTree as ET

import IPython.display
import ipywidgets
import nbformat
import numpy as np
import pytest
import traitlets
from browser import ROOT
from decoding import assert_same, decode_bytes
from IPython.core.formatters import DisplayFormatter
from nbconvert import MarkdownExporter

from plusx.explore import ExploreError, explore
from plusx.explore.controls import bind
from plusx.explore.figures import normalise, table
from plusx.explore.live import Live
from plusx.explore.saved import PALETTE
from plusx.explore.states import DEFAULT, Explorer
from plusx.explore.static import as_seen


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
    return dict(data=[trace] * (extra + 1), layout=layout, diagram="[linear activation:activation]:skip")


CONTROLS = dict(skip=True, activation=["relu", "tanh"], depth=[1, 2, 4, 8, 13], extra=[0, 1])


def lively(function, **controls):
    """The widget of a function, and the list to which all that it sends goes."""
    widget = Live(Explorer(function, bind(function, controls), DEFAULT))
    sent = []
    widget.send = lambda content, buffers=(): sent.append((content, buffers))
    return widget, sent


def test_the_kernel_answers_every_state_with_what_the_page_holds_of_it():
    widget, sent = lively(scene, **CONTROLS)
    for state in widget.explorer.states:
        if state[2] == 4:
            continue
        widget.answer({"state": list(state)})
        content, (packed,) = sent.pop()
        assert content == {"state": state}
        title, figure = widget.explorer.figure(state)
        common, leaves = decode_bytes(packed)
        assert leaves == []
        assert_same(common, {"title": title, **as_seen(figure)})


def test_an_error_names_the_state_and_is_told_again():
    widget, sent = lively(scene, **CONTROLS)
    for _ in range(2):
        widget.answer({"state": [1, 0, 4, 0]})
        (content, buffers) = sent.pop()
        why = "explore: scene(skip=on, activation=relu, depth=13, extra=0) raised ValueError: thirteen. "
        why += "Mend the function for this state, or leave its value out of the control."
        assert content == {"state": (1, 0, 4, 0), "error": why} and not buffers


def test_a_state_is_computed_once():
    calls = []

    def counted(skip):
        calls.append(skip)
        return scene(skip, "relu", 1, 0) | {"diagram": ""}

    widget, _ = lively(counted, skip=True)
    for state in (0, 1, 0):
        widget.answer({"state": [state]})
    assert calls == [True, False]


def test_each_control_is_a_trait_of_its_values_and_travels_as_its_place():
    widget, _ = lively(scene, **CONTROLS)
    names = ["skip", "activation", "depth", "extra"]
    assert [getattr(widget, name) for name in names] == [True, "relu", 1, 0]
    seen = []
    widget.observe(lambda change: seen.append((change.name, change.old, change.new)), names)
    widget.depth = 8.0
    widget.set_state({"skip": 0, "activation": 1})  # what a view sends
    assert seen == [("depth", 1, 8), ("skip", True, False), ("activation", "relu", "tanh")]
    assert widget.get_state(names) == {"skip": 0, "activation": 1, "depth": 3, "extra": 0}
    with pytest.raises(traitlets.TraitError, match="control 'depth' is set to 3, which is not among 1, 2, 4, 8, 13"):
        widget.depth = 3
    with pytest.raises(traitlets.TraitError, match="'skip' is set to 1, "):
        widget.skip = 1
    assert (widget.skip, widget.depth) == (False, 8)


def test_explorers_and_other_widgets_can_be_linked():
    (one, _), (other, _) = lively(scene, **CONTROLS), lively(scene, **CONTROLS)
    play = ipywidgets.Play(min=0, max=1)
    ipywidgets.link((one, "depth"), (other, "depth"))
    ipywidgets.dlink((play, "value"), (one, "extra"))
    other.depth, play.value = 4, 1
    assert (one.depth, one.extra, other.extra) == (4, 1, 0)


def test_what_the_page_for_other_books_links_follows(monkeypatch):
    """Its cells, run one after the other: the button of its first moves both explorers."""
    monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
    page = (ROOT / "chapters" / "your-book.md").read_text(encoding="utf8")
    cells, namespace = re.findall(r"```py(?:thon)?\n(.*?)```", page, re.S), {}
    assert len(cells) == 3
    for cell in cells:
        exec(compile(cell, "your-book.md", "exec"), namespace)
    namespace["play"].value = 3
    assert (namespace["means"].widget.draws, namespace["one_mean"].widget.draws) == (8, 8)
    namespace["one_mean"].widget.draws = 32
    assert namespace["play"].value == 5


def test_a_control_that_would_hide_a_part_of_every_widget_is_refused(monkeypatch):
    for name in ("layout", "computed", "observe"):
        function = eval(f"lambda {name}: scene(True, 'relu', 1, 0)")
        with pytest.raises(ExploreError, match=f"every widget has a '{name}' of its own. Rename that control"):
            lively(function, **{name: [1, 2]})
        with monkeypatch.context() as static, pytest.raises(ExploreError, match=f"has a '{name}' of its own"):
            static.setenv("PLUSX_EXPLORE", "static")
            explore(**{name: [1, 2]})(function)


def test_labels_are_text_never_markup():
    def hostile(a):
        return dict(data=[dict(x=[1], y=[1], name="<img src=x>")], layout=dict(title="<script>alert(1)</script>"))

    widget, _ = lively(hostile, a=True)
    assert "<script>alert" not in widget.markup and "&lt;script&gt;alert" in widget.markup
    assert "<img" not in widget.markup


def test_the_decorated_function_still_calls(monkeypatch):
    monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
    decorated = explore(**CONTROLS)(scene)
    assert decorated(True, "tanh", 2, 0)["layout"]["title"] == "depth 2, tanh"
    assert decorated.widget.depth == 1
    monkeypatch.setenv("PLUSX_EXPLORE", "static")
    assert explore(skip=True, activation=["relu"], depth=[1], extra=[0])(scene).widget is None


# ---- what a notebook's file keeps --------------------------------------------------------------------------------

WIDGET = "application/vnd.jupyter.widget-view+json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def display(monkeypatch):
    """Decorate a function with live controls; returns the MIME bundle that it displays."""

    def display(function, **controls):
        shown = []
        monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
        monkeypatch.setattr(IPython.display, "display", lambda each, **how: shown.append(each))
        explore(**controls)(function)
        widget, aside = shown
        bundle, _ = DisplayFormatter().format(widget)
        given = [nbformat.v4.new_output("display_data", each) for each in (bundle, aside)]
        cell = nbformat.v4.new_code_cell("f()", outputs=given)
        text, _ = MarkdownExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
        assert text.count(bundle["text/html"].splitlines()[0]) == 1 and "<style" not in text and "px-kept" not in text
        script = aside["application/javascript"].removeprefix("element.innerHTML = ").removesuffix(";")
        assert bundle["text/html"] in json.loads(script) and "</" not in script and aside["text/plain"] == ""
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
    (dict(x=[1, 2], y=[1.7e308, -8.5e307]), "ValueError: "),
])  # fmt: skip
def test_what_has_no_picture_still_lives_and_says_why(display, trace, why):
    bundle = display(lambda skip: dict(data=[trace], layout=dict(title="Alive")), skip=True)
    assert "No picture was saved" in bundle["text/html"] and html.escape(why) in bundle["text/html"]
    assert "Alive" in bundle["text/html"] and bundle[WIDGET]["model_id"]


def test_a_start_that_fails_leaves_a_sentence(display):
    bundle = display(scene, **{**CONTROLS, "depth": [13, 1]})
    assert (
        "at its start (skip: on, activation: relu, depth: 13, extra: 0), has no result. explore: "
        in bundle["text/html"]
    )
    assert bundle["text/html"] == f"<p>{bundle['text/plain']}</p>"


def test_vs_code_shows_the_widget_and_falls_back_on_the_html(display):
    # Its order: orderOfMimeTypes in microsoft/vscode, extensions/ipynb/src/deserializers.ts. Where the kernel has no
    # such model, or there is none, the widget renderer of microsoft/vscode-jupyter hands on to the next type:
    # vscode.fallbackToNextRenderer in src/webviews/webview-side/ipywidgets/renderer/index.ts.
    order = ["application/vnd.", "text/html", "image/svg+xml", "text/plain"]
    bundle = display(scene, **CONTROLS)
    ranked = sorted(bundle, key=lambda mime: next(i for i, start in enumerate(order) if mime.startswith(start)))
    assert ranked == [WIDGET, "text/html", "text/plain"] and "<script" not in bundle["text/html"]
