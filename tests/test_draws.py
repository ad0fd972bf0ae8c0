"""What is drawn by lot, and what is taken where nothing is said: the distribution, the seed, the sequence of draws.

Each test looks at one net of one seed; `stack`, `mlp` and `transformer` say how that is made.
"""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from plusx.nets.residual import INITS, Stack
from plusx.nets.resnet import ORDERS, block, linear, resnet_mlp
from plusx.nets.transformer import POST_NORM, PRE_NORM, Transformer, token_linear
from plusx.training.data import mnist1d, templates

WIDTH, TOKENS, PLACES = 64, 7, 5


@pytest.fixture(autouse=True)
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed))


def stack(seed=0, **how):
    return Stack(3, WIDTH, seed=seed, **how)


def mlp(seed=0, **how):
    return resnet_mlp(WIDTH, WIDTH, 2, WIDTH, seed=seed, **how)


def transformer(seed=0, d_model=WIDTH, **how):
    return Transformer(TOKENS, PLACES, d_model, 2, 2, WIDTH, seed=seed, **how)


NETS = {
    "stack of default": stack,
    "stack of kaiming": lambda seed: stack(seed, init="kaiming"),
    "stack of xavier": lambda seed: stack(seed, init="xavier"),
    "mlp": mlp,
    "transformer": transformer,
}


def drawn(net):
    """The parameters that differ from number to number: no gains of 1, no biases of 0."""
    return [p.detach().flatten() for p in net.parameters() if p.unique().numel() > 1]


def kurtosis(x):
    """3 for a normal distribution, 9/5 for a uniform one."""
    x = x.double() - x.mean()
    return (x.pow(4).mean() / x.square().mean() ** 2).item()


# ---- distributions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init, fourth", [("default", 1.8), ("kaiming", 3), ("xavier", 1.8)])
def test_he_draws_normal_weights_and_glorot_and_torch_uniform_ones(init, fourth):
    torch.set_default_dtype(torch.float32)
    drawn, bias = INITS[init][0](256, generator())
    assert drawn.dtype == bias.dtype == torch.float64
    assert kurtosis(drawn) == pytest.approx(fourth, abs=0.1)
    if init != "kaiming":  # no further out than a uniform distribution of that variance reaches
        assert drawn.abs().max() <= math.sqrt(3 * {"default": 1 / 3, "xavier": 1}[init] / 256)
    if init == "default":
        assert bias.abs().max() <= 1 / 16 and bias.square().mean() == pytest.approx(1 / 3 / 256, rel=0.2)


@pytest.mark.parametrize("make, variance", [(linear, 2), (token_linear, 1)])
def test_maps_draw_normal_weights_of_the_variance_they_say(make, variance):
    drawn = make(256, 300, generator()).weight.detach()
    assert drawn.shape == (300, 256)
    assert kurtosis(drawn) == pytest.approx(3, abs=0.1)
    assert drawn.var().item() * 256 == pytest.approx(variance, rel=0.03)


def test_tokens_and_places_are_rows_of_one_normal_draw():
    net = transformer(seed=3)
    rows = torch.empty(TOKENS + PLACES, WIDTH).normal_(generator=generator(3))
    torch.testing.assert_close(net.token.detach().reshape(-1, WIDTH), rows[:TOKENS])
    torch.testing.assert_close(net.place.detach().reshape(-1, WIDTH), rows[TOKENS:])
    x = torch.tensor([[6, 0, 0, 3, 2]])
    torch.testing.assert_close(net.states(x)[0].reshape(-1, WIDTH), rows[x[0]] + rows[TOKENS:])


# ---- seeds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETS)
def test_a_net_is_its_seeds_alone(name):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one = drawn(NETS[name](5))
    assert torch.equal(torch.random.get_rng_state(), before)  # torch's own generator is left alone
    torch.manual_seed(2)
    again, other = drawn(NETS[name](5)), drawn(NETS[name](6))
    assert len(one) == len(again) == len(other) >= 3
    assert all(map(torch.equal, one, again))
    assert not any(map(torch.equal, one, other))


@pytest.mark.parametrize("name", NETS)
def test_no_two_parts_of_a_net_are_drawn_alike(name):
    parts = drawn(NETS[name](5))
    for i, part in enumerate(parts):
        for other in parts[:i]:
            size = min(part.numel(), other.numel())
            cosine = F.cosine_similarity(part[:size], other[:size], dim=0)
            assert abs(cosine) < 6 / math.sqrt(size)


# ---- what is taken where nothing is said -------------------------------------------------------------------------


