"""JupyterLab, Notebook 7 and Voila over a copy of some notebooks, and the few things tests ask of them.

What an explorer shows there is compared with what its function returns in the test's own process.
"""

import asyncio
import contextlib
import io
import re
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from chapter_code import chapter_code, code_of
from decoding import decode_bytes
from playwright.sync_api import TimeoutError
from torch.nn import functional as F

from plusx.explore import Explorer
from plusx.explore.drawn import paths
from plusx.explore.figures import table
from plusx.explore.states import packed
from plusx.nets.switched import LAYER, encode, load, trained

# The notebook in front, in the page's own terms.
NOTEBOOK = "window.jupyterapp.shell.currentWidget"
CODE_CELLS = f"{NOTEBOOK}.content.widgets.filter(c => c.model.type === 'code')"
NO_KERNEL = "--KernelSpecManager.ensure_native_kernel=False", "--KernelSpecManager.allowed_kernelspecs=none"
DRAWN = ".plusx-explore.px-live :is(.main-svg, .px-plot .px-drawn, canvas.px-carpet)"
CHANGING = "[data-control]:not(:checked), [data-control][type=checkbox]"  # what changes the state when it is used

# Use a control, then milliseconds until the cell's picture has changed and the frame that shows it is out.
CLICK_TO_REDRAW = """([cell, control]) => new Promise((done) => {
  const plots = [...cell.querySelectorAll('.js-plotly-plot')];
  const drawn = () => [...cell.querySelectorAll(':is(.main-svg, .px-plot) :is(path, text, image), .jp-OutputArea img')]
    .map(n => ['d', 'transform', 'src', 'style'].map(a => n.getAttribute(a)).join() + n.href?.baseVal + n.textContent)
    .join()
    + plots.flatMap(p => p.data.filter(t => t.type === 'surface').map(t => t.z.join())).join()
    + [...cell.querySelectorAll('canvas.px-carpet')].map(c => c.toDataURL()).join();
  const before = drawn(), begun = performance.now();
  const look = () => {
    if (drawn() === before) return;
    watch.disconnect();
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - begun);
      channel.port2.postMessage(0);
    });
  };
  const watch = new MutationObserver(look);
  watch.observe(cell, { subtree: true, childList: true, attributes: true });
  for (const plot of plots) plot.on('plotly_afterplot', look); // a canvas changes without a mutation
  setTimeout(() => { watch.disconnect(); done(null); }, 8000);
  if (['checkbox', 'radio'].includes(control.type)) control.click();
  else {
    const count = control.options?.length ?? Number(control.max) + 1;
    control.value = control.options?.[(control.selectedIndex + 1) % count].value ?? (Number(control.value) + 1) % count;
    for (const kind of ['input', 'change']) control.dispatchEvent(new Event(kind, { bubbles: true }));
  }
})"""
NUMBER = r"-?[\d.]+"
# Whether the lines of a drawn figure have come to where they belong.
HAS_WAYS = """([root, expected]) => {
  const lines = root.querySelectorAll('.px-plot .px-drawn > :is(path:not(.px-layer, .px-zero), text)');
  const way = (line) => line.getAttribute('d') ?? line.getAttribute('transform');
  const ways = [...lines].map((line) => (way(line).match(/-?[\\d.]+/g) ?? []).map(Number));
  const near = (way, i) => way.every((number, j) => Math.abs(number - ways[i][j]) < 0.11);
  return expected.every((way, i) => ways[i]?.length === way.length && near(way, i));
}"""
HAS_TABLES = """([root, expected]) => {
  const page = document.createElement('template');
  page.innerHTML = expected;
  return [...root.querySelectorAll('table')].map(table => table.outerHTML).join('') === page.innerHTML;
}"""
# Behind the traces of the state stand those of the one before, faint.
HAS_DRAWN = """([root, expected]) => {
  const { data } = root.querySelector('.js-plotly-plot') ?? { data: [] };
  const numbers = (values) => JSON.stringify(values, (_, value) =>
    ArrayBuffer.isView(value) ? [...value] : typeof value !== 'number' || Number.isFinite(value) ? value : null);
  const same = (trace, i) => Object.entries(trace).every(([key, values]) => numbers(data[i][key]) === numbers(values));
  const faint = ({ hoverinfo }) => hoverinfo === 'skip';
  return data.length >= expected.length && expected.every(same) && data.slice(expected.length).every(faint);
}"""


