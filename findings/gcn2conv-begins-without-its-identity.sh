#!/usr/bin/env bash
# torch-geometric 2.8.1, torch 2.13.0: `GCN2Conv`, the layer of GCNII (arXiv 2007.02133, equation 5), has two residual
# parts: a share alpha of the first layer's features, and the identity in (1 - beta) I + beta W, beta = log(theta/l + 1).
#
# Guess before it was run: without `theta` and `layer`, which have defaults, beta is 0 or one of the paper's.
# Seen: beta is 1, so the identity is gone: with W = 0 the layer's answer is 0, where at theta = 0.5 in layer 3 it keeps
# 0.85 of what came. With alpha = 0 such a layer is a plain graph convolution without a skip.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torch-geometric==2.8.1
"$folder/env/bin/python" -W ignore - <<'PYTHON' 2> /dev/null
import torch
from torch_geometric.nn import GCN2Conv

x, edges = torch.rand(5, 8) + 1, torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


def without_weights(**given):
    layer = GCN2Conv(8, alpha=0.0, **given)
    torch.nn.init.zeros_(layer.weight1)
    whole = GCN2Conv(8, alpha=0.0, theta=0.5, layer=3)
    torch.nn.init.eye_(whole.weight1)  # (1 - beta) I + beta I
    return layer.beta, float(layer(x, x, edges).norm() / whole(x, x, edges).norm())


for given in ({}, dict(theta=0.5, layer=3)):
    print(given, "beta, and what is left with W = 0:", without_weights(**given))
assert without_weights() == (1.0, 0.0)
beta, left = without_weights(theta=0.5, layer=3)
assert 0.15 < beta < 0.16 and 0.84 < left < 0.86
PYTHON
