"""plusx.measure.forks: many cuts in one pass are the nets that were cut by hand, whatever kind of net it is."""

import contextlib

import pytest
import torch
import transformers
from test_gates import ENDS, IMAGES, MODELS, SMALL, TOKENS, hooks, made, named, spelled
from test_gates_on_nets import AUDITED, LIBRARIES, answer, kind, of
from test_gates_on_nets import made as built
from torch import nn
from torch.nn import functional as F

from plusx.measure import ask, switches
from plusx.measure.forks import losses

STAGES = dict(image_size=32, num_channels=3, depths=[1, 2])
# More of `transformers`: the class, its size, an input, and its additions as `named` has them.
OTHERS = {
    "Gemma3Text": (  # a norm before and behind each branch
        "Gemma3ForCausalLM",
        SMALL | ENDS | dict(num_key_value_heads=1, head_dim=16, sliding_window=4),
        TOKENS,
        "model.layers.{0,1,2}.post_{attention,feedforward}_layernorm",
    ),
    "Swin": (
        "SwinModel",
        STAGES | dict(patch_size=2, embed_dim=8, num_heads=[1, 2], window_size=4),
        IMAGES,
        "encoder.layers.{0.blocks.0,1.blocks.0,1.blocks.1}.{drop_path,dropout}",
    ),
    "ConvNext": (
        "ConvNextModel",
        dict(num_stages=2, hidden_sizes=[8, 16], depths=[1, 2], image_size=32),
        IMAGES,
        "encoder.stages.{0.layers.0,1.layers.0,1.layers.1}.drop_path",
    ),
    "OPT": (
        "OPTForCausalLM",
        dict(vocab_size=50, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=2) | ENDS,
        TOKENS,
        "model.decoder.layers.{0,1}.{self_attn,fc2}",
    ),
    "Dinov2": (
        "Dinov2Model",
        SMALL | dict(image_size=32, patch_size=8),
        IMAGES,
        "encoder.layer.{0,1,2}.drop_path{,#2}",
    ),
    "RegNet": (
        "RegNetModel",
        dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], groups_width=4, layer_type="x"),
        IMAGES,
        "encoder.stages.{0.layers.0,1.layers.0,1.layers.1}.shortcut",
    ),
    "Cohere": (
        "CohereForCausalLM",
        SMALL | ENDS | dict(num_key_value_heads=2),
        TOKENS,
        "model.layers.{0,1,2}.mlp{,#2}",
    ),
}
FIXED = ["OPT"]  # which takes its batch from the tokens


class Both(nn.Module):
    """An encoder and a decoder, of which each has a stream."""

    def __init__(self):
        super().__init__()
        name, settings = MODELS["T5"][:2]
        self.t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(**settings))

    def forward(self, ids):
        return (self.t5(input_ids=ids, decoder_input_ids=ids.flip(1)).logits,)


class Graph(nn.Module):
    """Three rounds of messages between six nodes; what is a batch to others is its nodes."""

    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]])

    def __init__(self):
        super().__init__()
        self.own, self.heard = (nn.ModuleList(nn.Linear(8, 8) for _ in range(3)) for _ in range(2))

    def forward(self, x):
        for own, heard in zip(self.own, self.heard):
            come = torch.zeros_like(x).index_add(0, self.edges[1], heard(x)[self.edges[0]])
            x = x + torch.tanh(own(x) + come)
        return (x,)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        made = (nn.Sequential(nn.Linear(n, 16), nn.GELU(), nn.Linear(16, n)) for _ in range(2) for n in (5, 8))
        self.parts = nn.ModuleList(made)

    def forward(self, x):
        for at, part in enumerate(self.parts):
            x = x + part(x) if at % 2 else x + part(x.mT).mT
        return (x,)


class UNet(nn.Module):
    """Two blocks down, two up; what went down is laid beside what comes up."""

    def __init__(self):
        super().__init__()
        self.start, self.meet = nn.Conv2d(3, 8, 1), nn.Conv2d(16, 8, 1)
        self.blocks = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(4))

    def forward(self, x):
        x = self.start(x)
        down = x + self.blocks[0](x).relu()
        x = F.avg_pool2d(down, 2)
        x = x + self.blocks[1](x).relu()
        x = x + self.blocks[2](x).relu()
        x = self.meet(torch.cat([down, F.interpolate(x, scale_factor=2)], 1))
        return (x + self.blocks[3](x).relu(),)


