"""The built site in Chromium: what a reader sees, clicks, types and is told, without a kernel or a network."""

import random
import re
import shutil
import urllib.request
from html import unescape
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from browser import CHAPTERS, EXPLORING, LANES, ROOT, SAMPLES, address, sampled, serve
from decoding import decode, payload, state

PAGES = [*CHAPTERS, *(f"chapters/{path.stem}.html" for path in sorted((ROOT / "chapters").glob("*.md")))]
PAGES += ["index.html", "genindex.html", "search.html", "404.html"]

# What is drawn, as far as a reader can see it: texts and looks, and apart from them where the shapes lie.
PICTURE = """root => {
  const plot = root.querySelector('.px-plot');
  const shape = (node) => ({
    looks: [node.tagName, node.textContent, node.href?.baseVal, node.style.stroke, node.style.fill,
            node.style.opacity, node.style.strokeDasharray].join('|'),
    place: `${node.getAttribute('transform')} ${node.getAttribute('d')}`,
  });
  const nodes = [...plot.querySelectorAll(':is(.main-svg, .px-drawn) :is(path, text, image)')]
    .filter((node) => !node.closest('.hoverlayer'));
  const lies = ({ looks, place }) => `${looks} ${place}`;
  // These never cross, so their order cannot be seen.
  const isApart = (node) => node.closest('.contour, [class*=tick], .gridlayer');
  const apart = nodes.filter(isApart).map(shape).sort((a, b) => (lies(a) < lies(b) ? -1 : 1));
  return { words: root.querySelector('.px-result').textContent,
           label: root.querySelector('.px-figure').getAttribute('aria-label'),
           solids: (plot.data ?? []).filter((trace) => trace.type === 'surface').map((trace) => trace.z.join()),
           camera: JSON.stringify(plot.layout?.scene?.camera ?? null),
           shapes: [...nodes.filter((node) => !isApart(node)).map(shape), ...apart] };
}"""


OWN = ".plusx-explore:not(.px-scene *)"  # the page's explorers; those of an essay start as a reader comes
DECODED = f"[...document.querySelectorAll('{OWN} fieldset')].every(e => !e.disabled)"


def ready(page):
    """Every explorer of the page decoded, and drawn as if a pointer had come near."""
    page.wait_for_function(DECODED)
    page.locator(OWN).evaluate_all("all => all.forEach((e) => e.dispatchEvent(new Event('pointerenter')))")
    page.wait_for_function(f"[...document.querySelectorAll('{OWN}')].every(e => e.classList.contains('px-live'))")


def in_lab(page):
    """All is open, also what stands in lab notes."""
    page.evaluate("document.documentElement.dataset.reading === 'lab' || window.plusx?.reading?.()")


def take_over(page):
    """Every explorer at its start, and the reader's: no text sets it any more."""
    page.locator(".plusx-explore").evaluate_all("""all => all.forEach((root) => {
        root.querySelector('.px-controls').dispatchEvent(new Event('pointerdown', { bubbles: true }));
        root.querySelector('[type=reset]').form.reset(); })""")


def explorers(page):
    return page.locator(".plusx-explore").all()


def plotted(page):
    """The explorers that plotly draws."""
    return page.locator(".plusx-explore:not([data-drawn])").all()


def indices(root):
    """Which controls an explorer has, by the numbers of their inputs."""
    return sorted(set(root.locator("[data-control]").evaluate_all("all => all.map(e => e.dataset.control)")))


def settle(page):
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def picture(root):
    return root.evaluate(PICTURE)


def pytest_generate_tests(metafunc):
    for name, values in {"name": PAGES, "chapter": EXPLORING, "sample": sampled(SAMPLES, SAMPLES[::2])}.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values)


# ---- every page ------------------------------------------------------------------------------------------------


def test_these_are_all_pages(site):
    built = {
        str(path.relative_to(site)) for path in site.rglob("*.html") if not {"_static", "_downloads"} & {*path.parts}
    }
    assert built == set(PAGES)


def looks(name):
    """At a desk or on a phone, by turns; `make audit` puts every page to axe at both widths in both themes."""
    return [{"width": 1280, "theme": "light"}, {"width": 390, "theme": "dark"}][PAGES.index(name) % 2]


def assert_fits(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], "it scrolls sideways"


def test_random_clicks_leave_what_a_fresh_page_draws(site_url, open_page):
    """In a chapter with a solid; in all others `make audit` clicks more often."""
    page, foreign, errors = open_page(f"{site_url}/{SAMPLES[1]}")
    ready(page)
    page.evaluate(CLICK_AT_RANDOM, [20151210, 30])
    settle(page)
    assert_drawn_as_fresh(page)
    assert foreign == [] and errors == []


SHIFT = """() => new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.moved = (window.moved ?? 0) + entry.value;
}).observe({ type: "layout-shift", buffered: true })"""


COMING = list(product(["index.html", CHAPTERS[4], CHAPTERS[6], LANES], [1280, 390]))


@pytest.mark.parametrize("file, width", sampled(COMING, COMING[1:3]))
def test_what_is_read_does_not_move_as_a_page_comes(site_url, file, open_page, width):
    page, _, _ = open_page("about:blank", width=width)
    page.add_init_script(f"({SHIFT})()")
    slow = page.context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(f"{site_url}/{file}")
    page.wait_for_timeout(3000)
    assert page.evaluate("window.moved ?? 0") < 0.1  # https://web.dev/articles/cls: good is below it


def test_every_page_fits_and_is_accessible(site_url, name, open_page, axe):
    page, foreign, errors = open_page(f"{site_url}/{name}", **looks(name))
    ready(page)
    assert_fits(page)
    assert axe(page) == []
    assert foreign == [] and errors == []


# The first page, whose explorers are borrowed, has its own test.
FROM_DISK = [*EXPLORING[1::3], LANES, "search.html", "404.html"]


