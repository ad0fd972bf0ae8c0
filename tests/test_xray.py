"""plusx.xray: sentences that hold of a net and of no other, the page that needs nothing, and its way from a shell."""

import json
import math
import re
import subprocess
import sys

import pytest
import torch
from browser import ROOT
from test_gates import IMAGES, TOKENS, made
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from transformers import PreTrainedTokenizerFast

from plusx.xray import beside, opened, rules, xray
from plusx.xray.__main__ import main

WORDS = "once upon a time there was".split()
X = torch.randn(12, 16, generator=torch.Generator().manual_seed(0))


class Written(nn.Module):
    """A branch that adds what a function makes of its own; with a weight, so that it is one."""

    def __init__(self, writes, size=0.4):
        super().__init__()
        self.linear, self.writes = nn.Linear(16, 16, bias=False), writes
        nn.init.orthogonal_(self.linear.weight, size * 2)

    def forward(self, x):
        return self.writes(x, torch.tanh(self.linear(x)))


def usual(size=0.4):
    return Written(lambda x, y: y, size)


class Stack(nn.Module):
    """x + F(x), once for each branch; after them what a function makes of the end."""

    def __init__(self, branches, end=lambda x: x):
        super().__init__()
        self.blocks, self.end = nn.ModuleList(branches), end

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.end(x)


class Idle(Stack):
    """Its last addition goes into a second stream, which nothing reads."""

    def forward(self, x):
        *blocks, last = self.blocks
        for block in blocks:
            x = x + block(x)
        self.unread = (x + last(x)).sum().item()
        return x


class Fading(Stack):
    def forward(self, x):
        for block in self.blocks:
            x = 0.3 * (x + block(x))
        return x


def with_at(at, block, count=6):
    return [block if each == at else usual() for each in range(count)]


def marked(x, value):
    """A number of one sample's one feature."""
    where = torch.zeros_like(x)
    where[1, 3] = value
    return where


def constant(x, y):
    return y.detach().new_ones(16) * torch.arange(16) / 4 + 0.001 * y


NETS = {
    "usual": lambda: Stack(with_at(-1, None)),
    "spare branches": lambda: Stack(with_at(2, usual(0.002))),
    "growth": lambda: Stack([usual(), *(Written(lambda x, y: x + 0.1 * y) for _ in range(5))]),
    "growth, down": lambda: Fading(with_at(-1, None)),
    "loud branch": lambda: Stack(with_at(3, Written(lambda x, y: 4 * y, 2))),
    "gradient": lambda: Fading(with_at(-1, None)),
    "one": lambda: Stack(with_at(2, Written(lambda x, y: x.mean(0, keepdim=True) * 99 - 0.999 * x + 0.001 * y))),
    "constants": lambda: Stack(with_at(3, Written(constant))),
    "silent": lambda: Stack(with_at(3, Written(lambda x, y: 0 * y))),
    "forgotten": lambda: Stack(with_at(2, Written(lambda x, y: 99 * y.roll(3, 0)))),
    "idle": lambda: Idle(with_at(-1, None)),
    "giant": lambda: Stack(with_at(2, Written(lambda x, y: marked(x, 500.0) + y), 5)),
    "outgrows float16": lambda: Stack(with_at(2, Written(lambda x, y: marked(x, 70000.0) + y), 5)),
    "dearest branch": lambda: Stack(with_at(0, Written(lambda x, y: 9 * y, 3))),
}


def xrayed(kind, seed=0):
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return xray(NETS[kind](), X)


@pytest.mark.parametrize("kind", NETS)
def test_a_sentence_stands_where_it_is_true(kind):
    said = {rule: words for rule, words, _ in xrayed(kind).sentences}
    if kind == "usual":
        assert {*said} == {"dearest skip"}
    else:
        assert kind.partition(",")[0] in said, said


