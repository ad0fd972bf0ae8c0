"""Nets with switches as ONNX files, which a browser runs: `Switched.look`, switches as inputs."""

from pathlib import Path

import torch
from torch import nn

from plusx.nets.switched import Seen, load, trained
from plusx.panels.onnx import asked, exported


def export(name, path):
    """Write the ONNX file of a trained net, the same bytes each time; takes about 10 s.

    Inputs: tokens (n,) and switches (7 L + 1,), both int64; n runs from 1 to the net's
    places. Outputs: those of `Seen`, float32.

    ValueError: another name.
    """
    net = load(name).float()
    places = net.task.places
    inputs = (torch.zeros(places - 1, dtype=torch.int64), torch.tensor(trained(net.task)))
    shapes = {0: torch.export.Dim("n", min=1, max=places)}, None
    names = dict(input_names=["tokens", "switches"], output_names=Seen._fields)
    Path(path).write_bytes(exported(Looking(net), inputs, dynamic_shapes=shapes, **names))


class Looking(nn.Module):
    """`Switched.look`, for one sequence, as a module."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, tokens, switches):
        """Tokens (n,) and switches (7 L + 1,) to the parts of `Seen`."""
        return tuple(self.net.look(tokens, switches.split(1)))  # one node takes all switches apart


if __name__ == "__main__":
    asked(export)
