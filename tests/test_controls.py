"""plusx.explore.controls: interact's abbreviations, and every refusal."""

import functools

import ipywidgets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plusx.explore.controls import ExploreError, bind, name_of


def one(abbreviation, function=lambda c: None):
    return bind(function, {"c": abbreviation})[0]


@pytest.mark.parametrize(
    "abbreviation, kind, labels, start",
    [
        (True, "switch", ("off", "on"), 1),
        (False, "switch", ("off", "on"), 0),
        (["a", "b"], "radio", ("a", "b"), 0),
        (list("abcdef"), "select", tuple("abcdef"), 0),
        ([1, 2, 4, 8, 16], "slider", ("1", "2", "4", "8", "16"), 0),
        ([1, 2, 4, 8], "radio", ("1", "2", "4", "8"), 0),
        ([1, 1.0, 2, 4, 8], "radio", ("1", "1.0", "2", "4", "8"), 0),  # a slider's steps go up
        (list("abcde"), "radio", tuple("abcde"), 0),
        ([16, 8, 4, 2, 1], "radio", ("16", "8", "4", "2", "1"), 0),
        ([("one", 1), ("two", 2)], "radio", ("one", "two"), 0),
        ({"low": 0.1, "high": 10}, "radio", ("low", "high"), 0),
        ({str(i): i for i in range(6)}, "select", tuple("012345"), 0),
        ((1, 4), "slider", ("1", "2", "3", "4"), 1),
        ((0, 10, 5), "slider", ("0", "5", "10"), 1),
        ((0.0, 0.5), "slider", ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5"), 2),
        ((0.0, 0.3, 0.1), "slider", ("0.0", "0.1", "0.2", "0.3"), 1),  # 0.3 / 0.1 is less than 3
        ((0.0, 0.38, 0.1), "slider", ("0.0", "0.1", "0.2", "0.3"), 1),
        ((2, 2), "slider", ("2",), 0),
        ((0.0, 1.0, 0.25), "slider", ("0.0", "0.25", "0.5", "0.75", "1.0"), 2),
    ],
)
def test_abbreviations(abbreviation, kind, labels, start):
    control = one(abbreviation)
    assert (control.kind, control.labels, control.start) == (kind, labels, start)


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7))
def test_int_sliders_offer_what_interact_offers(low, span, step):
    widget = ipywidgets.interactive(lambda c: None, c=(low, low + span, step)).children[0]
    values = one((low, low + span, step)).values
    assert values == tuple(range(widget.min, widget.max + 1, widget.step))


def test_the_signature_sets_the_start_as_in_interact():
    def with_default(c=4):
        return None

    assert one([1, 2, 4, 8, 16], with_default).start == 2
    assert ipywidgets.interactive(with_default, c=[1, 2, 4, 8, 16]).children[0].value == 4


def test_a_dict_gives_its_values():
    assert one({"low": 0.1, "high": 10}).values == (0.1, 10)


def test_true_and_one_are_different_options():
    def with_default(c=1):
        return None

    assert one([True, 1], with_default).start == 1


def test_a_float_default_finds_the_int_option():
    def with_default(c=2.0):
        return None

    assert one([1, 2], with_default).start == 1


@pytest.mark.parametrize("value", [tuple([3, 4]), np.arange(3), None])  # equal, the same, the only one
def test_a_default_of_any_kind_finds_its_option(value):
    def with_default(c=value):
        return None

    own = (3, 4) if isinstance(value, tuple) else value
    assert one([("x", (1, 2)), ("y", own), ("z", "z")], with_default).start == 1


def test_a_control_knows_where_a_value_stands():
    control = one([1, 2, 4])
    assert [control.index(value) for value in (1, 2.0, 4)] == [0, 1, 2]
    with pytest.raises(ExploreError, match="control 'c' is set to 3, which is not among 1, 2, 4. Use one of them"):
        control.index(3)


@pytest.mark.parametrize("count, said", [(8, "0, 1, 2, 3, 4, 5, 6, 7. Use"), (9, "0, 1, 2, 3, 4, 5, 6, 7, …. Use")])
def test_a_refusal_lists_eight_options(count, said):
    with pytest.raises(ExploreError) as caught:
        one([str(i) for i in range(count)], not_an_option)
    assert f"which is not among {said} one of them as the default." in str(caught.value)


def not_an_option(c="c"):
    return None


@pytest.mark.parametrize(
    "abbreviation, function, message",
    [
        ([], None, "control 'c' has no options. List at least one"),
        ({}, None, "control 'c' has no options"),
        (["a", "b", "a"], None, "control 'c' has the label 'a' twice"),
        ([1, "1"], None, "control 'c' has the label '1' twice"),
        (["a", "b"], not_an_option, "control 'c' starts at 'c', which is not among a, b"),
        ((1, 3), not_an_option, "control 'c' starts at 'c', which is not among 1, 2, 3"),
        (True, not_an_option, "control 'c' starts at 'c', which is not among off, on"),
        ("text", None, "control 'c' is 'text', which cannot be tabulated"),
        (3, None, "control 'c' is 3, which cannot be tabulated"),
        ([object()], None, "control 'c' has an option whose label is an address in memory, <object object at 0x"),
        ((3, 1), None, "control 'c' is (3, 1); a slider needs min <= max and step > 0"),
        ((1, 3, 0), None, "needs min <= max and step > 0"),
        ((1,), None, "a slider takes (min, max) or (min, max, step)"),
        ((0, float("nan")), None, "a slider takes (min, max) or (min, max, step)"),
    ],
)
def test_refusals_name_the_control_and_the_mend(abbreviation, function, message):
    with pytest.raises(ExploreError) as caught:
        one(abbreviation, function or (lambda c: None))
    assert message in str(caught.value)


def draw(skip, depth):
    return None


@pytest.mark.parametrize(
    "abbreviations, message",
    [
        ({"skip": True, "dept": (1, 2)}, "control 'dept' is no parameter of draw(skip, depth)"),
        ({"skip": True}, "draw(skip, depth) has no control for 'depth'"),
    ],
)
def test_controls_and_parameters_must_agree(abbreviations, message):
    with pytest.raises(ExploreError) as caught:
        bind(draw, abbreviations)
    assert message in str(caught.value)


def test_what_is_positional_only_takes_no_control():
    def f(a=1, /, b=2):
        return None

    with pytest.raises(ExploreError, match=r"control 'a' of f\(a, b\) is positional-only. Make it a keyword: drop"):
        bind(f, {"a": [1, 2]})
    assert [control.name for control in bind(f, {"b": [1, 2]})] == ["b"]


class Net:
    def draw(self, depth):
        return depth

    def __call__(self, depth):
        return depth


@pytest.mark.parametrize("function, name", [(functools.partial(draw, skip=True), "draw"), (Net(), "Net")])
def test_a_partial_has_its_functions_name_and_what_has_none_its_types(function, name):
    assert name_of(function) == name


@pytest.mark.parametrize("function", [Net().draw, lambda **named: named, lambda *given, depth=2: depth])
def test_functions_of_all_forms_that_interact_takes(function):
    (depth,) = bind(function, {"depth": [1, 2]})
    assert (depth.name, depth.values) == ("depth", (1, 2))


def test_an_explorer_needs_a_control():
    with pytest.raises(ExploreError, match="has no controls"):
        bind(lambda: None, {})
