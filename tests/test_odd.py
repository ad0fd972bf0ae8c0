"""Odd but valid figures and controls: what plotly takes is drawn, what is refused is refused for its own reason."""

import datetime
import functools
import re
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import plotly.express as px
import plotly.graph_objects as go
import pytest
import torch
from bs4 import BeautifulSoup
from plotly.subplots import make_subplots
from test_view import page_of, settle  # noqa: F401

from plusx.explore.controls import ExploreError, bind
from plusx.explore.figures import normalise, table
from plusx.explore.legend import for_page
from plusx.explore.live import Live
from plusx.explore.states import DEFAULT, Explorer
from plusx.explore.static import fragment
from plusx.explore.still import still

T = dict(title="t")
ONE = dict(a=[1, 2])
SENTENCE = "This picture needs JavaScript"


def page(figure, **controls):
    def f(a):
        return figure

    return fragment(Explorer(f, bind(f, controls or ONE), DEFAULT))


def of(*traces, **layout):
    return dict(data=list(traces), layout=T | layout)


def bars(figure):
    """The bars of a first picture, as left, right, low and high in the picture's points."""
    root = ET.fromstring(still(for_page(normalise(figure, "f()")[1]), 720, "p").replace("xlink:href", "href"))
    found = [p.get("d") for p in root.iter("path") if p.get("clip-path") and "fill: var(--px-C" in p.get("style", "")]
    corners = [np.array(re.findall(r"[ML] (\S+) (\S+)", d), float) for d in found]
    return [(*c.min(0)[:1], *c.max(0)[:1], *(-c[:, 1]).round(1)[[0, 2]]) for c in corners]


def labels(figure):
    return [
        text.get_text()
        for text in BeautifulSoup(still(for_page(normalise(figure, "f()")[1]), 720, "p"), "html.parser")("text")
    ]


def marks(figure):
    """The corners of the first line of a first picture, as fractions of its spread."""
    found = BeautifulSoup(still(for_page(normalise(figure, "f()")[1]), 720, "p"), "html.parser")(
        "path", attrs={"clip-path": True}
    )
    d = next(p["d"] for p in found if "stroke: var(--px-C0)" in p["style"])
    x, y = np.array(re.findall(r"[ML] (\S+) (\S+)", d), float).T
    return (x - x.min()) / (np.ptp(x) or 1), (y.max() - y) / (np.ptp(y) or 1)


# ---- drawn, and by their own kind ------------------------------------------------------------------------------------

