"""Drawn: figures that we draw ourselves, as numbers, as a first picture and in words.

Here lives what a state may return, its SVG before scripts, and the wire below it. js/pictures/drawn.js draws the same.
"""

import base64
import html
import io

import numpy as np
from matplotlib.image import imsave

from .colours import COLOURS
from .controls import Control, ExploreError

KINDS = ("threads", "river", "carpet", "fold", "dots", "waterfall")
WIDTH = 1000  # of a picture, in its own units; it is as wide as its page
PAD = 40  # at both sides, up to the first layer and from the last one on
EDGE = 8  # above and below what is drawn
MOST = 33  # hairlines
PLANE = 460  # as wide as a plane of dots, which is not stretched


def normalise_drawn(returned: dict, where: str) -> dict:
    """The drawn part of a figure, checked: its kind, the heights at its edges, and its wire."""
    kind, span, wire = returned["drawn"], returned.get("span"), returned.get("wire", {})
    if kind not in KINDS:
        raise ExploreError(f"explore: {where} returned a figure drawn as {kind!r}; draw {' or '.join(KINDS)}.")
    if not (isinstance(span, list) and len(span) == 2 and np.isfinite(span).all() and span[0] < span[1]):
        raise ExploreError(f"explore: {where} returned the span {span!r}; give [low, high], the same in all states.")
    if unknown := sorted(set(wire) - {"skip", "branch"}):
        raise ExploreError(f"explore: {where} has a wire with '{unknown[0]}'; its parts are skip and branch.")
    ends = [str(end) for end in returned.get("ends", ("", ""))]
    own = {"columns": int(returned["columns"])} if kind == "fold" else {}
    if returned.get("named"):
        own["named"] = True
    if "first" in returned:  # how many layers stand before those that are drawn
        own["first"] = int(returned["first"])
    if kind == "waterfall":
        own = {"marks": [[str(name), str(said)] for name, said in returned["marks"]]}
    return {"drawn": kind, **own, "span": [float(end) for end in span], "wire": wire, "ends": ends}


def places(figure: dict) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of a figure go: x of each layer, (layers + 1,), and y of each line there, (lines, layers + 1)."""
    grid, (low, high), tall = figure["data"][0]["z"], figure["span"], figure["layout"]["height"]
    x = PAD + np.arange(grid.shape[1]) * (WIDTH - 2 * PAD) / max(grid.shape[1] - 1, 1)
    share = _share(grid, low, high)
    if figure["drawn"] == "threads":
        return x, tall - EDGE - share * (tall - 2 * EDGE)
    room = tall / len(grid)
    half = np.maximum(share * (room / 2 - EDGE), 0.75)
    middle = (np.arange(len(grid))[:, None] + 0.5) * room
    return x, np.stack([middle - half, middle + half], 1).reshape(-1, len(x))


def _share(values, low: float, high: float) -> np.ndarray:
    """How far up its span each value is. What is beyond is drawn to a span beyond, so that it is seen to leave."""
    least, most = 2 * low - high, 2 * high - low
    known = np.nan_to_num(values, nan=low, posinf=most, neginf=least)
    return (np.clip(known, least, most) - low) / (high - low)


def _leaving(x: np.ndarray, ys: np.ndarray, tall: float) -> str:
    """An arrowhead wherever a line leaves the picture, at the edge."""
    heads = ""
    for at, (y, to) in enumerate(zip(ys, ys[1:])):
        if 0 <= y <= tall and not 0 <= to <= tall:
            edge = 0 if to < 0 else tall
            way = 0.5 - np.sin(np.arcsin(1 - 2 * (edge - y) / (to - y)) / 3)  # of the bend, where it meets the edge
            across = x[at] + (1.5 * way - 1.5 * way**2 + way**3) * (x[at + 1] - x[at])
            foot, tip = abs(edge - 10), abs(edge - 2)
            heads += f"M{across - 4:.1f},{foot}L{across:.1f},{tip}L{across + 4:.1f},{foot}"
    return heads


def paths(figure: dict) -> list[str]:
    """What is drawn, as paths: a thread each, or a river's outline; of dots the wedges, the dots and their places."""
    if other := {"fold": _folded, "dots": _dotted, "waterfall": _fallen}.get(figure["drawn"]):
        return other(figure)
    x, lines = places(figure)
    step = x[1] - x[0] if len(x) > 1 else 0

    def curve(ys, begin, sign):
        ups = np.diff(ys)
        bends = (f"c{sign * step / 2:.1f},0 {sign * step / 2:.1f},{up:.1f} {sign * step:.1f},{up:.1f}" for up in ups)
        return f"{begin}{''.join(bends)}h{sign * PAD}"

    def lead(at, y):
        way = f"c{PAD / 2:.0f},0 {PAD / 2:.0f},{y - at:.1f} {PAD},{y - at:.1f}" if at != y else f"h{PAD}"
        return f"M0,{at:.1f}{way}"

    lines = np.round(lines, 1)
    if figure["drawn"] == "threads":
        tall = figure["layout"]["height"]
        begins = _begins(figure) if "named" in figure else lines[:, 0]
        return [lead(at, ys[0]) + curve(ys, "", 1) + _leaving(x, ys, tall) for at, ys in zip(begins, lines)]
    return [
        f"{curve(upper, lead(upper[0], upper[0]), 1)}V{lower[-1]:.1f}{curve(lower[::-1], f'h{-PAD}', -1)}Z"
        for upper, lower in zip(lines[::2], lines[1::2])
    ]


