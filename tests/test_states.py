"""plusx.explore.states: the table holds what the function returned, and stays within its budget."""

import gzip
import re
import sys
import time

import numpy as np
import pytest
import torch
from decoding import assert_same, decode, state
from hypothesis import given, settings
from hypothesis import strategies as st

from plusx.explore.controls import ExploreError, bind
from plusx.explore.diagram import draw
from plusx.explore.states import DEFAULT, Budget, Explorer, encode, grids, packed
from plusx.show import threads


def explorer(function, budget=DEFAULT, **abbreviations):
    return Explorer(function, bind(function, abbreviations), budget)


def check(explored):
    results = explored.tabulate()
    common, leaves = decode(explored.payload(results))
    for at, (title, figure) in enumerate(results):
        assert_same(state(common, leaves, at), {"title": title, **figure})
    return common, leaves


def wave(skip, depth):
    x = np.linspace(0, 1, 50)
    return dict(data=[dict(x=x, y=np.sin(x * depth) + skip)], layout=dict(title=f"depth {depth}"))


def test_every_state_comes_back_and_common_parts_are_stored_once():
    common, leaves = check(explorer(wave, skip=True, depth=(1, 9)))
    assert {tuple(leaf["path"]) for leaf in leaves} == {("title",), ("data", 0, "y")}
    assert [len(leaf["values"]) for leaf in leaves] == [9, 18]
    assert len(common["data"][0]["x"]) == 50


def test_traces_may_come_and_go():
    def some(count, shape):
        data = [dict(y=np.arange(4.0) + i, **({"mode": "markers"} if shape else {})) for i in range(count)]
        return dict(data=data, layout=dict(title=f"{count} traces", shapes=[{"type": "line"}] * count))

    check(explorer(some, count=(0, 3), shape=True))


def test_gaps_infinities_and_extremes_survive():
    values = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -1e-310, 2.0**-1022, 1e-54, np.finfo(float).max, 1 / 3]

    def extreme(a):
        return dict(data=[dict(y=values if a else values[::-1])], layout=dict(title="t"))

    explored = explorer(extreme, a=True)
    common, leaves = decode(explored.payload(explored.tabulate()))
    shown = state(common, leaves, 1)["data"][0]["y"]
    normal = [i for i, v in enumerate(values) if not 0 < abs(v) < 2.0**-1022]  # subnormals have fewer digits to keep
    np.testing.assert_allclose(shown[normal], np.array(values)[normal], rtol=2.0**-21, atol=0)
    assert np.signbit(shown[1]) and not np.signbit(shown[0])
    np.testing.assert_allclose(shown, values, rtol=2.0**-21, atol=2.0**-1042)


@settings(deadline=None)  # how long it takes says nothing
@given(st.lists(st.floats(allow_subnormal=False), min_size=1, max_size=40))
def test_the_stated_error_holds_for_any_float(values):
    figure = {"data": [{"y": np.array(values)}], "layout": {}}
    common, leaves = decode(encode([("t", figure)]))
    assert_same(common, {"title": "t", **figure})


def test_an_explorer_is_called_as_its_function_is():
    assert explorer(wave, skip=True, depth=(1, 3))(False, depth=7)["layout"] == {"title": "depth 7"}


def test_each_state_has_its_own_diagram():
    def f(skip, depth):
        return wave(skip, depth) | {"diagram": "[linear relu]:skip"}

    explored = explorer(f, skip=True, depth=(1, 3))
    for at in explored.states:
        assert explored.figure(at)[1]["diagram"] == draw("[linear relu]:skip", explored.controls, at)


