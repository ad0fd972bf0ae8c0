"""plusx.measure.kept and sources in a notebook's cells: what makes a kept result stale, and what a build does."""

import itertools
import json
import linecache
import re
from pathlib import Path
from types import SimpleNamespace

import evidence as tool
import nbformat
import pytest
import torch
from browser import ROOT

from plusx.measure import kept as library
from plusx.measure.sources import numbers
from plusx.nets import resnet

NUMBERS = itertools.count()
SETUP = """
import torch
from plusx.measure.kept import evidence
from plusx.measure.probes import norms

SCALE = 2.0
calls = []
"""
HELPERS = """
def deepest(x):
    return x * SCALE

def deeper(x):
    return [deepest(each) for each in x]
"""
MEASURE = """
@evidence(seeds=4, depth=[1, 2], rate=[0.1, 0.2, 0.3], steps=[7])
def spans(seeds, depth, rate, steps):
    x = torch.tensor([float(seed) for seed in seeds])
    return {"loss": torch.stack(deeper(x)) + depth + abs(rate - 0.2), "curve": norms(x[:, None, None], 1)[:, None]}
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A notebook: cells run in one namespace, as IPython runs them; results are kept in an empty folder."""
    monkeypatch.setattr(library, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(library, "BEGUN", tmp_path / "begun")
    monkeypatch.delenv("PLUSX_EXPLORE", raising=False)
    monkeypatch.delenv("PLUSX_EVIDENCE", raising=False)

    def run(*cells, **environment):
        names = {"__name__": "__main__"}
        with monkeypatch.context() as scope:
            for name, value in environment.items():
                scope.setenv(name, value)
            for cell in cells:
                file = f"<cell {next(NUMBERS)}>"
                linecache.cache[file] = len(cell), None, cell.splitlines(True), file  # as IPython does
                exec(compile(cell, file, "exec"), names)
        return SimpleNamespace(**names)

    yield run
    torch.set_default_dtype(torch.float32)


def kept(page, *cells):
    return page(*cells, PLUSX_EVIDENCE="make")


def built(page, *cells):
    return page(*cells, PLUSX_EXPLORE="static")


def test_a_kept_result_is_what_was_measured_and_is_found_by_its_settings(page):
    kept(page, SETUP, HELPERS, MEASURE)
    spans = built(page, SETUP, HELPERS, MEASURE).spans
    here = spans.at(depth=2, rate=0.3)
    torch.testing.assert_close(here.loss, torch.tensor([2.1, 4.1, 6.1, 8.1]))
    assert (here.rate, here.steps, here.curve.shape) == (0.3, 7, (4, 1))
    assert spans.best("rate", depth=1).rate == 0.2
    with pytest.raises(LookupError, match="no point .*'depth': 3"):
        spans.at(depth=3, rate=0.3)


def test_of_an_even_number_of_seeds_the_best_rate_has_the_lowest_mean_of_both_middles(page):
    losses = "@evidence(seeds=2, rate=[0.1, 0.2])\ndef ends(seeds, rate):\n    "
    losses += "return {'loss': torch.tensor({0.1: [1.0, 9.0], 0.2: [2.0, 3.0]}[rate])[seeds]}\n"
    assert kept(page, SETUP, losses).ends.best("rate").rate == 0.2


def test_the_page_says_in_one_line_what_was_run(page, capsys):
    kept(page, SETUP, HELPERS, MEASURE)
    said = capsys.readouterr().out.strip().splitlines()[-1]
    assert said == "spans: 24 runs (2 depth x 3 rate x 4 seeds, steps 7), 0.0 minutes on one core."


@pytest.mark.parametrize(
    "before, after, changed",
    [
        ("x * SCALE", "x * SCALE * 1.0", "deepest"),  # two calls down
        ("SCALE = 2.0", "SCALE = 3.0", "SCALE"),
        ("for each in x]", "for each in x][:]", "deeper"),
        ("abs(rate - 0.2)", "abs(rate - 0.1)", "spans"),
        ("0.3], steps", "0.4], steps", "grid"),
        ("seeds=4", "seeds=5", "seeds"),
    ],
)
def test_what_a_result_depends_on_makes_it_stale_and_a_build_fails_with_the_command(
    page, capsys, before, after, changed
):
    kept(page, SETUP, HELPERS, MEASURE)
    cells = [cell.replace(before, after) for cell in (SETUP, HELPERS, MEASURE)]
    with pytest.raises(library.Disagreement, match=rf"^spans: .*{changed}.* Run `make evidence`\.$"):
        built(page, *cells)
    capsys.readouterr()
    page(*cells)  # a reader's notebook
    assert re.search(rf"{changed}.*\. Measuring \d+ runs", capsys.readouterr().out)


def test_comments_formatting_docstrings_and_the_order_of_cells_make_nothing_stale(page):
    kept(page, SETUP, HELPERS, MEASURE)
    first, second = HELPERS.strip().split("\n\n")
    docstring = first.replace(":\n", ':\n    """What it does."""\n    # and why\n')
    built(page, SETUP + "unused = 3\n", second.replace("(each) for", "(\n        each) for"), docstring, MEASURE)


def test_a_missing_result_fails_a_build_and_names_the_command(page):
    with pytest.raises(library.Disagreement, match=r"there is no kept result spans.json. Run `make evidence`"):
        built(page, SETUP, HELPERS, MEASURE)


def test_another_torch_or_number_type_makes_a_result_stale(page, monkeypatch):
    kept(page, SETUP, HELPERS, MEASURE)
    with pytest.raises(library.Disagreement, match="made with dtype torch.float32, and here it is torch.float64"):
        built(page, SETUP + "torch.set_default_dtype(torch.float64)", HELPERS, MEASURE)
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(torch, "__version__", "9.0.1+cpu")
    with pytest.raises(library.Disagreement, match="made with torch .*, and here it is 9.0.1"):
        built(page, SETUP, HELPERS, MEASURE)


def test_what_a_function_leads_to_in_the_package_counts_and_what_stands_beside_it_does_not(page, monkeypatch):
    cell = (
        "from plusx.nets import resnet_mlp\nfrom plusx.measure.sources import sources\ndef net(): return resnet_mlp()"
    )
    file = resnet.__file__
    text = Path(file).read_text()

    def found(edited):
        monkeypatch.setitem(linecache.cache, file, (len(edited), None, edited.splitlines(True), file))
        return page(cell + "\nfound = sources(net)").found

    before = found(text)
    assert {"net", "resnet.resnet_mlp", "residual.Residual", "order.Part"} <= before.keys()
    assert not any(name.startswith("explore") for name in before)
    assert found(text + "\n\ndef more():\n    return 1\n") == before
    after = found(text.replace("def resnet_mlp(", "def resnet_mlp(more, ", 1))
    assert {name for name in after if after[name] != before[name]} == {"resnet.resnet_mlp"}


def test_lambdas_classes_decorators_defaults_and_tensors_are_followed(page):
    cell = """
import functools
import torch
from torch import nn
SIZE, TIMES = 3, 2
from plusx.measure.sources import sources
def used_by_lambda(): return 7
TASKS = {"sort": lambda z: z + used_by_lambda()}
DATA = torch.arange(6.0)
class Base(nn.Module):
    def forward(self, x): return self.inner(x)
class Net(Base):
    def __init__(self):
        super().__init__()
    def inner(self, x): return x + used_by_method()
def used_by_method(): return 1.5
def twice(function):
    @functools.wraps(function)
    def done(*given): return TIMES * function(*given)
    return done
@twice
def doubled(x): return x
def make(power):
    def raised(x): return x**power
    return raised
raised = make(2)
@torch.no_grad()
def looked(net, size=SIZE): return net(DATA)[:size]
def run(): return TASKS["sort"](doubled(raised(looked(Net()))))
found = sources(run)
"""
    before = page(cell).found
    ours = "DATA Net TASKS TIMES doubled looked raised run used_by_lambda used_by_method"
    assert before.keys() == set(ours.split())
    for old, new, changed in [
        ("return 7", "return 8", {"used_by_lambda"}),
        ("z + used", "z - used", {"TASKS"}),
        ("arange(6.0)", "arange(6.0).flip(0)", {"DATA"}),
        ("self.inner(x)", "self.inner(-x)", {"Net"}),
        ("return x + used", "return x - used", {"Net"}),
        ("return 1.5", "return 2.5", {"used_by_method"}),
        ("SIZE, TIMES = 3", "SIZE, TIMES = 4", {"looked"}),
        ("TIMES = 3, 2", "TIMES = 3, 4", {"TIMES"}),
        ("TIMES * function", "TIMES + function", {"doubled"}),
        ("def doubled(x): return x", "def doubled(x): return -x", {"doubled"}),
        ("make(2)", "make(3)", {"raised"}),
        ("def run(): return TASKS", "def run():\n  return TASKS", set()),
    ]:
        after = page(cell.replace(old, new)).found
        assert {name for name in before if after[name] != before[name]} == changed


def test_what_cannot_be_told_by_its_source_is_an_error(page):
    cell = "from torch import nn\nfrom plusx.measure.sources import sources\n"
    cell += "net = nn.Linear(1, 1)\ndef run(): return net\n"
    with pytest.raises(TypeError, match="run leads to net, a Linear, .* Make it inside the function"):
        page(cell + "sources(run)")


def test_what_is_kept_does_not_know_the_folder_it_was_made_in(page, tmp_path):
    cell = "from pathlib import Path\nfrom plusx.measure.sources import sources\nPLACE = {}\ndef run(): return PLACE\n"
    cell += "found = sources(run)"
    here, there = [page(cell.format(f"Path({str(tmp_path / folder / 'src')!r})")).found for folder in "ab"]
    assert here == there
    with pytest.raises(TypeError, match="run leads to PLACE, a path of this machine. Make it a `Path`."):
        page(cell.format(repr(str(tmp_path))))


def test_a_tensor_is_told_apart_from_its_permutation_and_not_from_its_rounding():
    x = torch.randn(50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert numbers(x) == numbers(x * (1 + 1e-15)) != numbers(x.flip(0))


def test_a_stopped_run_is_taken_up_where_it_was(page, monkeypatch):
    run, done = library.Evidence.run, []

    def counted(self, seeds, point):
        if len(seeds) == 1:  # seed 0 again, rounded otherwise
            return run(self, seeds, point)
        done.append(tuple(point.values()))
        if len(done) == 4:
            raise KeyboardInterrupt
        return run(self, seeds, point)

    monkeypatch.setattr(library.Evidence, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        kept(page, SETUP, HELPERS, MEASURE)
    assert not list(library.KEPT.glob("*"))
    kept(page, SETUP, HELPERS, MEASURE)
    assert done[3:] == [(2, 0.1, 7), (2, 0.1, 7), (2, 0.2, 7), (2, 0.3, 7)]


def test_a_build_runs_one_seed_again_and_a_changed_number_fails_it(page, capsys):
    kept(page, SETUP, HELPERS, MEASURE)
    file = library.KEPT / "spans.json"
    result = json.loads(file.read_text())
    result["values"][0]["loss"][0] *= 1.01
    result["seal"] = library.seal(result["values"])
    file.write_text(json.dumps(result))
    with pytest.raises(library.Disagreement, match="spans, seed 0 at the first point: loss is"):
        built(page, SETUP, HELPERS, MEASURE)
    page(SETUP, HELPERS, MEASURE)
    assert "and the kept result says" in capsys.readouterr().out


SLOW = """
import time

@evidence(seeds=2)
def slow(seeds):
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    calls.append(seeds)
    return {"loss": torch.tensor([float(seed) for seed in seeds])}
"""


@pytest.mark.parametrize("quick, calls", [(0.2, []), (1.0, [[0]])])
def test_a_build_does_not_run_again_what_takes_longer_than_it_may(page, monkeypatch, quick, calls):
    kept(page, SETUP, SLOW)
    monkeypatch.setattr(library, "QUICK", quick)
    assert built(page, SETUP, SLOW).calls == calls


def test_products_are_rounded_otherwise_by_their_last_bit_and_the_same_way_each_time():
    lot = torch.Generator().manual_seed(0)
    a, b = (torch.randn(6, 6, dtype=torch.float64, generator=lot) for _ in range(2))
    with library.LastBit():
        once, again, chosen = a @ b, a @ b, torch.eye(6, dtype=torch.float64) @ b
    assert torch.equal(once, again) and torch.equal(chosen, b)
    apart = (once / (a @ b) - 1).abs()
    assert 0 < apart.max() <= 2 * torch.finfo(torch.float64).eps


CHAOS = """
torch.set_default_dtype(torch.float64)

@evidence(seeds=2, steps=[STEPS, 3])
def logistic(seeds, steps):
    x = torch.tensor([[[0.3 + seed / 10]] for seed in seeds])
    for _ in range(steps):
        x = 4 * x @ (1 - x)
    return {"loss": x[:, 0, 0]}
"""


def test_a_first_point_that_another_processors_rounding_would_move_is_not_kept(page):
    """The logistic map at 4 doubles an error in each step: 2^-52 is 1 after 52."""
    with pytest.raises(library.Disagreement, match=r"loss is .* Begin the grid .* than {'steps': 80}\.$"):
        kept(page, SETUP, CHAOS.replace("STEPS", "80"))
    assert not list(library.KEPT.glob("*"))
    kept(page, SETUP, CHAOS.replace("STEPS", "20"))
    built(page, SETUP, CHAOS.replace("STEPS", "20"))


def test_all_is_measured_again_and_medians_must_lie_in_the_kept_range(page):
    kept(page, SETUP, HELPERS, MEASURE)
    file = library.KEPT / "spans.json"
    result = json.loads(file.read_text())
    point = result["values"][3]
    for least, passes in [(min(point["loss"]) + 1, True), (max(point["loss"]) * 0.9, False)]:
        point["loss"] = [max(each, least) for each in point["loss"]]
        result["seal"] = library.seal(result["values"])
        file.write_text(json.dumps(result))
        if passes:
            page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="all")
        else:
            with pytest.raises(library.Disagreement, match="'depth': 2.*: the new median of loss is outside"):
                page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="all")


def confirmed(page, *cells):
    return page(*cells, PLUSX_EVIDENCE="confirm")


def test_other_code_that_gives_the_same_for_some_seeds_takes_over_what_was_kept_and_the_file_says_so(page):
    kept(page, SETUP, HELPERS, MEASURE)
    file = library.KEPT / "spans.json"
    before = json.loads(file.read_text())
    assert before["on"] == library.arithmetic() and "confirmed" not in before
    rewritten = HELPERS.replace("x * SCALE", "SCALE * x")
    confirmed(page, SETUP, rewritten, MEASURE)
    after = json.loads(file.read_text())
    assert after["values"] == before["values"] and after["made_by"]["code"] != before["made_by"]["code"]
    assert after["confirmed"] == f"2 of 4 seeds, {library.arithmetic()}"
    built(page, SETUP, rewritten, MEASURE)


@pytest.mark.parametrize(
    "cells, told",
    [
        ((SETUP, HELPERS.replace("x * SCALE", "x * (SCALE + 1)"), MEASURE), "'depth': 1.* loss comes out otherwise"),
        ((SETUP, HELPERS, MEASURE.replace('"curve"', '"other"')), "it gives loss, other, and kept are loss, curve"),
        ((SETUP, HELPERS, MEASURE.replace("seeds=4", "seeds=5")), "with seeds 4, and here it is 5"),
    ],
)
def test_what_gives_other_numbers_is_not_confirmed(page, cells, told):
    kept(page, SETUP, HELPERS, MEASURE)
    before = (library.KEPT / "spans.json").read_text()
    with pytest.raises(library.Disagreement, match=told):
        confirmed(page, *cells)
    assert (library.KEPT / "spans.json").read_text() == before


def test_a_sample_says_in_which_arithmetic_it_agreed_and_names_what_does_not(page, monkeypatch):
    kept(page, SETUP, HELPERS, MEASURE)
    file = library.KEPT / "spans.json"
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="sample")
    (told,) = json.loads(file.read_text())["sampled"]
    assert told.endswith("COMPATIBLE")
    result = json.loads(file.read_text())
    for at, fails in (1, False), (5, True):  # the first point and the last are sampled
        result["values"][at]["loss"] = [each + 100 for each in result["values"][at]["loss"]]
        result["seal"] = library.seal(result["values"])
        file.write_text(json.dumps(result))
        if fails:
            with pytest.raises(library.Disagreement, match="'depth': 2, 'rate': 0.3.*: loss is outside the kept range"):
                page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="sample")
        else:
            page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="sample")


