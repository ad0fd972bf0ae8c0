"""The playground: what it is made of, and the built page in Chromium, where torch's numbers come from onnxruntime."""

import base64
import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import IPython.display
import numpy as np
import pytest
import torch
from browser import PLAYGROUND as PAGE
from browser import ROOT, sampled, serve
from lab import loss_without

from plusx.nets.switched import LAYER, TASKS, VALUES, Seen, Switched, encode, load, trained
from plusx.panels.playground import Challenge, playground
from plusx.panels.playground.live import Live
from plusx.panels.playground.page import START, fragment, look_at, markup, pack

# The switches of a layer by name, from left to right: which it is, and its value where it is on.
PARTS = {
    "norm of attention, before the branch": ("attention norm", "1"),
    "attention: branch": ("attention branch", "1"),
    "skip around attention": ("attention skip", "1"),
    "norm of attention, after the addition": ("attention norm", "2"),
    "norm of FFN, before the branch": ("FFN norm", "1"),
    "FFN: branch": ("FFN branch", "1"),
    "activation, ReLU": ("activation", "1"),
    "skip around FFN": ("FFN skip", "1"),
    "norm of FFN, after the addition": ("FFN norm", "2"),
}
NODE = Path(sys.executable).with_name("node")
PANELS = ROOT / "src" / "plusx" / "panels"
SETTLED = "!document.querySelector('.plusx-playground').plusx.busy"
SEEN = """() => { const { seen } = document.querySelector('.plusx-playground').plusx;
  return Object.fromEntries(Object.entries(seen).map(([k, v]) => [k, v.length === undefined ? v : Array.from(v)])); }"""
# Of each switch, the greatest of its rectangles: where a finger reaches it.
REACHES = """() => [...document.querySelectorAll('.plusx-playground [role=switch]')]
  .map((e) => (e.tagName === 'BUTTON' ? [e] : [...e.querySelectorAll('rect')]))
  .map((parts) => parts.map((part) => part.getBoundingClientRect()))
  .map((boxes) => [Math.max(...boxes.map((box) => box.width)), Math.max(...boxes.map((box) => box.height))])"""


@pytest.fixture(scope="module")
def nets():
    """The trained nets in float32, as the page runs them."""
    return {name: load(name).float() for name in TASKS}


def small_nets():
    torch.manual_seed(0)
    return {name: Switched(task).requires_grad_(False) for name, task in TASKS.items()}


def settle(page):
    page.wait_for_timeout(50)
    page.wait_for_function(SETTLED)


def state(page):
    """The net, the text it sees, and the switches."""
    return page.evaluate(
        """() => { const p = document.querySelector('.plusx-playground').plusx;
           return [p.netName, p.seenText, p.switches]; }"""
    )


def set_state(page, net, text, switches):
    page.evaluate(
        """([net, text, switches]) => { const p = document.querySelector('.plusx-playground').plusx;
           p.netName = net; p.text = text ?? p.net.start; p.set(switches); }""",
        [net, text, switches],
    )


def switch(page, layer, name):
    """A switch of a layer's diagram."""
    return page.get_by_role("group", name=f"Layer {layer}", exact=True).get_by_role("switch", name=name, exact=True)


def result(page):
    return page.inner_text(".px-result")


@pytest.fixture
def open_playground(site_url, open_page):
    """The page of the playground, its presets there; with `loaded`, its nets too."""

    def open_playground(loaded=False, link="", url=None, **options):
        page, foreign, errors = open_page(f"{url or site_url}/{PAGE}{link}", **options)
        page.wait_for_function("document.querySelector('.plusx-playground').plusx?.seen")
        page.click(".pg-several > summary")
        if loaded:
            page.click(".pn-load")
            page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
            settle(page)
        return page, foreign, errors

    return open_playground


def assert_seen(page, nets, **tolerance):
    """What the page shows for its state is what torch computes for it."""
    name, text, switches = state(page)
    net = nets[name]
    with torch.no_grad():
        wanted = net.look(encode(net.task, text), list(map(int, switches)))
    shown = page.evaluate(SEEN)
    assert shown["n"] == len(text)
    for part, expected in zip(Seen._fields, wanted):
        got = np.array(shown[part], dtype=float).reshape(expected.shape)
        expected = expected.double().numpy()
        if part == "scores":  # all that is shown of them
            got, expected = (x - np.logaddexp.reduce(x, -1, keepdims=True) for x in (got, expected))
        scale = max(1, np.abs(expected[np.isfinite(expected)]).max())
        np.testing.assert_allclose(got / scale, expected / scale, err_msg=f"{part} of {switches}", **tolerance)


# ---- without a browser -------------------------------------------------------------------------------------------


