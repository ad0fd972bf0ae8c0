"""plusx.explore.numbers: a page draws what the function returned, and its tables tell rows apart."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import ROOT
from decoding import decode, state
from hypothesis import given, settings
from hypothesis import strategies as st

from plusx.explore.controls import bind
from plusx.explore.figures import normalise, table
from plusx.explore.numbers import spared
from plusx.explore.states import DEFAULT, Explorer, encode
from plusx.explore.static import as_seen, fragment

TURNS = np.sin(np.arange(60) / 6)
# What a function may return on an axis: the twelve kinds that once were drawn wrong, and their like.
KINDS = {
    "a wave of 1": TURNS,
    "a wave of 1 on a million": 1e6 + TURNS,
    "a wave of a millionth on 1": 1 + 1e-6 * TURNS,
    "1e-9 on 1": 1 + 1e-9 * TURNS,
    "the years 2000 to 2001": np.linspace(2000, 2001, 60),
    "seconds since 1970": 1_700_000_000 + np.arange(60.0),
    "milliseconds since 1970": 1_700_000_000_000 + np.arange(60.0),
    "integers near 2^53": 2.0**53 - 60 + np.arange(60),
    "1e-300": 1e-300 * TURNS,
    "1e300": 1e300 * TURNS,
    "decades": 10.0 ** np.linspace(-300, 300, 60),
    "subnormal": 5e-324 * np.arange(60),
    "one neighbour apart": np.array([1, 1 + 1e-9, *range(2, 60)]),
    "a tie of four digits": np.array([2.0015, *range(3, 62)]),
    "a line at one height": np.full(60, 1 / 3),
}
PIXELS = 2000 * 100  # of an axis as wide as a large screen, after a zoom by 100


def page_of(*figures):
    """What a page holds of these figures, which one control chooses: its markup, and a figure for each state."""

    def shown(at):
        return figures[at]

    text = fragment(Explorer(shown, bind(shown, dict(at=list(range(len(figures))))), DEFAULT))
    common, leaves = decode(re.search('class="px-states">([^<]+)<', text)[1])
    return text, [state(common, leaves, at) for at in range(len(figures))]


def sent(figure):
    """What a page holds of a figure, without the rest of the page."""
    title, normal = normalise(figure, "f()")
    return decode(encode(spared([(title, as_seen(normal))])))[0]


def line(y, x=None, **axes):
    trace = dict(x=np.arange(len(y)) if x is None else x, y=y, mode="lines")
    return dict(data=[trace], layout=dict(title="t", **axes))


def off(shown, given, width, log=False):
    """By how many pixels the worst point is drawn elsewhere, on an axis of that width. Halves, or 2e308 is infinite."""
    place = np.log10 if log else np.asarray
    error = np.abs(place(shown) / 2 - place(given) / 2).max()
    return error / (width / 2) * PIXELS if width else error


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_is_drawn_where_the_function_put_it(kind):
    values = KINDS[kind]
    (trace,) = sent(line(values))["data"]
    assert off(trace["y"], values, np.ptp(values)) <= 0.1


offsets = st.one_of(st.just(0.0), st.floats(-1e15, 1e15))
scales = st.floats(-300, 300).map(lambda power: 10.0**power)
seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=150)
@given(scales, offsets, seeds, st.sampled_from(["linear", "log"]), st.sampled_from([None, 1, 1e-3, 10]))
def test_no_scale_no_offset_and_no_range_moves_a_point(scale, offset, seed, kind, ranged):
    draw = np.random.default_rng(seed)
    y = (offset + draw.normal(size=30) * draw.choice([1, 1e-3, 1e-9])) * (scale if abs(offset) < 1e7 else scale * 1e-9)
    x = draw.integers(-(2**53), 2**53, 30) if seed % 2 else 2**53 - draw.integers(0, 1000, 30)
    y, log = np.abs(y) if kind == "log" else y, kind == "log"
    if log:
        y = np.where(y > 0, y, scale)
    low, high = (np.log10(y.min()), np.log10(y.max())) if log else (y.min(), y.max())
    width = high - low if np.isfinite(high - low) else np.finfo(float).max
    axis = dict(type=kind)
    if ranged and width:
        width *= min(ranged, 0.5) if max(abs(low), abs(high)) > 1e300 else ranged
        middle = low / 2 + high / 2
        axis["range"] = [middle - width / 2, middle + width / 2]
        width = axis["range"][1] - axis["range"][0]
    drawn = sent(line(y, x, yaxis=axis))
    (trace,) = drawn["data"]
    # More than a double holds nobody can draw: one step of it, in the logarithm's own numbers.
    tiny = 1e-15 * max(abs(low), abs(high)) / width * PIXELS if log and width else 0
    assert off(trace["y"], y, width, log) <= 0.1 + tiny
    assert off(trace["x"], x, float(np.ptp(x))) <= 0.1
    assert len(np.unique(trace["x"])) == len(np.unique(x.astype(float)))


def test_a_line_of_another_state_is_where_it_was_on_a_narrower_axis():
    """Its ghost stands there."""
    wide = line(1e6 + np.arange(60.0), yaxis=dict(range=[1e6, 1e6 + 60]))
    narrow = line(1e6 + np.arange(60.0) + 1e-3 * TURNS, yaxis=dict(range=[1e6, 1e6 + 1e-3]))
    _, (first, _) = page_of(wide, narrow)
    assert off(first["data"][0]["y"], wide["data"][0]["y"], 1e-3) <= 0.1


def test_what_is_read_and_not_placed_is_exact():
    words = dict(x=[0.1, 0.7], y=[1, 2], text=[0.1, 0.2], customdata=[1 / 3, 2 / 3])
    names = dict(data=[words], layout=dict(title="t", xaxis=dict(type="category")))
    days = dict(data=[dict(x=[1.7e12 + 0.1, 1.8e12], y=[1, 2])], layout=dict(title="t", xaxis=dict(type="date")))
    _, (drawn, dated) = page_of(names, days)
    (trace,) = drawn["data"]
    assert [list(trace[key]) for key in ("x", "text", "customdata")] == [[0.1, 0.7], [0.1, 0.2], [1 / 3, 2 / 3]]
    assert list(dated["data"][0]["x"]) == [1.7e12 + 0.1, 1.8e12]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_tells_rows_apart(kind):
    values = KINDS[kind]
    text, (drawn,) = page_of(line(np.arange(60.0), values))
    assert table(drawn) in text
    shown = re.findall("<td>(.*?)</td>", table(drawn))[::2]
    assert len(set(shown)) == len(np.unique(values))
    assert all(float(word) == pytest.approx(value, rel=1e-3) for word, value in zip(shown, values))
    told = re.findall("<td>(.*?)</td>", table(page_of(line(values))[1][0]))[1::2]
    assert len(set(told)) > 20 or kind == "a line at one height"


def test_a_scale_of_colours_tells_its_ends_apart():
    grid = dict(type="heatmap", x=[0, 1], y=[0], z=[[1e6, 1e6 + 1]])
    text, _ = page_of(dict(data=[grid], layout=dict(title="t")))
    legend = text[text.index('class="px-legend">') :]
    assert "z: 1000000 " in legend and " 1000001</span>" in legend


def test_the_browsers_reader_and_writer_agree_with_pythons():
    """js/states.js and js/tables.js, in node."""
    figures = [line(values) for values in KINDS.values()] + [line(TURNS, values) for values in KINDS.values()]
    text, drawn = page_of(*figures)
    payload = re.search('class="px-states">([^<]+)<', text)[1]
    script = f"""
      import {{ decode }} from "{(ROOT / "src/plusx/explore/js/states.js").as_uri()}";
      import {{ cells }} from "{(ROOT / "src/plusx/explore/js/numbers.js").as_uri()}";
      const {{ leaves }} = await decode(Buffer.from(process.argv[1], "base64"));
      const told = leaves.flatMap(({{ path, values, index }}) => path.at(-1) === "title" ? [] : [[path.at(-1),
        index.map((at) => Buffer.from(values[at].slice().buffer).toString("base64")),
        values.map((each) => cells(each, true)), index]]);
      console.log(JSON.stringify(told));"""
    node = Path(sys.executable).with_name("node")
    done = subprocess.run([node, "--input-type=module", "-e", script, payload], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for key, arrays, words, index in json.loads(done.stdout):
        for at, array in enumerate(arrays):
            ours = drawn[at]["data"][0][key]
            np.testing.assert_array_equal(np.frombuffer(base64.b64decode(array)), ours)
            flat = dict(data=[dict(x=ours, y=np.zeros(60))], layout={})
            assert words[index[at]] == re.findall("<td>(.*?)</td>", table(flat))[::2]
