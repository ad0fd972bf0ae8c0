"""Page: an X-ray as an explorer, and as one file with all that it needs.

Here lives how it looks; how an explorer is drawn and moves lives in `plusx.explore`.
"""

import html
import math
import tempfile
from pathlib import Path

from .. import explore
from ..explore.controls import bind
from ..explore.static import fragment
from ..show import threads
from . import rules

ROOM = explore.Budget(kilobytes=2000, seconds=300)
TALL = 340
SHOWN = ("size", "branch / stream", "left of x", "gradient", "alike", "no skip", "no branch")
LOOKS = """body { font: 16px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 0 auto; padding: 1rem;
  color: #22262e; background: #fff }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin-top: 2rem }
a { color: #0a6aa8 } .wide { overflow-x: auto }
.px-diagram:has(> :nth-child(33)) :is(.px-plus, .px-cross),
.px-diagram:has(> :nth-child(33)) > :not(:nth-child(10n)) text { display: none }
#profile { border-collapse: collapse; width: 100%; font-size: 0.85rem; font-variant-numeric: tabular-nums }
#profile :is(td, th) { padding: 0.1rem 0.4rem; text-align: right; border-bottom: 1px solid #d9dde2 }
#profile th[scope=row] { text-align: left; font-weight: normal; max-width: 18rem; overflow-wrap: anywhere }
#profile td { background: linear-gradient(#1b569338, #1b569338) no-repeat 0 0 / var(--w, 0) 100% }
button { font: inherit; color: inherit; background: none; border: 1px solid #767d88; border-radius: 4px;
  padding: 0 0.4rem; min-width: 4.2rem; min-height: 24px; cursor: pointer }
button[aria-pressed=true] { background: #bb4e09; border-color: #bb4e09; color: #fff }
@media (max-width: 600px) { body { padding: 0.5rem }
  #profile :is(td, th):not(:first-child, :nth-last-child(-n + 2)) { display: none } }
@media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #181c22 } a { color: #6cb8ea }
  #profile :is(td, th) { border-color: #343b45 }
  #profile td { background-image: linear-gradient(#5399be40, #5399be40) }
  button[aria-pressed=true] { background: #f68f3f; border-color: #f68f3f; color: #10151b } }
@media print { button { border: 0 } #copy { display: none } }"""
MOVES = """const nets = [...document.querySelectorAll(".plusx-explore")];
const buttons = [...document.querySelectorAll("[data-cut]")];
const follow = (at, from) => {
  for (const net of nets) if (net !== from && net.explorer?.state()[0] !== at) net.explorer?.choose("cut", at);
  for (const each of buttons) each.ariaPressed = String(Number(each.dataset.cut) === at);
};
for (const each of buttons)
  each.onclick = () => follow(each.ariaPressed === "true" ? 0 : Number(each.dataset.cut));
for (const net of nets) for (const sign of ["input", "click", "keyup"])
  net.addEventListener(sign, () => setTimeout(() => net.explorer && follow(net.explorer.state()[0], net)));
document.getElementById("copy").onclick = () => {
  const rows = [...document.querySelectorAll("#profile tr")].map((row) => [...row.cells].map((cell) => cell.innerText));
  navigator.clipboard?.writeText(rows.map((row) => row.join("\\t")).join("\\n"));
  getSelection().selectAllChildren(document.getElementById("profile"));
};"""


def cuts(x):
    """What the control offers: none, then each addition's skip and branch."""
    return [rules.name_of(cut) for cut in x.says]


def functions(x, name="your_net"):
    """One for each stage: a cut -> the figure of its threads."""
    by_name = {rules.name_of(cut): cut for cut in x.says}
    return [_function(x, stage, f"{name}{f'_stage_{at + 1}' * (at > 0)}", by_name) for at, stage in enumerate(x.stages)]


def _function(x, stage, name, by_name):
    lows, highs = zip(*(map(float, each.aminmax()) for each in stage.heights.values()))
    low, high = min(lows), max(highs)
    room = max(0.05 * (high - low), 1e-6)

    def chosen(cut="none"):
        return _figure(x, stage, by_name, (low - room, high + room), cut)

    chosen.__name__, chosen.__doc__ = name, "What does the net lose if a skip or a branch is cut?"
    return chosen


