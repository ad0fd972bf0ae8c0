"""What every test may use: the book as `make book` builds it, and pages open in Chromium."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
pytest_plugins = ["browser"]


@pytest.fixture(scope="session")
def site():
    """The folder of the built site; built first where it is not up to date."""
    build = subprocess.run([sys.executable, ROOT / "tools" / "build.py"], capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return ROOT / "_build" / "html"


def pytest_collection_modifyitems(items):
    # What shares a kernel or a book of its own goes to one worker; all else to whichever is free.
    for item in items:
        if item.path.suffix == ".ipynb" or item.path.name == "test_build.py":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
    # nbval takes a cell without an execution count for one that never ran; ours are stripped.
    for item in items:
        cell = getattr(item, "cell", None)
        if cell is not None and cell.get("outputs"):
            cell.execution_count = 0
