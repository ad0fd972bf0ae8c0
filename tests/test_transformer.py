"""plusx.transformer: torch.nn's layer with the same weights, permutations, and lines that make no layer."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from plusx.residual import Residual
from plusx.transformer import POST_NORM, PRE_NORM, Attention, LayerNorm, TokenLinear, Transformer, layer


@pytest.fixture(autouse=True)
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def generators(nets=1, seed=0):
    return [torch.Generator().manual_seed(seed + i) for i in range(nets)]


def shaken(module, seed=5):
    """The module with every parameter moved, so that no bias is 0 and no gain is 1."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=rng)
    return module


def parts(ours, kind):
    return [module for module in ours.modules() if isinstance(module, kind)]


def torch_layer(ours, d_model, heads, pre, net):
    """torch.nn.TransformerEncoderLayer with the weights of one of our nets, and which of ours feed which of its."""
    theirs = nn.TransformerEncoderLayer(d_model, heads, 4 * d_model, dropout=0, batch_first=True, norm_first=pre)
    (attention,) = parts(ours, Attention)
    first, second = [
        m for m in parts(ours, TokenLinear) if m.weight.shape[1:] in ((4 * d_model, d_model), (d_model, 4 * d_model))
    ]
    norm1, norm2 = parts(ours, LayerNorm)
    qkv = [attention.query, attention.key, attention.value]
    pairs = [
        (theirs.self_attn.in_proj_weight, [m.weight for m in qkv]),
        (theirs.self_attn.in_proj_bias, [m.bias for m in qkv]),
        (theirs.self_attn.out_proj.weight, [attention.output.weight]),
        (theirs.self_attn.out_proj.bias, [attention.output.bias]),
        (theirs.linear1.weight, [first.weight]),
        (theirs.linear1.bias, [first.bias]),
        (theirs.linear2.weight, [second.weight]),
        (theirs.linear2.bias, [second.bias]),
        (theirs.norm1.weight, [norm1.weight]),
        (theirs.norm1.bias, [norm1.bias]),
        (theirs.norm2.weight, [norm2.weight]),
        (theirs.norm2.bias, [norm2.bias]),
    ]
    with torch.no_grad():
        for target, sources in pairs:
            target.copy_(torch.cat([source[net].reshape(-1, *target.shape[1:]) for source in sources]))
    return theirs, pairs


