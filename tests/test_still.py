"""plusx.explore.still: the picture before scripts is where plotly will draw it, in the theme's colours."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from plusx.explore.controls import ExploreError
from plusx.explore.figures import normalise
from plusx.explore.still import still


def svg(data, width=720, **layout):
    _, figure = normalise({"data": data, "layout": {"title": "t", **layout}}, "f()")
    return ET.fromstring(
        still(figure, width, "p").replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1)
    )


def curve(root, colour="#0a78bd"):
    """The points of the first line in a colour, as fractions of the picture from the top left."""
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    for path in root.iter("path"):
        if f"stroke: {colour}" in path.get("style", "") and path.get("clip-path"):
            points = re.findall(r"[ML] (\S+) (\S+)", path.get("d"))
            return np.array(points, float) / [width, height]


@pytest.mark.parametrize("width", [720, 360])
def test_a_line_spans_the_plot_between_the_margins(width):
    points = curve(svg([dict(x=[0, 1], y=[0, 1], mode="lines")], width, yaxis={"range": [0, 1]}))
    expected = np.array([[60 / width, (400 - 48) / 400], [(width - 16) / width, 36 / 400]])
    np.testing.assert_allclose(points, expected, atol=2e-3)


def test_log_axes_place_decades_evenly():
    y = 10.0 ** np.array([-54, -27, 0])
    points = curve(svg([dict(x=[0, 1, 2], y=y, mode="lines")], yaxis={"type": "log", "range": [-54, 0]}))
    np.testing.assert_allclose(np.diff(points[:, 1], 2), 0, atol=1e-3)


def test_gaps_are_gaps():
    root = svg([dict(x=[0, 1, 2, 3, 4], y=[0, 1, None, 1, 0], mode="lines")])
    assert [
        p.get("d").count("M") for p in root.iter("path") if "#0a78bd" in p.get("style", "") and p.get("clip-path")
    ] == [2]


def test_colours_follow_the_theme():
    text = ET.tostring(svg([dict(x=[0, 1], y=[0, 1], line=dict(color="muted"))], xaxis={"title": "x"}), "unicode")
    assert "var(--px-ink)" in text and "var(--px-muted)" in text and "#00000" not in text


def test_labels_are_text_in_the_page_font():
    text = ET.tostring(svg([dict(x=[0, 1], y=[0, 1])], xaxis={"title": "layer <l> & $x$"}), "unicode")
    assert "layer &lt;l&gt; &amp; $x$" in text and "DejaVu" not in text


def test_the_picture_repeats_to_the_byte():
    _, figure = normalise({"data": [dict(x=[0, 1], y=[0, 1])], "layout": {"title": "t"}}, "f()")
    assert still(figure, 720, "p") == still(figure, 720, "p")


@pytest.mark.parametrize(
    "data, layout, message",
    [
        ([dict(type="pie", values=[1])], {}, "no still picture for a trace of type 'pie'"),
        ([dict(y=[1])], {"shapes": [{"type": "path"}]}, "no still picture for a shape of type 'path'"),
    ],
)
def test_what_it_cannot_draw_is_refused(data, layout, message):
    with pytest.raises(ExploreError, match=message):
        svg(data, **layout)