def differ(a, b):
    return (a - b).abs().max() > 1e-3


def test_a_stack_is_residual_without_norm_with_relu_and_torchs_draws():
    x = randn(4, WIDTH)
    given = dict(skip=True, norm="none", activation="relu", init="default")
    y = stack()(x)
    assert torch.equal(y, stack(**given)(x))
    for other in (dict(skip=False), dict(norm="LayerNorm"), dict(activation="tanh"), dict(init="xavier")):
        assert differ(y, stack(**given | other)(x))


def test_a_block_adds_what_came_in_unless_it_is_told_not_to():
    x = randn(16, WIDTH)
    order = "full pre-activation"  # nothing after the addition
    plain = block(order, WIDTH, generator(), skip=0.0)(x)
    torch.testing.assert_close(block(order, WIDTH, generator())(x) - plain, x)
    torch.testing.assert_close(block(order, WIDTH, generator(), skip=0.5)(x) - plain, x / 2)


def test_a_resnet_hands_its_skip_to_every_block():
    x = randn(16, WIDTH)
    nets = [mlp(), mlp(skip=0.5), mlp(skip=0.0)]
    for i in (1, 2):
        residual, half, plain = (net[i](x) for net in nets)
        torch.testing.assert_close(residual - plain, x)
        torch.testing.assert_close(half - plain, x / 2)


def test_a_resnet_is_preactivated_where_no_order_is_said():
    x = randn(16, WIDTH)
    for order in ORDERS:
        assert differ(mlp()(x), mlp(order=order)(x)) == (order != "full pre-activation")


def test_a_transformer_is_pre_norm_with_a_norm_after_the_last_layer():
    x = torch.arange(PLACES)[None]
    y = transformer()(x)
    assert torch.equal(y, transformer(order=PRE_NORM, norm_last=True)(x))
    assert differ(y, transformer(order=POST_NORM)(x))
    for norm_last in (True, False):
        net = transformer(norm_last=norm_last)
        stream = net.states(x)[-1]
        read = F.layer_norm(stream, (WIDTH,)) if norm_last else stream
        torch.testing.assert_close(net(x), net.unembed(read))
        assert isinstance(net.norm, nn.Identity) == (not norm_last)


# ---- MNIST-1D ----------------------------------------------------------------------------------------------------


def signal(digit, padding, scale, shift, correlated, white, shear):
    """One signal by the recipe of 2011.14439, appendix, and of the authors' `transform`, in numpy."""
    x = np.concatenate([digit + 1e-8, np.zeros(padding)])
    x = np.interp(np.linspace(0, 1, 72), np.linspace(0, 1, len(x)), x) * scale
    x = np.roll(x, shift)
    kernel = np.exp(-(np.arange(-8, 9) ** 2) / (2 * 2**2))
    correlated = np.convolve(np.pad(correlated, 8, mode="symmetric"), kernel / kernel.sum(), mode="valid")
    x = np.where(x == 0, correlated, x) + white
    x = x - shear * np.linspace(-0.5, 0.5, 72)
    return np.interp(np.linspace(0, 71, 40), np.arange(72), x)


def test_mnist1d_is_the_recipe_of_its_paper():
    n, rng = 50, generator(8)
    order = torch.randperm(n, generator=rng)  # what is drawn, in the order in which it is

    def uniform(low, high):
        return low + (high - low) * torch.rand(n, 1, generator=rng).flatten().numpy()

    def whole(low, high):
        return torch.randint(low, high + 1, (n, 1), generator=rng).flatten().tolist()

    padding, scale = whole(36, 60), uniform(0.8, 1.2)
    shift = whole(0, 47)
    correlated, white = (std * torch.randn(n, 72, generator=rng).numpy() for std in (0.25, 0.02))
    shear = 0.75 * (uniform(0, 1) - 0.5)
    digits = templates().numpy()[order % 10]
    expected = np.stack(list(map(signal, digits, padding, scale, shift, correlated, white, shear)))
    x, labels = mnist1d(n, seed=8)
    assert torch.equal(labels, order % 10)
    np.testing.assert_allclose(x, (expected - expected.mean()) / expected.std(), atol=1e-10)


def test_mnist1d_shuffles_its_labels_by_the_seed():
    one, again, other = (mnist1d(1000, seed)[1] for seed in (0, 0, 1))
    assert torch.equal(one, again) and not torch.equal(one, other)
    ahead = (one[1:] - one[:-1]) % 10
    assert ahead.bincount(minlength=10).max() < 150  # in sequence, all would be 1 ahead
