"""plusx.show.draw: what the chapters' words draw, and where it stands in Chromium and in the still picture."""

import re

import numpy as np
import pytest
import torch
from browser import ROOT

from plusx.explore.figures import normalise
from plusx.explore.still import still
from plusx.show.draw import (
    bars,
    beside,
    beside_the_stream,
    bundle,
    figure,
    heatmap,
    hline,
    line,
    log_axis,
    panel,
    points,
    vline,
    words,
)

AXES = dict(x=dict(range=[0, 2]), y=dict(range=[0, 4]))


def test_a_bundle_is_thin_lines_with_gaps_between_and_their_median():
    y = torch.tensor([[1.0, 2.0, 9.0], [1.0, float("nan"), 3.0]])
    thin, thick = bundle(torch.arange(2), y, "loss", "C1", "dash")
    np.testing.assert_array_equal(thin["x"], [0, 1, 1] * 3)
    np.testing.assert_array_equal(thin["y"], [1, 1, np.nan, 2, np.nan, np.nan, 9, 3, np.nan])
    np.testing.assert_array_equal(thick["y"], [2, np.nan])
    assert thin["line"]["width"] < thick["line"]["width"] and thick["line"] | dict(width=1) == thin["line"] | dict(
        dash="dash"
    )
    assert not thin["showlegend"] and "showlegend" not in thick


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 2, 1)])
def test_a_bundle_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=re.escape(f"bundle: 'loss' has 3 x and a y {shape}; give one row per x")):
        bundle([1, 2, 3], np.zeros(shape), "loss")


def test_points_of_several_nets_stand_above_one_another():
    (trace,) = points([1, 2], torch.tensor([[3.0, 4.0], [5.0, 6.0]]), "nets")
    assert (trace["x"].tolist(), trace["y"].tolist()) == ([1, 1, 2, 2], [3, 4, 5, 6])


def test_text_on_a_grid_is_white_where_the_cell_is_dark():
    z = [[0, 1], [0.5, 0.7]]
    grid, white, black = heatmap([1, 2], [3, 4], z, "share", 0, 1, [["a", "b"], ["c", "d"]])
    assert (white["text"], white["textfont"]["color"]) == (["a", "", "c", ""], "#ffffff")
    assert (black["text"], black["textfont"]["color"]) == (["", "b", "", "d"], "#000000")
    assert list(zip(white["x"], white["y"])) == [(1, 3), (2, 3), (1, 4), (2, 4)]
    assert heatmap([1, 2], [3, 4], z, "share", 0, 1) == [grid]


def test_an_axis_of_powers_has_its_labels():
    assert log_axis("loss", -3.5, 3)["ticktext"] == ["10⁻³", "0.01", "0.1", "1", "10", "100", "10³"]
    assert log_axis("loss", -17, 1, every=8)["tickvals"] == [1e-16, 1e-8, 1]
    assert log_axis("rate", -1, 0, ticks=[0.1, 0.3, 1])["ticktext"] == ["0.1", "0.3", "1"]


def test_a_title_writes_numbers_as_a_book_does():
    read = {
        "1.9e-41 times": "1.9 × 10⁻⁴¹ times",
        "2e+15 (1.5e+15 to 1e+16)": "2 × 10¹⁵ (1.5 × 10¹⁵ to 10¹⁶)",
        "<1e-14": "<10⁻¹⁴",
        "left of x -0.03, max(x, -3)": "left of x −0.03, max(x, −3)",
        "ResNet-18, pre-norm, 3-1, 0.5": "ResNet-18, pre-norm, 3-1, 0.5",
    }
    axis = panel(line([0], [0], "l"), x=dict(title="x"), y=dict(title="y"))
    assert {title: figure(title, axis)["layout"]["title"] for title in read} == read


def test_the_last_panel_needs_an_axis():
    with pytest.raises(ValueError, match="figure: the last panel has no x"):
        figure("t", panel(bars([1], [1], "b"), x=dict(), y=dict()), panel(bars([1], [1], "b"), y=dict()))


def test_explore_takes_every_word():
    parts = [line([0, 1], [1, 2], "line", symbol="square"), words([1], [1], ["word"]), hline(1), vline(1)]
    title, normal = normalise(figure("t", panel(*parts, **AXES), diagram="[relu]:skip"), "f()")
    assert (title, normal["diagram"], normal["layout"]["height"]) == ("t", "[relu]:skip", 400)
    assert still(normal, 720, "p").count("<text") > 3


BOXES = """() => ({
  panels: Object.values(plot._fullLayout._plots).map(
    ({ xaxis: x, yaxis: y }) => [x._offset, y._offset, x._length, y._length]
  ),
  lines: [...document.querySelectorAll(".shapelayer path")].map((path) => {
    const { x, y, width, height } = path.getBBox();
    return [x, y, width, height];
  }),
})"""


