"""Build the book: run changed notebooks two at a time, then let Jupyter Book render them.

A step whose inputs did not change is skipped, and a build that fails leaves the last good
site in _build/html as it was. How pages look is the business of book.py, pages.py and the features.
"""

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Two kernels share two cores: one thread each, set before any kernel inherits it.
os.environ |= {"OMP_NUM_THREADS": "1", "PLUSX_EXPLORE": "static"}
# As if this were not installed: jsonschema would parse 38 grammars, for a second in each process, and use none.
sys.modules["rfc3987_syntax"] = None

import nbformat  # noqa: E402
import yaml  # noqa: E402
from assets import PACKAGE, ROOT, digest  # noqa: E402
from book import STAMP, cache_path, what_it_reads  # noqa: E402
from editions import EDITIONS  # noqa: E402
from filelock import FileLock  # noqa: E402
from jupyter_cache import get_cache  # noqa: E402
from jupyter_cache.base import CacheBundleIn  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellControlSignal, DeadKernelError  # noqa: E402
from sphinx_external_toc.parsing import parse_toc_yaml  # noqa: E402
from traitlets.config import Config  # noqa: E402
from warm import warm  # noqa: E402

KERNELS = 2
NOT_INPUTS = {"_build", "node_modules", "tests", "conftest.py", "__pycache__"}
REPORTS = Path("_build", "reports", "notebooks")
PINS = ["requirements.txt", "constraints.txt", "package-lock.json"]
# Without it each kernel prints a warning about plain TCP.
ENCRYPTED = Config(KernelManager={"transport_encryption": "auto"})
# Sphinx's process does without those grammars too, and without looking for garbage: it lives for 15 s.
JUPYTER_BOOK = (
    "import gc, sys; gc.disable(); sys.modules['rfc3987_syntax'] = None; from jupyter_book.cli.main import main; main()"
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def notebooks(book: Path) -> list[Path]:
    """The notebooks among the pages of the table of contents, in its order."""
    pages = (book / f"{page}.ipynb" for page in parse_toc_yaml(book / "_toc.yml"))
    return [page for page in pages if page.exists()]


def peak_megabytes(pid: int) -> int | None:
    """The most memory a process has held, where /proc tells it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


def explain(notebook, error: Exception) -> str:
    """Which cell failed, and how."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                trace = ANSI.sub("", "\n".join(output.traceback))
                return f"cell '{cell.id}': {output.ename}: {output.evalue}\n{trace}"
    unfinished = (c.id for c in notebook.cells if c.cell_type == "code" and not c.execution_count)
    return f"cell '{next(unfinished, '?')}': {type(error).__name__}: {error}"


def is_known(path: Path, cache) -> bool:
    """Whether the cache's result is still that of running it: same code, and same files if it reads any."""
    notebook = nbformat.read(path, as_version=4)
    try:
        return cache.match_cache_notebook(notebook).data.get("read") == what_it_reads(notebook, path)
    except KeyError:
        return False


def keep_report(notebook, path: Path, failure: str, book: Path) -> None:
    """What failed, and the notebook as far as it came, for those who did not see it fail."""
    reports = book / REPORTS
    reports.mkdir(parents=True, exist_ok=True)
    (reports / f"{path.stem}.txt").write_text(failure, encoding="utf8")
    nbformat.write(notebook, reports / path.name)


def page_name(path: Path, book: Path) -> str:
    return path.relative_to(book).with_suffix("").as_posix()


async def run(path: Path, book: Path, cache, timeout: int, slots) -> str | None:
    """Run one notebook into the cache, and return what went wrong, if anything did."""
    name = page_name(path, book)
    notebook = nbformat.read(path, as_version=4)
    read = what_it_reads(notebook, path)

    def note_memory(**_):
        nonlocal peak
        peak = peak_megabytes(client.km.provisioner.pid) or peak

    peak, failure = None, None
    client = NotebookClient(
        notebook,
        timeout=timeout,
        record_timing=False,  # it would change the cells' metadata, and so the cache's key
        on_cell_executed=note_memory,
        config=ENCRYPTED,
    )
    async with slots:
        start = time.perf_counter()
        try:
            await client.async_execute(cwd=str(path.parent))
        except (CellControlSignal, DeadKernelError) as error:
            failure = f"{name}: {explain(notebook, error)}"
        seconds = time.perf_counter() - start
    if failure:
        keep_report(notebook, path, failure, book)
    else:
        data = {"execution_seconds": seconds, "megabytes": peak, "read": read}
        cache.cache_notebook_bundle(CacheBundleIn(notebook, str(path), data=data), check_validity=False, overwrite=True)
    memory = "" if peak is None else f"{peak} MB"
    verdict = "FAILED" if failure else "run"
    print(f"  {name:<40} {verdict:<7}{seconds:6.1f} s{memory:>9}", flush=True)
    return failure


async def run_all(book: Path, timeout: int) -> list[str]:
    """Run the notebooks that changed, and return their failures."""
    path = cache_path(book)
    cache, slots = get_cache(path), asyncio.Semaphore(KERNELS)
    print(f"Notebooks ({path.relative_to(book)}):", flush=True)
    # What runs longest, the last chapters, would else run alone at the end.
    pages = [*reversed(notebooks(book))]
    changed = [page for page in pages if not is_known(page, cache)]
    for page in pages:
        if page not in changed:
            print(f"  {page_name(page, book):<40} cached", flush=True)
    jobs = (run(page, book, cache, timeout, slots) for page in changed)
    with warm() if len(changed) > KERNELS else contextlib.nullcontext():
        failures = [failure for failure in await asyncio.gather(*jobs) if failure]
    for other in path.parent.iterdir():
        if other != path:
            shutil.rmtree(other)
    return failures


def digest_of_inputs(book: Path) -> str:
    """One hash over every file that can change the site: the book's own, and its makers."""
    inputs = [(name, ROOT / name) for name in PINS]
    for root in [book, PACKAGE, ROOT / "site"]:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in NOT_INPUTS and not f.startswith("."))
            names = sorted(f for f in files if f not in NOT_INPUTS and not f.startswith("."))
            inputs += [(Path(folder, name).relative_to(root), Path(folder, name)) for name in names]
    return digest(inputs)


