"""plusx.explore.still: the picture before scripts is where plotly will draw it, in the theme's colours."""

import base64
import io
import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
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


def pixels(root):
    """The one embedded picture of the SVG as it is shown: (height, width, 4)."""
    (image,) = root.iter("image")
    data = base64.b64decode(image.get("{http://www.w3.org/1999/xlink}href").split(",")[1])
    shown = plt.imread(io.BytesIO(data), format="png")
    return shown[::-1] if "scale(1 -1)" in image.get("transform", "") else shown


RAMP = {"x": [0, 1], "y": [0, 1], "z": [[0, 0], [1, 1]], "colorscale": [[0, "#ff0000"], [1, "#0000ff"]]}


def test_a_heat_map_has_the_colours_of_its_values():
    image = pixels(svg([dict(type="heatmap", **RAMP)]))
    np.testing.assert_allclose(image[-10, 10], [1, 0, 0, 1], atol=0.02)  # y = 0 is below
    np.testing.assert_allclose(image[10, 10], [0, 0, 1, 1], atol=0.02)


def test_contours_lie_where_the_value_is_theirs():
    lines = dict(start=0.25, end=0.75, size=0.25, coloring="lines")
    root = svg([dict(type="contour", **RAMP, contours=lines)], yaxis={"range": [0, 1]})
    height = float(root.get("viewBox").split()[3])
    drawn = [p.get("d") for p in root.iter("path") if p.get("clip-path") and "stroke-width: 0.4" in p.get("style", "")]
    up = sorted({round(float(y) / height, 2) for d in drawn for _, y in re.findall(r"[ML] (\S+) (\S+)", d)})
    inner = [(400 - 48 - (400 - 36 - 48) * level) / 400 for level in (0.75, 0.5, 0.25)]
    np.testing.assert_allclose(up, inner, atol=0.006)


def test_a_surface_is_seen_from_where_the_camera_stands():
    """From above with y upwards a surface red at y = 0 has its red below; from the other side, above."""
    ramp = RAMP | {"y": [0, 1, 2, 3], "z": [[0, 0], [0, 0], [1, 1], [1, 1]]}
    for sign, red_at in ((-1, "below"), (1, "above")):
        root = svg([dict(type="surface", **ramp)], scene=dict(camera=dict(eye=dict(x=0, y=0.1 * sign, z=2))))
        image = pixels(root)
        solid = image[..., 3] > 0.9
        rows = np.nonzero((solid & (image[..., 0] > 0.8)).any(1))[0].mean()
        blue = np.nonzero((solid & (image[..., 2] > 0.8)).any(1))[0].mean()
        assert (rows > blue) == (red_at == "below")


@pytest.mark.parametrize(
    "data, layout, message",
    [
        ([dict(type="pie", values=[1])], {}, "no still picture for a trace of type 'pie'"),
        ([dict(type="heatmap", **(RAMP | {"colorscale": "Jet"}))], {}, "no still picture with the colour scale 'Jet'"),
        ([dict(y=[1])], {"shapes": [{"type": "path"}]}, "no still picture for a shape of type 'path'"),
    ],
)
def test_what_it_cannot_draw_is_refused(data, layout, message):
    with pytest.raises(ExploreError, match=message):
        svg(data, **layout)


def test_tick_labels_keep_all_their_digits():
    axis = {"range": [0, 0.01], "tickvals": [0.0034, 0.01234], "ticktext": ["0.0034", "a = 0.01234"]}
    text = ET.tostring(svg([dict(x=[0, 1], y=[0, 0.01])], yaxis=axis), "unicode")
    assert ">0.0034<" in text and ">a = 0.01234<" in text