@pytest.mark.parametrize("given", ["loss=loss[1:]", "loss=loss.sum()[None]", "depth=loss"])
def test_measures_without_the_seeds_first_or_named_like_an_argument_are_an_error(page, given):
    cell = "@evidence(seeds=4, depth=[1])\ndef spans(seeds, depth):\n    loss = torch.zeros(4)\n"
    with pytest.raises(ValueError, match=r"spans gave \w+ of shape \(.,\); expected .* 4 seeds first"):
        kept(page, SETUP, cell + f"    return dict({given})\n")


def test_every_kept_file_is_that_of_one_function_of_one_chapter():
    functions = tool.decorated(ROOT / "chapters")
    names = [name for names in functions.values() for name in names]
    assert sorted(names) == sorted(path.stem for path in library.KEPT.glob("*.json"))


def test_two_functions_of_one_name_are_refused(tmp_path):
    for stem in ("01-one", "02-two"):
        cell = nbformat.v4.new_code_cell("@evidence(seeds=2)\ndef spans(seeds):\n    pass")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"{stem}.ipynb")
    with pytest.raises(ValueError, match="02-two and 01-one both keep 'spans'"):
        tool.decorated(tmp_path)


@pytest.mark.parametrize("harm", [lambda text: text[:-20], lambda text: re.sub('"loss": ?.', r"\g<0>1", text, count=1)])
def test_a_file_that_is_cut_off_or_edited_is_named_and_measured_anew(page, capsys, harm):
    kept(page, SETUP, HELPERS, MEASURE)
    file, before = library.KEPT / "spans.json", (library.KEPT / "spans.json").read_text()
    file.write_text(harm(before))
    with pytest.raises(library.Disagreement, match="spans.json is cut off, or was edited. Run `make evidence`"):
        built(page, SETUP, HELPERS, MEASURE)
    point = next(library.BEGUN.glob("spans-*/3.json"))
    point.write_text(harm(point.read_text()))
    capsys.readouterr()
    kept(page, SETUP, HELPERS, MEASURE)
    said = capsys.readouterr().out
    assert re.search(r"of spans-\w+, 3.json is cut off, or was edited, and is measured anew", said)
    assert "spans: 5 of 6\nspans: 6 of 6" in said and "spans: 4 of 6" not in said
    assert file.read_text() == before


