"""Cells that a reader is told to copy: those of a chapter run by themselves, without any other cell of the book."""

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


@pytest.mark.parametrize("path", CHAPTERS, ids=[path.stem[:12] for path in CHAPTERS])
def test_what_is_to_be_copied_runs_alone_and_prints_what_the_page_shows(path):
    cells = list(copied(path))
    code = "\nprint('---', flush=True)\n".join(cell.source for cell in cells)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for cell, told in zip(cells, ran.stdout.split("---\n")):
        if "nbval-check-output" in cell.metadata.get("tags", []):
            assert told.strip() == printed(cell).strip(), cell.id


def test_chapters_that_show_plain_code_have_something_to_copy():
    assert {path.stem[:2] for path in CHAPTERS} >= {f"{number:02}" for number in range(1, 21)} - {
        "05",
        "16",
        "17",
        "20",
    }
