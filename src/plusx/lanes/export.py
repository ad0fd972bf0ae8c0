"""The training step as ONNX files, which a browser runs: `Lane.begin`, `step` and `look` of `plusx.step`."""

import gzip
import sys
from pathlib import Path

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from plusx.playground.export import quiet, strip
from plusx.step import COUNT, Lane, Setting, Took, batch, setting

OPSET = 20
FILES = "begin", "step", "look"
STATE = Took._fields[:3]  # what a step hands to the next


def calls(lane):
    """Name to function of tensors alone, its inputs by name, and the names of its outputs."""
    weights, scalar, s = torch.ones(COUNT), torch.tensor(1.0), setting("line")._asdict()
    state = {name: weights for name in STATE} | {"count": scalar, "at": batch(0, 1)}
    start = {"noise": weights, "gain": scalar, "identity": scalar, "task": torch.tensor([0])}

    def begin(noise, gain, identity, task):
        return lane.begin(noise, gain, identity, task)

    def step(weights, exp_avg, exp_avg_sq, count, at, *setting):
        return tuple(lane.step(weights, exp_avg, exp_avg_sq, count, at, Setting(*setting)))

    def look(weights, *setting):
        return lane.look(weights, Setting(*setting))

    return {
        "begin": (begin, start, ["new_weights"]),
        "step": (step, state | s, [f"new_{name}" for name in Took._fields]),
        "look": (look, {"weights": weights} | s, ["seen"]),
    }


def export(name, path):
    """Write one of FILES, gzipped, for most of its data are zeros; the same bytes each time. Takes about 20 s.

    KeyError: another name.
    """
    function, inputs, outputs = calls(Lane())[name]
    given = tuple(tensor.clone() for tensor in inputs.values())  # tracing takes one tensor in two places for one input
    with quiet():
        graph = make_fx(function)(*given)  # gradients and update become plain operations, which an exporter knows
        model = torch.onnx.export(
            graph.eval(),
            given,
            input_names=list(inputs),
            output_names=list(outputs),
            opset_version=OPSET,
            dynamo=True,
            optimize=False,  # onnxscript 0.7 takes 1e-8 for 0, and Adam would divide by nothing
            verbose=False,
        ).model_proto
    strip(model)
    Path(path).write_bytes(gzip.compress(model.SerializeToString(deterministic=True), 9, mtime=0))


if __name__ == "__main__":
    export(*sys.argv[1:])
