"""Gates on a Llama of SmolLM2-135M's sizes, searched, and run under gates of 1, beside its own run: `make bench`.

One model, the same 40 words, one thread, in turns. Asserts that the scores are the same, not how long they take.
"""

import statistics
import time

import torch
import transformers

from plusx.measure import switches

SIZES = dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, tie_word_embeddings=True)


def test_gates_beside_the_models_own_run():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(num_attention_heads=9, num_key_value_heads=3, **SIZES)
    model, words = transformers.LlamaForCausalLM(config).eval(), torch.arange(40)[None]
    gates = switches(model, words)

    def under_gates():
        with gates:
            return model(words).logits

    ways = {
        "its own run": torch.no_grad()(lambda: model(words).logits),
        "under gates of 1": torch.no_grad()(under_gates),
        "with gradients": lambda: model(words).logits,
        "the search": lambda: switches(model, words),
    }
    times, results = {name: [] for name in ways}, {}
    for _ in range(9):  # in turns, so that a busy moment of the machine meets all
        for name, way in ways.items():
            begun = time.process_time()
            results[name] = way()
            times[name].append(time.process_time() - begun)
    torch.set_num_threads(threads)
    assert torch.equal(results["its own run"], results["under gates of 1"]) and len(gates.places) == 60
    medians = {name: statistics.median(each) for name, each in times.items()}
    print()
    for name, median in medians.items():
        print(f"  {name:17} {1000 * median:6.0f} ms")
    print(f"  under gates of 1 / its own run {medians['under gates of 1'] / medians['its own run']:.2f} (aim 1.15)")
