"""Page: an X-ray as an explorer, and as one file with all that it needs.

Here lives how it looks; how an explorer is drawn and moves lives in `plusx.explore`.
"""

import html
import itertools
import math
from pathlib import Path

from .. import explore
from ..explore.controls import bind
from ..explore.static import fragment
from ..show import threads
from . import rules

ROOM = explore.Budget(kilobytes=2000, seconds=300)
TALL = 340
CUT = "no skip", "no branch"
SHOWN = ("size", "branch / stream", "left of x", "gradient", "alike", *CUT)
LOOKS = """:root { color-scheme: light dark; --line: light-dark(#d9dde2, #343b45);
  --bar: light-dark(#1b569338, #5399be40); --cut: light-dark(#bb4e09, #f68f3f) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 0 auto; padding: 1rem;
  color: light-dark(#22262e, #e6e8eb); background: light-dark(#fff, #181c22) }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.15rem; margin-top: 2rem }
body:has(.nets-2) { max-width: 1240px } .nets-2 > .nets { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2rem }
.nets-2 section { display: grid; grid-template-rows: subgrid; grid-row: span 5; min-width: 0 }
a { color: light-dark(#0a6aa8, #6cb8ea) } .wide { overflow-x: auto }
.px-diagram:has(> :nth-child(33)) :is(.px-plus, .px-cross),
.px-diagram:has(> :nth-child(33)) > :not(:nth-child(10n)) text { display: none }
#profile { border-collapse: collapse; width: 100%; font-size: 0.85rem; font-variant-numeric: tabular-nums }
#profile :is(td, th) { padding: 0.1rem 0.4rem; text-align: right; border-bottom: 1px solid var(--line) }
#profile th:first-child { text-align: left; min-width: 5rem; max-width: 18rem; overflow-wrap: anywhere }
#profile th[scope=row] { font-weight: normal }
#profile td { background: linear-gradient(var(--bar), var(--bar)) no-repeat 0 0 / var(--w, 0) 100% }
button { font: inherit; color: inherit; background: none; border: 1px solid #767d88; border-radius: 4px;
  padding: 0 0.4rem; min-width: 4.2rem; min-height: 24px; cursor: pointer }
button[aria-pressed=true] { background: var(--cut); border-color: var(--cut); color: light-dark(#fff, #10151b) }
@media (max-width: 800px) { .nets-2 > .nets { grid-template-columns: minmax(0, 1fr) } }
@media (max-width: 600px) { body { padding: 0.5rem }
  #profile :is(td:not(.cut), th[scope=col]:not(.cut, :first-child)) { display: none } }
@media print { button { border: 0 } #copy { display: none } }"""
MOVES = """const nets = [...document.querySelectorAll(".plusx-explore")];
const buttons = [...document.querySelectorAll("[data-cut]")];
const follow = (at, from) => {
  for (const net of nets) {
    const own = at < net.explorer?.controls[0].labels.length ? at : 0; // of two nets one may have fewer
    if (net !== from && net.explorer && net.explorer.state()[0] !== own) net.explorer.choose("cut", own);
  }
  for (const each of buttons) each.ariaPressed = String(Number(each.dataset.cut) === at);
};
for (const each of buttons)
  each.onclick = () => follow(each.ariaPressed === "true" ? 0 : Number(each.dataset.cut));
for (const net of nets) for (const sign of ["input", "click", "keyup"])
  net.addEventListener(sign, () => setTimeout(() => net.explorer && follow(net.explorer.state()[0], net)));
const begun = setInterval(() => { // an address may have set one
  if (nets.some((net) => net.explorer === undefined)) return;
  clearInterval(begun);
  follow(Math.max(...nets.map((net) => net.explorer?.state()[0] ?? 0)));
}, 50);
document.getElementById("copy").onclick = () => {
  const rows = [...document.querySelectorAll("#profile tr")].map((row) => [...row.cells].map((cell) => cell.innerText));
  navigator.clipboard?.writeText(rows.map((row) => row.join("\\t")).join("\\n")).catch(() => {});
  getSelection().selectAllChildren(document.getElementById("profile"));
};"""