def test_a_drawn_state_has_its_wire_and_says_in_words_what_it_shows():
    def f(cut):
        heights = torch.tensor([[-1.0, 1.0], [-0.5, 0.5], [-0.5, 0.5]])
        return threads(heights, f"cut {cut}", (-1, 1), skip=("cut", cut))

    def untied(cut):
        return f(cut) | {"wire": {"skip": ("no", cut)}}

    _, figure = explorer(f, cut=["none", 1, 2]).figure((2,))
    first, second = (each["html"] for each in figure["diagram"])
    assert 'data-set="cut" data-to="1" data-role="switch" data-on="true" data-name="Skip around layer 1"' in first
    assert 'data-set="cut" data-to="0" data-role="switch" data-on="false" data-name="Skip around layer 2"' in second
    said = "2 threads through 2 layers. At the end they spread over 50% of what they did at the start."
    assert figure["words"] == said
    assert "wire" not in figure
    with pytest.raises(ExploreError, match=r"untied\(cut=1\): the wire's skip is \('no', 1\); give"):
        explorer(untied, cut=["none", 1, 2]).figure((1,))


def test_what_a_function_says_while_it_draws_goes_nowhere(capsys):
    def talks(skip):
        print("by print")
        for stream in (sys.stdout, sys.stderr):
            stream.write("by itself")
            stream.flush()
        return wave(skip, 1)

    assert len(explorer(talks, skip=True).tabulate()) == 2
    assert capsys.readouterr() == ("", "")


def test_what_is_equal_and_of_another_type_stays_apart():
    def f(a):
        return dict(data=[dict(y=[1])], layout=dict(title="t", meta=a, xaxis=dict(nticks=2)))

    check(explorer(f, a=[True, 1]))


def test_the_bytes_are_as_they_are_documented():
    results = explorer(wave, skip=True, depth=(1, 3)).tabulate()
    for length in range(4):
        blob = packed([("t" * length, figure) for _, figure in results], 9)
        assert blob[4:8] == bytes(4)  # gzip's time, or no build would be like another
        assert int.from_bytes(gzip.decompress(blob)[:4], "little") % 4 == 0
    assert len(packed(results, 9)) < len(packed(results, 0))


@pytest.mark.parametrize("steps", [[0], [0, 0, 0], [0, 1, 0]])  # a single state, all alike, two of three alike
def test_what_is_drawn_comes_back_from_a_pages_table(steps):
    drawn = [np.arange(6.0).reshape(2, 3) / 3 + step for step in steps]
    figures = [(f"state {at}", {"data": [{"z": z}, {"y": -z[0]}], "layout": {}}) for at, z in enumerate(drawn)]
    np.testing.assert_array_equal(grids(encode(figures)), drawn)


def test_a_table_that_browsers_could_not_read_is_not_written():
    with pytest.raises(ValueError, match="JSON"):
        encode([("t", {"data": [], "layout": {"height": float("nan")}})])


def test_the_encoding_repeats_to_the_byte():
    assert encode(explorer(wave, skip=True, depth=(1, 3)).tabulate()) == encode(
        explorer(wave, skip=True, depth=(1, 3)).tabulate()
    )


def test_a_failing_state_is_named():
    def fails(skip, depth):
        return wave(skip, 1 / (depth - 2))

    with pytest.raises(ExploreError, match=r"fails\(skip=off, depth=2\) raised ZeroDivisionError") as caught:
        explorer(fails, skip=True, depth=(1, 3)).tabulate()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_state_that_comes_out_otherwise_the_second_time_is_refused():
    rng, calls = np.random.default_rng(0), []

    def unseeded(skip):
        return dict(data=[dict(y=rng.normal(size=3) + skip)], layout=dict(title="t"))

    def remembers(depth):
        calls.append(depth)
        return wave(len(calls) > 9, depth)  # its first nine answers are alike

    with pytest.raises(ExploreError, match=r"unseeded\(skip=\w+\) came out otherwise when called again.*Seed"):
        explorer(unseeded, skip=True).tabulate()
    with pytest.raises(ExploreError, match=r"remembers\(depth=\d\) came out otherwise"):
        explorer(remembers, depth=(1, 9)).tabulate()


def test_a_state_without_a_figure_is_named():
    def sometimes(skip):
        return wave(skip, 1) if skip else None

    with pytest.raises(ExploreError, match=r"sometimes\(skip=off\) returned NoneType"):
        explorer(sometimes, skip=True).tabulate()


