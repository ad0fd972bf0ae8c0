"""The writer: a language model in a page, as it is in torch; without it, what was kept of it."""

import functools
import gzip
import json
import re
import sys

import nbformat
import pytest
import yaml
from browser import ROOT, serve, soup
from lab import NOTEBOOK, execute, jupyter_lab, run_all
from nbformat.v4 import new_code_cell, new_notebook
from test_build import Book
from test_pretrained import HERE, needs

from plusx.panels.writer import writer
from plusx.panels.writer.page import LAYERS, markup

GIVEN = "The capital of France is"
KEPT = 'writer(given, {(): " Paris.", ("FFN", "skip", 3): "grbl grbl", ("attention", "branch", 30): " in France."})'
CELL = f'from plusx.panels.writer import writer\n\ngiven = "{GIVEN}"\n{KEPT}'


def book_of(folder, **config):
    book = Book(folder / "book")
    book.write(CELL)
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]
    settings["local_extensions"]["book"] = str(ROOT / "site" / "build")
    settings["config"] |= config
    book.configure(sphinx=settings)
    built = book.build()
    assert built.returncode == 0, built.stdout + built.stderr
    return book


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with serve(book_of(tmp_path_factory.mktemp("kept")).site) as url:
        yield f"{url}/chapter.html"


@pytest.fixture(scope="module")
def brought(tmp_path_factory):
    with serve(book_of(tmp_path_factory.mktemp("brought"), plusx_model=True).site) as url:
        yield f"{url}/chapter.html"


def press(page, part, kind, layer):
    """As a reader does: a skip at its line, a box in its middle."""
    piece = page.locator(f'.px-diagram[data-part="{part}"] > :nth-child({layer})')
    box = piece.bounding_box()
    piece.click(position={"x": box["width"] * 0.6, "y": 10 if kind == "skip" else 50})


def status(page):
    return page.locator(".plusx-writer [role=status]").text_content()


def written(page):
    return page.locator(".wr-written").text_content()


def test_the_whole_models_text_has_to_be_there():
    with pytest.raises(ValueError, match=r"texts has 1 keys, and not \(\)"):
        writer(GIVEN, {("FFN", "skip", 1): ""})


@pytest.mark.parametrize("width", [1280, 390])
def test_without_a_model_a_page_shows_what_was_kept_and_says_what_it_cannot(open_page, kept, width, axe):
    page, foreign, errors = open_page(kept, width=width)
    page.emulate_media(reduced_motion="reduce")
    assert written(page) == " Paris."
    assert status(page).startswith("All skips and branches in place. Not here: other words, and more cuts than one,")
    field = page.get_by_role("textbox", name="It goes on from")
    assert not field.is_editable() and page.locator(".wr-go").is_hidden()  # nothing invites to what is refused
    press(page, "FFN", "skip", 3)
    assert (written(page), status(page)) == ("grbl grbl", "Off: FFN skip of layer 3.")
    press(page, "attention", "branch", 30)  # one at a time
    assert (written(page), status(page)) == (" in France.", "Off: attention branch of layer 30.")
    page.get_by_role("button", name="All whole").click()
    assert written(page) == " Paris."
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)  # until the way back to the top has faded
    assert axe(page) == foreign == errors == []


def test_a_keyboard_goes_along_a_wire_and_cuts(open_page, kept):
    page, foreign, errors = open_page(kept)
    page.emulate_media(reduced_motion="reduce")
    wire = page.get_by_role("group", name="FFN: a skip and a branch in each of 30 layers")
    wire.locator("[tabindex='0']").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.ariaLabel") == "Skip around FFN, layer 3"
    page.keyboard.press("Space")
    assert written(page) == "grbl grbl"
    assert page.evaluate("document.activeElement.ariaChecked") == "false"


def test_without_scripts_the_page_has_the_whole_models_text(open_page, kept):
    page, foreign, errors = open_page(kept, scripts=False)
    assert page.locator("p.wr-text").text_content() == f"{GIVEN} Paris."


