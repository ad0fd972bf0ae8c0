"""The doors beside the site and JupyterLab: Notebook 7, Voila, and saved notebooks where no kernel runs.

Each is the real program. What explorers show there is compared with what torch computes here.
"""

import re
import shutil
import subprocess
import sys

import nbformat
import numpy as np
import pytest
import torch
from browser import ROOT
from chapter_code import chapter_code, code_of, playground_cells
from lab import cells_with, jupyter_lab, loss_without, notebook_7, run_all, show, voila
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from plusx.explore import Explorer
from plusx.explore.figures import table

CHAPTER = "10-attention-mixes"  # every kind of control, and a second to run
WIDGET = "application/vnd.jupyter.widget-view+json"
PANEL = ".widget-vbox:has([role=status])"
HAS_TABLES = """([root, expected]) => {
  const page = document.createElement('template');
  page.innerHTML = expected;
  return [...root.querySelectorAll('table')].map(table => table.outerHTML).join('') === page.innerHTML;
}"""
HAS_DRAWN = """([root, expected]) => {
  const { data } = root.querySelector('.js-plotly-plot');
  const numbers = (values) => JSON.stringify([...values].map(v => Number.isFinite(v) ? v : null));
  return data.length === expected.length && expected.every((trace, i) =>
    Object.entries(trace).every(([key, values]) => numbers(data[i][key]) === numbers(values)));
}"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A folder with an explorer and a playground really run, saved with and without the state of their widgets."""
    folder = tmp_path_factory.mktemp("saved")
    first = code_of(CHAPTER).values()
    last = next(index for index, source in enumerate(first) if "@explore(" in source)
    sources = [*list(first)[: last + 1], *playground_cells()]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute(cwd=str(ROOT / "chapters"))
    nbformat.write(notebook, folder / "with.ipynb")
    del notebook.metadata["widgets"]
    nbformat.write(notebook, folder / "without.ipynb")
    return folder


# ---- with a kernel: Notebook 7 and Voila -------------------------------------------------------------------------


def assert_shows(panel, explorer, state):
    """Result line, data table and picture become those of the state."""
    title, figure = explorer.figure(tuple(state))
    panel.locator("[role=status]").get_by_text(title, exact=True).wait_for(timeout=10_000)
    numbers = [
        {key: [v if np.isfinite(v) else None for v in trace[key].tolist()] for key in "xy" if has_numbers(trace, key)}
        for trace in figure["data"]
    ]
    root = panel.element_handle()
    for condition, expected in (HAS_TABLES, table(figure)), (HAS_DRAWN, numbers):
        panel.page.wait_for_function(condition, arg=[root, expected], timeout=10_000)


def has_numbers(trace, key):
    return isinstance(trace.get(key), np.ndarray)


def walk(panel, explorer):
    """Use each control twice, most by key and by mouse, and compare what is shown with what torch computes here."""
    state = list(explorer.start)
    assert_shows(panel, explorer, state)
    for index, control in enumerate(explorer.controls):
        place, count = panel.locator(".widget-hbox > *").nth(index), len(control.values)
        for by_key in (True, False):
            state[index] = (state[index] + 1) % count
            if control.kind == "slider":  # pages of five steps; the arrow keys Notebook takes for itself
                state[index] = count - 1 if by_key else max(count - 6, 0)
                place.locator(".noUi-handle").press("PageUp" if by_key else "PageDown")
            elif control.kind == "select":
                place.locator("select").select_option(index=state[index])
            else:
                buttons = place.locator("input" if control.kind == "switch" else "button")
                button = buttons.nth(0 if control.kind == "switch" else state[index])
                button.press("Space") if by_key else button.click()
            assert_shows(panel, explorer, state)


def assert_answers(playground):
    """A switch of the playground brings the loss that torch finds for it."""
    result = playground.locator(".px-result")
    result.filter(has_text="As trained").wait_for(timeout=20_000)
    text = "It writes on: x"
    playground.locator("textarea").fill(text)
    playground.get_by_role("group", name="Layer 3").get_by_role("switch", name="attention: branch").click()
    result.filter(has_text=loss_without(text, "attention branch")).wait_for(timeout=10_000)