@pytest.mark.parametrize("file", sampled([page for page in PAGES if page != "index.html"], FROM_DISK))
def test_a_page_works_from_disk_with_the_network_cut(site, file, open_page):
    """Explorer by explorer: the table is the built one, and a key brings another picture in words and label."""
    page, foreign, errors = open_page((site / file).as_uri(), **looks(file))
    in_lab(page)
    ready(page)
    assert_fits(page)
    take_over(page)
    for root in explorers(page):
        built = root.locator(".px-table").inner_html()
        root.locator(".px-data summary").click()
        settle(page)
        assert re.sub(r"\s+", "", root.locator(".px-table").inner_html()) == re.sub(r"\s+", "", built), (
            "tables.js and figures.py write different tables"
        )
        before = picture(root)
        press_until_changed(page, root, before["words"])
        after = picture(root)
        assert after["label"].startswith(after["words"]) and after["words"] != before["words"]
        assert root.locator(".px-result").get_attribute("role") == "status"
    assert foreign == [] and errors == []


def press_until_changed(page, root, before):
    """Walk the controls with the keyboard until one changes the result: some are without effect in some states."""
    for control in root.locator("[data-control]").all():
        control.focus()
        kind = control.get_attribute("type")
        page.keyboard.press("Space" if kind == "checkbox" else "ArrowRight" if kind else "ArrowDown")
        settle(page)
        if picture(root)["words"] != before:
            return
    raise AssertionError(f"no control of {root.get_attribute('id')} changes its result")


@pytest.mark.parametrize("file", sampled(EXPLORING, EXPLORING[::3]))
def test_scripts_off_shows_pictures_words_and_numbers(site_url, file, open_page):
    page, foreign, errors = open_page(f"{site_url}/{file}", scripts=False)
    page.locator(".px-data summary").evaluate_all("all => all.forEach((summary) => summary.click())")
    seen = page.locator(".plusx-explore").evaluate_all("""all => all.map((root) => ({
        picture: root.querySelector('.px-still.px-wide svg').checkVisibility(),
        words: root.querySelector('.px-result').innerText.trim().length,
        reason: root.querySelectorAll('noscript').length,
        usable: root.querySelectorAll('.px-controls :is(input, select):enabled').length,
        chosen: [...root.querySelectorAll('.px-radio')].map((group) => group.querySelectorAll(':checked').length),
        numbers: [...root.querySelectorAll('.px-data td')].filter((cell) => cell.checkVisibility()).length }))""")
    assert seen
    for each in seen:
        assert each["picture"] and each["words"] and each["numbers"] > 5, each
        assert (each["reason"], each["usable"]) == (1, 0) and set(each["chosen"]) <= {1}, each
    # In each form of a page that has loaded a browser looks for passwords, and lays out what is around it.
    # The writer has one, of a field that one writes in.
    assert page.locator("form:not(.bd-search, .plusx-writer form)").count() == 0
    for choice in page.locator(".px-choices details").all()[:3]:
        choice.locator("summary").click()
        assert choice.locator("p").first.is_visible()
    head = page.locator(".bd-header-article").evaluate("head => getComputedStyle(head).backgroundColor")
    assert head == "rgb(255, 255, 255)"  # text scrolls below it
    assert foreign == [] and errors == []


def test_a_page_shows_what_a_cell_prints_or_draws_and_not_what_its_last_line_returns(site, name):
    """A setter's `True`, or the name of an object, says nothing to a reader."""
    outputs = re.findall(r'<div class="output text_plain[^>]*>(.*?)</pre>', (site / name).read_text(), re.S)
    assert [re.sub(r"<[^>]*>", "", output).strip() for output in outputs] == []


# ---- finding one's way -----------------------------------------------------------------------------------------


MENUS = {"primary": "Glossary", "secondary": "Exercises"}  # a link in each
MENU_WIDTHS = [(side, width) for side in MENUS for width in (390, 768, 980, 1000, 1280)]
HOSTED = [(*each, False) for each in MENU_WIDTHS if each != ("secondary", 1280)]
OPENED = HOSTED + [("primary", 390, True), ("secondary", 390, True), ("primary", 1280, True)]  # from disk
PRESSED = [("primary", 390, False), ("secondary", 390, False), ("primary", 1280, False), ("secondary", 1000, False)]


def menu(page, side):
    """The button of a menu, the dialog that it opens on a narrow screen, and a link in the menu."""
    button = page.locator(f".bd-header-article .{side}-toggle")
    link = page.locator(f"[id^=pst-{side}-sidebar] a", has_text=MENUS[side])
    return button, page.locator(f"#pst-{side}-sidebar-modal"), link


def in_focus(page, inside):
    return page.evaluate("inside => document.activeElement.closest(inside) !== null", inside)


@pytest.mark.parametrize("side, width, disk", sampled(OPENED, [*PRESSED, ("primary", 390, True)]))
def test_a_menu_opens_takes_the_focus_and_gives_it_back(site, site_url, open_page, side, width, disk):
    chapter = "chapters/09-depth-without-normalisation.html"
    page, foreign, errors = open_page((site / chapter).as_uri() if disk else f"{site_url}/{chapter}", width=width)
    button, dialog, link = menu(page, side)
    if side == "primary" and width >= 992:  # it stands beside the page, and makes room for it
        text = page.locator(".bd-article")
        beside = text.bounding_box()["width"]
        for shown in (False, True):
            button.click()
            link.wait_for(state="visible" if shown else "hidden")
            page.wait_for_timeout(400)  # it slides
            assert button.get_attribute("aria-expanded") == str(shown).lower()
            assert (text.bounding_box()["width"] > beside) != shown
        assert text.bounding_box()["width"] == beside
    else:
        closers = {
            "button": lambda: dialog.get_by_role("button", name="Close").click(),
            "Escape": lambda: page.keyboard.press("Escape"),
            "beside": lambda: page.mouse.click(*(width - 5 if side == "primary" else 5, 500)),
        }
        for how, close in closers.items():
            button.focus()
            page.keyboard.press("Enter") if how == "Escape" else button.click()
            dialog.wait_for(state="visible")
            assert link.is_visible() and in_focus(page, f"#pst-{side}-sidebar-modal"), how
            close()
            dialog.wait_for(state="hidden")
            assert button.evaluate("button => button === document.activeElement"), how
            assert page.locator(".tooltip").count() == 0, how
        button.click()
    link.click()
    if side == "primary":
        page.wait_for_url("**/glossary.html*")
        assert page.locator("h1").first.text_content().startswith("Glossary")
    else:
        dialog.wait_for(state="hidden")
        assert address(page).endswith("#exercises") and page.locator("#exercises h2").is_visible()
    assert foreign == [] and errors == []