def test_the_offered_copy_of_the_book_leaves_the_model_out(tmp_path):
    from offline import offer_to_keep

    (tmp_path / "index.html").write_text('<div class="px-offline" data-megabytes="">')
    (tmp_path / "12345678-smollm2.onnx").write_bytes(b"model")
    offer_to_keep(tmp_path)
    listed = json.loads(re.search(r"const files = (\[.*\]);", (tmp_path / "offline-worker.js").read_text())[1])
    assert "index.html" in listed and not any("smollm2" in name for name in listed)


# ---- on the first page ----------------------------------------------------------------------------------------------


@pytest.fixture
def first(site_url, open_page):
    def first(width=1280, theme="light", motion="reduce", **how):
        page, foreign, errors = open_page(f"{site_url}/index.html", width=width, theme=theme, **how)
        page.emulate_media(reduced_motion=motion)
        return page, foreign, errors

    return first


def test_its_page_is_light(site):
    """Everything that the first page loads, as a server sends it, is 200 kB or less; its type 60 kB or less."""
    html = (site / "index.html").read_text(encoding="utf8")
    sources = re.findall(r'<(?:script|link)\b[^>]*\s(?:src|href)="([^"?]*\.(?:js|css))', html)
    files = [site / "index.html", *(site / each for each in sources if "://" not in each)]
    fonts = list((site / "_static" / "plusx").glob("*.woff2"))
    assert len(files) > 5 and len(fonts) == 2
    types = sum(path.stat().st_size for path in fonts)
    assert types <= 60_000
    assert types + sum(len(gzip.compress(path.read_bytes())) for path in files) <= 200_000


def texts_of(page):
    """What a page's writer knows that was written, by what was cut."""
    return json.loads(soup(page).select_one(".plusx-writer .pn-setup").string)["texts"]


def test_its_texts_are_those_of_the_chapter_with_attention_cut(site):
    said, kept = texts_of(site / "index.html"), texts_of(site / "chapters" / "a-real-language-model.html")
    cuts = [f"attention {kind} {layer}" for kind in ("skip", "branch") for layer in range(1, 31)]
    assert sorted(said) == sorted(["", *cuts]) and said.items() <= kept.items() and len(kept) == 121


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_press_cuts_one_and_another_puts_it_back_and_nothing_below_moves(first, width, theme, axe):
    page, foreign, errors = first(width, theme)
    start, box = written(page), page.locator(".plusx-writer").bounding_box()
    assert start.startswith(" loved to play") and box["height"] < 700
    tall = set()
    for switch in page.locator(".plusx-writer").get_by_role("switch").all():  # one at a time
        switch.dispatch_event("click")
        assert page.locator(".plusx-writer [aria-checked=false]").count() == 1
        tall.add(round(page.locator(".plusx-writer").bounding_box()["height"]))
    assert len(tall) == 1
    button = page.locator(".wr-whole")
    button.click()
    assert (written(page), button.text_content()) == (start, "Cut one skip")
    button.click()
    assert status(page) == "Off: attention skip of layer 5." and written(page) != start
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".plusx-writer form, .wr-load:visible").count() == 0
    assert axe(page) == foreign == errors == []


def test_the_text_types_itself_unless_the_reader_wants_no_motion(first):
    page, _, _ = first(motion="no-preference")
    page.locator(".wr-whole").click()
    whole = page.locator(".wr-rest").text_content()
    assert len(written(page)) < len(whole)
    page.wait_for_function("document.querySelector('.wr-rest').textContent === ''")
    assert len(written(page)) >= len(whole)


def test_without_scripts_it_is_a_picture_with_both_texts(first, site):
    page, _, _ = first(scripts=False)
    shown = " ".join(page.locator(".plusx-writer").inner_text().split())
    assert "loved to play" in shown and " ".join(texts_of(site / "index.html")["attention skip 5"].split()) in shown
    assert page.locator(".plusx-writer button:visible").count() == 0


# ---- with the model -------------------------------------------------------------------------------------------------

needs_model = pytest.mark.skipif(not HERE, reason="no weights, or nothing that reads them; `make model` brings both")


