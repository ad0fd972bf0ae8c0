"""Tell the book where its repository is: `_config.yml`, which gives pages their launch buttons, and a cell of each
chapter that on Colab fetches the book from there.

    .venv/bin/python tools/address.py https://github.com/someone/plusx

Without an address it writes the cells anew for the one that `_config.yml` has, as after a change of a pin.
"""

import re
import sys
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[1]
ID = "fetch-book"
# What Colab lacks or has in another version; it keeps its own torch, ipywidgets and matplotlib.
PINNED = ("anywidget", "plotly", "safetensors")
CELL = """\
# On Colab, this fetches the book where it is missing. Elsewhere, nothing.
import importlib.util
import sys

if "google.colab" in sys.modules and not importlib.util.find_spec("plusx"):
    import os
    import subprocess

    from google.colab import output

    BOOK = "{address}"  # written by tools/address.py
    if not BOOK:
        raise RuntimeError("This copy of the book knows no address to fetch "
                           "the rest from: see tools/address.py.")
    if not os.path.isdir("plus-x"):
        subprocess.run(["git", "clone", "-q", "--depth=1", BOOK, "plus-x"],
                       check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q",
                    {pins}],
                   check=True)
    os.chdir("plus-x/chapters")
    sys.path.insert(0, os.path.abspath("../src"))
    output.enable_custom_widget_manager()  # plotly's widgets need it"""


def known(root: Path) -> str:
    """The address in `_config.yml`."""
    return yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"]


def cell(address: str, requirements: str) -> str:
    pins = [re.search(rf"^{name}==\S+$", requirements, re.M)[0] for name in PINNED]
    return CELL.format(address=address, pins=", ".join(f'"{pin}"' for pin in pins))


def write(root: Path, address: str) -> None:
    """ValueError: the address is not that of a repository on GitHub, which Colab and the launch buttons need."""
    if address and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", address):
        raise ValueError(f"address: {address!r} is not like https://github.com/someone/plusx")
    config = (root / "_config.yml").read_text()
    (root / "_config.yml").write_text(re.sub(r'(?m)^(repository:\n  url: )".*"$', rf'\1"{address}"', config))
    source = cell(address, (root / "requirements.txt").read_text())
    for path in sorted((root / "chapters").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = [each for each in notebook.cells if each.id != ID]
        first = next(i for i, each in enumerate(notebook.cells) if each.cell_type == "code")
        look = {"tags": ["remove-cell"], "jupyter": {"source_hidden": True}}
        notebook.cells.insert(first, new_code_cell(source, id=ID, metadata=look))
        nbformat.write(notebook, path)


if __name__ == "__main__":
    write(ROOT, sys.argv[1] if len(sys.argv) > 1 else known(ROOT))