def test_two_presses_of_the_tab_key_lead_to_the_first_explorer(site_url, sample, open_page):
    page, _, errors = open_page(f"{site_url}/{sample}")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the first explorer"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    first = explorers(page)[0]
    assert first.evaluate("root => root.contains(document.activeElement)")
    assert first.evaluate("root => root.getBoundingClientRect().top < innerHeight / 2") and errors == []


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_what_is_typed_into_a_search_stands_beside_the_icon(site_url, open_page, width, theme):
    for name in ("index.html", "search.html"):
        page, _, errors = open_page(f"{site_url}/{name}", width=width, theme=theme)
        if name == "index.html":
            page.keyboard.press("Control+k")
        field = page.locator("form.bd-search").locator("visible=true")
        field.locator("input").fill("M")
        icon_ends, letters_begin = field.evaluate("""form => {
            const input = form.querySelector("input");
            const inset = parseFloat(getComputedStyle(input).paddingLeft);
            return [form.querySelector("svg").getBoundingClientRect().right,
                    input.getBoundingClientRect().left + inset]; }""")
        assert icon_ends <= letters_begin, name
        assert errors == []


def test_every_page_says_once_what_it_is_and_where(site, name):
    """Browsers' tabs, search engines and previews: a title, what it holds, a viewport, and the book's name as set."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text())["title"]
    page = (site / name).read_text()
    assert page.count('name="viewport"') == 1
    (description,) = re.findall('<meta name="description" content="([^"]*)"', page)
    assert 40 <= len(description) <= 320
    (title,) = re.findall("<title>(.*)</title>", page)
    title, _, where = unescape(title).partition(" — ")
    assert (title, where) == (book, "") if name == "index.html" else title and title != book and where == book
    made_up = name in ("genindex.html", "search.html", "404.html")
    assert re.findall('property="og:site_name" content="([^"]*)"', page) == ([] if made_up else [book])


# ---- every state of every explorer -----------------------------------------------------------------------------


def within(axis, values):
    """Which of the values lie on an axis; all where it names no range, or words in place of numbers."""
    if "range" not in axis or not all(isinstance(value, (int, float)) for value in values):
        return np.full(len(values), True)
    values = np.asarray(values, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.log10(values) if axis.get("type") == "log" else values
    return (min(axis["range"]) <= places) & (places <= max(axis["range"]))


def panels(figure):
    """For each pair of axes, how many of its traces' points there are and how many of them lie on both axes."""
    found = {}
    for trace in figure["data"]:
        if trace.get("visible", True) is not True or trace.get("type") == "surface":
            continue
        pair = trace.get("xaxis", "x"), trace.get("yaxis", "y")
        y = trace["y"] if "y" in trace else np.arange(len(trace["x"]))
        x = trace["x"] if "x" in trace else np.arange(len(y))
        across, up = (within(figure["layout"].get(f"{axis[0]}axis{axis[1:]}", {}), v) for axis, v in zip(pair, (x, y)))
        if "z" in trace:
            there, shown = len(x), across.sum() * up.sum()
        else:
            there = sum(all(isinstance(v, str) or np.isfinite(v) for v in point) for point in zip(x, y))
            shown = (across & up).sum()
        found[pair] = np.add(found.get(pair, 0), [there, shown])
    return found


def test_every_explorer_asks_one_short_question(site, chapter):
    html = (site / chapter).read_text()
    asked = re.findall(r"<fieldset disabled><legend>([^<]*)</legend>", html)
    assert bool(asked) == ('class="plusx-explore"' in html)
    assert all(each.endswith("?") and len(unescape(each)) <= 60 for each in asked), asked


def test_in_every_state_each_axis_shows_some_of_what_is_drawn_on_it(site, chapter):
    blank = {}
    for name in re.findall(r'class="plusx-explore" id="explore-([^"]+)"', (site / chapter).read_text()):
        figure, leaves = decode(payload(site / chapter, f"explore-{name}"))
        for at in range(max(len(leaf["index"]) for leaf in leaves)):
            drawn = state(figure, leaves, at)
            for pair, (there, shown) in panels(drawn).items():
                if there and not shown:
                    blank.setdefault((name, *pair), []).append(drawn["title"])
    assert blank == {}


# ---- one explorer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sampled(EXPLORING, SAMPLES[::2]))
def test_each_control_answers_mouse_and_keyboard(site_url, file, open_page):
    page, _, errors = open_page(f"{site_url}/{file}")
    in_lab(page)
    ready(page)
    take_over(page)
    kinds = set()
    for root in explorers(page):
        for index in indices(root):
            inputs = root.locator(f"[data-control='{index}']")
            kind = inputs.first.get_attribute("type") or "select"
            kinds.add(kind)
            for act in (by_keyboard, by_mouse):
                before = root.locator(".px-link").get_attribute("href")
                act(page, inputs, kind)
                settle(page)
                link = root.locator(".px-link").get_attribute("href")
                assert link != before and address(page).endswith(link), (kind, act.__name__)
    assert_drawn_as_fresh(page)
    assert {"checkbox", "radio", "range"} & kinds or file == "chapters/what-should-i-build.html"  # of lists alone
    assert errors == []


