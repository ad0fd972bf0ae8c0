#!/usr/bin/env bash
# rezero 0.1.0, torch 2.13.0: `RZTXEncoderLayer` is written to stand in `nn.TransformerEncoder` in place of torch's own
# layer, and by itself it runs.
#
# Guess before it was run: it runs in the encoder as well.
# Seen: TypeError, for torch's encoder has handed its layers `is_causal` since 2.0. By itself it is the identity to the
# bit, since its gate begins at 0, and that one gate is shared by attention and feed-forward net.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 rezero==0.1.0
"$folder/env/bin/python" -W ignore - <<'PYTHON'
import torch
from rezero.transformer import RZTXEncoderLayer

x, layer = torch.randn(5, 3, 16), RZTXEncoderLayer(16, 2, 32)
gates = [name for name, each in layer.named_parameters() if each.numel() == 1]
print("gates:", gates)
assert torch.equal(layer.eval()(x), x) and gates == ["resweight"]
try:
    torch.nn.TransformerEncoder(layer, 2)(x)
except TypeError as fault:
    print("in nn.TransformerEncoder:", fault)
    assert "is_causal" in str(fault)
else:
    raise SystemExit("in nn.TransformerEncoder it runs now")
PYTHON
