"""The Sphinx extension for any book with explorers: static mode, its cache, what their pages load.

Here lives what a book needs beside `plusx.explore`; nothing here looks at what an explorer draws. What only
our own book does is in site/, which no wheel holds.
"""

import hashlib
import json
import os
import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset_file

from .markup import found

PACKAGE = Path(__file__).parents[1]
EXPLORE = PACKAGE / "explore"
ASSETS = ("explore.css", "diagram.css", "built/explore.js")  # in the order in which a page loads them
MODE = "static"
DECORATOR = re.compile(r"^@(?:[\w.]+\.)?explore\(.*", re.M)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# What a page says that has left its book behind, as one file out of an archive; explore.css hides it.
ALONE = """<p class="px-alone">This page is alone: what draws it and lets it move is in the folder _static of its book.
Unpack the whole archive, and open the page there. Words, numbers and first pictures are below.</p>
"""
# So much of its looks that these can be read; whatever explore.css sets has precedence over a layer.
BARE = """<style>@layer px-bare { [class^="plusx-"] { %s } .px-still, .px-still svg { width: 100%%; height: 100%% }
.px-drawn path, .px-piece :not(text) { fill: none; stroke: currentColor } .px-piece .px-hit { stroke: none }
.px-piece text { stroke: none; text-anchor: middle } .px-narrow, .px-strike, .px-cut { display: none } }</style>"""
UNSHOWN = {"raises-exception", "remove-output", "remove_output"}  # tags of cells whose output is not wanted


def _configure(app, config):
    """Let kernels tabulate, and keep their results in a cache whose name is a hash of the code that made them.

    So a change of that code, or a result from a live kernel, runs a notebook anew.
    """
    os.environ["PLUSX_EXPLORE"] = MODE
    digest = hashlib.sha256(f"mode={MODE}".encode())
    beside = [PACKAGE / name for name in ("sphinx/markup.py", "order.py")]
    for path in [*sorted(EXPLORE.glob("*.py")), *beside]:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    for name in ("matplotlib", "numpy", "plotly"):
        digest.update(f"\0{name}=={version(name)}".encode())
    kept = Path(config.nb_execution_cache_path or Path(app.outdir).parent / ".jupyter_cache")
    config.nb_execution_cache_path = str(kept / f"explore-{digest.hexdigest()[:16]}")


def _copy_assets(app):
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static", "plusx")
    static.mkdir(parents=True, exist_ok=True)
    assets = {Path(name).name: EXPLORE / name for name in ASSETS}
    bundles = app.config.explore_bundles
    assets |= {f"plotly-{name}.min.js": Path(app.srcdir, path) for name, path in bundles.items()}
    if not bundles:  # all of plotly.js, in the very version that the Python side has
        assets["plotly.min.js"] = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
    for name, path in assets.items():
        if not path.is_file():
            raise ExtensionError(f"plusx.sphinx: {path} is missing.")
        copy_asset_file(str(path), str(static / name))


def _check_outputs(app, doctree):
    """Stop the build where an explorer has no table: its page would show nothing, or a widget without a kernel."""
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    if not cells:
        return
    # The notebook that myst-nb writes has each cell's source, also of cells that the page hides; the page has outputs.
    name, folder = app.env.docname, Path(app.env.mystnb_config.output_folder)
    notebook = json.loads((folder / f"{name}.ipynb").read_text(encoding="utf8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"]]
    if not any("plusx" in source for source in sources):
        return
    for cell in cells:
        lines = DECORATOR.findall(sources[cell["cell_index"]])
        shown = sum(len(found(node.astext(), "explore")) for node in cell.findall(nodes.raw))
        if shown < len(lines) and not UNSHOWN.intersection(cell["cell_metadata"].get("tags", [])):
            run = app.env.nb_metadata[name].get("exec_data")
            why = "This build did not run it. Clear the notebook's outputs, or set `execute_notebooks: cache`."
            if run and run["traceback"]:
                why = f"Its notebook stops with {ANSI.sub('', run['traceback']).strip().splitlines()[-1]}"
            raise ExtensionError(f"plusx.sphinx: {name}: the explorer '{lines[shown]}' has no table. {why}")


def _check_ids(app, doctree, docname):
    """Stop the build where two explorers of a page, which may be made of many, have one name."""
    ids = [each["id"] for node in doctree.findall(nodes.raw) for each in found(node.astext(), "explore")]
    for own in ids:
        if ids.count(own) > 1:
            raise ExtensionError(
                f"plusx.sphinx: {docname} has two explorers called '{own.removeprefix('explore-')}'. "
                "Rename one: the name is its link and tells them apart."
            )


def _equip_page(app, pagename, templatename, context, doctree):
    """Give the page of an explorer the script and looks it needs, and other pages none."""
    explorers = found(context.get("body") or "", "explore")
    if not explorers:
        return
    asked = [each["data-bundle"] for each in explorers if "data-bundle" in each]  # others are drawn without plotly
    bundles = app.config.explore_bundles
    if bundles and not set(asked) <= bundles.keys():
        raise ExtensionError(
            f"plusx.sphinx: {pagename} asks for the plotly bundles {', '.join(sorted(set(asked)))}; "
            f"explore_bundles has {', '.join(bundles)}. Add what is missing, or leave the setting out."
        )
    light = re.findall(r"(--px-\w+: )light-dark\((#\w+)", (EXPLORE / "explore.css").read_text(encoding="utf8"))
    context["metatags"] = context.get("metatags", "") + BARE % "; ".join(map("".join, light))
    context["body"] = ALONE + context["body"]
    for name in ASSETS[:-1]:
        app.add_css_file(f"plusx/{name}")
    app.add_js_file("plusx/explore.js", defer="defer", **({} if bundles else {"data-plotly": "plotly.min.js"}))


def setup(app):
    # Bundle ("basic", "cartesian", "gl3d") -> file; where there is none, pages load all of plotly.
    app.add_config_value("explore_bundles", {}, "env", [dict])
    # Before myst-nb (priority 500) reads its own settings.
    app.connect("config-inited", _configure, priority=300)
    app.connect("builder-inited", _copy_assets)
    app.connect("doctree-read", _check_outputs)
    app.connect("doctree-resolved", _check_ids)
    app.connect("html-page-context", _equip_page)
    # Assets are copied before the first page, so the order of pages does not matter.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