def _begins(figure: dict) -> np.ndarray:
    """Where threads with names begin: one below the other at equal distances, in the order of their heights."""
    starts, tall = figure["data"][0]["z"][:, 0], figure["layout"]["height"]
    ranks = np.argsort(np.argsort(-starts, kind="stable"))
    return np.round((ranks + 0.5) * tall / len(starts), 1)


def named(figure: dict) -> str:
    """The names at the left ends of threads."""
    if "named" not in figure:
        return ""
    tall, each = figure["layout"]["height"], zip(_begins(figure), shares(figure), figure["data"][0]["y"])
    names = (
        f'<span style="top:{at / tall:.1%};--px-at:{share:.1%}">{html.escape(name)}</span>' for at, share, name in each
    )
    return f'<div class="px-names" aria-hidden="true">{"".join(names)}</div>\n'


def _folded(figure: dict) -> list[str]:
    """The lines of sheets, each sheet in its column."""
    grid, half, tall = figure["data"][0]["z"], figure["span"][1], figure["layout"]["height"]
    wide, each = WIDTH / figure["columns"], len(grid) // figure["columns"]
    across = (np.arange(len(grid)) // each + 0.5)[:, None] * wide + grid[:, ::2] / half * 0.47 * wide
    up = tall / 2 - grid[:, 1::2] / half * (tall / 2 - EDGE)
    return ["M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(*line)) for line in zip(across, up)]


def _dotted(figure: dict) -> list[str]:
    """A wedge from each dot to each other, at its foot as wide as the share that the other takes; dots; where they are.

    The grid has a row for each dot: its place, then its shares of all.
    """
    grid, (low, high), tall = figure["data"][0]["z"], figure["span"], figure["layout"]["height"]
    unit = (tall - 6 * EDGE) / (high - low)
    dots = np.array([PLANE / 2, tall / 2]) + (grid[:, :2] - (low + high) / 2) * [unit, -unit]

    def wedge(i, j):
        (x, y), (x0, y0) = dots[i], dots[j]
        long = max(np.hypot(x - x0, y - y0), 1e-9)
        a, b = -(y - y0) / long * grid[i, 2 + j] * 26, (x - x0) / long * grid[i, 2 + j] * 26
        return f"M{x0 + a:.1f},{y0 + b:.1f}L{x:.1f},{y:.1f}L{x0 - a:.1f},{y0 - b:.1f}Z"

    wedges = [wedge(i, j) for i, j in _pairs(len(dots))]
    return [*wedges, *(f"M{x:.1f},{y:.1f}h0" for x, y in dots), *(f"translate({x:.1f},{y:.1f})" for x, y in dots)]


def _pairs(count: int) -> list[tuple[int, int]]:
    """Who takes, and from whom."""
    return [(i, j) for i in range(count) for j in range(count) if i != j]


def _fallen(figure: dict) -> list[str]:
    """The steps up of a running sum, those down, and the lines that lead from step to step."""
    sums, (low, high), tall = figure["data"][0]["z"][0], figure["span"], figure["layout"]["height"]
    ys = tall - EDGE - _share(np.array([0, *sums]), low, high) * (tall - 2 * EDGE)
    wide, steps = WIDTH / len(sums), list(zip(ys, ys[1:]))

    def bars(rising):
        return "".join(
            f"M{(at + 0.15) * wide:.1f},{y0:.1f}V{y1:.1f}h{0.7 * wide:.1f}V{y0:.1f}Z"
            for at, (y0, y1) in enumerate(steps)
            if (y1 < y0) == rising
        )

    lengths = [1.7] * (len(steps) - 1) + [0.85]  # to the far side of the next step, or to the edge
    runs = (f"M{(at + 0.15) * wide:.1f},{y:.1f}h{long * wide:.1f}" for at, (y, long) in enumerate(zip(ys[1:], lengths)))
    return [bars(True), bars(False), "".join(runs)]


def shares(figure: dict) -> list[float]:
    """Each line's place between the two ends of the colours: its rank at the start, and of rivers the lower first."""
    starts = figure["data"][0]["z"][:, 0]
    if figure["drawn"] == "river":
        starts = -np.arange(len(starts))
    if figure["drawn"] == "fold":
        starts = np.arange(len(starts)) % (len(starts) // figure["columns"] // 2)
    return (np.argsort(np.argsort(starts, kind="stable")) / max(len(starts) - 1, 1)).round(3).tolist()


def still_drawn(figure: dict) -> str:
    """The picture as inline SVG, which follows the theme and the width of its page."""
    tall = figure["layout"]["height"]
    inner = {"carpet": _woven, "dots": _starred, "waterfall": _stepped}.get(figure["drawn"], _lined)(figure, tall)
    size = f"{PLANE} {tall}" if figure["drawn"] == "dots" else f'{WIDTH} {tall}" preserveAspectRatio="none'
    return f'<svg class="px-drawn" viewBox="0 0 {size}" aria-hidden="true">{inner}</svg>'


def _lined(figure: dict, tall: int) -> str:
    """Lines in the colours of their first places, over a hairline for each layer and, of threads, one at 0."""
    x = places(figure)[0] if figure["drawn"] != "fold" else np.arange(figure["columns"] + 1) * WIDTH / figure["columns"]
    rules = "".join(f'<path class="px-layer" d="M{at:.1f},0V{tall}"/>' for at in x[:: -(-len(x) // MOST)])
    rules += _zero(figure, tall) if figure["drawn"] == "threads" and np.prod(figure["span"]) < 0 else ""
    return rules + "".join(
        f'<path class="px-{figure["drawn"]}" style="--px-at:{100 * at:.1f}%" d="{d}"/>'
        for at, d in zip(shares(figure), paths(figure))
    )


def _starred(figure: dict, tall: int) -> str:
    """Dots with their names, over the wedges; each part tells of which dot it is, a wedge that it is of who takes."""
    names, drawn = figure["data"][0]["y"], paths(figure)
    count, pairs = len(names), _pairs(len(names))
    wedges = "".join(
        f'<path class="px-dots px-wedge" data-of="{i}" style="--px-at:{100 * j / (count - 1 or 1):.1f}%" d="{d}"/>'
        for (i, j), d in zip(pairs, drawn)
    )
    dots = "".join(
        f'<path class="px-dots px-dot" data-of="{i}" style="--px-at:{100 * i / (count - 1 or 1):.1f}%" d="{d}"/>'
        for i, d in enumerate(drawn[len(pairs) :][:count])
    )
    turns = 2 * np.pi * np.arange(count) / count  # where all dots are one, their names stand around it
    words = "".join(
        f'<text class="px-dots" data-of="{i}" x="{16 * np.cos(turn):.1f}" y="{5 - 18 * np.sin(turn):.1f}" '
        f'text-anchor="{"start" if np.cos(turn) > -0.1 else "end"}" transform="{place}">{html.escape(str(name))}</text>'
        for i, (turn, name, place) in enumerate(zip(turns, names, drawn[-count:]))
    )
    return wedges + dots + words


def _stepped(figure: dict, tall: int) -> str:
    """Steps of a sum, over the line where it began."""
    looks = 'px-step" style="--px-at:100%', 'px-step" style="--px-at:0%', "px-run"
    steps = "".join(f'<path class="px-waterfall {look}" d="{d}"/>' for look, d in zip(looks, paths(figure)))
    return _zero(figure, tall) + steps


def _zero(figure: dict, tall: int) -> str:
    low, high = figure["span"]
    return f'<path class="px-zero" d="M0,{tall - EDGE + low / (high - low) * (tall - 2 * EDGE):.1f}H{WIDTH}"/>'


def _woven(figure: dict, tall: int) -> str:
    """The carpet as a bitmap, in the colours of the light page; where there is no colour, the page shows."""
    grid, (low, high) = figure["data"][0]["z"], figure["span"]
    share = 2 * (np.clip(np.nan_to_num(grid, nan=(low + high) / 2), low, high) - low) / (high - low) - 1
    ends = np.array([[int(COLOURS[name][i : i + 2], 16) for i in (1, 3, 5)] for name in ("C0", "C1")])
    pixels = np.dstack([ends[(share > 0).astype(int)], np.abs(share) * 255]).round().astype(np.uint8)
    file = io.BytesIO()
    imsave(file, pixels, format="png")
    source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return f'<image class="px-carpet" width="{WIDTH}" height="{tall}" preserveAspectRatio="none" href="{source}"/>'


def sides(figure: dict) -> str:
    """What stands below a picture: at its two ends, or below each step of a sum."""
    steps = "".join(
        f"<span>{html.escape(name)}<b>{html.escape(said)}</b></span>" for name, said in figure.get("marks", ())
    )
    marks = f'<div class="px-marks" aria-hidden="true">{steps}</div>' if steps else ""
    if not any(figure["ends"]):
        return marks
    left, right = map(html.escape, figure["ends"])
    return f'{marks}<div class="px-sides" aria-hidden="true"><span>{left}</span><span>{right}</span></div>'


def told(figure: dict) -> str:
    """What the picture shows, in words."""
    grid, names = figure["data"][0]["z"], figure["data"][0]["y"]
    layers = grid.shape[1] - 1
    if figure["drawn"] == "dots":
        far = np.hypot(*(grid[:, :2] - grid[:, :2].mean(0)).T)
        order = np.argsort(-far, kind="stable")
        return f"From the middle of all: {', '.join(f'{names[i]} {far[i]:.2g}' for i in order)}."
    if figure["drawn"] == "waterfall":
        steps, marks = np.diff([0, *grid[0]]), figure["marks"]
        most = np.argsort(-np.abs(steps), kind="stable")[:3]
        told = ", ".join(f"{marks[i][0]} {steps[i]:+.2g}" for i in most)
        return f"{len(steps)} steps to {grid[0, -1]:.2g}; the largest: {told}."
    if len(figure["data"]) > 1:
        name, numbers = figure["data"][1]["name"], figure["data"][1]["y"]
        return f"{name}: {numbers[0]:.2g} at the start, {numbers[-1]:.2g} at the end."
    if figure["drawn"] == "river":
        if len(grid) > 1:
            told = (f"{name} from 10 to the power {logs[0]:.1f} to {logs[-1]:.1f}" for name, logs in zip(names, grid))
            return f"{'; '.join(told)}."
        logs = grid[0]
        sizes = (f"10 to the power {logs[at]:.1f} after layer {at}" for at in (layers, layers // 2))
        return f"{', '.join(sizes)}, 10 to the power {logs[0]:.1f} at the input."
    spread = np.ptp(grid, axis=0) / (np.ptp(grid[:, 0]) or 1)
    within = [
        f"{share:.0%} of their first spread from layer {np.argmax(spread < share)} on"
        for share in (0.1, 0.01)
        if (spread < share).any() and spread[-1] < share
    ]
    close = f" They lie within {', within '.join(within)}." if within else ""
    end = f"At the end they spread over {spread[-1]:.0%} of what they did at the start."
    return f"{len(grid)} threads through {layers} layers.{close} {end}"


def wire_of(figure: dict, controls: tuple[Control, ...], where: str) -> list[dict[str, str]]:
    """The wire below a figure, a piece of SVG for each layer, its skip and its branch tied to controls.

    ExploreError: a part names no control, or one without the options "none" and the layers.
    """
    first = figure.get("first", 0) + 1
    layers = range(first, first + figure["data"][0]["z"].shape[1] - 1)
    parts = {part: _part(part, given, controls, layers, where) for part, given in figure["wire"].items()}
    return [{"html": piece(layer, parts)} for layer in layers] if parts else []


def _part(part: str, given, controls, layers: range, where: str):
    """For each layer whether the part is on there, and what a press sets: (name of the control, [(on, index)])."""
    try:
        name, value = given
        control = next(each for each in controls if each.name == name)
        own = f"{part} {layers[0]}" in control.values  # one control for both parts
        cuts = [f"{part} {layer}" if own else layer for layer in layers]
        index = [control.index(each) for each in ("none", *cuts)]
        control.index(value)
    except (ExploreError, StopIteration, TypeError, ValueError):
        raise ExploreError(
            f"explore: {where}: the wire's {part} is {given!r}; give (control, value), of a control whose options are "
            f"'none', the layers {layers[0]} to {layers[-1]} (or '{part} {layers[0]}' to '{part} {layers[-1]}') and, "
            "if you like, 'all'."
        ) from None
    offs = [value in (cut, "all", f"all {part}s" if part == "skip" else f"all {part}es") for cut in cuts]
    return name, {layer: (not off, index[0] if off else here) for layer, off, here in zip(layers, offs, index[1:])}


def known_as(figure: dict) -> dict[str, str]:
    """What a page's tag says of a figure that we draw: rules by what stands in it would hold once that has come."""
    if "drawn" not in figure:
        return {}
    return {"data_drawn": figure["drawn"], **({"data_named": ""} if figure.get("named") else {})}


def row(figure: dict) -> str:
    """How many pieces the wire has, and of a long one how many share a row where there is little room."""
    pieces = len(figure.get("diagram", ()))
    narrow = next((f' data-row="{at}"' for least, at in ((21, 10), (14, 8)) if pieces >= least), "")
    return f' style="--px-parts:{pieces}"{narrow}'


def piece(layer: int, parts: dict, of: str = "") -> str:
    """A layer's wire: the stream above, which is its skip, the branch below, and the sum to the right of both.

    parts: "skip" or "branch" -> (the control that a press sets, {layer: (on, to what)}). of: whose addition it is.
    """

    def tied(part: str) -> str:
        if part not in parts:
            return f'class="px-{part}" data-on="true"'
        name, layers = parts[part]
        on, to = layers[layer]
        says = f"{'Skip around' if part == 'skip' else 'Branch of'} {of}layer {layer}"
        press = f'data-set="{html.escape(name)}" data-to="{to}" data-role="switch"'
        return f'class="px-{part}" {press} data-on="{str(on).lower()}" data-name="{says}"'

    return (
        '<svg class="px-piece" height="64"><g '
        f'{tied("branch")}><rect class="px-hit" x="4" y="30" width="100%" height="34"/>'
        '<path class="px-wire" d="M7 14V47"/><line class="px-wire" x1="6" x2="100%" y1="47" y2="47"/>'
        '<rect class="px-box" x="18%" y="36" width="64%" height="22" rx="4"/>'
        f'<text x="50%" y="51.5">{layer}</text></g>'
        f'<g {tied("skip")}><rect class="px-hit" x="0" y="0" width="100%" height="30"/>'
        '<line class="px-line" x1="6" x2="100%" y1="14" y2="14"/>'  # from the sum before it, which stays whole
        '<svg x="50%" y="14" width="1" height="1" overflow="visible">'
        '<path class="px-cut" d="M-6-6L6 6M6-6L-6 6"/></svg></g>'
        '<svg x="100%" y="14" width="1" height="1" overflow="visible"><path class="px-wire" d="M0 33V6"/>'
        '<circle class="px-plus" r="6"/><path class="px-cross" d="M-3 0H3M0-3V3"/></svg></svg>'
    )