class Recurrent(nn.Module):
    """One block three times, which writes into its stream, for samples that stand second."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x):
        x = x.clone()
        for _ in range(3):
            x += self.linear(self.norm(x))
        return (x,)


class Normed(nn.Module):
    """Two blocks with a norm over the batch."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()) for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return (x,)


class Maps(nn.Module):
    """Blocks of one linear map in several parts, added one by one to a norm: one addition in two steps."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(3))
        self.maps = nn.ModuleList(nn.Linear(8, 8) for _ in range(6))

    def forward(self, x):
        for at, norm in enumerate(self.norms):
            x = torch.tanh(norm(x) + self.maps[2 * at](x) + self.maps[2 * at + 1](x))
        return (x,)


RANDOM = torch.Generator().manual_seed(0)
FLAT, SETS = torch.randn(6, 8, generator=RANDOM), torch.randn(4, 5, 8, generator=RANDOM)
# By hand: the class, an input, its additions as `named` has them, and whether it takes a batch that grows.
BY_HAND = {
    "T5, both": (
        lambda: Both().eval(),
        TOKENS,
        "t5.encoder.block.{0,1}.layer.{0,1}.dropout t5.decoder.block.{0,1}.layer.{0,1,2}.dropout",
        True,
    ),
    "graph": (Graph, FLAT, "own.{0,1,2}#2", False),
    "mixer": (Mixer, SETS, "parts.{0,1,2,3}", True),
    "unet": (UNet, IMAGES, "blocks.{0,1,2,3}", True),
    "loop": (Recurrent, FLAT, "linear{,#2,#3}", True),
    "parallel maps": (Maps, SETS, "maps.{0,2,4}", True),
    "batch norm": (lambda: Normed().eval(), FLAT, "blocks.{0,1,2}", True),
    "batch norm in training": (Normed, FLAT, "blocks.{0,1,2}", False),
    "dropout": (lambda: nn.Sequential(*[DropBlock() for _ in range(3)], Tuple()), FLAT, "{0,1,2}.drop", False),
    "torch's layers": (lambda: nn.Sequential(layers(), Tuple()).eval(), SETS, "0.layers.{0,1}.dropout{1,2}", True),
}


class DropBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(8, 8), nn.Dropout(0.5)

    def forward(self, x):
        return x + self.drop(self.linear(x))


class Tuple(nn.Module):
    def forward(self, x):
        return (x,)


def layers():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def net_of(kind):
    """A net with weights that are not near 0, its input, its additions, and whether its batch can grow."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        if kind in BY_HAND:
            make, given, names, grows = BY_HAND[kind]
            given = given.double() if given.is_floating_point() else given
            return make().double(), given, names, grows
        if kind in OTHERS:
            name, settings, given, names = OTHERS[kind]
            config = getattr(transformers, f"{kind}Config")(**settings)
            model = getattr(transformers, name)(config).eval()
        else:
            model, given, names = made(kind), *MODELS[kind][2:4]
        for weights in model.parameters():
            weights.data += 0.1 * torch.randn_like(weights)
    if kind != "Mixtral":  # whose experts take no other numbers
        model.double()
    return model, given.double() if given.is_floating_point() else given, names, kind not in FIXED


def by_hand(gates, loss, at, kind):
    """The loss of a run with one gate closed, under the same random numbers."""
    getattr(gates, kind)[at] = 0
    with gates, torch.no_grad(), torch.random.fork_rng([]):
        lost = loss().item()
    getattr(gates, kind)[at] = 1
    return lost


