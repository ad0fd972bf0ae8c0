"""Chapters in JupyterLab in Chromium: run all, toggle, and the figure changes."""

import itertools
import shutil
import statistics

import nbformat
import pytest
from browser import ROOT, SAMPLES, address
from chapter_code import playground_cells
from lab import NOTEBOOK, cells_with, click_to_redraw, jupyter_lab, loss_without, run_all, show
from nbformat.v4 import new_code_cell

BRIEF = [SAMPLES[0], SAMPLES[2]]  # the other sample runs for half a minute
TOGGLES = "input[type=checkbox], .widget-toggle-buttons button:not(.mod-active), select"
# Click a switch of the playground, then milliseconds until its result line has changed.
SWITCH_TO_RESULT = """([cell, label]) => new Promise((done) => {
  const result = cell.querySelector('.px-result');
  const begun = performance.now();
  const watch = new MutationObserver(() => { watch.disconnect(); done(performance.now() - begun); });
  watch.observe(result, { childList: true, characterData: true, subtree: true });
  cell.querySelector(`[role=switch][aria-label="${label}"]`).dispatchEvent(new MouseEvent('click'));
})"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "chapters", folder / "chapters")
    notebook = nbformat.read(ROOT / "chapters" / "17-playground.ipynb", as_version=4)
    notebook.cells = [new_code_cell(source) for source in playground_cells()]
    nbformat.write(notebook, folder / "playground.ipynb")
    with jupyter_lab(folder) as url:
        yield url


@pytest.mark.parametrize("chapter", BRIEF)
def test_run_all_then_toggle(lab, chapter, open_page):
    run_all_then_toggle(lab, chapter, open_page)


def run_all_then_toggle(lab, chapter, open_page):
    """Every explorer of a chapter answers its toggles; `make audit` walks the chapters that are no sample."""
    notebook = chapter.replace(".html", ".ipynb")
    page, foreign, _ = open_page("about:blank", solid='"surface"' in (ROOT / notebook).read_text())
    assert run_all(page, lab, notebook) == []
    cells = cells_with(page, "@explore(")
    assert cells, f"{notebook} has no explorer"
    times = []
    for index in cells:
        cell = show(page, index, ".js-plotly-plot .main-svg")
        toggles = cell.locator(TOGGLES).all()
        clicks = (click_to_redraw(page, cell, toggle) for toggle in toggles)
        redrawn = list(itertools.islice((t for t in clicks if t), 3))  # some have no effect in some states
        status = page.evaluate(f"() => {NOTEBOOK}.sessionContext.session.kernel.status")
        assert redrawn, f"{notebook}: none of {len(toggles)} toggles changes cell {index}; its kernel is {status}"
        assert cell.locator("[role=alert]").count() == 0
        times += redrawn
    page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")
    print(f"\n{notebook}: {len(times)} toggles, click to redraw: median {statistics.median(times):.0f} ms")
    assert statistics.median(times) < 1000
    assert foreign == []


def test_the_playground_answers_from_the_kernel(lab, open_page):
    page, foreign, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    (index,) = cells_with(page, "playground(nets")
    cell = show(page, index, ".plusx-playground .pg-switch")
    result = cell.locator(".px-result")
    result.filter(has_text="As trained").wait_for(timeout=20_000)
    assert cell.locator(".pg-load").is_hidden()
    before = address(page)
    text = "It writes on: x"
    cell.locator("textarea").fill(text)
    times = []
    for kind in ("skip around attention", "attention", "activation, ReLU"):
        times.append(page.evaluate(SWITCH_TO_RESULT, [cell.element_handle(), f"Layer 3: {kind}"]))
    loss = loss_without(text, "attention skip", "attention branch", "activation")
    assert f"no activation 3: {loss}" in result.inner_text()
    assert address(page) == before
    print(f"\nplayground in JupyterLab, switch to result: {', '.join(f'{t:.0f}' for t in times)} ms")
    assert statistics.median(times) < 500
    assert foreign == []