# A drawn explorer, one of whose settings has no picture.
THREADS = """import torch
from plusx.explore import explore
from plusx.show import threads

@explore(cut=["none", 1, 2, "all"], a=[0.0, 1.0, 2.0])
def drawn(cut, a=1.0):
    x = torch.arange(-2.0, 3)
    if a == 2:
        raise ValueError("no picture of two")
    heights = torch.stack([x, x * (cut not in (1, "all")) + a / 4, x * (cut in ("none", 1)) - a])
    return threads(heights, f"cut {cut}, a {a:g}", (-3, 3), skip=("cut", cut))
"""


@contextlib.contextmanager
def serving(folder: Path, ready: str, *command: str, python=sys.executable):
    """Run a Jupyter server of some Python until `ready` answers; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}", folder / f"{command[0]}.log"
    with open(log, "w") as out:
        server = subprocess.Popen([python, "-m", *command, f"--port={port}"], stdout=out, stderr=out)
        try:
            for _ in range(240):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}{ready}").close()
                    break
                if server.poll() is not None:
                    raise RuntimeError(log.read_text())
                time.sleep(0.25)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:  # on a busy machine it waits long for its kernels
                server.kill()
                server.wait()


def jupyter(app, folder, *more, **how):
    """A server for one who is alone on this machine; its page shows the application to tests."""
    return serving(
        folder, "/api/status", app, "--no-browser", "--allow-root", "--expose-app-in-browser", "--ip=127.0.0.1",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}",
        f"--LabServerApp.workspaces_dir={folder}/workspaces", *more, **how,
    )  # fmt: skip


def jupyter_lab(folder: Path, *more: str, **how):
    """Serve `folder` with JupyterLab; yields its address. how: `python`, another than this one."""
    return jupyter(
        "jupyterlab", folder, "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        f"--LabApp.workspaces_dir={folder}/workspaces", f"--LabApp.user_settings_dir={folder}/settings", *more,
        **how,
    )  # fmt: skip


def notebook_7(folder: Path):
    """Serve `folder` with Notebook 7; yields its address."""
    return jupyter("notebook", folder)


def voila(folder: Path):
    """Serve `folder` with Voila; yields its address."""
    return serving(folder, "/", "voila", "--no-browser", "--Voila.ip=127.0.0.1", str(folder))


def run_all(page, url, notebook, door="lab/tree"):
    """Open a notebook, run it, and return the errors its cells put out. door: where the server opens notebooks."""
    page.goto(f"{url}/{door}/{notebook}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function(f"() => {NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(f"() => {CODE_CELLS}.every(c => c.model.executionCount)", timeout=600_000)
    page.wait_for_function(f"() => {NOTEBOOK}.sessionContext.session.kernel.status === 'idle'")
    outputs = page.evaluate(f"() => {CODE_CELLS}.flatMap(c => c.model.outputs.toJSON())")
    return [output for output in outputs if output["output_type"] == "error"]


def cells_with(page, marker):
    """The numbers of the code cells whose source holds `marker` at the start of a line."""
    sources = page.evaluate(f"() => {NOTEBOOK}.content.widgets.map(c => c.model.sharedModel.getSource())")
    return [
        index for index, source in enumerate(sources) if any(line.startswith(marker) for line in source.split("\n"))
    ]


def wait_in_sight(shown, bring):
    """Bring a picture into sight until it is drawn: what grows above as it comes into view pushes it out again."""
    for _ in range(30):
        with contextlib.suppress(TimeoutError):
            bring()
            shown.wait_for(timeout=2000)
            break
    shown.wait_for(timeout=2000)


def show(page, index, picture):
    """Bring a cell into view (Lab renders only what is near it) and wait for its picture."""
    cell = page.locator(f".jp-Notebook:visible .jp-Cell[data-windowed-list-index='{index}']")

    def bring():
        page.evaluate(
            f"i => {{ {NOTEBOOK}.content.activeCellIndex = i; {NOTEBOOK}.content.scrollToItem(i, 'start'); }}", index
        )
        cell.locator(".jp-OutputArea-output").last.scroll_into_view_if_needed(timeout=2000)  # below long code

    wait_in_sight(cell.locator(picture).first, bring)
    page.wait_for_timeout(1000)  # Lab goes on laying out, and may render the cell once more
    return cell


def execute(page, command, **options):
    """A command of Lab's, done."""
    run = "([name, options]) => window.jupyterapp.commands.execute(name, options).then(() => null)"
    page.evaluate(run, [command, options])


def click_to_redraw(page, cell, control):
    """Milliseconds from a click on `control` to the changed picture, or None if it does not change in 8 s."""
    return page.evaluate(CLICK_TO_REDRAW, [cell.element_handle(), control.element_handle()])


