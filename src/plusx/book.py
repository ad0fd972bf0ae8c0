"""The Sphinx extension of the book: what a page needs, the execution cache, launch buttons.

What an explorer draws is the business of `plusx.explore`, what becomes of a written page that of `plusx.pages`.
"""

import hashlib
import os
import re
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset_file

from .pages import NODE_MODULES, PACKAGE, mend

ROOT = PACKAGE.parents[1]
MODE = "static"
# tools/build.py leaves this file in a site; any other build of the site removes it.
STAMP = ".inputs"

BUNDLES = {
    "basic": "plotly.js-basic-dist-min/plotly-basic.min.js",
    "cartesian": "plotly.js-cartesian-dist-min/plotly-cartesian.min.js",
    "gl3d": "plotly.js-gl3d-dist-min/plotly-gl3d.min.js",
}
FONTS = "mathjax/es5/output/chtml/fonts/woff-v2"
EXPLORER = re.compile(r'<div\b[^>]*\bclass="plusx-explore\b[^>]*>')
BUNDLE_NAME = re.compile(r'\bdata-bundle="([^"]*)"')


def cache_path(srcdir: Path) -> Path:
    """Where the outputs of these notebooks, run against this code, are kept."""
    digest = hashlib.sha256(f"mode={MODE}".encode())
    makers = [PACKAGE / "book.py", PACKAGE / "pages.py"]  # of pages: no notebook runs them
    sources = sorted(p for p in PACKAGE.rglob("*.py") if p not in makers)
    for path in [*sources, ROOT / "requirements.txt", ROOT / "constraints.txt"]:
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return Path(srcdir) / "_build" / ".jupyter_cache" / digest.hexdigest()[:16]


def _from_npm(name: str) -> Path:
    path = NODE_MODULES / name
    if not path.exists():
        raise ExtensionError(f"plusx.book: {path} is missing. Run `.venv/bin/npm ci --ignore-scripts` first.")
    return path


def _configure(app, config):
    os.environ["PLUSX_EXPLORE"] = MODE
    config.nb_execution_cache_path = str(cache_path(app.srcdir))
    config.ogp_site_url = config.html_baseurl
    if not config.html_theme_options.get("repository_url"):
        config.html_theme_options["launch_buttons"] = {}


def _copy_assets(app):
    if app.builder.format != "html":
        return
    Path(app.outdir, STAMP).unlink(missing_ok=True)
    static = Path(app.outdir, "_static", "plusx")
    fonts = static / "mathjax"
    fonts.mkdir(parents=True, exist_ok=True)
    for part in [_from_npm("mathjax/LICENSE"), *sorted(_from_npm(FONTS).glob("*.woff"))]:
        copy_asset_file(str(part), str(fonts))
    for asset in ["book.css", "book.js", "explore/explore.js", "explore/explore.css"]:
        copy_asset_file(str(PACKAGE / asset), str(static))
    app.add_css_file("plusx/maths.css")
    app.add_css_file("plusx/book.css", priority=900)
    app.add_js_file("plusx/book.js", defer="defer")


def _equip_page(app, pagename, templatename, context, doctree):
    """Give the page of an explorer the scripts it needs, and other pages none."""
    explorers = EXPLORER.findall(context.get("body") or "")
    if not explorers:
        return
    app.add_css_file("plusx/explore.css")
    app.add_js_file("plusx/explore.js", defer="defer")
    for tag in explorers:
        match = BUNDLE_NAME.search(tag)
        if not match or match[1] not in BUNDLES:
            raise ExtensionError(
                f"plusx.book: an explorer of {pagename} asks for the plotly bundle "
                f"{match and match[1]!r}; there are {', '.join(BUNDLES)}."
            )
        static = Path(app.outdir, "_static", "plusx")
        copy_asset_file(str(_from_npm(BUNDLES[match[1]])), str(static))


def _finish(app, exception):
    if not exception and app.builder.format == "html":
        mend(Path(app.outdir), app.config.html_baseurl)


def setup(app):
    # Before myst-nb (priority 500) reads its own settings.
    app.connect("config-inited", _configure, priority=400)
    # `mend` takes pages as Sphinx writes them, not as it left them: all are written at each build.
    app.connect("env-get-outdated", lambda app, env, *_: env.found_docs)
    app.connect("builder-inited", _copy_assets)
    app.connect("html-page-context", _equip_page)
    # After the theme (priority 500) has written the colours of code.
    app.connect("build-finished", _finish, priority=900)
    # Pages copy their bundles while they are written: one writer.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