@needs_model
def test_in_a_page_the_model_writes_what_torch_writes_and_stops_when_told(open_page, brought):
    import torch

    from plusx.measure import switches
    from plusx.nets.pretrained import pretrained

    model, tokenizer = pretrained()
    ids = tokenizer(GIVEN, return_tensors="pt").input_ids
    gates = switches(model, ids)

    @functools.cache
    def torchs(skip=None, branch=None):
        gates.skip[:], gates.branch[:] = 1, 1
        for gate, place in (gates.skip, skip), (gates.branch, branch):
            if place is not None:
                gate[place] = 0
        with torch.no_grad(), gates:
            given = model.generate(ids, max_new_tokens=40, do_sample=False)[0, ids.shape[1] :]
        return tokenizer.decode(given).replace("\n\n", " ↵ ").replace("\n", " ↵ ").removesuffix("<|im_end|>")

    page, foreign, errors = open_page(brought)
    page.get_by_role("button", name=re.compile(r"Load the model \(\d+ MB\)")).click()
    page.wait_for_function("document.querySelector('.wr-load').hidden")
    page.wait_for_function("document.querySelector('.wr-go').textContent === 'Write'")
    assert written(page) == torchs()
    press(page, "attention", "skip", 5)
    press(page, "FFN", "branch", 9)
    page.wait_for_function("document.querySelector('.wr-go').textContent === 'Stop'")
    page.wait_for_function("document.querySelector('.wr-go').textContent === 'Write'")
    assert status(page) == "Off: attention skip of layer 5, FFN branch of layer 9."
    assert written(page) == torchs(skip=8, branch=17)
    page.get_by_role("button", name="Write").click()
    page.wait_for_function("document.querySelector('.wr-written').textContent.length < 30")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_function("document.querySelector('.wr-go').textContent === 'Write'")
    stopped = written(page)
    page.wait_for_timeout(1_000)
    assert written(page) == stopped and len(stopped) < len(torchs(skip=8, branch=17))
    page.get_by_role("textbox").fill("  ")
    page.get_by_role("button", name="Write").click()
    assert status(page) == "Write something that it can go on from."
    page.reload()  # the browser has kept it
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("button", name=re.compile("Load the model")).click()
    page.wait_for_function("document.querySelector('.wr-load').hidden")
    assert not any("smollm2.onnx" in url for url in asked)
    assert foreign == errors == []


@pytest.mark.parametrize("net", [pytest.param(net, marks=needs(net)) for net in LAYERS])
def test_beside_a_kernel_torch_writes_token_by_token(net):
    import torch

    from plusx.nets.pretrained import pretrained
    from plusx.panels.writer.live import Live

    model, tokenizer = pretrained(net)
    ids = tokenizer(GIVEN, return_tensors="pt").input_ids
    with torch.no_grad():
        wanted = model.generate(ids, max_new_tokens=5, do_sample=False)[0, ids.shape[1] :]
    live, whole = Live("", net), dict(skip=[1] * 2 * LAYERS[net], branch=[1] * 2 * LAYERS[net])
    cut = whole | dict(skip=[0, *whole["skip"][1:]])
    for count in range(5):  # two views take turns
        seen = live.asked("", view="a", begin=GIVEN * (not count), **whole)
        other = live.asked("", view="b", begin=GIVEN * (not count), **cut)
    assert seen["text"] == tokenizer.decode(wanted) != other["text"]


def test_a_page_has_one_net_and_beside_a_kernel_there_are_two(monkeypatch, capsys):
    writer(GIVEN, net="gemma")
    assert markup(GIVEN, {(): ""}, layers=LAYERS["gemma"]).count("in each of 18 layers") == 2
    for where, known in {"live": "smollm2, gemma", "static": "smollm2"}.items():
        monkeypatch.setenv("PLUSX_EXPLORE", where)
        with pytest.raises(ValueError, match=f"'minilm' does not write here; expected one of {known}"):
            writer(GIVEN, net="minilm")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[new_code_cell(CELL)], metadata=kernel), folder / "writer.ipynb")
    nowhere = f"import os\n\nos.environ |= dict(PLUSX_MODEL={str(folder / 'empty')!r}, PIP_NO_INDEX='1')\n{CELL}"
    nbformat.write(new_notebook(cells=[new_code_cell(nowhere)], metadata=kernel), folder / "without.ipynb")
    with jupyter_lab(folder) as url:
        yield url


