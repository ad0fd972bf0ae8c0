"""Panels that compute in a reader's browser: the playground, the lanes and the writer, which is on the first page too.

Here lives what their pages load: a panel's script and looks, its nets as ONNX and what runs them, made once for what
they depend on. What a panel is and does is in `plusx.panels`.
"""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from assets import PACKAGE, ROOT, from_npm, load, ours
from sphinx.util.fileutil import copy_asset_file

from plusx.sphinx.markup import equipped, found

ORT = "onnxruntime-web/dist"
MODULES = f"{ORT}/ort.wasm.bundle.min", "@huggingface/tokenizers/dist/tokenizers.min"  # that workers import
NETS = ROOT / "chapters" / "data" / "playground"
MADE = ROOT / "chapters" / "data" / "made"  # kept from a build, for another would take half a minute to make the same
# The code of what they compute.
PANELS = {
    "playground": [PACKAGE / "nets" / "switched.py"],
    "lanes": [PACKAGE / "training" / f"{name}.py" for name in ("step", "sorter", "data")],
}
# Of the lanes, a file each.
FUNCTIONS = [f"{net}-{part}" for net in ("stack", "sorter") for part in ("begin", "step", "look")]


def _equip(app, pagename, templatename, context, doctree):
    """Give a page with a panel that computes its script, its nets and what runs them, and tell it their sizes."""
    body = context.get("body") or ""
    for kind in PANELS:
        if found(body, kind):
            _put_panel(app, kind, context, export_nets(kind, app.srcdir))
    if found(body, "writer"):
        _put_panel(app, "writer", context, export_model(app.srcdir) if app.config.plusx_model else {})


def _put_panel(app, kind, context, nets):
    for name in f"{kind}.js", f"{kind}-worker.js":
        copy_asset_file(str(PACKAGE / "panels" / "built" / name), str(ours(app)))
    for name in "explore.css", "diagram.css":
        app.add_css_file(f"plusx/{name}")
    load(app, f"{kind}.js")
    for module in MODULES if nets else ():  # some servers do not know .mjs
        copy_asset_file(str(from_npm(f"{module}.mjs")), str(ours(app) / f"{Path(module).name}.js"))
    files = {}
    for name, path in nets.items():
        copy_asset_file(str(path), str(ours(app)))
        files[name] = {"url": path.name, "bytes": path.stat().st_size, "keep": name == "model"}
    context["body"] = equipped(context["body"], kind, data_files=json.dumps(files))


def export_nets(kind: str, srcdir: Path) -> dict[str, Path]:
    """The runtime, gzipped, and each net of a panel as ONNX: up to 15 s a net.

    The nets lie in `MADE`, as long as nothing has changed that they depend on.
    """
    makers = [*PANELS[kind], PACKAGE / "panels" / "onnx.py", PACKAGE / "panels" / kind / "export.py"]
    weights = [NETS / f"{name}.safetensors" for name in ("characters", "sorting")]  # others are only compared
    inputs = {path.stem: [path] for path in weights} if kind == "playground" else dict.fromkeys(FUNCTIONS, [])
    wanted = {net: (f"{net}.onnx", [*own, *makers]) for net, own in inputs.items()}
    return _made(srcdir, kind, wanted, partial(_program, f"{kind}.export")) | _runtime(srcdir)


def export_model(srcdir: Path) -> dict[str, Path]:
    """The language model of the writer, its tokenizer, and the runtime. `make model` brings what that takes."""
    makers = [PACKAGE / "nets" / "pretrained.py", PACKAGE / "nets" / "readers.py"]
    makers.append(PACKAGE / "panels" / "writer" / "export.py")
    wanted = {"model": ("smollm2.onnx", makers), "words": ("smollm2.json", makers)}
    return _made(srcdir, "writer", wanted, partial(_program, "writer.export")) | _runtime(srcdir)


def _runtime(srcdir: Path) -> dict[str, Path]:
    """One for all panels."""
    runtime = from_npm(f"{ORT}/ort-wasm-simd-threaded.wasm")

    def pack(parts):
        parts["runtime"].write_bytes(gzip.compress(runtime.read_bytes(), 9, mtime=0))

    return _made(srcdir, "runtime", {"runtime": ("runtime.bin", [runtime])}, pack)


def _program(module: str, parts: dict):
    """Let a module of `plusx.panels` write what it is asked for by name and path."""
    pairs = (str(word) for pair in parts.items() for word in pair)
    subprocess.run([sys.executable, "-m", f"plusx.panels.{module}", *pairs], check=True)


def _made(srcdir: Path, folder: str, wanted: dict, write) -> dict[str, Path]:
    """Files that are made once for what they depend on; those of before are removed.

    wanted: name -> the file's own, and what it depends on. write: takes name -> path of those that there are not.
    """
    kept = Path(srcdir) / "_build" / ".nets" / folder
    kept.mkdir(parents=True, exist_ok=True)
    names = {each: _named_after(makers, name) for each, (name, makers) in wanted.items()}
    files = {each: (MADE if (MADE / name).exists() else kept) / name for each, name in names.items()}
    parts = {each: path.with_name(f"{each}.part") for each, path in files.items() if not path.exists()}
    if parts:  # at once: torch's exporter is known after the first
        write(parts)
    for each, part in parts.items():  # whole or not at all
        part.rename(files[each])
    for other in set(kept.iterdir()) - set(files.values()):
        other.unlink()
    return files


def _named_after(paths, name: str) -> str:
    """A name for a file that changes with these files and with the pins of what torch runs and exports by."""
    pins = re.findall(r"^(?:torch|onnx).*", (ROOT / "requirements.txt").read_text(), re.M)
    contents = [*(path.read_bytes() for path in paths), "\n".join(pins).encode()]
    digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents))
    return f"{digest.hexdigest()[:8]}-{name}"


def keep_made() -> None:
    """Fill `MADE` anew."""
    paths = [path for kind in PANELS for path in export_nets(kind, ROOT).values() if path.suffix == ".onnx"]
    MADE.mkdir(exist_ok=True)
    for path in paths:
        if path.parent != MADE:
            shutil.copy(path, MADE)
    for other in set(MADE.iterdir()) - {MADE / path.name for path in paths}:
        other.unlink()


def setup(app):
    app.add_config_value("plusx_model", False, "env")  # whether the site brings the language model along, 97 MB
    app.connect("html-page-context", _equip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
