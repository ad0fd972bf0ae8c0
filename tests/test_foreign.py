"""plusx.sphinx: somebody else's Jupyter Book, made with the wheel, default settings, and no torch."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import plotly
import pytest
import yaml
from browser import ROOT, serve
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from test_site import assert_alike, explorers, picture, ready, settle

import plusx.sphinx.extension as extension

PAGE = (ROOT / "chapters" / "your-book.md").read_text(encoding="utf8")
CONFIG, BUNDLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
(MEANS,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
CLOUD = """
import plotly.graph_objects as go
x = np.linspace(-3, 3, 25)
@explore(together=(0, 4))
def cloud(together):
    r = together / 5
    z = np.exp((2 * r * x * x[:, None] - x**2 - x[:, None] ** 2) / (2 - 2 * r**2))
    return go.Figure(go.Heatmap(x=x, y=x, z=z), dict(title=f"correlation {r}"))
"""
WHERE = "import plusx, sys, uuid\nprint(plusx.__path__, 'torch' in sys.modules, uuid.uuid4())"
CACHING = CONFIG + "execute:\n  execute_notebooks: cache\n"
TOO_MANY = "from plusx.explore import explore\n@explore(a=(1, 99), b=(1, 99))\ndef f(a, b):\n    pass"
ONE = """
from plusx.explore import explore
@explore(a=True)
def one(a):
    return dict(data=[dict(x=[1, 2], y=[a, 2])], layout=dict(title="One"))
"""
WIDGET = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "VBox(children=(HBox("}
COUNT_REDRAWS = """() => {
  const { react } = Plotly;
  window.count = 0;
  Plotly.react = (...all) => { window.count += 1; return react(...all); };
}"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as `pip install path/to/the/copy` makes it, from a copy that no earlier build has touched."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ["pyproject.toml", "LICENSE", "LICENSE-text"]:
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    # --no-build-isolation: with this environment's setuptools, and without a network.
    pip("wheel", "--no-build-isolation", "-w", copy, copy)
    (wheel,) = copy.glob("*.whl")
    return wheel


