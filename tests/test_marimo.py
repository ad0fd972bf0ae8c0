"""An explorer in marimo, whose widgets live in shadow roots: an app as its readers see it, and as its writer does."""

import pytest
from browser import sampled
from lab import THREADS, assert_shows, assert_threads_answer, explorer_of, serving, wait_in_sight, walk

SMALL = """
from plusx.explore import explore

@explore(skip=True, depth=[1, 2, 3, 4, 5], kind=["relu", "tanh", "identity"])
def small(skip, depth, kind):
    y = [depth * x + (10 if skip else 0) for x in range(4)]
    ranges = dict(xaxis=dict(range=[0, 3]), yaxis=dict(range=[0, 60]))
    layout = dict(title=f"skip {skip}, depth {depth}, {kind}", **ranges)
    return dict(data=[dict(x=[0, 1, 2, 3], y=y, name="y")], layout=layout, diagram="[linear kind:kind]:skip")
"""
APP = f"""# /// script
# [tool.marimo.display]
# theme = "dark"
# ///
import marimo

app = marimo.App()


@app.cell
def _():{SMALL.replace(chr(10), chr(10) + "    ")}
    return (small,)


@app.cell
def _(small):
    small.widget
    return
"""


@pytest.fixture(scope="module")
def small():
    return explorer_of(SMALL)


@pytest.mark.parametrize("how", sampled(["run", "edit"], ["run"]))
def test_an_explorer_answers_in_marimo(how, small, tmp_path, open_page):
    """The decorator shows it, and so does its widget as a cell's last expression: two views of one."""
    (tmp_path / "app.py").write_text(APP)
    options = "--headless", "--no-token", "--host=127.0.0.1"
    with serving(tmp_path, "/", "marimo", "--quiet", "--yes", how, str(tmp_path / "app.py"), *options) as url:
        page, foreign, _ = open_page(url, solid=False)
        if how == "edit":
            page.locator(".needs-run").first.wait_for()
            page.get_by_test_id("run-button").last.click()  # of all cells
        first, second = (page.locator(".plusx-explore").nth(at) for at in (0, 1))
        for each in (first, second):
            wait_in_sight(each.locator(".main-svg").first, each.scroll_into_view_if_needed)
        assert first.evaluate("root => root.getRootNode() instanceof ShadowRoot")
        state = walk(first, small)
        assert_shows(second, small, state)
        second.locator("button[type=reset]").click()
        assert_shows(first, small, small.start)
        first.locator("[data-set=skip]").click()
        assert_shows(second, small, (0, 0, 0))
        assert first.locator(".px-plot text").first.evaluate("e => getComputedStyle(e).fill") == "rgb(230, 232, 235)"
        assert first.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(24, 28, 34)"
        assert foreign == []


def test_threads_answer_in_marimo_and_a_state_that_fails_says_so(tmp_path, open_page):
    drawn = explorer_of(THREADS)
    cell = THREADS.replace("\n", "\n    ")
    app = f"import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n    {cell}\n    return\n"
    (tmp_path / "app.py").write_text(app)
    options = "--headless", "--no-token", "--host=127.0.0.1"
    with serving(tmp_path, "/", "marimo", "--quiet", "--yes", "run", str(tmp_path / "app.py"), *options) as url:
        page, foreign, _ = open_page(url, solid=False)
        assert_threads_answer(page, drawn)
        assert foreign == []
