"""plusx.panels.playground.export: an ONNX file says what torch says, is small, and repeats to the byte in silence."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from browser import ROOT
from onnx.reference import ReferenceEvaluator
from panels import export_nets

from plusx.nets.switched import LAYER, TASKS, VALUES, Seen, load, trained
from plusx.panels.playground.export import export

SIZES = [len(values) for values in VALUES]


@pytest.fixture(params=TASKS)
def name(request):
    return request.param


@pytest.fixture
def file(name):
    """What the page loads, as the build made it."""
    return export_nets("playground", ROOT)[name]


def states(task, rng, count=10):
    """The switches of a net as it is trained, without norms, with four others, and drawn evenly."""
    sizes = SIZES * task.layers + [2]
    yield trained(task)
    yield [0 if "norm" in name else 1 for name in LAYER] * task.layers + [0]
    for _ in range(count):
        state = trained(task)
        for i in torch.randint(len(state), (4,), generator=rng).tolist():
            state[i] = int(torch.randint(sizes[i], (), generator=rng))
        yield state
        yield [int(torch.randint(size, (), generator=rng)) for size in sizes]


def test_a_file_says_what_torch_says(name, file):
    net, exact = load(name), load(name).double()
    run = ReferenceEvaluator(str(file)).run
    rng = torch.Generator().manual_seed(0)
    for state in states(net.task, rng):
        for n in (1, 5, net.task.places):
            tokens = torch.randint(len(net.task.alphabet), (n,), generator=rng)
            shown = run(None, {"tokens": tokens.numpy(), "switches": np.array(state)})
            for part, theirs, ours, truth in zip(
                Seen._fields, shown, net.look(tokens, state), exact.look(tokens, state)
            ):
                assert theirs.dtype == np.float32 and theirs.shape == ours.shape
                # Without any norm rounding grows to 1e-2, in torch as in the file; else it is about 1e-6.
                rounding = (ours - truth).abs().max()
                error = (torch.tensor(theirs) - truth).abs().max()
                assert error < 2e-5 * max(1, truth.abs().max()) + 30 * rounding, (part, n, state)


def test_a_file_is_little_more_than_its_weights(name, file):
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    weights = sum(4 * parameter.numel() for parameter in load(name).parameters())
    assert weights <= file.stat().st_size < weights + 32_000
    assert {weight.data_type for weight in model.graph.initializer} == {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64}
    assert [value.name for value in model.graph.input] == ["tokens", "switches"]
    assert [value.name for value in model.graph.output] == list(Seen._fields)
    content = file.read_bytes()
    assert not [word for word in (b"plusx", b".py", b"forward", torch.__version__.encode()) if word in content]


@pytest.mark.audit
def test_an_export_repeats_to_the_byte_in_silence(name, file, tmp_path):
    code = "import torch; torch.set_default_dtype(torch.float64); from plusx.panels.playground.export import export; "
    command = [sys.executable, "-W", "error", "-c", code + f"export('{name}', 'again.onnx')"]
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "again.onnx").read_bytes() == file.read_bytes()


def test_only_a_net_is_exported(tmp_path):
    with pytest.raises(ValueError, match="load: no net 'words'"):
        export("words", tmp_path / "words.onnx")