@pytest.mark.parametrize("pre", [True, False])
@pytest.mark.parametrize("net", [0, 1])
def test_a_layer_is_torchs_with_the_same_weights(pre, net):
    ours = shaken(layer(PRE_NORM if pre else POST_NORM, 12, 3, generators(2)))
    theirs, pairs = torch_layer(ours, 12, 3, pre, net)
    x = torch.randn(4, 7, 12, generator=torch.Generator().manual_seed(1))
    x_ours, x_theirs = x.expand(2, -1, -1, -1).clone().requires_grad_(), x.clone().requires_grad_()
    weights = torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    y_ours, y_theirs = ours(x_ours), theirs(x_theirs)
    torch.testing.assert_close(y_ours[net], y_theirs, rtol=0, atol=1e-10)
    (weights * y_ours[net]).sum().backward()
    (weights * y_theirs).sum().backward()
    torch.testing.assert_close(x_ours.grad[net], x_theirs.grad, rtol=0, atol=1e-10)
    for target, sources in pairs:
        grad = torch.cat([source.grad[net].reshape(-1, *target.shape[1:]) for source in sources])
        torch.testing.assert_close(grad, target.grad, rtol=0, atol=1e-10)
        assert all(source.grad[1 - net].abs().max() == 0 for source in sources)  # the other net is untouched


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(6)), st.sampled_from([PRE_NORM, POST_NORM, "attention", "[norm attention] relu"]))
def test_a_layer_without_places_does_not_know_the_order_of_its_tokens(order, line):
    torch.set_default_dtype(torch.float64)
    ours = shaken(layer(line, 8, 2, generators(2)))
    x = torch.randn(2, 3, 6, 8, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(ours(x[:, :, order]), ours(x)[:, :, order], rtol=0, atol=1e-10)


def test_places_tell_the_order():
    net = Transformer(5, 6, 8, 2, 2, 5, seeds=[0])
    x = torch.tensor([[0, 1, 2, 3, 4, 0]])
    turned = x.flip(1)
    assert (net(turned) - net(x).flip(2)).abs().max() > 0.1


def test_brackets_are_a_residual_branch_and_nothing_else_is():
    x = torch.randn(1, 2, 3, 4, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(layer("[relu]", 4, 1, generators())(x), x.relu() + x)
    torch.testing.assert_close(layer("relu", 4, 1, generators())(x), x.relu())
    torch.testing.assert_close(layer("[relu] relu [relu]", 4, 1, generators())(x), 2 * (x + x.relu()).relu())
    for line, skips in [(PRE_NORM, 2), (POST_NORM, 2), ("attention [linear relu linear]", 1), ("attention", 0)]:
        assert len(parts(layer(line, 4, 1, generators()), Residual)) == skips


def test_a_layer_draws_its_weights_one_after_the_other():
    ours = layer("[norm attention] relu [linear relu linear]", 4, 2, generators(seed=9))
    rng = torch.Generator().manual_seed(9)
    linears = parts(ours, TokenLinear)
    assert [tuple(one.weight.shape[1:]) for one in linears] == [*4 * [(4, 4)], (16, 4), (4, 16)]
    for one in linears:
        drawn = math.sqrt(2 / one.weight.shape[2]) * torch.empty(one.weight.shape[1:]).normal_(generator=rng)
        assert torch.equal(one.weight[0], drawn * math.sqrt(0.5))


def test_attention_weights_are_softmax_of_scaled_scores():
    attention = shaken(Attention(6, 2, generators()))
    x = torch.randn(1, 2, 5, 6, generator=torch.Generator().manual_seed(6))
    weights = attention.weights(x)
    assert weights.shape == (1, 2, 2, 5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 2, 5))
    q, k = attention.query(x)[0, 1, :, 3:], attention.key(x)[0, 1, :, 3:]  # the second head
    q, k = q.detach(), k.detach()
    score = torch.tensor([[float(q[i] @ k[j]) / math.sqrt(3) for j in range(5)] for i in range(5)])
    torch.testing.assert_close(weights[0, 1, 1], score.exp() / score.exp().sum(1, keepdim=True))


def test_seeds_draw_the_nets_they_draw_alone():
    together, alone = Transformer(5, 4, 8, 2, 2, 5, seeds=[3, 4]), Transformer(5, 4, 8, 2, 2, 5, seeds=[4])
    x = torch.tensor([[0, 1, 2, 3], [4, 4, 4, 4]])
    torch.testing.assert_close(together(x)[1], alone(x)[0], rtol=0, atol=1e-12)
    states = together.states(x)
    assert [tuple(s.shape) for s in states] == 3 * [(2, 2, 4, 8)]
    assert (states[0][0] - states[0][1]).abs().max() > 0.1


def test_a_fresh_map_keeps_the_variance():
    linear = TokenLinear(400, 300, generators())
    y = linear(torch.randn(1, 3, 50, 400, generator=torch.Generator().manual_seed(7)))
    assert y.var().item() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    "line, message",
    [
        ("[norm pooling]", "unknown part 'pooling' in '.norm pooling.'; there are linear, attention, norm, relu"),
        ("[linear relu]", "'linear relu' ends 32 wide, expected 8. Give linears in pairs"),
        ("[norm attention", "unbalanced"),
        ("[norm [attention]]", "unbalanced"),
        ("[norm attention]:skip", "ties parts to controls"),
    ],
)
def test_a_line_that_makes_no_layer_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        layer(line, 8, 2, generators())


def test_heads_share_out_d_model():
    with pytest.raises(ValueError, match="Attention: d_model 8 is not a multiple of 3 heads"):
        Attention(8, 3, generators())