def test_sentences_name_the_place_and_the_number():
    (giant,) = [words for rule, words, _ in xrayed("giant").sentences if rule == "giant"]
    assert re.search(r"Addition 3 \(.*\) writes it and it stays", giant)
    assert "feature 3, is " in giant
    (large,) = [words for rule, words, _ in xrayed("outgrows float16").sentences if rule == "outgrows float16"]
    assert re.match(
        r"The stream outgrows float16, which ends at 65,504: at addition 3 \(.*\) and later, up to 70", large
    )
    (spare,) = [words for rule, words, _ in xrayed("spare branches").sentences if rule == "spare branches"]
    assert spare.startswith("1 of 6 branches are spare") and spare.endswith("They are 3.")
    (one,) = [words for rule, words, _ in xrayed("one").sentences if rule == "one"]
    assert one.startswith("The samples become one: from addition 3 (")
    (does_nothing,) = [words for rule, words, _ in xrayed("silent").sentences if rule == "silent"]
    assert does_nothing.endswith(": 4.")
    (unread,) = [words for rule, words, _ in xrayed("idle").sentences if rule == "idle"]
    assert unread.endswith(": 6.")


# What is far apart between a usual net and one of these, or remarkable in that one alone.
PAIRS = {
    "no skip": "giant",
    "no branch": "dearest branch",
    "spare branches": "silent",
    "growth": "forgotten",
    "loud branch": "loud branch",
    "gradient": "gradient",
    "forgotten": "growth",
    "one": "constants",
    "constants": "constants",
    "silent": "silent",
    "idle": "idle",
    "giant": "giant",
    "outgrows float16": "outgrows float16",
    "dearest branch": "dearest branch",
    "additions": "one",
}


@pytest.mark.parametrize("rule", PAIRS)
def test_a_pair_says_what_differs(rule):
    said = dict(beside(usual=xrayed("usual"), other=xrayed(PAIRS[rule])).sentences)
    assert rule in said, said
    assert "in usual" in said[rule] or said[rule].startswith("Only in other: ")


def test_a_pair_says_nothing_of_one_net_from_several_seeds():
    first = xrayed("usual")
    for seed in range(1, 5):
        both = beside(first=first, second=xrayed("usual", seed))
        assert both.sentences == [] and "By these rules the two do not differ." in str(both)


def test_a_pair_gives_both_numbers_and_where_they_are_most_apart():
    usual, other = xrayed("usual"), xrayed("dearest branch")
    said = dict(beside(usual=usual, other=other).sentences)["no branch"]
    costs = usual.asked["no branch"], other.asked["no branch"]
    middles = [rules.number(sorted(each)[3]) for each in costs]
    assert f"Without a branch the median cost is {middles[0]} in usual, {middles[1]} in other." in said
    apart = [abs(a - b) for a, b in zip(*costs)]
    assert f"Most apart: addition {apart.index(max(apart)) + 1} (" in said


def test_a_pair_compares_losses_and_no_costs_of_two_kinds():
    torch.manual_seed(0)
    net = NETS["usual"]()
    at_first, later, none = (
        xray(net, X, loss=loss) for loss in (lambda y: 2 + y.square().mean(), lambda y: y.square().mean() / 9, None)
    )
    said = dict(beside(first=at_first, later=later).sentences)
    assert said["loss"] == f"The whole net's loss is {rules.number(at_first.whole)} in first, " + (
        f"{rules.number(later.whole)} in later."
    )
    said = dict(beside(first=at_first, other=none).sentences)
    assert {"loss", "no skip", "no branch"} & {*said} == set() and said["measure"].startswith("Costs are not compared")
    with pytest.raises(ValueError, match="beside: came 1 nets; give two"):
        beside(first=at_first)


class Zeros(Stack):
    """A stream of zeros, beside which every branch is infinite."""

    def forward(self, x):
        return super().forward(x).mul(0) + self.blocks[0](x)


def test_a_page_is_an_x_ray_again(tmp_path):
    nets = xrayed("giant"), xray(made("ResNet"), IMAGES), xray(Zeros([usual()]), X)
    for found in (*nets, xray(made("GPT2"), TOKENS, says=lambda at: f"</script>{at}")):
        found.save(tmp_path / "net.html")
        again = opened(tmp_path / "net.html")
        assert str(again) == str(found) and json.loads(again.to_json()) == json.loads(found.to_json())
        for one, other in zip(found.stages, again.stages):
            room = max(each.abs().max().item() for each in one.heights.values()) / 50
            assert one.heights.keys() == other.heights.keys()
            assert all((one.heights[cut] - other.heights[cut]).abs().max() < room for cut in one.heights)
    assert math.inf in nets[2].asked["branch / stream"]
    beside(a=nets[0], b=tmp_path / "net.html").save(tmp_path / "both.html")
    with pytest.raises(ValueError, match=r"both.html is no page of one net; expected one that `save` wrote"):
        opened(tmp_path / "both.html")


