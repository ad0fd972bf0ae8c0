"""Explorers where a page is not as we wrote it: other hosts, policies, translators, files and builders."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser import PLAYGROUND, ROOT, QuietHandler, serve
from docutils import nodes
from sphinx.errors import ExtensionError
from test_offline import KEPT, copied, use  # noqa: F401
from test_view import CONTROLS, LOADED, PLOTLY, curve, page_of, press, result  # noqa: F401

from plusx.explore.controls import bind
from plusx.explore.states import DEFAULT, Explorer
from plusx.explore.static import fragment
from plusx.sphinx import extension

MODULES = ROOT / "src/plusx/explore/js"
TRANSLATE = """() => {
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), texts = [];
  const isTold = (node) => !node.parentElement.closest("script, style, svg");
  while (walk.nextNode()) if (isTold(walk.currentNode)) texts.push(walk.currentNode);
  for (const text of texts) {
    const font = document.createElement("font");
    font.textContent = text.data.replaceAll(/[a-z]+/gi, "wort");
    text.replaceWith(font);
  }
}"""


def in_node(script, *arguments):
    node = Path(sys.executable).with_name("node")
    done = subprocess.run([node, "--input-type=module", "-e", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_page_that_a_browser_translated_keeps_its_links(page_of):  # noqa: F811
    early = f"<script>addEventListener('DOMContentLoaded', {TRANSLATE})</script>"
    page, errors = page_of(curve, query="#curve?skip=off&depth=4&kind=tanh", setup=early, **CONTROLS)
    assert page.locator("[role=alert]").is_hidden() and result(page) == "False 4 tanh"
    assert page.locator(".px-link").get_attribute("href") == "#curve?skip=off&depth=4&kind=tanh" and errors == []


def test_a_policy_without_data_for_connections_does_not_stop_it(page_of):  # noqa: F811
    policy = """<meta http-equiv="Content-Security-Policy" content="connect-src 'none'">"""
    page, errors = page_of(curve, setup=policy, **CONTROLS)
    press(page, "skip")
    assert result(page) == "False 1 relu" and errors == []


def test_a_file_of_its_own_holds_the_script(tmp_path, open_page):
    body = fragment(Explorer(curve, bind(curve, CONTROLS), DEFAULT))
    ours = (extension.EXPLORE / "built" / "explore.js").read_text()
    scripts = ["<script>" + text.replace("</script", r"<\/script") + "</script>" for text in (PLOTLY.read_text(), ours)]
    html = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>One</title><main>{body}</main>{"".join(scripts)}'
    )
    (tmp_path / "one.html").write_text(html, encoding="utf8")
    page, foreign, errors = open_page((tmp_path / "one.html").as_uri(), solid=False)
    page.wait_for_function(LOADED)
    press(page, "skip")
    assert result(page) == "False 1 relu" and foreign == [] and errors == []


def test_a_link_opens_the_fold_that_it_leads_into(page_of):  # noqa: F811
    folded = "<script>addEventListener('DOMContentLoaded', () => { const fold = document.createElement('details'); \
      const main = document.querySelector('main'); fold.append(...main.childNodes); main.append(fold); })</script>"
    page, _ = page_of(curve, query="#curve?skip=off", setup=folded, drawn=False, **CONTROLS)
    page.wait_for_function("document.querySelector('details').open")
    assert result(page) == "False 1 relu"


def test_a_slider_over_a_slow_function_asks_once_at_a_time_and_then_for_the_newest():
    assert in_node(f"""
      import {{ Kernel }} from "{(MODULES / "sources.js").as_uri()}";
      const sent = [], kernel = new Kernel({{ on() {{}}, send: ({{ state }}) => sent.push(state[0]) }}, null);
      for (let value = 0; value < 26; value++) kernel.ask([value]);
      const before = [...sent];
      await kernel.hear({{ state: [0], error: "no figure" }}, []);
      await kernel.hear({{ state: [25], error: "no figure" }}, []);
      kernel.ask([7]);
      console.log(JSON.stringify([before, sent]));""") == [[0], [0, 25, 7]]


def test_dark_is_told_by_a_colours_own_numbers():
    pairs = (
        "rgb(34, 38, 46)",
        "rgba(230, 232, 235, 0.9)",
        "color(srgb 0.1 0.1 0.1)",
        "color(display-p3 0.9 0.9 0.9 / 1)",
    )
    colours = [*pairs, "oklch(0.3 0.1 90)", "oklab(0.9 0 0)", "lab(20 0 0)", "lch(90 1 1)"]
    told = in_node(f"""
      import {{ isLight }} from "{(MODULES / "host.js").as_uri()}";
      console.log(JSON.stringify(JSON.parse(process.argv[1]).map(isLight)));""", json.dumps(colours))  # fmt: skip
    assert told == [False, True, False, True, False, True, False, True]


class Redirecting(QuietHandler):
    """As `npx serve` and others: `a.html` is sent on to `a`, which it answers with the file."""

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.endswith(".html"):
            self.send_response(301)
            self.send_header("Location", re.sub(r"((?<=/)index)?\.html$", "", path))
            self.end_headers()
            return
        if Path(self.directory, path.lstrip("/") + ".html").exists():
            self.path = f"{path}.html"
        super().do_GET()


def test_a_kept_book_opens_where_addresses_lose_their_html(site, tmp_path, open_page):
    shutil.copytree(site, tmp_path / "site", ignore=shutil.ignore_patterns("*.onnx", "*.wasm"))
    from offline import offer_to_keep

    offer_to_keep(tmp_path / "site")
    with serve(tmp_path / "site", Redirecting) as url:
        page, _, _ = open_page(f"{url}/", solid=True)
        use(page, "Keep the book on this device", KEPT)
    for address in ("chapters/glossary.html", "chapters/glossary", "index.html"):
        page.goto(f"{url}/{address}")
        assert page.locator("h1").count() > 0, address


def test_one_page_of_two_with_explorers_of_one_name_is_refused(monkeypatch):
    tag = '<div class="plusx-explore" id="explore-slope">'
    document = nodes.container("", *(nodes.raw("", tag, format="html") for _ in range(2)))
    with pytest.raises(ExtensionError, match="index has two explorers called 'slope'"):
        extension._check_ids(SimpleNamespace(), document, "index")
    extension._check_ids(SimpleNamespace(), nodes.container("", nodes.raw("", tag, format="html")), "index")


class Plain(QuietHandler):
    """A host that takes scripts for text."""

    def guess_type(self, path):
        return "text/plain" if path.endswith(".js") else super().guess_type(path)


def test_a_host_that_sends_scripts_as_text_is_named_and_not_tried_again(site, open_page):
    with serve(site, Plain) as url:
        page, _, _ = open_page(f"{url}/{PLAYGROUND}", solid=False)
        page.click(".plusx-playground .pn-load")
        page.wait_for_selector(".px-message:has-text('did not load')")
        said = page.locator(".plusx-playground .px-message").first.inner_text()
    assert "This host sends scripts as text/plain" in said and "ry again" not in said and ".." not in said


def test_in_a_frame_of_a_course_without_storage_nothing_is_promised_and_nothing_raises(site_url, tmp_path, launch):
    frame = f'<iframe sandbox="allow-scripts allow-forms" width="1200" height="800" src="{site_url}/CHAPTER"></iframe>'
    for name in ("chapters/05-degradation.html", PLAYGROUND):
        (tmp_path / "course.html").write_text(f"<!doctype html>{frame.replace('CHAPTER', name)}")
        with serve(tmp_path) as course:
            page, errors = launch(False).new_page(), []
            page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
            page.goto(f"{course}/course.html")
            inner = page.frame_locator("iframe")
            if name == PLAYGROUND:
                inner.locator(".pn-load").wait_for(state="hidden")
            else:
                inner.locator(".px-choices summary").first.click()
                assert "until you leave this page" in inner.locator(".px-told").first.inner_text()
                before = inner.locator("html").get_attribute("data-mode")
                inner.locator(".theme-switch-button").first.click()
                assert inner.locator("html").get_attribute("data-mode") != before
            page.close()
        assert errors == []


READABLE = """() => [...document.querySelectorAll('.plusx-explore')].filter((e) => e.checkVisibility()).map((root) => {
  const [svg, ...more] = [...root.querySelectorAll('.px-still svg')].filter((each) => each.checkVisibility());
  const looks = [...svg.querySelectorAll('path, image')].map((path) => ({ ...getComputedStyle(path), path }));
  const room = root.querySelector('.px-figure').getBoundingClientRect().height + 1;
  return { name: root.dataset.name, tall: svg.getBoundingClientRect().height <= room && more.length === 0,
    drawn: looks.some(({ stroke, path }) => path.localName === 'image' || (stroke !== 'none' &&
      (root.dataset.drawn || stroke !== 'rgb(0, 0, 0)'))),
    black: root.querySelectorAll('.px-drawn path, .px-piece rect').values().filter((each) =>
      getComputedStyle(each).fill !== 'none').toArray().length,
    words: root.querySelector('.px-result').checkVisibility(), numbers: root.querySelectorAll('td').length > 5 };
})"""


@pytest.mark.parametrize("name", ["01-f-of-x-plus-x", "14-rank-collapse"])
def test_one_page_out_of_an_archive_says_what_is_missing_and_can_be_read(site, tmp_path, open_page, name):
    file = site / "chapters" / f"{name}.html"
    page, foreign, errors = open_page(file.as_uri(), solid=False)
    said = page.locator(".px-alone")
    assert said.count() == 1 and said.is_hidden() and errors == []
    shutil.copy(file, tmp_path)
    page, foreign, _ = open_page((tmp_path / file.name).as_uri(), solid=False)
    assert page.locator(".px-alone").is_visible() and foreign == []
    assert "Unpack the whole archive" in page.locator(".px-alone").inner_text()
    found = page.evaluate(READABLE)
    assert len(found) > 3
    for each in found:
        assert each["tall"] and each["drawn"] and each["words"] and each["numbers"] and not each["black"], each
    wide = "[...document.querySelectorAll('svg')].filter((e) => !e.closest('.plusx-explore, mjx-container'))"
    assert page.evaluate(f"{wide}.filter((e) => e.getBoundingClientRect().height > 100).length") == 0
