"""What a press costs, beside what people would write by hand, in one run: part of `make bench`.

The same 600 states as a static page of ours, of plotly.js by hand and of Bokeh by hand; then the book's own dearest ten
explorers. BEFORE=REVISION measures the script of an older revision as well. Nothing here asserts.
"""

import base64
import itertools
import json
import os
import shutil
import statistics
import subprocess
import urllib.parse
from pathlib import Path

import bokeh
import numpy as np
import pytest
from browser import EXPLORING, ROOT, serve
from test_site import ready, take_over
from test_view import PLOTLY

from plusx.explore.controls import bind
from plusx.explore.states import DEFAULT, Explorer
from plusx.explore.static import fragment
from plusx.sphinx.extension import ASSETS, EXPLORE

BASIC = ROOT / "node_modules" / "plotly.js-basic-dist-min" / "plotly-basic.min.js"
BOKEH = Path(bokeh.__file__).parent / "server" / "static" / "js"
POINTS, UNITS = 50, 12
DEPTHS, KINDS, GAINS = [4, 8, 16, 24, 50], ["relu", "tanh", "identity"], [round(0.1 * k, 1) for k in range(1, 21)]


def values(depth, kind, skip, gain):
    """Twelve numbers of a residual stack along 50 points."""
    draw = np.random.default_rng(0)
    act = {"relu": lambda v: np.maximum(v, 0), "tanh": np.tanh, "identity": lambda v: v}[kind]
    layers = np.linspace(0, depth, POINTS)
    x = draw.standard_normal(UNITS)
    rows = [x]
    for _ in range(depth):
        x = gain * act(draw.standard_normal((UNITS, UNITS)) @ x) / UNITS**0.5 + (x if skip else 0)
        x = x / max(1, np.abs(x).max() / 40)
        rows.append(x)
    return np.array([np.interp(layers, range(depth + 1), unit) for unit in np.array(rows).T])


def title(depth, kind, skip, gain):
    size = np.linalg.norm(values(depth, kind, skip, gain)[:, -1])
    return f"{depth} layers of {kind}, gain {gain}, skips {'on' if skip else 'off'}: size {size:.3g}"


STATES = list(itertools.product(DEPTHS, KINDS, [False, True], GAINS))


def ours(fixed, script):
    def stack(depth, kind, skip, gain):
        state = depth, kind, skip, gain
        axes = dict(xaxis=dict(title="place"), yaxis=dict(title="value"))
        if fixed:
            axes["xaxis"] |= dict(range=[0, POINTS - 1])
            axes["yaxis"] |= dict(range=[-42, 42])
        data = [dict(x=np.arange(POINTS), y=row, mode="lines") for row in values(*state)]
        return dict(data=data, layout=dict(title=title(*state), **axes))

    controls = dict(depth=DEPTHS, kind=KINDS, skip=[False, True], gain=(GAINS[0], GAINS[-1], 0.1))
    budget = DEFAULT._replace(kilobytes=2000)
    body = fragment(Explorer(stack, bind(stack, controls), budget))
    return (
        f'<link rel="stylesheet" href="{script}.css">'
        f'<script defer src="{script}.js" data-plotly="plotly.min.js"></script>'
        f"<body><h1>Ours</h1>{body}"
    )


def packed(states):
    return base64.b64encode(np.array([values(*state) for state in states], "<f4").tobytes()).decode()


