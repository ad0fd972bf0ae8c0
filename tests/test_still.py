"""plusx.explore.still: the picture before scripts is where plotly will draw it, in the theme's colours."""

import base64
import io
import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import ROOT

from plusx.explore.controls import ExploreError
from plusx.explore.figures import normalise
from plusx.explore.legend import for_page, legend
from plusx.explore.still import still


def svg(data, width=720, **layout):
    _, figure = normalise({"data": data, "layout": {"title": "t", **layout}}, "f()")
    return ET.fromstring(
        still(figure, width, "p").replace("<svg ", '<svg xmlns:xlink="http://www.w3.org/1999/xlink" ', 1)
    )


def curve(root, colour="var(--px-C0)"):
    """The points of the first line in a colour, as fractions of the picture from the top left."""
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    for path in root.iter("path"):
        if f"stroke: {colour}" in path.get("style", "") and path.get("clip-path"):
            points = re.findall(r"[ML] (\S+) (\S+)", path.get("d"))
            return np.array(points, float) / [width, height]


@pytest.mark.parametrize("width", [720, 360])
def test_a_line_spans_the_plot_between_the_margins(width):
    points = curve(svg([dict(x=[0, 1], y=[0, 1], mode="lines")], width, yaxis={"range": [0, 1]}))
    expected = np.array([[66 / width, (400 - 48) / 400], [(width - 16) / width, 36 / 400]])
    np.testing.assert_allclose(points, expected, atol=2e-3)


@pytest.mark.parametrize("width", [720, 360])
def test_a_panel_that_keeps_a_circle_round_does_so_at_any_width(width):
    turn = np.linspace(0, 2 * np.pi, 100)
    axes = dict(xaxis=dict(range=[-1, 1], domain=[0, 0.45], constrain="domain"), yaxis=dict(range=[-1, 1]))
    axes["yaxis"] |= dict(constrain="domain", constraintoward="top", scaleanchor="x")
    root = svg([dict(x=np.cos(turn), y=np.sin(turn), mode="lines")], width, **axes)
    across, up = np.ptp(curve(root) * [float(v) for v in root.get("viewBox").split()[2:]], axis=0)
    assert across == pytest.approx(up, rel=0.01) and across > 0.2 * 0.75 * width
    assert curve(root)[:, 1].min() == pytest.approx(36 / 400, abs=0.01)  # at the top


def test_a_still_has_no_rules_which_would_hold_for_all_of_its_page():
    root = svg([dict(x=[0, 1], y=[0, 1], mode="lines")])
    assert not [node for node in root.iter() if node.tag.endswith("style")]
    assert root.get("style") == "stroke-linejoin: round; stroke-linecap: butt"  # what matplotlib asks for by a rule


def test_log_axes_place_decades_evenly():
    y = 10.0 ** np.array([-54, -27, 0])
    points = curve(svg([dict(x=[0, 1, 2], y=y, mode="lines")], yaxis={"type": "log", "range": [-54, 0]}))
    np.testing.assert_allclose(np.diff(points[:, 1], 2), 0, atol=1e-3)


def test_gaps_are_gaps():
    root = svg([dict(x=[0, 1, 2, 3, 4], y=[0, 1, None, 1, 0], mode="lines")])
    assert [
        p.get("d").count("M") for p in root.iter("path") if "var(--px-C0)" in p.get("style", "") and p.get("clip-path")
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
        ([dict(y=[1])], {"shapes": [{"type": "path"}]}, "no still picture for a shape of type 'path'"),
        (
            [dict(y=[1], mode="markers", marker=dict(symbol="star"))],
            {},
            "no still picture with the marker symbol 'star'",
        ),
    ],
)
def test_what_it_cannot_draw_is_refused(data, layout, message):
    with pytest.raises(ExploreError, match=message):
        svg(data, **layout)


def test_tick_labels_keep_all_their_digits():
    axis = {"range": [0, 0.01], "tickvals": [0.0034, 0.01234], "ticktext": ["0.0034", "a = 0.01234"]}
    text = ET.tostring(svg([dict(x=[0, 1], y=[0, 0.01])], yaxis=axis), "unicode")
    assert ">0.0034<" in text and ">a = 0.01234<" in text


SYMBOLS = ["circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down"]
SYMBOLS += [f"{symbol}-open" for symbol in SYMBOLS]
LOOKS = [
    *[dict(symbol=symbol) for symbol in SYMBOLS],
    dict(symbol="diamond", line=dict(color="#ff0000", width=3)),
    dict(symbol="square-open", line=dict(color="#ff0000", width=3)),
    dict(symbol="circle", line=dict(width=2)),
]
# A path's outline as 15 by 15 points that are in it or not, and what it is drawn with.
MARKS = """find => find(document).map((node) => {
    const path = node.tagName === 'use' ? document.querySelector(node.getAttribute('xlink:href')) : node;
    const svg = document.body.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));
    const copy = svg.appendChild(path.cloneNode());
    copy.removeAttribute('transform');
    const { x, y, width, height } = copy.getBBox();
    const point = svg.createSVGPoint();
    let filled = '';
    for (let row = 0; row < 15; row++) for (let column = 0; column < 15; column++) {
        Object.assign(point, { x: x + (width * (column + 0.5)) / 15, y: y + (height * (row + 0.5)) / 15 });
        filled += Number(copy.isPointInFill(point));
    }
    const style = getComputedStyle(node);
    svg.remove();
    const scale = node.getScreenCTM().a;
    return { filled, fill: style.fill, stroke: style.stroke, wide: width * scale, tall: height * scale,
             line: style.stroke === 'none' ? 0 : parseFloat(style.strokeWidth) * scale };
})"""


