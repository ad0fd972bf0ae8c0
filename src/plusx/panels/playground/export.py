"""Nets with switches as ONNX files, which a browser runs: `Switched.look`, switches as inputs."""

import sys
from pathlib import Path

import torch
from torch import nn

from plusx.nets.switched import Seen, load, trained
from plusx.panels.onnx import quiet, strip


def export(name, path):
    """Write the ONNX file of a trained net, the same bytes each time; takes about 10 s.

    Inputs: tokens (n,) and switches (7 L + 1,), both int64; n runs from 1 to the net's
    places. Outputs: those of `Seen`, float32.

    ValueError: another name.
    """
    net = load(name).float()
    places = net.task.places
    inputs = (torch.zeros(places - 1, dtype=torch.int64), torch.tensor(trained(net.task)))
    with quiet():
        model = torch.onnx.export(
            Looking(net).eval(),
            inputs,
            input_names=["tokens", "switches"],
            output_names=Seen._fields,
            dynamic_shapes=({0: torch.export.Dim("n", min=1, max=places)}, None),
            dynamo=True,
            verbose=False,
        ).model_proto
    strip(model)
    Path(path).write_bytes(model.SerializeToString(deterministic=True))


class Looking(nn.Module):
    """`Switched.look`, for one sequence, as a module."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, tokens, switches):
        """Tokens (n,) and switches (7 L + 1,) to the parts of `Seen`."""
        return tuple(self.net.look(tokens, switches.split(1)))  # one node takes all switches apart


if __name__ == "__main__":
    for pair in zip(sys.argv[1::2], sys.argv[2::2]):
        export(*pair)
