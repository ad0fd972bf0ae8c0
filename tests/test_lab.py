"""JupyterLab in Chromium: chapters run and toggled, and one small explorer wherever Lab shows it."""

import contextlib
import io
import itertools
import re
import shutil
import statistics
from pathlib import Path

import nbformat
import pytest
from browser import EXPLORING, ROOT, address, sampled
from chapter_code import code_of, playground_cells
from lab import (
    CHANGING,
    DRAWN,
    HAS_TABLES,
    NO_KERNEL,
    NOTEBOOK,
    assert_shows,
    cells_with,
    click_to_redraw,
    execute,
    explorers_of,
    jupyter_lab,
    loss_without,
    run_all,
    show,
    walk,
)
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from plusx.explore.figures import table
from plusx.panels.lanes.race import STACK, Training
from plusx.training.step import Lane

BRIEF = [chapter for chapter in EXPLORING if chapter[9:11] == "17"]  # it runs for seconds
LOST = ["restarted", "killed"]  # how a kernel goes
IDLE = f"() => {NOTEBOOK}?.sessionContext?.session?.kernel?.status === 'idle'"  # before that, "run all" never ends
# Click a switch of layer 3, then milliseconds until its result line has changed.
SWITCH_TO_RESULT = """([cell, label]) => new Promise((done) => {
  const result = cell.querySelector('.px-result');
  const begun = performance.now();
  const watch = new MutationObserver(() => { watch.disconnect(); done(performance.now() - begun); });
  watch.observe(result, { childList: true, characterData: true, subtree: true });
  cell.querySelector(`[aria-label="Layer 3"] [aria-label="${label}"]`).dispatchEvent(
    new MouseEvent('click', { bubbles: true }));
})"""


# Torch-free, so that its kernel starts in a second.
SMALL = """from plusx.explore import explore

@explore(skip=True, depth=[1, 2, 3, 4, 5], kind=["relu", "tanh", "identity"])
def small(skip, depth, kind):
    y = [depth * x + (10 if skip else 0) for x in range(4)]
    ranges = dict(xaxis=dict(range=[0, 3]), yaxis=dict(range=[0, 60]))
    layout = dict(title=f"skip {skip}, depth {depth}, {kind}", **ranges)
    return dict(data=[dict(x=[0, 1, 2, 3], y=y, name="y")], layout=layout, diagram="[linear kind:kind]:skip")
"""
TWIN = SMALL.replace("def small", "def twin")
AT = 1  # the place of its cell
PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the server serves: the chapters, two notebooks with the playground, and one with the lanes."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "chapters", folder / "chapters")
    cells = [new_code_cell(source) for source in playground_cells()]
    for name in ("playground.ipynb", "again.ipynb"):
        nbformat.write(new_notebook(cells=cells, metadata=PYTHON), folder / name)
    lanes = code_of("train-it-yourself")
    cells = [new_code_cell(source) for source in (lanes["setup-torch"], lanes["presets"], "lanes(presets, [])")]
    nbformat.write(new_notebook(cells=cells, metadata=PYTHON), folder / "lanes.ipynb")
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    with jupyter_lab(folder) as url:
        yield url


@pytest.mark.parametrize("chapter", sampled(EXPLORING, BRIEF))
def test_run_all_then_toggle(lab, chapter, open_page):
    """Every explorer of a chapter shows what torch computes here."""
    notebook = chapter.replace(".html", ".ipynb")
    page, foreign, _ = open_page("about:blank", solid='"surface"' in (ROOT / notebook).read_text())
    assert run_all(page, lab, notebook) == []
    times = []
    with explorers_of(Path(notebook).stem) as explorers:
        for index, explorer in zip(cells_with(page, "@explore("), explorers, strict=True):
            cell = show(page, index, DRAWN)
            clicks = (click_to_redraw(page, cell, toggle) for toggle in cell.locator(CHANGING).all())
            redrawn = list(itertools.islice((t for t in clicks if t), 3))  # some have no effect in some states
            status = page.evaluate(f"() => {NOTEBOOK}.sessionContext.session.kernel.status")
            assert redrawn, f"{notebook}: no toggle changes cell {index}; its kernel is {status}"
            times += redrawn
            cell.locator("button[type=reset]").click()
            walk(cell.locator(".plusx-explore"), explorer)
            assert cell.locator("[role=alert]:visible").count() == 0
    page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")
    print(f"\n{notebook}: {len(times)} toggles, click to redraw: {spread(times)}")
    assert foreign == []


