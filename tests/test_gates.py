"""plusx.measure.gates on other people's models: what is found, and what a gate does, against hooks on modules."""

import contextlib
import operator
import re
from collections import Counter

import pytest
import torch
import transformers
from torch import nn
from torch.utils.checkpoint import checkpoint

from plusx.measure import ask
from plusx.measure.gates import switches

TOKENS = torch.tensor([[5, 1, 4, 1, 3], [2, 7, 1, 8, 2]])
IMAGES = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
SMALL = dict(vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2)
ENDS = dict(bos_token_id=0, eos_token_id=0, pad_token_id=0)


def made(kind, **settings):
    """A small one of `transformers`, with random weights."""
    config = getattr(transformers, f"{kind}Config")
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return getattr(transformers, MODELS[kind][0])(config(**MODELS[kind][1] | settings)).eval()


ALBERT = "encoder.albert_layer_groups.0.albert_layers.0.{attention.output_dropout,ffn_output}"
# The class, its size, an input, its residual additions as `named` has them, and the module that writes at one of them.
MODELS = {
    "GPT2": (
        "GPT2LMHeadModel",
        dict(vocab_size=50, n_layer=3, n_head=2, n_embd=32, **ENDS),
        TOKENS,
        "transformer.h.{0,1,2}.{attn,mlp}",
        {2: "transformer.h.1.attn", 5: "transformer.h.2.mlp"},
    ),
    "Llama": (
        "LlamaForCausalLM",
        SMALL,
        TOKENS,
        "model.layers.{0,1,2}.{self_attn,mlp}",
        {0: "model.layers.0.self_attn", 3: "model.layers.1.mlp"},
    ),
    "Bert": (
        "BertModel",
        SMALL,
        TOKENS,
        "encoder.layer.{0,1,2}.{attention.output,output}.dropout",
        {0: "encoder.layer.0.attention.output.dense", 5: "encoder.layer.2.output.dense"},
    ),
    "ResNet": (
        "ResNetModel",
        dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2], layer_type="basic"),
        IMAGES,
        "encoder.stages.{0.layers.0,1.layers.0,1.layers.1}.shortcut",
        {0: "encoder.stages.0.layers.0.layer", 1: "encoder.stages.1.layers.0.layer"},
    ),
    "GPTNeoX": (
        "GPTNeoXForCausalLM",
        SMALL | ENDS,
        TOKENS,
        "gpt_neox.layers.{0,1,2}.post_mlp_dropout#2",
        {},
    ),  # attention and FFN in one addition
    "ViT": (
        "ViTModel",
        SMALL | dict(image_size=32, patch_size=8),
        IMAGES,
        "layers.{0,1,2}.dropout{,#2}",
        {3: "layers.1.mlp"},
    ),
    "T5": (
        "T5EncoderModel",
        dict(vocab_size=50, d_model=32, d_ff=64, num_layers=2, num_heads=2, d_kv=16, **ENDS),
        TOKENS,
        "encoder.block.{0,1}.layer.{0,1}.dropout",
        {3: "encoder.block.1.layer.1.DenseReluDense"},
    ),
    "DebertaV2": (  # attention adds scores of two kinds
        "DebertaV2Model",
        SMALL | dict(relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=8),
        TOKENS,
        "encoder.layer.{0,1,2}.{attention.output,output}.dropout",
        {1: "encoder.layer.0.output.dense"},
    ),
    "Mixtral": (
        "MixtralForCausalLM",
        SMALL | dict(num_key_value_heads=1, num_local_experts=2, **ENDS),
        TOKENS,
        "model.layers.{0,1,2}.{self_attn,mlp}",
        {},
    ),
    "Mamba": (
        "MambaForCausalLM",
        dict(vocab_size=50, hidden_size=32, num_hidden_layers=3),
        TOKENS,
        "backbone.layers.{0,1,2}.mixer",
        {},
    ),
    "Albert": (
        "AlbertModel",
        SMALL | dict(embedding_size=16),
        TOKENS,
        f"{ALBERT} {ALBERT}#2 {ALBERT}#3",
        {},
    ),  # one layer, three times
}
each = pytest.mark.parametrize("kind", MODELS)