X3 = [1, 2, 3]
WHOLE = dict(x=[0.0, 1.0], y=[0.0, 1.0])
FACETS = make_subplots(1, 2, shared_yaxes=True, subplot_titles=["a", "b"])  # as plotly express makes them
FACETS.add_trace(go.Scatter(y=X3), 1, 1).add_trace(go.Scatter(y=X3), 1, 2).update_layout(title="t")
MARKS = dict(size=[100, 200, 300], sizemode="area", sizeref=0.75, color=X3, coloraxis="coloraxis")
BUBBLES = of(
    dict(x=X3, y=X3, mode="markers", marker=MARKS), coloraxis=dict(colorscale=[[0, "#0d0887"], [1, "#f0f921"]])
)
DRAWN = {
    "pie": of(dict(type="pie", values=[1, 2], labels=["a", "b"], domain=WHOLE)),
    "treemap": of(dict(type="treemap", labels=["a", "b"], parents=["", "a"], domain=WHOLE)),
    "sunburst": of(dict(type="sunburst", labels=["a", "b"], parents=["", "a"], domain=WHOLE)),
    "icicle": of(dict(type="icicle", labels=["a", "b"], parents=["", "a"], domain=WHOLE)),
    "funnelarea": of(dict(type="funnelarea", values=[1, 2], labels=["a", "b"], domain=WHOLE)),
    "parcats": of(dict(type="parcats", dimensions=[dict(values=["u", "v"]), dict(values=["p", "q"])], domain=WHOLE)),
    "parcoords": of(dict(type="parcoords", dimensions=[dict(values=X3, range=[0, 4])] * 2, domain=WHOLE)),
    "gauge": go.Figure(go.Indicator(mode="gauge", value=3, gauge=dict(axis=dict(range=[0, 9]))), T),
    "scatter3d": of(dict(type="scatter3d", x=X3, y=X3, z=X3, mode="markers")),
    "mesh3d": of(dict(type="mesh3d", x=[0, 1, 0, 0], y=[0, 0, 1, 0], z=[0, 0, 0, 1])),
    "cone": of(dict(type="cone", x=[1], y=[1], z=[1], u=[1], v=[1], w=[0])),
    "imshow": px.imshow(np.arange(6.0).reshape(2, 3), title="t"),
    "image": go.Figure(go.Image(z=np.full((2, 2, 3), 100)), T),
    "multicategory": of(dict(type="bar", x=[["u", "u"], ["p", "q"]], y=[1, 2])),
    "star": of(dict(y=X3, mode="markers", name="a", marker=dict(symbol="star")), dict(y=X3, name="b")),
    "path": of(dict(y=X3), shapes=[dict(type="path", path="M0,0L1,1")]),
    "label": of(dict(y=X3), shapes=[dict(type="line", x0=0, x1=1, y0=1, y1=2, label=dict(text="slope"))]),
    "untyped shape": of(dict(y=X3), shapes=[dict(x0=0, x1=1, y0=1, y1=2)]),
    "huge": of(dict(y=[1.7e308, -8.5e307])),
    "total": of(dict(type="bar", x=["p", "q"], y=[1, 2]), xaxis=dict(categoryorder="total descending")),
    "facets": FACETS,
    "rgb": of(dict(y=X3, line=dict(color="rgb(10,20,30)"))),
    "hsl": of(dict(y=X3, line=dict(color="hsl(120, 50%, 50%)"))),
    "Set1": of(dict(y=X3, marker=dict(color=px.colors.qualitative.Set1[0]), mode="markers")),
    "scale by name": go.Figure(go.Heatmap(z=[[1, 2]], colorscale="RdBu"), T),
    "scale by name in a dict": of(dict(type="heatmap", z=[[1, 2]], colorscale="Jet")),
    "two colours": of(dict(type="heatmap", z=[[1, 2]], colorscale=["blue", "red"])),
    "edges": of(dict(type="heatmap", x=[0, 1, 4], y=[0, 2], z=[[1, 2]])),
    "yes and no": of(dict(type="heatmap", z=[[True, False]])),
    "mixed": of(dict(y=[1, "two", 3])),
    "a gap among words": of(dict(x=["a", None, "b"], y=X3)),
    "go.Layout": dict(data=[go.Scatter(y=X3)], layout=go.Layout(title="t")),
    "dates": of(dict(x=np.array(["2026-01-30", "NaT", "2026-02-03"], "datetime64[ns]"), y=X3)),
    "days": of(dict(x=[datetime.date(2026, 1, 30), datetime.date(2026, 1, 31)], y=[1, 2])),
    "bubbles": BUBBLES,
    "a range and keys": of(dict(x=range(3), y={1: 0, 2: 0, 3: 0}.keys())),
    "masked": of(dict(type="heatmap", z=np.ma.array([[1.0, 99.0]], mask=[[0, 1]]))),
    "nothing": of(dict(x=[], y=[])),
    "half": of(dict(y=torch.tensor([1.0, 2.0], dtype=torch.bfloat16, requires_grad=True))),
}
NO_STILL = {*list(DRAWN)[:11], "bubbles", "hsl", "image", "multicategory", "star", "path", "label", "huge", "total"}