def spread(times):
    return f"median {statistics.median(times):.0f} ms, p95 {sorted(times)[int(0.95 * len(times))]:.0f} ms"


def test_the_playground_answers_from_the_kernel(lab, open_page):
    page, foreign, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    (index,) = cells_with(page, "playground(nets")
    cell = show(page, index, ".plusx-playground .px-diagram")
    result = cell.locator(".px-result")
    result.filter(has_text="As trained").wait_for()
    assert cell.locator(".pn-load").is_hidden()
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
    assert foreign == []


def test_the_lanes_train_in_the_kernel(lab, open_page):
    page, foreign, _ = open_page("about:blank")
    assert run_all(page, lab, "lanes.ipynb") == []
    (index,) = cells_with(page, "lanes(presets")
    cell = show(page, index, ".plusx-lanes .px-diagram")
    now = cell.locator(".px-result")
    now.filter(has_text="Step 0").wait_for()
    assert cell.locator(".pn-load").is_hidden()
    cell.get_by_role("button", name="With skips").click()
    cell.get_by_role("button", name="One step").click()
    now.filter(has_text="Step 1,").wait_for()
    loss = Training(Lane(), "signals", 0, STACK.usual).step(STACK.usual).loss
    assert now.inner_text().endswith(f"; B {loss:.3g}.")
    cell.get_by_role("button", name="Play").click()
    now.filter(has_text=re.compile(r"Step [1-9]\d")).wait_for()
    cell.get_by_role("button", name="Pause").click()
    assert foreign == []


LABELS = {"attention": "attention branch", "FFN": "FFN branch"}
GONE = "The kernel has no playground any more: run this cell again."


def playground_in_front(page):
    """The playground of the notebook in front, once it has answered."""
    (index,) = cells_with(page, "playground(nets")
    view = show(page, index, ".plusx-playground .px-diagram").locator(".plusx-playground")
    view.locator(".px-result").filter(has_text="As trained").wait_for()
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
    result.filter(has_text=f"No {kind} 3: {loss}").wait_for()
    box, height = result.bounding_box(), view.page.viewport_size["height"]
    assert 0 <= box["y"] and box["y"] + box["height"] <= height
    part.locator("rect").first.click()
    result.filter(has_text="As trained").wait_for()


def test_the_playground_answers_wherever_lab_shows_it(lab, open_page):
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "notebook:move-cell-up")
    switch_off_and_on(playground_in_front(page), "FFN")
    execute(page, "notebook:move-cell-down")  # back: the notebook is saved below, and others run it
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "notebook:create-output-view")
    second = page.locator(".jp-LinkedOutputView .plusx-playground")
    second.locator(".px-result").filter(has_text="As trained").wait_for()
    switch_off_and_on(second, "attention")
    switch_off_and_on(page.locator(".jp-Notebook .plusx-playground"), "FFN")
    execute(page, "docmanager:open", path="again.ipynb")
    page.wait_for_function(IDLE)
    execute(page, "notebook:run-all-cells")
    switch_off_and_on(playground_in_front(page), "attention")
    execute(page, "docmanager:open", path="playground.ipynb")
    execute(page, "docmanager:save")
    execute(page, "application:close")
    execute(page, "docmanager:open", path="playground.ipynb")
    page.wait_for_function(IDLE)
    view = playground_in_front(page)
    switch_off_and_on(view, "FFN")
    drawn = """([canvas, dark]) =>
        [...canvas.getContext('2d').getImageData(31, 300, 1, 1).data].slice(0, 3).every(part => part < 128 === dark)"""
    canvas = view.locator(".pg-large canvas").element_handle()
    for theme, dark_ink in (("JupyterLab Dark", False), ("JupyterLab Light", True)):
        execute(page, "apputils:change-theme", theme=theme)  # done before Lab looks so
        page.wait_for_function(drawn, arg=[canvas, dark_ink])


