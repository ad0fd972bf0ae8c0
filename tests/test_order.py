"""plusx.order: what a line says, and which lines say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plusx.nets.resnet import ORDERS
from plusx.nets.transformer import POST_NORM, PRE_NORM
from plusx.order import Branch, Part, Tie, parse, runs

NAMES = st.lists(st.sampled_from(["norm", "attention", "W₁", "f(x)"]), max_size=4)


def test_brackets_hold_a_branch_and_the_rest_is_on_the_stream():
    assert runs(PRE_NORM) == [(("norm", "attention"), True), (("norm", "linear", "relu", "linear"), True)]
    assert runs(POST_NORM)[:2] == [(("attention",), True), (("norm",), False)]
    assert runs("a b[c]d [] e") == [(("a", "b"), False), (("c",), True), (("d",), False), ((), True), (("e",), False)]
    assert runs(" ") == []


def test_the_five_orders_hold_the_same_parts():
    for line in ORDERS.values():
        assert sorted(name for names, _ in runs(line) for name in names) == sorted(2 * ["weight", "norm", "relu"])
        assert [residual for _, residual in runs(line)][0]


@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=5))
def test_a_line_reads_as_it_was_written(pieces):
    line = " ".join(f"[{' '.join(names)}]" if residual else " ".join(names) for names, residual in pieces)
    read = [(piece, True) if isinstance(piece, Branch) else (piece, False) for piece in parse(line)]
    expected = []
    for names, residual in pieces:
        parts = [Part(name, None) for name in names]
        expected += [(Branch(tuple(parts), None, None), True)] if residual else [(part, False) for part in parts]
    assert read == expected


def test_a_colon_ties_a_part_a_skip_or_a_whole_branch_to_a_control():
    assert parse("norm:place=pre|both relu:relu") == [
        Part("norm", Tie("place", ("pre", "both"))),
        Part("relu", Tie("relu")),
    ]
    (branch,) = parse("block_1:[F norm:norm]:skip=on")
    assert branch == Branch((Part("F", None), Part("norm", Tie("norm"))), Tie("block_1"), Tie("skip", ("on",)))


@pytest.mark.parametrize(
    "line, message",
    [
        ("[norm", "unbalanced or nested brackets in '.norm'"),
        ("norm]", "unbalanced"),
        ("[norm [relu]]", "unbalanced"),
        ("[norm]]:skip", "unbalanced"),
        ("[norm]:", "']:' in '.norm.:' lacks a name. Write :control or :control=label"),
        (":[norm]", "':.' in ':.norm.' lacks a name"),
        ("norm:place=pre|", "'norm:place=pre.' in 'norm:place=pre.' lacks a name"),
        (":norm", "':norm' in ':norm' ties no part. Write part:control"),
    ],
)
def test_a_line_that_says_nothing_is_refused(line, message):
    with pytest.raises(ValueError, match=f"^order: .*{message}"):
        parse(line)


def test_a_net_takes_no_line_with_ties():
    with pytest.raises(ValueError, match="^order: '.norm.:skip' ties parts to controls. A net takes the line without"):
        runs("[norm]:skip")
