"""Fixtures that open pages in Chromium, and watch what they ask for and complain about.

A test that fails leaves pictures of its pages in _build/reports/tests.
"""

import contextlib
import functools
import http.server
import re
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from chromium import chromium
from playwright.sync_api import Error, sync_playwright

ROOT = Path(__file__).parent.parent
CHAPTERS = [f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.ipynb"))]
PLAYGROUND = "chapters/16-playground.html"
LANES = "chapters/train-it-yourself.html"
GUESSES = "chapters/guess-first.html"
EXPLORING = [chapter for chapter in CHAPTERS if chapter not in (PLAYGROUND, LANES, GUESSES)]  # chapters with explorers
SAMPLES = [chapter for chapter in CHAPTERS if chapter[9:11] in ("02", "08", "14")]  # lines, a solid, grids
FLAGS = [
    "--no-sandbox",  # CI runs as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the network is cut for every test
]
FLAT = ["--disable-gpu"]
SOLID = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # 3-D without a graphics card, at twice the time
# What a chapter lays out in its first idle second (coming.js) is there at once; test_reading.py tests that second.
WHOLE = "addEventListener('DOMContentLoaded', () => document.documentElement.classList.remove('px-coming'))"
PATIENCE = 180_000  # ms: a test of what a page does waits as long as that takes on a busy machine
FAILED = pytest.StashKey()


def sampled(values, chosen):
    """Parameters of a test: `make test` takes those that are chosen, `make audit` all others."""
    chosen = list(chosen)
    given = [(value if isinstance(value, tuple) else [value], value in chosen) for value in values]
    return [pytest.param(*value, marks=[] if is_chosen else pytest.mark.audit) for value, is_chosen in given]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def keep_pictures(request, contexts):
    """What the pages of a failed test show, and where they are."""
    reports = request.config.rootpath / "_build" / "reports" / "tests"
    reports.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", request.node.name)[:100]
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages):
        (reports / f"{name}-{number}.txt").write_text(page.url)
        with contextlib.suppress(Error):  # a page that hangs has no picture
            page.screenshot(path=reports / f"{name}-{number}.png", timeout=10_000)


@pytest.fixture(scope="session")
def launch():
    """Start Chromium for pages with or without a solid, each once."""
    path = chromium()
    with sync_playwright() as playwright:

        @functools.cache
        def launch(solid):
            return playwright.chromium.launch(executable_path=path, args=FLAGS + (SOLID if solid else FLAT))

        yield launch
        for solid in (False, True):
            launch(solid).close()


@pytest.fixture
def open_page(launch, request):
    """Open an address; returns the page, the foreign addresses it asks for, and what it logs as errors.

    solid: whether the page draws in 3-D; without it, whether an explorer of the address does.
    """
    contexts = []

    def open_page(url, width=1280, theme="light", scripts=True, solid=None):
        if solid is None:
            with contextlib.nullcontext() if url == "about:blank" else urllib.request.urlopen(url) as answer:
                solid = answer is not None and b'data-bundle="gl3d"' in answer.read()
        context = launch(solid).new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=scripts
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page, foreign, errors = context.new_page(), [], []
        page.on("request", lambda request: None if is_local(request.url) else foreign.append(request.url))
        page.on("console", lambda message: errors.append(message.text) if is_complaint(message) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        if scripts:
            page.add_init_script(WHOLE)
            page.add_init_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')")
        page.goto(url)
        page.mouse.move(3, 3, steps=3)  # a reader is there
        return page, foreign, errors

    yield open_page
    if request.node.stash.get(FAILED, False):
        keep_pictures(request, contexts)
    for context in contexts:
        context.close()


@functools.cache
def soup(path):
    """A page that no test changes, parsed once."""
    return BeautifulSoup(path.read_text(encoding="utf8"), "html.parser")


def address(page):
    """Where the page says it is, after what it has put off; Playwright's own `page.url` learns of it a little later."""
    return page.evaluate("new Promise((done) => setTimeout(() => done(location.href)))")


# Chromium's: to plotly, on how fast it reads its own canvas, and on the book's type that a first page's fetch has kept.
HINTS = [
    *("willReadFrequently", "GPU stall due to ReadPixels"),
    *(f"/source-{kind}.woff2 was preloaded using link preload but not used" for kind in ("sans", "serif")),
]


def is_complaint(message):
    """Errors and warnings, but no hints."""
    return message.type in ("error", "warning") and not any(hint in message.text for hint in HINTS)


def is_local(url):
    return url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:", "about:"))


@pytest.fixture(scope="session")
def axe():
    """Run axe-core's default rules on a page; returns (rule, places) for each violation."""
    source = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()

    def run(page):
        page.evaluate(source)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]  # all else doubles the time
        return [(rule["id"], [node["target"] for node in rule["nodes"]][:5]) for rule in found]

    return run


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        if not isinstance(sys.exception(), ConnectionError):  # a reader who has gone is no failure
            super().handle_error(*args)


@contextlib.contextmanager
def serve(folder, handler=QuietHandler):
    """A folder over http on this machine; yields its address."""
    handler = functools.partial(handler, directory=str(folder))
    with QuietServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def site_url(site):
    """The address of the built site."""
    with serve(site) as url:
        yield url
