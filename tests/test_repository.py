"""What people and CI read beside the book: the two guides, hooks, workflows."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import book
import bundle
import IPython.display
import nbformat
import pytest
import yaml
from decoding import assert_same, decode, state
from PIL import Image

from plusx.explore import explore, static
from plusx.explore.states import Explorer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "plusx"
MADE = ("_build", ".venv", "node_modules")  # not there in a fresh clone
CONTRIBUTING, ARCHITECTURE, PITFALLS, README = (
    (ROOT / f"{name}.md").read_text(encoding="utf8") for name in ("CONTRIBUTING", "ARCHITECTURE", "PITFALLS", "README")
)


def modules():
    """Dotted name -> file of every module of plusx."""
    files = {path.relative_to(PACKAGE.parent).with_suffix(""): path for path in PACKAGE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}


# ---- the guides ------------------------------------------------------------------------------------------------


def named_paths(text):
    """What stands between backticks and looks like a path of this repository."""
    code = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    code += re.findall(r"\]\(([^)#:]+)\)", text)
    named = [word for word in code if re.fullmatch(r"[\w./-]+/[\w./-]*|[\w.-]+\.(?:md|py|yml|json|txt|toml)", word)]
    return [word for word in named if not word.startswith(MADE) and "NN-" not in word]


@pytest.mark.parametrize(
    "text, least",
    [(ARCHITECTURE, 20), (CONTRIBUTING, 10), (PITFALLS, 3)],
    ids=["architecture", "contributing", "pitfalls"],
)
def test_every_path_and_module_that_a_guide_names_exists(text, least):
    paths = named_paths(text)
    assert len(paths) >= least
    assert [path for path in paths if not (ROOT / path).exists()] == []
    names = set(re.findall(r"`plusx\.([\w.]+)`", text))
    known = {name.removeprefix("plusx.") for name in modules()} | {f"explore.{name}" for name in explore_names()}
    assert names - known == set()


def explore_names():
    return sys.modules["plusx.explore"].__all__


def test_architecture_fits_on_two_screens_and_names_every_room():
    assert len(ARCHITECTURE.splitlines()) <= 100
    assert [name for name in modules() if name.count(".") == 1 and f"`{name}`" not in ARCHITECTURE] == []


def test_readmes_pictures_are_there_small_and_told_in_words_and_one_moves():
    pictures = re.findall(r"!\[([^]]{40,})\]\((images/[^)]+)\)", README)
    assert len(pictures) == README.count("![") == 3
    assert all((ROOT / path).stat().st_size <= 300_000 for _, path in pictures)
    for (_, path), moves in zip(pictures, [True, False, False], strict=True):
        with Image.open(ROOT / path) as picture:
            assert (getattr(picture, "n_frames", 1) > 5) == moves


def test_every_file_says_at_its_head_what_it_is_for():
    folders = [PACKAGE, ROOT / "site", ROOT / "tools", ROOT / "tests"]
    files = [path for folder in folders for path in folder.rglob("*") if not {*path.parts} & {*MADE, "built", "audit"}]
    silent = [path for path in files if path.suffix == ".py" and not ast.get_docstring(ast.parse(path.read_bytes()))]
    silent += [path for path in files if path.suffix == ".js" and not re.match(r"/[/*]", path.read_text("utf8"))]
    assert [path.relative_to(ROOT).as_posix() for path in silent] == []
    assert len(files) > 150


def test_every_feature_is_listed_once():
    folders = {path.parent.name for path in (ROOT / "site" / "features").glob("*/__init__.py")}
    assert len(book.FEATURES) == len(folders) and {*book.FEATURES} == folders


def test_imports_point_the_way_architecture_says():
    block = re.search(r"```text\n(.*?)```", ARCHITECTURE, re.S)[1]
    said = {}
    for line in block.splitlines():
        parts, _, imported = line.partition(":")
        said |= {part: set(re.findall(r"\w+", imported)) for part in parts.split(", ")}
    found = {}
    site = {f"plusx.site.{path.stem}": path for path in (ROOT / "site").rglob("*.py")}
    for name, path in [*modules().items(), *site.items()]:
        part = name.split(".")[1] if "." in name else "plusx"
        found.setdefault(part, set()).update(imported_parts(name, path) - {part})
    assert found == said
    assert len(said) <= 11 and sum(map(len, said.values())) <= 12
    rooms = list(said)
    assert all(rooms.index(below) < rooms.index(room) for room, beneath in said.items() for below in beneath)


@pytest.mark.parametrize("name", bundle.BUILT)
def test_what_the_wheel_holds_is_bundled_from_its_modules(name):
    entry, form = bundle.BUILT[name]
    made = bundle.bundled(PACKAGE / entry, form)
    assert (PACKAGE / name).read_text(encoding="utf8") == made, "its modules have changed: run `make bundle`"


def imported_parts(name, path):
    """The parts of plusx that a module imports; torch and widgets are refused where they do not belong."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    parts = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names] if base == "plusx" else [base]
        else:
            continue
        for target in targets:
            top, _, rest = target.partition(".")
            if top == "plusx":
                parts.add(rest.split(".")[0])
            part = name.removeprefix("plusx.").split(".")[0]
            if part in ("explore", "sphinx"):
                assert top != "torch", f"{name} imports torch"
            elif part not in ("panels", "site"):
                assert top not in ("ipywidgets", "anywidget", "plotly", "sphinx", "myst_nb"), f"{name} imports {top}"
    return parts