def assert_threads_answer(page, explorer):
    """`THREADS`, wherever a page shows them: a press, a state that fails and says so, and the next one."""
    panel = page.locator(".plusx-explore")
    assert_shows(panel, explorer, explorer.start)
    panel.get_by_role("switch", name="Skip around layer 2").click()
    assert_shows(panel, explorer, (2, 1))
    panel.get_by_text("2.0", exact=True).click()
    panel.locator("[role=alert]").get_by_text("no picture of two").wait_for()
    assert_shows(panel, explorer, (2, 1))
    panel.get_by_text("0.0", exact=True).click()
    assert_shows(panel, explorer, (2, 0))
    assert panel.locator("[role=alert]").inner_text() == ""


def explorer_of(cell):
    """The one explorer of a cell's code, computed in this process."""
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()):  # a picture's HTML is long
        exec(cell, namespace)
    (explorer,) = (each for each in namespace.values() if isinstance(each, Explorer))
    return explorer


@contextlib.contextmanager
def explorers_of(chapter, first=None):
    """The explorers of a chapter, all or the first so many, computed in this process with the chapter's settings."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    cells = code_of(chapter)
    last = [index for index, source in enumerate(cells.values()) if "@explore(" in source][:first][-1]
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # a picture's HTML is long
            namespace = vars(chapter_code(chapter, *list(cells)[: last + 1]))
        yield [each for each in namespace.values() if isinstance(each, Explorer)]
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def assert_shows(panel, explorer, state):
    """Result line, data table and picture of an explorer become those of the state, as its function returns it here."""
    title, figure = explorer.figure(tuple(state))
    figure, _ = decode_bytes(packed([(title, figure)], 1))  # each number as the encoding rounds it
    panel.locator(".px-result").get_by_text(title, exact=True).wait_for()
    if panel.locator(".px-data:not([open])").count():
        panel.locator(".px-data > summary").click()
    numbers = [
        {key: np.where(np.isfinite(trace[key]), trace[key], None).tolist() for key in "xyz" if has_numbers(trace, key)}
        for trace in figure["data"]
    ]
    root = panel.element_handle()
    conditions = [(HAS_TABLES, table(figure)), (HAS_DRAWN, numbers)]
    if "drawn" in figure:
        ways = [] if figure["drawn"] == "carpet" else [re.findall(NUMBER, path) for path in paths(figure)]
        conditions[1] = HAS_WAYS, [[float(number) for number in way] for way in ways]
    for condition, expected in conditions:
        panel.page.wait_for_function(condition, arg=[root, expected])


def has_numbers(trace, key):
    return isinstance(trace.get(key), np.ndarray)


def walk(panel, explorer):
    """Use each control by key and by mouse, and compare what is shown with what the function returns here.

    Returns the state that the explorer is left in.
    """
    state = list(explorer.start)
    assert_shows(panel, explorer, state)
    for index, control in enumerate(explorer.controls):
        inputs = panel.locator(f"[data-control='{index}']")
        for use in (by_key, by_mouse):
            state[index] = use(inputs, control, state[index])
            assert_shows(panel, explorer, state)
    return state


def by_key(inputs, control, at):
    """Use a control as the keyboard does; returns the place among its values to which that leads."""
    following, last = (at + 1) % len(control.values), len(control.values) - 1
    if control.kind == "switch":
        inputs.press("Space")
    elif control.kind == "radio":
        inputs.nth(at).press("ArrowRight")
    else:  # neither goes round
        inputs.press("ArrowRight" if at < last else "Home")
    return following


def by_mouse(inputs, control, at):
    """As the mouse does."""
    following, last = (at + 1) % len(control.values), len(control.values) - 1
    if control.kind == "switch":
        inputs.click()
    elif control.kind == "radio":
        inputs.nth(following).locator("xpath=..").click()
    elif control.kind == "slider":
        following = 0 if at > last / 2 else last
        width, height = (inputs.bounding_box()[side] for side in ("width", "height"))
        inputs.click(position={"x": 2 if following == 0 else width - 2, "y": height / 2})
    else:
        inputs.select_option(index=following)
    return following


def loss_without(text, *parts):
    """What the text net loses on `text` with some switches of layer 3 off, as the playground says it."""
    net = load("characters")
    switches = trained(net.task)
    for part in parts:
        switches[2 * len(LAYER) + LAYER.index(part)] = 0
    scores = net.look(encode(net.task, text), switches).scores[-1]
    return f"{F.cross_entropy(scores[:-1], encode(net.task, text[1:])):.2f} nats per character"


def run_aside(coroutine):
    """What a coroutine returns, run in a thread of its own: Playwright's event loop keeps this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def peak_bytes(process):
    """The most memory that a process ever held, as Linux tells it."""
    return 1024 * int(Path(f"/proc/{process.pid}/status").read_text().split("VmHWM:")[1].split()[0])
