"""Where things are, and how a file of ours comes into the site.

Here lives what the builder and the features share; nothing here knows a page.
"""

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "plusx"
NODE_MODULES = ROOT / "node_modules"
sys.path += [str(ROOT / "site" / "features"), str(ROOT / "tools")]


def from_npm(name: str) -> Path:
    """A file that npm brings. ExtensionError: it has not."""
    path = NODE_MODULES / name
    if not path.exists():
        raise ExtensionError(f"book: {path} is missing. Run `.venv/bin/npm ci --ignore-scripts` first.")
    return path


def digest(files: Iterable[tuple[object, Path]], start: str = "") -> str:
    """One hash over files: how each is called, and what it holds."""
    whole = hashlib.sha256(start.encode())
    for name, path in files:
        whole.update(f"\0{name}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def ours(app) -> Path:
    """The site's folder of our own files."""
    return Path(app.outdir, "_static", "plusx")


def load(app, *names: str) -> None:
    """Let the page that is being written, or each if none is yet, load some of our scripts."""
    for name in names:
        app.add_js_file(f"plusx/{name}", defer="defer")


def button(label: str, icon: str, press: str, tooltip: str) -> dict:
    """A button for those above a page, as the theme takes it. press: JavaScript."""
    look = {"type": "javascript", "label": f"{label}-button", "icon": f"fas {icon}", "javascript": press}
    return look | {"tooltip": tooltip, "classes": "pst-navbar-icon pst-js-only"}