BY_HAND = """<body><h1>By hand</h1><p id="title"></p><div id="plot" style="height:400px"></div>
<select id="depth">%(depths)s</select><select id="kind">%(kinds)s</select><input type="checkbox" id="skip">
<input type="range" id="gain" min="0" max="%(last)d" value="9">
<script>
const sizes = [%(sizes)s], titles = %(titles)s, points = %(points)d, units = %(units)d;
const values = new Float32Array(Uint8Array.from(atob("%(data)s"), (letter) => letter.charCodeAt(0)).buffer);
const x = Array.from({ length: points }, (_, i) => i), one = (id) => document.getElementById(id);
const chosen = (id) => one(id).selectedIndex;
const state = () => [chosen("depth"), chosen("kind"), Number(one("skip").checked), Number(one("gain").value)];
const at = () => state().reduce((sum, index, i) => sum * sizes[i] + index, 0);
const row = (i) => values.subarray((at() * units + i) * points, (at() * units + i + 1) * points);
</script>%(rest)s"""
WITH_PLOTLY = """<script src="plotly-basic.min.js"></script><script>
const range = (ends) => (%(fixed)s ? { range: ends } : {});
const draw = () => {
  one("title").textContent = titles[at()];
  const data = Array.from({ length: units }, (_, i) => ({ x, y: row(i), mode: "lines" }));
  const layout = { showlegend: false, margin: { l: 66, r: 16, t: 12, b: 48 },
    xaxis: { title: { text: "place" }, ...range([0, points - 1]) },
    yaxis: { title: { text: "value" }, ...range([-42, 42]) } };
  Plotly.react("plot", data, layout, { displayModeBar: false, responsive: true });
};
for (const id of ["depth", "kind", "skip", "gain"]) one(id).addEventListener("input", draw);
draw();
</script>"""
WITH_BOKEH = """<script src="bokeh.min.js"></script><script src="bokeh-api.min.js"></script><script>
const range = (start, end) => (%(fixed)s ? new Bokeh.Range1d({ start, end }) : new Bokeh.DataRange1d());
const columns = () => ({ x, ...Object.fromEntries(Array.from({ length: units }, (_, i) => [`y${i}`, row(i)])) });
const source = new Bokeh.ColumnDataSource({ data: columns() });
const doc = new Bokeh.Document();
const plot = new Bokeh.Plot({ height: 400, sizing_mode: "stretch_width",
  x_range: range(0, points - 1), y_range: range(-42, 42),
  x_scale: new Bokeh.LinearScale(), y_scale: new Bokeh.LinearScale() });
plot.add_layout(new Bokeh.LinearAxis({ axis_label: "place" }), "below");
plot.add_layout(new Bokeh.LinearAxis({ axis_label: "value" }), "left");
for (let i = 0; i < units; i++) plot.add_glyph(new Bokeh.Line({ x: { field: "x" }, y: { field: `y${i}` } }), source);
doc.add_root(plot);
Bokeh.embed.add_document_standalone(doc, one("plot"));
const draw = () => { one("title").textContent = titles[at()]; source.data = columns(); };
for (const id of ["depth", "kind", "skip", "gain"]) one(id).addEventListener("input", draw);
one("title").textContent = titles[at()];
</script>"""


def by_hand(fixed, rest):
    def options(each):
        return "".join(f"<option>{value}</option>" for value in each)

    return BY_HAND % dict(
        depths=options(DEPTHS),
        kinds=options(KINDS),
        last=len(GAINS) - 1,
        sizes=f"{len(DEPTHS)}, {len(KINDS)}, 2, {len(GAINS)}",
        titles=json.dumps([title(*state) for state in STATES]),
        points=POINTS,
        units=UNITS,
        data=packed(STATES),
        rest=rest % dict(fixed=str(fixed).lower()),
    )


# A picture is another where a path of its lines is, or where a canvas was drawn on.
WATCH = """(() => {
  window.changes = [];
  const { stroke } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.stroke = function (...all) {
    changes.push(performance.now());
    return stroke.apply(this, all);
  };
  addEventListener('DOMContentLoaded', () => new MutationObserver((all) => {
    changes.push(performance.now());
  }).observe(document, { subtree: true, childList: true, attributeFilter: ['d'] }));
})()"""
PRESS = """async ([input, step]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); }));
  await new Promise((done) => setTimeout(done, 40 + 17 * Math.random()));
  changes.length = 0;
  const begun = performance.now();
  if (input.type === 'checkbox' || input.type === 'radio') input.click();
  else {
    const most = Number(input.max || input.options?.length - 1) + 1;
    input.value = (Number(input.value ?? 0) + step) % most;
    if (input.options) input.selectedIndex = (input.selectedIndex + step) % most;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }
  await null; // what watches is told
  while (!changes.length && performance.now() - begun < 1000) await frame();
  await frame();
  const paint = performance.now() - begun;
  let last = begun;
  do { last = performance.now(); await new Promise((done) => setTimeout(done, 300)); }
  while (changes.length && changes.at(-1) > last);
  return paint;
}"""