@pytest.mark.parametrize("at, drawn", [(0, False), (1, True)], ids=["plotly's", "drawn"])
def test_an_explorer_of_contributing_is_twenty_lines_that_work(monkeypatch, at, drawn):
    code = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.S)[at]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20
    shown, namespace = [], {}
    monkeypatch.setenv("PLUSX_EXPLORE", "static")
    monkeypatch.setattr(IPython.display, "display", shown.append)
    exec(compile(code, "CONTRIBUTING.md", "exec"), namespace)
    assert namespace["explore"] is explore
    (explorer,) = (value for value in namespace.values() if isinstance(value, Explorer))
    (fragment,) = (html.data for html in shown)
    assert f'id="explore-{explorer.name}"' in fragment and fragment.count("<svg") >= 2
    assert ('class="px-threads"' in fragment) == drawn
    table, leaves = decode(re.search('class="px-states">([^<]+)<', fragment)[1])
    titles = set()
    for at, indices in enumerate(explorer.states):
        title, live = explorer.figure(indices)
        assert_same(state(table, leaves, at), {"title": title, **static.as_seen(live)}, explorer.describe(indices))
        titles.add(title)
    assert len(titles) == len(explorer.states)  # each state says its own result
    count = int(re.search(r"once for every state, here (\d+) times", CONTRIBUTING)[1])
    assert drawn or len(explorer.states) == count


def targets():
    rules = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(), re.M)
    return {target for rule in rules for target in rule.split()}


def test_make_has_every_target_that_the_guides_name():
    named = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", CONTRIBUTING + ARCHITECTURE + README, re.M))
    assert {"book", "test", "lab"} <= named <= targets()


@pytest.mark.parametrize("folder", [".", "tests/audit", "tests/hub"])
def test_who_cannot_reach_the_registry_is_told_so(tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / folder / name, tmp_path / folder)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    nowhere = {"registry": "http://127.0.0.1:9/", "fetch_retries": "0", "cache": f"{tmp_path}/cache"}
    run = subprocess.run(
        ["make", "-C", tmp_path, "-o", ".venv/ready", (Path(folder) / "node_modules" / "ready").as_posix()],
        env=os.environ | {f"npm_config_{key}": value for key, value in nowhere.items()},
        capture_output=True,
        text=True,
    )
    assert run.returncode and "ECONNREFUSED" in run.stderr


