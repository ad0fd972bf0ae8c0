"""What the panels' ONNX files share: torch's exporter without its warnings, and files without what no run needs."""

import logging
import sys
import warnings
from contextlib import contextmanager

import torch


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


def exported(net, inputs, **how) -> bytes:
    """A module as a file, the same bytes each time. inputs: tensors as it takes them. how: for torch's exporter."""
    with quiet():
        model = torch.onnx.export(net.eval(), inputs, dynamo=True, verbose=False, **how).model_proto
    strip(model)
    return model.SerializeToString(deterministic=True)


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


def asked(export):
    """As a program is asked to: each name and the path where its file shall be."""
    for pair in zip(sys.argv[1::2], sys.argv[2::2]):
        export(*pair)
