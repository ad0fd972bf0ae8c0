"""Bundle the browser's modules: a classic script for pages, which a page opened from disk may load, and a module for
what imports it, such as anywidget or a worker.

What a wheel holds is bundled into the folders `built` of `src/plusx` and kept there, for a reader's pip has no esbuild;
a test compares it with its sources. What only the book's site needs is bundled while that is built.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "plusx"
# In src/plusx: the bundle -> its first module and its form.
BUILT = {
    "explore/built/explore.js": ("explore/js/page.js", "iife"),
    "explore/built/explore-widget.js": ("explore/js/widget.js", "esm"),
    "panels/built/lanes.js": ("panels/lanes/js/lanes.js", "iife"),
    "panels/built/lanes-widget.js": ("panels/lanes/js/lanes.js", "esm"),
    "panels/built/lanes-worker.js": ("panels/lanes/js/worker.js", "esm"),
    "panels/built/playground.js": ("panels/playground/js/playground.js", "iife"),
    "panels/built/playground-widget.js": ("panels/playground/js/playground.js", "esm"),
    "panels/built/playground-worker.js": ("panels/playground/js/worker.js", "esm"),
    "panels/built/writer.js": ("panels/writer/js/writer.js", "iife"),
    "panels/built/writer-widget.js": ("panels/writer/js/writer.js", "esm"),
    "panels/built/writer-worker.js": ("panels/writer/js/worker.js", "esm"),
}


def bundled(entry: Path, form: str) -> str:
    """A module and all that it imports as one minified text. form: "iife", a classic script, or "esm", a module."""
    return esbuild(entry, f"--format={form}")


def bundle_into(folder: Path, entries: list[Path]) -> None:
    """A classic script of each module, under its name, by one process: most of a bundle's time is its start."""
    esbuild(*entries, "--format=iife", f"--outdir={folder}", "--entry-names=[name]")


def esbuild(*words) -> str:
    """CalledProcessError: esbuild names the line that it does not understand."""
    node, program = Path(sys.executable).with_name("node"), ROOT / "node_modules" / "esbuild" / "bin" / "esbuild"
    how = ["--bundle", "--minify", "--target=es2022", "--charset=utf8", "--legal-comments=none", "--log-level=warning"]
    how += [f"--external:*/{name}.js" for name in ("ort.wasm.bundle.min", "tokenizers.min")]  # they lie beside a worker
    return subprocess.run(
        [node, program, *words, *how], check=True, stdout=subprocess.PIPE, text=True, encoding="utf8"
    ).stdout


def main() -> None:
    for name, (entry, form) in BUILT.items():
        text, file = bundled(PACKAGE / entry, form), PACKAGE / name
        if not file.exists() or file.read_text(encoding="utf8") != text:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf8")
            print(f"{file.relative_to(ROOT)}: {len(text):,} bytes")


if __name__ == "__main__":
    main()