def test_every_chapter_is_listed_where_contributing_says():
    chapters = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb"))
    step = re.search(r"2\. List it in (.*?)\n3\.", CONTRIBUTING, re.S)[1]
    lists = re.findall(r"`([^`]+)`", step)
    assert lists == ["_toc.yml", "index.md", "chapters/teachers.md"]
    for name in lists:
        text = (ROOT / name).read_text(encoding="utf8")
        assert [chapter for chapter in chapters if not re.search(rf"\b{chapter}\b", text)] == [], name


def test_contributing_tells_every_tag_that_chapters_use():
    used = {
        tag
        for path in (ROOT / "chapters").glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for tag in cell.metadata.get("tags", [])
    }
    rows = "".join(re.findall(r"^\|.*\|$", CONTRIBUTING, re.M))
    assert used == {tag for tag in re.findall(r"`([\w-]+)`", rows)}


# ---- hooks -----------------------------------------------------------------------------------------------------


def test_hooks_and_make_test_ask_the_same():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"]
    asked = {hook["entry"].replace(" --force-exclude", "") for hook in hooks[0]["hooks"]}
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test: .*\blint ", makefile, re.M)
    lint = re.search(r"^lint:.*?\n\n", makefile, re.M | re.S)[0]
    lines = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint.splitlines()][1:]
    made = {re.sub(r"(?<=format) --check|(?<=check) \.$| chapters/\*\.ipynb", "", line) for line in lines if line}
    assert asked == made


# ---- workflows -------------------------------------------------------------------------------------------------

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").iterdir()}


def steps(workflow):
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job["steps"]]


def test_what_a_workflow_runs_is_there():
    runs = [step.get("run", "") for name in WORKFLOWS for step in steps(name)]
    made = {run.removeprefix("make ") for run in runs if run.startswith("make ")}
    assert {"book", "links", "audit", "evidence", "model"} == made <= targets()
    assert [step["run"] for step in steps("test") if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("address", ["https://someone.github.io/plusx", "https://example.org"])
@pytest.mark.parametrize("before", ['""', "https://elsewhere.example/"])
def test_publishing_tells_the_book_its_address(tmp_path, address, before):
    (step,) = (step for step in steps("publish") if "ADDRESS" in step.get("env", {}))
    assert step["env"]["ADDRESS"] == "${{ steps.pages.outputs.base_url }}"
    config = (ROOT / "_config.yml").read_text().replace('baseurl: ""', f"baseurl: {before}")
    (tmp_path / "_config.yml").write_text(config)
    script = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
    subprocess.run(script, cwd=tmp_path, env=os.environ | {"ADDRESS": address}, check=True, capture_output=True)
    told = yaml.safe_load((tmp_path / "_config.yml").read_text())
    assert told["html"].pop("baseurl") == f"{address}/"
    wanted = yaml.safe_load(config)
    del wanted["html"]["baseurl"]
    assert told == wanted
    (tmp_path / "_config.yml").write_text("html: {}\n")  # nowhere to write it: publishing stops
    assert subprocess.run(script, cwd=tmp_path, env=os.environ | {"ADDRESS": address}).returncode != 0


def test_the_weekly_build_is_bound_by_nothing_but_the_requirements(tmp_path):
    (step,) = (step for step in steps("weekly") if step.get("name") == "Pin nothing but requirements.txt")
    for name in ("requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, check=True)
    assert (tmp_path / "requirements.txt").read_text() == (ROOT / "requirements.txt").read_text()
    assert [line for line in (tmp_path / "constraints.txt").read_text().splitlines() if not line.startswith("#")] == []
    newest = WORKFLOWS["weekly"]["jobs"]["newest"]["steps"]
    assert not any("cache" in given.get("with", {}) for given in newest)
    assert "schedule" in WORKFLOWS["weekly"][True]
