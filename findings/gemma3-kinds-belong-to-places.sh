#!/usr/bin/env bash
# torch 2.13.0, transformers 5.23.0: a Gemma 3 of six layers, five that see eight tokens back and one that sees all, with
# fresh weights. Its first layer is deleted from the ModuleList, `num_hidden_layers` and each `layer_idx` set anew.
#
# Guess before it was run: the rest computes what it computes where that layer hands on what it is given, as in Llama.
# Seen: not in Gemma 3. Mask and rotary base are chosen by a layer's place in `config.layer_types`, not by the layer, so
# the one that sees all has moved to a place that sees eight tokens, with the other base. Nothing is said, with a cache or
# without; only `save_pretrained` refuses. With the first of `layer_types` deleted too, both agree to the bit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 transformers==5.23.0
"$folder/env/bin/python" -W ignore - "$folder/short" <<'PYTHON' 2> /dev/null
import copy
import sys

import torch
from torch import nn
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=6, num_attention_heads=4,
             num_key_value_heads=2, head_dim=8, max_position_embeddings=64)
NETS = {"Llama": LlamaForCausalLM(LlamaConfig(**SIZES)),
        "Gemma 3": Gemma3ForCausalLM(Gemma3TextConfig(**SIZES, sliding_window=8))}


class HandsOn(nn.Module):
    def forward(self, x, *others, **named):
        return x


def shorter(net):
    net = copy.deepcopy(net)
    del net.model.layers[0]
    net.config.num_hidden_layers -= 1
    for at, layer in enumerate(net.model.layers):
        layer.self_attn.layer_idx = at
    return net


@torch.no_grad()
def apart(net, wanted, cached):
    return (net(tokens, use_cache=cached).logits - wanted(tokens, use_cache=False).logits).abs().max().item()


torch.manual_seed(0)
tokens, found = torch.randint(64, (1, 40)), {}
for name, net in NETS.items():
    net.eval().double()
    for weight in net.parameters():
        if weight.ndim > 1:
            nn.init.normal_(weight, 0, 0.3)
    wanted = copy.deepcopy(net)
    wanted.model.layers[0] = HandsOn()
    found[name] = [apart(shorter(net), wanted, cached) for cached in (False, True)]
    print(f"{name}: largest difference of a logit {found[name]}")
short = shorter(NETS["Gemma 3"])
short.config.layer_types = short.config.layer_types[1:]
told = apart(short, wanted, False)
print("Gemma 3, its kinds moved as well:", told)
try:
    shorter(NETS["Gemma 3"]).save_pretrained(sys.argv[1])
    refused = False
except Exception as error:
    refused = "layer_types" in str(error)
print("save_pretrained refuses:", refused)
assert found["Llama"] == [0, 0] and min(found["Gemma 3"]) > 0.1 and told == 0 and refused
PYTHON