@pytest.mark.parametrize("kind", DRAWN)
def test_what_plotly_takes_is_taken_with_a_picture_or_a_sentence(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = page(DRAWN[kind])
    assert (SENTENCE in text) == (kind in NO_STILL)

    def f(a):
        return DRAWN[kind]

    widget = Live(Explorer(f, bind(f, ONE), DEFAULT))
    assert 'class="px-result"' in widget.markup and "has no result" not in widget.kept["text/html"]


def test_all_of_them_are_drawn_in_a_page(page_of):  # noqa: F811
    kinds = [kind for kind in DRAWN if kind not in ("nothing", "gauge")]

    def drawn(kind):
        figure = DRAWN[kind].to_plotly_json() if isinstance(DRAWN[kind], go.Figure) else DRAWN[kind]
        layout = figure["layout"].to_plotly_json() if isinstance(figure["layout"], go.Layout) else figure["layout"]
        return dict(data=figure["data"], layout={**layout, "title": f"This is {kind}"})

    page, errors = page_of(drawn, kind=kinds)
    for kind in kinds:
        page.get_by_role("combobox").select_option(label=kind)
        settle(page)
        assert page.locator("[role=alert]").is_hidden(), kind
        assert page.evaluate("document.querySelector('.px-plot')._fullData.every(({ visible }) => visible)"), kind
    assert errors == []


def test_what_plotly_itself_cannot_draw_is_said(page_of):  # noqa: F811
    def tiny(a):
        return of(dict(y=[5e-324, 1e-310, 1e-308] if a else [1, 2, 3]))

    page, errors = page_of(tiny, a=[1, 0])  # with a ghost of the other its axis would be wide
    page.wait_for_function("!document.querySelector('[role=alert]').hidden")
    assert "could not be drawn" in page.locator("[role=alert]").inner_text()
    page.locator("input[type=radio]").nth(1).check()
    settle(page)
    assert page.locator("[role=alert]").is_hidden() and page.locator(".scatterlayer .js-line").count() > 0
    assert errors == []


@pytest.mark.parametrize(
    "mode, own", [("overlay", {}), ("relative", {}), ("stack", {}), ("group", dict(offsetgroup="a"))]
)
def test_bars_stand_as_plotly_puts_them(page_of, mode, own):  # noqa: F811
    def two(a):
        return of(*(dict(type="bar", x=["p", "q"], y=y, **own) for y in ([3, 4], [1, a])), barmode=mode)

    page, errors = page_of(two, **ONE)
    places = page.evaluate("[...document.querySelectorAll('.barlayer .point path')].map((p) => p.getBBox().x)")
    assert places[:2] == pytest.approx(places[2:], abs=0.5)
    page.locator("input[type=radio]").nth(1).check()
    settle(page)
    places = page.evaluate("[...document.querySelectorAll('.barlayer .point path')].map((p) => p.getBBox().x)")
    assert all(place == pytest.approx(places[i % 2], abs=0.5) for i, place in enumerate(places)) and errors == []


# ---- names are names, dates are dates --------------------------------------------------------------------------------


def test_names_that_look_like_numbers_are_names(page_of):  # noqa: F811
    def rooms(swap):
        return of(
            dict(type="bar", x=["101", "102", "20A"], y=[1, 2, 3]),
            dict(x=["1", "10", "2"], y=[1, 2, swap], xaxis="x2", yaxis="y2"),
        )

    page, _ = page_of(rooms, swap=[1, 2])
    types = "['xaxis', 'xaxis2', 'yaxis'].map((axis) => document.querySelector('.px-plot')._fullLayout[axis].type)"
    assert page.evaluate(types) == ["category", "category", "linear"]
    assert page.locator(".barlayer .point path").count() == 3


def test_days_are_as_far_apart_as_they_are():
    days = of(dict(x=["2026-01-01", "2026-01-02", "2026-06-01"], y=X3, mode="lines"))
    assert marks(days)[0] == pytest.approx([0, 1 / 151, 1], abs=2e-3)
    assert "2026" in " ".join(labels(days))
    assert marks(of(dict(x=["1990", "2000", "2020"], y=X3, mode="lines")))[0] == pytest.approx([0, 0.5, 1], abs=2e-3)
    assert normalise(days, "f()")[1]["layout"]["xaxis"]["type"] == "date"


def test_yes_and_no_are_words():
    figure = normalise(of(dict(x=X3, y=[True, False, True], mode="lines")), "f()")[1]
    assert re.findall("<td>(.*?)</td>", table(figure))[1::2] == ["true", "false", "true"]
    assert {"true", "false"} <= set(labels(of(dict(x=X3, y=[True, False, True]))))


# ---- the first picture shows what plotly will ------------------------------------------------------------------------


def test_bars_of_a_first_picture_stand_where_plotly_puts_them():
    two = [dict(type="bar", x=["p", "q"], y=[3, 4]), dict(type="bar", x=["p", "q"], y=[1, 2])]
    grouped = bars(of(*two))
    assert grouped[0][1] == pytest.approx(grouped[2][0], abs=0.5)  # side by side
    stacked = bars(of(*two, barmode="stack"))
    assert stacked[0][3] == pytest.approx(stacked[2][2], abs=0.5) and stacked[0][0] == stacked[2][0]
    relative = bars(of(two[0], dict(two[1], y=[-1, -2]), barmode="relative"))
    assert relative[0][2] == relative[2][2]  # down from zero
    over = bars(of(*two, barmode="overlay"))
    assert over[0][:2] == over[2][:2]
    ((x0, x1, low, high),) = bars(of(dict(type="bar", x=[1], y=[2], base=[5], width=0.2)))
    ((y0, y1, left, right),) = bars(of(dict(type="bar", x=[1], y=[7], width=0.4)))
    assert (x1 - x0) == pytest.approx((y1 - y0), rel=0.01)  # of an axis as wide as its one bar
    twice = bars(of(dict(type="bar", x=["a", "a"], y=[1, 2])))
    assert twice[0][3] == twice[1][2]


def test_a_reversed_axis_is_reversed():
    rise = dict(x=[0, 1], y=[0, 1], mode="lines")
    assert list(marks(of(rise))[1]) == [0, 1]
    assert list(marks(of(rise, yaxis=dict(autorange="reversed")))[1]) == [1, 0]


def test_categories_stand_in_their_order():
    word = dict(x=["c", "a", "b"], y=X3, mode="lines")
    assert marks(of(word))[0] == pytest.approx([0, 0.5, 1])
    for order in (dict(categoryorder="category ascending"), dict(categoryarray=["a", "b", "c"])):
        assert marks(of(word, xaxis=order))[0] == pytest.approx([1, 0, 0.5])


def test_a_logarithmic_axis_without_a_range_has_no_tex():
    text = " ".join(labels(of(dict(y=[1, 1000]), yaxis=dict(type="log"))))
    assert "mathdefault" not in text and "10³" in text


def test_steps_gaps_and_shared_axes():
    assert labels(of(dict(x0=10, dx=5, y=X3)))[0] == "10"
    with pytest.raises(ExploreError, match="no still picture of joined gaps"):
        labels(of(dict(x=X3, y=[1, None, 3], mode="lines", connectgaps=True)))
    shared = of(
        dict(x=X3, y=[0, 1, 2], mode="lines", line=dict(color="C0")),
        dict(x=[0, 9], y=[0, 9], yaxis="y2", mode="lines"),
        yaxis=dict(domain=[0, 0.4], matches="y2"), yaxis2=dict(domain=[0.6, 1]),
    )  # fmt: skip
    assert labels(shared).count("5") == 2


def test_marks_have_the_colours_of_their_numbers():
    marker = dict(size=9, color=[0, 5, 9], colorscale="Plasma")
    svg = still(for_page(normalise(of(dict(x=X3, y=X3, mode="markers", marker=marker)), "f()")[1]), 720, "p")
    fills = re.findall("fill: (#[0-9a-f]{6})", svg[svg.index("PathCollection") :])
    assert fills == ["#0d0887", fills[1], "#f0f921"]


def test_what_stands_above_a_plot_keeps_its_room():
    titled = of(dict(y=X3), annotations=[dict(text="left", xref="paper", yref="paper", x=0, y=1, yanchor="bottom")])
    assert for_page(normalise(titled, "f()")[1])["layout"]["margin"]["t"] == 36
    ternary = of(dict(type="scatterternary", a=[1], b=[1], c=[1]))
    assert for_page(normalise(ternary, "f()")[1])["layout"]["margin"]["t"] == 36
    assert for_page(normalise(of(dict(y=X3)), "f()")[1])["layout"]["margin"]["t"] == 12


def test_many_marks_make_one_picture():
    many = np.random.default_rng(0).normal(size=(2, 100_000))
    svg = still(for_page(normalise(of(dict(x=many[0], y=many[1], mode="markers")), "f()")[1]), 720, "p")
    assert len(svg) < 500_000


def test_numbers_of_torch_in_a_list_are_numbers():
    """They were kept as words are, and plotly.py was asked anew about each state that had others."""
    given = of(dict(x=[torch.tensor(0.5), torch.tensor(1.5)], y=[torch.tensor(2), None]))
    (found,) = normalise(given, "f()")[1]["data"]
    assert found["x"].dtype == found["y"].dtype == np.float64
    np.testing.assert_array_equal([found["x"], found["y"]], [[0.5, 1.5], [2, np.nan]])


def test_what_is_masked_is_a_gap():
    hidden = np.ma.array([1.0, 50, 3, 4], mask=[0, 1, 0, 0])
    np.testing.assert_array_equal(normalise(of(dict(y=hidden)), "f()")[1]["data"][0]["y"], [1, np.nan, 3, 4])


# ---- tags ------------------------------------------------------------------------------------------------------------

TAGGED = of(
    dict(y=X3, name="loss<sub>train</sub>"), dict(y=X3, name="a <b & c>"), xaxis=dict(title="x<sup>2</sup>"),
    title="H<sub>2</sub>O, <b>bold</b>, 3 < 4",
)  # fmt: skip


def test_plotlys_tags_are_set(page_of):  # noqa: F811
    text = page(TAGGED)
    result = re.search('class="px-result"[^>]*>(.*?)</p>', text)[1]
    assert "H<sub>2</sub>O, <b>bold</b>, 3 &lt; 4" in result
    assert "loss<sub>train</sub>" in text and "a &lt;b &amp; c&gt;" in text
    assert 'aria-label="H₂O, bold, 3 &lt; 4"' in text and '<th scope="col">x²</th>' in text
    assert "&lt;sup&gt;" not in text and "baseline-shift" in text
    page_, errors = page_of(lambda a: TAGGED, a=[1, 2])
    page_.locator("input[type=radio]").nth(1).check()
    settle(page_)
    assert page_.locator(".px-result sub").inner_text() == "2"
    assert page_.locator(".px-result").inner_text() == "H2O, bold, 3 < 4"
    assert page_.locator(".px-figure").get_attribute("aria-label") == "H₂O, bold, 3 < 4"
    assert page_.locator(".px-legend sub").inner_text() == "train" and errors == []


# ---- refused, in words that help -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "figure, words",
    [
        (dict(data=[dict(y=X3)], layout=None), "no layout.title"),
        (of(dict(y=X3), title=None), "no layout.title"),
        (of(dict(y=X3), title=42), "no layout.title"),
        (of(dict(y=5)), r"data\[0\].y is 5; give a list or an array"),
        (of(dict(y=np.array(3.0))), r"data\[0\].y is 3.0; give a list or an array"),
        (of(dict(x=[1, 2], y=[[1, 2], [3, 4]])), r"data\[0\].y has the shape \(2, 2\); give one value for each point"),
        (of(dict(y=torch.tensor([1.0]).to_sparse())), r"data\[0\].y is a Tensor .* no array"),
        (of(dict(y=torch.empty(2, device="meta"))), r"data\[0\].y is a Tensor .* no array"),
        (of(dict(type="heatmap", z=[[], []])), r"data\[0\] has a z without cells"),
        (of(dict(type="heatmap", x=[1], y=[1, 2, 3, 4], z=[[1]])), r"data\[0\] has a z \(1, 1\), 4 y and 1 x"),
    ],
)
def test_refusals_say_what_came_and_what_is_wanted(figure, words):
    with pytest.raises(ExploreError, match=words):
        normalise(figure, "f()")