def test_a_setting_that_no_net_has_is_refused():
    nets = small_nets()
    good = trained(TASKS["sorting"])
    with pytest.raises(ValueError, match="Short has 42 numbers, expected 43"):
        playground(nets, {"Short": good[1:]}, [])
    with pytest.raises(ValueError, match=r"Odd has 2 at 0; choose 0 to 1"):
        playground(nets, {"Odd": [2, *good[1:]]}, [])
    with pytest.raises(ValueError, match="Which\\? has 4 at 6"):
        playground(nets, {}, [Challenge("sorting", "Which?", [[*good[:6], 4, *good[7:]]], "")])
    shallow = Switched(TASKS["sorting"]._replace(layers=2))
    with pytest.raises(ValueError, match=r"the nets have \[2, 6\] layers"):
        playground({"characters": nets["characters"], "sorting": shallow}, {}, [])
    with pytest.raises(ValueError, match="no start input for words; nets are characters and sorting"):
        playground({"words": nets["characters"]}, {}, [])


def test_words_of_authors_are_inert_in_the_page():
    evil = "</script><script>alert(1)</script>"
    html = fragment(small_nets(), {evil: trained(TASKS["sorting"])}, [Challenge("sorting", evil, [], evil)])
    assert "<script>alert" not in html and html.count("</script>") == 2
    setup = json.loads(re.search(r'class="pn-setup">(.*?)</script>', html, re.S)[1])
    assert setup["presets"][0]["name"] == setup["challenges"][0]["told"] == evil


@pytest.mark.parametrize("panel, words", [("playground/js/readings", "−0.01 0.00"), ("lanes/js/words", "−0.0123 0")])
def test_numbers_have_minus_signs_and_no_hyphens(panel, words):
    script = f"""import {{ short }} from "{(PANELS / f"{panel}.js").as_uri()}";
      console.log(JSON.stringify([-0.0123, 0, -2e-5, 7.5e-5].map(short)));"""
    done = subprocess.run([NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [*words.split(), "−2.0e−5", "7.5e−5"]


def test_packed_presets_keep_every_number_to_a_few_thousandths():
    nets = small_nets()
    presets = {"a": trained(TASKS["sorting"]), "b": [0] * 43}
    seen = {name: look_at(net, START[name]["start"], presets) for name, net in nets.items()}

    def minus_log(w):
        return -np.expm1(w / 3000)

    def shares(w):
        return w / 65535

    def cosines(w):
        return w / 32767 - 1

    def lengths(w):
        return np.expm1(w / 3000)

    low, high = np.frombuffer(pack(seen), np.uint8).reshape(2, -1).astype(float)
    words, at = low + 256 * high, 0
    for states in seen.values():
        for each in states:
            for part, undo in zip(each, (minus_log, shares, cosines, lengths)):
                part = (torch.log_softmax(part, -1) if part is each.scores else part).double().numpy().ravel()
                np.testing.assert_allclose(undo(words[at : at + part.size]), part, rtol=4e-4, atol=4e-4)
                at += part.size
    assert at == words.size


def test_the_kernel_answers_questions_and_names_what_is_wrong(monkeypatch):
    nets = small_nets()
    widget = Live(nets, "<div></div>", {})
    sent = []
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append((content, buffers)))
    switches = [0, *trained(TASKS["sorting"])[1:]]
    widget.answer({"id": 5, "net": "sorting", "tokens": [3, 1, 2], "switches": switches})
    content, buffers = sent.pop()
    assert content == {"id": 5, "n": 3, "names": list(Seen._fields)}
    for buffer, expected in zip(buffers, nets["sorting"].look(torch.tensor([3, 1, 2]), switches)):
        np.testing.assert_array_equal(np.frombuffer(buffer, "<f4"), expected.numpy().ravel())
    widget.answer({"id": 6, "net": "sorting", "tokens": [3], "switches": [1, 2]})
    content, buffers = sent.pop()
    assert content["id"] == 6 and "2 numbers, expected 43" in content["error"] and buffers is None


def test_a_notebooks_file_keeps_the_table_beside_the_widget_and_for_where_the_widget_is_gone(monkeypatch):
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda what, **how: shown.append(what))
    playground(small_nets(), {"As trained": trained(TASKS["sorting"])}, [])
    live, spare = shown
    assert live.kept["text/html"].count("As trained") == 2
    assert json.dumps(live.kept["text/html"])[1:-1].replace("</", r"<\/") in spare["application/javascript"]


# ---- before the nets are loaded -----------------------------------------------------------------------------------