@pytest.mark.audit
@pytest.mark.parametrize("how", LOST)
def test_the_playground_without_its_kernel_says_to_run_the_cell_again(lab, open_page, how):
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "playground.ipynb") == []
    view = playground_in_front(page)
    kernel = f"{NOTEBOOK}.sessionContext.session.kernel"
    if how == "restarted":
        page.evaluate(f"() => void {kernel}.restart()")
    else:
        page.evaluate(f"() => void {kernel}.requestExecute({{ code: 'import os; os._exit(1)' }})")
        page.click(".jp-Dialog button.jp-mod-accept")  # it tells that the kernel died
    view.get_by_text(GONE).wait_for()
    branch(view, "attention").locator("rect").first.click()
    page.wait_for_timeout(500)
    assert view.get_by_text(GONE).is_visible() and view.locator(".px-message:visible").count() == 1
    assert run_all(page, lab, "playground.ipynb") == []
    switch_off_and_on(playground_in_front(page), "attention")


# ---- a small explorer wherever Lab shows it --------------------------------------------------------------------------

INK = "root => getComputedStyle(root.querySelector('.px-plot text')).fill"
EXPLORER_GONE = "The kernel no longer has this explorer, as after a restart: run its cell again."
# What the page asks of an explorer in the kernel; Lab's messages go out as bytes.
QUESTIONS = """window.questions = [];
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (data) {
  const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
  if (text.includes('"custom"')) questions.push(text);
  return send.call(this, data);
};"""


@pytest.fixture(scope="module")
def small():
    """The explorer of the small notebook, computed in this process."""
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(SMALL, namespace)
    return namespace["small"]


@pytest.fixture
def open_small(lab, folder, open_page):
    """Open new notebooks with the small explorer, and run one; returns its page."""

    def open_small(*names, setup=""):
        cells = [new_markdown_cell("# Before"), new_code_cell(SMALL), new_markdown_cell("# After"), new_code_cell("0")]
        for name in names:
            nbformat.write(new_notebook(cells=cells, metadata=PYTHON), folder / name)
        page, _, _ = open_page("about:blank")
        page.add_init_script(setup)
        assert run_all(page, lab, names[0]) == []
        return page

    return open_small


def panel_of(page, at=AT):
    return show(page, at, DRAWN).locator(".plusx-explore")


def kernel(page, code):
    """Write code into the last cell and run it."""
    page.evaluate(
        f"""(code) => {{
          const {{ content }} = {NOTEBOOK};
          content.activeCellIndex = content.widgets.length - 1;
          content.activeCell.model.sharedModel.setSource(code);
        }}""",
        code,
    )
    execute(page, "notebook:run-cell")


def test_an_explorer_answers_wherever_lab_shows_it(open_small, small):
    page = open_small("moved.ipynb", "other.ipynb")
    walk(panel_of(page), small)
    execute(page, "notebook:move-cell-down")
    panel = panel_of(page, AT + 1)
    panel.locator("button[type=reset]").click()
    state = walk(panel, small)

    execute(page, "notebook:create-output-view")
    second = page.locator(".jp-LinkedOutputView .plusx-explore")
    assert_shows(second, small, state)
    second.locator("[data-control='0']").click()
    state[0] = 1 - state[0]
    for each in (panel, second):
        assert_shows(each, small, state)
    panel.locator("[data-control='1']").press("Home")
    state[1] = 0
    for each in (second, panel):
        assert_shows(each, small, state)

    execute(page, "docmanager:open", path="other.ipynb")
    page.wait_for_function(IDLE)
    execute(page, "notebook:run-all-cells")
    walk(panel_of(page), small)
    execute(page, "docmanager:open", path="moved.ipynb")
    assert_shows(panel_of(page, AT + 1), small, state)

    execute(page, "docmanager:save")
    execute(page, "application:close")
    execute(page, "docmanager:open", path="moved.ipynb")
    panel = panel_of(page, AT + 1)
    assert_shows(panel, small, state)
    panel.locator("[data-control='0']").click()
    assert_shows(panel, small, [1 - state[0], *state[1:]])


THREADS = """import torch
from plusx.explore import explore
from plusx.show import threads

@explore(cut=["none", 1, 2, 3, "all"], a=[0.0, 1.0])
def drawn(cut, a=1.0):
    x = torch.linspace(-2, 2, 7)
    heights = torch.stack([x, x * (cut not in (1, "all")) + a / 4, x * (cut in ("none", 3)) - a, x / 2])
    return threads(heights, f"cut {cut}, a {a:g}", (-3, 3), skip=("cut", cut))
"""


