#!/usr/bin/env bash
# captum 0.9.0, torch 2.13.0: layer-wise relevance propagation (doi 10.1371/journal.pone.0130140) through residual blocks
# x + f(x) without biases, where the relevances of the input must sum to the output.
#
# Guess before it was run: the plus hands the whole relevance to stream and branch, so n blocks give 2^n times the output.
# Seen: it is far worse, without a word. One block gives between 0.23 and 23 times the output, of either sign, eight
# give thousands to hundreds of millions of times. Without the skip the same nets give 1. With it they give 1 if the plus
# is a module, `captum.attr._utils.custom_modules.Addition_Module`, of which the method's documentation does not speak.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 captum==0.9.0
"$folder/env/bin/python" -W ignore - <<'PYTHON' 2> /dev/null
import torch
from captum.attr import LRP
from captum.attr._utils.custom_modules import Addition_Module
from torch import nn

torch.set_default_dtype(torch.float64)
KINDS = {
    "without a skip": lambda: lambda x, branch: branch,
    "with a plus": lambda: lambda x, branch: x + branch,
    "with a module": Addition_Module,
}


class Block(nn.Module):
    def __init__(self, join):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 32, bias=False), nn.ReLU(), nn.Linear(32, 16, bias=False))
        self.join = join

    def forward(self, x):
        return self.join(x, self.f(x))


def kept(kind, blocks):
    """For ten nets: the sum of the input's relevances, in units of the output."""
    found = []
    for seed in range(10):
        torch.manual_seed(seed)
        net = nn.Sequential(*(Block(KINDS[kind]()) for _ in range(blocks)), nn.Linear(16, 1, bias=False)).eval()
        x = torch.randn(1, 16)
        found.append(float(LRP(net).attribute(x, target=0).sum() / net(x)))
    return found


for blocks in (1, 4, 8):
    for kind in KINDS:
        found = kept(kind, blocks)
        print(f"{blocks} blocks {kind}: {min(found):.4g} to {max(found):.4g}, the smallest {min(map(abs, found)):.2g}")
        assert kind == "with a plus" or all(0.98 < each < 1.02 for each in found)
found = kept("with a plus", 8)
assert min(map(abs, found)) > 1000 and min(found) < 0 < max(found)
PYTHON
