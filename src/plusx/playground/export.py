"""Nets with switches as ONNX files, which a browser runs: `Switched.look`, switches as inputs."""

import logging
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from plusx.switched import Seen, load, trained


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


@contextmanager
def quiet():
    """Without what torch 2.13 says about itself and about torchvision, which no net here needs."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning)
            yield
    finally:
        log.setLevel(level)


def strip(model):
    """Take away what no run needs: names and shapes between nodes, stack traces, the producer's version."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    for node in graph.node:
        node.ClearField("name")
    graph.ClearField("value_info")
    model.ClearField("producer_version")


if __name__ == "__main__":
    for pair in zip(sys.argv[1::2], sys.argv[2::2]):
        export(*pair)