def by_mouse(page, inputs, kind):
    if kind == "checkbox":
        inputs.first.click()
    elif kind == "radio":
        chosen = [each.is_checked() for each in inputs.all()].index(True)
        inputs.nth((chosen + 1) % inputs.count()).locator("xpath=..").click()
    elif kind == "range":
        box = inputs.first.bounding_box()
        low = float(inputs.first.input_value()) > float(inputs.first.get_attribute("max")) / 2
        page.mouse.click(box["x"] + (2 if low else box["width"] - 2), box["y"] + box["height"] / 2)
    else:
        inputs.first.select_option(index=(int(inputs.first.input_value()) + 1) % inputs.locator("option").count())


def by_keyboard(page, inputs, kind):
    if kind == "radio":
        next(each for each in inputs.all() if each.is_checked()).focus()
    else:
        inputs.first.focus()
    if kind == "range":
        at_end = inputs.first.input_value() == inputs.first.get_attribute("max")
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    else:
        page.keyboard.press("Space" if kind == "checkbox" else "ArrowDown")


def assert_alike(shown, fresh, where, off=1.01):
    """The same picture. plotly leaves its frame in place for a margin a pixel wider, so shapes may lie that far off."""
    assert {**shown, "shapes": None} == {**fresh, "shapes": None}, where
    assert [shape["looks"] for shape in shown["shapes"]] == [shape["looks"] for shape in fresh["shapes"]], where
    for one, other in zip(shown["shapes"], fresh["shapes"]):
        if one != other:
            (words, numbers), (other_words, other_numbers) = map(apart, (one["place"], other["place"]))
            assert words == other_words and numbers == pytest.approx(other_numbers, abs=off), where


def apart(place):
    """A path's letters and its numbers."""
    return re.sub(NUMBER, "0", place), [float(number) for number in re.findall(NUMBER, place)]


NUMBER = r"-?\d*\.?\d+(?:e-?\d+)?"


# A figure that we draw goes to its state for half a second.
ARRIVED = """() => [...document.querySelectorAll('[data-drawn]')].every(({ explorer }) => {
    const { now, goal } = explorer?.picture ?? {};
    return !goal || now.grid.every((row, i) => row.every((value, at) => Object.is(value, goal.grid[i][at]))); })"""


def assert_drawn_as_fresh(page):
    """Each picture is what a page draws that opens the links of these states before it has drawn anything."""
    url = address(page).split("#")[0]
    with urllib.request.urlopen(url) as answer:
        text = answer.read().decode()
    scripts = r'<script [^>]*src="[^"]*/(?:diagram|explore)\.js[^>]*></script>'
    loads = re.findall(rf"<link [^>]*rel=.stylesheet.[^>]*>|{scripts}", text)
    theme = page.evaluate("document.documentElement.dataset.theme")
    body = ""
    for root in explorers(page):
        start = text.index(f'<div class="plusx-explore" id="{root.get_attribute("id")}"')
        fragment = text[start : text.index("</script>\n</div>", start)] + "</script></div>"
        # Its box depends on what stands around it.
        plot = root.locator(".px-plot").evaluate("({ clientWidth, clientHeight }) => [clientWidth, clientHeight]")
        size = "inset: auto; transform: none; width: {}px; height: {}px".format(*plot)
        body += f"<style>#{root.get_attribute('id')} .px-plot {{ {size} }}</style>"
        body += f"<article class='bd-article' style='width:{plot[0] + 60}px; padding: 0'>{fragment}</article>"
    alone = f"<!doctype html><html data-theme='{theme}'><head><meta charset='utf-8'>{''.join(loads)}</head><body>{body}"
    fresh, held = page.context.new_page(), []
    fresh.route("**/alone.html", lambda route: route.fulfill(body=alone, content_type="text/html"))
    fresh.route("**/plotly-*", lambda route: held.append(route))  # or the first states would be drawn
    fresh.goto(f"{url.rsplit('/', 1)[0]}/alone.html")
    fresh.wait_for_function(DECODED)
    for root in explorers(page):
        fresh.evaluate("""link => new Promise((done) => {
            addEventListener('hashchange', () => setTimeout(done), { once: true });
            location.hash = link; })""", root.locator(".px-link").get_attribute("href"))  # fmt: skip
    assert fresh.locator(".px-live:not([data-drawn])").count() == 0
    fresh.unroute("**/plotly-*")
    for route in held:
        route.continue_()
    ready(fresh)
    settle(fresh)
    for each in (page, fresh):
        each.wait_for_function(ARRIVED)
    for one, other in zip(explorers(page), explorers(fresh), strict=True):
        assert_alike(picture(one), picture(other), other.locator(".px-link").get_attribute("href"))
    fresh.close()


CLICK_AT_RANDOM = """async ([seed, clicks]) => {
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const inputs = [...document.querySelectorAll('.plusx-explore [data-control]')];
  for (let click = 0; click < clicks; click++) {
    const input = inputs[Math.floor(random() * inputs.length)];
    if (input.type === 'checkbox' || input.type === 'radio') input.click();
    else {
      input.value = Math.floor(random() * (Number(input.max || input.options?.length - 1) + 1));
      input.dispatchEvent(new Event('input', { bubbles: true }));
    }
    if (random() < 0.3) await new Promise((done) => setTimeout(done, random() * 30));
  }
}"""


