"""What people and CI read beside the book: the two guides, forms, hooks, workflows, the link check."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import IPython.display
import nbformat
import pytest
import yaml
from browser import QuietHandler, serve
from decoding import assert_same, decode, state

from plusx.explore import explore, static
from plusx.explore.states import Explorer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "plusx"
GITHUB = ROOT / ".github"
MADE = ("_build", ".venv", "node_modules")  # not there in a fresh clone
CONTRIBUTING, ARCHITECTURE, README = (
    (ROOT / name).read_text(encoding="utf8") for name in ("CONTRIBUTING.md", "ARCHITECTURE.md", "README.md")
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


@pytest.mark.parametrize("text, least", [(ARCHITECTURE, 50), (CONTRIBUTING, 10)], ids=["architecture", "contributing"])
def test_every_path_and_module_that_a_guide_names_exists(text, least):
    paths = named_paths(text)
    assert len(paths) >= least
    assert [path for path in paths if not (ROOT / path).exists()] == []
    names = set(re.findall(r"`plusx\.([\w.]+)`", text))
    known = {name.removeprefix("plusx.") for name in modules()} | {f"explore.{name}" for name in explore_names()}
    assert names - known == set()


def explore_names():
    return sys.modules["plusx.explore"].__all__


def test_architecture_names_every_module_script_tool_and_test():
    assert [name for name in modules() if name != "plusx" and f"`{name}`" not in ARCHITECTURE] == []
    files = [*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.css"), *(ROOT / "tools").glob("*.py")]
    files += (ROOT / "tests").glob("*.py")
    names = [path.relative_to(ROOT).as_posix() for path in files]
    assert len(names) > 30
    assert [name for name in names if f"`{name}`" not in ARCHITECTURE] == [], "say in ARCHITECTURE.md what it is for"


def test_imports_point_the_way_architecture_says():
    block = re.search(r"```text\n(.*?)```", ARCHITECTURE, re.S)[1]
    said = {}
    for line in block.splitlines():
        parts, _, imported = line.partition(":")
        said |= {part: set(re.findall(r"\w+", imported)) for part in parts.split(", ")}
    found = {}
    for name, path in modules().items():
        part = name.split(".")[1] if "." in name else "plusx"
        found.setdefault(part, set()).update(imported_parts(name, path) - {part})
    assert found == said


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
            if part in ("explore", "book", "pages", "sphinx"):
                assert top != "torch", f"{name} imports torch"
            elif part != "playground":
                assert top not in ("ipywidgets", "anywidget", "plotly", "sphinx", "myst_nb"), f"{name} imports {top}"
    return parts


def test_the_explorer_of_contributing_is_twenty_lines_that_work(monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", CONTRIBUTING, re.S)
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20
    shown, namespace = [], {}
    monkeypatch.setenv("PLUSX_EXPLORE", "static")
    monkeypatch.setattr(IPython.display, "display", shown.append)
    exec(compile(code, "CONTRIBUTING.md", "exec"), namespace)
    assert namespace["explore"] is explore
    (explorer,) = (value for value in namespace.values() if isinstance(value, Explorer))
    count = int(re.search(r"once for every state, here (\d+) times", CONTRIBUTING)[1])
    assert len(explorer.states) == count
    (fragment,) = (html.data for html in shown)
    assert f'id="explore-{explorer.name}"' in fragment and fragment.count("<svg") >= 2
    table, leaves = decode(re.search('class="px-states">([^<]+)<', fragment)[1])
    titles = set()
    for at, indices in enumerate(explorer.states):
        title, live = explorer.figure(indices)
        assert_same(state(table, leaves, at), {"title": title, **static.as_seen(live)}, explorer.describe(indices))
        titles.add(title)
    assert len(titles) == count  # each state says its own result


def test_make_has_every_target_that_the_guides_name():
    rules = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(), re.M)
    targets = {target for rule in rules for target in rule.split()}
    named = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", CONTRIBUTING + ARCHITECTURE + README, re.M))
    assert {"book", "test", "lab"} <= named <= targets


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


# ---- forms -----------------------------------------------------------------------------------------------------


def test_issue_forms_are_as_github_wants_them():
    forms = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["page", "question", "science"]
    for form in forms:
        content = yaml.safe_load(form.read_text())
        assert {"name", "description", "body"} <= content.keys() <= {"name", "description", "body", "labels"}
        fields = content["body"]
        assert {field["type"] for field in fields} <= {"input", "textarea", "dropdown"}
        for key in ("id", "label"):
            values = [field.get(key) or field["attributes"][key] for field in fields]
            assert len(set(values)) == len(values)
        assert any(field.get("validations") == {"required": True} for field in fields)
        for field in fields:
            assert field.keys() <= {"type", "id", "attributes", "validations"}
            assert (field["type"] == "dropdown") == ("options" in field["attributes"])


# ---- hooks -----------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(tmp_path):
    """What the hooks look at, in a repository of its own, with this Python's tools as its .venv."""
    clone = tmp_path / "clone"
    chapter = next((ROOT / "chapters").glob("01-*.ipynb"))
    files = [chapter, ROOT / "chapters" / "references.bib", ROOT / "tools" / "links.py", PACKAGE / "__init__.py"]
    files += [ROOT / "pyproject.toml", ROOT / ".pre-commit-config.yaml", *(PACKAGE / "explore").glob("*.py")]
    for path in files:
        copy = clone / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    (clone / ".venv").symlink_to(sys.prefix)
    subprocess.run(["git", "init", "-q"], cwd=clone, check=True)
    with open(clone / ".git" / "info" / "exclude", "a") as exclude:
        exclude.write(".venv\n")
    return clone


