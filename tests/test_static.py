"""plusx.explore.static: one fragment that is whole without scripts, and inert whatever the labels say."""

import html.parser
import re

import numpy as np
import pytest
from decoding import decode, state
from hub.reader import sizes

from plusx.explore import static
from plusx.explore.controls import bind
from plusx.explore.states import DEFAULT, Explorer

HOSTILE = "</script><script>alert(1)</script>\"'<b>&amp;"


class Page(html.parser.HTMLParser):
    """The tags, attributes and texts of a fragment; `open` is empty when every tag was closed."""

    VOID = {"input", "br", "img", "path", "use", "rect"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else None, data))

    def find(self, name, **attrs):
        return [a for tag, a in self.tags if tag == name and all(a.get(k.rstrip("_")) == v for k, v in attrs.items())]


def toggled(skip, kind, depth, hostile):
    return dict(
        data=[dict(x=[1, 2, 3], y=np.arange(3) * depth + skip, name=hostile)],
        layout=dict(title=f"depth {depth} {hostile}", yaxis=dict(title=hostile)),
    )


def fragment(function=toggled, **abbreviations):
    controls = abbreviations or dict(
        skip=True, kind=["a", "b"], depth=[1, 2, 4, 8, 16], hostile={HOSTILE: HOSTILE, **{x: x for x in "abcde"}}
    )
    return static.fragment(Explorer(function, bind(function, controls), DEFAULT))


@pytest.fixture(scope="module")
def page():
    return Page(fragment())


def test_tags_are_closed_and_hostile_labels_are_text(page):
    assert page.open == []
    assert [a.get("type") for a in page.find("script")] == ["text/plain"]
    assert not page.find("b")
    assert HOSTILE in [text for tag, text in page.texts if tag == "option"]


def test_the_readers_of_a_hub_know_every_kind_of_control():
    """Only `make hub` lets them press."""
    assert sizes(fragment()) == {"skip": 2, "kind": 2, "depth": 5, "hostile": 6}


def test_the_payload_cannot_close_its_script(page):
    (payload,) = [text for tag, text in page.texts if tag == "script"]
    assert "<" not in payload
    common, leaves = decode(payload)
    assert HOSTILE in state(common, leaves, 0)["title"]


def test_each_control_is_native_labelled_and_shows_its_start(page):
    (switch,) = page.find("input", type="checkbox")
    assert switch["role"] == "switch" and "checked" in switch
    radios = page.find("input", type="radio")
    assert ["checked" in radio for radio in radios] == [True, False]
    assert {radio["data-name"] for radio in radios} == {"kind"}
    (slider,) = page.find("input", type="range")
    assert (slider["min"], slider["max"], slider["value"], slider["aria-valuetext"]) == ("0", "4", "0", "1")
    assert len(page.find("option")) == 6
    legends = [text for tag, text in page.texts if tag == "legend"]
    assert legends == ["toggled", "kind"]


def test_a_docstring_that_asks_stands_above_the_controls():
    def f(x):
        """Is 2 < 1?

        What else it says is for those who read code.
        """
        return dict(data=[dict(x=[1], y=[x])], layout=dict(title="t"))

    def heading():
        shown = Page(static.fragment(Explorer(f, bind(f, dict(x=True)), DEFAULT)))
        return next(text for tag, text in shown.texts if tag == "legend")

    assert heading() == "Is 2 < 1?"
    f.__doc__ = "Not a question."
    assert heading() == "f"


def test_without_scripts_there_is_a_picture_its_words_and_its_numbers(page):
    assert page.find("fieldset")[0].keys() == {"disabled"}
    assert len(page.find("svg")) == 2
    (figure,) = page.find("div", role="img")
    assert figure["aria-label"] == f"depth 1 {HOSTILE}"
    assert [text for tag, text in page.texts if tag == "td"] == ["1", "1", "2", "2", "3", "3"]


def test_the_legend_names_what_is_drawn_and_nothing_else():
    def lines(a):
        dashed = dict(x=[1, 2], y=[1, 2], name="<b>", line=dict(dash="dash", color="C2"))
        unnamed, hidden = dict(x=[1], y=[1]), dict(x=[1], y=[1], name="hidden", visible=False)
        data = [dashed, unnamed, hidden, dict(type="bar", x=[1], y=[1], name="bar")]
        return dict(data=data[: 4 if a else 1], layout=dict(title="t"))

    text = fragment(lines, a=True)
    legend = text[text.index('class="px-legend">') : text.index("</p>", text.index('class="px-legend">'))]
    assert "&lt;b&gt;" in legend and " hidden<" not in legend and legend.count("<span>") == 2
    assert 'stroke="var(--px-C2)"' in legend and 'fill="var(--px-C3)"' in legend  # by place, as plotly colours
    common, leaves = decode(re.search('class="px-states">([^<]+)<', text).group(1))
    assert state(common, leaves, 0)["legend"] == ""  # one trace needs no legend
    assert state(common, leaves, 1)["layout"]["showlegend"] is False


def test_ids_are_unique(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids)) > 10


def test_the_bundle_is_the_smallest_that_draws_every_state():
    def sometimes(kind, a):
        data = [
            dict(x=[1, 2], y=[1, 2])
            if kind in ("none", "scatter")
            else dict(type=kind, x=[1, 2], y=[1, 2], z=[[1, 2], [3, 4]])
        ]
        return dict(data=data, layout=dict(title="t"))

    kinds = {"basic": "scatter", "cartesian": "contour", "gl3d": "surface"}
    for bundle, kind in kinds.items():
        assert f'data-bundle="{bundle}"' in fragment(sometimes, kind=["none", kind], a=True)
    assert 'data-bundle="whole"' in fragment(sometimes, kind=["contour", "surface"], a=True)


def test_a_scale_bar_runs_from_the_least_to_the_greatest_colour():
    def heat(a):
        look = dict(colorscale=[[0, "#ff0000"], [1, "#0000ff"]], zmin=0, zmax=2, colorbar=dict(title="<loss>"))
        return dict(data=[dict(type="heatmap", x=[1, 2], y=[1], z=[[0, 1]], **look)], layout=dict(title="t"))

    text = fragment(heat, a=True)
    bar = text[text.index("&lt;loss&gt;: 0 ") :]
    mixed = "color-mix(in srgb, #0000ff {}%, #ff0000)".format  # so that the names of colours follow the theme
    assert re.findall('style="fill:([^"]+)"', bar)[:25:12] == [mixed(0), mixed(50), mixed(100)]
    assert "</svg> 2</span>" in bar

    def cold(a):
        return dict(data=[dict(type="heatmap", x=[1, 2], y=[1], z=[[-2.5, -1.5]], name="w")], layout=dict(title="t"))

    below = fragment(cold, a=True)
    assert "w: −2.5 " in below and "</svg> −1.5</span>" in below
    common, _ = decode(re.search('class="px-states">([^<]+)<', text).group(1))
    assert common["data"][0]["showscale"] is False
