"""The Sphinx extension of the book: what a page needs, the execution cache, launch buttons.

What any book with explorers needs is in `plusx.sphinx`, what becomes of a written page in pages.py.
"""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hero
import race
import terms
from offline import OFFER, offer_to_keep
from pages import HERE, NODE_MODULES, mend
from pybtex.plugin import find_plugin, register_plugin
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset_file

from plusx.sphinx.extension import MODE

sys.path.insert(0, str(HERE.parent / "tools"))
from bundle import bundled  # noqa: E402

from plusx.sphinx.markup import equipped, found

ROOT = HERE.parent
PACKAGE = ROOT / "src" / "plusx"
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
ORT = "onnxruntime-web/dist"
NETS = ROOT / "chapters" / "data" / "playground"
MADE = ROOT / "chapters" / "data" / "made"  # kept from a build, for another would take half a minute to make the same
# Panels that compute in a reader's browser, and the code of what they compute.
PANELS = {
    "playground": [PACKAGE / "nets" / "switched.py"],
    "lanes": [PACKAGE / "training" / f"{name}.py" for name in ("step", "sorter", "data")],
}
# What a page that Sphinx makes up holds; any other says it in its first sentences.
MADE_UP = {
    "genindex": "The terms of Plus x, a book on residual connections, from A to Z, each with where it is defined.",
    "search": "Search the chapters, the figures and the terms of Plus x, a book on residual connections.",
}
# Of the lanes, a file each.
FUNCTIONS = [f"{net}-{part}" for net in ("stack", "sorter") for part in ("begin", "step", "look")]


def cache_path(srcdir: Path) -> Path:
    """Where the outputs of these notebooks, run against this code, are kept."""
    digest = hashlib.sha256(f"mode={MODE}".encode())
    sources = sorted(p for p in PACKAGE.rglob("*.py") if p.parent.name != "sphinx")  # which no notebook runs
    kept = [p for name in ("data", "evidence") for p in (ROOT / "chapters" / name).rglob("*")]
    data = sorted(p for p in kept if p.suffix in (".json", ".npz", ".safetensors", ".txt"))
    for path in [*sources, *data, ROOT / "requirements.txt", ROOT / "constraints.txt"]:
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return Path(srcdir) / "_build" / ".jupyter_cache" / digest.hexdigest()[:16]


def _from_npm(name: str) -> Path:
    path = NODE_MODULES / name
    if not path.exists():
        raise ExtensionError(f"book: {path} is missing. Run `.venv/bin/npm ci --ignore-scripts` first.")
    return path


def _put_script(name: str, static: Path) -> None:
    """A script of ours with all that it imports."""
    (static / f"{name}.js").write_text(bundled(HERE / f"{name}.js", "iife"), encoding="utf8")


def _configure(app, config):
    config.nb_execution_cache_path = str(cache_path(app.srcdir))
    config.explore_bundles = {name: str(_from_npm(bundle)) for name, bundle in BUNDLES.items()}
    config.ogp_site_url = config.html_baseurl
    config.ogp_site_name = config.html_title
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
    for name, part in TYPE.items():
        copy_asset_file(str(_from_npm(part)), str(static / name))
    for name in ("book", "hero", "progress", "slides", "stage"):
        copy_asset_file(str(HERE / f"{name}.css"), str(static))
    for name in ("book", "finding", "hero", "offline", "progress", "race", "slides", "stage", "terms"):
        _put_script(name, static)
    app.add_css_file("plusx/maths.css")
    app.add_css_file("plusx/book.css", priority=900)
    app.add_css_file("plusx/slides.css", priority=901)
    app.add_css_file("plusx/stage.css", priority=902)
    app.add_css_file("plusx/progress.css", priority=903)
    app.add_js_file("plusx/book.js", defer="defer")
    app.add_js_file("plusx/finding.js", defer="defer")
    app.add_js_file("plusx/progress.js", defer="defer")


def _equip_panels(app, pagename, templatename, context, doctree):
    """Give a page with a panel that computes its script, its nets and what runs them, and tell it their sizes."""
    for kind in PANELS:
        if found(context.get("body") or "", kind):
            _equip_panel(app, kind, context)


