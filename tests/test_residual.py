"""plusx.nets.residual against torch.nn, against He and Glorot's variances, and its errors."""

import math

import pytest
import torch
from torch import nn

from plusx.nets.residual import ACTIVATIONS, INITS, NORMS, Residual, Stack, states

DOUBLE = torch.float64


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=DOUBLE, generator=generator)


# Residual


def test_residual_adds_x_to_the_branch():
    x = randn(8, 16)
    linear = nn.Linear(16, 16, dtype=DOUBLE)
    assert torch.equal(Residual(linear)(x), x + linear(x))


def test_a_zero_branch_leaves_the_identity():
    x = randn(8, 16)
    assert torch.equal(Residual(torch.zeros_like)(x), x)


@pytest.mark.parametrize("skip, scale", [(0.0, 1.0), (1.0, 0.5), (0.3, -2.0)])
def test_skip_and_scale_weigh_the_two_terms(skip, scale):
    x = randn(8, 16)
    y = Residual(torch.tanh, skip=skip, scale=scale)(x)
    torch.testing.assert_close(y, skip * x + scale * torch.tanh(x))


def test_gates_share_one_forward_and_equal_separate_ones():
    x = randn(8, 16)
    skips, scales = torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, 0.1])
    gates = skips.view(3, 1, 1), scales.view(3, 1, 1)
    together = Residual(torch.tanh, *gates)(x)
    assert together.shape == (3, 8, 16)
    for state, skip, scale in zip(together, skips, scales):
        torch.testing.assert_close(state, Residual(torch.tanh, skip, scale)(x))


def test_a_scale_per_feature_is_a_gate_too():
    x, scale = randn(8, 16), randn(16, seed=1)
    torch.testing.assert_close(Residual(torch.tanh, scale=scale)(x), x + scale * torch.tanh(x))


def test_rezero_starts_as_identity_and_only_its_scale_learns():
    linear = nn.Linear(16, 16, dtype=DOUBLE)
    block = Residual(linear, scale=nn.Parameter(torch.zeros((), dtype=DOUBLE)))
    x = randn(8, 16)
    y = block(x)
    assert torch.equal(y, x)
    y.square().sum().backward()
    assert block.scale.grad.abs() > 0
    assert linear.weight.grad.abs().max() == 0
    assert "scale" in dict(block.named_parameters())


def test_tensor_gates_are_saved_and_do_not_learn():
    block = Residual(nn.Identity(), skip=torch.tensor(0.5))
    assert list(block.state_dict()) == ["skip"]
    assert not list(block.parameters())


def test_a_branch_that_changes_the_width_is_an_error():
    with pytest.raises(ValueError) as error:
        Residual(nn.Linear(16, 32, dtype=DOUBLE))(randn(8, 16))
    assert str(error.value) == (
        "Residual: the branch maps (8, 16) to (8, 32); a skip needs equal shapes. Project the input first."
    )


@pytest.mark.parametrize(
    "branch, shape",
    [
        (lambda x: x[:, :1], (8, 1)),
        (lambda x: x.mean(), ()),
        (lambda x: x[None], (1, 8, 16)),
    ],
)
def test_shapes_that_would_broadcast_silently_are_an_error(branch, shape):
    message = f"the branch maps (8, 16) to {shape}; a skip needs equal shapes"
    with pytest.raises(ValueError) as error:
        Residual(branch)(randn(8, 16))
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["skip", "scale"])
@pytest.mark.parametrize("gate, x", [((3,), (8, 16)), ((8, 5), (8, 1))])
def test_a_gate_that_stretches_x_is_an_error(name, gate, x):
    with pytest.raises(ValueError) as error:
        Residual(torch.tanh, **{name: torch.ones(gate)})(randn(*x))
    assert f"Residual: {name} has shape {gate} and x has {x}" in str(error.value)


# Stack


FORMULAS = {
    "identity": lambda z: z,
    "relu": lambda z: z.clamp(min=0),
    "gelu": lambda z: z * (1 + torch.erf(z / math.sqrt(2))) / 2,
    "tanh": torch.tanh,
    "sigmoid": lambda z: 1 / (1 + torch.exp(-z)),
}