OTHERS = """from plusx.show import dots, waterfall

@explore(layers=(0, 2))
def starred(layers=0):
    places = torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]]) / (1 + layers)
    return dots(places, torch.eye(3) / 2 + 1 / 6, f"layers {layers}", 2, ["the", "cat", "the"])
""", """@explore(which=["first", "second"])
def fallen(which):
    steps = torch.tensor([2.0, -1.0, 3.0]) * (1 if which == "first" else -0.5)
    return waterfall(steps, which, (-4, 6), ["E", "A", "F"], list(which[:3]), what="score")
"""  # fmt: skip


def test_dots_and_steps_answer_in_lab(lab, folder, open_page):
    namespace, cells = {}, [THREADS, *OTHERS]
    with contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(cells), namespace)
    nbformat.write(new_notebook(cells=[*map(new_code_cell, cells)], metadata=PYTHON), folder / "others.ipynb")
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "others.ipynb") == []
    for cell, name in enumerate(["starred", "fallen"], 1):
        walk(panel_of(page, cell), namespace[name])
    marks = panel_of(page, 2).locator(".px-marks b").all_text_contents()
    assert "".join(marks) in ("fir", "sec")


def test_a_drawn_figure_answers_wherever_lab_shows_it(lab, folder, open_page):
    namespace = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(THREADS, namespace)
    nbformat.write(
        new_notebook(cells=[new_code_cell(THREADS), new_code_cell("0")], metadata=PYTHON), folder / "drawn.ipynb"
    )
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "drawn.ipynb") == []
    state = walk(panel_of(page, 0), namespace["drawn"])
    panel = panel_of(page, 0)
    panel.locator("button[type=reset]").click()
    state = list(namespace["drawn"].start)
    panel.get_by_role("switch", name="Skip around layer 2").click()
    state[0] = 2
    assert_shows(panel, namespace["drawn"], state)
    kernel(page, "drawn.widget.cut = 'all'")
    state[0] = 4
    panel = panel_of(page, 0)  # the cell is the active one again
    execute(page, "notebook:create-output-view")
    second = page.locator(".jp-LinkedOutputView .plusx-explore")
    for each in (panel, second):
        assert_shows(each, namespace["drawn"], state)
    second.get_by_role("switch", name="Skip around layer 3").press("Space")
    state[0] = 0
    for each in (second, panel):
        assert_shows(each, namespace["drawn"], state)


def test_a_notebook_run_twice_in_a_row(open_small, small):
    page = open_small("twice.ipynb")
    panel_of(page).locator("[data-control='0']").click()
    execute(page, "notebook:run-all-cells")
    walk(panel_of(page), small)


@pytest.mark.parametrize("how", sampled(LOST, ["restarted"]))
def test_an_explorer_without_its_kernel_says_to_run_its_cell_again(open_small, small, how):
    page = open_small(f"{how}.ipynb")
    panel = panel_of(page)
    panel.locator("[data-control='0']").click()
    assert_shows(panel, small, (0, 0, 0))
    if how == "restarted":
        page.evaluate("() => { window.restarted = window.jupyterapp.commands.execute('kernelmenu:restart'); }")
        page.click(".jp-Dialog button.jp-mod-accept")
        page.evaluate("() => window.restarted.then(() => null)")
    else:
        end = "requestExecute({ code: 'import os; os._exit(1)' })"
        page.evaluate(f"() => void {NOTEBOOK}.sessionContext.session.kernel.{end}")
        page.click(".jp-Dialog button.jp-mod-accept")  # it tells that the kernel died
    panel.locator("[data-control='0']").click()  # what has come before is shown
    assert_shows(panel, small, (1, 0, 0))
    panel.locator("[data-control='1']").press("End")
    panel.get_by_text("tanh", exact=True).last.click()
    panel.locator("[role=alert]").get_by_text(EXPLORER_GONE).wait_for()
    execute(page, "notebook:run-all-cells")
    walk(panel_of(page), small)


@pytest.mark.audit
def test_an_explorer_looks_as_lab_does(open_small):
    page = open_small("themes.ipynb")
    panel = panel_of(page)
    for theme, ink in (("JupyterLab Dark", "rgb(230, 232, 235)"), ("JupyterLab Light", "rgb(34, 38, 46)")):
        execute(page, "apputils:change-theme", theme=theme)
        page.wait_for_function(f"([root, ink]) => ({INK})(root) === ink", arg=[panel.element_handle(), ink])