def test_the_page_loads_no_net_unasked_and_other_pages_nothing_at_all(site_url, open_page, open_playground):
    def asked(page):
        return page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")

    page, foreign, errors = open_playground()
    assert not [name for name in asked(page) if re.search(r"\.onnx|runtime\.bin|ort\.wasm|worker", name)]
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
    assert foreign == errors == []
    other, _, _ = open_page(f"{site_url}/chapters/17-claims-tested.html")
    other.wait_for_load_state("networkidle")
    assert not [name for name in asked(other) if re.search(r"onnx|/ort\.|/playground", name)]


def test_presets_answer_from_the_table_with_torchs_numbers(open_playground, nets):
    page, _, errors = open_playground()
    names = page.get_by_role("group", name="Presets").get_by_role("button").all_inner_texts()
    assert len(names) >= 8
    for net in TASKS:
        page.locator(f"input[name^=net][value={net}]").evaluate("e => e.click()")
        said = set()
        for name in names:
            page.click(f"[aria-label=Presets] button:text-is('{name}')")
            settle(page)
            assert page.get_attribute(f"[aria-label=Presets] button:text-is('{name}')", "aria-pressed") == "true"
            assert_seen(page, nets, atol=1e-3, rtol=1e-3)
            said.add(result(page).split(":", 1)[1])
        assert len(said) == len(names)  # each preset does something else
    assert errors == []


def test_a_state_beyond_the_table_says_that_the_nets_are_needed(open_playground):
    page, _, _ = open_playground()
    switch(page, 1, "attention: branch").click()
    settle(page)
    assert re.match(
        r"no attention 1: a loss of \d\.\d\d on held-out data, \d\.\d\d as trained. The nets are not loaded yet",
        result(page),
    )
    assert page.locator(".plusx-playground.pg-stale").count() == 1
    page.click("[aria-label=Presets] button:text-is('As trained')")
    settle(page)
    assert "As trained" in result(page) and page.locator(".pg-stale").count() == 0


@pytest.mark.parametrize("how", ["from disk", "without WebAssembly"])
def test_where_nets_cannot_run_the_presets_do_and_the_page_says_so(site, open_page, site_url, how):
    page, foreign, errors = open_page("about:blank")
    errors.clear()  # a blank page has no storage for its theme
    if how == "without WebAssembly":
        page.add_init_script("delete globalThis.WebAssembly")
    page.goto(f"{site.as_uri() if how == 'from disk' else site_url}/{PAGE}")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx?.seen")
    assert page.locator(".pn-load").is_hidden()
    page.click(".pg-several > summary")
    page.click("[aria-label=Presets] button:text-is('No attention skips')")
    settle(page)
    assert "mean cosine of the tokens at the end 0.99" in result(page) or "end 1.00" in result(page)
    switch(page, 1, "attention: branch").click()
    settle(page)
    assert {"from disk": "opened from disk", "without WebAssembly": "no WebAssembly"}[how] in result(page)
    assert foreign == errors == []


def test_without_scripts_the_presets_are_a_table(open_page, site_url):
    page, _, _ = open_page(f"{site_url}/{PAGE}", scripts=False)
    assert page.locator(".plusx-playground noscript").count() == 1
    rows = page.locator(".pg-table tbody tr")
    assert rows.count() == 2 * 10
    assert rows.first.locator("th, td").all_text_contents()[::2] == ["As trained", "e"]