def test_a_full_disk_is_named_and_what_was_kept_before_it_stays(page, monkeypatch):
    run = library.Evidence.run

    def filled(self, seeds, point):
        if (point["depth"], point["rate"]) == (2, 0.1):
            (next(library.BEGUN.glob("spans-*")) / "3.part").symlink_to("/dev/full")  # writing there finds no room
        return run(self, seeds, point)

    with monkeypatch.context() as scope:
        scope.setattr(library.Evidence, "run", filled)
        with pytest.raises(OSError, match=r"spans, point 4 of 6: .*3.json could not be written \(No space left"):
            kept(page, SETUP, HELPERS, MEASURE)
    assert sorted(file.name for file in library.BEGUN.glob("spans-*/*")) == ["0.json", "1.json", "2.json"]
    kept(page, SETUP, HELPERS, MEASURE)


def test_a_larger_grid_is_kept_beside_and_the_page_has_both(page):
    asked = dict(name="spans", seeds=6, grid={"depth": [3]}, device=None)
    page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="make", PLUSX_LARGER=json.dumps(asked))
    spans = built(page, SETUP, HELPERS, MEASURE).spans
    assert len(spans.at(depth=2, rate=0.1).loss) == 4
    torch.testing.assert_close(spans.larger.at(depth=3, rate=0.2).loss, torch.arange(6) * 2.0 + 3)
    assert spans.larger.best("rate", depth=3).rate == 0.2
    file, whole = library.KEPT / "larger" / "spans.json", (library.KEPT / "larger" / "spans.json").read_text()
    file.write_text(whole[:-20])
    with pytest.raises(library.Disagreement, match="spans.larger: spans.json is cut off, or was edited. Run tools"):
        spans.larger  # noqa: B018
    file.write_text(whole)
    with pytest.raises(library.Disagreement, match="spans.larger: .* another deepest. Run tools/evidence.py --larger"):
        kept(page, SETUP, HELPERS.replace("x * SCALE", "x * 2 * SCALE"), MEASURE).spans.larger  # noqa: B018
    with pytest.raises(ValueError, match="spans: no argument width; there are depth, rate, steps"):
        asked = dict(name="spans", seeds=6, grid={"width": [3]}, device=None)
        page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="make", PLUSX_LARGER=json.dumps(asked))