def run_hooks(clone):
    """The ids of the hooks that fail on all files of the clone, and what they say."""
    subprocess.run(["git", "add", "-A"], cwd=clone, check=True)
    # Any connection would fail: nothing listens there.
    nowhere = dict.fromkeys(["http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY"], "http://127.0.0.1:9")
    environment = os.environ | nowhere | {"PRE_COMMIT_HOME": str(clone.parent / "kept")}
    command = [Path(sys.executable).with_name("pre-commit"), "run", "--all-files", "--color=never"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    failed = re.findall(r"^- hook id: (\S+)", done.stdout, re.M)
    assert (done.returncode == 0) == (failed == []), done.stdout + done.stderr
    assert len(re.findall(r"\.(?:Passed|Failed)$", done.stdout, re.M)) == 4, done.stdout + done.stderr
    return failed, done.stdout


def test_hooks_pass_what_is_clean_and_each_fails_on_its_own_fault(clone):
    failed, said = run_hooks(clone)
    assert failed == [], said

    notebook = next((clone / "chapters").glob("01-*.ipynb"))
    clean = notebook.read_text()
    dirty = nbformat.read(notebook, as_version=4)
    next(cell for cell in dirty.cells if cell.cell_type == "code").execution_count = 7
    nbformat.write(dirty, notebook)
    assert run_hooks(clone)[0] == ["nbstripout"]
    notebook.write_text(clean.replace("import torch\\n", "import os, torch\\n", 1))
    assert run_hooks(clone)[0] == ["ruff-check"]
    notebook.write_text(clean)

    module = clone / "src" / "module.py"
    module.write_text("numbers = [1,\n  2]\n")
    assert run_hooks(clone)[0] == ["ruff-format"]
    assert module.read_text() == "numbers = [1, 2]\n"
    module.write_text("import os\n")
    assert run_hooks(clone)[0] == ["ruff-check"]
    module.unlink()

    (clone / "index.md").write_text("A residual conection.\n")  # codespell:ignore
    assert run_hooks(clone)[0] == ["codespell"]


def test_hooks_and_make_test_ask_the_same():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"]
    asked = {hook["entry"].replace(" --force-exclude", "") for hook in hooks[0]["hooks"]}
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^test: .*\blint ", makefile, re.M)
    lint = re.search(r"^lint:.*?\n\n", makefile, re.M | re.S)[0]
    lines = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint.splitlines()][1:]
    made = {re.sub(r"(?<=format) --check| \.$| chapters/\*\.ipynb", "", line) for line in lines if line}
    assert asked == made


# ---- workflows -------------------------------------------------------------------------------------------------

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (GITHUB / "workflows").iterdir()}


def steps(workflow):
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job["steps"]]


def test_there_are_three_workflows_and_their_actions_are_pinned():
    assert WORKFLOWS.keys() == {"test", "publish", "weekly"}
    used = {step["uses"] for workflow in WORKFLOWS for step in steps(workflow) if "uses" in step}
    assert used == {
        "actions/checkout@v4",
        "actions/setup-python@v5",
        "actions/upload-artifact@v4",
        "actions/configure-pages@v5",
        "actions/upload-pages-artifact@v3",
        "actions/deploy-pages@v4",
    }


def test_what_a_workflow_runs_is_there():
    for workflow in WORKFLOWS:
        for step in steps(workflow):
            for path in re.findall(r"(?:^|\s)((?:\.ci|tools)/\S+)", step.get("run", "")):
                assert (ROOT / path).is_file(), f"{workflow}: {path}"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert [step["run"] for step in steps("test") if "run" in step] == [".ci/run"]


