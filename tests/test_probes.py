"""plusx.measure.probes against hand-made derivatives and finite differences."""

import functools
import math
from types import SimpleNamespace

import pytest
import torch
from chapter_code import chapter_code

from plusx.measure.probes import branch_over_stream, gradient_norms, jacobian, left_of_x, norms
from plusx.nets.residual import Residual, Stack, states
from plusx.training.sidebyside import SideBySide

DOUBLE = torch.float64


def randn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=DOUBLE, generator=generator)


def test_norms_keep_the_leading_dimensions_apart():
    x = randn(3, 4, 5)
    assert norms(x).shape == ()
    torch.testing.assert_close(norms(x), x.square().sum().sqrt())
    torch.testing.assert_close(norms(x, 1), x.square().sum((1, 2)).sqrt())


def test_gradient_norms_of_a_linear_map_by_hand():
    # loss = sum(r * (x W^T)): d/dW = r^T x, d/dx = r W.
    x, r = randn(6, 4).requires_grad_(), randn(6, 3, seed=1)
    weight = randn(3, 4, seed=2).requires_grad_()
    loss = (x @ weight.T * r).sum()
    measured = gradient_norms(loss, [weight, x])
    expected = torch.stack([(r.T @ x).norm(), (r @ weight).norm()])
    torch.testing.assert_close(measured, expected.detach())
    loss.backward()  # its graph is still there to train with


def test_nets_side_by_side_equal_separate_nets():
    x, r = randn(6, 8), randn(6, 8, seed=1)
    each = [Stack(3, 8, norm="LayerNorm", activation="tanh", seed=seed) for seed in (5, 6)]

    def measure(net, x, lead):
        stream = states(net.layers, x.requires_grad_())
        weights = [layer.branch[1].weight for layer in net.layers]
        return gradient_norms((stream[-1] * r).sum(), stream + weights, lead)

    nets = SideBySide(each)
    together = measure(nets, nets.same(x), 1)
    assert together.shape == (7, 2)
    for column, net in zip(together.T, each):
        torch.testing.assert_close(column, measure(net, x.clone(), 0))


def test_gradient_norms_by_finite_differences():
    stack = Stack(3, 5, activation="tanh")
    x, r, eps = randn(2, 5), randn(2, 5, seed=1), 1e-6

    def loss(x):
        return (stack(x) * r).sum()

    steps = eps * torch.eye(10, dtype=DOUBLE).view(10, 2, 5)
    slopes = torch.stack([(loss(x + s) - loss(x - s)) / (2 * eps) for s in steps])
    measured = gradient_norms(loss(x.requires_grad_()), [x])
    torch.testing.assert_close(measured[0], slopes.norm().detach())


def test_gradient_norms_needs_a_scalar():
    x = randn(3).requires_grad_()
    with pytest.raises(ValueError, match=r"gradient_norms: the loss has shape \(3,\)"):
        gradient_norms(2 * x, [x])


def test_gradient_norms_names_the_tensor_the_loss_forgot():
    x, y = randn(3).requires_grad_(), randn(3).requires_grad_()
    with pytest.raises(ValueError, match="does not depend on tensor 1 of 2"):
        gradient_norms(x.sum(), [x, y])


@pytest.mark.parametrize("batch", [(), (5,), (2, 5)])
def test_jacobian_of_a_linear_map_is_its_matrix(batch):
    weight, x = randn(3, 4), randn(*batch, 4, seed=1)
    measured = jacobian(lambda x: x @ weight.T, x)
    torch.testing.assert_close(measured, weight.expand(*batch, 3, 4))


def test_jacobian_by_finite_differences():
    stack, eps = Stack(3, 5, norm="LayerNorm", activation="gelu"), 1e-6
    x = randn(2, 4, 5)
    measured = jacobian(stack, x)
    assert measured.shape == (2, 4, 5, 5)
    for column in range(5):
        step = torch.zeros(5, dtype=DOUBLE)
        step[column] = eps
        slope = (stack(x + step) - stack(x - step)) / (2 * eps)
        torch.testing.assert_close(measured[..., column], slope.detach())


def test_jacobian_agrees_with_torch_func():
    stack, x = Stack(2, 4, activation="tanh"), randn(3, 4)
    expected = torch.func.vmap(torch.func.jacrev(lambda row: stack(row[None])[0]))(x)
    torch.testing.assert_close(jacobian(stack, x), expected)


