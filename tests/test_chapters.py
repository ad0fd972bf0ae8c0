"""The notebooks as files: clean, and with prose that quotes only what is printed."""

import re
import symtable
import sys

import nbformat
import pytest
import torch
from book import cache_path
from browser import CHAPTERS, ROOT
from chapter_code import printed
from decoding import decode, payload
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_cache import get_cache

NOTEBOOKS = [ROOT / chapter.replace(".html", ".ipynb") for chapter in CHAPTERS]
CHECKED = "nbval-check-output"


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def test_the_file_is_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.keys() <= {"kernelspec", "language_info"}
    for cell in notebook.cells:
        slug = re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", cell.id) and not re.fullmatch(r"[0-9a-f-]{8,}", cell.id)
        assert slug, f"{cell.id}: a cell id is a slug that says what the cell does, not an editor's random number"
        if cell.cell_type != "code":
            continue
        assert cell.execution_count is None
        if CHECKED in cell.metadata.get("tags", []):
            assert cell.outputs, f"{cell.id} is checked and has no stored output"
            kinds = {output.output_type for output in cell.outputs}
            assert kinds <= {"stream", "execute_result"}, f"{cell.id}: checked cells print, or end in a table"
            assert "stderr" not in {output.get("name") for output in cell.outputs}, f"{cell.id}: stores a warning"
            assert not re.search(r"/(home|root|tmp|Users)/", str(cell.outputs)), f"{cell.id}: stores a path"
            assert printed(cell), f"{cell.id}: what a checked cell shows has a text form"
        else:
            assert cell.outputs == [], f"{cell.id} stores an output that nothing checks"


@pytest.fixture(scope="module")
def ran(site):
    """The notebooks as the run that the site was made of has left them."""
    return get_cache(cache_path(ROOT))


def test_the_build_printed_what_the_text_quotes(ran, path):
    """Checked cells, in the run that the site was made of."""
    notebook = nbformat.read(path, as_version=4)
    _, executed = ran.merge_match_into_notebook(notebook)
    assert [cell.id for cell in executed.cells] == [cell.id for cell in notebook.cells]
    checked = [(kept, run) for kept, run in zip(notebook.cells, executed.cells) if kept.get("outputs")]
    assert checked
    for kept, run in checked:
        assert printed(run) == printed(kept), kept.id


def test_a_chapter_leaves_room(ran, path):
    """A kernel that ran it whole held less than 1 GB at its peak, as Linux tells it; torch built for CUDA, which pip
    brings there, holds 290 MB more before it has computed anything."""
    megabytes = ran.match_cache_notebook(nbformat.read(path, as_version=4)).data["megabytes"]
    assert (megabytes or 0) < 1000 + 300 * (torch.version.cuda is not None) and (megabytes is None) == (
        sys.platform != "linux"
    )


def tables(code):
    """A cell's names, and those of each function that it defines."""
    cell = symtable.symtable(TransformerManager().transform_cell(code), "cell", "exec")
    return cell, {each.get_name(): each for each in cell.get_children()}


def read_by(table):
    """Names that a function looks up when it is called, not when it is made."""
    inner = set().union(*map(read_by, table.get_children()))
    return inner | {each.get_name() for each in table.get_symbols() if each.is_global()}


def test_no_cell_takes_a_name_from_an_explorer_before_it(path):
    """A reader runs all cells, and then touches an explorer: what its function reads must be what it was."""
    reads, explored, taken, asked = {}, set(), [], 0
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        names, functions = tables(cell.source)
        bound = {each.get_name() for each in names.get_symbols() if each.is_assigned() or each.is_namespace()}
        needed, found = set(), set(explored)
        while found - needed:
            needed |= found
            found = set().union(*(reads.get(name, set()) for name in needed))
        taken += [f"{cell.id}: {name}" for name in sorted(bound & needed)]
        reads |= {name: read_by(table) for name, table in functions.items()}
        asked += len(re.findall(r"^@explore\b", cell.source, re.M))
        explored |= {name for name in functions if re.search(rf"@explore\b[^@]*\ndef {name}\(", cell.source)}
    assert taken == [] and len(explored) == asked


def test_every_state_of_an_explorer_answers_in_eight_words(site, path):
    """The first sentence of its title, which an explorer shows large; what it sets small is not counted."""
    page = site / "chapters" / f"{path.stem}.html"
    for name in re.findall(r'id="(explore-\w+)"', page.read_text("utf8")):
        figure, leaves = decode(payload(page, name))
        titles = next((leaf["values"] for leaf in leaves if leaf["path"] == ["title"]), [figure["title"]])
        for title in titles:
            ends = (end.start() for end in re.finditer(r"\. (?=(.))", title) if end[1].isupper())
            first = title[: next(ends, None)]
            words = re.findall(r"\S*\w\S*", re.sub(r"\([^()]* to [^()]*\)", "", first))
            assert 1 <= len(words) <= 8, (name, title)
            assert not re.match(r"[a-z]{2}", first), (name, title)
            assert not re.search(r"\de[+-]\d|(?<![\w.-])-\d|\bnan\b|\binf\b|−0\.?0*\b(?![.\d])", title), (name, title)


def test_prose_quotes_only_what_is_printed_set_or_cited(path):
    """Every number with a decimal point, an exponent or a percent sign is in a checked output, in code, or cited."""
    notebook = nbformat.read(path, as_version=4)
    shown = [cell for cell in notebook.cells if "remove-cell" not in cell.metadata.get("tags", [])]
    code = "\n".join(cell.source for cell in shown if cell.cell_type == "code")
    told = "\n".join(printed(cell) for cell in notebook.cells if cell.cell_type == "code")
    known = set(re.findall(NUMBER, code + "\n" + told))
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text = re.sub(r"```python.*?```|`[^`\n]+`|\]\([^)]*\)|<[^>]+>", " ", cell.source, flags=re.S)
        for paragraph in re.split(r"\n\s*\n", text):
            if "{cite" in paragraph:
                continue
            paragraph = re.sub(r"(?i)(section|sections|eq\.|figure|table|torch|python)\s+[\d.]+", " ", paragraph)
            for quoted in re.findall(NUMBER, paragraph):
                assert quoted in known, (
                    f"{path.stem}, cell {cell.id}: '{quoted}' is in no checked output, nor in code, nor cited"
                )


NUMBER = r"\d*\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|\d+(?:\.\d+)?\s?%"
