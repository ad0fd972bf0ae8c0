"""Colab, as far as it can be had here: a Python with torch and without the book, and a chapter opened alone."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import address
import nbformat
import pytest
from browser import CHAPTERS, ROOT
from chapter_code import printed

NOTEBOOKS = [chapter.replace(".html", ".ipynb") for chapter in CHAPTERS]


def test_each_chapter_fetches_the_book_from_where_config_says():
    wanted = address.cell(address.known(ROOT))
    assert len(wanted.splitlines()) == 3
    for notebook in NOTEBOOKS:
        cells = nbformat.read(ROOT / notebook, as_version=4).cells
        first = next(cell for cell in cells if cell.cell_type == "code")
        assert first.id == address.ID and first.source == wanted, f"{notebook}: run tools/address.py"


@pytest.fixture
def moved(tmp_path):
    """A copy of the book, told where its repository is."""
    for part in ("chapters", "src", "tools"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__", ".*"))
    for part in ("_config.yml", "requirements.txt"):
        shutil.copy(ROOT / part, tmp_path)
    address.write(tmp_path, "https://github.com/someone/plusx")
    return tmp_path


def test_an_address_changes_one_line_of_each_file(moved):
    for name in ["_config.yml", *NOTEBOOKS]:
        before, after = ((folder / name).read_text().splitlines() for folder in (ROOT, moved))
        assert len(before) == len(after)
        changed = [new for old, new in zip(before, after) if old != new]
        assert len(changed) <= 1 and all(
            "https://github.com/someone/plusx" in line for line in after if line in changed
        )
    assert address.known(moved) == "https://github.com/someone/plusx"
    address.write(moved, address.known(ROOT))
    for name in ["_config.yml", *NOTEBOOKS]:
        assert (moved / name).read_bytes() == (ROOT / name).read_bytes()


def test_an_address_without_buttons_is_refused(moved):
    with pytest.raises(ValueError, match="'ftp://someone/plusx' is not like https://github.com"):
        address.write(moved, "ftp://someone/plusx")
    assert address.known(moved) == "https://github.com/someone/plusx"


SHELL = """
from IPython.terminal.interactiveshell import TerminalInteractiveShell


class Shell(TerminalInteractiveShell):
    pass
"""


@pytest.fixture
def colab(tmp_path, monkeypatch):
    """Run a notebook in a shell of Colab's name, with its module and all packages of this Python but plusx."""
    there = tmp_path / "colab"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", there / "venv"], check=True)
    (packages,) = (there / "venv").glob("lib/python*/site-packages")
    # As a path and not as a site: the editable plusx of the other Python is not seen.
    (packages / "all.pth").write_text(sysconfig.get_path("purelib"))
    (packages / "google" / "colab").mkdir(parents=True)
    (packages / "google" / "colab" / "_shell.py").write_text(SHELL)
    (packages / "google" / "colab" / "output.py").write_text(
        "def enable_custom_widget_manager():\n    print('widgets allowed')\n"
    )
    home = there / "home"
    (home / "content").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def run(notebook: Path):
        # Colab opens one file; what lay beside it is elsewhere.
        opened = shutil.copy(notebook, home / "content" / "opened.ipynb")
        # A file of cells shows nothing by itself, as a cell that ends in a table does in Colab.
        opened.write_text(opened.read_text().replace('"table"', '"print(table)"'))
        shell = "--TerminalIPythonApp.interactive_shell_class=google.colab._shell.Shell"
        command = [there / "venv" / "bin" / "python", "-m", "IPython", "--colors=NoColor", shell, opened]
        return subprocess.run(command, cwd=home / "content", capture_output=True, text=True)

    return run


def test_a_chapter_opened_alone_fetches_the_book_and_runs(moved, colab, tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", moved]
    subprocess.run(["git", "init", "-q", moved], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "The book"], check=True)
    # What the address stands for, when nothing can be fetched.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{moved}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/someone/plusx")
    chapter = moved / "chapters" / "17-claims-tested.ipynb"  # reads its neighbours, and the digits
    ran = colab(chapter)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("widgets allowed\n")
    told = [printed(cell) for cell in json.loads(chapter.read_text())["cells"] if cell.get("outputs")]
    assert told
    for text in told:
        assert text in ran.stdout
    again = colab(moved / "chapters" / "10-attention-mixes.ipynb")  # the book is there already
    assert again.returncode == 0 and again.stdout.startswith("widgets allowed\n")


def test_without_an_address_it_says_what_is_missing(moved, colab):
    address.write(moved, "")
    ran = colab(moved / "chapters" / "02-gradients-through-depth.ipynb")
    assert ran.returncode == 1
    assert "RuntimeError: This copy of the book knows no address to fetch the rest from" in ran.stdout
