"""The training steps as ONNX files, which a browser runs: `Lane.begin`, `step` and `look` of each kind of net."""

import gzip
from pathlib import Path

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from plusx.panels.lanes.race import SORTER, STACK
from plusx.panels.onnx import asked, exported, quiet
from plusx.training.step import Took

OPSET = 20
STATE = Took._fields[:3]  # what a step hands to the next


def calls(kind):
    """Name to function of tensors alone, its inputs by name, and the names of its outputs."""
    code, lane = kind.code, kind.code.Lane()
    weights, scalar, s = torch.ones(code.COUNT), torch.tensor(1.0), code.setting(next(iter(code.TASKS)))._asdict()
    state = {name: weights for name in STATE} | {"count": scalar, "at": code.batch(0, 1)}
    start = {"noise": weights, "gain": scalar}
    if kind is STACK:
        start |= {"identity": scalar, "task": s["task"]}

    def begin(*start):
        return lane.begin(*start)

    def step(weights, exp_avg, exp_avg_sq, count, at, *setting):
        return tuple(lane.step(weights, exp_avg, exp_avg_sq, count, at, code.Setting(*setting)))

    def look(weights, *setting):
        return lane.look(weights, code.Setting(*setting))

    return {
        "begin": (begin, start, ["new_weights"]),
        "step": (step, state | s, [f"new_{name}" for name in Took._fields]),
        "look": (look, {"weights": weights} | s, ["seen"]),
    }


def export(name, path):
    """Write "stack-begin", "sorter-step" and so on, gzipped, for most of its data are zeros; the same bytes each time.
    Takes about 20 s.

    KeyError: another name.
    """
    kind, function = name.split("-")
    function, inputs, outputs = calls({each.name: each for each in (STACK, SORTER)}[kind])[function]
    given = tuple(tensor.clone() for tensor in inputs.values())  # tracing takes one tensor in two places for one input
    with quiet():
        graph = make_fx(function)(*given)  # gradients and update become plain operations, which an exporter knows
    names = dict(input_names=list(inputs), output_names=list(outputs), opset_version=OPSET)
    # onnxscript 0.7 takes 1e-8 for 0, and Adam would divide by nothing: it optimises nothing.
    Path(path).write_bytes(gzip.compress(exported(graph, given, optimize=False, **names), 9, mtime=0))


if __name__ == "__main__":
    asked(export)
