"""JupyterLab, Notebook 7 and Voila over a copy of some notebooks, and the few things tests ask of them."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torch.nn import functional as F

from plusx.switched import LAYER, encode, load, trained

# The notebook in front, in the page's own terms.
NOTEBOOK = "window.jupyterapp.shell.currentWidget"
CODE_CELLS = f"{NOTEBOOK}.content.widgets.filter(c => c.model.type === 'code')"

# Click, then milliseconds until the cell's picture has changed and the frame that shows it is out.
CLICK_TO_REDRAW = """([cell, control]) => new Promise((done, fail) => {
  const plots = [...cell.querySelectorAll('.js-plotly-plot')];
  const drawn = () => [...cell.querySelectorAll('.main-svg :is(path, text, image), .jp-OutputArea img')]
    .map(n => ['d', 'transform', 'src', 'style'].map(a => n.getAttribute(a)).join() + n.href?.baseVal + n.textContent)
    .join()
    + plots.flatMap(p => p.data.filter(t => t.type === 'surface').map(t => t.z.join())).join();
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
  if (control.tagName !== 'SELECT') control.click();
  else {
    control.selectedIndex = (control.selectedIndex + 1) % control.options.length;
    control.dispatchEvent(new Event('change', { bubbles: true }));
  }
})"""


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
            server.wait(20)


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
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(f"() => {NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'", timeout=60_000)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(f"() => {CODE_CELLS}.every(c => c.model.executionCount)", timeout=300_000)
    page.wait_for_function(f"() => {NOTEBOOK}.sessionContext.session.kernel.status === 'idle'", timeout=60_000)
    outputs = page.evaluate(f"() => {CODE_CELLS}.flatMap(c => c.model.outputs.toJSON())")
    return [output for output in outputs if output["output_type"] == "error"]


def cells_with(page, marker):
    """The numbers of the code cells whose source holds `marker` at the start of a line."""
    sources = page.evaluate(f"() => {NOTEBOOK}.content.widgets.map(c => c.model.sharedModel.getSource())")
    return [
        index for index, source in enumerate(sources) if any(line.startswith(marker) for line in source.split("\n"))
    ]


def show(page, index, picture):
    """Bring a cell into view (Lab renders only what is near it) and wait for its picture."""
    page.evaluate(
        f"i => {{ {NOTEBOOK}.content.activeCellIndex = i; {NOTEBOOK}.content.scrollToItem(i, 'start'); }}", index
    )
    cell = page.locator(f".jp-Notebook:visible .jp-Cell[data-windowed-list-index='{index}']")
    cell.locator(picture).first.wait_for(timeout=60_000)
    page.wait_for_timeout(1000)  # Lab goes on laying out, and may render the cell once more
    return cell


def click_to_redraw(page, cell, control):
    """Milliseconds from a click on `control` to the changed picture, or None if it does not change in 8 s."""
    return page.evaluate(CLICK_TO_REDRAW, [cell.element_handle(), control.element_handle()])


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