def _equip_panel(app, kind, context):
    static = Path(app.outdir, "_static", "plusx")
    for name in ("explore.css", "diagram.css", f"{kind}.css"):
        app.add_css_file(f"plusx/{name}")
    app.add_js_file(f"plusx/{kind}.js", defer="defer")
    panels = PACKAGE / "panels"
    for asset in [*(panels / "built" / f"{kind}{end}.js" for end in ("", "-worker")), panels / kind / f"{kind}.css"]:
        copy_asset_file(str(asset), str(static))
    # Some servers do not know .mjs.
    copy_asset_file(str(_from_npm(f"{ORT}/ort.wasm.bundle.min.mjs")), str(static / "ort.wasm.bundle.min.js"))
    files = {}
    for name, path in export_nets(kind, app.srcdir).items():
        copy_asset_file(str(path), str(static))
        files[name] = {"url": path.name, "bytes": path.stat().st_size}
    context["body"] = equipped(context["body"], kind, data_files=json.dumps(files))


def _offer_slides(app, pagename, templatename, context, doctree):
    """A button among those above a chapter; a chapter is what has something to try."""
    body = context.get("body") or ""
    if not any(found(body, kind) for kind in ("explore", *PANELS)):
        return
    app.add_js_file("plusx/slides.js", defer="defer")
    button = {"type": "javascript", "label": "slides-button", "icon": "fas fa-person-chalkboard"}
    button |= {"javascript": "location.hash = 'slides'", "tooltip": "Slides (Alt+S)"}
    context["header_buttons"].append(button | {"classes": "pst-navbar-icon pst-js-only"})


def _offer_reading(app, pagename, templatename, context, doctree):
    """A switch above a page with code: Read, its ideas, or Lab, all of it. The page knows before it is drawn."""
    if 'class="cell_input' not in (context.get("body") or ""):
        return
    for name in ("reading", "coming"):
        app.add_js_file(None, body=(HERE / f"{name}.js").read_text(encoding="utf8"))
    button = {"type": "javascript", "label": "reading-button", "icon": "fas fa-flask", "javascript": "plusx.reading()"}
    button |= {"tooltip": "Lab: all code and measurements open", "classes": "pst-navbar-icon pst-js-only"}
    context["header_buttons"].append(button)


def _equip_offer(app, pagename, templatename, context, doctree):
    """Give the page that offers to keep the book its script."""
    if OFFER.search(context.get("body") or ""):
        app.add_js_file("plusx/offline.js", defer="defer")


def _equip_predictions(app, pagename, templatename, context, doctree):
    """Give a page that asks the reader something, or lists what was answered, its scripts."""
    for name, place in {"predict": "px-(choices|believed)", "sketch": "plusx-sketch"}.items():
        if not re.search(f'class="{place}"', context.get("body") or ""):
            continue
        app.add_css_file(f"plusx/{name}.css", priority=902)
        app.add_js_file(f"plusx/{name}.js", defer="defer")
        static = Path(app.outdir, "_static", "plusx")
        copy_asset_file(str(HERE / f"{name}.css"), str(static))
        _put_script(name, static)


def _equip_terms(app, pagename, templatename, context, doctree):
    """Give a page that links to the glossary's terms what shows them beside the link."""
    if terms.LINK.search(context.get("body") or ""):
        app.add_js_file("plusx/terms.js", defer="defer")


def _describe(app, pagename, templatename, context, doctree):
    """Say what a page without a source holds, as sphinxext-opengraph does of the others."""
    if pagename in MADE_UP:
        context["metatags"] = f'<meta name="description" content="{MADE_UP[pagename]}" />'


def _equip_hero(app, pagename, templatename, context, doctree):
    """Put the net that a reader can break where a page wants it."""
    body = context.get("body") or ""
    if hero.PLACE not in body:
        return
    for asset in ["explore.css", "diagram.css", "hero.css"]:
        app.add_css_file(f"plusx/{asset}")
    app.add_js_file("plusx/hero.js", defer="defer")
    texts = write_hero(app.srcdir)
    context["body"] = body.replace(hero.PLACE, hero.markup(json.loads(texts.read_text(encoding="utf8"))))


def _equip_race(app, pagename, templatename, context, doctree):
    """Give a page the looks of lanes, and what fetches their scripts; race.py brings the rest from a chapter."""
    if race.PLACE not in (context.get("body") or ""):
        return
    for asset in ["explore.css", "diagram.css", "lanes.css"]:
        app.add_css_file(f"plusx/{asset}")
    app.add_js_file("plusx/race.js", defer="defer")