@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_damaged_table_is_told_and_the_nets_still_load(open_page, site_url, nets, damage):
    page, _, _ = open_page("about:blank")

    def spoil(route):
        if damage == "missing":
            return route.fulfill(status=404, body="")
        body = route.fetch().text()
        head, payload, tail = body.rsplit('"', 2)
        if damage == "cut":
            payload = payload[: len(payload) // 2]
        else:
            payload = base64.b64encode(gzip.compress(b"\0" * 1000)).decode()
        return route.fulfill(body=f'{head}"{payload}"{tail}', content_type="text/javascript")

    page.route("**/16-playground-playground.js", spoil)
    page.goto(f"{site_url}/{PAGE}")
    page.wait_for_selector(".px-message:has-text('damaged or missing')")
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx.seen")
    assert_seen(page, nets, atol=1e-4, rtol=0)


# ---- with the nets ------------------------------------------------------------------------------------------------


def test_the_page_computes_what_torch_computes(open_playground, nets):
    page, foreign, errors = open_playground(loaded=True)
    lot = random.Random(7)
    for _ in range(24):
        name = lot.choice(list(TASKS))
        task = TASKS[name]
        text = "".join(lot.choice(task.alphabet) for _ in range(lot.choice([1, 2, 7, task.places])))
        values = [*VALUES * task.layers, (0, 1)]
        usual = lot.choice([1.0, 0.95, 0.7])  # how often a switch stays as trained
        switches = [1 if lot.random() < usual else lot.randrange(len(value)) for value in values]
        set_state(page, name, text, "".join(map(str, switches)))
        page.wait_for_function(SETTLED)
        assert_seen(page, nets, atol=1e-4, rtol=0)
    assert foreign == errors == []


def test_every_switch_of_the_picture_is_the_one_it_names(open_playground, nets):
    page, _, _ = open_playground(loaded=True)
    start = "".join(map(str, trained(TASKS["characters"])))
    assert page.locator("[role=switch]").count() == 6 * len(PARTS) + 1
    for layer in range(1, 7):
        for name, (kind, on) in PARTS.items():
            index = (layer - 1) * len(LAYER) + LAYER.index(kind)
            is_on = on == "1"  # as trained, norms stand before the branch
            part = switch(page, layer, name)
            assert part.get_attribute("aria-checked") == str(is_on).lower()
            part.dispatch_event("click")
            assert state(page)[2] == start[:index] + ("0" if is_on else on) + start[index + 1 :]
            part = switch(page, layer, name.removesuffix(", ReLU"))
            assert part.get_attribute("aria-checked") == str(not is_on).lower()
            switch(page, layer, name if is_on and kind != "activation" else before(name)).dispatch_event("click")
            assert state(page)[2] == start
    last = page.get_by_role("switch", name="last norm")
    for digit in "01":
        last.dispatch_event("click")
        assert state(page)[2] == start[:-1] + digit and last.get_attribute("aria-checked") == str(digit == "1").lower()
    settle(page)
    assert_seen(page, nets, atol=1e-4, rtol=0)


def before(name):
    """The switch that brings back what it was before another was pressed."""
    return name.replace("after the addition", "before the branch").removesuffix(", ReLU")


def test_switches_work_from_the_keyboard_and_the_result_is_told(open_playground):
    page, _, _ = open_playground(loaded=True)
    page.locator(".pg-layer:nth-of-type(3) [data-set][tabindex='0']").focus()
    names = []
    for _ in PARTS:
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press("ArrowRight")
    assert names == list(PARTS)
    page.keyboard.press("Home")
    before = result(page)
    page.keyboard.press("Space")
    settle(page)
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "false"
    assert result(page) != before and "No norm of attention 2" in result(page).split(":")[0]
    page.keyboard.press("Tab")
    assert "Layer 2, attention of head 1" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert page.locator(".px-result[role=status]").count() == 1


def test_norms_and_activations_change_together_and_keep_what_is_off(open_playground):
    page, _, _ = open_playground(loaded=True)
    switch(page, 2, "norm of attention, before the branch").click()
    page.locator("input[name^=norm][value='2']").evaluate("e => e.click()")
    page.locator("input[name^=kind][value='3']").evaluate("e => e.click()")
    digits = state(page)[2]
    layers = [digits[i : i + 7] for i in range(0, 42, 7)]
    assert layers == ["1121123", "1101123", *["1121123"] * 4] and digits[-1] == "1"
    for place, digit in (("after the addition", "2"), ("before the branch", "1"), ("before the branch", "0")):
        switch(page, 2, f"norm of attention, {place}").click()
        assert state(page)[2][9] == digit  # it stands where it was pressed, whatever the others do
    part = switch(page, 2, "activation, tanh")
    box = part.bounding_box()
    part.click()
    off = switch(page, 2, "activation")
    assert (off.get_attribute("aria-checked"), off.locator("text").inner_html(), box) == (
        "false", "tanh", off.bounding_box(),
    )  # fmt: skip
    page.locator("input[name^=kind][value='2']").evaluate("e => e.click()")
    assert off.locator("text").inner_html() == "GELU"
    off.click()
    assert state(page)[2][13] == "2"  # as the kind last chosen, which the picture promised


def test_a_link_keeps_the_state_and_says_what_it_cannot_keep(open_playground, nets):
    page, _, _ = open_playground(loaded=True)
    page.fill("textarea", "if a & b: # 50 %\n")
    switch(page, 4, "FFN: branch").locator("rect").first.click()  # between W₁ and W₂ is another switch
    settle(page)
    link, wanted = page.evaluate("location.hash"), state(page)
    again, _, _ = open_playground(link=link)
    assert state(again) == wanted
    odd, _, errors = open_playground(link="#playground?net=poems&switches=9")
    assert "net=poems, switches=9, which is not offered" in odd.inner_text(".px-message[role=alert]")
    assert state(odd) == ["characters", START["characters"]["start"], "1" * 43]
    assert errors == []


def test_of_many_quick_changes_only_few_are_computed_and_the_last_is_shown(open_playground, nets):
    page, _, _ = open_playground(loaded=True)
    asked = page.evaluate("""() => { const p = document.querySelector('.plusx-playground').plusx;
        let asked = 0; const ask = p.engine.ask.bind(p.engine);
        p.engine.ask = (...all) => { asked++; return ask(...all); };
        for (let i = 0; i < 43; i++) p.put(i, 0);
        for (let i = 0; i < 42; i++) p.put(i, 1);
        return new Promise((done) => setTimeout(() => done(asked), 1500)); }""")
    assert 1 <= asked <= 3
    assert state(page)[2] == "1" * 42 + "0"
    assert_seen(page, nets, atol=1e-4, rtol=0)


def test_the_page_answers_while_the_nets_load_and_after_a_failure_it_tries_again(open_playground):
    page, _, _ = open_playground()
    page.route("**/*-sorting.onnx", lambda route: route.abort())
    page.click(".pn-load")
    page.wait_for_selector(".px-message:has-text('did not load')")
    page.unroute("**/*-sorting.onnx")
    slowest, whole, shares = page.evaluate("""() => new Promise((done) => {
        const p = document.querySelector('.plusx-playground').plusx;
        let slowest = 0, begun = performance.now(), last = begun, shares = [];
        const tick = () => {
          const now = performance.now();
          slowest = Math.max(slowest, now - last); last = now;
          shares.push(document.querySelector('.plusx-playground progress').value);
          if (p.engine) done([slowest, now - begun, new Set(shares).size]); else setTimeout(tick, 5);
        };
        document.querySelector('.pn-load').click(); tick(); })""")
    assert slowest < whole / 3, "the page stood still while the nets were loading"
    assert shares >= 2
    assert page.locator(".plusx-playground progress").is_hidden()


def test_input_the_net_does_not_know_is_named_and_draws_nothing_wrong(open_playground):
    page, _, _ = open_playground(loaded=True)
    before = page.evaluate(SEEN)
    page.fill("textarea", "café ☕")
    assert "does not know é ☕" in page.inner_text(".px-message[role=alert]")
    assert page.locator(".plusx-playground.pg-stale").count() == 1
    page.fill("textarea", "one\ttwo")
    assert "does not know a tab." in page.inner_text(".px-message[role=alert]")
    page.fill("textarea", "")
    assert "at least one character" in page.inner_text(".px-message[role=alert]")
    assert page.evaluate(SEEN) == before
    page.fill("textarea", "cafe")
    settle(page)
    assert page.locator(".px-message:visible").count() == 0 and page.locator(".pg-stale").count() == 0


def test_a_picture_that_is_not_of_the_present_state_is_not_given_its_words(open_playground):
    page, _, errors = open_playground()
    bars = page.inner_text(".pg-bars")
    switch(page, 1, "skip around attention").click()
    page.locator("input[name^=net][value=sorting]").evaluate("e => e.click()")
    settle(page)
    page.locator(".pg-map").nth(7).click()  # another picture in large, of what was last computed
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    assert "not loaded yet" in result(page)
    assert page.inner_text(".pg-bars") == bars
    assert page.locator(".plusx-playground.pg-stale").count() == 1
    assert errors == []


def test_every_accepted_answer_solves_its_challenge_and_others_do_not(open_playground):
    page, _, _ = open_playground(loaded=True)
    items = page.locator(".pn-challenges li").all()
    challenges = page.evaluate("document.querySelector('.plusx-playground').plusx.setup.challenges")
    assert len(items) == len(challenges) >= 3

    def verdict(item, net, switches):
        set_state(page, net, None, switches)
        item.get_by_role("button").click()
        return item.locator(".pn-verdict").inner_text()

    for item, challenge in zip(items, challenges):
        for answer in challenge["accepted"]:
            assert verdict(item, challenge["net"], answer).startswith("Solved. ")
        assert "0 of the switches differ" in verdict(item, challenge["net"], "1" * 43)
        other = next(name for name in TASKS if name != challenge["net"])
        assert "about the net for" in verdict(item, other, challenge["accepted"][0])


def test_the_collapse_that_a_challenge_asks_for_is_on_the_screen(open_playground):
    page, _, _ = open_playground(loaded=True)
    challenge = page.evaluate("document.querySelector('.plusx-playground').plusx.setup.challenges")[1]
    for answer in challenge["accepted"]:
        set_state(page, challenge["net"], None, answer)
        settle(page)
        assert float(re.search(r"at the end (\S+)\.", result(page))[1]) >= 0.99


@pytest.mark.parametrize("width, theme", sampled([(1280, "dark"), (390, "light")], [(390, "light")]))
def test_a_loaded_and_damaged_net_is_accessible_and_fits(open_playground, axe, width, theme):
    page, _, errors = open_playground(loaded=True, width=width, theme=theme)
    page.fill("textarea", "x = [each for each in every if each]  # and so on and so forth, to")
    page.click("[aria-label=Presets] button:text-is('Post-norm')")
    switch(page, 2, "skip around FFN").click()
    settle(page)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    assert [reach for reach in page.evaluate(REACHES) if min(reach) < 20] == []


# ---- in sight ------------------------------------------------------------------------------------------------------


IN_SIGHT = """(part) => {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  const points = [[left + 2, top + 2], [right - 2, bottom - 2], [(left + right) / 2, (top + bottom) / 2]];
  return points.every(([x, y]) => {
    const there = document.elementFromPoint(x, y); // nothing outside of the window
    return there && (part.contains(there) || there.contains(part));
  });
}"""


def is_in_sight(page, selector):
    """Whether a part is wholly within the window, with nothing over it."""
    return page.locator(selector).evaluate(IN_SIGHT)


@pytest.mark.parametrize("width, height", sampled([(1280, 900), (390, 844)], [(390, 844)]))
def test_the_answer_is_in_sight_of_each_switch_and_covers_none_that_is_pressed(open_playground, width, height):
    page, _, _ = open_playground(loaded=True, width=width)
    page.set_viewport_size(dict(width=width, height=height))
    for layer in range(1, 7):
        for label, said in (("skip around attention", "skip around attention"), ("FFN: branch", "FFN")):
            part = switch(page, layer, label)
            part.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
            page.mouse.wheel(0, -40)  # upwards, as the theme offers the way to the top
            page.wait_for_timeout(200)
            box = part.locator("rect").first.bounding_box()
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            settle(page)
            assert result(page).startswith(f"No {said} {layer}: "), "another thing was pressed"
            assert is_in_sight(page, ".px-result")
            part.dispatch_event("click")
            settle(page)
    assert page.locator(".pn-said").bounding_box()["height"] < 0.12 * height


@pytest.mark.parametrize("width", sampled([1280, 390], [390]))
def test_what_has_the_keyboards_focus_is_not_below_the_answer(open_playground, width):
    page, _, _ = open_playground(loaded=True, width=width)
    page.locator("input[type=radio]").last.focus()
    for key in ("Tab", "Shift+Tab"):
        for _ in range(36):
            page.keyboard.press(key)
            page.wait_for_timeout(20)
            overlap = page.evaluate("""() => {
              const part = document.activeElement.getBoundingClientRect();
              const said = document.querySelector('.pn-said').getBoundingClientRect();
              return document.activeElement.closest('.pg-stack') && part.bottom > said.top && part.top < said.bottom
                && document.activeElement.outerHTML.slice(0, 200); }""")
            assert not overlap


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_before_the_nets_are_loaded_each_switch_has_the_reason_and_the_button_in_sight(open_playground, width, height):
    page, _, _ = open_playground(width=width)
    page.set_viewport_size(dict(width=width, height=height))
    for layer in (1, 4, 6):
        part = switch(page, layer, "attention: branch")
        part.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
        part.locator("rect").first.click()
        settle(page)
        assert "not loaded yet" in result(page)
        assert is_in_sight(page, ".px-result") and is_in_sight(page, ".pn-load")
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
    settle(page)
    assert result(page).startswith("No attention 1, no attention 4, no attention 6: ")
    assert is_in_sight(page, ".px-result")


# Rows in which the pieces of a layer stand, as the numbers of the pieces.
ROWS = """() => [...document.querySelectorAll('.px-diagram')].map((diagram) => {
  const ends = [...diagram.children].map((piece) => Math.round(piece.getBoundingClientRect().bottom));
  return [...new Set(ends)].map((end) => ends.flatMap((other, i) => (other === end ? [i] : [])));
})"""


@pytest.mark.parametrize("width", [320, 360, 390, 600, 768, 1280])
def test_a_finger_finds_every_switch_and_a_half_stands_in_one_row(open_playground, width):
    page, _, _ = open_playground(width=width)
    page.set_viewport_size(dict(width=width, height=844))
    reaches = page.evaluate(REACHES)
    assert len(reaches) == 6 * len(PARTS) + 1
    assert min(width for width, _ in reaches) >= 24 and min(height for _, height in reaches) >= 32
    assert page.evaluate(ROWS) == 6 * [[[0, 1, 2, 3]] if width > 650 else [[0, 1], [2, 3]]]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", sampled([1280, 390], [1280]))
def test_pictures_keep_their_size_whatever_the_words_beside_them_say(open_playground, width):
    page, _, _ = open_playground(loaded=True, width=width)
    sizes, words = set(), set()
    for preset in page.get_by_role("group", name="Presets").get_by_role("button").all():
        preset.dispatch_event("click")
        settle(page)
        sizes |= set(
            page.evaluate("[...document.querySelectorAll('.pg-map')].map(e => e.getBoundingClientRect().width)")
        )
        words |= {len(said) for said in page.locator(".pg-words span").all_inner_texts()}
    assert len(words) > 2, "the words were always as long"
    assert max(sizes) - min(sizes) < 0.1


# Contrast with the playground's ground of all that a reader has to make out, in the picture's order.
CONTRASTS = """() => {
  const root = document.querySelector('.plusx-playground'), style = getComputedStyle(root);
  const light = (colour) => {
    const probe = document.createElement('canvas').getContext('2d');
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = light(style.backgroundColor);
  const of = (colour) => Math.max(light(colour) / ground, ground / light(colour));
  const found = {};
  for (const [part, what] of [['.px-wire', 'stroke'], ['.px-plus', 'stroke'], ['.px-box', 'stroke'],
    ['[aria-checked=true] .px-line', 'stroke'], ['[aria-checked=false] .px-box', 'stroke'],
    ['[aria-checked=false] .px-line', 'stroke'], ['[aria-checked=false] .px-cut', 'stroke'],
    ['.pg-map', 'borderTopColor'], ['.pg-bar span', 'backgroundColor']]) {
    found[part] = of(getComputedStyle(document.querySelector(part))[what]);
  }
  for (const painted of root.plusx.colours()) found[painted] = of(painted);
  return found;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_and_pictures_stand_out_from_the_ground(open_playground, theme):
    page, _, _ = open_playground(theme=theme)
    page.get_by_role("button", name="No attention skips").click()
    settle(page)
    assert {part: contrast for part, contrast in page.evaluate(CONTRASTS).items() if contrast < 3} == {}


# ---- beside a kernel ------------------------------------------------------------------------------------------------

GONE = "The kernel has no playground any more: run this cell again."
LATE = "No answer yet: the kernel is busy or was stopped; if it was restarted, run this cell again."
# Views of one model, as anywidget has them: a listener that throws ends the delivery of a message.
VIEWS = """([markup, count]) => {
  const listeners = { "msg:custom": new Set(), comm_live_update: new Set() };
  const decoded = (part) => new DataView(Uint8Array.from(atob(part), (char) => char.charCodeAt(0)).buffer);
  const model = {
    get: () => markup,
    on: (event, listen) => listeners[event].add(listen),
    off: (event, listen) => listeners[event].delete(listen),
    send: async (question) => {
      await window.awake;
      const [content, parts] = await window.askTorch(question);
      for (const listen of listeners["msg:custom"]) listen(content, parts.map(decoded));
    },
  };
  window.views = Array.from({ length: count }, () => {
    const el = document.createElement("div");
    document.body.append(el);
    return { el, close: window.panel.render({ model, el }) };
  });
  window.listeners = listeners;
}"""

# As anywidget imports a widget's script.
IMPORT = """async (code) => {
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  window.panel = (await import(address)).default;
}"""


@pytest.fixture
def open_views(open_page, nets):
    """A page with several views of one live playground, which answers once the page's promise `awake` is kept."""

    def open_views(count):
        page, _, errors = open_page("about:blank")
        errors.clear()  # a blank page has no storage for its theme
        live, sent = Live(nets, markup(nets, {}, []), {}), []
        live.send = lambda content, buffers=(): sent.append((content, buffers))

        def ask(question):
            live.answer(question)
            content, buffers = sent.pop()
            return content, [base64.b64encode(part).decode() for part in buffers]

        page.expose_function("askTorch", ask)
        page.add_style_tag(content=Live._css)
        page.evaluate(IMPORT, Live._esm)
        page.evaluate(VIEWS, [live.markup, count])
        return page, errors

    return open_views


def wait_for_loss(view, *parts):
    """Wait until a view says what torch's loss is on the start input with parts of layer 3 off."""
    said = loss_without(START["characters"]["start"], *parts)
    view.locator(".px-result").filter(has_text=said).wait_for()


def test_two_views_of_one_playground_answer_each_for_itself(open_views):
    page, errors = open_views(2)
    views = page.locator(".plusx-playground").all()
    for view in views:
        wait_for_loss(view)
    for view, part in zip(views, ("attention", "FFN")):
        switch(view, 3, f"{part}: branch").dispatch_event("click")
    wait_for_loss(views[0], "attention branch")
    wait_for_loss(views[1], "FFN branch")
    views[1].get_by_role("radio", name="Sorting").dispatch_event("click")
    views[1].locator(".px-result").filter(has_text="places right").wait_for()
    assert views[0].get_by_role("radio", name="Text").is_checked()
    assert views[1].get_by_role("radio", name="Sorting").is_checked()
    page.evaluate("views[0].close()")
    assert page.evaluate("Object.values(listeners).map(each => each.size)") == [1, 1]
    views[1].get_by_role("radio", name="Text").dispatch_event("click")
    wait_for_loss(views[1], "FFN branch")
    assert errors == []


def test_a_kernel_that_does_not_answer_is_told_until_it_does(open_views):
    page, errors = open_views(1)
    view = page.locator(".plusx-playground")
    wait_for_loss(view)
    late = view.get_by_text(LATE)
    page.evaluate("window.awake = new Promise((done) => (window.wake = done)), 0")
    switch(view, 3, "attention: branch").dispatch_event("click")
    page.wait_for_timeout(2000)
    assert late.is_hidden()
    late.wait_for()
    switch(view, 3, "FFN: branch").dispatch_event("click")
    assert late.is_visible()
    page.evaluate("wake()")
    wait_for_loss(view, "attention branch", "FFN branch")
    assert late.is_hidden()
    assert errors == []


def test_a_playground_that_its_kernel_has_lost_says_to_run_the_cell_again(open_views):
    page, _ = open_views(1)
    view = page.locator(".plusx-playground")
    wait_for_loss(view)
    page.evaluate("listeners.comm_live_update.forEach(lose => lose())")
    view.get_by_text(GONE).wait_for()
    switch(view, 3, "attention: branch").dispatch_event("click")
    page.wait_for_timeout(200)
    assert view.get_by_text(GONE).is_visible()


# The ink of a page, and the colour in which the large picture's frame is drawn.
INKS = """() => {
  const ink = getComputedStyle(document.querySelector('.plusx-playground')).color;
  const drawn = document.querySelector('.pg-large canvas').getContext('2d').getImageData(31, 300, 1, 1).data;
  return [ink.match(/\\d+/g).map(Number), [...drawn.slice(0, 3)]];
}"""


def wait_until_drawn_in(page, light):
    """Wait until the ink is for a light or dark ground, and the picture is drawn in it."""
    page.wait_for_function(
        f"""light => {{ const [ink, drawn] = ({INKS})();
            return (ink[0] < 128) === light && ink.every((part, i) => Math.abs(part - drawn[i]) < 6); }}""",
        arg=light,
    )


@pytest.mark.parametrize("how", ["button", "attribute of furo", "JupyterLab", "system"])
def test_pictures_follow_the_theme_as_it_changes(open_playground, open_views, how):
    page = open_views(1)[0] if how == "JupyterLab" else open_playground()[0]
    page.locator(".px-result").filter(has_text="nats").wait_for()
    if how == "system":  # furo, too, leaves it to the system
        page.evaluate("delete document.documentElement.dataset.theme, document.body.dataset.theme = 'auto'")
    wait_until_drawn_in(page, light=True)
    if how == "button":
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
    elif how == "attribute of furo":
        page.evaluate("document.body.dataset.theme = 'dark'")
    elif how == "JupyterLab":
        page.evaluate("document.body.style.color = '#eee'")
    else:
        page.emulate_media(color_scheme="dark")
    wait_until_drawn_in(page, light=False)


# ---- its files ------------------------------------------------------------------------------------------------------


def test_only_the_page_of_the_playground_carries_its_files_in_the_sizes_it_tells(site):
    static = site / "_static" / "plusx"
    html = (site / PAGE).read_text(encoding="utf8")
    files = json.loads(re.search(r'data-files="([^"]*)"', html)[1].replace("&quot;", '"'))
    assert set(files) == {"runtime", *TASKS}
    for file in files.values():
        assert (static / file["url"]).stat().st_size == file["bytes"]
    assert files["characters"]["bytes"] < 1.5e6 and sum(file["bytes"] for file in files.values()) < 6.5e6
    runtime = gzip.decompress((static / files["runtime"]["url"]).read_bytes())
    assert runtime == (ROOT / "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm").read_bytes()


def test_the_nets_load_also_where_a_server_unpacks_gzip_itself(site, open_page):
    from browser import QuietHandler

    class Unpacking(QuietHandler):
        def end_headers(self):
            if self.path.endswith("runtime.bin"):
                self.send_header("Content-Encoding", "gzip")
            super().end_headers()

    with serve(site, Unpacking) as url:
        page, _, errors = open_page(f"{url}/{PAGE}")
        page.wait_for_function("document.querySelector('.plusx-playground').plusx?.seen")
        page.click(".pn-load")
        page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
        assert errors == []
