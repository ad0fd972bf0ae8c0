"""A class of 30 on a real hub: `make hub`. What it takes, and that nobody reads another's files.

Needs root, to make a Unix account for each reader and remove it afterwards.
"""

import asyncio
import contextlib
import json
import os
import pwd
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
from browser import CHAPTERS, ROOT
from lab import CHANGING, DRAWN, cells_with, click_to_redraw, peak_bytes, run_all, run_aside, show
from reader import Reader
from test_hub import CLASS as VALUES
from test_hub import megabytes
from tornado.httpclient import HTTPClientError

HERE = Path(__file__).parent
MEMORY = VALUES["singleuser"]["memory"]
NOTEBOOKS = [chapter.replace(".html", ".ipynb") for chapter in CHAPTERS]
LESSON = next(name for name in NOTEBOOKS if "/02-" in name)  # the first lesson of the teachers' page
SCOUT, *CLASS = [f"plusx-reader-{number:02}" for number in range(31)]
PASSWORD = secrets.token_hex()
TOGGLES, THINKING = 12, (2, 8)  # of each reader; seconds between two
MB = 1 << 20

# In a kernel: what its account can get of another reader. Prints a list.
STEAL = """
import json, os, urllib.error, urllib.request
def attempt(read):
    try:
        return "read" if read() else "nothing"
    except (OSError, urllib.error.HTTPError) as error:
        return getattr(error, "code", type(error).__name__)
print(json.dumps([
    attempt(lambda: os.listdir({home!r})),
    attempt(lambda: open({home!r} + "/{notebook}").read()),
    attempt(lambda: os.listdir({home!r} + "/run")),  # the keys and sockets of kernels
    attempt(lambda: open("/proc/{pid}/environ").read()),  # the server's token
    attempt(lambda: urllib.request.urlopen("http://127.0.0.1:{port}{path}/api/contents").read()),  # past the proxy
]))
"""


