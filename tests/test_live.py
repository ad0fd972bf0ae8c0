"""plusx.explore.live: the widgets call the function, show what it returned, and survive its errors."""

import json
import random

import numpy as np
import plotly.graph_objects as go
import pytest

from plusx.explore import explore
from plusx.explore.controls import bind
from plusx.explore.figures import coloured
from plusx.explore.live import _PALETTE, panel
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
        assert drawn(figure) == drawn(coloured(expected, _PALETTE))
        assert data.value.count("<table>") == 1


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