def normed(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("skip", [True, False])
def test_stack_equals_its_formula_forward_and_backward(activation, norm, skip):
    stack = Stack(4, 12, skip=skip, norm=norm, activation=activation, init="kaiming", seed=3)
    x = randn(6, 12)
    weights = [parameter.detach().clone().requires_grad_() for parameter in stack.parameters()]
    expected = x
    for W1, b1, W2, b2 in zip(*(weights[part::4] for part in range(4))):
        h = normed(expected) if norm == "LayerNorm" else expected
        expected = FORMULAS[activation](h @ W1.T + b1) @ W2.T + b2 + (expected if skip else 0)
    y = stack(x)
    torch.testing.assert_close(y, expected)
    y.square().sum().backward()
    expected.square().sum().backward()
    for ours, theirs in zip(stack.parameters(), weights, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("activation", ["tanh", "gelu"])
def test_stack_gradient_by_finite_differences(activation):
    stack = Stack(3, 5, norm="LayerNorm", activation=activation)
    x = randn(2, 3, 5).requires_grad_()
    assert torch.autograd.gradcheck(stack, (x,))


def test_gates_make_the_plain_and_the_residual_net_in_one_pass():
    x = randn(6, 12)
    gates = torch.tensor([0.0, 1.0], dtype=DOUBLE).view(2, 1, 1)
    plain, residual = Stack(4, 12, skip=gates)(x)
    torch.testing.assert_close(plain, Stack(4, 12, skip=False)(x))
    torch.testing.assert_close(residual, Stack(4, 12, skip=True)(x))


def test_a_seed_draws_the_same_layers_at_every_depth():
    deep, shallow, other = Stack(6, 8, seed=2), Stack(2, 8, seed=2), Stack(6, 8, seed=1)
    for name, parameter in shallow.named_parameters():
        assert torch.equal(parameter, deep.get_parameter(name))
        assert not torch.equal(parameter, other.get_parameter(name))


def test_without_a_seed_a_stack_is_that_of_seed_0():
    for ours, theirs in zip(Stack(2, 8).parameters(), Stack(2, 8, seed=0).parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_states_run_from_the_input_to_the_output():
    stack, x = Stack(3, 8), randn(4, 8)
    found = states(stack.layers, x)
    assert [tuple(state.shape) for state in found] == [(4, 8)] * 4
    assert found[0] is x
    assert torch.equal(found[-1], stack(x))


def test_a_norm_forgets_the_scale_of_its_input():
    branch = Stack(1, 8, norm="LayerNorm").layers[0].branch
    x = randn(4, 8)
    torch.testing.assert_close(branch(100 * x), branch(x), rtol=1e-3, atol=1e-3)


# Initialisation


@pytest.mark.parametrize(
    "init, variances",
    [("default", (1 / 3, 1 / 3)), ("xavier", (1, 1)), ("kaiming", (1, 2))],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_variance_of_the_weights_times_fan_in(init, variances, seed):
    width = 128
    for draw, variance in zip(INITS[init], variances, strict=True):
        weight, _ = draw(width, torch.Generator().manual_seed(seed))
        # The relative standard error of a variance of n normals is sqrt(2 / n).
        error = 5 * math.sqrt(2 / width**2)
        assert weight.var().item() * width == pytest.approx(variance, rel=error)
        assert abs(weight.mean()) < 5 * math.sqrt(variance / width) / width


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_default_init_is_that_of_nn_linear(seed):
    weight, bias = INITS["default"][0](64, torch.Generator().manual_seed(seed))
    linear = nn.Linear(64, 64)
    for ours, theirs in ((weight, linear.weight), (bias, linear.bias)):
        assert ours.abs().max() <= 1 / 8
        assert theirs.abs().max() <= 1 / 8
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.3)


@pytest.mark.parametrize("init", ["kaiming", "xavier"])
def test_he_and_glorot_start_with_zero_bias(init):
    for draw in INITS[init]:
        assert draw(8, torch.Generator())[1].abs().max() == 0


def test_kaiming_keeps_the_second_moment_of_relu_layers():
    # He et al. 2015, eq. 10: each ReLU halves it, Var W2 = 2 / fan_in doubles it.
    x = randn(64, 256)
    kaiming, default = (
        torch.stack([Stack(8, 256, skip=False, init=init, seed=seed)(x) for seed in range(8)])
        for init in ("kaiming", "default")
    )
    ratio = kaiming.square().mean((1, 2)) / x.square().mean()
    assert 0.7 < ratio.mean() < 1.3
    assert (default.square().mean((1, 2)) < 0.01 * ratio).all()


# Errors


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"activation": "swish"}, "Stack: unknown activation 'swish'; choose one of"),
        ({"norm": "batch"}, "Stack: unknown norm 'batch'; choose one of none, LayerNorm."),
        ({"init": "he"}, "Stack: unknown init 'he'; choose one of default, kaiming"),
    ],
)
def test_unknown_names_are_an_error_that_lists_the_known(bad, message):
    with pytest.raises(ValueError) as error:
        Stack(2, 8, **bad)
    assert message in str(error.value)


def test_an_input_of_the_wrong_width_is_an_error():
    with pytest.raises(ValueError, match=r"Stack: x has shape \(4, 7\); expected"):
        Stack(2, 8)(randn(4, 7))
