"""The first page's net that a reader can break: what it says is what torch computes; pressed in Chromium."""

import gzip
import json
import math
import re

import pytest
import torch
from browser import ROOT
from bundle import PACKAGE, bundled
from panels import write_hero

import plusx.panels.hero.__main__ as hero
from plusx.nets.switched import LAYER, TASKS, encode, held_out, load, losses, trained

HERO, EXPLORE = PACKAGE / "panels" / "hero", PACKAGE / "explore"
MADE = {
    "written": ["good\n  text of the whole net", *(f"{at} grbl" * 9 for at in range(1, 13))],
    "loss": [1.54, *(at / 2 for at in range(1, 13))],
}


@pytest.fixture
def opened(open_page):
    """A page that has the net alone, and what it logs as errors."""

    def opened(theme="light", width=1280, motion="reduce", scripts=True):
        page, _, errors = open_page("about:blank", width=width, theme=theme, scripts=scripts, solid=False)
        page.emulate_media(reduced_motion=motion)
        errors.clear()  # an empty page has no storage
        sheets = [EXPLORE / "explore.css", EXPLORE / "diagram.css", HERO / "hero.css"]
        css = "".join(path.read_text(encoding="utf8") for path in sheets)
        head = f'<meta charset="utf8"><title>t</title><style>{css} body {{ margin: 0 1rem; max-width: 43rem }}</style>'
        body = f"<main><h1>t</h1>{hero.markup(MADE)}</main>"
        page.set_content(f'<!doctype html><html lang="en" data-theme="{theme}">{head}<body>{body}</body></html>')
        if scripts:
            page.add_script_tag(content=bundled(HERO / "js" / "page.js", "iife"))
        return page, errors

    return opened


@pytest.mark.audit
def test_what_is_kept_is_what_the_net_writes():
    assert write_hero(ROOT).read_text(encoding="utf8") == hero.markup(hero.texts())


def said(page):
    return page.locator(".hero-written").text_content(), page.get_by_role("status").text_content()


def test_a_cut_skip_is_the_switch_of_that_skip_alone(monkeypatch):
    """The loss of each net is that of torch with one skip off; texts differ from the whole net's by that alone."""
    monkeypatch.setattr(hero, "LENGTH", 3)
    monkeypatch.setattr(hero, "held_out", lambda task: held_out(task)[:2])
    made = hero.texts()
    net = load("characters")
    assert len(made["written"]) == len(made["loss"]) == 1 + 2 * net.task.layers
    for at in (0, 4, 11):
        switches = trained(net.task)
        switches[len(LAYER) * (at // 2) + LAYER.index(("attention skip", "FFN skip")[at % 2])] = 0
        with torch.no_grad():
            wanted = losses(net, held_out(net.task)[:2], switches).mean().item()
        assert made["loss"][at + 1] == pytest.approx(wanted)
    for text in made["written"]:
        assert len(encode(net.task, text)) == 3
    assert made == hero.texts()


def test_the_first_page_says_what_a_blind_guess_would_cost():
    blind = math.log(len(TASKS["characters"].alphabet))
    assert f"a blind guess would cost {blind:.1f}" in (ROOT / "index.md").read_text(encoding="utf8")


def test_its_page_is_light(site):
    """Everything that the first page loads, as a server sends it, is 200 kB or less; its type 60 kB or less."""
    html = (site / "index.html").read_text(encoding="utf8")
    sources = re.findall(r'<(?:script|link)\b[^>]*(?:src|href)="([^"?]*\.(?:js|css))', html)
    files = [site / "index.html", *(site / each for each in sources if "://" not in each)]
    fonts = list((site / "_static" / "plusx").glob("*.woff2"))
    assert len(files) > 5 and len(fonts) == 2
    types = sum(path.stat().st_size for path in fonts)
    assert types <= 60_000
    assert types + sum(len(gzip.compress(path.read_bytes())) for path in files) <= 200_000


@pytest.mark.parametrize("width, theme", [(1280, "light"), (390, "dark")])
def test_a_press_cuts_one_skip_and_another_puts_it_back(opened, axe, width, theme):
    page, errors = opened(theme, width)
    assert axe(page) == []
    start = said(page)
    assert start[0] == "good↵  text of the whole net" and "1.5 nats" in start[1]
    skips = page.get_by_role("switch")
    assert skips.count() == 12
    box = page.locator(".plusx-hero").bounding_box()
    assert box["height"] < 600 and page.evaluate("document.documentElement.scrollWidth") <= width
    for at in (3, 8):  # one at a time
        skips.nth(at).click()
        assert said(page)[0] == MADE["written"][at + 1]
        layer, around = at // 2 + 1, hero.AROUND[at % 2]
        assert f"Cut: skip around {around} in layer {layer}." in said(page)[1]
        checked = skips.evaluate_all("all => all.map((each) => each.ariaChecked)")
        assert [i for i, value in enumerate(checked) if value == "false"] == [at]
        assert skips.nth(at).get_attribute("aria-label") == f"Skip around {around}, layer {layer}"
    assert axe(page) == []
    skips.nth(8).click()
    assert said(page) == start and errors == []


def test_the_keyboard_and_the_button_do_the_same(opened):
    page, errors = opened()
    start = said(page)
    button = page.locator(".hero-said button")
    button.click()
    assert button.text_content() == "Put it back" and said(page)[0] in MADE["written"]
    button.click()
    assert said(page) == start
    row = page.locator(".hero-pieces").nth(1)
    row.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert said(page)[0] == MADE["written"][4]
    assert page.evaluate("document.activeElement.dataset.set") == "skip_4"
    page.keyboard.press("Enter")
    assert said(page) == start and errors == []


def test_the_text_types_itself_unless_the_reader_wants_no_motion(opened):
    page, _ = opened(motion="no-preference")
    page.locator(".hero-said button").click()
    whole = MADE["written"][3]
    assert len(said(page)[0]) < len(whole)
    page.wait_for_function(
        "length => document.querySelector('.hero-written').textContent.length === length", arg=len(whole)
    )
    assert said(page)[0] == whole


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_below_it_moves_when_a_skip_is_cut(site_url, open_page, width):
    page, _, _ = open_page(f"{site_url}/index.html", width=width)
    page.emulate_media(reduced_motion="reduce")
    tall = [page.locator(".plusx-hero").bounding_box()["height"]]
    for skip in page.get_by_role("switch").all():
        skip.click()
        tall.append(page.locator(".plusx-hero").bounding_box()["height"])
    assert len(tall) == 13 and max(tall) - min(tall) < 0.5


def test_without_scripts_it_is_a_picture_with_both_texts(opened):
    page, _ = opened(scripts=False)
    assert page.locator(".px-piece").count() == page.get_by_role("img").count() == 12
    shown = page.locator("main").inner_text()
    assert "good↵" in shown and MADE["written"][3] in shown
    assert page.locator(".hero-said button").is_hidden()
    assert json.loads(page.locator(".hero-setup").text_content())["names"][0] == "skip around attention in layer 1"
