"""The Sphinx extension of the book: its features, the execution cache, launch buttons, type.

What any book with explorers needs is in `plusx.sphinx`, what becomes of a written page in pages.py. A feature's module
may say what its functions hear, HEARS; which pages load NAME.js, SCRIPTED; what else comes into the site, CARRIED.
NAME.css is for all pages. Two events more than Sphinx has tell of all written pages, as a dict of path -> HTML that is
changed: `pages-written`, and `pages-mended`, when formulas are drawn and addresses are short.
"""

import importlib
import re
from pathlib import Path

from assets import PACKAGE, ROOT, digest, from_npm, load, ours
from bundle import bundle_into
from pages import mend
from pybtex.plugin import find_plugin, register_plugin
from sphinx.util.fileutil import copy_asset_file

from plusx.sphinx.extension import MODE

# What a reader gets beside pages, each in its folder of site/features, in the order in which they take their turns.
# One that is not there is left out.
FEATURES = (
    "editions", "stage", "panels", "essay", "terms", "reading", "slides", "predict",
    "numbering", "finding", "cards", "offline",
)  # fmt: skip
# What they hear, and after whom: the theme begins a page's list of buttons at 501, `mend` ends at 900.
HEARD = {"doctree-resolved": 500, "html-page-context": 600, "build-finished": 950}
HEARD |= {"pages-written": 500, "pages-mended": 500}
# build.py leaves this file in a site; any other build of the site removes it.
STAMP = ".inputs"

BUNDLES = {
    "basic": "plotly.js-basic-dist-min/plotly-basic.min.js",
    "cartesian": "plotly.js-cartesian-dist-min/plotly-cartesian.min.js",
    "gl3d": "plotly.js-gl3d-dist-min/plotly-gl3d.min.js",
}
FONTS = "mathjax/es5/output/chtml/fonts/woff-v2"
# The book's own type, of which the files for English are enough; other letters come from the reader's system.
TYPE = {
    "source-sans.woff2": "@fontsource-variable/source-sans-3/files/source-sans-3-latin-wght-normal.woff2",
    "source-serif.woff2": "@fontsource/source-serif-4/files/source-serif-4-latin-600-normal.woff2",
    "source-sans-license.txt": "@fontsource-variable/source-sans-3/LICENSE",
    "source-serif-license.txt": "@fontsource/source-serif-4/LICENSE",
}
# What a page that Sphinx makes up holds; any other says it in its first sentences.
MADE_UP = {
    "genindex": "The terms of Plus x, a book on residual connections, from A to Z, each with where it is defined.",
    "search": "Search the chapters, the figures and the terms of Plus x, a book on residual connections.",
}


def cache_path(srcdir: Path) -> Path:
    """Where the outputs of these notebooks, run against this code, are kept; see `what_it_reads` too."""
    sources = sorted(p for p in PACKAGE.rglob("*.py") if not {"sphinx", "panels"} & {*p.relative_to(PACKAGE).parts})
    found = (ROOT / "chapters" / "data").rglob("*")
    data = sorted(p for p in found if p.is_file() and p.suffix != ".md")
    files = [*sources, PACKAGE / "sphinx" / "markup.py", *data, ROOT / "requirements.txt", ROOT / "constraints.txt"]
    key = digest(((path.relative_to(ROOT), path) for path in files), f"mode={MODE}")
    return Path(srcdir) / "_build" / ".jupyter_cache" / key[:16]


def what_it_reads(notebook, path: Path) -> str | None:
    """One hash over what only some notebooks read: kept results that it names, the code of panels if it has one, and
    what lies beside it, where a cell's tag says so.
    """
    words = {*re.findall(r"\w+", "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code"))}
    files = sorted(file for file in (path.parent / "evidence").rglob("*.json") if file.stem in words)
    if "panels" in words:
        files += sorted((PACKAGE / "panels").rglob("*.py"))
    if any("reads-chapters" in cell.metadata.get("tags", []) for cell in notebook.cells):
        files += sorted(other for other in path.parent.iterdir() if other.is_file() and other != path)
    return digest((file.name, file) for file in files) if files else None