class Presses:
    """Presses in a page, and what they cost in milliseconds."""

    def __init__(self, page):
        self.page, self.paint, self.cpu = page, [], []
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable")

    def busy(self):
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    def press(self, control, step):
        begun = self.busy()
        paint = self.page.evaluate(PRESS, [control, step])
        self.cpu.append(self.busy() - begun)
        self.paint.append(paint)

    def say(self, name, width=28):
        paint, cpu = statistics.median(self.paint[2:]), statistics.median(self.cpu[2:])
        print(f"  {name:{width}} cpu {cpu:6.1f} ms   paint {paint:6.1f} ms")
        return cpu, paint


@pytest.fixture
def ways(tmp_path):
    """A folder of pages, each a way."""
    for name in ASSETS:
        shutil.copy(EXPLORE / name, tmp_path)
    for path in (PLOTLY, BASIC, BOKEH / "bokeh.min.js", BOKEH / "bokeh-api.min.js"):
        shutil.copy(path, tmp_path)
    pages = {}
    for fixed in (False, True):
        axes = "fixed" if fixed else "free"
        pages[f"ours, axes {axes}"] = ours(fixed, "explore")
        if before := os.environ.get("BEFORE"):
            for name in ("built/explore.js", "explore.css"):
                show = ["git", "show", f"{before}:src/plusx/explore/{name}"]
                then = subprocess.run(show, cwd=ROOT, capture_output=True, check=True).stdout
                (tmp_path / f"before{Path(name).suffix}").write_bytes(then)
            pages[f"before, axes {axes}"] = ours(fixed, "before")
        pages[f"plotly.js by hand, axes {axes}"] = by_hand(fixed, WITH_PLOTLY)
        pages[f"Bokeh by hand, axes {axes}"] = by_hand(fixed, WITH_BOKEH)
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(f'<!doctype html><meta charset="utf-8"><title>A page</title>{text}')
    return tmp_path, list(pages)


# When the first lines of a picture are painted, whoever draws them.
FIRST = """(() => {
  const { stroke } = CanvasRenderingContext2D.prototype;
  let drawn = false;
  CanvasRenderingContext2D.prototype.stroke = function (...all) {
    drawn = true;
    return stroke.apply(this, all);
  };
  const look = () => {
    if (!drawn && !document.querySelector('.px-still path[clip-path], .scatterlayer .js-line')) {
      requestAnimationFrame(look);
      return;
    }
    const painted = new MessageChannel();
    painted.port1.onmessage = () => { window.first = performance.now(); };
    painted.port2.postMessage(0);
  };
  requestAnimationFrame(look);
})()"""


def test_the_first_picture_beside_what_people_write_by_hand(ways, open_page):
    folder, names = ways
    times = {name: [] for name in names}
    with serve(folder) as url:
        for _ in range(7):
            for name in names:
                page, _, _ = open_page("about:blank", solid=False)  # with a cache of its own
                page.add_init_script(FIRST)
                page.goto(f"{url}/{urllib.parse.quote(name)}.html")
                times[name].append(page.wait_for_function("window.first").json_value())
                page.context.close()
    print()
    first = {name: statistics.median(each[1:]) for name, each in times.items()}
    for name, each in first.items():
        print(f"  {name:28} first picture {each:6.0f} ms   {(folder / f'{name}.html').stat().st_size / 1000:6.0f} kB")
    for axes in ("free", "fixed"):
        print(
            f"  axes {axes}, of by hand: {first[f'ours, axes {axes}'] / first[f'plotly.js by hand, axes {axes}']:.2f}"
        )


