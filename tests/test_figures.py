"""plusx.explore.figures: what may be returned, in which form it is kept, what is refused."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from plusx.explore.controls import ExploreError
from plusx.explore.figures import MEANINGS, normalise, table
from plusx.explore.numbers import number
from plusx.explore.saved import PALETTE


def grid(z, x=(1, 2, 3), y=(10, 20), **trace):
    return {"data": [{"type": "heatmap", "x": x, "y": y, "z": z, **trace}], "layout": {"title": "t"}}


def drawn(kind, **trace):
    return {"data": [{"type": kind, **trace}], "layout": {"title": "t"}}


def figure(y, **layout):
    return {"data": [{"type": "scatter", "y": y}], "layout": {"title": "t", **layout}}


@pytest.mark.parametrize(
    "y",
    [
        [1.0, None, 3.0],
        np.array([1.0, np.nan, 3.0]),
        torch.tensor([1.0, float("nan"), 3.0], requires_grad=True),
        (1, None, 3),
    ],
)
def test_numbers_in_any_form_become_one_array(y):
    title, normal = normalise(figure(y), "f()")
    assert title == "t"
    np.testing.assert_array_equal(normal["data"][0]["y"], [1, np.nan, 3])


@pytest.mark.parametrize("y", [torch.tensor([1.5, 2], dtype=torch.bfloat16), torch.tensor([1.5, 2]).half()])
def test_numbers_that_json_does_not_know(y):
    np.testing.assert_array_equal(normalise(figure(y), "f()")[1]["data"][0]["y"], [1.5, 2])


def test_what_has_no_x_and_y_has_no_table():
    link = {"source": [0, 0], "target": [1, 2], "value": [3.5, 1], "color": ["C0", "C1"]}
    _, normal = normalise(drawn("sankey", node={"label": ["in", "skip", "branch"]}, link=link), "f()")
    assert table(normal) == ""


def test_a_plotly_figure_equals_its_dict():
    y = np.linspace(0, 1, 7)
    given = go.Figure(go.Scatter(y=y), layout=dict(title="t", xaxis_title="x"))
    title, normal = normalise(given, "f()")
    _, plain = normalise(figure(y, xaxis={"title": "x"}), "f()")
    assert title == "t"
    for key in "xy":
        np.testing.assert_array_equal(normal["data"][0].pop(key), plain["data"][0].pop(key))
    assert normal == plain


def test_two_dimensional_data_keep_their_shape():
    _, normal = normalise(grid([[1, 2, 3], [4, 5, 6]]), "f()")
    assert normal["data"][0]["z"].shape == (2, 3)


def test_every_axis_gets_the_shared_looks_and_keeps_its_own():
    _, normal = normalise(figure([1], yaxis2={"title": "slope", "gridcolor": "red"}), "f()")
    assert normal["layout"]["xaxis"]["automargin"] == "height"
    assert normal["layout"]["yaxis2"]["automargin"] == "width"
    assert normal["layout"]["yaxis2"]["gridcolor"] == "red"
    assert normal["layout"]["yaxis2"]["title"] == {"text": "slope"}


def test_no_label_is_empty():
    trace = {"type": "scatter", "y": [1, 2], "text": ["", "b"]}
    _, normal = normalise({"data": [trace], "layout": {"title": "t"}}, "f()")
    assert normal["data"][0]["text"] == [" ", "b"]


@pytest.mark.parametrize(
    "trace, key, said",
    [
        ({"y": [0] * 19}, "mode", "lines+markers"),
        ({"x": [0] * 20}, "mode", "lines"),
        ({"y": [0] * 19, "stackgroup": "one"}, "mode", "lines"),
        ({"y": [0], "mode": "text"}, "mode", "text"),
        ({"type": "bar", "y": [0]}, "mode", None),
        ({"type": "heatmap", "x": [0], "y": [0], "z": [[0]]}, "colorscale", "Viridis"),
        ({"type": "contour", "x": [0], "y": [0], "z": [[0]], "colorscale": "Cividis"}, "colorscale", "Cividis"),
    ],
)
def test_what_plotly_would_choose_is_said(trace, key, said):
    _, normal = normalise({"data": [trace], "layout": {"title": "t"}}, "f()")
    assert normal["data"][0].get(key) == said


@pytest.mark.parametrize(
    "returned, message",
    [
        (None, "f(a=1) returned NoneType None; return a plotly figure"),
        (3, "f(a=1) returned int 3"),
        ({"layout": {}}, "f(a=1) returned dict"),
        ({"data": [], "layout": {}}, "f(a=1) returned no layout.title"),
        (figure([1], title=" "), "f(a=1) returned no layout.title"),
        (figure([1], annotations=[{"y": float("nan")}]), "f(a=1): layout.annotations[0].y is nan"),
        (figure([1], xaxis={"range": [0, float("inf")]}), "f(a=1): layout.xaxis.range[1] is inf"),
        (figure([object()]), "f(a=1): data[0].y[0] is object"),
        ({"data": [{"x": [1, 2], "y": [1]}], "layout": {"title": "t"}}, "f(a=1): data[0] has 2 x and 1 y"),
        (figure([1j]), "f(a=1): data[0].y[0] is complex"),
        (grid([[1, 2], [3, 4], [5, 6]]), "f(a=1): data[0] has a z (3, 2), 2 y and 3 x"),
        (grid([[1, 2, 3], [4, 5]]), "f(a=1): data[0] has a z with rows of unequal length, 2 y and 3 x"),
        (figure([1], title=""), 'in it, as in figure.update_layout(title=f"With the skip'),
        ({**figure([1]), "frames": [{}, {}]}, "f(a=1) returned 2 frames, which an explorer does not play"),
        (figure([1], images=[{"source": "//host/a.png"}]), "f(a=1): layout.images[0].source is on another host"),
        (
            drawn("choropleth", locations=["NO"], z=[1]),
            "data[0] is a choropleth, whose map plotly fetches from another",
        ),
        (drawn("scattermap", lat=[1], lon=[2]), "data[0] is a scattermap, whose map plotly fetches from another host"),
        (
            drawn("bar", y=[1], foo=1),
            "Invalid property specified for object of type plotly.graph_objs.Bar: 'foo'",
        ),
        (drawn("scatter", y=[1], line={"color": "C9"}), "received for the 'color' property of scatter.line"),
        (figure([1], xaxis={"typ": "log"}), "f(a=1): Invalid property specified for object of type"),
    ],
)
def test_refusals_name_the_state_and_the_place(returned, message):
    with pytest.raises(ExploreError) as caught:
        normalise(returned, "f(a=1)")
    assert message in str(caught.value)


def luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("page", ["#ffffff", "#181c22"])
def test_every_colour_of_a_saved_picture_stands_out_on_both_pages(page):
    """WCAG 2.2, 1.4.11: graphical objects have a contrast of at least 3:1."""
    for name in PALETTE.keys() - {"grid", "page"}:
        low, high = sorted([luminance(PALETTE[name]), luminance(page)])
        assert (high + 0.05) / (low + 0.05) >= 3, name


@pytest.mark.parametrize("meaning", MEANINGS)
def test_what_has_a_colour_of_its_own_is_called_by_its_name(meaning):
    line = dict(x=[meaning, "b"], y=[1, 2], name=meaning, line=dict(color=meaning), marker=dict(color=[meaning, "C3"]))
    _, drawn = normalise(dict(data=[line], layout=dict(title=meaning, shapes=[dict(line=dict(color=meaning))])), "f()")
    (trace,), code = drawn["data"], MEANINGS[meaning]
    assert (trace["x"][0], trace["name"]) == (meaning, meaning)
    assert trace["line"]["color"] == drawn["layout"]["shapes"][0]["line"]["color"] == code
    assert trace["marker"]["color"] == [code, "C3"]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (-0.0, "0"), (1.0, "1"), (-0.12345, "-0.1235"), (12345.0, "12350"),
        (-2.0625, "-2.063"), (99999.0, "100000"), (1e5, "1.000e+5"),
        (3.2e-24, "3.200e-24"), (np.nan, "–"), (np.inf, "∞"), (-np.inf, "−∞"),
    ],
)  # fmt: skip
def test_numbers_keep_four_digits(value, text):
    assert number(value) == text


def test_traces_over_one_x_share_a_table():
    _, normal = normalise(
        {
            "data": [
                {"x": [1, 2], "y": [3, 4], "name": "<plain>"},
                {"x": [1, 2], "y": [5, None], "name": "skip"},
                {"x": [7], "y": [8]},
            ],
            "layout": {"title": "t", "xaxis": {"title": "layer"}, "yaxis": {"title": "norm"}},
        },
        "f()",
    )
    html = table(normal)
    assert html.count("<table>") == 2
    assert "&lt;plain&gt;: norm" in html and "<td>–</td>" in html and "series 3: norm" in html


def test_a_grid_has_a_table_of_its_own():
    html = table(normalise(grid([[1, 2, 3], [4, None, 6]], name="skip", colorbar={"title": "loss"}), "f()")[1])
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in html.split("<tr>")[1:]]
    assert rows == [["y ↓ x →", "1", "2", "3"], ["10", "1", "2", "3"], ["20", "4", "–", "6"]]
    assert "<caption>skip: loss</caption>" in html


def test_words_in_a_table_stay_words():
    bars = dict(type="bar", x=["<b>", "a & b"], y=[1, 2], name="<i>")
    html = table(normalise({"data": [bars], "layout": {"title": "t", "xaxis": {"title": "<u>"}}}, "f()")[1])
    assert "<td>&lt;b&gt;</td>" in html and "<td>a &amp; b</td>" in html
    assert '<th scope="col">&lt;u&gt;</th><th scope="col">&lt;i&gt;: y</th>' in html
    html = table(normalise(grid([[1, 2, 3], [4, 5, 6]], name="<skip>", colorbar={"title": "<loss>"}), "f()")[1])
    assert "<caption>&lt;skip&gt;: &lt;loss&gt;</caption>" in html


def test_a_surface_has_a_scene_and_no_flat_axes():
    _, normal = normalise(grid([[1, 2, 3], [4, 5, 6]], type="surface"), "f()")
    assert normal["layout"]["scene"]["xaxis"]["color"] == "ink"
    assert not normal["layout"].keys() & {"xaxis", "yaxis"}
