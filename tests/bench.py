"""Benchmarks, each beside what a reader would use otherwise, in one run: `make bench`.

Not collected by `make test`: numbers depend on the machine. Nothing here asserts more than that
the measured thing happened.
"""

import gzip
import shutil
import statistics
import subprocess
import sys
import time

import nbformat
import pytest
import torch
from browser import CHAPTERS, EXPLORING, LANES, PLAYGROUND, ROOT
from lab import DRAWN, cells_with, jupyter_lab, run_all, show
from test_diagram import LAYER, OPTIONS
from test_diagram import controls as diagram_controls
from test_diagram import states as diagram_states
from test_site import ready

from plusx.explore.diagram import draw
from plusx.nets.switched import TASKS, held_out, load, trained
from plusx.panels.lanes.race import STACK, Training
from plusx.training.step import Lane

# Change a control, then milliseconds until the frame that shows it is out; `react` is plotly's own work in it.
EVENT_TO_PAINT = """async ([root, rounds]) => {
  const inputs = [...root.querySelectorAll('[data-control]')];
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); }));
  const times = [];
  for (let round = 0; round < rounds; round++) {
    await new Promise((done) => setTimeout(done, 40 + Math.random() * 17));
    const input = inputs[Math.floor(Math.random() * inputs.length)];
    const begun = performance.now();
    if (input.type === 'checkbox' || (input.type === 'radio' && !input.checked)) input.click();
    else if (input.type === 'radio') continue;
    else {
      const options = Number(input.max || input.options?.length - 1) + 1;
      input.value = (Number(input.value) + 1 + Math.floor(Math.random() * (options - 1))) % options;
      input.dispatchEvent(new Event('input', { bubbles: true }));
    }
    await painted();
    times.push(performance.now() - begun);
  }
  return times;
}"""
EMPTY_REDRAW = """async (rounds) => {
  const plot = document.body.appendChild(document.createElement('div'));
  plot.style.height = '400px';
  await Plotly.newPlot(plot, [], {}, { displayModeBar: false });
  const times = [];
  for (let round = 0; round < rounds; round++) {
    await new Promise((done) => setTimeout(done, 40 + Math.random() * 17));
    const begun = performance.now();
    Plotly.react(plot, [], { title: { text: String(round) } }, { displayModeBar: false });
    await new Promise((done) => requestAnimationFrame(() => {
      const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); }));
    times.push(performance.now() - begun);
  }
  return times;
}"""


def spread(times):
    times = sorted(times)
    return f"median {statistics.median(times):5.1f} ms, p95 {times[int(0.95 * len(times))]:5.1f} ms, n = {len(times)}"


@pytest.mark.parametrize("chapter", EXPLORING)
def test_static_event_to_paint(site_url, chapter, open_page):
    page, _, _ = open_page(f"{site_url}/{chapter}")
    ready(page)
    everything = []
    print()
    for root in page.locator(".plusx-explore").all():
        times = page.evaluate(EVENT_TO_PAINT, [root.element_handle(), 150])
        everything += times
        print(f"  {root.get_attribute('data-name'):28} {spread(times)}")
    print(f"  {'all explorers of the chapter':28} {spread(everything)}   (aim 20/35, limit 35/60)")
    print(f"  {'an empty plotly redraw':28} {spread(page.evaluate(EMPTY_REDRAW, 150))}")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_weight_of_a_chapter(site_url, chapter, open_page):
    page, _, _ = open_page("about:blank")
    responses = []
    page.on("response", lambda response: responses.append(response))
    page.goto(f"{site_url}/{chapter}")
    ready(page)  # every explorer touched: what a reader loads who uses the whole chapter
    page.wait_for_load_state("networkidle")
    bodies = {response.url: response.body() for response in responses if response.ok}
    weights = {url.removeprefix(site_url): len(gzip.compress(body, 6)) for url, body in bodies.items()}
    print()
    for url, weight in sorted(weights.items(), key=lambda item: -item[1])[:8]:
        print(f"  {weight / 1000:7.1f} kB gz  {url}")
    print(f"  {sum(weights.values()) / 1000:7.1f} kB gz  {chapter}, all {len(weights)} files (aim 900 kB)")


FORWARD = """async (rounds) => {
  const { plusx } = document.querySelector('.plusx-playground');
  const text = 'If an object is not in the list, it is added to the end of it at';
  const tokens = Array.from(text, (token) => plusx.net.alphabet.indexOf(token));
  const forward = [], switched = [];
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    await plusx.engine.ask({ net: 'characters', tokens, switches: Array.from(plusx.switches, Number) });
    forward.push(performance.now() - begun);
  }
  plusx.text = text;
  for (let round = 0; round < rounds; round++) {
    await new Promise((done) => setTimeout(done, 40 + Math.random() * 17));
    const begun = performance.now();
    const at = Math.floor(Math.random() * plusx.trained.length);
    plusx.put(at, 1 - plusx.switches[at]);
    while (plusx.busy) await new Promise((done) => {
      const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
    await new Promise((done) => requestAnimationFrame(() => {
      const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); }));
    switched.push(performance.now() - begun);
  }
  return [tokens.length, forward.slice(20), switched.slice(20)];
}"""


