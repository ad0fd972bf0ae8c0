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
# Click a switch of layer 3, then milliseconds until its result line has changed.
SWITCH_TO_RESULT = """([cell, label]) => new Promise((done) => {
  const result = cell.querySelector('.px-result');
  const begun = performance.now();
  const watch = new MutationObserver(() => { watch.disconnect(); done(performance.now() - begun); });
  watch.observe(result, { childList: true, characterData: true, subtree: true });
  cell.querySelector(`[aria-label="Layer 3"] [aria-label="${label}"]`).dispatchEvent(
    new MouseEvent('click', { bubbles: true }));
})"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "chapters", folder / "chapters")
    notebook = nbformat.read(ROOT / "chapters" / "17-playground.ipynb", as_version=4)
    notebook.cells = [new_code_cell(source) for source in playground_cells()]
    nbformat.write(notebook, folder / "playground.ipynb")
    nbformat.write(notebook, folder / "again.ipynb")
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
    cell = show(page, index, ".plusx-playground .px-diagram")
    result = cell.locator(".px-result")
    result.filter(has_text="As trained").wait_for(timeout=20_000)
    assert cell.locator(".pg-load").is_hidden()
    before = address(page)
    text = "It writes on: x"
    cell.locator("textarea").fill(text)
    times = []
    for name in ("skip around attention", "attention: branch", "activation, ReLU"):
        times.append(page.evaluate(SWITCH_TO_RESULT, [cell.element_handle(), name]))
    loss = loss_without(text, "attention skip", "attention branch", "activation")
    assert f"no activation 3: {loss}" in result.inner_text()
    assert address(page) == before
    print(f"\nplayground in JupyterLab, switch to result: {', '.join(f'{t:.0f}' for t in times)} ms")
    assert statistics.median(times) < 500
    assert foreign == []


LABELS = {"attention": "attention branch", "FFN": "FFN branch"}
GONE = "The kernel has no playground any more: run this cell again."


def playground_in_front(page):
    """The playground of the notebook in front, once it has answered."""
    (index,) = cells_with(page, "playground(nets")
    view = show(page, index, ".plusx-playground .px-diagram").locator(".plusx-playground")
    view.locator(".px-result").filter(has_text="As trained").wait_for(timeout=20_000)
    return view


def branch(view, kind):
    """The switch of a branch of layer 3."""
    return view.get_by_role("group", name="Layer 3").get_by_role("switch", name=f"{kind}: branch")


def switch_off_and_on(view, kind):
    """Press a switch where it stands: the answer is torch's, and in sight."""
    part = branch(view, kind)
    part.locator("rect").first.click()
    result = view.locator(".px-result")
    loss = loss_without(view.locator("textarea").input_value(), LABELS[kind])
    result.filter(has_text=f"No {kind} 3: {loss}").wait_for(timeout=10_000)
    box, height = result.bounding_box(), view.page.viewport_size["height"]
    assert 0 <= box["y"] and box["y"] + box["height"] <= height
    part.locator("rect").first.click()
    result.filter(has_text="As trained").wait_for(timeout=10_000)


def execute(page, command, **options):
    """A command of Lab's, and time for what it does."""
    page.evaluate("([name, options]) => void window.jupyterapp.commands.execute(name, options)", [command, options])
    page.wait_for_timeout(2000)


def test_a_playground_answers_wherever_lab_shows_it(lab, open_page):
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "notebook:move-cell-up")
    switch_off_and_on(playground_in_front(page), "FFN")
    execute(page, "notebook:move-cell-down")  # back: the notebook is saved below, and others run it
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "notebook:create-output-view")
    second = page.locator(".jp-LinkedOutputView .plusx-playground")
    second.locator(".px-result").filter(has_text="As trained").wait_for(timeout=20_000)
    switch_off_and_on(second, "attention")
    switch_off_and_on(page.locator(".jp-Notebook .plusx-playground"), "FFN")
    execute(page, "docmanager:open", path="again.ipynb")
    execute(page, "notebook:run-all-cells")
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "docmanager:open", path="playground.ipynb")
    execute(page, "docmanager:save")
    execute(page, "application:close")
    execute(page, "docmanager:open", path="playground.ipynb")
    view = playground_in_front(page)
    switch_off_and_on(view, "FFN")
    drawn = "e => [...e.getContext('2d').getImageData(31, 300, 1, 1).data].slice(0, 3).map(part => part < 128)"
    for theme, dark_ink in (("JupyterLab Dark", False), ("JupyterLab Light", True)):
        execute(page, "apputils:change-theme", theme=theme)
        assert view.locator(".pg-large canvas").evaluate(drawn) == [dark_ink] * 3


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_playground_without_its_kernel_says_to_run_the_cell_again(lab, open_page, how):
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    view = playground_in_front(page)
    kernel = f"{NOTEBOOK}.sessionContext.session.kernel"
    if how == "restarted":
        page.evaluate(f"() => void {kernel}.restart()")
    else:
        page.evaluate(f"() => void {kernel}.requestExecute({{ code: 'import os; os._exit(1)' }})")
        page.click(".jp-Dialog button.jp-mod-accept", timeout=30_000)  # it tells that the kernel died
    view.get_by_text(GONE).wait_for(timeout=10_000)
    branch(view, "attention").locator("rect").first.click()
    page.wait_for_timeout(500)
    assert view.get_by_text(GONE).is_visible() and view.locator(".px-message:visible").count() == 1
    assert run_all(page, lab, "playground.ipynb") == []
    switch_off_and_on(playground_in_front(page), "attention")