@pytest.fixture(scope="module")
def folder():
    """Where the hub and the readers live: open to pass through, closed to look into."""
    with tempfile.TemporaryDirectory(prefix="plusx-hub-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def accounts(folder):
    """Unix accounts with the book in a home of mode 700, as each pod has its own copy of the image."""
    assert os.geteuid() == 0, "make hub makes and removes Unix accounts: run it as root"

    def remove():
        known = {each.pw_name for each in pwd.getpwall()}
        for name in known.intersection([SCOUT, *CLASS]):
            left = processes(name)  # a kernel that hangs outlives its server
            for each in left:
                each.kill()
            psutil.wait_procs(left, timeout=10)
            subprocess.run(["userdel", "--remove", name], check=True, stderr=subprocess.DEVNULL)

    remove()  # of a run that was killed
    try:
        for name in (SCOUT, *CLASS):
            home = folder / name
            subprocess.run(
                ["useradd", "--create-home", "--home-dir", home, "--key", "HOME_MODE=0700", name], check=True
            )
            shutil.copytree(ROOT / "chapters", home / "chapters")
            subprocess.run(["chown", "--recursive", f"{name}:", home], check=True)
        runs = subprocess.run(["runuser", "-u", SCOUT, "--", sys.executable, "-c", "import plusx"], cwd="/")
        assert runs.returncode == 0, f"{sys.executable} and plusx must be where other accounts may read, not in /root"
        yield
    finally:
        remove()


@pytest.fixture(scope="module")
def hub(folder, accounts):
    """The address of a running hub, and the processes that are its own."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(3)]
        for each in free:
            each.bind(("127.0.0.1", 0))
        ports = [str(each.getsockname()[1]) for each in free]
    own = {"HUB_FOLDER": str(folder), "HUB_PORTS": " ".join(ports)}
    command = [sys.executable, "-m", "jupyterhub", "--config", HERE / "jupyterhub_config.py"]
    log = ROOT / "_build" / "reports" / "hub.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=os.environ | own)
    url = f"http://127.0.0.1:{ports[0]}"
    try:
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/hub/api/").close()
                break
            assert process.poll() is None, log.read_text()
            time.sleep(0.5)
        proxy = next(each for each in psutil.Process(process.pid).children() if "configurable" in str(each.cmdline()))
        yield url, [psutil.Process(process.pid), proxy]
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def say():
    """Prints lines, and keeps them for _build/reports/hub.txt."""
    lines = []
    yield lambda line: (print(line, flush=True), lines.append(line))
    (ROOT / "_build" / "reports" / "hub.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def scripts(hub, open_page, say):
    """Paths of what JupyterLab's page loads, from a real one: log in, land on the first chapter, run it, toggle."""
    page, foreign, _ = open_page(f"{hub[0]}/hub/login", solid=False)
    loaded = {}
    page.on("response", lambda answer: loaded.setdefault(answer.url, answer))
    page.fill("#username_input", SCOUT)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    home = f"{hub[0]}/user/{SCOUT}"
    page.wait_for_url(f"{home}{VALUES['singleuser']['defaultUrl']}", timeout=120_000)
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
    assert run_all(page, home, NOTEBOOKS[0]) == []
    index, *_ = cells_with(page, "@explore(")
    cell = show(page, index, DRAWN)
    redrawn = click_to_redraw(page, cell, cell.locator(CHANGING).first)
    assert redrawn and foreign == []
    say(f"in Chromium, one reader: from a click to the redrawn figure {redrawn:.0f} ms")
    files = {url: each for url, each in loaded.items() if each.request.resource_type in ("script", "stylesheet")}
    size = sum(int(each.headers.get("content-length", 0)) for each in files.values())
    say(f"JupyterLab's page loads {len(files)} scripts and stylesheets, {size / MB:.1f} MB")
    page.context.close()
    return [url.removeprefix(f"{home}/") for url in files if url.startswith(home)]


def processes(name):
    uid = pwd.getpwnam(name).pw_uid
    return [each for each in psutil.process_iter(["uids"]) if each.info["uids"] and each.info["uids"].real == uid]


def weight(name):
    """A reader's share of memory in bytes, each shared page divided among those who share it; and all it maps."""
    full = [each.memory_full_info() for each in processes(name)]
    return np.array([sum(each.pss for each in full), sum(each.uss for each in full), sum(each.rss for each in full)])


def peak(name):
    """The most that each process of a reader ever held, summed, in bytes."""
    return sum(map(peak_bytes, processes(name)))


def cpu(processes):
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def test_each_chapter_fits_the_limit(hub, say):
    async def read():
        async with Reader(hub[0], SCOUT, PASSWORD) as scout:
            await read_all(scout)

    async def read_all(scout):
        assert (await scout.login()).endswith(VALUES["singleuser"]["defaultUrl"])
        for notebook in NOTEBOOKS:
            await scout.open(notebook)
            begun = time.perf_counter()
            await scout.run()
            seconds = time.perf_counter() - begun
            chance = random.Random(0)
            shown = list(scout.explorers())  # none in the last chapter
            times = [took for _ in range(10 * bool(shown)) if (took := await scout.toggle(chance))] or [0]
            assert len(times) > 4 or not shown, f"{notebook}: {len(times)} of 10 changes brought a new figure"
            most = peak(SCOUT)
            say(f"{notebook[9:-6]:32} run {seconds:5.1f} s, toggle {max(times):4.2f} s, peak {most / MB:5.0f} MB")
            peaks.append(most)
            await scout.close()
        await scout.leave()

    peaks = []
    run_aside(read())
    assert len(peaks) == len(NOTEBOOKS) and max(peaks) / MB <= megabytes(MEMORY["limit"])


def test_a_class_of_thirty(hub, scripts, say, folder):
    url, own = hub
    readers = [Reader(url, name, secrets.token_hex()) for name in CLASS]
    chance = random.Random(0)

    async def each(what, step, within):
        """Everybody does `step`, each beginning at a random moment of the next `within` seconds."""

        async def one(reader, wait):
            await asyncio.sleep(wait)
            begun = time.perf_counter()
            done = await step(reader)
            return done if isinstance(done, list) else [time.perf_counter() - begun]

        begun, spent = time.perf_counter(), cpu(own) + cpu([psutil.Process()])
        times = sum(await asyncio.gather(*(one(reader, chance.uniform(0, within)) for reader in readers)), [])
        took, spent = time.perf_counter() - begun, cpu(own) + cpu([psutil.Process()]) - spent
        middle, most = np.percentile(times, [50, 95])
        shown = f"{middle:7.2f} | {most:7.2f} | {max(times):7.2f}"
        say(f"| {what:34} | {shown} | {took:4.0f} s, hub, proxy and test {spent:.0f} s of CPU |")
        return times

    async def weigh(what):
        shares = np.array([await asyncio.to_thread(weight, name) for name in CLASS]) / MB
        own_share = sum(process.memory_full_info().pss for process in own) / MB
        pss, uss, rss = shares.mean(axis=0)
        free = psutil.virtual_memory().available / MB
        say(
            f"{what}: {pss:.0f} MB for each reader (PSS; most {shares[:, 0].max():.0f}; USS {uss:.0f}, RSS {rss:.0f}), "
            f"{shares[:, 0].sum() / 1024:.1f} GB for all, hub and proxy {own_share:.0f} MB; {free:.0f} MB left"
        )
        return shares[:, 0]

    async def toggling(reader):
        own, times = random.Random(reader.name), []
        for _ in range(TOGGLES):
            await asyncio.sleep(own.uniform(*THINKING))
            times.append(await reader.toggle(own))
            assert times[-1], f"{reader.name}: a control left the figure as it was"  # in chapter 2 each has an effect
        return times

    async def lesson():
        async with Reader(url, SCOUT, PASSWORD) as scout:  # Chromium's
            await scout.login()
            await scout.leave()
        async with contextlib.AsyncExitStack() as stack:
            for reader in readers:
                await stack.enter_async_context(reader)
            return await lesson_of(readers)

    async def lesson_of(readers):
        say(f"{len(readers)} readers, {LESSON}, {psutil.cpu_count()} cores | median s | 95 % | most")
        await each("login to JupyterLab's page", Reader.login, 60)
        await each("open: Lab's files, notebook, kernel", lambda reader: reader.open(LESSON, scripts), 10)
        await each("run all", Reader.run, 10)
        after = await weigh("after the run")
        spent = sum(cpu(processes(name)) for name in CLASS)
        times, during = await asyncio.gather(each("toggle to figure", toggling, 5), halfway())
        spent, whole = sum(cpu(processes(name)) for name in CLASS) - spent, sum(cpu(processes(name)) for name in CLASS)
        say(f"CPU of servers and kernels: {whole / len(readers):.1f} s a reader in all, "
            f"{1000 * spent / len(times):.0f} ms a toggle")  # fmt: skip
        for reader, other in zip(readers, readers[1:] + readers[:1]):
            assert await trespass(reader, other, folder) == OUTSIDE, (reader.name, other.name)
        assert await trespass(readers[0], readers[0], folder) == INSIDE  # what was tried is there
        say(f"{len(readers)} readers tried {len(OUTSIDE)} ways to another's files: none led there")
        return times, np.maximum(after, during)

    async def halfway():
        await asyncio.sleep(TOGGLES * sum(THINKING) / 4)
        return await weigh("while toggling")

    times, shares = run_aside(lesson())
    assert len(times) == TOGGLES * len(readers)
    assert shares.mean() <= megabytes(MEMORY["guarantee"])
    # After a second without an answer people feel that they wait (Nielsen 1993), and a class stops trying things.
    assert np.percentile(times, 95) <= 1


# What `trespass` finds at another reader's door, and at the own.
OUTSIDE = [403, 403, 403, 403, 404, 403, *["PermissionError"] * 4, 403]
INSIDE = [200, 200, 200, 101, 200, 403, *["read"] * 4, 403]


async def trespass(reader, other, folder):
    """Eleven ways to another's files and kernel: cookies, token, websocket, hub, password, and from the own kernel."""
    headers = {"X-XSRFToken": reader.xsrf("/hub/")}
    made = await reader.http.post(f"/hub/api/users/{reader.name}/tokens", headers=headers, json={"note": "a test"})
    token = {"Authorization": f"token {made.json()['token']}"}
    asked = [await reader.http.get(f"{other.home}/{path}") for path in ("api/contents", "lab")]
    async with httpx.AsyncClient(base_url=reader.hub) as stranger:
        asked += [await stranger.get(f"{other.home}/api/contents/{LESSON}", headers=token)]
        about = await stranger.get(f"/hub/api/users/{other.name}", headers=token)
    try:
        (await reader.connect(other.home, other.session["kernel"]["id"])).close()
        socket = 101
    except HTTPClientError as error:
        socket = error.code
    async with Reader(reader.hub, other.name, "a guess at the password") as impostor:
        login = await impostor.sign_in()
    server = next(each for each in processes(other.name) if "jupyterhub.singleuser" in each.cmdline())
    port = next(each.laddr.port for each in server.net_connections() if each.status == psutil.CONN_LISTEN)
    code = STEAL.format(home=str(folder / other.name), notebook=LESSON, pid=server.pid, port=port, path=other.home)
    stolen = json.loads(await reader.execute(code))
    return [*(each.status_code for each in asked), socket, about.status_code, login, *stolen]