RACE = """async ([words, steps]) => {
  const { plusx } = document.querySelector('.plusx-lanes');
  const race = (steps, begin) => Promise.all(['A', 'B'].map((lane) =>
    plusx.engine.ask({ lane, task: 'spirals', seed: 0, words, steps, begin })));
  await race(0, true);
  const begun = performance.now();
  await race(steps, false);
  return (1000 * steps) / (performance.now() - begun);
}"""


@pytest.mark.parametrize("change", [{}, {"skips": "0" * 16, "scale": "0.1"}], ids=["usual", "vanishing"])
def test_two_lanes_train(site_url, open_page, change):
    """Steps a second of two lanes of 16 blocks in the page's worker, one thread, beside torch's own."""
    page, _, _ = open_page(f"{site_url}/{LANES}")
    page.wait_for_function("document.querySelector('.plusx-lanes').plusx?.history")
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-lanes').plusx.engine")
    words = STACK.usual | change
    rates = [page.evaluate(RACE, [words, 50]) for _ in range(6)]
    torch.set_num_threads(1)
    training, begun = Training(Lane(), "spirals", 0, words), time.perf_counter()
    for _ in range(50):
        training.step(words)
    eager = 25 / (time.perf_counter() - begun)
    print(f"\n  each of two lanes: {min(rates):.0f} to {max(rates):.0f} steps a second (torch, eager: {eager:.0f})")


def test_playground_forward_and_switch(site_url, open_page):
    """A question to the worker and back, and a switch to the picture, beside torch's own forward."""
    page, _, _ = open_page(f"{site_url}/{PLAYGROUND}")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx?.seen")
    begun = time.perf_counter()
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
    print(f"\n  load the nets from this machine: {time.perf_counter() - begun:.1f} s")
    n, forward, switched = page.evaluate(FORWARD, 220)
    net, tokens = load("characters").float(), held_out(TASKS["characters"])[0, :n]
    torch.set_num_threads(1)
    inside = []
    with torch.no_grad():
        for _ in range(200):
            begun = time.perf_counter()
            net.look(tokens, trained(net.task))
            inside.append(1000 * (time.perf_counter() - begun))
    print(f"  forward at {n} characters, in the page {spread(forward)}   (aim p95 10)")
    print(f"  the same in torch, one thread      {spread(inside)}")
    print(f"  switch to paint                    {spread(switched)}   (limit 50)")


# One function, 40 draws of weights, in three cells that a reader could write.
COMPARED = {
    "setup": """
import torch
from torch import nn
def slopes(skip, draw, depth=16):
    torch.manual_seed(int(draw))
    x = torch.linspace(-2, 2, 121)[:, None].requires_grad_()
    y = x
    for _ in range(depth):
        y = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))(y) + (y if skip else 0)
    (slope,) = torch.autograd.grad(y.sum(), x)
    return x.detach()[:, 0], y.detach()[:, 0], slope[:, 0]
DRAWS = [f"{draw:02}" for draw in range(40)]
""",
    "explore": """
from plusx.explore import explore
@explore(skip=True, draw=DRAWS)
def slope_by_explore(skip, draw):
    x, y, slope = slopes(skip, draw)
    return dict(data=[dict(x=x, y=y, name="y"), dict(x=x, y=slope, name="slope", yaxis="y2")],
                layout=dict(title=f"slope up to {slope.abs().max():.2g}",
                            yaxis=dict(domain=[0.5, 1]), yaxis2=dict(domain=[0, 0.4])))
""",
    "interact": """
%matplotlib inline
import matplotlib.pyplot as plt
from ipywidgets import interact
@interact(skip=True, draw=DRAWS)
def slope_by_interact(skip, draw):
    x, y, slope = slopes(skip, draw)
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 4), sharex=True)
    upper.plot(x, y); lower.plot(x, slope); upper.set_title(f"slope up to {slope.abs().max():.2g}")
    plt.show()
""",
    "FigureWidget": """
import plotly.graph_objects as go
from ipywidgets import VBox, interactive
figure = go.FigureWidget(data=[dict(name="y"), dict(name="slope", yaxis="y2")],
                         layout=dict(yaxis=dict(domain=[0.5, 1]), yaxis2=dict(domain=[0, 0.4])))
def slope_by_figure_widget(skip, draw):
    x, y, slope = slopes(skip, draw)
    with figure.batch_update():
        figure.data[0].update(x=x, y=y)
        figure.data[1].update(x=x, y=slope)
        figure.layout.title.text = f"slope up to {slope.abs().max():.2g}"
VBox([interactive(slope_by_figure_widget, skip=True, draw=DRAWS), figure])
""",
}
MARKERS = {"explore": "@explore", "interact": "@interact", "FigureWidget": "figure = go"}
# Choose the next draw, then milliseconds until the picture is another and the frame that shows it is out.
NEXT_DRAW = """(cell) => new Promise((done) => {
  const select = cell.querySelector('select');
  const picture = () => [...cell.querySelectorAll('.scatterlayer path, .jp-OutputArea img')]
    .map((node) => node.getAttribute('d') ?? node.src).join();
  const before = picture(), begun = performance.now();
  const look = () => {
    if (picture() === before) return;
    watch.disconnect();
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - begun);
      channel.port2.postMessage(0);
    });
  };
  const watch = new MutationObserver(look);
  watch.observe(cell, { subtree: true, childList: true, attributes: true });
  setTimeout(() => { watch.disconnect(); done(null); }, 8000);
  select.selectedIndex += 1;
  for (const event of ['input', 'change']) select.dispatchEvent(new Event(event, { bubbles: true }));
})"""


