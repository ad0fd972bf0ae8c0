"""Cells that a reader is told to copy: those of a chapter run by themselves, without any other cell of the book."""

import json
import re
import subprocess
import sys

import nbformat
import pytest
from browser import ROOT
from chapter_code import printed

TO_BE_READ = "idea-verdict", "idea-loop"  # they work on the page's own claims, and on its own trained net


def copied(path):
    """The cells whose ids begin with `idea` and that stay open in Read."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and cell.id.startswith("idea") and cell.id not in TO_BE_READ:
            if "hide-cell" not in cell.metadata.get("tags", []):
                yield cell


CHAPTERS = [path for path in sorted((ROOT / "chapters").glob("*.ipynb")) if any(copied(path))]


# Each code in a process of its own, a fork of one that has torch, and not plusx: torch takes longer than most cells.
FORKS = """
import json, os, sys, torch
for code in json.load(sys.stdin):
    sys.stdout.flush()
    if not os.fork():
        sys.stderr = sys.stdout
        exec(compile(code, "<copied>", "exec"), {"__name__": "__main__"})
        sys.exit()
    print(f"\\n=== {os.waitstatus_to_exitcode(os.wait()[1])}")
"""


@pytest.fixture(scope="module")
def ran():
    """What each chapter's cells say when they run alone, with a line between them, and how that ended."""
    codes = ["\nprint('---', flush=True)\n".join(cell.source for cell in copied(path)) for path in CHAPTERS]
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(command, input=json.dumps(codes), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = re.split(r"\n=== (-?\d+)\n", done.stdout)
    return {path: (text, int(code)) for path, text, code in zip(CHAPTERS, said[::2], said[1::2], strict=False)}


@pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem[:12] for path in CHAPTERS])
def test_what_is_to_be_copied_runs_alone_and_prints_what_the_page_shows(path, ran):
    said, code = ran[path]
    assert code == 0, said
    cells = list(copied(path))
    for cell, told in zip(cells, said.split("---\n"), strict=True):
        if "nbval-check-output" in cell.metadata.get("tags", []):
            assert told.strip() == printed(cell).strip(), cell.id


def test_chapters_that_show_plain_code_have_something_to_copy():
    assert {path.stem[:2] for path in CHAPTERS} >= {f"{number:02}" for number in range(1, 21)} - {
        "05",
        "16",
        "17",
        "20",
    }