def test_jobs_that_build_keep_their_reports_and_ask_for_no_more_than_they_need():
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}
        names = []
        for job in workflow["jobs"].values():
            assert not job.get("permissions", {}).get("contents") == "write"
            builds = any(re.search("make (book|audit)|.ci/run", step.get("run", "")) for step in job["steps"])
            kept = [step for step in job["steps"] if step.get("uses", "").startswith("actions/upload-artifact")]
            assert [(step["if"], step["with"]["path"]) for step in kept] == [("failure()", "_build/reports")] * builds
            names += [step["with"]["name"] for step in kept]
        assert len(set(names)) == len(names), name  # two artifacts of one name are an error


def test_only_what_passed_on_main_is_published():
    publish = WORKFLOWS["publish"]
    assert publish[True]["workflow_run"] == {"workflows": ["test"], "types": ["completed"], "branches": ["main"]}
    build, deploy = publish["jobs"]["build"], publish["jobs"]["deploy"]
    assert "conclusion == 'success'" in build["if"] and "event == 'push'" in build["if"]
    assert build["steps"][0]["with"]["ref"] == "${{ github.event.workflow_run.head_sha }}"
    assert deploy["needs"] == "build" and deploy["permissions"] == {"pages": "write", "id-token": "write"}


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


# ---- links -----------------------------------------------------------------------------------------------------


class Elsewhere(QuietHandler):
    """Another host: the path is the status, and /moved leads to /200."""

    asked = []

    def do_GET(self):
        type(self).asked.append(self.path)
        self.send_response(302 if self.path in ("/moved", "/loop") else int(self.path[1:4]))
        if self.path in ("/moved", "/loop"):
            self.send_header("Location", "/200" if self.path == "/moved" else "/loop")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def check_links(tmp_path):
    """Check a site of two pages with these links; returns the exit code and what is said."""
    Elsewhere.asked = []
    with serve(tmp_path, Elsewhere) as host:

        def check(*addresses):
            links = "".join(f'<a href="{address.replace("HOST", host)}">x</a>' for address in addresses)
            (tmp_path / "chapters").mkdir(exist_ok=True)
            (tmp_path / "index.html").write_text(f'{links}<a href="chapters/a.html">in</a><a href="mailto:a@b">m</a>')
            (tmp_path / "chapters" / "a.html").write_text(links)
            command = [sys.executable, ROOT / "tools" / "links.py", tmp_path, "--timeout=5", "--pause=0"]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

        yield check


def test_links_that_are_there_pass_and_each_is_asked_for_once(check_links):
    code, said = check_links("HOST/200", "HOST/200#part", "HOST/200?x=1&amp;y=2", "HOST/moved")
    assert code == 0 and "3 links to 1 hosts: 0 gone, 0 could not" in said
    assert sorted(Elsewhere.asked) == ["/200", "/200", "/200?x=1&y=2", "/moved"]


@pytest.mark.parametrize("address", ["HOST/404", "HOST/410", "http://127.0.0.1:9/", "http://no-such-host.invalid/"])
def test_a_link_that_is_gone_fails_and_its_pages_are_named(check_links, address):
    code, said = check_links("HOST/200", address)
    assert code == 1 and "1 gone" in said
    assert re.search(rf"{address.replace('HOST', '.*')}  in chapters/a.html, index.html", said)


@pytest.mark.parametrize("path, times", [("403", 1), ("429", 3), ("503", 3), ("loop", None)])
def test_a_host_that_turns_scripts_away_is_told_of_and_does_not_fail(check_links, path, times):
    code, said = check_links(f"HOST/{path}")
    assert code == 0 and "0 gone, 1 could not be checked" in said
    assert times is None or Elsewhere.asked == [f"/{path}"] * times


def test_links_of_no_site_are_an_error(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "tools" / "links.py", tmp_path], capture_output=True, text=True)
    assert done.returncode == 2 and "make book" in done.stderr


# ---- reports ---------------------------------------------------------------------------------------------------


def test_a_failed_test_leaves_pictures_of_its_pages(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_two.py").write_text(
        "def test_red(open_page):\n    open_page('about:blank')\n    assert False\n"
        "def test_green(open_page):\n    open_page('about:blank')\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "browser", "-p", "no:cacheprovider", "-q", "--rootdir", tmp_path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(ROOT / each) for each in ("tests", "tools"))}
    done = subprocess.run([*command, tmp_path], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    kept = {path.name for path in (tmp_path / "_build" / "reports" / "tests").iterdir()}
    assert kept == {"test_red-0.png", "test_red-0.txt"}
