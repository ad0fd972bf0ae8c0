"""What every test may use: the book as `make book` builds it, and pages open in Chromium."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent
SITE = ROOT / "_build" / "html"
pytest_plugins = ["browser"]
# Files that share a kernel, a server or what they build, and those that share with other files: parsed pages, a model.
ALONE = ".ipynb", *(f"test_{name}.py" for name in ("copying", "doors", "foreign", "lab", "lanes"))
SHARED = {"pages": ("build", "claims", "numbering", "reading", "teach"), "model": ("pretrained", "writer")}
SCOPES = {f"tests/test_{name}.py": scope for scope, names in SHARED.items() for name in names}


@pytest.fixture(scope="session")
def site():
    """The folder of the built site; built first where it is not up to date."""
    build = subprocess.run([sys.executable, ROOT / "site" / "build" / "build.py"], capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return SITE


class Together(LoadScopeScheduling):
    """What shares something goes to one worker, all else to whichever is free."""

    def _split_scope(self, nodeid):
        file = nodeid.split("::")[0]
        return SCOPES.get(file, file if file.endswith(ALONE) else nodeid)


def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


def pytest_collection_modifyitems(items):
    items[:] = [each for item, after in zip(items, [*items[1:], None]) for each in with_comparison(item, after)]
    for item in items:
        # nbval takes a cell without an execution count for one that never ran; ours are stripped.
        cell = getattr(item, "cell", None)
        if cell is not None and cell.get("outputs"):
            cell.execution_count = 0


def with_comparison(item, after):
    """The test, and after a notebook's last cell one more: the built page shows what this kernel draws."""
    yield item
    if isinstance(item, IPyNbCell) and (after is None or after.parent is not item.parent):
        page = SITE / "chapters" / f"{item.path.stem}.html"
        compare = new_code_cell(
            f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
            f"import decoding; decoding.assert_page_shows({str(page)!r}, globals())"
        )
        yield IPyNbCell.from_parent(
            item.parent, name="page", cell_num=item.cell_num + 1, cell=compare, options=defaultdict(bool)
        )
