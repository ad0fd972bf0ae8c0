"""All cuts of a Llama of SmolLM2-135M's sizes, beside other ways to make them: `make bench`.

Each way runs in a process of its own, with one thread, in processor seconds; ways that run a model for each cut make
some of the 120 and count them up. nnsight and TransformerLens come from peers.txt, for this alone.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CUTS, SOME = 120, 6
AIMS = {"hooks by hand": 2.9, "nnsight 0.8.1": 2.9, "TransformerLens 4.3.0": 3.5, "a run each": 4.0}


def llama():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    sizes = dict(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, tie_word_embeddings=True
    )
    model = LlamaForCausalLM(LlamaConfig(num_attention_heads=9, num_key_value_heads=3, **sizes)).eval()
    return torch, model, torch.randint(0, 49152, (1, 40))


def seconds(run, times):
    run(0)
    begun = time.process_time()
    for at in range(times):
        run(at)
    return (time.process_time() - begun) / times


def parts(model):
    return [part for layer in model.model.layers for part in (layer.self_attn, layer.mlp)]


def by_arithmetic():
    """The matrix products alone that the cuts cannot share, as many rows at once as is fastest: nothing is below it."""
    torch, model, ids = llama()
    layers, rows = model.model.layers, 10 * ids.shape[1]

    def product(linear, times):
        x = torch.randn(rows, linear.in_features)
        with torch.no_grad():
            return seconds(lambda at: linear(x), 3) / 10 * times

    of_mlp = sum(product(part, 1) for part in (layers[0].mlp.up_proj, layers[0].mlp.gate_proj, layers[0].mlp.down_proj))
    own = layers[0].self_attn
    of_attention = sum(product(part, 1) for part in (own.q_proj, own.k_proj, own.v_proj, own.o_proj))
    behind = sum(4 * (len(layers) - 1 - at) for at in range(len(layers)))  # two cuts an addition, two additions a layer
    whole = behind + len(layers)
    return whole * (of_mlp + of_attention) + 2 * len(layers) * of_mlp + product(model.lm_head, CUTS + 1)


def by_hand():
    torch, model, ids = llama()

    def cut(at):
        def nothing(part, given, output):
            return (output[0] * 0, *output[1:]) if isinstance(output, tuple) else output * 0

        hook = parts(model)[7 * at].register_forward_hook(nothing)
        with torch.no_grad():
            model(ids, labels=ids).loss.item()
        hook.remove()

    return seconds(cut, SOME) * CUTS


def by_nnsight():
    torch, model, ids = llama()
    from nnsight import NNsight

    traced = NNsight(model)

    def cut(at):
        with torch.no_grad(), traced.trace(input_ids=ids, labels=ids):
            traced.model.layers[3 * at].mlp.output = traced.model.layers[3 * at].mlp.output * 0
            loss = traced.output.loss.save()
        return loss

    return seconds(cut, SOME) * CUTS


def by_transformer_lens():
    torch, model, ids = llama()
    import tempfile

    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import PreTrainedTokenizerFast

    with tempfile.TemporaryDirectory() as folder:
        tokens = Tokenizer(WordLevel({"a": 0}, "a"))
        words = PreTrainedTokenizerFast(tokenizer_object=tokens, bos_token="a", eos_token="a", name_or_path=folder)
        words.save_pretrained(folder)
        model.config.architectures = ["LlamaForCausalLM"]
        model.config.save_pretrained(folder)
        bridge = TransformerBridge.boot_transformers(folder, hf_model=model, tokenizer=words)

    def cut(at):
        hook = (f"blocks.{3 * at}.hook_mlp_out", lambda value, hook: value * 0)
        with torch.no_grad():
            bridge.run_with_hooks(ids, fwd_hooks=[hook], return_type="loss").item()

    return seconds(cut, SOME) * CUTS


def by_a_run_each():
    """As `ask` did it: the search, one run with gradients, and a run for each cut."""
    torch, model, ids = llama()
    from plusx.measure import switches

    begun = time.process_time()
    gates = switches(model, ids)
    model(ids, labels=ids).loss.backward()
    once = time.process_time() - begun

    def cut(at):
        gates.branch[7 * at] = 0
        with torch.no_grad(), gates:
            model(ids, labels=ids).loss.item()
        gates.branch[7 * at] = 1

    return once + seconds(cut, SOME) * CUTS


def by_ask():
    torch, model, ids = llama()
    from plusx.measure import ask, switches

    begun = time.process_time()
    ask(switches(model, ids), lambda: model(ids, labels=ids).loss)
    return time.process_time() - begun


def by_xray():
    """Losses, profile and threads of all cuts, and the memory beside the model's own run."""
    torch, model, ids = llama()
    from plusx.xray import xray

    with torch.no_grad():
        model(ids, labels=ids)
    alone = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    xray(model, dict(input_ids=ids))
    took = time.process_time() - begun
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - alone
    print(f"  beside a run of the model alone: {more / 1000:.0f} MB")
    return took


WAYS = {
    "the arithmetic alone": by_arithmetic,
    "xray": by_xray,
    "ask": by_ask,
    "hooks by hand": by_hand,
    "nnsight 0.8.1": by_nnsight,
    "TransformerLens 4.3.0": by_transformer_lens,
    "a run each": by_a_run_each,
}


@pytest.mark.parametrize("round", range(2))
def test_all_cuts_of_a_language_model(round):
    path = os.pathsep.join([str(ROOT / ".venv" / "peers"), str(ROOT / "src")])
    setting = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    took = {}
    print()
    for name in WAYS:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, env=setting, check=True)
        *said, last = done.stdout.splitlines()
        took[name] = json.loads(last)
        ratios = [took[name] / took[other] for other in ("xray", "the arithmetic alone") if other in took]
        aim = f", {ratios[0]:.1f} times xray (aim {AIMS[name]}, at most {ratios[1]:.1f})" if name in AIMS else ""
        print("\n".join([*said, f"  {name:24} {took[name]:5.1f} s{aim}"]))


if __name__ == "__main__":
    print(json.dumps(WAYS[sys.argv[1]]()))
