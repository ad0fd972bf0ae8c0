"""What the chapter on five real nets says, against its kept results and against the nets themselves."""

import json
import os
import re

import nbformat
import numpy as np
import pytest
import torch
from browser import ROOT
from test_pretrained import THERE, needs

from plusx.measure import switches
from plusx.nets.pretrained import pretrained

PLACES = dict(smollm2=60, gemma=36, minilm=12, dlib=14, efficientnet=9)


def kept(name):
    """The grid of a result, and what each of its points has: {measure: (seeds, ...)}."""
    found = json.loads((ROOT / "chapters" / "evidence" / f"{name}.json").read_text())
    return found["made_by"]["grid"], found["values"]


@pytest.fixture(scope="module")
def one_place():
    grid, values = kept("one_place")
    points = [(net, kind) for kind in grid["kind"] for net in grid["net"]]
    return {point: {name: np.array(each) for name, each in found.items()} for point, found in zip(points, values)}


@pytest.mark.parametrize("net", PLACES)
def test_a_skip_costs_more_than_the_branch_beside_it_nearly_everywhere(net, one_place):
    skip, branch = (one_place[net, kind]["cost"].mean(0) for kind in ("skip", "branch"))
    assert len(skip) == PLACES[net]
    assert (skip > branch).mean() > 0.9
    assert np.median(skip) > 2 * np.median(branch)


def test_the_dearest_branch_of_gemma_is_a_constant_and_that_of_others_is_not(one_place):
    def left(net):  # of its cost, with its mean in its place
        out, mean = (one_place[net, kind]["cost"].mean(0) for kind in ("branch", "others"))
        return mean[out.argmax()] / out.max()

    assert left("gemma") < 0.25
    assert left("minilm") > 0.75


def test_the_first_token_of_what_continues_texts_is_a_giant_and_no_other_net_has_one():
    grid, values = kept("giants")
    found = {net: {name: np.array(each) for name, each in point.items()} for net, point in zip(grid["net"], values)}
    times = {net: np.median(each["times"], (0, 1)).max() for net, each in found.items()}
    assert {net for net, most in times.items() if most > 1000} == {"smollm2", "gemma"}
    for net in ("smollm2", "gemma"):
        assert (found[net]["token"] == 0).all() and found[net]["share"].min() > 0.9
        assert abs(found[net]["usual"].mean()) < 0.05  # it is a constant; one net needs it
    assert found["smollm2"]["gone"].mean() > 5 and found["gemma"]["gone"].mean() < 0.1


def test_read_whole_every_answer_is_there_and_read_early_fewer_are():
    grid, values = kept("read_early")
    for net, found in zip(grid["net"], values):
        lost = np.array(found["lost"])
        assert (lost[:, -1] == 0).all() and lost[:, 0].mean() > 0.2, net
        assert lost.shape[1] == 1 + PLACES[net] // (2 if net in ("smollm2", "gemma", "minilm") else 1)


@needs("smollm2")
def test_with_all_later_branches_out_the_read_out_reads_the_stream():
    model, tokenizer = pretrained()
    given = tokenizer("Once upon a time, there was a little girl who", return_tensors="pt").input_ids
    gates = switches(model, given)
    with torch.no_grad():
        states = model(given, output_hidden_states=True).hidden_states
        for layer in (0, 13):
            gates.branch[:], gates.branch[2 * layer :] = 1, 0
            with gates:
                early = model(given).logits
            assert torch.allclose(early, model.lm_head(model.model.norm(states[layer])), atol=1e-3)


@pytest.mark.parametrize("block", [0, 1])
def test_the_chapters_code_runs_as_it_stands(block, monkeypatch, capsys):
    net = ("minilm", "efficientnet")[block]
    if not THERE[net]:
        pytest.skip(f"`make model NETS={net}` brings it")
    cells = nbformat.read(ROOT / "chapters" / "real-nets.ipynb", 4).cells
    text = next(cell.source for cell in cells if cell.id == "idea-text")
    monkeypatch.chdir(ROOT / "chapters")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {}
    exec("\n".join(blocks) if block else blocks[0], names)
    if block:
        printed = capsys.readouterr().out
        assert printed.startswith("967\n") and "9 residual additions" in printed
    else:
        assert names["states"].shape[-1] == 384 and len(names["gates"].places) == 12


def test_pictures_and_evidence_stay_small():
    def size(files):
        return sum(os.path.getsize(file) for file in files)

    names = "one_place instead of_a_kind beside_each_other giants read_early noise_instead in_half".split()
    assert size(ROOT / "chapters" / "evidence" / f"{name}.json" for name in names) < 400 * 1024
    assert os.path.getsize(ROOT / "chapters" / "evidence" / "in_another_order.json") < 50 * 1024
    assert os.path.getsize(ROOT / "chapters" / "data" / "graph-nets.json") < 75 * 1024
    assert size((ROOT / "chapters" / "data" / "pictures").iterdir()) < 350_000
