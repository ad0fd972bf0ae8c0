"""Chapters by their numbers in the built site, what they ask and take, and the contents beside them."""

import re
from pathlib import Path

import numbering
import pytest
from browser import ROOT, soup
from sphinx.errors import ExtensionError

CARDS = re.compile(r"^ *(\d+)\. \[(.*?)\]\(chapters/(.*?)\.ipynb\) · (\d+) min\\\n +(.*)$", re.M)
CHAPTERS = {int(number): rest for number, *rest in CARDS.findall((ROOT / "index.md").read_text("utf8"))}


@pytest.fixture(scope="module")
def soups(site):
    return {number: soup(site / "chapters" / f"{stem}.html") for number, (_, stem, *_) in CHAPTERS.items()}


def words(node):
    return " ".join(node.text.split())


def test_teachers_ask_what_the_cards_ask_in_as_many_minutes():
    table = (ROOT / "chapters" / "teachers.md").read_text("utf8")
    asked = re.findall(r"^\| \[(\d+)\. .*?\]\(.*?\) \| (\d+) \|.*\| (.*?) \|$", table, re.M)
    assert {int(number): rest for number, *rest in asked} == {n: each[2:] for n, each in CHAPTERS.items()}


def test_a_chapter_has_its_number_in_its_title_its_window_and_the_sidebar(soups):
    assert list(soups) == list(range(1, 21))
    for number, page in soups.items():
        title = page.select_one("article section > h1").text
        assert title.startswith(f"{number}. ") and page.title.text.startswith(f"{number}. ")
        assert f"{CHAPTERS[number][2]} minutes" in page.select_one(".px-minutes").text
        listed = [words(link) for link in page.select(".bd-links li > a")]
        assert [int(name.split(".")[0]) for name in listed if name[0].isdigit()] == list(range(1, 21))
        assert words(page.select_one(".bd-links li.current > a")).startswith(f"{number}. ")


def test_previous_and_next_say_what_they_ask(soups):
    for number, page in soups.items():
        for side, other in (("left-prev", number - 1), ("right-next", number + 1)):
            link = page.select_one(f".{side}")
            if other in CHAPTERS and CHAPTERS[other][1] in link["href"]:
                assert words(link.select_one(".prev-next-title")).startswith(f"{other}. ")
                assert words(link.select_one(".px-asks")) == CHAPTERS[other][3]
            else:
                assert not re.match(r"\d", words(link.select_one(".prev-next-title")))


def test_a_chapter_without_a_card_stops_the_build():
    pages = {Path("index.html"): "", Path("chapters/21-new.html"): ""}
    with pytest.raises(ExtensionError, match="index.md has no card of 21-new.html"):
        numbering.number_chapters(None, pages, Path())


def test_a_chapter_that_does_not_say_what_one_can_do_after_it_stops_the_build():
    card = '<li><p><a href="chapters/21-new.html">New</a> · 15 min<br />\nWhy?</p>'
    page = "<title>New</title><section><h1>New</h1></section>"
    pages = {Path("index.html"): card, Path("chapters/21-new.html"): page}
    with pytest.raises(ExtensionError, match="the edit 'goals folded' fits 0 times in 21-new.html"):
        numbering.number_chapters(None, pages, Path())


MARKED = """async () => {
  const links = [...document.querySelectorAll('#pst-page-toc-nav a')];
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const wrong = [];
  const end = () => document.documentElement.scrollHeight - innerHeight;
  for (let y = 0; y < end() - 300; y += 300) {
    scrollTo(0, y);
    await frame();
    await frame();
    const begun = (link) => document.querySelector(link.hash).getBoundingClientRect().top < innerHeight / 3;
    const wanted = links.findLast(begun);
    const marked = links.filter((link) => link.matches('.active[aria-current]'));
    if (marked.length !== (wanted ? 1 : 0) || marked[0] !== wanted) wrong.push([y, wanted?.hash, marked[0]?.hash]);
  }
  return wrong; }"""


@pytest.mark.parametrize("number", [2, 7, 14])
def test_the_contents_mark_the_section_that_is_read_wherever_one_is(number, site_url, open_page):
    page, _, errors = open_page(f"{site_url}/chapters/{CHAPTERS[number][1]}.html")
    assert page.evaluate(MARKED) == [] and errors == []


def test_a_chapter_opens_with_its_picture_and_what_one_can_do_after_it_folded(soups):
    for number, page in soups.items():
        assert page.select_one("h1 + .px-minutes") and not page.select("h1 ~ svg")
        picture = page.select_one(".plusx-explore, .plusx-playground")
        before = [text for text in picture.find_all_previous("p") if text.find_previous("h1")]
        assert sum(len(text.get_text().split()) for text in before) < 175, number  # "30 minutes, and ..." among them
        (goals,) = page.select("details.px-goals")
        assert not goals.has_attr("open") and len(goals.select("li")) >= 2


def test_what_one_can_do_after_a_page_is_folded_on_every_page_that_says_so(site):
    for name in ("a-real-language-model", "real-nets"):
        (goals,) = soup(site / "chapters" / f"{name}.html").select("details.px-goals")
        assert len(goals.select("li")) >= 2
