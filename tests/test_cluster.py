"""tools/evidence.py and plusx.measure.cluster in processes of their own: workers, clients and disks that fail."""

import functools
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from browser import ROOT

POINTS = 200
MEASURE = """
import functools, os, signal, time
from pathlib import Path

import torch
from plusx.measure import evidence

torch.set_default_dtype(torch.float64)
SCALE = torch.linspace(0.5, 2, 7)


@functools.cache
def made():
    with open(folder() / "made", "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return SCALE * 3


def folder():
    return Path(os.environ["PLACE"])


@evidence(seeds=2, number=list(range({points})))
def walked(seeds, number):
    if number == 150 and not (folder() / "killed").exists():
        (folder() / "killed").touch()
        time.sleep(0.3)  # so that the client has what this worker measured before
        os.kill(os.getpid(), signal.SIGKILL)
    while number >= int((folder() / "gate").read_text()):
        time.sleep(0.02)  # so that a run which is to be stopped cannot end before
    time.sleep(0.04)
    lots = [torch.Generator().manual_seed(1000 * number + seed) for seed in seeds]
    steps = torch.stack([torch.randn(500, 7, generator=lot) for lot in lots])
    for _ in range(30):
        steps = torch.tanh(steps @ torch.diag(made()) @ torch.ones(7, 7) / 7) + 0.1 * steps
    if len(seeds) == 2:  # not seed 0 again, which tells how long it takes
        with open(folder() / "log", "a") as file:
            file.write(f"{{number}}\\n")
    return {{"loss": steps.std((1, 2)), "curve": steps.mean(1)}}
"""


@pytest.fixture
def place(tmp_path):
    """A folder with our code and one chapter, which is no chapter of the book."""
    for part in ("src", "site", "tools"):
        (tmp_path / part).symlink_to(ROOT / part)
    (tmp_path / "chapters").mkdir()
    write(tmp_path, POINTS)
    (tmp_path / "gate").write_text(str(POINTS))
    return tmp_path


def write(place, count):
    cell = nbformat.v4.new_code_cell(MEASURE.format(points=count))
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), place / "chapters" / "01-walk.ipynb")


def start(place, *options):
    """The tool in a process group of its own, as a terminal starts it: what runs behind a shell's & ignores Ctrl-C."""
    tool = [sys.executable, place / "tools" / "evidence.py", *options, place / "chapters" / "01-walk.ipynb"]
    environment = os.environ | dict(PYTHONPATH=str(place / "src"), PLACE=str(place))
    return subprocess.Popen(
        tool, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def run(place, *options):
    process = start(place, *options)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return said


def points(place):
    """The numbers of the points that are kept."""
    return {int(file.stem) for file in (place / "_build").rglob("walked-*/*.json")}


def log(place):
    return [int(line) for line in (place / "log").read_text().split()] if (place / "log").exists() else []


def until_kept(place, process, count):
    while len(points(place)) < count:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)


def rows(place):
    """The kept file's lines of numbers; the first line says how many seconds it took."""
    return (place / "chapters" / "evidence" / "walked.json").read_text().partition("\n")[2]


def test_ctrl_c_a_killed_client_and_a_killed_worker_lose_nothing_and_nothing_kept_is_measured_again(place):
    (place / "killed").touch()  # not yet
    (place / "gate").write_text("60")
    first = start(place)
    until_kept(place, first, 20)
    os.killpg(first.pid, signal.SIGINT)
    first.wait(600)  # it does not wait for the points, whose gate stays shut
    assert "Stopped. What is measured is kept" in first.communicate()[0]
    assert first.returncode == 130
    stops = [(points(place), len(log(place)))]

    (place / "gate").write_text("140")
    second = start(place)
    until_kept(place, second, len(stops[0][0]) + 20)
    os.killpg(second.pid, signal.SIGKILL)
    second.communicate()
    time.sleep(1)  # what was under way on workers ends
    stops.append((points(place), len(log(place))))

    (place / "killed").unlink()
    (place / "gate").write_text(str(POINTS))
    run(place)
    for kept, before in stops:
        assert 20 <= len(kept) < POINTS and not kept & set(log(place)[before:])
    assert (place / "killed").exists() and points(place) == set(range(POINTS)) == set(log(place))
    cores = os.cpu_count()
    assert len(log(place)) <= POINTS + 4 * cores  # under way as the client was stopped, twice
    assert len((place / "made").read_text().split()) <= 3 * cores + 2  # cached: once for each worker, and here


def test_the_same_bytes_whatever_the_number_of_workers_and_from_a_scheduler_that_is_there_already(place):
    write(place, 60)
    run(place, "--workers", "1")
    one = rows(place)
    for file in (place / "_build").rglob("walked-*/*.json"):
        file.unlink()
    (place / "chapters" / "evidence" / "walked.json").unlink()
    cluster = "from distributed import LocalCluster\nimport time\nif __name__ == '__main__':\n"
    cluster += "    here = LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=':0')\n"
    cluster += "    print(here.scheduler_address, flush=True)\n    time.sleep(600)\n"
    (place / "cluster.py").write_text(cluster)
    environment = os.environ | dict(PYTHONPATH=str(place / "src"), PLACE=str(place))
    there = subprocess.Popen([sys.executable, place / "cluster.py"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        run(place, "--scheduler", there.stdout.readline().strip())
    finally:
        there.kill()
        there.communicate()
    assert len((place / "made").read_text().split()) == 1 + 3 + 2 and rows(place) == one


def test_what_cannot_begin_says_what_it_expected(place):
    """Side by side: the one that looks for a scheduler looks for ten seconds."""
    asked = {
        "no scheduler answers at tcp://127.0.0.1:9; expected": (1, ["--scheduler", "tcp://127.0.0.1:9"]),
        "--device needs --larger": (2, ["--device", "cuda"]),
        "--device nowhere: Expected one of cpu, cuda": (2, ["--larger", "walked", "--device", "nowhere"]),
    }
    processes = [start(place, *options) for _, options in asked.values()]
    said = [process.communicate(timeout=600)[0] for process in processes]
    for told, (code, _), process, words in zip(asked, asked.values(), processes, said):
        assert told in words and process.returncode == code
    assert not log(place)