def functions(x, name):
    """One for each stage: a cut -> the figure of its threads."""
    names = [name, *(f"{name}_stage_{at}" for at in range(2, 1 + len(x.stages)))]
    return [_asking(lambda cut="none", each=each: _figure(x, each, cut), own) for each, own in zip(x.stages, names)]


def _asking(function, name):
    function.__name__, function.__doc__ = name, "What does the net lose if a skip or a branch is cut?"
    return function


def _figure(x, stage, cut):
    last = stage.first + len(stage.heights["none"]) - 1
    start = f"into addition {stage.first + 1}" if stage.first else "start"
    has_room = stage.what == "token" and len(stage.names) <= 20 and max(map(len, stage.names)) <= 9
    step = (stage.span[1] - stage.span[0]) / (TALL // 2)  # two pixels
    figure = threads(
        (stage.heights[cut] / step).round() * step, title(x, cut), stage.span, stage.names, size=TALL,
        ends=(start, f"after addition {last}"), named=has_room, skip=("cut", cut), branch=("cut", cut),
    )  # fmt: skip
    return figure | dict(first=stage.first)


def title(x, cut):
    """A state in a sentence: what the cut costs, and what the net says then."""
    says = f" It says {', '.join(f'{words!r} {share:.0%}' for words, share in x.says[cut])}." if x.says[cut] else ""
    moves = x.measure == rules.MOVED
    if cut == "none":
        told = "" if moves else f" {x.measure[0].upper()}{x.measure[1:]}: {rules.number(x.whole)}."
        return f"Nothing is cut.{told}{says}"
    kind, at = cut.split()
    cost = x.asked[f"no {kind}"][int(at) - 1]
    if abs(cost) < rules.least(x):
        did = "nothing changes"
    elif moves:
        did = f"the output moves by {rules.number(cost)}. Its own size is 1"
    else:
        did = f"{rules.number(abs(cost))} {'more' if cost > 0 else 'less'}: {x.measure}"
    return f"Without {cut} {did}.{says}"


def show_both(nets, name):
    """One explorer, with a control for the net."""
    one = {net: functions(x, name)[0] for net, x in nets.items()}
    both = _asking(lambda net, cut="none": one[net](cut), name)
    explore.explore(ROOM, net=list(nets), cut=list(next(iter(nets.values())).says))(both)


def save(file, text):
    """Write a page, whole or not at all. ValueError: its folder is not there."""
    file = Path(file)
    if not file.parent.is_dir():
        raise ValueError(f"xray: there is no folder {file.parent} to write {file.name} into; make it first.")
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, "utf8")
    part.replace(file)


