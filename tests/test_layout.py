"""The page as a thing to read: letters a line, what is on a screen with what, and whether a hand can press it."""

import re

import pytest
from browser import CHAPTERS, LANES, ROOT, sampled

MEASURE = (ROOT / "tests" / "layout.js").read_text()
SCREENS = {1280: 800, 390: 844, 1024: 800, 1440: 900, 1920: 1080}
WRITTEN = [f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.md"))]
PAGES = ["index.html", *CHAPTERS, *WRITTEN]
CHOSEN = [page for page in PAGES if page[9:11] in ("07", "12", "a-", "tr", "wh")]  # the worst, once; tables


# ---- what is asked of a page, of what layout.js finds in it ----------------------------------------------------------


def opener(found, width):
    """The first screen has the picture and all that it takes to press."""
    if found:
        least = 180 if found["kind"] == "fold" else 260  # squares of a sheet would be oblongs
        assert found["figure"] >= least
        assert max(found["hands"], found["end"]) <= 800


def letters(found, width):
    """A line has as many as one reads with ease."""
    odd = [each for each in found if not 50 <= each["letters"] <= 75]
    assert len(odd) <= max(1, len(found) / 10)
    assert not [each for each in odd if each["letters"] > 85 or each["beside"] and each["letters"] < 45]


def cards(found, width):
    """A card is mostly picture."""
    least = 280 if SCREENS[width] == 800 else 320
    for card in found:
        assert card["seen"] >= min(least, card["tall"])
        assert card["full"] or card["tall"] >= least and card["head"] <= 220


def none(found, width):
    assert found == []


# What scrolls the page comes after what does not; `jumps` takes explorers over, and so comes last of all.
ASKED = {
    "opener": (opener, [1280]),
    "pills": (none, [1280, 390]),
    "letters": (letters, [1024, 1280, 1440, 1920]),
    "scrolling": (none, SCREENS),
    "cards": (cards, [1024, 1280, 1440, 1920]),
    "fingers": (none, [390]),
    "veiled": (none, [1280, 390]),
    "covered": (none, SCREENS),
}
OF_EXPLORERS = {"opener": CHAPTERS, "cards": CHAPTERS, "jumps": CHAPTERS, "fingers": ["index.html", *CHAPTERS]}


@pytest.mark.parametrize("reading", ["read", "lab"])
@pytest.mark.parametrize("name", sampled(PAGES, CHOSEN))
def test_a_page_can_be_read_and_pressed_at_every_width(site_url, open_page, name, reading):
    """Whatever one presses can be pressed in its middle, nothing scrolls in a card, and all that is `ASKED`."""
    page, _, _ = open_page("about:blank", solid=False)
    page.emulate_media(reduced_motion="reduce")
    page.add_init_script(f"localStorage.setItem('reading', '{reading}')")
    page.goto(f"{site_url}/{name}")
    page.evaluate(MEASURE)

    def ask(what, judge):
        found = page.evaluate(f"layout.{what}()")
        try:
            judge(found, width)
        except AssertionError as fault:
            fault.add_note(f"{what} at {width} px: {found}")
            raise

    there = ["letters", "covered"] if reading == "lab" else [*ASKED, "jumps"]
    there = [what for what in there if name in OF_EXPLORERS.get(what, PAGES)]
    for width, height in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("layout.settled()")
        for what, (judge, widths) in ASKED.items():
            if what in there and width in widths:
                ask(what, judge)
    for width in [1280, 390] if "jumps" in there else []:  # no state moves the picture in its card
        page.set_viewport_size({"width": width, "height": SCREENS[width]})
        page.evaluate("layout.settled()")
        ask("jumps", none)


FAULTS = {
    "letters": ("main p { max-width: none !important }", lambda found: max(each["letters"] for each in found) > 85),
    "covered": (".plusx-explore .px-radio { pointer-events: none }", len),
    "veiled": (".bd-sidebar-secondary.bd-sidebar-secondary { margin-left: -30rem }", len),
    "scrolling": (".plusx-explore .px-controls { height: 2rem; overflow: auto }", len),
    "cards": (".px-figure { margin-top: 20rem }", lambda found: any(each["head"] > 220 for each in found)),
    "jumps": (".px-result { min-height: 0 !important } .px-result::before { display: none }", len),
    "fingers": (".px-piece { flex: 0 0 3% !important }", len),
}


@pytest.mark.parametrize("what", FAULTS)
def test_the_measure_finds_what_is_wrong(site_url, open_page, what):
    rule, finds = FAULTS[what]
    page, _, _ = open_page(
        f"{site_url}/{CHAPTERS[0]}", solid=False, width=390 if what in ("fingers", "jumps") else 1280
    )
    page.locator(".px-diagram [role=switch]").first.wait_for()
    page.evaluate(MEASURE)
    page.add_style_tag(content=rule)
    assert finds(page.evaluate(f"layout.{what}()"))


SHEETS = [*(ROOT / "site" / "features").rglob("*.css"), *(ROOT / "src" / "plusx").rglob("*.css")]
# Beside elements that carry a name of ours, whose first letters are these: what a feature is there to change.
OURS = r"[.#][\w-]*(?:px|pn|ln|pg|wr|plusx)-|class\^=.?plusx-|data-drawn"
THEIRS = {
    "essay": r"^ body\[data-essay\]",  # the first page alone has it
    "reading": r"\.cell|btn-reading",
    "stage": r"\.full-width|\.bd-sidebar-secondary\.hide",
    "finding": "#pst-search-dialog",
    "terms": r"^ \.bd-article$",  # a ground for its bubbles
}
SELECTORS = """text => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const depth = (text) => text.split("(").length - text.split(")").length;
  const parts = (text) => text.split(",").reduce((all, part) =>
    all.length && depth(all.at(-1)) ? [...all.slice(0, -1), `${all.at(-1)},${part}`] : [...all, part], []);
  const all = (rules, around) => [...rules].flatMap((rule) => {
    const whole = rule.selectorText ? parts(rule.selectorText).map((each) => `${around} ${each}`) : [around];
    const inner = whole.flatMap((each) => all(rule.cssRules ?? [], each));
    return rule.style?.length && rule.selectorText ? [...whole, ...inner] : inner;
  });
  return all(sheet.cssRules, "");
}"""


def strays(page, name, text):
    """The selectors of a stylesheet that reach elements of others; what a :not leaves out names nothing."""
    own = re.compile(f"{OURS}|{THEIRS[name]}" if name in THEIRS else OURS)
    found = page.evaluate(SELECTORS, text)
    assert found
    return [each for each in found if not own.search(re.sub(r":not\((?:[^()]|\([^()]*\))*\)", "", each))]


def test_a_features_stylesheet_reaches_its_own_elements_and_no_chapter_of_others(open_page):
    page, _, _ = open_page("about:blank")
    for sheet in SHEETS:
        assert strays(page, sheet.stem, sheet.read_text()) == [], sheet.name
    once = ".bd-article section > :not(section, .px-scene) { max-width: 43rem }"  # was in every chapter
    assert strays(page, "essay", once) != []


def test_no_code_stands_above_a_picture_that_plotly_draws(site_url, open_page):
    """On a phone, where the two share a column; the openers that we draw are in the sample above."""
    page, _, _ = open_page(f"{site_url}/chapters/05-degradation.html", width=390)
    page.evaluate(MEASURE)
    assert page.evaluate("layout.pills()") == []


def test_on_a_phone_question_picture_and_wire_of_the_xray_share_the_first_screen(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/x-ray.html", width=390)
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".px-diagram [role=switch]").first.wait_for()
    ends = page.locator(".bd-article .px-lead p, .plusx-explore > .px-figure, .plusx-explore > .px-diagram")
    assert all(box["y"] + box["height"] <= 844 for box in (ends.nth(at).bounding_box() for at in range(4)))
    assert page.locator(".plusx-explore > .px-figure").first.bounding_box()["height"] >= 200


def test_on_a_phone_no_switch_repeats_its_part_of_the_drawing(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/chapters/12-why-no-activation.html", width=390)
    root = page.locator("#explore-place_relus")
    root.scroll_into_view_if_needed()
    root.locator(".px-diagram [role=switch]").nth(5).wait_for()
    assert not any(each.is_visible() for each in root.locator(".px-twice").all())


def test_on_a_phone_the_lanes_loss_is_in_sight_of_their_switches(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{LANES}", width=390)
    race = page.locator(".plusx-lanes").first
    race.locator(".ln-fields select").first.wait_for()
    for at in (0, -1):
        select = race.locator(".ln-fields select").nth(at)
        select.evaluate("select => select.scrollIntoView({ block: 'end', behavior: 'instant' })")
        picture = race.locator(".ln-pictures > figure").first.bounding_box()
        assert picture["y"] >= 0 and picture["y"] + picture["height"] <= select.bounding_box()["y"]