@pytest.mark.parametrize(
    "place, explorer",
    [
        ("04-who-gets-the-gradient", "two_gradients"),  # lines, and a trace of one point
        ("09-depth-without-normalisation", "replay"),  # an axis takes another range
        ("15-the-residual-stream", "logit_lens"),  # and another name
    ],
)
def test_what_only_moves_is_not_drawn_anew(site_url, open_page, place, explorer):
    """plotly's full redraw takes twice to three times as long as a toggle should."""
    page, _, errors = open_page(f"{site_url}/chapters/{place}.html")
    in_lab(page)
    ready(page)
    root = page.locator(f"#explore-{explorer}")
    press_until_changed(page, root, picture(root)["words"])  # from now on there is a ghost to move
    page.evaluate("""() => {
        const { react } = Plotly;
        window.redrawn = 0;
        Plotly.react = (...all) => { window.redrawn += 1; return react(...all); }; }""")
    for index in indices(root):
        inputs = root.locator(f"[data-control='{index}']")
        kind = inputs.first.get_attribute("type") or "select"
        seen = [picture(root)["shapes"]]
        for _ in range(3):
            by_keyboard(page, inputs, kind)
            settle(page)
            seen.append(picture(root)["shapes"])
        assert any(shapes != seen[0] for shapes in seen), kind
    assert page.evaluate("window.redrawn") == 0
    assert_drawn_as_fresh(page)
    assert errors == []


# Whether plotly has made room for long labels, whose frame it leaves in place for a pixel more or less.
WIDENED = "({ explorer: { picture: { plot } } }) => plot._fullLayout._size.l > plot._fullLayout.margin.l"


@pytest.mark.parametrize("file", sampled(EXPLORING, [*SAMPLES[::2], CHAPTERS[4]]))
def test_each_press_leaves_what_plotly_draws_anew(site_url, file, open_page):
    """Ticks, lines, dots and bars, to a tenth of a pixel, in states chosen by lot."""
    page, _, errors = open_page(f"{site_url}/{file}")
    in_lab(page)
    ready(page)
    take_over(page)
    draw = random.Random(file)
    for root in page.locator(".plusx-explore:not([data-drawn], [data-bundle=gl3d], .px-scene *)").all():
        counts = root.evaluate("root => root.explorer.controls.map(({ labels }) => labels.length)")
        for _ in range(6):
            at = draw.randrange(len(counts))
            state = root.evaluate("root => root.explorer.state()")
            state[at] = (state[at] + draw.randrange(1, max(counts[at], 2))) % counts[at]
            root.evaluate("""(root, state) => {
                root.explorer.set(state); root.explorer.changed(); }""", state)  # fmt: skip
            settle(page)
            shown = picture(root)
            root.evaluate("""({ explorer: { picture } }) => {
                Plotly.purge(picture.plot); picture.repaint(); }""")
            settle(page)
            off = 1.01 if root.evaluate(WIDENED) else 0.1
            assert_alike(shown, picture(root), (root.get_attribute("id"), state), off)
    assert errors == []


def test_a_link_opens_its_state_and_reset_undoes_it(site_url, sample, open_page):
    page, _, _ = open_page(f"{site_url}/{sample}")
    in_lab(page)
    ready(page)
    root = explorers(page)[-1]
    start = picture(root)
    press_until_changed(page, root, start["words"])
    link, changed = address(page), picture(root)
    page.goto("about:blank")
    page.goto(link)
    ready(page)
    root = explorers(page)[-1]
    assert picture(root) == changed
    assert root.evaluate("e => { const y = e.getBoundingClientRect().top; return y >= 0 && y < innerHeight }")
    root.locator("button[type=reset]").click()
    settle(page)
    assert picture(root) == start


