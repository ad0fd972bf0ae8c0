"""plusx.measure.paired against Student's table and simulated experiments."""

import numpy as np
import pytest
import torch

from plusx.measure.paired import Comparison, difference, ratio, t_95


@pytest.mark.parametrize(
    "freedom, published", [(1, 12.706), (2, 4.303), (5, 2.571), (11, 2.201), (23, 2.069), (120, 1.980)]
)
def test_t_is_that_of_students_table(freedom, published):
    assert t_95(freedom) == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize("seeds", [3, 12])
def test_95_of_100_intervals_hold_the_truth(seeds):
    rng = np.random.default_rng(0)
    common = rng.normal(size=(4000, seeds))  # what a seed does to both arms
    a, b = common + 0.3 + 0.5 * rng.normal(size=common.shape), common + 0.5 * rng.normal(size=common.shape)
    found = [difference(*each, margin=0.1) for each in zip(a, b)]
    assert np.mean([each.low <= 0.3 <= each.high for each in found]) == pytest.approx(0.95, abs=0.01)


def test_a_ratio_is_that_of_logarithms_and_has_no_unit():
    a, b = np.array([1.0, 2.0, 8.0, 4.0]), np.array([0.5, 1.5, 5.0, 1.0])
    logs = difference(np.log(a), np.log(b), margin=0.1)
    found = ratio(1000 * torch.tensor(a), 1000 * torch.tensor(b), margin=1.1)
    np.testing.assert_allclose([found.low, found.high], np.exp([logs.low, logs.high]))
    assert (found.small, found.great) == (1 / 1.1, 1.1)
    assert found.middle == pytest.approx((2 * 4 / 3 * 1.6 * 4) ** 0.25)
    assert str(found) == "2.03 (0.95 to 4.37)"


@pytest.mark.parametrize(
    "low, high, words",
    [
        (0.95, 1.05, "no difference"),
        (1.02, 1.08, "slightly larger"),
        (0.92, 0.98, "slightly smaller"),
        (1.02, 1.30, "larger"),
        (0.50, 0.99, "smaller"),
        (0.95, 1.20, "not settled"),
        (0.50, 2.00, "not settled"),
    ],
)
def test_words_say_no_more_than_the_interval(low, high, words):
    assert Comparison(1, low, high, 1, 0.9, 1.1).words == words


def test_arms_that_cannot_be_paired_are_an_error():
    with pytest.raises(ValueError, match=r"shapes \(4,\) and \(3,\)"):
        difference(np.ones(4), np.ones(3), margin=1)
    with pytest.raises(ValueError, match="three seeds or more"):
        difference(np.ones(2), np.ones(2), margin=1)
    with pytest.raises(ValueError, match="finite"):
        difference(np.array([1, np.nan, 2]), np.ones(3), margin=1)
    with pytest.raises(ValueError, match="the least number is 0.0"):
        ratio(np.array([0.0, 1, 2]), np.ones(3), margin=1.1)


def test_a_comparison_is_written_as_tables_write_numbers():
    assert str(difference([1.0, 2.001, 3.0], [1.0, 2.0, 3.0], 0.1)) == "0.00 (0.00 to 0.00)"
    assert str(difference([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], 0.1)) == "−1.00 (−1.00 to −1.00)"
