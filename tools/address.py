"""Tell the book where its repository is: `_config.yml`, which gives pages their launch buttons, and a cell of each
chapter that on Colab fetches the book from there.

    .venv/bin/python tools/address.py https://github.com/someone/plusx
"""

import re
import sys
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[1]
ID = "fetch-book"
CELL = """\
if "google.colab" in str(get_ipython()):  # where a chapter opens without the rest of the book
    {fetch}
    %run ~/plus-x/tools/colab.py"""
FETCH = "!test -d ~/plus-x || git clone -q --depth=1 {address} ~/plus-x"
NOWHERE = 'raise RuntimeError("This copy of the book knows no address to fetch the rest from: see tools/address.py.")'


def known(root: Path) -> str:
    """The address in `_config.yml`."""
    return yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"]


def cell(address: str) -> str:
    return CELL.format(fetch=FETCH.format(address=address) if address else NOWHERE)


def write(root: Path, address: str) -> None:
    """ValueError: the address is not that of a repository on GitHub, which Colab and the launch buttons need."""
    if address and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", address):
        raise ValueError(f"address: {address!r} is not like https://github.com/someone/plusx")
    config = (root / "_config.yml").read_text()
    (root / "_config.yml").write_text(re.sub(r'(?m)^(repository:\n  url: )".*"$', rf'\1"{address}"', config))
    for path in sorted((root / "chapters").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [each for each in notebook.cells if each.id != ID]
        first = next(i for i, each in enumerate(notebook.cells) if each.cell_type == "code")
        look = {"tags": ["remove-cell"], "jupyter": {"source_hidden": True}}
        notebook.cells.insert(first, new_code_cell(cell(address), id=ID, metadata=look))
        nbformat.write(notebook, path)


if __name__ == "__main__":
    write(ROOT, sys.argv[1] if len(sys.argv) > 1 else known(ROOT))
