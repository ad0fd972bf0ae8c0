"""plusx.nets.transformer: torch.nn's layer with the same weights, permutations, and lines that make no layer."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from plusx.nets.residual import Residual
from plusx.nets.transformer import POST_NORM, PRE_NORM, Attention, Transformer, layer, token_linear


@pytest.fixture(autouse=True)
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def shaken(module, seed=5):
    """The module with every parameter moved, so that no bias is 0 and no gain is 1."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=rng)
    return module


def parts(ours, kind):
    return [module for module in ours.modules() if isinstance(module, kind)]


def torch_layer(ours, d_model, heads, pre):
    """torch.nn.TransformerEncoderLayer with the weights of our layer, and which of ours feed which of its."""
    theirs = nn.TransformerEncoderLayer(d_model, heads, 4 * d_model, dropout=0, batch_first=True, norm_first=pre)
    (attention,) = parts(ours, Attention)
    first, second = [m for m in parts(ours, nn.Linear) if m.in_features != m.out_features]
    norm1, norm2 = parts(ours, nn.LayerNorm)
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
            target.copy_(torch.cat(sources))
    return theirs, pairs


@pytest.mark.parametrize("pre", [True, False])
def test_a_layer_is_torchs_with_the_same_weights(pre):
    ours = shaken(layer(PRE_NORM if pre else POST_NORM, 12, 3, generator()))
    theirs, pairs = torch_layer(ours, 12, 3, pre)
    x = torch.randn(4, 7, 12, generator=generator(1))
    x_ours, x_theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    weights = torch.randn(x.shape, generator=generator(2))
    y_ours, y_theirs = ours(x_ours), theirs(x_theirs)
    torch.testing.assert_close(y_ours, y_theirs, rtol=0, atol=1e-10)
    (weights * y_ours).sum().backward()
    (weights * y_theirs).sum().backward()
    torch.testing.assert_close(x_ours.grad, x_theirs.grad, rtol=0, atol=1e-10)
    for target, sources in pairs:
        torch.testing.assert_close(torch.cat([s.grad for s in sources]), target.grad, rtol=0, atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(6)), st.sampled_from([PRE_NORM, POST_NORM, "attention", "[norm attention] relu"]))
def test_a_layer_without_places_does_not_know_the_order_of_its_tokens(order, line):
    torch.set_default_dtype(torch.float64)
    ours = shaken(layer(line, 8, 2, generator()))
    x = torch.randn(3, 6, 8, generator=generator(3))
    torch.testing.assert_close(ours(x[:, order]), ours(x)[:, order], rtol=0, atol=1e-10)


def test_places_tell_the_order():
    net = Transformer(5, 6, 8, 2, 2, 5)
    x = torch.tensor([[0, 1, 2, 3, 4, 0]])
    turned = x.flip(1)
    assert (net(turned) - net(x).flip(1)).abs().max() > 0.1


def test_brackets_are_a_residual_branch_and_nothing_else_is():
    x = torch.randn(2, 3, 4, generator=generator(4))
    torch.testing.assert_close(layer("[relu]", 4, 1, generator())(x), x.relu() + x)
    torch.testing.assert_close(layer("relu", 4, 1, generator())(x), x.relu())
    torch.testing.assert_close(layer("[relu] relu [relu]", 4, 1, generator())(x), 2 * (x + x.relu()).relu())
    for line, skips in [(PRE_NORM, 2), (POST_NORM, 2), ("attention [linear relu linear]", 1), ("attention", 0)]:
        assert len(parts(layer(line, 4, 1, generator()), Residual)) == skips


def test_a_layer_draws_its_weights_one_after_the_other():
    ours = layer("[norm attention] relu [linear relu linear]", 4, 2, generator(9))
    rng = generator(9)
    linears = parts(ours, nn.Linear)
    assert [tuple(one.weight.shape) for one in linears] == [*4 * [(4, 4)], (16, 4), (4, 16)]
    for one in linears:
        drawn = torch.empty(one.weight.shape).normal_(generator=rng) / math.sqrt(one.in_features)
        torch.testing.assert_close(one.weight.data, drawn, rtol=1e-15, atol=0)


def test_attention_weights_are_softmax_of_scaled_scores():
    attention = shaken(Attention(6, 2, generator()))
    x = torch.randn(2, 5, 6, generator=generator(6))
    weights = attention.weights(x)
    assert weights.shape == (2, 2, 5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 5))
    q, k = attention.query(x)[1, :, 3:], attention.key(x)[1, :, 3:]  # the second head
    q, k = q.detach(), k.detach()
    score = torch.tensor([[float(q[i] @ k[j]) / math.sqrt(3) for j in range(5)] for i in range(5)])
    torch.testing.assert_close(weights[1, 1], score.exp() / score.exp().sum(1, keepdim=True))


def test_a_seed_draws_its_own_net_and_states_end_in_what_is_read():
    net, again, other = (Transformer(5, 4, 8, 2, 2, 5, seed=seed) for seed in (4, 4, 3))
    x = torch.tensor([[0, 1, 2, 3], [4, 4, 4, 4]])
    assert torch.equal(net(x), again(x))
    states = net.states(x)
    assert [tuple(s.shape) for s in states] == 3 * [(2, 4, 8)]
    assert torch.equal(net.read(states[-1]), net(x))
    assert (states[0] - other.embed(x)).abs().max() > 0.1


def test_without_a_seed_a_transformer_is_that_of_seed_0():
    nets = Transformer(5, 4, 8, 2, 1, 5), Transformer(5, 4, 8, 2, 1, 5, seed=0)
    for ours, theirs in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(ours, theirs)


def test_attention_takes_any_number_of_leading_dimensions():
    attention = shaken(Attention(6, 2, generator()))
    x = torch.randn(3, 4, 5, 6, generator=generator(6))
    torch.testing.assert_close(attention(x)[1, 2], attention(x[1, 2]))
    torch.testing.assert_close(attention(x)[1], attention(x[1]))


def test_a_fresh_map_keeps_the_variance():
    y = token_linear(400, 300, generator())(torch.randn(3, 50, 400, generator=generator(7)))
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
        layer(line, 8, 2, generator())


def test_heads_share_out_d_model():
    with pytest.raises(ValueError, match="Attention: d_model 8 is not a multiple of 3 heads"):
        Attention(8, 3, generator())