@contextlib.contextmanager
def writing_nothing(model, path):
    """While this lasts, what one module gives is 0."""

    def zeroed(module, given, output):
        return (output[0] * 0, *output[1:]) if isinstance(output, tuple) else output * 0

    hook = model.get_submodule(path).register_forward_hook(zeroed)
    yield
    hook.remove()


@torch.no_grad()
def answer(model, *inputs):
    return model(*inputs)[0]


def hooks(model):
    return [hook for part in model.modules() for hook in (*part._forward_hooks, *part._forward_pre_hooks)]


def spelled(names):
    """ "a.{0,1} b" as ["a.0", "a.1", "b"]; of several braces the first is the slowest."""
    found = names.split()
    while any("{" in name for name in found):
        parts = [re.fullmatch(r"(.*?)(?:{([^{}]*)}(.*))?", name).groups("") for name in found]
        found = [before + one + behind for before, choices, behind in parts for one in choices.split(",")]
    return found


def named(gates):
    """The additions by what ran last before each, or by the module and ":" where nothing ran in it before. "#2" is the
    second of two tensors that was met there."""
    names, met = {}, Counter()
    for (module, line, after), times in gates.times.items():
        for time in range(1, times + 1):
            name = after or f"{module}:"
            met[module, name] += 1
            names[module, line, after, time] = name + f"#{met[module, name]}" * (met[module, name] > 1)
    return [names[place] for place in gates.places]


@each
def test_gates_at_1_change_nothing_and_every_other_gate_something(kind):
    model, given, names = made(kind), *MODELS[kind][2:4]
    plain = answer(model, given)
    gates = switches(model, given)
    assert named(gates) == spelled(names)
    with gates:
        assert torch.equal(answer(model, given), plain)
    assert torch.equal(answer(model, given), plain)
    for numbers in gates.skip, gates.branch:
        for at in range(len(numbers)):
            numbers[at] = 0.5
            with gates:
                assert not torch.allclose(answer(model, given), plain), gates
            numbers[at] = 1


@each
def test_a_gate_at_0_is_the_model_whose_module_writes_nothing(kind):
    model, given, _, modules = made(kind), *MODELS[kind][2:]
    for bias in (part.bias for part in model.modules() if getattr(part, "bias", None) is not None):
        nn.init.normal_(bias)  # what is zeroed in the wrong place shows
    for at, path in modules.items():
        gates = switches(model, given)
        gates.branch[at] = 0
        with gates:
            gated = answer(model, given)
        with writing_nothing(model, path):
            assert torch.equal(gated, answer(model, given)), path
        assert not torch.equal(gated, answer(model, given))


def test_a_module_that_writes_nothing_is_told_by_its_place():
    gates = switches(made("GPT2"), TOKENS)
    assert [place.module for place in gates.places[:3]] == ["transformer.h.0", "transformer.h.0", "transformer.h.1"]
    assert repr(gates).startswith("6 residual additions\n  0  transformer.h.0  modeling_gpt2.py:")


def test_one_layer_three_times_has_gates_for_each_time():
    model = made("Albert")
    gates = switches(model, TOKENS)
    assert [place.time for place in gates.places] == [1, 1, 2, 2, 3, 3]
    gates.skip[2:], gates.branch[2:] = 0.5, 0.5  # x/2 + F(x)/2 before a norm without its small constant
    with gates:
        torch.testing.assert_close(answer(model, TOKENS), answer(made("Albert"), TOKENS), rtol=1e-3, atol=1e-3)


def test_text_is_written_with_a_cache_as_without():
    model = made("GPT2", initializer_range=1.0)
    gates = switches(model, TOKENS)
    gates.branch[[1, 4]] = 0
    settings = dict(max_new_tokens=6, do_sample=False, pad_token_id=0, attention_mask=torch.ones_like(TOKENS))
    with gates:
        with_cache, without = (model.generate(TOKENS, use_cache=cache, **settings) for cache in (True, False))
    assert with_cache.tolist() == without.tolist() != model.generate(TOKENS, **settings).tolist()


