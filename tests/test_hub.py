"""What hub/ tells a Kubernetes: that it agrees with the book, with what was measured, and holds no secret.

`make hub` measures on a real hub; here its record in hub/README.md is compared with the values.
"""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
RECORD = (ROOT / "hub" / "README.md").read_text(encoding="utf8")
FILES = {path.stem: path.read_text(encoding="utf8") for path in (ROOT / "hub").glob("*.yaml")}
CLASS, BINDER = (yaml.safe_load(FILES[name]) for name in ("zero-to-jupyterhub", "binderhub"))


def leaves(values, path=()):
    for key, value in values.items():
        yield from leaves(value, (*path, key)) if isinstance(value, dict) else [((*path, key), value)]


def measured(row):
    """The number, in MB or as it stands, of a row of the record."""
    return float(re.search(rf"^\| {row}[^|]*\|[^|\d]*([\d.]+)", RECORD, re.M)[1])


def megabytes(text):
    return int(text[:-1]) * {"M": 1, "G": 1024}[text[-1]]


def test_a_reader_lands_on_the_first_chapter():
    path = CLASS["singleuser"]["defaultUrl"].removeprefix("/lab/tree/")
    first = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"][0]["chapters"][0]["file"]
    assert path == f"{first}.ipynb" and (ROOT / path).exists()


def test_memory_is_what_was_measured():
    memory = CLASS["singleuser"]["memory"]
    assert measured("memory, share of a reader") <= megabytes(memory["guarantee"])
    assert measured("memory, most of one reader") <= megabytes(memory["limit"])
    # A gigabyte of a node stays for the system and Kubernetes.
    fit = 15 * 1024 // megabytes(memory["guarantee"])
    for text in (RECORD, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")):
        assert f"{fit} readers on a node of 16 GB" in " ".join(text.split())


def test_both_hubs_give_a_reader_the_same():
    for key in ("extraEnv", "memory", "cpu", "networkPolicy"):
        assert BINDER["jupyterhub"]["singleuser"][key] == CLASS["singleuser"][key]


def test_the_tested_hub_is_the_chart_s():
    (chart,) = set(re.findall(r"chart jupyterhub ([\d.]+\d)", FILES["zero-to-jupyterhub"]))
    assert f"--version {chart} " in RECORD
    requirements = (ROOT / "tests" / "hub" / "requirements.txt").read_text()
    (hub,) = re.findall(r"^jupyterhub==(\S+)$", requirements, re.M)
    assert f"chart jupyterhub {chart} " in requirements and f"JupyterHub {hub}" in RECORD


@pytest.mark.parametrize("name", FILES)
def test_no_secret_and_every_placeholder_is_told(name):
    for path, value in leaves(yaml.safe_load(FILES[name])):
        assert not re.search("token|secret|password", path[-1], re.I), path
        for word in re.findall(r"\b[A-Z][A-Z-]{4,}\b", str(value)):
            assert f"`{word}`" in RECORD, f"hub/README.md does not say what to put for {word}"