def _figure(x, stage, by_name, span, cut):
    count = len(stage.heights[None]) - 1
    last = stage.first + count
    start = "start" if not stage.first else f"into addition {stage.first + 1}"
    step = (span[1] - span[0]) / (TALL // 2)  # two pixels
    figure = threads(
        (stage.heights[by_name[cut]] / step).round() * step, title(x, by_name[cut]), span, stage.names, size=TALL,
        ends=(start, f"after addition {last}"), skip=("cut", cut), branch=("cut", cut),
    )  # fmt: skip
    return figure | dict(first=stage.first)


def title(x, cut):
    """A state in a sentence: what the cut costs, and what the net says then."""
    says = f" It says {', '.join(f'{words!r} {share:.0%}' for words, share in x.says[cut])}." if x.says[cut] else ""
    if cut is None:
        return f"The whole net. {x.measure[0].upper()}{x.measure[1:]}: {rules.number(x.whole)}.{says}"
    at, kind = cut
    cost = x.asked[f"no {kind}"][at]
    worse = (
        "nothing changes"
        if abs(cost) < rules.least(x)
        else f"{rules.number(abs(cost))} {'more' if cost > 0 else 'less'}"
    )
    return f"Without the {kind} of addition {at + 1}, {worse}.{says}"


def show(x, name):
    """An explorer for each stage."""
    for function in functions(x, name):
        explore.explore(ROOM, cut=cuts(x))(function)


def save(x, file, book=None):
    """Write the page, whole or not at all. ValueError: its folder is not there."""
    file = Path(file)
    if not file.parent.is_dir():
        raise ValueError(f"xray: there is no folder {file.parent} to write {file.name} into; make it first.")
    text = written(x, book)
    with tempfile.NamedTemporaryFile("w", encoding="utf8", dir=file.parent, suffix=".part", delete=False) as part:
        part.write(text)
    Path(part.name).replace(file)


def written(x, book=None):
    """The page's HTML."""
    folder = Path(explore.__file__).parent
    looks = "".join((folder / name).read_text("utf8") for name in ("explore.css", "diagram.css"))
    script = (folder / "built" / "explore.js").read_text("utf8")
    drawn = [explore.Explorer(each, bind(each, {"cut": cuts(x)}), ROOM) for each in functions(x)]
    heads = [f"<h3>From addition {each.first + 1} on, states {tuple(each.shape)}</h3>" for each in x.stages]
    pictures = "".join(head * (len(heads) > 1) + fragment(each) for head, each in zip(heads, drawn))
    said = "".join(f"<li>{html.escape(words)}{_link(book, chapter)}</li>" for _, words, chapter in x.sentences)
    found = f"<ul>{said}</ul>" if said else f"<p>{rules.ORDINARY}</p>"
    made = "".join(f"<li>{html.escape(each)}</li>" for each in x.how)
    name = html.escape(x.net)
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}: X-ray</title>
<style>{looks}
{LOOKS}</style></head><body data-theme="auto"><main>
<h1>{name}: {len(x.places)} residual additions</h1>
<p>Asked with {html.escape(x.inputs)}. A cut's cost is a difference of: {html.escape(x.measure)}.</p>
<h2>What is remarkable</h2>{found}
<h2>Threads through the net</h2>
<p>Cut a skip, or a branch (a box), on the wire or in the profile.</p>
{pictures}
<h2>The profile</h2><p><button type="button" id="copy">Copy</button></p><div class="wide">{_profile(x)}</div>
<h2>How it was made</h2><ul>{made}</ul></main>
<script>{script}</script><script>{MOVES}</script></body></html>
"""


def _link(book, chapter):
    return f' <a href="{html.escape(book.rstrip("/"))}/{chapter}.html">Why?</a>' if book else ""


def _profile(x):
    names = [name for name in SHOWN if any(not math.isnan(each) for each in x.asked[name])]
    ends = {}
    for name in names:
        logs = [math.log10(abs(each)) for each in x.asked[name] if math.isfinite(each) and each]
        ends[name] = min(logs, default=0), max(logs, default=1)
    head = "".join(f'<th scope="col">{name}</th>' for name in ["addition", *names])
    rows = []
    for at, place in enumerate(x.places):
        module = f"{at + 1} {place.module or '(the model)'}"
        cells = "".join(_cell(x.asked[name][at], name, at, ends[name]) for name in names)
        rows.append(f'<tr><th scope="row" title="{html.escape(place.line)}">{html.escape(module)}</th>{cells}</tr>')
    return f'<table id="profile"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(value, name, at, ends):
    low, high = ends
    share = (math.log10(abs(value)) - low) / max(high - low, 1e-9) if math.isfinite(value) and value else 0
    words = "–" if math.isnan(value) else rules.number(value)
    if name in ("no skip", "no branch"):
        cut = 1 + 2 * at + (name == "no branch")
        words = (
            f'<button type="button" data-cut="{cut}" aria-pressed="false" '
            f'aria-label="Without the {name[3:]} of addition {at + 1}: {words}">{words}</button>'
        )
    return f'<td style="--w:{100 * share:.0f}%">{words}</td>'