@pytest.mark.parametrize("kind", [*MODELS, *OTHERS, *BY_HAND])
def test_cuts_in_one_pass_are_the_nets_that_were_cut_by_hand(kind):
    model, given, names, grows = net_of(kind)
    gates = switches(model, given)
    assert named(gates) == spelled(names)

    def loss():
        return (model(given)[0] * 1.5).sin().square().mean()

    cuts = [(at, part) for at in range(len(gates.places)) for part in ("skip", "branch")]
    found, said = losses(gates, loss, cuts)
    assert ("in a run each" in said) != grows, said
    wanted = torch.tensor([by_hand(gates, loss, *cut) for cut in cuts], dtype=torch.float64)
    room = dict(rtol=1e-9, atol=1e-12) if kind != "Mixtral" else dict(rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, wanted, **room)
    whole = loss().item()
    assert (wanted - whole).abs().min() > 1e-9  # each cut is one


# Of more fields: the net, its inputs, its additions; those of other libraries are for the audit.
SCALED = dict(expand_ratios=[1, 2], num_block_repeats=[1, 3], depthwise_padding=[], width_coefficient=1.0)
SCALED |= dict(in_channels=[32, 16], out_channels=[16, 16], strides=[1, 1], kernel_sizes=[3, 3], hidden_dim=1280)
EFFICIENT = (
    kind("EfficientNetModel", image_size=32, depth_coefficient=1.0, **SCALED),
    (IMAGES.double(),),
    "encoder.blocks.{2,3}.projection.dropout",
)
DOWN, UP = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")
WIDTHS = dict(sample_size=16, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4, attention_head_dim=8)
DIFFUSED = of(
    "diffusers", "UNet2DModel", in_channels=3, out_channels=3, down_block_types=DOWN, up_block_types=UP, **WIDTHS
)
UNET = "down_blocks.0.resnets.0.conv2 down_blocks.1.{resnets.0.conv_shortcut,attentions.0.to_out.1} "
UNET += "mid_block.{resnets.0.conv2,attentions.0.to_out.1,resnets.1.conv2} "
UNET += "up_blocks.0.{resnets.0.conv_shortcut,attentions.0.to_out.1,resnets.1.conv_shortcut,attentions.1.to_out.1} "
UNET += "up_blocks.1.resnets.{0,1}.conv_shortcut"
FIELDS = {
    "EfficientNet": EFFICIENT,
    "a conformer": AUDITED["a conformer"][:3],
    "UNet": (DIFFUSED, (IMAGES[:, :, :16, :16].double(), torch.tensor([1, 2])), UNET),
    **{name: LIBRARIES[name][:3] for name in ("DiT", "SD3, two streams", "a conformer for speech")},
}
ONLY_AUDITED = {"UNet", "DiT", "SD3, two streams", "a conformer for speech"}


@pytest.mark.parametrize(
    "field", [pytest.param(each, marks=[pytest.mark.audit] * (each in ONLY_AUDITED)) for each in FIELDS]
)
def test_cuts_in_one_pass_in_nets_of_other_fields(field):
    make, given, names = FIELDS[field]
    model = built(make)
    for weights in model.parameters():
        weights.data += 0.1 * torch.randn(weights.shape, generator=RANDOM, dtype=weights.dtype)
    gates = switches(model, *given)
    assert named(gates) == spelled(names)

    def loss():
        return (answer(model, given) * 1.5).sin().square().mean()

    cuts = [(at, part) for at in range(len(gates.places)) for part in ("skip", "branch")]
    found, said = losses(gates, loss, cuts)
    assert "in a run each" not in said, said
    wanted = torch.tensor([by_hand(gates, loss, *cut) for cut in cuts], dtype=torch.float64)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    assert (wanted - loss().item()).abs().min() > 1e-9


def test_ask_is_one_pass_where_labels_are_given_to_the_model_and_leaves_it_as_it_was():
    model = made("Llama").train()
    model.model.layers[0].requires_grad_(False)
    model.lm_head.weight.grad = torch.ones_like(model.lm_head.weight)
    gates = switches(model, TOKENS)

    def state():
        kept = [(t, t.requires_grad, t.grad) for t in (*model.parameters(), *model.buffers())]
        return [(id(t), needs, t.tolist(), grad is not None and grad.tolist()) for t, needs, grad in kept]

    before, draws = state(), torch.get_rng_state()
    with torch.no_grad():
        ask(gates, lambda: model(TOKENS, labels=TOKENS).loss)  # a warning, that each cut has its run, would be an error
    assert state() == before and model.training and torch.equal(torch.get_rng_state(), draws) and not hooks(model)
    assert not any("forward" in vars(part) for part in model.modules())


