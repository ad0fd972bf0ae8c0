"""Gates searched, and run under gates of 1, beside a model's own run: `make bench`.

A Llama of SmolLM2-135M's sizes with 40 words, and a net of many small calls: 20 blocks of 7 parallel convolutions. One
thread, in turns. Asserts that what comes out is the same, not how long it takes.
"""

import statistics
import time

import pytest
import torch
import transformers
from torch import nn

from plusx.measure import switches

SIZES = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, tie_word_embeddings=True)


class Maps(nn.Module):
    """Convolutions with their norms beside a norm, as in MobileOne while it is trained."""

    def __init__(self, width=64):
        super().__init__()
        self.norm = nn.BatchNorm2d(width)
        self.maps = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1, groups=width), nn.BatchNorm2d(width)) for _ in range(7)
        )

    def forward(self, x):
        total = self.norm(x)
        for each in self.maps:
            total = total + each(x)
        return total.relu()


def llama():
    config = transformers.LlamaConfig(num_attention_heads=9, num_key_value_heads=3, **SIZES)
    model = transformers.LlamaForCausalLM(config)
    return model, torch.arange(40)[None], lambda given: model(given).logits, 60


def small_calls():
    model = nn.Sequential(*[Maps() for _ in range(20)])
    return model, torch.randn(1, 64, 16, 16), model, 20


@pytest.mark.parametrize("make", [llama, small_calls])
def test_gates_beside_the_models_own_run(make):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, given, run, count = make()
    model.eval()
    gates = switches(model, given)

    def under_gates():
        with gates:
            return run(given)

    ways = {
        "its own run": torch.no_grad()(lambda: run(given)),
        "under gates of 1": torch.no_grad()(under_gates),
        "with gradients": lambda: run(given),
        "the search": lambda: switches(model, given),
    }
    times, results = {name: [] for name in ways}, {}
    for _ in range(9):  # in turns, so that a busy moment of the machine meets all
        for name, way in ways.items():
            begun = time.process_time()
            results[name] = way()
            times[name].append(time.process_time() - begun)
    torch.set_num_threads(threads)
    assert torch.equal(results["its own run"], results["under gates of 1"]) and len(gates.places) == count
    medians = {name: statistics.median(each) for name, each in times.items()}
    print(f"\n  {make.__name__}")
    for name, median in medians.items():
        print(f"  {name:17} {1000 * median:6.0f} ms")
    print(f"  under gates of 1 / its own run {medians['under gates of 1'] / medians['its own run']:.2f} (aim 1.15)")
    print(f"  the search / a run with gradients {medians['the search'] / medians['with gradients']:.2f}")