def test_markers_look_in_legend_and_still_as_plotly_draws_them(open_page):
    data = [
        dict(x=[i], y=[0], mode="markers", name=f"trace {i}", marker={"color": "#0a78bd", "size": 20, **look})
        for i, look in enumerate(LOOKS)
    ]
    size = dict(width=720, height=400, margin=dict(l=66, r=16, t=36, b=48))
    _, figure = normalise({"data": data, "layout": {"title": "t", **size}}, "f()")
    page, _, _ = open_page("about:blank", solid=False)
    page.set_viewport_size({"width": 1280, "height": 1400})
    page.set_content(
        f"<p>{legend(figure)}</p><div id='still' style='width:720px'>{still(for_page(figure), 720, 'p')}</div>"
        "<div id='plot'></div>"
    )
    page.add_script_tag(path=ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js")
    page.evaluate("figure => Plotly.newPlot('plot', figure)", {"data": data, "layout": size})
    found = {
        "plotly": "all => [...all.querySelectorAll('#plot .points path')]",
        "legend": "all => [...all.querySelectorAll('p svg > *')]",
        "still": "all => [...all.querySelectorAll('#still [id*=PathCollection] :is(use, path:not(defs *))')]",
    }
    drawn = {
        where: page.evaluate(MARKS.replace("find(document)", f"({find})(document)")) for where, find in found.items()
    }
    assert [len(marks) for marks in drawn.values()] == 3 * [len(LOOKS)]
    for look, plotly, swatch, first in zip(LOOKS, *drawn.values()):
        for mark in (swatch, first):
            different = sum(one != other for one, other in zip(mark["filled"], plotly["filled"]))
            assert different <= 5, (look, different)
            assert mark["fill"] == plotly["fill"] and mark["wide"] / mark["tall"] == pytest.approx(
                plotly["wide"] / plotly["tall"], abs=0.02
            ), look
            assert (mark["line"] > 0) == (plotly["line"] > 0), look
            assert mark["stroke"] == plotly["stroke"] or not plotly["line"], look
        assert (first["wide"], first["line"]) == pytest.approx((plotly["wide"], plotly["line"]), abs=0.1), look


def test_symbols_by_point_are_each_drawn_and_the_legend_shows_the_first():
    _, figure = normalise(
        {"data": [dict(x=[0, 1, 2], y=[0, 1, 2], mode="markers", name="a", marker=dict(
            symbol=["diamond", "circle-open", "diamond"], color=["C1", "C2", "C3"], size=[8, 9, 10]))],
         "layout": {"title": "t", "showlegend": True}}, "f()")  # fmt: skip
    marks = still(figure, 720, "p").split("PathCollection", 1)[1]
    assert sorted(re.findall(r'style="fill: ([^;"]+)', marks)) == ["none", "var(--px-C1)", "var(--px-C3)"]
    assert legend(figure).count("<path") == 1 and "<circle" not in legend(figure)


@pytest.mark.parametrize("domain", [[0, 1], [0.72, 1]])
@pytest.mark.parametrize("span", [[0, 1.2], [-0.6, 1], [-1, 3], [-0.6, 7.1], [-30, 2]])
def test_a_logarithmic_axis_has_the_ticks_that_plotly_gives_it(open_page, span, domain):
    axis = dict(type="log", range=span, domain=domain, exponentformat="power")
    data, size = [dict(x=[0, 1], y=[1, 1])], dict(width=720, height=620, margin=dict(l=66, r=16, t=12, b=48))
    drawn = svg(data, **size, yaxis=axis, xaxis=dict(range=[-1, 2], tickvals=[]))
    mine = [text.text for text in drawn.iter("text")]
    page, _, _ = open_page("about:blank", solid=False)
    page.set_content("<div id='plot'></div>")
    page.add_script_tag(path=ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js")
    page.evaluate("figure => Plotly.newPlot('plot', figure)", {"data": data, "layout": {**size, "yaxis": axis}})
    shown = page.locator(".ytick text").all_text_contents()
    raised = {**str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"), 0x200B: None}
    assert mine == [text[:2] + text[2:].translate(raised) for text in shown]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("chapter", ["01-f-of-x-plus-x", "05-degradation"])
def test_without_scripts_each_explorer_has_one_still_that_fills_its_room(site, open_page, chapter, width):
    page, _, _ = open_page((site / "chapters" / f"{chapter}.html").as_uri(), width=width, scripts=False)
    fits = page.locator(".plusx-explore > .px-figure").evaluate_all("""all => all.filter((e) => e.checkVisibility())
        .map((figure) => [...figure.querySelectorAll(".px-still svg")].filter((e) => e.checkVisibility()).map((svg) => {
            const { width, height } = svg.viewBox.baseVal;
            const stretched = svg.getAttribute("preserveAspectRatio") === "none";
            return stretched ? 1 : width / height / (figure.clientWidth / figure.clientHeight); }))""")
    assert len(fits) >= 3
    for each in fits:
        assert len(each) == 1 and 0.5 < each[0] < 2, fits