def test_a_press_beside_what_people_write_by_hand(ways, open_page):
    folder, names = ways
    with serve(folder) as url:
        open_pages = {}
        for name in names:
            page, _, errors = open_page(f"{url}/{urllib.parse.quote(name)}.html", solid=False)
            page.add_init_script(WATCH)
            page.reload()
            page.wait_for_selector("fieldset:not([disabled]), .scatterlayer path, .bk-Figure, .bk-Plot")
            page.mouse.move(3, 3, steps=3)
            page.wait_for_function("!document.querySelector('.plusx-explore:not(.px-live)')")
            page.wait_for_timeout(500)
            assert errors == []
            open_pages[name] = Presses(page)
        for turn in range(14):
            for presses in open_pages.values():
                presses.press(presses.page.locator("[type=range]").last.element_handle(), 4 + 3 * turn % 9)
    print()
    costs = {name: presses.say(name) for name, presses in open_pages.items()}
    for axes in ("free", "fixed"):
        cpu, paint = costs[f"ours, axes {axes}"]
        for other in ("before", "plotly.js by hand"):
            if old := costs.get(f"{other}, axes {axes}"):
                print(f"  axes {axes}, of {other}: cpu {cpu / old[0]:.2f}, paint {paint / old[1]:.2f}")


# The same states by hand: a slider of its own, over the control with most values, whose figures plotly draws anew.
HAND = """([root, at]) => {
  const { explorer } = root;
  const plot = document.createElement('div'), input = document.createElement('input');
  plot.style = 'position: fixed; inset: 0 auto auto 0; width: 720px; height: 400px; background: #fff; z-index: 9999';
  const max = explorer.controls[at].labels.length - 1;
  Object.assign(input, { type: 'range', min: 0, max, value: explorer.state()[at] });
  document.body.append(plot);
  input.addEventListener('input', () => {
    const state = explorer.state();
    state[at] = Number(input.value);
    const { data, layout } = explorer.source.figure(state);
    Plotly.react(plot, data, layout, { displayModeBar: false });
  });
  return input;
}"""


def other_value(root, at):
    """What is to be pressed to change a control, a radio's next one."""
    return root.locator(f"[data-control='{at}']:not([type=radio]:checked)").first.element_handle()


def test_a_press_of_the_books_dearest_ten(site_url, open_page):
    """Ours also draws the state before, the words, the link and the diagram; by hand only the figure."""
    found = {}
    for chapter in EXPLORING:
        page, _, _ = open_page("about:blank", solid=False)
        page.add_init_script(WATCH)
        page.goto(f"{site_url}/{chapter}")
        ready(page)
        take_over(page)
        for root in page.locator(".plusx-explore:not([data-drawn], [data-bundle=gl3d], .px-scene *)").all():
            counts = root.evaluate("root => root.explorer.controls.map(({ labels }) => labels.length)")
            at = counts.index(max(counts))
            presses = Presses(page)
            for _ in range(5):
                presses.press(other_value(root, at), 1)
            found[statistics.median(presses.cpu[2:]), chapter, root.get_attribute("id")] = at
        page.close()
    print()
    for cpu, chapter, own in sorted(found, reverse=True)[:10]:
        at = found[cpu, chapter, own]
        page, _, _ = open_page("about:blank", solid=False)
        page.add_init_script(WATCH)
        page.goto(f"{site_url}/{chapter}")
        ready(page)
        take_over(page)
        root = page.locator(f"#{own}")
        hand, by_hand, presses = page.evaluate_handle(HAND, [root.element_handle(), at]), Presses(page), Presses(page)
        for _ in range(9):
            presses.press(other_value(root, at), 1)
            by_hand.press(hand, 1)
        (ours, painted), (theirs, late) = presses.say(own, 40), by_hand.say("  plotly.js by hand", 40)
        print(f"  {'':40} ours / by hand: cpu {ours / theirs:.2f}, paint {painted / late:.2f}")
        page.close()
