"""plusx.training.data: the shipped digits against what is known of MNIST, MNIST-1D against its recipe."""

import numpy as np
import pytest
import torch

from plusx.training import data
from plusx.training.data import mnist, mnist1d


@pytest.fixture(autouse=True)
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def test_mnist_is_small_and_complete():
    assert data.MNIST_FILE.stat().st_size < 1_700_000
    images, labels = mnist()
    assert images.shape == (10_000, 28, 28) and images.dtype == torch.float64
    assert labels.shape == (10_000,) and labels.dtype == torch.int64
    assert images.min() == 0 and images.max() == 1
    assert ((images * 255).round() / 255 - images).abs().max() < 1e-12
    # As often as among the first 10,000 training images of the original files.
    assert labels.bincount().tolist() == [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    assert len(images.flatten(1).unique(dim=0)) == 10_000


def test_mnist_digits_are_centred_in_a_box_with_an_empty_border():
    images, _ = mnist()
    column, row = images.sum((0, 1)), images.sum((0, 2))
    at = torch.arange(28.0)
    for mass in (column, row):
        assert abs((mass * at).sum() / mass.sum() - 14) < 0.6
    assert images[:, 4:24, 4:24].sum() > 0.95 * images.sum()


def test_any_number_of_mnist_digits_is_a_fair_sample():
    images, labels = mnist(1000)
    everything = mnist()
    assert torch.equal(images, everything[0][:1000]) and torch.equal(labels, everything[1][:1000])
    counts = labels.bincount(minlength=10)
    assert counts.min() > 60 and counts.max() < 140


def test_the_digits_bear_their_labels():
    images, labels = mnist()
    x = torch.nn.functional.avg_pool2d(images, 2).flatten(1)
    means = torch.stack([x[:5000][labels[:5000] == digit].mean(0) for digit in range(10)])
    nearest = torch.cdist(x[5000:], means).argmin(1)
    assert (nearest == labels[5000:]).double().mean() > 0.75


def test_mnist_follows_the_default_dtype():
    torch.set_default_dtype(torch.float32)
    assert mnist(3)[0].dtype == mnist1d(3)[0].dtype == torch.float32


def test_mnist1d_draws_the_same_signals_in_every_dtype():
    double, labels = mnist1d()
    torch.set_default_dtype(torch.float32)
    single, again = mnist1d(4000, seed=0)
    assert torch.equal(double.float(), single) and torch.equal(labels, again)


def test_mnist_names_the_file_it_misses(tmp_path):
    with pytest.raises(FileNotFoundError, match="mnist: no file .*gone.npz"):
        mnist(path=tmp_path / "gone.npz")


@pytest.mark.parametrize("load, most", [(mnist, "10,000"), (mnist1d, "1,000,000")])
def test_counts_out_of_range_are_refused(load, most):
    for n in (0, 2_000_000):
        with pytest.raises(ValueError, match=f"{load.__name__}: n is {n}; choose between 1 and {most}"):
            load(n)
    assert len(load(1)[0]) == 1


def test_mnist1d_has_its_shape_scale_and_labels():
    x, labels = mnist1d(5000)
    assert x.shape == (5000, 40) and labels.shape == (5000,)
    assert abs(x.mean()) < 1e-12 and abs(x.std(correction=0) - 1) < 1e-12
    assert labels.bincount().tolist() == [500] * 10
    assert labels[:50].bincount(minlength=10).max() < 15  # shuffled
    assert mnist1d(7)[1].bincount(minlength=10).max() == 1


def test_mnist1d_repeats_with_the_seed_and_leaves_torchs_generator_alone():
    state = torch.random.get_rng_state()
    again = mnist1d(20, seed=3)
    assert torch.equal(mnist1d(20, seed=3)[0], again[0])
    assert not torch.equal(mnist1d(20, seed=4)[0], again[0])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_mnist1d_has_the_statistics_of_the_authors_generator():
    # mnist1d 0.0.2, make_dataset() with its defaults: 5,000 signals.
    x, _ = mnist1d(20_000)
    lagged = [(x[:, :-lag] * x[:, lag:]).mean().item() for lag in (1, 2, 5, 10)]
    np.testing.assert_allclose(lagged, [0.815, 0.533, 0.200, 0.066], atol=0.02)
    assert abs(x.pow(4).mean() - 4.40) < 0.15


def test_templates_start_at_zero_with_equal_spread():
    x = data.templates()
    assert x.shape == (10, 12)
    assert x[:, 0].abs().max() == 0
    torch.testing.assert_close(x.std(1, correction=0), torch.full((10,), 1 / 6))


def test_padding_and_stretching_against_numpy():
    for padding in (36, 47, 60):
        for digit in data.templates():
            padded = np.concatenate([digit.numpy() + 1e-8, np.zeros(padding)])
            expected = np.interp(np.linspace(0, 1, 72), np.linspace(0, 1, len(padded)), padded)
            ours = data._pad_and_stretch(digit[None], torch.tensor([[padding]]))[0].numpy()
            np.testing.assert_allclose(ours, expected, atol=1e-14)
            np.testing.assert_array_equal(ours == 0, expected == 0)  # where noise replaces nothing


def test_smoothing_keeps_a_constant_and_spreads_an_impulse():
    torch.testing.assert_close(data._smooth(torch.ones(1, 72)), torch.ones(1, 72))
    impulse = torch.zeros(1, 72)
    impulse[0, 36] = 1
    spread = data._smooth(impulse)[0]
    at = torch.arange(72.0) - 36
    torch.testing.assert_close(spread.sum(), torch.tensor(1.0))
    assert abs((spread * at**2).sum() - 4) < 0.01  # variance 2**2