def test_a_device_is_asked_the_pages_own_points_first_and_what_is_kept_names_it(page, monkeypatch, capsys):
    kept(page, SETUP, HELPERS, MEASURE)
    asked = dict(name="spans", seeds=4, grid={}, device=None)
    page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="make", PLUSX_LARGER=json.dumps(asked))
    asked["device"] = "cpu"  # the same grid, and kept already: not from this device
    larger = page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="make", PLUSX_LARGER=json.dumps(asked)).spans.larger
    assert larger.kept["cards"] == ["cpu"] and larger.kept["made_by"]["device"] == "cpu"
    assert "0.0 minutes on cpu." in capsys.readouterr().out
    torch.testing.assert_close(larger.at(depth=2, rate=0.1).loss, torch.arange(4) * 2.0 + 2.1)

    (library.KEPT / "larger" / "spans.json").unlink()
    run = library.Evidence.run
    monkeypatch.setattr(library.Evidence, "run", lambda *given: run(*given) | {"loss": [9.0] * 4})
    for file in library.BEGUN.glob("spans-*/*.json"):
        file.unlink()
    with pytest.raises(library.Disagreement, match="spans at .*: the new median of loss is outside the kept range"):
        page(SETUP, HELPERS, MEASURE, PLUSX_EVIDENCE="make", PLUSX_LARGER=json.dumps(asked))
    assert not (library.KEPT / "larger" / "spans.json").exists()


def test_without_its_data_a_result_that_no_build_asks_is_not_measured_anew(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").touch()
    reads = HELPERS.replace("    return [", "    open('images').close()\n    return [")
    unasked = MEASURE.replace("seeds=4,", "seeds=4, ask=False,").replace("spans", "others")
    kept(page, SETUP, reads, MEASURE, unasked)
    (tmp_path / "images").unlink()
    for file in library.BEGUN.glob("*/*.json"):
        file.unlink()
    page(SETUP, reads, unasked, PLUSX_EVIDENCE="all")
    assert "others: not measured anew. [Errno 2] No such file or directory: 'images'" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError):
        page(SETUP, reads, MEASURE, PLUSX_EVIDENCE="all")