def test_panels_stand_below_one_another_and_lines_cross_theirs(open_page):
    """Above a panel that shares the next one's axis there is less room than above one with its own."""
    given = figure(
        "t",
        panel(line([0, 2], [0, 4], "a"), hline(1), y=dict(range=[0, 4])),
        panel(line([0, 2], [0, 4], "b"), tall=2, **AXES),
        panel(line([0, 2], [1, 4], "c"), vline(0.5), x=dict(range=[0, 2]), y=log_axis("size", -2, 2)),
    )
    page, _, _ = open_page("about:blank", solid=False)
    page.set_content("<div id='plot' style='width:700px'></div>")
    page.add_script_tag(path=ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js")
    given["layout"]["margin"] = dict(t=12, b=60)
    page.evaluate("figure => Plotly.newPlot('plot', figure)", given)
    found = page.evaluate(BOXES)
    (left, top, wide, tall), second, third = found["panels"]
    assert [panel[::2] for panel in (second, third)] == 2 * [[left, wide]]
    assert second[3] == pytest.approx(2 * tall, abs=1) and third[3] == pytest.approx(tall, abs=1)
    assert [second[1] - top - tall, third[1] - second[1] - second[3]] == pytest.approx([20, 70], abs=1)
    level, moment = found["lines"]
    assert level == pytest.approx([left, top + tall * 3 / 4, wide, 0], abs=1)
    assert moment == pytest.approx([left + wide / 4, third[1], 0, tall], abs=1)


@pytest.mark.parametrize("width", [700, 360])
def test_squares_stand_side_by_side_at_any_width_and_a_plot_below_has_all_of_it(open_page, width):
    ends = dict(range=[-2, 2])
    square = panel(line([0, 2], [0, 2], "a"), hline(0), x=ends, y=ends, square=True)
    given = figure("t", beside(square, square, square), panel(line([0, 2], [0, 4], "b"), **AXES), height=500)
    page, _, _ = open_page("about:blank", solid=False)
    page.set_content(f"<div id='plot' style='width:{width}px'></div>")
    page.add_script_tag(path=ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js")
    given["layout"] |= dict(margin=dict(l=30, r=30, t=12, b=60), showlegend=False)
    page.evaluate("figure => Plotly.newPlot('plot', figure)", given)
    found = page.evaluate(BOXES)
    *squares, (left, top, wide, _) = found["panels"]
    assert [left, wide] == [30, width - 60]
    assert all(side == pytest.approx(up, abs=1) and side > wide / 5 for _, _, side, up in squares)
    assert len({round(panel[1]) for panel in squares}) == 1 and squares[0][1] + squares[0][3] < top
    steps = np.diff([panel[0] for panel in squares])
    assert steps == pytest.approx(2 * [1.05 / 3 * wide], abs=1)
    for (x, y, side, up), drawn in zip(squares, found["lines"], strict=True):
        assert drawn == pytest.approx([x, y + up / 2, side, 0], abs=1)


def test_the_still_picture_has_the_lines_where_plotly_has_them():
    _, normal = normalise(figure("t", panel(hline(1, "C1"), vline(0.5, "C2"), line([0], [0], "a"), **AXES)), "f()")
    drawn = still(normal, 720, "p")
    path = r'<path d="M ([\d.]+) ([\d.]+) L ([\d.]+) ([\d.]+) "[^>]*stroke: '
    level, moment = (re.search(path + re.escape(f"var(--px-{name})"), drawn) for name in ("C1", "C2"))
    assert [float(v) * 4 / 3 for v in level.groups()] == pytest.approx([66, 273, 704, 273], abs=1)
    assert [float(v) * 4 / 3 for v in moment.groups()] == pytest.approx([225.5, 352, 225.5, 36], abs=1)


def test_what_a_line_says_stands_at_its_end_in_both_pictures(open_page):
    given = figure("t", panel(line([0], [0], "a"), hline(1, says="one"), vline(0.5, says="half"), **AXES))
    _, normal = normalise(given, "f()")
    page, _, _ = open_page("about:blank", solid=False)
    page.set_content(
        f"<div id='plot' style='width:720px'></div><div id='still' style='width:720px'>{still(normal, 720, 'p')}</div>"
    )
    page.add_script_tag(path=ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js")
    page.evaluate("figure => Plotly.newPlot('plot', figure)", given | dict(layout=normal["layout"]))
    for text, ends in {"one": [704, 273], "half": [225.5, 36]}.items():
        for picture in "plot", "still":
            whole = page.locator(f"#{picture}")
            at, whole = whole.get_by_text(text, exact=True).bounding_box(), whole.bounding_box()
            side = at["width"] if text == "one" else 0
            foot = at["height"] if text == "one" else 0
            seen = [at["x"] + side - whole["x"], at["y"] + foot - whole["y"]]
            assert seen == pytest.approx(ends, abs=7), (text, picture)


def test_the_books_picture_has_the_same_axes_for_every_net():
    ratio, left = np.full((8, 3), 0.5), np.full((9, 3), 0.9)
    small = beside_the_stream("one", {"a": (ratio[:2], left[:3])})
    large = beside_the_stream("two", {"a": (100 * ratio, left), "b": (ratio, -left)})
    assert [small["layout"][axis] for axis in ("yaxis", "yaxis2")] == [
        large["layout"][axis] for axis in ("yaxis", "yaxis2")
    ]
    named = [(trace["name"], trace["yaxis"]) for trace in large["data"] if trace.get("showlegend", True)]
    assert named == [("a", "y"), ("b", "y")]
    assert {trace["line"]["color"] for trace in large["data"]} == {"C0", "C1"}
