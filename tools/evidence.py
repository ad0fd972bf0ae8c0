"""Make the kept results of chapters/evidence that are missing or outdated, and what chapters/data/made keeps from a
build.

The chapters run here, a few at a time. The points that they measure go to the workers of dask.distributed: one for each
core, or those of a cluster. What has been measured lies in _build/evidence, so a stopped run goes on where it was.
"""

import argparse
import collections
import contextlib
import json
import logging
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# As in build.py: else each process, and every worker is one, parses grammars for a second.
sys.modules["rfc3987_syntax"] = None

import nbformat  # noqa: E402
import torch  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402
from tqdm import tqdm  # noqa: E402

sys.path += [str(Path(__file__).parents[1] / "site" / part) for part in ("build", "features")]
from panels import keep_made  # noqa: E402

from plusx.measure.kept import read  # noqa: E402

CHAPTERS = Path(__file__).parents[1] / "chapters"
DECORATED = re.compile(r"^@evidence\(.*?^def (\w+)", re.M | re.S)
POINT = re.compile(r"^(\w+): (\d+) of (\d+)$")
SETTLED = re.compile(r"^(\w+): [\d,]+ runs .* on one core\.$")
MODES = {
    "all": "measure all, and compare with what is kept",
    "confirm": "where only code has changed: keep what is kept, if a share of its seeds comes out the same everywhere",
    "sample": "measure three seeds of two points of each, and compare with what is kept",
}
CORES = os.cpu_count()
UNKNOWN = 60  # seconds that a function is taken to need that nobody has measured
SHOWN = 30  # lines of a chapter that failed


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


class Bar:
    """How much of all is done and how long the rest takes, by the seconds that each function took last time."""

    def __init__(self, functions: list[str], folder: Path):
        kept = {name: read(folder / f"{name}.json")[0] for name in functions}
        self.seconds = {name: max(each["seconds"], 1) if each else UNKNOWN for name, each in kept.items()}
        self.done = {}  # function -> how many of its points
        form = "{percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left"
        self.bar = tqdm(total=sum(self.seconds.values()), bar_format=form, disable=None, smoothing=0.05)

    def hear(self, line: str) -> None:
        """A line of a notebook: what was done before it began is no part of the whole."""
        if found := POINT.match(line):
            name, done, of = found[1], int(found[2]), int(found[3])
            share = self.seconds.get(name, 0) / of
            if name in self.done:
                self.bar.update((done - self.done[name]) * share)
            else:
                self.bar.total -= done * share
            self.done[name] = done
        elif (found := SETTLED.match(line)) and found[1] not in self.done:
            self.bar.total -= self.seconds.get(found[1], 0)
            self.bar.refresh()


def make(path: Path, settings: dict, bar: Bar, running: set) -> bool:
    """Run a notebook; whether it ran through. A line when it is done, and its last ones if it failed."""
    ipython = Path(sys.executable).with_name("ipython")
    process = subprocess.Popen(
        [ipython, "--colors=NoColor", path.name],
        cwd=path.parent, env=os.environ | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    running.add(process)
    last = collections.deque(maxlen=SHOWN)
    for line in process.stdout:
        last.append(line)
        bar.hear(line.rstrip())
    done = process.wait() == 0
    tqdm.write(f"{path.stem}: done" if done else f"{''.join(last)}{path.stem}: FAILED", file=sys.stdout)
    sys.stdout.flush()
    return done


def connect(address: str | None, workers: int) -> tuple[str, str]:
    """(scheduler's address, its dashboard's) of a cluster that is there, or of one in this machine for the while."""
    if address is None:
        with contextlib.chdir(CHAPTERS):  # where workers read what notebooks read
            here = LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
            )
        return here.scheduler_address, here.dashboard_link
    try:
        with Client(address, timeout=10) as there:
            return address, there.dashboard_link
    except OSError as fault:
        raise SystemExit(f"evidence: no scheduler answers at {address}; expected one as tcp://HOST:8786.") from fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapters", nargs="*", type=Path, help="notebooks; without any, all")
    how = parser.add_mutually_exclusive_group()
    for mode, told in MODES.items():
        how.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, default="make", help=told)
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of dask.distributed; without it, one starts here")
    parser.add_argument("--workers", type=int, default=CORES, help="if it starts here (default: one for each core)")
    parser.add_argument("--larger", metavar="FUNCTION", help="measure this one over another grid too, kept in larger/")
    parser.add_argument("--seeds", type=int, help="of --larger (default: as the chapter has)")
    parser.add_argument("--grid", type=json.loads, default={}, help='of --larger: JSON as {"blocks": [9, 18]}')
    parser.add_argument("--device", help="of --larger: cuda, or another of torch's (default: the CPU)")
    given = parser.parse_args()
    if given.device and not given.larger:
        parser.error("--device needs --larger: what a build asks again is the CPU's")
    if given.device and not given.scheduler:
        try:
            torch.empty(0, device=given.device)
        except (AssertionError, RuntimeError) as fault:
            parser.error(f"--device {given.device}: {str(fault).splitlines()[0]}")
    functions = decorated(CHAPTERS)
    if given.larger:
        given.chapters = [path.resolve() for path, names in functions.items() if given.larger in names]
        if not given.chapters:
            parser.error(f"no chapter keeps a function {given.larger!r}")
    if given.chapters:
        functions = {path: names for path, names in functions.items() if path in map(Path.resolve, given.chapters)}
    scheduler, dashboard = connect(given.scheduler, given.workers)
    print(f"{sum(map(len, functions.values()))} results of {len(functions)} chapters; {dashboard}", flush=True)
    settings = dict(PLUSX_EVIDENCE=given.mode, PLUSX_SCHEDULER=scheduler, OMP_NUM_THREADS="1")
    if given.larger:
        settings["PLUSX_LARGER"] = json.dumps(
            dict(name=given.larger, seeds=given.seeds, grid=given.grid, device=given.device)
        )
    bar, running = Bar([name for names in functions.values() for name in names], CHAPTERS / "evidence"), set()
    longest = sorted(functions, key=lambda path: -sum(bar.seconds[name] for name in functions[path]))
    with ThreadPoolExecutor(CORES + 1) as pool:
        try:
            done = list(pool.map(lambda path: make(path, settings, bar, running), longest))
        except KeyboardInterrupt:
            for each in running:
                each.kill()
            print("Stopped. What is measured is kept, and the next run goes on from there.", flush=True)
            os._exit(130)  # at once: the workers end with this process
    bar.bar.close()
    if not given.chapters and given.mode != "sample":
        keep_made()
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