def test_live_click_to_redraw_beside_interact_and_a_figure_widget(open_page, tmp_path):
    """New states, at once after the last or after a second of rest, by turns: a busy moment meets all."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s.strip()) for s in COMPARED.values()])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "compared.ipynb")
    at_once, rested = ({name: [] for name in MARKERS} for _ in range(2))
    with jupyter_lab(tmp_path) as url:
        page, _, _ = open_page("about:blank")
        assert run_all(page, url, "compared.ipynb") == []
        for _ in range(3):
            for name, marker in MARKERS.items():
                (index,) = cells_with(page, marker)
                cell = show(page, index, "img" if name == "interact" else ".main-svg").element_handle()
                for times, rest in ((at_once, 60), (rested, 1000)):
                    for _ in range(6):
                        times[name].append(page.evaluate(NEXT_DRAW, cell))
                        page.wait_for_timeout(rest)
    print()
    for when, times in (("at once after the last", at_once), ("after a second of rest", rested)):
        for name, each in times.items():
            print(f"  {name:12} {when}  {spread([t for t in each if t])}")
        base = statistics.median(times["explore"])
        for other in ("interact", "FigureWidget"):
            print(f"  explore / {other:12} {when}  {base / statistics.median(times[other]):.2f}")
    print("  (aim: 0.4 of interact, 50/80 ms)")


def test_what_a_chapter_costs_in_jupyterlab(open_page, tmp_path):
    """Chapter 10: from "run all" until the kernel is idle and all pictures are drawn, and what its socket carried."""
    shutil.copytree(ROOT / "chapters", tmp_path / "chapters")
    carried = []

    def listen(socket):
        if "/api/kernels/" in socket.url:
            for event in ("framereceived", "framesent"):
                socket.on(event, lambda frame: carried.append(len(frame)))

    with jupyter_lab(tmp_path) as url:
        page, _, _ = open_page("about:blank")
        page.on("websocket", listen)
        begun = time.perf_counter()
        assert run_all(page, url, "chapters/10-attention-mixes.ipynb") == []
        print(f"\n  open and run chapter 10: {time.perf_counter() - begun:.1f} s")
        for index in cells_with(page, "@explore("):
            show(page, index, DRAWN)
        print(f"  and see each of its explorers: {sum(carried) / 1e6:.1f} MB on the kernel's socket")


def test_a_state_of_a_diagram():
    given = diagram_controls(**OPTIONS, **{f"block_{i}": True for i in range(6)})
    line, every = LAYER + "".join(f" block_{i}:[F]" for i in range(6)), diagram_states(given)
    began = time.perf_counter()
    for state in every:
        draw(line, given, state)
    print(f"\n  {1000 * (time.perf_counter() - began) / len(every):.2f} ms a state, of {len(every)} (aim: 1)")


def test_cold_and_warm_build(tmp_path):
    book = tmp_path / "book"
    ignored = shutil.ignore_patterns("_build", ".git", ".venv", "node_modules")
    shutil.copytree(ROOT, book, ignore=ignored)
    (book / "node_modules").symlink_to(ROOT / "node_modules")
    print()
    for kind in ("cold", "unchanged", "one page edited"):
        if kind == "one page edited":
            with open(book / "index.md", "a") as page:
                page.write("\nOne more line.\n")
        begun = time.perf_counter()
        command = [sys.executable, book / "site" / "build" / "build.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(f"  make book, {kind}: {time.perf_counter() - begun:.1f} s")
        if kind == "cold":
            print("\n".join(f"  {line}" for line in done.stdout.splitlines() if " MB" in line))