def in_front(page):
    view = page.locator(".jp-Notebook .plusx-writer")
    view.wait_for()
    return view


def cut(view, name):
    view.get_by_role("switch", name=name, exact=True).dispatch_event("click")


def test_in_lab_it_shows_what_was_kept_wherever_its_cell_is(lab, open_page):
    page, foreign, _ = open_page("about:blank")
    page.emulate_media(reduced_motion="reduce")
    assert run_all(page, lab, "writer.ipynb") == []
    cut(in_front(page), "Skip around FFN, layer 3")
    assert in_front(page).locator(".wr-written").text_content() == "grbl grbl"
    execute(page, "notebook:create-output-view")
    second = page.locator(".jp-LinkedOutputView .plusx-writer")
    second.wait_for()
    cut(second, "Branch of attention, layer 30")
    assert second.locator(".wr-written").text_content() == " in France."
    assert in_front(page).locator(".wr-written").text_content() == "grbl grbl"  # each view is its own
    execute(page, "docmanager:open", path="writer.ipynb")  # the notebook in front, no longer the view
    page.evaluate(f"() => void {NOTEBOOK}.sessionContext.session.kernel.restart()")
    in_front(page).get_by_text("The kernel has no model any more: run this cell again.").wait_for()
    assert foreign == []


def test_beside_a_kernel_what_is_not_installed_is_named_before_93_megabytes_come(monkeypatch):
    from plusx.panels.writer.live import Live

    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr("plusx.panels.writer.live.pretrained", lambda net: pytest.fail("asked for the weights"))
    with pytest.raises(ImportError, match=r'gguf.*pip install "plusx\[model\]"'):
        Live("").asked("", view="", begin="", skip=[], branch=[])


def test_in_lab_a_model_that_does_not_load_says_why_and_what_was_kept_stays(lab, open_page):
    page, _, _ = open_page("about:blank")
    page.emulate_media(reduced_motion="reduce")
    assert run_all(page, lab, "without.ipynb") == []
    view = in_front(page)
    load = view.get_by_role("button", name="Load the model")
    load.click()
    view.get_by_text(re.compile("The model did not load: .*Try again")).wait_for()
    cut(view, "Skip around FFN, layer 3")
    assert view.locator(".wr-written").text_content() == "grbl grbl"
    assert load.is_enabled() and view.locator("progress").is_hidden()


@needs_model
def test_in_lab_the_kernel_writes_word_by_word_until_it_is_stopped(lab, open_page):
    page, _, _ = open_page("about:blank")
    assert run_all(page, lab, "writer.ipynb") == []
    view = in_front(page)
    view.get_by_role("button", name="Load the model").click()
    go = view.locator(".wr-go")
    go.filter(has_text="Write").and_(page.locator(":not([disabled])")).wait_for()
    view.get_by_text("All skips and branches in place.", exact=True).wait_for()
    whole = view.locator(".wr-written").text_content()
    assert whole.startswith(" Paris.")
    first, begun = page.evaluate(
        """view => new Promise(done => {
            const begun = performance.now(), text = view.querySelector('.wr-written');
            const watch = new MutationObserver(() => {
                watch.disconnect(); done([performance.now() - begun, text.textContent]); });
            watch.observe(text, { childList: true, characterData: true, subtree: true });
            view.querySelector('[aria-label="Skip around attention, layer 5"]').dispatchEvent(
                new MouseEvent('click', { bubbles: true }));
        })""",
        view.element_handle(),
    )
    print(f"\nwriter in JupyterLab, press to first word: {first:.0f} ms")
    assert len(begun) < len(whole) / 2  # it is shown as it is written
    go.filter(has_text="Stop").click()
    go.filter(has_text="Write").wait_for()
    stopped = view.locator(".wr-written").text_content()
    page.wait_for_timeout(700)
    assert view.locator(".wr-written").text_content() == stopped != whole