class Block(nn.Module):
    def __init__(self, width, add):
        super().__init__()
        self.norm, self.linear, self.add = nn.LayerNorm(width), nn.Linear(width, width), add

    def forward(self, x):
        return self.add(x, self.linear(self.norm(x)))


def blocks(add=operator.add, count=3):
    torch.manual_seed(0)
    return nn.Sequential(*[Block(4, add) for _ in range(count)])


def in_the_branch(x, y):
    y += x
    return y


def in_the_stream(x, y):
    x = x.clone()
    x += y
    return x


X = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
WAYS_TO_ADD = {
    "+": operator.add,
    "the other way round": lambda x, y: y + x,
    "+= to the branch": in_the_branch,
    "+= to the stream": in_the_stream,
    "add_": lambda x, y: y.add_(x),
    "torch.add": torch.add,
    "by name": lambda x, y: torch.add(input=x, other=y),
    "alpha": lambda x, y: x.add(y / 2, alpha=2),
    "sum": lambda x, y: sum([x, y]),
    "minus a negative": lambda x, y: x - -y,
    "-= of a negative": lambda x, y: x.clone().sub_(y, alpha=-1),
    "subtract": lambda x, y: torch.subtract(x, -y),
    "subtracted from": lambda x, y: torch.rsub(-y, x),
    "addcmul": lambda x, y: torch.addcmul(x, torch.full_like(y, 0.5), y, value=2),
    "another size": lambda x, y: 1.0 * x + y,
}


@pytest.mark.parametrize("name", WAYS_TO_ADD)
def test_ways_to_add(name):
    model = blocks(WAYS_TO_ADD[name])
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["0", "1", "2"]
    gates.branch[1], gates.skip[2] = 0.5, 0
    x = model[0](X)
    x = x + 0.5 * model[1].linear(model[1].norm(x))
    x = model[2].linear(model[2].norm(x))
    with gates:
        torch.testing.assert_close(model(X), x)


@pytest.mark.parametrize("name", WAYS_TO_ADD)
def test_gradients_go_through_gates_and_to_them(name):
    model = blocks(WAYS_TO_ADD[name])
    gates = switches(model, X)
    gates.branch.requires_grad_()
    with gates:
        model(X).square().sum().backward()
    step = 1e-3
    for at in range(3):
        ends = []
        for sign in 1, -1:
            moved = switches(model, X)
            moved.branch[at] += sign * step
            with moved:
                ends.append(model(X).square().sum().item())
        torch.testing.assert_close(gates.branch.grad[at].item(), (ends[0] - ends[1]) / (2 * step), rtol=1e-2, atol=1e-2)
    assert model[0].linear.weight.grad.norm() > 0


def test_a_closed_gate_has_a_gradient_too():
    model = blocks()
    gates = switches(model, X)
    gates.branch = torch.zeros(3, requires_grad=True)
    with gates:
        model(X).sum().backward()
    torch.testing.assert_close(gates.branch.grad[2], model[2].linear(model[2].norm(X)).sum())


def test_a_gate_for_each_token():
    model = blocks()
    gates = switches(model, X)
    gates.branch = torch.ones(3, 5, 1)
    gates.branch[1:, 2:] = 0
    with gates:
        gated = model(X)
    assert torch.equal(gated, torch.cat([model(X)[:2], model[0](X)[2:]]))


def test_a_closed_gate_leaves_nothing_of_what_is_infinite():
    model = blocks(lambda x, y: x + y / 0)
    gates = switches(model, X)
    gates.branch[:] = 0
    with gates:
        assert torch.equal(model(X), X)


def test_the_search_touches_nothing():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), *blocks()).train()
    model[0].weight.requires_grad_(False)

    def state():
        return [(id(t), t.requires_grad, t.grad, t.tolist()) for t in model.state_dict(keep_vars=True).values()]

    before = state()
    with torch.no_grad():
        switches(model, X)
    assert state() == before
    assert not hooks(model)


