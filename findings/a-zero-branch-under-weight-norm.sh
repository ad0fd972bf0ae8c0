#!/usr/bin/env bash
# torch 2.13.0: a branch that is to begin as zeros, so that x + F(x) begins as x (Fixup, zero-started residual blocks),
# whose last layer also has `weight_norm` or `spectral_norm`.
#
# Guess before it was run, by how they are written: zeros before the norm is put on give NaN, zeros after it do nothing,
# an assigned tensor of zeros gives NaN. Who has not read them expects zeros, as of a layer without a norm.
# Seen: so it is, and nothing is said. Zeros before the norm: 0 / 0, so the first pass gives NaN. `nn.init.zeros_` after
# it: the weight is computed anew each time it is read, so the zeros go into a copy, and the branch is as large as before.
# An assigned tensor: NaN with both parametrizations; with the older weight_norm nothing happens. What works is
# weight_norm's factor, `parametrizations.weight.original0`, set to 0; in the first step that factor alone learns.
# spectral_norm has none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
"$folder/env/bin/python" -W ignore - <<'PYTHON'
import torch
from torch import nn
from torch.nn.utils import weight_norm as older
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
x = torch.randn(8, 16)
for put in (weight_norm, older, spectral_norm):
    name = f"{put.__module__}.{put.__name__}"
    layer = nn.Linear(16, 16, bias=False)
    nn.init.zeros_(layer.weight)
    before = put(layer)(x)

    layer = put(nn.Linear(16, 16, bias=False))
    fresh = layer.eval()(x)
    nn.init.zeros_(layer.weight)
    after = layer(x)

    layer = put(nn.Linear(16, 16, bias=False)).eval()
    usual = layer(x)
    layer.weight = torch.zeros(16, 16)
    assigned = layer(x)
    print(f"{name}: largest of the branch, zeros before {before.abs().max():.2g}; zeros_ after {after.abs().max():.2g}, "
          f"fresh {fresh.abs().max():.2g}; assigned {assigned.abs().max():.2g}, fresh {usual.abs().max():.2g}")
    assert before.isnan().all() and torch.equal(after, fresh) and after.abs().max() > 0.1
    assert torch.equal(assigned, usual) if put is older else assigned.isnan().all()

layer = weight_norm(nn.Linear(16, 16, bias=False))
nn.init.zeros_(layer.parametrizations.weight.original0)
y = layer(x)
(x + y).square().sum().backward()
factor, direction = (parameter.grad.abs().max().item() for parameter in layer.parameters())
print(f"its factor set to 0: {y.abs().max():.2g}; gradient of the factor {factor:.2g}, of the direction {direction:.2g}")
assert not y.any() and factor > 0.1 and direction == 0
PYTHON