def test_a_link_that_asks_for_the_impossible_says_so(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{SAMPLES[0]}")
    ready(page)
    root = explorers(page)[0]
    start, name = picture(root), root.get_attribute("data-name")
    fresh, _, errors = open_page(f"{site_url}/{SAMPLES[0]}#{name}?nonsense=1&%3Cscript%3E=2&{'long' * 800}=3")
    ready(fresh)
    message = fresh.locator(f"#explore-{name} .px-message[role=alert]")
    assert message.is_visible()
    said = "The link asks for nonsense=1, <script>=2, longlong"
    assert message.text_content().startswith(said) and len(message.text_content()) < 130
    shown = picture(fresh.locator(f"#explore-{name}"))  # a little lower, as the message takes its room
    assert (shown["words"], len(shown["shapes"])) == (start["words"], len(start["shapes"])) and errors == []
    broken, _, errors = open_page(f"{site_url}/{SAMPLES[0]}#%zz%E0?{name}=%zz")
    ready(broken)
    assert picture(explorers(broken)[0]) == start and errors == []


def test_figures_follow_the_theme_switch(site_url, sample, open_page):
    page, _, _ = open_page(f"{site_url}/{sample}", theme="light")
    ready(page)
    ink = "root => getComputedStyle(root.querySelector('.px-plot .main-svg text')).fill"
    light = plotted(page)[0].evaluate(ink)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    settle(page)
    assert light == "rgb(34, 38, 46)" and plotted(page)[0].evaluate(ink) == "rgb(230, 232, 235)"


def test_on_paper_an_explorer_shows_its_state_in_dark_on_white(site_url, sample, open_page):
    page, _, errors = open_page(f"{site_url}/{sample}", theme="dark")
    ready(page)
    root = plotted(page)[0]
    press_until_changed(page, root, picture(root)["words"])
    shown = picture(root)["words"]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    settle(page)
    assert root.evaluate("root => getComputedStyle(root.querySelector('.px-plot text')).fill") == "rgb(34, 38, 46)"
    assert picture(root)["words"] == shown and root.locator(".px-result").is_visible()
    assert root.locator(".px-plot .main-svg").first.is_visible() and root.locator(".px-controls").is_visible()
    for hidden in (".px-actions", ".px-data"):
        assert not root.locator(hidden).is_visible(), hidden
    goals = page.locator(".px-goals li").first
    assert goals.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not goals.is_visible()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark" and errors == []


def test_it_fits_at_200_percent_and_moves_only_if_wanted(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/{SAMPLES[0]}", width=640)  # what zoom leaves of 1280 px
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    longest = """() => Math.max(...[...document.querySelectorAll('*')].flatMap((node) => {
        const { animationDuration, transitionDuration } = getComputedStyle(node);
        return `${animationDuration}, ${transitionDuration}`.split(', ').map(parseFloat); }))"""
    assert page.evaluate(longest) > 0.1
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(longest) <= 0.001


def test_the_tab_key_visits_each_control_and_shows_where_it_is(site_url, sample, open_page):
    page, _, _ = open_page(f"{site_url}/{sample}")
    ready(page)
    root = plotted(page)[0]
    visited = []
    root.locator("[data-control]:visible").first.focus()  # those hidden are pressed in the drawing
    while focused := root.evaluate("""root => {
        const { activeElement } = document;
        if (!root.querySelector('.px-controls').contains(activeElement)) return null;
        const { name, className, type, nextElementSibling } = activeElement;
        const ring = getComputedStyle(type === 'radio' ? nextElementSibling : activeElement);
        return [name || className || type, ring.outlineStyle, parseFloat(ring.outlineWidth)]; }"""):
        name, style, width = focused
        visited.append(name)
        assert len(visited) == 1 or (style == "solid" and width >= 2), name  # a script's focus shows no ring
        page.keyboard.press("Tab")
    names = root.locator("[data-control]:visible").evaluate_all("all => [...new Set(all.map((each) => each.name))]")
    buttons = ["px-pin", "reset", "px-link"]
    assert [*dict.fromkeys(visited)] == [*names, *buttons]


@pytest.mark.parametrize("width", sampled([1280, 390], [390]))
def test_code_takes_the_keyboard_where_it_scrolls_and_is_as_tall_as_it_says(site_url, sample, open_page, width):
    page, _, _ = open_page(f"{site_url}/{sample}", width=width)
    in_lab(page)
    sum_of_code = "() => [...document.querySelectorAll('.bd-article pre')].reduce((sum, e) => sum + e.offsetHeight, 0)"
    tall = page.evaluate(sum_of_code)
    blocks = page.evaluate("""async () => {
        const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const found = [];
        for (const pre of document.querySelectorAll('.bd-article pre')) {
            if (!pre.checkVisibility({ contentVisibilityAuto: false })) continue;
            pre.scrollIntoView({ block: 'nearest' });
            const fits = () => (pre.scrollWidth > pre.clientWidth) === (pre.tabIndex === 0);
            for (let wait = 0; !fits() && wait < 100; wait++) await frame();
            await frame();
            found.push([fits(), pre.tabIndex, pre.textContent.slice(0, 60)]);
        }
        return found; }""")
    assert len(blocks) > (2 if sample == SAMPLES[1] else 5)  # chapter 8 folds all but two cells and a solution
    assert [block for block in blocks if not block[0]] == []
    scrolling = [block for block in blocks if block[1] == 0]
    assert scrolling or width > 390
    assert page.evaluate(sum_of_code) == pytest.approx(tall, abs=2)


def test_damaged_data_shows_the_still_picture_and_a_message(site, site_url, open_page):
    source = re.search(r'data-src="\.\./([^"]+)"', (site / SAMPLES[0]).read_text())[1]
    states = (site / source).read_text()
    middle = len(states) // 2
    for damaged in [
        states[:middle] + ("A" if states[middle] != "A" else "B") + states[middle + 1 :],  # a letter changed
        states[:middle],  # cut short
        None,  # not there
    ]:
        page, _, errors = open_page(f"{site_url}/chapters/glossary.html")
        answer = {"status": 404} if damaged is None else {"body": damaged, "content_type": "text/javascript"}
        page.route(f"**/{source}", lambda route, _, answer=answer: route.fulfill(**answer))
        page.goto(f"{site_url}/{SAMPLES[0]}")
        first = explorers(page)[0]
        first.locator(".px-message[role=alert]").wait_for(state="visible")
        assert "damaged or missing" in first.locator(".px-message[role=alert]").text_content()
        assert first.locator(".px-still.px-wide svg").is_visible()
        assert first.locator("[data-control]").first.is_disabled()
        assert len(errors) == (0 if damaged and len(damaged) == len(states) else 1)  # what the browser says of the file


def test_a_missing_plotting_library_is_said(site_url, open_page):
    page, _, _ = open_page("about:blank")
    page.route("**/plotly-*.min.js", lambda route: route.abort())
    page.goto(f"{site_url}/{SAMPLES[0]}")
    plotted(page)[0].locator("fieldset:enabled").first.wait_for()
    plotted(page)[0].hover()
    message = plotted(page)[0].locator(".px-message[role=alert]")
    message.wait_for(state="visible")
    assert "did not load" in message.text_content()


def test_plotly_waits_until_an_explorer_is_near(site_url, open_page):
    for name in (CHAPTERS[1], CHAPTERS[6], "index.html", "chapters/glossary.html"):
        page, _, _ = open_page("about:blank")
        asked = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(f"{site_url}/{name}")
        page.wait_for_timeout(800)
        assert not any("plotly" in url for url in asked), name
        flat = page.locator(".plusx-explore[data-bundle]:not([data-bundle=gl3d])")
        if flat.count():
            with page.expect_request("**/plotly-*"):
                flat.first.scroll_into_view_if_needed()
        assert not any("gl3d" in url for url in asked), name
        page.context.close()


def test_a_menu_that_scrolls_and_a_pointer_at_rest_are_no_reader(site_url, open_page):
    """The theme brings the present page's line into the menu's view, and a browser tells a page that comes up where
    the pointer is; neither is a sign that someone reads."""
    for name in (CHAPTERS[16], "chapters/take-along.html"):
        page, _, _ = open_page("about:blank")
        page.set_viewport_size({"width": 390, "height": 844})
        asked = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(f"{site_url}/{name}")
        page.evaluate("document.body.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))")
        page.wait_for_timeout(3000)
        assert page.evaluate("scrollY") == 0
        assert not any("plotly" in url for url in asked), name
        page.context.close()


def test_explorers_start_in_a_browser_that_is_never_idle(site_url, open_page):
    """As Chromium's is while another page of the same process draws a solid without pause."""
    page, _, errors = open_page(f"{site_url}/{SAMPLES[0]}")
    page.add_init_script(
        "window.requestIdleCallback = (call, { timeout = Infinity } = {}) => timeout < 1e4 && setTimeout(call, timeout)"
    )
    page.reload()
    ready(page)
    assert errors == []


def test_a_link_keeps_the_focus_when_its_explorer_starts(site_url, open_page):
    """It can be reached before; then its explorer makes a form of the controls around it."""
    page, _, errors = open_page(f"{site_url}/{SAMPLES[0]}")
    page.add_init_script(
        "window.once = new Promise((go) => (window.go = go)); requestIdleCallback = (call) => once.then(call)"
    )
    page.reload()
    first = explorers(page)[0]
    link = first.locator(".px-link")
    link.focus()
    assert first.locator("form").count() == 0
    page.evaluate("go()")
    ready(page)
    assert first.locator("form").count() == 1 and link.evaluate("link => link === document.activeElement")
    assert errors == []


# ---- fragments that no chapter holds ---------------------------------------------------------------------------


@pytest.fixture
def gallery(tmp_path, monkeypatch, site):
    """A page with every control kind, hostile labels, gaps, and traces that come and go."""
    import numpy as np

    from plusx.explore import static
    from plusx.explore.controls import bind
    from plusx.explore.states import DEFAULT, Explorer

    hostile = "</script><img src=x onerror='window.hacked=1'>\"'&amp;"

    def everything(skip, kind, depth, label, count):
        x = np.linspace(-1, 1, 21)
        y = np.where(x < -0.5, np.nan, np.where(x > 0.8, np.inf, x**depth + skip))
        data = [dict(x=x, y=y + i, name=f"{label} {i}", mode=kind) for i in range(count)]
        return dict(
            data=data, layout=dict(title=f"{kind}, depth {depth}, {label}", yaxis=dict(range=[-1, 5], title=label))
        )

    controls = dict(
        skip=True, kind=["lines", "markers"], depth=[1, 2, 4, 8, 16],
        label={hostile: hostile, **{c: c for c in "abcde"}}, count=(0, 3),
    )  # fmt: skip
    fragment = static.fragment(Explorer(everything, bind(everything, controls), DEFAULT))
    shutil.copytree(site / "_static" / "plusx", tmp_path / "assets")
    (tmp_path / "gallery.html").write_text(
        "<!doctype html><html lang='en' data-theme='light'><head><meta charset='utf-8'><title>Gallery</title>"
        "<link rel='icon' href='data:,'>"
        '<link rel="stylesheet" href="assets/explore.css"><script defer src="assets/explore.js"></script></head>'
        f"<body><main><h1>Gallery</h1>{fragment}</main></body></html>"
    )
    with serve(tmp_path) as url:
        yield f"{url}/gallery.html", hostile


def test_every_kind_of_control_in_one_explorer(gallery, open_page, axe):
    url, hostile = gallery
    page, foreign, errors = open_page(url)
    ready(page)
    (root,) = explorers(page)
    kinds = []
    for index in range(5):
        inputs = root.locator(f"[data-control='{index}']")
        kinds.append(inputs.first.get_attribute("type") or "select")
        for act in (by_mouse, by_keyboard):
            before = picture(root)
            act(page, inputs, kinds[-1])
            settle(page)
            assert picture(root) != before, (kinds[-1], act)
            assert_drawn_as_fresh(page)
    assert kinds == ["checkbox", "radio", "range", "select", "range"]
    assert page.evaluate("window.hacked") is None and foreign == [] and errors == []
    assert axe(page) == []


def test_gaps_are_drawn_as_gaps(gallery, open_page):
    page, _, _ = open_page(gallery[0])
    ready(page)
    (root,) = explorers(page)
    root.locator("[data-control='4']").fill("1")
    settle(page)
    shown = root.evaluate("e => [...e.querySelector('.px-plot').data[0].y].map(String)")
    assert shown[:2] == ["NaN", "NaN"] and shown[-1] == "Infinity"
    (path,) = root.locator(".px-plot .js-line").evaluate_all("paths => paths.map(p => p.getAttribute('d'))")
    across = [float(x) for x in re.findall(r"[ML](-?[0-9.]+),", path)]
    from_, to = root.evaluate(
        "(e, at) => at.map(p => e.querySelector('.px-plot')._fullLayout.xaxis.p2d(p))", [across[0], across[-1]]
    )
    assert path.count("M") == 1  # the numbers between the gap on the left and the infinities on the right, unbroken
    assert (from_, to) == pytest.approx((-0.5, 0.8), abs=0.01)


def test_the_state_before_lies_above_what_has_come_since(gallery, open_page):
    """As it does where a page opens in that state; an outline below a bar would not be seen."""
    url, _ = gallery
    page, _, _ = open_page(url)
    ready(page)
    (root,) = explorers(page)
    for count, depth, skip in ("1", "4", False), ("0", "2", True), ("3", "3", False), ("1", "0", True):
        root.locator("[data-control='4']").fill(count)
        root.locator("[data-control='2']").fill(depth)
        root.locator("[data-control='0']").set_checked(skip)
    settle(page)
    order = "all => all.map((group) => [...group.parentNode.children].at(-1) === group && group.childElementCount > 0)"
    assert root.locator(".px-ghosts").evaluate_all(order) == [True]


@pytest.mark.audit
def test_random_walk_over_traces_that_come_and_go(gallery, open_page):
    url, _ = gallery
    page, _, errors = open_page(url)
    ready(page)
    (root,) = explorers(page)
    rng = random.Random(1)
    for _ in range(25):
        for _ in range(4):
            root.locator("[data-control='4']").fill(str(rng.randrange(4)))
            root.locator("[data-control='2']").fill(str(rng.randrange(5)))
            root.locator("[data-control='0']").set_checked(rng.random() < 0.5)
        settle(page)
        assert_drawn_as_fresh(page)
    assert errors == []


# A heat map, contours and a surface, all of which follow one switch.
GRIDS = ["heatmap", "contour", "surface"]


@pytest.fixture
def grids(tmp_path):
    import numpy as np

    from plusx.explore import static
    from plusx.explore.controls import bind
    from plusx.explore.states import DEFAULT, Explorer

    x, y = np.linspace(-1, 1, 13), np.linspace(0, 2, 9)

    def drawn(kind):
        def function(bowl):
            z = np.round(x**2 * (2 * bowl - 1) + y[:, None], 3)
            trace = dict(type=kind, x=x, y=y, z=z, colorbar=dict(title="loss"))
            axes = dict(xaxis=dict(title="along"), yaxis=dict(title="across"))
            axes = dict(scene=axes | dict(zaxis=dict(title="loss"))) if kind == "surface" else axes
            return dict(data=[trace], layout=dict(title=f"{kind}, {bowl}", **axes))

        function.__name__ = kind
        return function

    fragments = [static.fragment(Explorer(drawn(k), bind(drawn(k), dict(bowl=True)), DEFAULT)) for k in GRIDS]
    assets = tmp_path / "assets"
    assets.mkdir()
    for asset in ("explore/explore.css", "explore/built/explore.js"):
        (assets / Path(asset).name).write_bytes((ROOT / "src" / "plusx" / asset).read_bytes())
    for bundle in ("cartesian", "gl3d"):
        file = f"plotly-{bundle}.min.js"
        (assets / file).write_bytes((ROOT / "node_modules" / f"plotly.js-{bundle}-dist-min" / file).read_bytes())
    path = tmp_path / "grids.html"
    path.write_text(
        "<!doctype html><html lang='en' data-theme='light'><head><meta charset='utf-8'><title>Grids</title>"
        "<link rel='stylesheet' href='assets/explore.css'><script defer src='assets/explore.js'></script></head>"
        f"<body><main><h1>Grids</h1>{''.join(fragments)}</main></body></html>"
    )
    return path.as_uri()


def test_grids_and_solids_follow_their_switch(grids, open_page, axe):
    page, foreign, errors = open_page(grids)
    ready(page)
    for root, kind in zip(explorers(page), GRIDS):
        built = root.locator(".px-table").inner_html()
        root.locator(".px-data summary").click()
        settle(page)
        assert re.sub(r"\s+", "", root.locator(".px-table").inner_html()) == re.sub(r"\s+", "", built), kind
        assert root.locator(".px-table caption").text_content().endswith(": loss")
        corner = root.locator(".px-table tbody tr").first.locator("td")
        assert corner.all_text_contents()[:2] == ["0", "1"]  # z at the least y and x: x**2 + y
        root.locator("[role=switch]").click()
        settle(page)
        assert picture(root)["words"] == f"{kind}, False"
        assert corner.all_text_contents()[:2] == ["0", "-1"]
        shown = root.evaluate("e => e.querySelector('.px-plot').data[0].z[0][0]")
        assert shown == -1
    assert foreign == [] and errors == []
    assert axe(page) == []


def test_a_surface_waits_for_a_touch_or_a_link(grids, open_page):
    def open_watched(url):
        page, _, _ = open_page("about:blank", solid=True)
        asked = []
        page.on("request", lambda request: asked.append(request.url) if "gl3d" in request.url else None)
        page.goto(url)
        return page, asked

    page, asked = open_watched(grids)
    page.wait_for_timeout(600)
    assert asked == []
    page.locator("[data-bundle=gl3d] .px-figure").hover()
    page.locator("[data-bundle=gl3d].px-live").wait_for()
    assert len(asked) == 1
    page, asked = open_watched(f"{grids}#surface?bowl=off")
    page.locator("[data-bundle=gl3d].px-live").wait_for()
    assert len(asked) == 1


@pytest.mark.audit
def test_turning_a_surface_outlives_a_toggle(grids, open_page):
    page, _, _ = open_page(grids)
    ready(page)
    root = page.locator("[data-bundle=gl3d]")
    camera = "e.querySelector('.px-plot')._fullLayout.scene._scene.getCamera()"
    eye = f"e => {{ const {{ eye }} = {camera}; return [eye.x, eye.y]; }}"
    start = root.evaluate(eye)
    root.locator(".px-figure").scroll_into_view_if_needed()
    box = root.locator(".px-figure").bounding_box()
    root.evaluate("""e => { const plot = e.querySelector('.px-plot');
        plot.turned = new Promise((done) => plot.once('plotly_relayout', () => done(true))); }""")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 9):  # as slow as a hand: without a graphics card a frame can take a tenth of a second
        page.mouse.move(box["x"] + box["width"] / 2 + 10 * step, box["y"] + box["height"] / 2)
        page.wait_for_timeout(100)
    page.mouse.up()
    assert root.evaluate("e => e.querySelector('.px-plot').turned")  # plotly has taken note of the new camera
    turned = at_rest(page, root, eye)
    assert turned != pytest.approx(start, abs=0.05)
    root.locator("[role=switch]").click()
    assert at_rest(page, root, eye) == pytest.approx(turned, abs=0.01)


def at_rest(page, root, measure):
    """What is measured once it stays as it is for two seconds: without a graphics card a solid lags behind."""
    seen = [root.evaluate(measure)]
    while len(seen) < 5 or any(each != seen[-1] for each in seen[-5:]):
        page.wait_for_timeout(500)
        seen.append(root.evaluate(measure))
    return seen[-1]


def test_without_webgl_the_still_stays_and_it_is_said(grids, open_page):
    page, _, _ = open_page("about:blank")
    page.add_init_script(
        "const real = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {"
        " return kind.includes('webgl') ? null : real.call(this, kind, ...rest); };"
    )
    page.goto(grids)
    root = page.locator("[data-bundle=gl3d]")
    root.locator("[role=switch]").click()
    message = root.locator(".px-message[role=alert]")
    message.wait_for(state="visible")
    assert "no 3-D" in message.text_content()
    assert root.locator(".px-result").text_content() == "surface, False"
    assert root.locator(".px-still.px-wide svg").is_visible()