def export_nets(kind: str, srcdir: Path) -> dict[str, Path]:
    """The runtime, gzipped, and each net of a panel as ONNX, made once for what they depend on: up to 15 s a net.

    The nets lie in `MADE`, as long as nothing has changed that they depend on.
    """
    runtime = _from_npm(f"{ORT}/ort-wasm-simd-threaded.wasm")
    makers = [*PANELS[kind], PACKAGE / "panels" / "onnx.py", PACKAGE / "panels" / kind / "export.py"]
    weights = [NETS / f"{name}.safetensors" for name in ("characters", "sorting")]  # others are only compared
    inputs = {path.stem: [path] for path in weights} if kind == "playground" else dict.fromkeys(FUNCTIONS, [])
    kept = Path(srcdir) / "_build" / ".nets" / kind
    kept.mkdir(parents=True, exist_ok=True)
    files = {net: _made(kept / _named_after([*own, *makers], f"{net}.onnx")) for net, own in inputs.items()}
    parts = {net: path.with_suffix(".part") for net, path in files.items() if not path.exists()}
    if parts:  # by one process, which knows torch's exporter after the first
        pairs = [str(word) for pair in parts.items() for word in pair]
        subprocess.run([sys.executable, "-m", f"plusx.panels.{kind}.export", *pairs], check=True)
    for net, part in parts.items():
        part.rename(files[net])
    files["runtime"] = kept / _named_after([runtime], "runtime.bin")
    _put(files["runtime"], lambda part: part.write_bytes(gzip.compress(runtime.read_bytes(), 9, mtime=0)))
    for other in set(kept.iterdir()) - set(files.values()):
        other.unlink()
    return files


def write_hero(srcdir: Path) -> Path:
    """The file of what the first page's net writes, from `MADE` or made once for what it depends on: 10 s."""
    makers = [HERE / "hero.py", PACKAGE / "nets" / "switched.py", NETS / "characters.safetensors"]
    kept = Path(srcdir) / "_build" / ".hero"
    kept.mkdir(parents=True, exist_ok=True)
    texts = _made(kept / _named_after(makers, "texts.json"))
    _put(texts, lambda part: subprocess.run([sys.executable, HERE / "hero.py", part], check=True))
    for other in set(kept.iterdir()) - {texts}:
        other.unlink()
    return texts


def _named_after(paths, name: str) -> str:
    """A name for a file that changes with these files and with the pins of what torch runs and exports by."""
    pins = re.findall(r"^(?:torch|onnx).*", (ROOT / "requirements.txt").read_text(), re.M)
    contents = [*(path.read_bytes() for path in paths), "\n".join(pins).encode()]
    digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents))
    return f"{digest.hexdigest()[:8]}-{name}"


def _made(path: Path) -> Path:
    """The file of this name in `MADE`, or the one that a build has to make."""
    return MADE / path.name if (MADE / path.name).exists() else path


def keep_made() -> None:
    """Fill `MADE` anew."""
    paths = [path for kind in PANELS for path in export_nets(kind, ROOT).values() if path.suffix == ".onnx"]
    paths.append(write_hero(ROOT))
    MADE.mkdir(exist_ok=True)
    for path in paths:
        if path.parent != MADE:
            shutil.copy(path, MADE)
    for other in set(MADE.iterdir()) - {MADE / path.name for path in paths}:
        other.unlink()


def _put(path: Path, write):
    """Write a file that is not there yet, whole or not at all."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    write(part)
    part.rename(path)


def _finish(app, exception):
    if not exception and app.builder.format == "html":
        mend(Path(app.outdir), app.config.html_baseurl)
        offer_to_keep(Path(app.outdir))


def setup(app):
    app.setup_extension("plusx.sphinx")
    app.setup_extension("editions")
    app.setup_extension("stage")
    # Else pybtex reads what every package says of itself at each citation, an eighth of the time of a render.
    for name in ("docutils", "plaintext"):
        register_plugin("pybtex.backends", name, find_plugin("pybtex.backends", name), force=True)
    # After plusx.sphinx (priority 300) has named a cache, before myst-nb (priority 500) reads its settings.
    app.connect("config-inited", _configure, priority=400)
    # `mend` takes pages as Sphinx writes them, not as it left them: all are written at each build.
    app.connect("env-get-outdated", lambda app, env, *_: env.found_docs)
    app.connect("builder-inited", _copy_assets)
    app.connect("html-page-context", _describe)
    app.connect("html-page-context", _equip_panels)
    app.connect("html-page-context", _equip_hero)
    app.connect("html-page-context", _equip_race)
    app.connect("html-page-context", _equip_terms)
    app.connect("html-page-context", _equip_offer)
    app.connect("html-page-context", _equip_predictions)
    # After the theme (priority 501) has begun the list of buttons.
    app.connect("html-page-context", _offer_reading, priority=600)
    app.connect("html-page-context", _offer_slides, priority=600)
    # After the theme (priority 500) has written the colours of code.
    app.connect("build-finished", _finish, priority=900)
    # A panel's page copies its files while it is written: one writer.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