def test_what_a_model_has_under_two_names_is_one_in_the_search_and_stays_so():
    model = nn.Sequential(*blocks(), nn.BatchNorm1d(4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.Linear(4, 4)).train()
    model[5].weight, model[4].running_mean = model[6].weight, model[3].running_mean
    model[6].again, model.whole = model[6].weight, model[0]

    def state():
        named = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
        return [(name, id(t), t.requires_grad, t.tolist()) for name, t in named]

    before = state()
    assert len(switches(model, X).places) == 4 and state() == before  # the first block runs once more, as the last


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_it_works_with_and_without_gradients(mode):
    model = blocks().requires_grad_(False)
    with mode():
        gates = switches(model, X)
        gates.branch[:] = 0
        with gates:
            assert torch.equal(model(X), X)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_model_keeps_its_precision(dtype):
    model, x = blocks().to(dtype), X.to(dtype)
    gates = switches(model, x)
    with gates:
        assert model(x).dtype is dtype and torch.equal(model(x), model(x))
    plain = model(x)
    gates.skip = gates.skip.double()
    with gates:
        assert torch.equal(model(x), plain)
    half = made("GPT2").to(torch.bfloat16)
    assert len(switches(half, TOKENS).places) == 6


class Allocated(nn.Module):
    """Writes what each block gives into memory of its own."""

    def __init__(self):
        super().__init__()
        self.blocks = blocks()
        self.register_buffer("kept", torch.zeros(4, 5, 4))

    def forward(self, x):
        self.kept[0] = x
        for at, block in enumerate(self.blocks):
            self.kept[at + 1] = block(self.kept[at].clone())
        return self.kept[-1].clone()


def test_memory_of_the_model_is_its_own():
    model = Allocated().requires_grad_(False)
    gates = switches(model, X)
    assert len(gates.places) == 3 and not model.kept.any() and not model.kept.requires_grad
    gates.branch[:] = 0
    with gates:
        assert torch.equal(model(X), X)


def test_two_models_at_once():
    one, two = blocks(), blocks(lambda x, y: y + x)
    gates = [switches(model, X) for model in (one, two)]
    gates[0].branch[:] = 0
    gates[1].skip[:] = 0
    alone = []
    for model, own in zip((one, two), gates):
        with own:
            alone.append(model(X))
    with gates[0], gates[1]:
        assert torch.equal(one(X), alone[0]) and torch.equal(two(X), alone[1])
    with gates[1], gates[0]:
        assert torch.equal(one(X), alone[0]) and torch.equal(two(X), alone[1])


def test_two_pairs_of_gates_on_one_model_multiply():
    model = blocks()
    first, second, both = (switches(model, X) for _ in range(3))
    first.branch[1], second.branch[1], both.branch[1] = 0.5, 0.25, 0.125
    with both:
        wanted = model(X)
    with first, second:
        torch.testing.assert_close(model(X), wanted)


def test_after_an_error_inside_it_goes_on():
    model = blocks()
    gates = switches(model, X)
    gates.branch[:] = 0
    with gates:
        with pytest.raises(RuntimeError, match="are in use"), gates:
            pass
        with pytest.raises(RuntimeError, match="normalized_shape"):
            model(torch.randn(5, 3))
        assert torch.equal(model(X), X)
    with pytest.raises(KeyError), gates:
        raise KeyError
    assert not hooks(model)


def test_keyword_arguments_and_nested_inputs():
    model = made("Bert")
    mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]])
    assert len(switches(model, input_ids=TOKENS, attention_mask=mask).places) == 6

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = blocks(count=1)

        def forward(self, given):
            return self.block(given["x"][0])

    assert len(switches(Nested(), dict(x=[X])).places) == 1


@pytest.mark.parametrize("reentrant", [True, False])
def test_gates_that_backward_would_pass_by_are_told_of(reentrant):
    model = blocks()
    gates, x = switches(model, X), X.clone().requires_grad_()
    with gates:  # all 1
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()
    gates.branch[1] = 0.5
    with pytest.raises(RuntimeError, match="gate 1 is not 1, and gradient checkpointing computes 1 again"), gates:
        checkpoint(model, x, use_reentrant=reentrant)