def _configure(app, config):
    config.nb_execution_cache_path = str(cache_path(app.srcdir))
    config.explore_bundles = {name: str(from_npm(bundle)) for name, bundle in BUNDLES.items()}
    config.ogp_site_url = config.html_baseurl
    config.ogp_site_name = config.html_title
    if not config.html_theme_options.get("repository_url"):
        config.html_theme_options["launch_buttons"] = {}


def _copy_assets(app):
    if app.builder.format != "html":
        return
    Path(app.outdir, STAMP).unlink(missing_ok=True)
    fonts = ours(app) / "mathjax"
    fonts.mkdir(parents=True, exist_ok=True)
    for part in [from_npm("mathjax/LICENSE"), *sorted(from_npm(FONTS).glob("*.woff"))]:
        copy_asset_file(str(part), str(fonts))
    for name, part in TYPE.items():
        copy_asset_file(str(from_npm(part)), str(ours(app) / name))
    bundle_into(ours(app), [file for file in app.carried if file.suffix == ".js"])
    for file in app.carried:
        if file.suffix != ".js":
            copy_asset_file(str(file), str(ours(app)))
    load(app, "book.js")


def _describe(app, pagename, templatename, context, doctree):
    """Say what a page without a source holds, as sphinxext-opengraph does of the others."""
    if pagename in MADE_UP:
        context["metatags"] = f'<meta name="description" content="{MADE_UP[pagename]}" />'


def _mend(app, exception):
    if not exception and app.builder.format == "html":
        outdir = Path(app.outdir)
        panels, own = PACKAGE / "panels", [Path(__file__).with_name("book.css")]
        own += (path for name in FEATURES for path in (ROOT / "site" / "features").glob(f"{name}/{name}.css"))
        looks = [ours(app) / "maths.css", panels / "panel.css", *sorted(panels.glob("*/*.css")), *own]
        mend(outdir, app.config.html_baseurl, looks, lambda event, pages: app.emit(event, pages, outdir))


def _add_feature(app, name):
    """One that is there: it hears, and its script is carried and loaded."""
    folder = ROOT / "site" / "features" / name
    if not folder.exists():
        return
    feature, script = importlib.import_module(name), folder / f"{name}.js"
    if hasattr(feature, "setup"):
        app.setup_extension(name)
    for event, hear in getattr(feature, "HEARS", {}).items():
        app.connect(event, hear, priority=HEARD[event])
    app.carried += [*([script] if script.exists() else []), *getattr(feature, "CARRIED", [])]
    if hasattr(feature, "SCRIPTED"):

        def equip(app, pagename, templatename, context, doctree):
            if feature.SCRIPTED.search(context.get("body") or ""):
                load(app, script.name)

        app.connect("html-page-context", equip)


def setup(app):
    for event in ("pages-written", "pages-mended"):
        app.add_event(event)
    app.setup_extension("plusx.sphinx")
    app.carried = [Path(__file__).with_name("book.js")]
    # Else pybtex reads what every package says of itself at each citation, an eighth of the time of a render.
    for name in ("docutils", "plaintext"):
        register_plugin("pybtex.backends", name, find_plugin("pybtex.backends", name), force=True)
    # After plusx.sphinx (priority 300) has named a cache, before myst-nb (priority 500) reads its settings.
    app.connect("config-inited", _configure, priority=400)
    # `mend` takes pages as Sphinx writes them, not as it left them: all are written at each build.
    app.connect("env-get-outdated", lambda app, env, *_: env.found_docs)
    app.connect("builder-inited", _copy_assets)
    app.connect("html-page-context", _describe)
    # After the theme (priority 500) has written the colours of code.
    app.connect("build-finished", _mend, priority=900)
    for name in FEATURES:
        _add_feature(app, name)
    # A panel's page copies its files while it is written: one writer.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