def written(nets, book=None, differs=()):
    """The HTML of one net, nets = {"": X-ray}, or of two by their names. differs: sentences of both."""
    folder = Path(explore.__file__).parent
    looks = "".join((folder / name).read_text("utf8") for name in ("explore.css", "diagram.css"))
    script = (folder / "built" / "explore.js").read_text("utf8")
    if alone := nets.get(""):
        name, kept = f"{alone.net}: {len(alone.places)} residual additions", alone.to_json().replace("</", "<\\/")
        first = f"<h2>What is remarkable</h2>{_remarkable(alone, book)}"
    else:
        name, kept, first = " beside ".join(nets), "", f"<h2>What differs</h2>{_listed(differs)}"
    parts = ""
    for at, (each, x) in enumerate(nets.items()):
        asked = html.escape(f"Asked with {x.inputs}. A cut's cost is a difference of: {x.measure}.")
        part = f"<p>{asked}</p><div>{_pictures(x, f'net_{at}')}</div>"
        if not alone:
            head = f"<h3>{html.escape(each)}</h3><p>{html.escape(x.net)}, {len(x.places)} residual additions.</p>"
            said = f"<details><summary>What is remarkable here</summary>{_remarkable(x, book)}</details>"
            part = head + part + said
        parts += f"<section>{part}</section>"
    made = _listed(f"{each}: {how}" if each else how for each, x in nets.items() for how in x.made)
    what = " and ".join(dict.fromkeys(stage.what for x in nets.values() for stage in x.stages))
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(name)}: X-ray</title>
<style>{looks}
{LOOKS}</style></head><body data-theme="auto"><main class="nets-{len(nets)}">
<h1>{html.escape(name)}</h1>
{first}
<h2>Threads through the net</h2>
<p>A thread is a {what}. Cut a skip (the line below them) or a branch (a box there), or press a cost in the profile.</p>
<div class="nets">{parts}</div>
<h2>The profile</h2><p><button type="button" id="copy">Copy</button></p><div class="wide">{_profile(nets)}</div>
<h2>How it was made</h2>{made}</main>
<script type="application/json" id="xray">{kept}</script><script>{script}</script><script>{MOVES}</script></body></html>
"""


def _listed(sentences):
    return f"<ul>{''.join(f'<li>{html.escape(each)}</li>' for each in sentences)}</ul>"


def _remarkable(x, book):
    """What is said of a net, with links to chapters where the book's address is known."""
    said = ""
    for _, words, chapter in x.sentences:
        link = f' <a href="{html.escape(book.rstrip("/"))}/{chapter}.html">Why?</a>' if book else ""
        said += f"<li>{html.escape(words)}{link}</li>"
    return f"<ul>{said}</ul>" if said else f"<p>{rules.ORDINARY}</p>"


def _pictures(x, name):
    """An explorer for each stage."""
    drawn = [explore.Explorer(each, bind(each, {"cut": list(x.says)}), ROOM) for each in functions(x, name)]
    heads = [f"<p><b>From addition {each.first + 1} on, states {tuple(each.shape)}</b></p>" for each in x.stages]
    return "".join(head * (len(heads) > 1) + fragment(each) for head, each in zip(heads, drawn))


def _profile(nets):
    """A table with a row for each addition, and a column for each number and net."""
    columns, head, count = [], '<th scope="col">addition</th>', max(len(x.places) for x in nets.values())
    for name in SHOWN:
        logs = [math.log10(abs(n)) for x in nets.values() for n in x.asked[name] if math.isfinite(n) and n]
        for net, x in nets.items():
            if rules.known(x.asked[name]):
                values = x.asked[name] + [math.nan] * (count - len(x.places))
                columns.append((name, net, values, min(logs, default=0), max(logs, default=1)))
                heading = html.escape(f"{name}, {net}" if net else name)
                head += f'<th scope="col"{" class=cut" * (name in CUT)}>{heading}</th>'
    rows = ""
    for at, places in enumerate(itertools.zip_longest(*(x.places for x in nets.values()))):
        modules = " / ".join(dict.fromkeys(place.module or "(the model)" for place in places if place))
        lines = html.escape(" ".join(dict.fromkeys(place.line for place in places if place)))
        cells = "".join(_cell(at, *column) for column in columns)
        rows += f'<tr><th scope="row" title="{lines}">{at + 1} {html.escape(modules)}</th>{cells}</tr>'
    return f'<table id="profile"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _cell(at, name, net, values, low, high):
    value = values[at]
    share = (math.log10(abs(value)) - low) / max(high - low, 1e-9) if math.isfinite(value) and value else 0
    words = "–" if math.isnan(value) else rules.number(value)
    if name in CUT and not math.isnan(value):
        label = f"Without the {name[3:]} of addition {at + 1}: {words}{net and f' in {net}'}"
        words = (
            f'<button type="button" data-cut="{1 + 2 * at + CUT.index(name)}" aria-pressed="false" '
            f'aria-label="{html.escape(label)}">{words}</button>'
        )
    return f'<td{" class=cut" * (name in CUT)} style="--w:{100 * share:.0f}%">{words}</td>'