def test_keys_inside_an_explorer_are_no_shortcuts(open_small, small):
    """But those with Ctrl, Meta or Alt are: who has used a switch can save without leaving it."""
    page = open_small("keys.ipynb")
    panel = panel_of(page)
    cells = page.evaluate(f"{NOTEBOOK}.content.widgets.length")
    switch, slider = (panel.locator(f"[data-control='{index}']") for index in (0, 1))
    switch.press("d")
    switch.press("d")
    slider.press("ArrowRight")
    assert_shows(panel, small, (1, 1, 0))
    slider.press("ArrowUp")
    panel.locator("[data-control='2']").first.press("ArrowDown")
    assert_shows(panel, small, (1, 2, 1))
    panel.locator("[data-set=skip]").press("Enter")
    assert_shows(panel, small, (0, 2, 1))
    panel.locator("[data-set=skip]").press("ArrowLeft")
    assert panel.locator("[data-set=kind]").evaluate("part => part === document.activeElement")
    assert page.evaluate(f"{NOTEBOOK}.content.widgets.length") == cells
    assert page.evaluate(f"[{NOTEBOOK}.content.activeCellIndex, {NOTEBOOK}.content.mode]") == [AT, "command"]
    assert page.evaluate(f"{NOTEBOOK}.context.model.dirty")
    panel.locator("[data-set=skip]").press("Control+s")
    page.wait_for_function(f"() => !{NOTEBOOK}.context.model.dirty")


def test_explorers_follow_cells_and_other_widgets(open_small, small):
    page = open_small("linked.ipynb")
    kernel(page, "small.widget.depth, small.widget.kind = 3, 'tanh'")
    panel = panel_of(page)
    assert_shows(panel, small, (1, 2, 1))
    linked = f"""{TWIN}
from ipywidgets import Play, link
play = Play(min=1, max=5, value=3, interval=100)
link((play, "value"), (small.widget, "depth"))
link((small.widget, "skip"), (twin.widget, "skip"))
play"""
    kernel(page, linked)
    last = show(page, 3, DRAWN)
    last.locator(".widget-play button").first.click()
    twin = last.locator(".plusx-explore")
    twin.locator("[data-control='0']").click()
    assert_shows(twin, small, (0, 0, 0))
    panel = panel_of(page)
    assert_shows(panel, small, (0, 4, 1))
    panel.locator("[data-control='0']").click()
    assert_shows(panel, small, (1, 4, 1))
    assert_shows(show(page, 3, DRAWN).locator(".plusx-explore"), small, (1, 0, 0))


@pytest.mark.audit
def test_a_readers_own_notebook_has_its_pictures_when_its_kernel_is_gone(lab, folder, small, tmp_path, open_page):
    """Lab trusts it, and so shows its widgets, which have no model: what was saved beside them comes forth."""
    sources = [*playground_cells(), SMALL]
    cells = [new_code_cell(source) for source in sources]
    nbformat.write(new_notebook(cells=cells, metadata=PYTHON), folder / "saved.ipynb")
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "saved.ipynb") == []
    execute(page, "docmanager:save")
    page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")
    page.goto(f"{lab}/lab/tree/saved.ipynb?reset")  # with a new kernel
    assert_kept(page, len(sources) - 1, small)
    page.evaluate(f"() => {NOTEBOOK}.sessionContext.shutdown()")
    shutil.copy(folder / "saved.ipynb", tmp_path)
    with jupyter_lab(tmp_path, *NO_KERNEL) as url:
        page, foreign, _ = open_page(f"{url}/lab/tree/saved.ipynb?reset")
        page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        assert_kept(page, len(sources) - 1, small)
        assert foreign == []


def assert_kept(page, at, explorer):
    """Picture and data of the explorer's start are there, the playground's table in the cell above, and no excuse."""
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    title, figure = explorer.figure(explorer.start)
    cell = show(page, at, ".px-kept")
    assert cell.get_by_role("img", name=title, exact=True).is_visible()
    cell.locator("summary").click()
    assert cell.locator("details").evaluate(f"(root, expected) => ({HAS_TABLES})([root, expected])", table(figure))
    playground = show(page, at - 1, ".px-kept")
    playground.get_by_role("row", name=re.compile("No attention skips")).first.wait_for()
    assert page.get_by_text(re.compile("Error displaying widget|Loading widget")).filter(visible=True).count() == 0