def test_what_the_chapter_says_of_the_sentence_model():
    kept = opened(ROOT / "chapters" / "data" / "minilm.html")
    asked, heights = kept.asked, kept.stages[0].heights
    assert len(kept.places) == 12 and all(a > b for a, b in zip(asked["no skip"], asked["no branch"]))
    assert sum(ratio > 1 for ratio in asked["branch / stream"][1::2]) == 5  # the FFN's, mostly louder than their stream
    assert max(asked["branch / stream"][::2]) < 1
    middle = heights["none"].mean(1)
    assert all(middle[at] < min(middle[at - 1], middle[at + 1]) for at in (4, 6, 8, 10))
    moved = {kind: (heights[f"{kind} 8"] - heights["none"]).abs().mean(1) for kind in ("skip", "branch")}
    assert moved["skip"][:8].max() == 0 and (moved["skip"][8:] > 2 * moved["branch"][8:]).all()


def test_a_cost_is_how_far_the_output_moves_beside_its_size():
    torch.manual_seed(0)
    net = Stack([usual() for _ in range(3)])
    found = xray(net, X)
    x = net.blocks[0](X)
    for block in net.blocks[1:]:
        x = x + block(x)
    moved = ((x - net(X)).square().mean() / net(X).square().mean()).sqrt()
    assert found.asked["no skip"][0] == pytest.approx(moved.item(), rel=1e-5)
    assert found.whole == 0 and found.measure == "how far the output moves, beside its size"


def test_a_model_that_writes_is_asked_for_the_next_token_and_what_it_says():
    model = made("GPT2")
    found = xray(model, dict(input_ids=TOKENS), says=lambda at: f"<{at}>")
    out = model(TOKENS, labels=TOKENS)
    assert found.whole == pytest.approx(out.loss.item(), rel=1e-5)
    top = out.logits[0, -1].softmax(-1).topk(5)
    assert [words for words, _ in found.says["none"]] == [f"<{at}>" for at in top.indices.tolist()]
    assert [share for _, share in found.says["none"]] == pytest.approx(top.values.tolist(), rel=1e-5)
    assert found.says["skip 1"] != found.says["none"]
    assert found.stages[0].names == [f"<{at}>" for at in TOKENS[0].tolist()]


def test_heights_of_cuts_are_those_of_nets_cut_by_hand():
    torch.manual_seed(0)
    net = Stack([usual() for _ in range(3)])
    (stage,) = xray(net, X).stages

    def by_hand(cut):
        states, x = [X], X
        for at, block in enumerate(net.blocks, 1):
            f = block(x)
            x = f if cut == f"skip {at}" else x if cut == f"branch {at}" else x + f
            states.append(x)
        states = torch.stack(states)
        return (states / states.square().mean(-1, keepdim=True).sqrt()) @ stage.direction

    assert stage.direction.norm().item() == pytest.approx(1, rel=1e-5)
    for cut, heights in stage.heights.items():
        torch.testing.assert_close(heights, by_hand(cut), rtol=1e-4, atol=1e-5)
    assert len(stage.heights) == 7 and stage.heights["none"].shape == (4, 12)


def test_cuts_of_feature_vectors_share_passes():
    assert "12 cuts in 2 passes" in xrayed("usual").made[0]


def test_stages_of_a_resnet_are_drawn_one_by_one():
    first, second = xray(made("ResNet"), IMAGES).stages
    assert (first.first, tuple(first.shape), first.heights["none"].shape) == (0, (8, 8, 8), (2, 8))
    assert (second.first, tuple(second.shape), second.heights["none"].shape) == (1, (16, 4, 4), (3, 16))
    moved = second.heights["skip 1"] - second.heights["none"]
    assert moved.abs().max() > 0.1  # by a cut in the stage before


