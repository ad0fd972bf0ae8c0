"""What teachers get besides the pages: editions without and with solutions, lesson plans."""

import functools
import json
import re
import subprocess
import sys
import zlib
from html import unescape
from urllib.parse import parse_qsl, unquote, urlsplit

import editions
import pytest
from browser import ROOT, SAMPLES, serve, soup
from bs4 import BeautifulSoup, SoupStrainer
from sphinx.errors import ExtensionError
from sphinx.search.en import SearchEnglish

TEXTS = (".html", ".js", ".ipynb", ".md", ".txt", ".xml", ".css", "")


SOLUTION = re.compile(r'<div class="solution\b.*?</p>\s*(<section>.*?</section>)\s*</div>', re.S)


def chapters(site):
    return sorted(site.glob("chapters/*.html"))


def text_of(html):
    """The words of HTML, with its formulas left out."""
    html = re.sub(r"<mjx-container.*?</mjx-container>", "\n", html, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", "", html))


@pytest.fixture(scope="module")
def solutions(site):
    """(chapter, HTML of the solution without its heading) for each solution of the site."""
    found = [(page.stem, each) for page in chapters(site) for each in SOLUTION.findall(page.read_text())]
    written = sum(path.read_text().count("{solution}") for path in site.glob("_sources/chapters/*"))
    assert len(found) == written > 60
    return found


def edition(name):
    """The folder of an edition, as `make student` and `make teacher` leave it."""
    command = [sys.executable, ROOT / "site" / "build" / "build.py", "--edition", name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_build" / name


@pytest.fixture(scope="module")
def student():
    return edition("student")


@pytest.fixture(scope="module")
def teacher():
    return edition("teacher")


def test_an_edition_of_another_name_is_refused_for_it_would_hold_the_solutions(monkeypatch):
    monkeypatch.setenv("PLUSX_EDITION", "students")
    with pytest.raises(ExtensionError, match="'students', expected one of student, teacher"):
        editions.setup(None)


def pieces(solution):
    """What stands between formulas, emphasis and stops, if it is long enough to be known again."""
    found = (plain(piece) for piece in re.split(r"[\n.:;(),]", text_of(solution)))
    return [piece for piece in found if len(piece) > 30]


def plain(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def test_no_sentence_of_a_solution_is_left_for_students(site, student, solutions):
    everything = {
        path: plain(text)
        for path in student.rglob("*")
        if path.is_file() and path.suffix in TEXTS and not path.name.startswith(("plotly", "ort"))
        for text in [path.read_text(encoding="utf8", errors="replace")]
    }
    pages = {page.stem: page.read_text() for page in sorted(site.glob("chapters/*.html"))}
    elsewhere = plain(text_of(SOLUTION.sub("", "\n".join(pages.values()))))
    tried = 0
    for stem, solution in solutions:
        whole = plain(text_of(pages[stem]))
        for piece in (piece for piece in pieces(solution) if piece not in elsewhere):
            tried += 1
            assert piece in whole  # this would be seen
            assert [path for path, words in everything.items() if piece in words] == [], piece
    assert tried > 250


def test_students_pages_are_whole_and_link_to_nothing_that_is_gone(site, student):
    for before in (site / chapter for chapter in SAMPLES):
        page = student / before.relative_to(site)
        assert soup(page).select(".solution") == []
        exercises = [each.get_text() for each in soup(page).select(".exercise")]
        assert exercises == [each.get_text() for each in soup(before).select(".exercise")] and exercises
        assert len(soup(page)("div")) == len(soup(before)("div")) - sum(
            1 + len(each("div")) for each in soup(before).select(".solution")
        )
        ids = {tag["id"] for tag in soup(page)(id=True)}
        links = [link["href"][1:] for link in soup(page)("a", href=re.compile("^#."))]
        links = [f"explore-{link.split('?')[0]}" if "?" in link else unquote(link) for link in links]
        assert [link for link in links if link not in ids] == []
        notebook = json.loads((student / "_sources" / "chapters" / f"{page.stem}.ipynb").read_text())
        original = json.loads((site / "_sources" / "chapters" / f"{page.stem}.ipynb").read_text())
        assert len(notebook["cells"]) == len(original["cells"])
        text = "".join("".join(cell["source"]) for cell in notebook["cells"])
        assert text.count("{exercise}") == len(exercises) and "{solution" not in text
    for folder, told in (site, True), (student, False):
        inventory = zlib.decompress((folder / "objects.inv").read_bytes().split(b"zlib.\n")[1])
        assert (b"-solution-" in inventory) == told


def index_of(site):
    return json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))


def places(index, word):
    """The numbers of the pages that have the word."""
    found = index["terms"].get(word, [])
    return found if isinstance(found, list) else [found]


def prose(page):
    """The words of a page's paragraphs and lists, of which alone is parsed: the rest takes three times as long."""
    (article,) = re.findall(r"<article.*</article>", page.read_text(encoding="utf8"), re.S)
    texts = BeautifulSoup(article, "html.parser", parse_only=SoupStrainer(["p", "li"]))
    return " ".join(text.get_text(" ") for text in texts.select("p:not(.px-alone), li"))


def test_students_search_knows_no_word_that_only_a_solution_has(site, student, solutions, open_page):
    whole, left = index_of(site), index_of(student)
    assert whole["docnames"] == left["docnames"]
    assert not any("olution to" in title for title in left["alltitles"])
    assert sum("olution to" in title for title in whole["alltitles"]) == len(solutions)
    stem = functools.cache(SearchEnglish({}).stem)
    only = []
    for number, name in enumerate(whole["docnames"]):
        page = site / f"{name}.html"
        mine = " ".join(text_of(solution) for where, solution in solutions if where == page.stem)
        if not mine:
            continue
        rest = text_of((student / f"{name}.html").read_text()) + (student / "_sources" / f"{name}.ipynb").read_text()
        rest = {stem(word) for word in re.findall("[a-z]+", rest.lower())}
        shown = {stem(word) for word in re.findall(r"\b[a-z]{4,}\b", prose(student / f"{name}.html").lower())}
        lost = [word for word in shown if number in places(whole, word) and number not in places(left, word)]
        assert lost == [], name
        for word in sorted(word for word in set(re.findall("[a-z]{6,}", mine.lower())) if stem(word) not in rest):
            assert number not in places(left, stem(word)), (name, word)
            if number in places(whole, stem(word)) and not places(left, stem(word)):
                only.append(word)
    assert len(only) > 20
    for edition, finds in (site, True), (student, False):
        with serve(edition) as url:
            page, _, errors = open_page(f"{url}/search.html?q={only[0]}", solid=False)
            page.locator("#search-results p.search-summary").filter(has_not_text="Searching").first.wait_for()
            page.wait_for_function("!document.querySelector('#search-results h2').textContent.startsWith('Searching')")
            assert (page.locator("#search-results ul.search li").count() > 0) == finds, only[0]
            assert errors == []


@pytest.mark.audit
def test_teachers_see_each_solution_and_may_fold_it(site, teacher, open_page):
    name = chapters(site)[1].relative_to(site)
    for folder, visible in (site, False), (teacher, True):
        page, _, errors = open_page((folder / name).as_uri(), solid=False)
        found = page.locator(".solution")
        found.first.locator(".toggle-button").wait_for()
        assert found.count() == 4
        for solution in found.all():
            assert solution.locator("section p").first.is_visible() == visible
        found.first.locator(".toggle-button").click()
        assert found.first.locator("section p").first.is_visible() != visible
        assert errors == []
    assert "toggle-shown" not in (site / name).read_text()


def test_each_link_of_a_lesson_opens_the_state_that_is_spoken_of(site, open_page):
    """The numbers and verdicts after a link are in the words that its state shows."""
    links = soup(site / "chapters" / "teachers.html").select('article a[href*="?"]')
    assert len(links) > 40
    pages, compared = {}, 0
    for link in links:
        file, state = urlsplit(link["href"]).path, link["href"].split("#")[1]
        name, query = state.split("?")
        if file not in pages:
            pages[file] = open_page((site / "chapters" / file).as_uri(), solid=False)[0]
            pages[file].wait_for_function(
                "[...document.querySelectorAll('.plusx-explore fieldset')].every(e => !e.disabled)"
            )
        page = pages[file]
        root = page.locator(f"#explore-{name}")
        root.locator("form").evaluate("form => new Promise((done) => { form.reset(); setTimeout(done, 20); })")
        page.evaluate("""(hash) => new Promise((done) => {
            addEventListener('hashchange', () => setTimeout(done), { once: true });
            location.hash = hash; })""", f"{state}&")  # fmt: skip
        assert root.locator("[role=alert]").text_content() == "", link
        reached = dict(parse_qsl(root.locator(".px-link").get_attribute("href").split("?")[1]))
        assert dict(parse_qsl(query)).items() <= reached.items(), link
        says = root.locator(".px-result").text_content()
        after = link.next_sibling if isinstance(link.next_sibling, str) else ""
        claim = re.match(r":([^;|]*)", after)
        parts = r"\d[\d.]*(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|explodes|vanishes|arrives"
        for part in re.findall(parts, claim[1]) if claim else ():
            compared += 1
            assert re.search(rf"(?<![\d.]){re.escape(part)}0?(?!\d)", says), (part, says, link)
    assert compared > 40
    for link in soup(site / "chapters" / "teachers.html").select('article a[href*="#slides"]'):
        target = site / "chapters" / urlsplit(link["href"]).path
        assert "btn-slides-button" in target.read_text()