def test_layers_of_torch_are_found_and_gated_where_they_would_be_fused():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(2, 5, 8)
    gates = switches(model, x)
    assert len(gates.places) == 4
    gates.branch[:] = 0
    with torch.no_grad(), gates:
        written_off = model(x)
    for part in model.layers:
        x = part.norm2(part.norm1(x))
    torch.testing.assert_close(written_off, x)


@pytest.mark.parametrize("part", ["the whole", "one layer"])
def test_what_is_compiled_is_gated_too(part):
    model = blocks()
    if part == "the whole":
        compiled = torch.compile(model, backend="eager")
    else:
        compiled = nn.Sequential(model[0], torch.compile(model[1], backend="eager"), model[2])
    with torch.no_grad():
        plain = compiled(X)
        gates = switches(compiled, X)
        assert len(gates.places) == 3
        gates.branch[1] = 0
        with gates:
            assert torch.equal(compiled(X), model[2](model[0](X)))
        assert torch.equal(compiled(X), plain)


def test_what_is_no_residual_addition_has_no_gate():
    class Sums(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(9, 4), nn.Embedding(9, 4)

        def forward(self, tokens):
            x = self.token(tokens) + self.place(tokens)  # two tables
            x = x + 2 * x  # no weights on the way
            turned = x.cos() + x.sin()
            return turned + 1

    with pytest.raises(ValueError, match="no residual addition in Sums. In none of 3 additions of two tensors"):
        switches(Sums(), TOKENS)
    with pytest.raises(ValueError, match="no residual addition in Sequential. In none of 0 additions"):
        switches(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), X)


def test_a_closed_gate_that_was_never_met_is_told_of():
    model = blocks()
    gates = switches(model, X)
    with gates:
        pass
    gates.branch[2] = 0
    with pytest.raises(RuntimeError, match="gate 2 is not 1, and its addition in 2, test_gates.py:"), gates:
        model[0](X)