def pip(command, *options):
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, "-q", "--no-deps", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory, wheel):
    """A folder that comes before all other packages: the wheel's plusx, and in place of torch an error."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--target", folder, wheel)
    (folder / "torch.py").write_text("raise ImportError('there is no torch')")
    return folder


class Foreign:
    """A book of two pages that finds only what is `installed`."""

    def __init__(self, folder, installed, code, outputs=(), config=CONFIG):
        self.folder, self.installed = folder, installed
        self.page = folder / "_build" / "html" / "page.html"
        folder.mkdir(exist_ok=True)
        (folder / "_config.yml").write_text(config)
        (folder / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: page\n")
        (folder / "index.md").write_text("# Index\n\nNo explorer here.\n")
        self.write(code, outputs)

    def write(self, code, outputs=(), text="# A page"):
        cells = [new_markdown_cell(text), *(new_code_cell(cell) for cell in code)]
        if outputs:
            cells[1].update(outputs=list(outputs), execution_count=1)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), self.folder / "page.ipynb")

    def start(self):
        """Begin to build."""
        command = [Path(sys.executable).with_name("jupyter-book"), "build", self.folder, "-n", "-W", "--keep-going"]
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        path = os.environ | {"PYTHONPATH": str(self.installed)}
        self.process = subprocess.Popen(command, env=path, **said)
        return self

    def end(self):
        """The exit code of the build, and what it said."""
        said, _ = self.process.communicate()
        return self.process.returncode, said


@pytest.fixture(scope="module")
def book(tmp_path_factory, installed):
    book = Foreign(tmp_path_factory.mktemp("book"), installed, [MEANS, CLOUD, WHERE], config=CACHING)
    code, said = book.start().end()
    assert code == 0, said
    return book


@pytest.fixture(scope="module")
def url(book):
    (book.page.parent / "favicon.ico").touch()  # which browsers ask every server for
    with serve(book.page.parent) as url:
        yield url


def test_the_wheel_holds_what_pages_load_and_asks_for_no_torch(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        (about,) = (files.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {"plusx/sphinx/extension.py", *(f"plusx/explore/{name}" for name in extension.ASSETS)} <= names
    panels = extension.PACKAGE / "panels"
    loaded = {
        f"plusx/panels/{path.relative_to(panels)}" for kind in ("css", "js") for path in panels.rglob(f"*.{kind}")
    }
    assert {name for name in loaded if "/js/" not in name} <= names
    modules = {name for name in names if name.startswith("plusx/") and name.count("/") == 1}
    assert {Path(name).suffix for name in modules} == {".py"} and "plusx/book.py" not in modules
    needs = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", about, re.M)
    assert sorted(needs) == ["anywidget", "ipywidgets", "matplotlib", "numpy", "plotly"]
    assert re.findall(r"^Requires-Dist: ([\w-]+).*extra == .torch", about, re.M) == ["safetensors", "torch", "tqdm"]


def test_the_page_shows_twenty_lines_and_the_least_settings():
    assert sum(bool(line.strip()) for line in MEANS.splitlines()) <= 20
    assert yaml.safe_load(CONFIG) == {"sphinx": {"extra_extensions": ["plusx.sphinx"]}}
    for name, path in yaml.safe_load(BUNDLES)["sphinx"]["config"]["explore_bundles"].items():
        assert (ROOT / path).name == f"plotly-{name}.min.js" and (ROOT / path).exists()


def test_it_is_the_wheel_that_a_foreign_book_runs(book, installed):
    assert re.search(rf"{installed}/plusx.{{0,20}} False", book.page.read_text())
    static = book.page.parent / "_static" / "plusx"
    assert {path.name for path in static.iterdir()} == {
        *(Path(name).name for name in extension.ASSETS),
        "plotly.min.js",
    }
    ours = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    assert (static / "plotly.min.js").read_bytes() == ours.read_bytes()
    assert "plusx/" not in (book.page.parent / "index.html").read_text()


def test_before_scripts_there_are_pictures_words_and_numbers(book, open_page):
    page, foreign, errors = open_page(book.page.as_uri(), scripts=False)
    for root in explorers(page):
        assert root.locator(".px-still.px-wide svg").is_visible()
        assert root.locator(".px-result").text_content().strip()
        root.locator(".px-data summary").click()
        assert root.locator(".px-table td").count() > 20
    assert len(explorers(page)) == 2 and foreign == [] and errors == []


@pytest.mark.parametrize(
    "width, theme, ink, from_disk",
    [(1280, "light", "34, 38, 46", True), (390, "dark", "230, 232, 235", False)],
    ids=["from disk, light", "served to a phone, dark"],
)
def test_controls_move_words_numbers_and_picture(book, url, open_page, width, theme, ink, from_disk):
    base = book.page.parent.as_uri() if from_disk else url
    page, foreign, errors = open_page(f"{base}/index.html", width=width, theme=theme)
    page.wait_for_load_state("networkidle")
    usual = errors.copy()
    page.goto(f"{base}/page.html")
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for root in explorers(page):
        assert root.evaluate("e => getComputedStyle(e).color") == f"rgb({ink})"
        ground = root.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
        assert ground == "rgba(0, 0, 0, 0)", "the theme's ground shows around the explorer"
        root.locator(".px-data summary").click()
        for control in root.locator("[data-control]").all():
            before, numbers = picture(root), root.locator(".px-table").inner_text()
            control.focus()
            page.keyboard.press("Space" if control.get_attribute("type") == "checkbox" else "ArrowRight")
            settle(page)
            after = picture(root)
            assert after["label"] == after["words"] != before["words"]
            assert after["shapes"] != before["shapes"]
            assert root.locator(".px-table").inner_text() != numbers
    # A book with Jupyter Book's own settings logs an error of Thebe's on each page; an explorer adds none.
    assert sorted(errors) == sorted(2 * usual)
    link = root.locator(".px-link").get_attribute("href")
    page.goto("about:blank")
    page.goto(f"{base}/page.html{link}")
    ready(page)
    assert_alike(after, picture(root), link)
    assert foreign == []


def test_another_plotly_draws_the_same_by_what_it_makes_public(book, url, open_page):
    script = (book.page.parent / "_static" / "plusx" / "plotly.min.js").read_text(encoding="utf8")
    inner = (extension.EXPLORE / "js" / "pictures" / "plotly-inner.js").read_text(encoding="utf8")
    (understood,) = re.findall('understood = "([0-9.]+)"', inner)
    shown, redrawn = [], []
    for version in (understood, "4.0.9"):
        page, _, _ = open_page("about:blank")
        body = script.replace(f'"{understood}"', f'"{version}"')
        page.route(
            "**/plotly.min.js", lambda route, _, body=body: route.fulfill(body=body, content_type="text/javascript")
        )
        page.goto(f"{url}/page.html")
        ready(page)
        assert page.evaluate("Plotly.version") == version
        root = explorers(page)[0]
        root.locator("[role=switch]").click()  # from the second change on there is the same ghost to move
        settle(page)
        page.evaluate(COUNT_REDRAWS)
        root.locator("[role=switch]").click()
        settle(page)
        shown.append(picture(root))
        redrawn.append(page.evaluate("window.count"))
    assert redrawn == [0, 1]
    assert_alike(*shown, "another version of plotly")


def test_a_build_stops_where_an_explorer_would_not_work(tmp_path, installed):
    stored = Foreign(tmp_path / "stored", installed, [MEANS], [new_output("display_data", WIDGET)]).start()
    twice = Foreign(tmp_path / "twice", installed, [ONE, ONE], config=CACHING).start()
    code, said = stored.end()
    assert code != 0
    assert re.search(r"page: the explorer '@explore\(skewed=True.*has no table. This build did not run it", said)
    code, said = twice.end()
    assert code != 0 and "page has two explorers called 'one'. Rename one: the name is its link" in said
    code, said = Foreign(tmp_path / "large", installed, [TOO_MANY]).start().end()
    assert code != 0
    assert "stops with ExploreError: explore: f has 9,801 states, the budget is 4,096" in said


def test_a_second_build_runs_nothing_again(book):
    (kept,) = (book.folder / "_build" / ".jupyter_cache").iterdir()
    assert kept.name.startswith("explore-")
    (number,) = re.findall(r"False ([0-9a-f-]{36})", book.page.read_text())
    book.write([MEANS, CLOUD, WHERE], text="# A page\n\nwith words added")
    code, said = book.start().end()
    assert code == 0, said
    text = book.page.read_text()
    assert "with words added" in text and number in text and text.count('class="plusx-explore"') == 2


def test_the_place_of_the_cache_follows_the_code_of_explorers(tmp_path, monkeypatch):
    copy = tmp_path / "explore"
    shutil.copytree(extension.EXPLORE, copy)
    monkeypatch.setattr(extension, "EXPLORE", copy)
    monkeypatch.setenv("PLUSX_EXPLORE", "")

    def place(given=""):
        config = SimpleNamespace(nb_execution_cache_path=given)
        extension._configure(SimpleNamespace(outdir=tmp_path / "_build" / "html"), config)
        return Path(config.nb_execution_cache_path)

    before = place()
    assert before.parent == tmp_path / "_build" / ".jupyter_cache" and before == place()
    assert place("elsewhere") == Path("elsewhere", before.name)
    (copy / "still.py").write_text("changed")
    after = place()
    monkeypatch.setattr(extension, "version", lambda name: "other")
    assert len({before, after, place()}) == 3