@pytest.fixture(scope="module")
def explorers():
    """The first two explorers of the chapter, computed by torch in this process with the chapter's own settings."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    cells = code_of(CHAPTER)
    last = [index for index, source in enumerate(cells.values()) if "@explore(" in source][1]
    namespace = vars(chapter_code(CHAPTER, *list(cells)[: last + 1]))
    yield [each for each in namespace.values() if isinstance(each, Explorer)]
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder with the chapter, and the playground below it."""
    folder = tmp_path_factory.mktemp("served")
    notebook = nbformat.read(ROOT / "chapters" / f"{CHAPTER}.ipynb", as_version=4)
    notebook.cells += [new_code_cell(source) for source in playground_cells()]
    nbformat.write(notebook, folder / "chapter.ipynb")
    return folder


def test_notebook_7_runs_a_chapter(served, explorers, open_page):
    with notebook_7(served) as url:
        page, foreign, _ = open_page("about:blank", solid=False)
        assert run_all(page, url, "chapter.ipynb", door="notebooks") == []
        for index, explorer in zip(cells_with(page, "@explore("), explorers):
            walk(show(page, index, ".js-plotly-plot .main-svg").locator(PANEL), explorer)
        (index,) = cells_with(page, "playground(nets")
        assert_answers(show(page, index, ".px-diagram").locator(".plusx-playground"))
        assert page.locator(".myst").count() and "{cite" not in page.locator(".jp-Notebook").inner_text()
        assert foreign == []


# Where reading the script of a figure, 5 MB of plotly, takes 2.5 s: a small machine, or one that does much else.
SLOW = """const make = URL.createObjectURL;
URL.createObjectURL = (blob) => {
  const until = performance.now() + (blob.size > 1e6 ? 2500 : 0);
  while (performance.now() < until);
  return make(blob);
};"""


def test_voila_shows_a_chapter_on_a_slow_machine(served, explorers, open_page):
    """Its page connects when all cells have run, and asks another host for icons, and for nothing else."""
    with voila(served) as url:
        page, foreign, _ = open_page("about:blank", solid=False)
        page.add_init_script(SLOW)
        page.goto(f"{url}/voila/render/chapter.ipynb", timeout=60_000)
        for index, explorer in enumerate(explorers):
            panel = page.locator(PANEL).nth(index)
            panel.locator(".main-svg").first.wait_for(timeout=60_000)
            walk(panel, explorer)
        assert_answers(page.locator(".plusx-playground"))
        assert [address for address in foreign if "/fontawesome-free@" not in address] == []


# ---- without a kernel: what a file keeps -------------------------------------------------------------------------


def assert_still(page, explorer):
    """Title, values of the controls, picture and data of the start state; and the playground's table."""
    title, figure = explorer.figure(explorer.start)
    page.get_by_text(title, exact=True).first.wait_for(timeout=20_000)
    picture = page.get_by_role("img", name=title, exact=True)
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.decode().then(() => [image.width, image.height])") == [
        720, figure["layout"]["height"],
    ]  # fmt: skip
    state = ", ".join(f"{c.title}: {c.labels[c.start]}" for c in explorer.controls)
    assert page.get_by_text(f"at its start ({state}). To switch, run the notebook up to this cell.").count() == 1
    shown = page.locator("details:has-text('Data of this picture')")
    assert shown.evaluate(f"(root, expected) => ({HAS_TABLES})([root, expected])", table(figure))


def test_nbconvert_shows_what_the_file_keeps(executed, explorers, open_page):
    """As nbviewer, which runs it: the widget where the file has its state, the still picture where it has none."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level=ERROR"]
    subprocess.run([*command, executed / "with.ipynb", executed / "without.ipynb"], check=True)
    page, foreign, _ = open_page((executed / "without.html").as_uri(), solid=False)
    assert_still(page, explorers[0])
    assert page.get_by_role("row", name=re.compile("No attention skips")).count() == 2
    assert [url for url in foreign if "require" not in url and "mathjax" not in url] == []  # nbconvert's own two
    live = (executed / "with.html").read_text(encoding="utf8")
    assert live.count(f'<script type="{WIDGET}">') == 2 and "up to this cell" not in live


def test_a_strangers_notebook_has_its_pictures_in_jupyterlab_with_no_kernel(executed, explorers, tmp_path, open_page):
    """One that was run and trusted here has not: Lab's widgets have no fallback when their model is gone."""
    shutil.copy(executed / "without.ipynb", tmp_path / "strange.ipynb")
    none = "--KernelSpecManager.ensure_native_kernel=False", "--KernelSpecManager.allowed_kernelspecs=none"
    with jupyter_lab(tmp_path, *none) as url:
        page, foreign, _ = open_page(f"{url}/lab/tree/strange.ipynb?reset", solid=False)
        page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        assert_still(page.locator(".jp-Notebook"), explorers[0])
        assert foreign == []