class Recurrent(nn.Module):
    """An addition for each token, of which the search takes the first alone for residual."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        state, found = torch.zeros(4), []
        for token in x:
            written = self.linear(token)
            state = (token if len(found) == 0 else state.detach()) + written
            found.append(state)
        return torch.stack(found)


def test_additions_of_the_same_line_that_are_not_residual_may_come_as_often_as_they_came():
    model = Recurrent()
    gates = switches(model, X)
    assert [place.time for place in gates.places] == [1]
    with gates:
        assert torch.equal(model(X), model(X))
        with pytest.raises(RuntimeError, match="adds for time 6 in one run, more often"):
            model(torch.cat([X, X]))


def test_the_library_that_failed_has_gates():
    config = transformers.RwkvConfig(vocab_size=50, hidden_size=32, num_hidden_layers=3, context_length=16)
    model = transformers.RwkvForCausalLM(config).eval()
    gates = switches(model, TOKENS)
    with torch.no_grad():
        plain = model(TOKENS).logits
        with gates:
            assert torch.equal(model(TOKENS).logits, plain)
        gates.branch[:] = 0
        with gates:
            assert not torch.allclose(model(TOKENS).logits, plain)


def test_gates_under_gradient_checkpointing_are_told_of_before_backward_is_wrong():
    model = made("Llama").train()
    model.activation_checkpointing_enable()
    gates = switches(model, TOKENS)
    with gates:
        model(TOKENS).logits.sum().backward()
    gates.branch[1] = 0
    with (
        pytest.raises(RuntimeError, match="gate 1 is not 1, and gradient checkpointing computes model.layers.0"),
        gates,
    ):
        model(TOKENS)
    model.activation_checkpointing_disable()
    with gates:
        model(TOKENS).logits.sum().backward()


def test_a_loop_that_runs_longer_is_told_of():
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = blocks(count=1)[0]

        def forward(self, x, times):
            for _ in range(times):
                x = self.block(x)
            return x

    model = Loop()
    gates = switches(model, X, 2)
    gates.branch[1] = 0
    with gates:
        assert torch.equal(model(X, 2), model.block(X))
        with pytest.raises(RuntimeError, match="adds for time 3 in one run, more often"):
            model(X, 3)


def test_the_books_questions_of_a_model_are_answered_as_by_hand():
    model = made("GPT2").requires_grad_(False)
    gates = switches(model, TOKENS)
    found = ask(gates, lambda: model(TOKENS, labels=TOKENS).loss)
    assert not any(p.requires_grad for p in model.parameters())

    model.requires_grad_()
    written, blocks = [], model.transformer.h
    parts = [part for block in blocks for part in (block.attn, block.mlp)]
    hooks = [part.register_forward_hook(lambda *run: written.append(run[-1])) for part in parts]
    out = model(TOKENS, labels=TOKENS, output_hidden_states=True)
    for hook in hooks:
        hook.remove()
    written = [each[0] if isinstance(each, tuple) else each for each in written]
    streams = out.hidden_states[:3]  # before each block, where its attention is added
    slopes = torch.autograd.grad(out.loss, streams)
    norms = [each.norm() for each in slopes]
    for layer, (stream, norm) in enumerate(zip(streams, norms)):
        beside = written[2 * layer].norm() / stream.norm()
        first, here = (each - each.mean(0) for each in (streams[0], stream))
        assert found["branch / stream"][2 * layer] == pytest.approx(beside.item(), rel=1e-5)
        assert found["left of x"][2 * layer] == pytest.approx(
            torch.cosine_similarity(first.flatten(), here.flatten(), 0).item(), rel=1e-5
        )
        rise = found["gradient"][2 * layer] / found["gradient"][0]
        assert rise == pytest.approx((norm / norms[0]).item(), rel=1e-4)
    assert found["gradient"][-1] == 1

    nothing = blocks[1].mlp.register_forward_hook(lambda *run: 0 * run[-1])
    with torch.no_grad():
        rise = model(TOKENS, labels=TOKENS).loss - out.loss
    nothing.remove()
    assert found["no branch"][3] == pytest.approx(rise.item(), abs=1e-6)
    assert (found["no skip"] != 0).all()
    gates.branch[[1, 4]] = 0
    with pytest.raises(ValueError, match=r"ask: gates \[1, 4\] are not 1"):
        ask(gates, lambda: out.loss)


def test_a_stream_of_another_shape_is_not_compared_with_the_first():
    model = made("ResNet")
    gates = switches(model, IMAGES)
    found = ask(gates, lambda: model(IMAGES).pooler_output.square().mean())
    assert found["left of x"].isnan().tolist() == [False, True, True]
    assert found["left of x"][0] == pytest.approx(1)
    assert found["branch / stream"].isfinite().all() and found["gradient"].isfinite().all()
    with pytest.raises(ValueError, match="ask: the loss has shape .*; expected a scalar"):
        ask(gates, lambda: model(IMAGES).pooler_output)


def test_questions_of_a_loss_without_derivatives_and_of_a_number():
    model = blocks()
    gates = switches(model, X)
    for loss in (lambda: (model(X) > 0).double().mean(), lambda: float((model(X) > 0).double().mean())):
        found, wanted = ask(gates, loss), []
        assert found["gradient"].isnan().all() and found["branch / stream"].isfinite().all()
        whole = (model(X) > 0).double().mean().item()
        for at in range(3):
            gates.branch[at] = 0
            with gates:
                wanted.append((model(X) > 0).double().mean().item() - whole)
            gates.branch[at] = 1
        assert found["no branch"].tolist() == pytest.approx(wanted)


def test_one_sample_is_its_own_mean_so_nothing_is_left_of_it_to_compare():
    model = blocks()
    found = ask(switches(model, X[:1]), lambda: model(X[:1]).square().mean())
    assert found["left of x"].isnan().all() and found["no branch"].isfinite().all()