def test_a_skip_adds_the_identity_to_the_jacobian():
    x = randn(4, 6)
    difference = jacobian(Residual(torch.tanh), x) - jacobian(torch.tanh, x)
    torch.testing.assert_close(difference, torch.eye(6, dtype=DOUBLE).expand(4, 6, 6))


def test_jacobian_of_a_constant_is_zero():
    bias = randn(3).requires_grad_()
    assert jacobian(lambda x: bias.expand_as(x), randn(2, 3)).abs().max() == 0


def test_jacobian_needs_one_output_per_sample():
    with pytest.raises(ValueError, match=r"jacobian: the function maps \(4, 3\) to \(\)"):
        jacobian(lambda x: x.sum(), randn(4, 3))


def test_independent_branches_as_large_as_the_stream_leave_one_in_sqrt_two_of_x_each():
    rng = torch.Generator().manual_seed(0)
    states = [torch.randn(2, 50, 4000, dtype=torch.float64, generator=rng)]  # two nets
    for _ in range(4):
        branch = torch.randn(states[0].shape, dtype=torch.float64, generator=rng)
        states.append(states[-1] + branch * states[-1].square().mean().sqrt())
    torch.testing.assert_close(branch_over_stream(states), torch.ones(4, 2, dtype=torch.float64), rtol=0, atol=0.02)
    left = left_of_x(states)
    expected = torch.tensor([2.0 ** (-block / 2) for block in range(5)], dtype=torch.float64)
    torch.testing.assert_close(left, expected[:, None].expand(5, 2), rtol=0, atol=0.01)


def test_what_all_inputs_share_is_not_left_of_x_and_of_a_plain_net_the_branch_is_all():
    x = torch.randn(9, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    shared = torch.linspace(-100, 100, 30)
    torch.testing.assert_close(left_of_x([x, shared + x, -x + shared]), torch.tensor([1.0, 1.0, -1.0]).double())
    torch.testing.assert_close(branch_over_stream([x, 3 * x], skip=0), torch.tensor([3.0]).double())
    torch.testing.assert_close(branch_over_stream([x, 3 * x]), torch.tensor([2.0]).double())


def test_states_of_other_widths_are_refused():
    with pytest.raises(ValueError, match=r"branch_over_stream: states \[\(3, 4\), \(3, 5\)\]; expected two or more"):
        branch_over_stream([torch.ones(3, 4), torch.ones(3, 5)])


@pytest.fixture
def doubles():
    torch.set_default_dtype(DOUBLE)
    yield
    torch.set_default_dtype(torch.float32)


def test_what_chapter_3_hands_to_a_norm_and_an_activation_is_more_than_one_neuron(doubles):
    """Of one, BatchNorm and an odd or even function leave one, and what is printed then is what rounding left."""
    second = []

    def watched(h):
        values = torch.linalg.svdvals(h - h.mean(1, keepdim=True))
        second.append((values[:, 1] / values[:, 0]).min().item())
        return nets.batch_norm(h)

    quiet = SimpleNamespace(row=lambda *_: None)
    given = dict(
        torch=torch, math=math, Table=lambda *_: quiet, spread=lambda *_: "", neighbours=lambda dy: dy, short=str
    )
    nets = chapter_code("03-shattered-gradients", "net-code", **given)
    nets = chapter_code("03-shattered-gradients", "variants-table", **vars(nets))
    chapter_code("03-shattered-gradients", "other-activations", **vars(nets) | dict(batch_norm=watched))
    assert len(second) == 6 * 2 * 24 and min(second) > 1e-6


@pytest.mark.parametrize("bits, least, most", [(0, 0, 0), (32, 0.1, 1), (64, 0.1, 1)])
def test_one_neuron_stays_one_in_exact_arithmetic_and_rounding_makes_many(doubles, bits, least, most):
    nets = chapter_code("03-shattered-gradients", "net-code", torch=torch, math=math)
    given = vars(nets) | dict(functools=functools, explore=lambda **_: lambda function: function)
    rows, second = chapter_code("03-shattered-gradients", "one-neuron", **given).one_neuron(bits)
    assert least <= second[-1] <= most and second[0] < 1e-6
    assert (rows[-1].sign().diff() != 0).sum() == 1 or bits  # a step
