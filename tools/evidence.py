"""Make the kept results of chapters/evidence that are missing or outdated, two chapters at a time, and what
chapters/data/made keeps from a build.

What has been measured lies in _build/evidence, so a stopped run goes on where it was.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

sys.path += [str(Path(__file__).parents[1] / "site" / part) for part in ("build", "features")]
from panels import keep_made  # noqa: E402

CHAPTERS = Path(__file__).parents[1] / "chapters"
DECORATED = re.compile(r"^@evidence\(.*?^def (\w+)", re.M | re.S)
CORES = 2


def decorated(folder: Path) -> dict[Path, list[str]]:
    """The functions of each notebook whose results are kept. ValueError: two of one name."""
    owners, functions = {}, {}
    for path in sorted(folder.glob("*.ipynb")):
        code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
        for name in DECORATED.findall(code):
            if name in owners:
                raise ValueError(f"{path.stem} and {owners[name].stem} both keep '{name}'. Rename one.")
            owners[name] = path
            functions.setdefault(path, []).append(name)
    return functions


def make(path: Path, which: str) -> bool:
    """Run a notebook with what it measures written to the terminal; whether it ran through."""
    settings = {"PLUSX_EVIDENCE": which, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [Path(sys.executable).with_name("ipython"), path.name], cwd=path.parent, env=os.environ | settings
    )
    print(f"{path.stem}: {'done' if done.returncode == 0 else 'FAILED'}", flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="measure all, and compare with what is kept")
    which = "all" if parser.parse_args().all else "make"
    with ThreadPoolExecutor(CORES) as pool:
        done = list(pool.map(lambda path: make(path, which), decorated(CHAPTERS)))
    keep_made()
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