def render(book: Path, edition: str, site: Path) -> bool:
    """Render into a new folder, and put it in place of the last site if nothing is wrong."""
    fresh = book / "_build" / "next"
    shutil.rmtree(fresh, ignore_errors=True)
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", str(book)]
    command += ["--path-output", str(fresh), "-n", "-W", "--keep-going", "-q"]
    if subprocess.run(command, env=os.environ | {"PLUSX_EDITION": edition}, stdout=subprocess.DEVNULL).returncode:
        return False
    shutil.rmtree(site, ignore_errors=True)
    (fresh / "_build" / "html").rename(site)
    shutil.rmtree(fresh)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("book", nargs="?", type=Path, default=ROOT, help="folder of _config.yml")
    parser.add_argument("--edition", choices=EDITIONS, default="", help="in _build/student or _build/teacher")
    given = parser.parse_args()
    book = given.book.resolve()
    site = book / "_build" / (given.edition or "html")
    site.parent.mkdir(exist_ok=True)
    timeout = yaml.safe_load((book / "_config.yml").read_text())["execute"]["timeout"]
    with FileLock(site.parent / ".lock"):
        shutil.rmtree(book / REPORTS, ignore_errors=True)
        start, inputs = time.perf_counter(), digest_of_inputs(book)
        stamp = site / STAMP
        if stamp.exists() and stamp.read_text() == inputs:
            print(f"{site}/index.html is up to date.")
            return 0
        if failures := asyncio.run(run_all(book, timeout)):
            print("\nThe book was not built.", *failures, sep="\n\n", file=sys.stderr)
            return 1
        print("Pages ...", flush=True)
        if not render(book, given.edition, site):
            print("\nThe book was not built: see the warnings above.", file=sys.stderr)
            return 1
        stamp.write_text(inputs)
        print(f"{site}/index.html built in {time.perf_counter() - start:.0f} s.")
        return 0


if __name__ == "__main__":
    sys.exit(main())