def test_too_many_states_name_the_control_to_shorten():
    with pytest.raises(ExploreError, match=r"wave has 10,000 states, the budget is 4,096.*'depth' \(5000 options\)"):
        explorer(wave, skip=True, depth=(1, 5000)).tabulate()


def test_too_many_bytes_are_refused():
    def noise(seed):
        return dict(data=[dict(y=np.random.default_rng(seed).normal(size=20_000))], layout=dict(title="t"))

    explored = explorer(noise, seed=(1, 9))
    with pytest.raises(ExploreError, match=r"noise needs [\d,]+ kB, the budget is 300 kB.*'seed'"):
        explored.payload(explored.tabulate())


@pytest.fixture
def clock(monkeypatch):
    """Seconds, as a test lets them pass: the machine's own may be busy."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_what_is_named_is_the_control_that_costs_most_and_not_the_longest(clock):
    def slow(a, b):
        clock[0] += 0.001 + 0.03 * b
        return wave(True, a)

    def even(a, b):
        clock[0] += 0.01
        return wave(True, a)

    def large(a, b):
        return dict(data=[dict(y=np.random.default_rng(b).normal(size=1 + 9000 * b))], layout=dict(title="t"))

    with pytest.raises(ExploreError, match=r"slow took over .*Shorten the control 'b' \(2 options\)"):
        explorer(slow, Budget(seconds=0.1), a=(1, 9), b=[0, 1]).tabulate()
    with pytest.raises(ExploreError, match=r"slow took over .*Shorten the control 'b' \(2 options\)"):
        explorer(slow, Budget(seconds=0.1), b=[0, 1], a=(1, 4)).tabulate()
    with pytest.raises(ExploreError, match=r"even took over .*Shorten the control 'a' \(9 options\)"):
        explorer(even, Budget(seconds=0.1), b=[0, 1], a=(1, 9)).tabulate()
    explored = explorer(large, a=(1, 9), b=[0, 4, 5])
    with pytest.raises(ExploreError, match=r"large needs .*Shorten the control 'b' \(3 options\)"):
        explored.payload(explored.tabulate())


def test_time_may_be_used_up(clock):
    def slow(depth):
        clock[0] += 0.25
        return wave(True, depth)

    assert len(explorer(slow, Budget(seconds=1), depth=(1, 4)).tabulate()) == 4
    with pytest.raises(ExploreError, match="slow took over 1 s for 4 of 4 states, the budget is 0.99 s"):
        explorer(slow, Budget(seconds=0.99), depth=(1, 4)).tabulate()


def test_a_budget_may_be_used_up():
    explored = explorer(wave, Budget(states=4), skip=True, depth=(1, 2))
    results = explored.tabulate()
    kilobytes = len(encode(results)) * 3 / 4 / 1000
    explorer(wave, Budget(kilobytes=kilobytes), skip=True, depth=(1, 2)).payload(results)
    with pytest.raises(ExploreError, match="kB, the budget is"):
        explorer(wave, Budget(kilobytes=0.9995 * kilobytes), skip=True, depth=(1, 2)).payload(results)


def test_the_same_states_are_computed_twice_in_each_build():
    def asked():
        def noted(depth):
            calls.append(depth)
            return wave(True, depth)

        calls = []
        explorer(noted, depth=(1, 90)).tabulate()
        return calls[90:]

    assert asked() == asked() and len(asked()) == 5


def test_too_much_time_is_refused_before_it_is_spent(clock):
    def slow(a):
        clock[0] += 0.02
        return wave(a, 1)

    with pytest.raises(
        ExploreError, match=r"slow took over 0 s for \d+ of 1,000 states, the budget is 0.1 s.*'a'"
    ) as told:
        explorer(slow, Budget(seconds=0.1), a=(1, 1000)).tabulate()
    assert int(re.search(r"for (\d+) of", str(told.value))[1]) < 20