def test_ask_leaves_the_buffers_of_a_net_in_training_and_says_that_cuts_run_alone():
    model = net_of("batch norm in training")[0]
    before = {name: each.clone() for name, each in model.state_dict().items()}
    with pytest.warns(UserWarning, match="ask: Normed: 6 cuts in a run each, for it takes no batch that grows"):
        ask(switches(model, FLAT.double()), lambda: model(FLAT.double())[0].square().mean())
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


class Careful(nn.Module):
    """A model that goes on whatever happens inside it."""

    def __init__(self):
        super().__init__()
        self.mixer = Mixer()

    def forward(self, x):
        with contextlib.suppress(Exception):
            return self.mixer(x)
        return (0 * x,)


@pytest.mark.parametrize("make", [Mixer, Careful])
def test_an_error_of_who_looks_at_a_pass_is_not_taken_for_the_models(make):
    model, given = make().double(), SETS.double()
    gates = switches(model, given)

    def look(rows, at, what, seen):
        return len(rows) == 1 or seen[len(seen)]

    with pytest.raises(IndexError, match="out of bounds"):
        losses(gates, lambda: model(given)[0].square().mean(), [(0, "skip"), (1, "branch")], look)
    assert not hooks(model) and not any("forward" in vars(part) for part in model.modules())


def test_a_pass_holds_no_more_cuts_than_its_room():
    model, given, *_ = net_of("Llama")
    gates = switches(model, given)
    cuts = [(at, part) for at in range(len(gates.places)) for part in ("skip", "branch")]
    found = [losses(gates, lambda: model(given)[0].square().mean(), cuts, megabytes=each) for each in (1e-6, 256)]
    assert "12 cuts in 11 passes" in found[0][1] and "12 cuts in 2 passes" in found[1][1]
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-12, atol=0)


def test_a_mean_in_place_of_a_branch():
    model, given, *_ = net_of("mixer")
    gates = switches(model, given)
    found, _ = losses(gates, lambda: model(given)[0].square().mean(), [(1, "mean")])
    x = given + model.parts[0](given.mT).mT
    x = x + model.parts[1](x).mean((0, 1))
    x = x + model.parts[2](x.mT).mT
    x = x + model.parts[3](x)
    assert found.item() == pytest.approx(x.square().mean().item(), rel=1e-12)


def test_a_loss_that_cannot_be_mapped_sees_one_row():
    model, given, *_ = net_of("mixer")
    gates = switches(model, given)
    seen = []

    def loss():
        out = model(given)[0]
        seen.append((out.shape, out.sum().item()))  # which no map over rows allows
        return out.square().mean()

    cuts = [(at, part) for at in range(len(gates.places)) for part in ("skip", "branch")]
    found, said = losses(gates, loss, cuts)
    assert "8 cuts in 2 passes" in said and {shape for shape, _ in seen} == {given.shape}
    wanted = torch.tensor([by_hand(gates, loss, *cut) for cut in cuts], dtype=torch.float64)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=0)


SAID = {  # what stands for a branch -> that, of its outputs
    "others": lambda f: (f.mean(0) - f / len(f)) * len(f) / (len(f) - 1),
    "another": lambda f: torch.cat([f[-1:], f[:-1]]),
    "negative": lambda f: -f,
    "twice": lambda f: f + f,
}


@pytest.mark.parametrize("kind", SAID)
def test_what_stands_for_a_branch_is_what_a_hook_says_in_its_place(kind):
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x).tanh()
            return x

    net, given = Stack(), torch.randn(5, 4)
    found, _ = losses(switches(net, given), lambda: net(given).square().mean(1), [(at, kind) for at in range(3)])
    for at in range(3):
        x = given
        for layer in range(3):
            f = layers[layer](x).tanh()
            x = x + (SAID[kind](f) if layer == at else f)
        assert torch.allclose(found[at], x.square().mean(1).double(), atol=1e-6), at
