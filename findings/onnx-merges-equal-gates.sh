#!/usr/bin/env bash
# torch 2.13.0, onnx 1.23.2, onnxscript 0.7.2: three residual blocks x + a f(x), each with a gate and a last layer of its
# own, go through `torch.onnx.export`, which optimises as it does by default.
#
# Guess before it was run: three gates stay three, for they are three parameters with three names.
# Seen: what has equal values is one. Gates that all begin at 0 (ReZero) or at 0.5 are all `0.gate`, and last layers
# that all begin at zero are all block 0's. Who sets one of them in the file sets all. Different values stay apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2
"$folder/env/bin/python" -W ignore - <<'PYTHON' 2> /dev/null
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 8)
        self.gate = nn.Parameter(torch.tensor(gate))
        nn.init.zeros_(self.last.weight)

    def forward(self, x):
        return x + self.gate * self.last(torch.relu(self.first(x)))


def names(gates, part):
    asked = torch.onnx.export(
        nn.Sequential(*map(Block, gates)).eval(), (torch.randn(2, 8),), dynamo=True, verbose=False)
    return [each.name for each in asked.model_proto.graph.initializer if part in each.name]


for gates in ([0.0] * 3, [0.5] * 3, [0.4, 0.5, 0.6]):
    print(gates, names(gates, "gate"), names(gates, "last.weight"))
assert names([0.0] * 3, "gate") == names([0.5] * 3, "gate") == ["0.gate"]
assert names([0.4, 0.5, 0.6], "gate") == ["0.gate", "1.gate", "2.gate"]
assert names([0.4, 0.5, 0.6], "last.weight") == ["0.last.weight"]
assert len(names([0.4, 0.5, 0.6], "first.weight")) == 3
PYTHON