def test_it_says_in_thirty_lines_what_the_page_says_and_gives_every_number(tmp_path):
    for kind in NETS:
        found = xrayed(kind)
        lines = str(found).splitlines()
        assert len(lines) <= 30
        assert all(f"- {words}" in lines for _, words, _ in found.sentences)
    given = json.loads(found.to_json())
    assert given == found.to_dict() and len(given["additions"]) == 6
    assert given["additions"][2]["number"] == 3 and given["additions"][2]["line"].startswith("test_xray.py:")
    assert given["additions"][2]["no skip"] == found.asked["no skip"][2]
    found.save(tmp_path / "net.html")
    page = (tmp_path / "net.html").read_text("utf8")
    assert all(words.replace("'", "&#x27;") in page for _, words, _ in found.sentences)
    assert "Why?" not in page
    found.save(tmp_path / "net.html", book="https://book.example/chapters/")
    assert "https://book.example/chapters/" in (tmp_path / "net.html").read_text("utf8")


def test_nothing_remarkable_is_said():
    found = xrayed("usual")
    found.asked |= {"no skip": [0.0] * 6, "no branch": [-1e-3] * 6}
    assert rules.ORDINARY in str(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_needs_no_network_and_follows_presses(tmp_path, open_page, axe, width, theme):
    found = xray(made("ResNet"), IMAGES)
    found.save(tmp_path / "net.html")
    page, messages, _ = open_page("about:blank")
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "net.html").as_uri())
    page.wait_for_function("[...document.querySelectorAll('.plusx-explore')].every((each) => each.explorer)")
    assert asked == [(tmp_path / "net.html").as_uri()]
    titles = page.locator(".px-result")
    assert titles.all_text_contents() == ["Nothing is cut."] * 2
    page.get_by_role("button", name="Without the skip of addition 2").focus()
    page.keyboard.press("Enter")
    cost = rules.number(found.asked["no skip"][1])
    page.wait_for_function("document.querySelectorAll('.px-cut').length && location.hash.includes('skip')")
    assert titles.all_text_contents() == [f"Without skip 2 the output moves by {cost}. Its own size is 1."] * 2
    page.locator(".px-branch [data-set], .px-branch[data-set]").first.dispatch_event("click")
    page.wait_for_function(
        "[...document.querySelectorAll('.px-result')].every((each) => each.innerText.includes('Without branch 1'))"
    )
    assert page.locator("[data-cut][aria-pressed=true]").get_attribute("data-cut") == "2"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == [] and messages == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_one_press_cuts_both_nets_of_a_pair(tmp_path, open_page, axe, width, theme):
    usual, other = xrayed("usual"), xrayed("one")  # of 6 additions and 7
    both = beside(usual=usual, other=other)
    both.save(tmp_path / "both.html")
    page, messages, _ = open_page("about:blank")
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((tmp_path / "both.html").as_uri())
    page.wait_for_function("[...document.querySelectorAll('.plusx-explore')].every((each) => each.explorer)")
    assert page.locator("h2 + ul").first.locator("li").all_text_contents() == [words for _, words in both.sentences]
    pictures = [each.bounding_box() for each in page.locator(".plusx-explore").all()]
    assert (pictures[0]["y"] == pictures[1]["y"]) == (width == 1280)
    titles = page.locator(".px-result")
    page.locator(".px-branch [data-set], .px-branch[data-set]").first.dispatch_event("click")
    page.wait_for_function("document.querySelectorAll('[data-cut=\"2\"][aria-pressed=true]').length == 2")
    costs = [rules.number(each.asked["no branch"][0]) for each in (usual, other)]
    for title, cost in zip(titles.all_text_contents(), costs, strict=True):
        assert title.startswith(f"Without branch 1 the output moves by {cost}. Its own size is 1.")
    page.get_by_role("button", name="Without the skip of addition 7").press("Enter")  # which one of them lacks
    whole, cut = titles.all_text_contents()
    assert whole.startswith("Nothing is cut") and cut.startswith("Without skip 7")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe(page) == [] and messages == []


def test_an_address_sets_all_stages(tmp_path, open_page):
    xray(made("ResNet"), IMAGES).save(tmp_path / "net.html")
    page, _, _ = open_page(f"{(tmp_path / 'net.html').as_uri()}#net_0?cut=skip+2")
    page.wait_for_function(
        "[...document.querySelectorAll('.px-result')].every((each) => each.innerText.includes('Without skip 2'))"
    )


