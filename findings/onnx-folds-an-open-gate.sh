#!/usr/bin/env bash
# torch 2.13.0, onnx 1.23.2, onnxscript 0.7.2: a residual block x + a f(x) with a gate `a`, a parameter or a buffer, is
# exported by `torch.onnx.export`, which optimises as it does by default. The gate is to be set later in the file.
#
# Guess before it was run: a gate that is a number of the module stays in the graph, whatever it is at the time.
# Seen: a gate of 1 is gone, with its name, parameter or buffer, and so is a learned one of 1.000005: what is told is no
# longer what the net computes. One of 1.0001 stays. One of 0 stays as well, with the branch that it silences. With
# `optimize=False` all stay.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 onnx==1.23.2 onnxscript==0.7.2
"$folder/env/bin/python" -W ignore - <<'PYTHON' 2> /dev/null
import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, value, learned):
        super().__init__()
        self.branch = nn.Linear(8, 8)
        gate = torch.tensor(value)
        self.gate = nn.Parameter(gate) if learned else nn.Buffer(gate)

    def forward(self, x):
        return x + self.gate * torch.relu(self.branch(x))


def kept(value, learned, optimize=True):
    asked = torch.onnx.export(
        Gated(value, learned).eval(), (torch.randn(2, 8),), dynamo=True, verbose=False, optimize=optimize)
    graph = asked.model_proto.graph
    return "gate" in {each.name for each in graph.initializer}, [node.op_type for node in graph.node]


for learned in (True, False):
    for value, stays in ((1.0, False), (1.000005, False), (1.0001, True), (0.0, True)):
        named, steps = kept(value, learned)
        print("parameter" if learned else "buffer   ", value, "is there:", named, steps)
        assert named == ("Mul" in steps) == stays
    assert kept(1.0, learned, optimize=False)[0]
PYTHON