def test_a_figure_widget_is_the_same_when_called_again():
    def f(a):
        return go.FigureWidget(go.Scatter(y=[a]), T)

    fragment(Explorer(f, bind(f, ONE), DEFAULT))


def test_controls_of_odd_kinds():
    def f(a, k=0):
        return of(dict(y=[a, k]))

    (control,) = bind(f, dict(a=(np.int64(1), np.int64(5))))
    assert control.labels == ("1", "2", "3", "4", "5")
    with pytest.raises(ExploreError, match="'a' has an option whose label is an address.*give \\(label, value\\)"):
        bind(f, dict(a=[lambda x: x, lambda x: -x]))
    with pytest.raises(ExploreError, match=r"'a' of <lambda>.* is positional-only. Make it a keyword"):
        bind(eval("lambda a, /: None"), ONE)
    assert 'data-name="f"' in fragment(
        Explorer(functools.partial(f, k=3), bind(functools.partial(f, k=3), ONE), DEFAULT)
    )

    def g(self):
        return of(dict(y=X3))

    with pytest.raises(ExploreError, match="every widget has a 'self' of its own"):
        Live(Explorer(g, bind(g, dict(self=[1, 2])), DEFAULT))


def test_a_function_that_prints_or_warns_says_nothing_in_the_page(capsys):
    def f(a):
        print("here", a)
        warnings.warn("there", stacklevel=1)
        return of(dict(y=[a]))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        fragment(Explorer(f, bind(f, ONE), DEFAULT))
    assert capsys.readouterr() == ("", "")


def test_over_its_budget_the_dearest_control_is_named():
    """Not the one with the most options: here the other, whose each state has numbers of its own."""

    def f(scale, seed):
        return of(dict(y=np.random.default_rng(seed).normal(size=20_000)))

    explorer = Explorer(f, bind(f, dict(scale=(1, 9), seed=[1, 2, 3, 4])), DEFAULT)
    with pytest.raises(ExploreError, match="'seed'"):
        explorer.payload(explorer.tabulate())