def shell(*words, folder):
    done = subprocess.run(
        [sys.executable, "-m", "plusx.xray", *words], capture_output=True, text=True, cwd=folder, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def test_from_a_shell_by_a_folder_of_transformers(tmp_path):
    words = Tokenizer(WordLevel({word: at for at, word in enumerate(["<unk>", *WORDS])}, "<unk>"))
    words.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(tmp_path / "writer")
    writer = made("GPT2").train()
    writer.save_pretrained(tmp_path / "writer")
    code, said, wrong = shell("writer", "--text", " ".join(WORDS), "-o", "net.html", folder=tmp_path)
    assert code == 0, wrong
    ids = torch.arange(1, len(WORDS) + 1)[None]
    found = xray(writer.eval(), dict(input_ids=ids), says=lambda at: words.decode([at]))
    again = opened(tmp_path / "net.html")
    assert again.stages[0].names == WORDS and again.says["none"][0][0] == found.says["none"][0][0]
    assert again.asked["no skip"] == pytest.approx(found.asked["no skip"], rel=1e-4)
    assert said.startswith("GPT2LMHeadModel, ") and "6 residual additions" in said and "it says '" in said
    assert {each.name for each in tmp_path.iterdir()} == {"writer", "net.html"}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_in_other_numbers_and_never_without_any(dtype):
    net, wide = NETS["usual"]().to(dtype), X.to(dtype)
    before = {name: each.clone() for name, each in net.state_dict().items()}
    found = xray(net, wide)
    costs = found.asked["no skip"]
    assert len(costs) == 6 and all(map(math.isfinite, costs)) and min(costs) > 0.3
    assert str(dtype) in found.made[-1]
    assert all(torch.equal(each, before[name]) for name, each in net.state_dict().items())
    with pytest.raises(ValueError, match="xray: the model is on the device meta, where numbers are not"):
        xray(net.to("meta"), wide.to("meta"))


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The same program in this process, where torch is loaded: what a shell would be told, without waiting for that."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def here(*words):
        try:
            main(words)
        except SystemExit as end:  # with words, which the interpreter says as it ends with 1
            return 1, capsys.readouterr().out, end.code
        return 0, capsys.readouterr().out, ""

    return here


def test_from_a_shell_by_a_function(tmp_path, here):
    (tmp_path / "mine.py").write_text(
        "import torch\nclass B(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.f = torch.nn.Linear(4, 4)\n    def forward(self, x):\n        return x + self.f(x)\n"
        "def net():\n    return torch.nn.Sequential(B(), B()), torch.randn(5, 4)\n"
    )
    code, said, wrong = shell("--call", "mine:net", "-o", "mine.html", folder=tmp_path)
    assert code == 0, wrong
    assert "2 residual additions" in said and (tmp_path / "mine.html").read_text("utf8").startswith("<!doctype html>")
    code, said, wrong = shell("mine.html", "mine.html", "-o", "both.html", folder=tmp_path)
    assert code == 1 and "nothing was written. beside: came 1 nets; give two with their names" in wrong
    (tmp_path / "later.html").write_bytes((tmp_path / "mine.html").read_bytes())
    code, said, wrong = here("mine.html", "later.html", "-o", "both.html")
    assert code == 0 and "the two do not differ" in said, wrong
    assert "mine beside later" in (tmp_path / "both.html").read_text("utf8")
    code, _, wrong = here("mine.html", "both.html", "-o", "none.html")
    assert code == 1 and "both.html is no page of one net" in wrong
    code, _, wrong = here("--call", "mine:none", "-o", "none.html")
    assert code == 1 and "nothing was written" in wrong and "Traceback" not in wrong
    code, _, wrong = here("nowhere/at/all", "-o", "none.html")
    assert code == 1 and "nothing was written" in wrong and "Traceback" not in wrong
    code, _, wrong = here("--call", "mine:net", "-o", "no/such/net.html")
    assert code == 1 and "there is no folder no to write net.html into" in wrong.replace("no/such", "no")
    assert {each.name for each in tmp_path.iterdir()} <= {
        "mine.py", "mine.html", "later.html", "both.html", "__pycache__"
    }  # fmt: skip
