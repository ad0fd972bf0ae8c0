"""The doors beside the site and JupyterLab: Notebook 7, Voila, and saved notebooks where no kernel runs.

Each is the real program. What explorers show there is compared with what torch computes here.
"""

import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from browser import ROOT
from chapter_code import code_of, playground_cells
from lab import (
    DRAWN,
    HAS_TABLES,
    NO_KERNEL,
    THREADS,
    assert_threads_answer,
    cells_with,
    explorer_of,
    explorers_of,
    jupyter_lab,
    loss_without,
    notebook_7,
    run_all,
    show,
    voila,
    walk,
)  # fmt: skip
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from plusx.explore.figures import table

CHAPTER = "10-attention-mixes"  # every kind of control, and a second to run
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A folder with an explorer and a playground really run, saved with and without the state of their widgets."""
    folder = tmp_path_factory.mktemp("saved")
    first = code_of(CHAPTER).values()
    last = next(index for index, source in enumerate(first) if "@explore(" in source)
    sources = [*list(first)[: last + 1], *playground_cells()]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(ROOT / "chapters"))
    nbformat.write(notebook, folder / "with.ipynb")
    del notebook.metadata["widgets"]
    nbformat.write(notebook, folder / "without.ipynb")
    return folder


# ---- with a kernel: Notebook 7 and Voila -------------------------------------------------------------------------


def assert_answers(playground):
    """A switch of the playground brings the loss that torch finds for it."""
    result = playground.locator(".px-result")
    result.filter(has_text="As trained").wait_for()
    text = "It writes on: x"
    playground.locator("textarea").fill(text)
    playground.get_by_role("group", name="Layer 3").get_by_role("switch", name="attention: branch").click()
    result.filter(has_text=loss_without(text, "attention branch")).wait_for()


@pytest.fixture(scope="module")
def explorers():
    with explorers_of(CHAPTER, first=2) as explorers:
        yield explorers


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder with the chapter, and the playground below it."""
    folder = tmp_path_factory.mktemp("served")
    notebook = nbformat.read(ROOT / "chapters" / f"{CHAPTER}.ipynb", as_version=4)
    notebook.cells += [new_code_cell(source) for source in playground_cells()]
    nbformat.write(notebook, folder / "chapter.ipynb")
    return folder


@pytest.mark.audit
def test_notebook_7_runs_a_chapter(served, explorers, open_page):
    with notebook_7(served) as url:
        page, foreign, _ = open_page("about:blank", solid=False)
        assert run_all(page, url, "chapter.ipynb", door="notebooks") == []
        for index, explorer in zip(cells_with(page, "@explore("), explorers):
            walk(show(page, index, DRAWN).locator(".plusx-explore"), explorer)
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


@pytest.mark.audit
def test_voila_shows_a_chapter_on_a_slow_machine(served, explorers, open_page):
    """Its page connects when all cells have run, and asks another host for icons, and for nothing else."""
    with voila(served) as url:
        page, foreign, _ = open_page("about:blank", solid=False)
        page.add_init_script(SLOW)
        page.goto(f"{url}/voila/render/chapter.ipynb")
        for index, explorer in enumerate(explorers):
            panel = page.locator(".plusx-explore").nth(index)
            panel.scroll_into_view_if_needed()
            page.locator(DRAWN).nth(index).wait_for()
            walk(panel, explorer)
        assert_answers(page.locator(".plusx-playground"))
        assert [address for address in foreign if "/fontawesome-free@" not in address] == []


@pytest.fixture(scope="module")
def threads():
    return explorer_of(THREADS)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with threads, one of whose settings has no picture."""
    folder = tmp_path_factory.mktemp("drawn")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[new_code_cell(THREADS)], metadata=kernel), folder / "threads.ipynb")
    return folder


@pytest.mark.parametrize("door", ["notebook 7", "voila"])
def test_threads_answer_and_a_state_that_fails_says_so(door, drawn, threads, open_page):
    with (voila if door == "voila" else notebook_7)(drawn) as url:
        page, _, _ = open_page("about:blank", solid=False)
        if door == "voila":
            page.goto(f"{url}/voila/render/threads.ipynb")
        else:
            assert run_all(page, url, "threads.ipynb", door="notebooks") == []
        assert_threads_answer(page, threads)


# ---- without a kernel: what a file keeps -------------------------------------------------------------------------


def assert_still(page, explorer):
    """Title, values of the controls, picture and data of the start state; and the playground's table."""
    title, figure = explorer.figure(explorer.start)
    page.get_by_text(title, exact=True).first.wait_for()
    picture = page.get_by_role("img", name=title, exact=True)
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.decode().then(() => [image.width, image.height])") == [
        720, figure["layout"]["height"],
    ]  # fmt: skip
    state = ", ".join(f"{c.title}: {c.labels[c.start]}" for c in explorer.controls)
    said = page.get_by_text(f"at its start ({state}). To switch, run the notebook up to this cell.")
    assert said.filter(visible=True).count() == 1  # it stands there twice, for hosts that fail at the first
    shown = page.locator("details:has-text('Data of this picture')").filter(visible=True)
    assert shown.evaluate(f"(root, expected) => ({HAS_TABLES})([root, expected])", table(figure))


def test_nbconvert_shows_what_the_file_keeps(executed, explorers, open_page):
    """As nbviewer, which runs it: the widget where the file has its state, the still picture where it has none."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level=ERROR"]
    subprocess.run([*command, executed / "with.ipynb", executed / "without.ipynb"], check=True)
    page, foreign, _ = open_page((executed / "without.html").as_uri(), solid=False)
    assert_still(page, explorers[0])
    assert page.get_by_role("row", name=re.compile("No attention skips")).count() == 2
    assert [url for url in foreign if "require" not in url and "mathjax" not in url] == []  # nbconvert's own two
    page, _, _ = open_page((executed / "with.html").as_uri(), solid=False)
    assert page.locator(f"script[type='{WIDGET}']").count() == 2
    assert_still(page, explorers[0])  # no widget came: its script is on a CDN
    came = "script => script.insertAdjacentHTML('beforebegin', '<div class=widget-subarea><div>A widget</div></div>')"
    page.locator(f"script[type='{WIDGET}']").first.evaluate(came)
    assert page.get_by_text("A widget").is_visible()
    assert page.get_by_text("up to this cell").filter(visible=True).count() == 1  # the playground's


def test_what_nbconvert_runs_has_a_picture_where_there_is_no_network(drawn, threads, open_page):
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--log-level=ERROR"]
    subprocess.run([*command, drawn / "threads.ipynb"], check=True)
    page, _, _ = open_page((drawn / "threads.html").as_uri(), solid=False)
    assert_still(page, threads)


@pytest.mark.audit
def test_a_strangers_notebook_has_its_pictures_in_jupyterlab_with_no_kernel(executed, explorers, tmp_path, open_page):
    shutil.copy(executed / "without.ipynb", tmp_path / "strange.ipynb")
    with jupyter_lab(tmp_path, *NO_KERNEL) as url:
        page, foreign, _ = open_page(f"{url}/lab/tree/strange.ipynb?reset", solid=False)
        page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        assert_still(page.locator(".jp-Notebook"), explorers[0])
        assert foreign == []
