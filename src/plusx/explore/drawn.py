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

KINDS = ("threads", "river", "carpet", "fold")
WIDTH = 1000  # of a picture, in its own units; it is as wide as its page
PAD = 40  # at both sides, up to the first layer and from the last one on
EDGE = 8  # above and below what is drawn
MOST = 33  # hairlines


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
    columns = {"columns": int(returned["columns"])} if kind == "fold" else {}
    return {"drawn": kind, **columns, "span": [float(end) for end in span], "wire": wire, "ends": ends}


def places(figure: dict) -> tuple[np.ndarray, np.ndarray]:
    """Where the lines of a figure go: x of each layer, (layers + 1,), and y of each line there, (lines, layers + 1)."""
    grid, (low, high), tall = figure["data"][0]["z"], figure["span"], figure["layout"]["height"]
    x = PAD + np.arange(grid.shape[1]) * (WIDTH - 2 * PAD) / max(grid.shape[1] - 1, 1)
    share = (np.clip(np.nan_to_num(grid, nan=low, posinf=high, neginf=low), low, high) - low) / (high - low)
    if figure["drawn"] == "threads":
        return x, tall - EDGE - share * (tall - 2 * EDGE)
    half = np.maximum(share[0] * (tall / 2 - EDGE), 0.75)
    return x, np.stack([tall / 2 - half, tall / 2 + half])


def paths(figure: dict) -> list[str]:
    """What is drawn, as paths: a thread each, or the river's outline."""
    if figure["drawn"] == "fold":
        return _folded(figure)
    x, lines = places(figure)
    step = x[1] - x[0] if len(x) > 1 else 0

    def curve(ys, begin, sign):
        ups = np.diff(ys)
        bends = (f"c{sign * step / 2:.1f},0 {sign * step / 2:.1f},{up:.1f} {sign * step:.1f},{up:.1f}" for up in ups)
        return f"{begin}h{sign * PAD}{''.join(bends)}h{sign * PAD}"

    lines = np.round(lines, 1)
    if figure["drawn"] == "threads":
        return [curve(ys, f"M0,{ys[0]:.1f}", 1) for ys in lines]
    upper, lower = lines
    return [f"{curve(upper, f'M0,{upper[0]:.1f}', 1)}V{lower[-1]:.1f}{curve(lower[::-1], '', -1)}Z"]


def _folded(figure: dict) -> list[str]:
    """The lines of sheets, each sheet in its column."""
    grid, half, tall = figure["data"][0]["z"], figure["span"][1], figure["layout"]["height"]
    wide, each = WIDTH / figure["columns"], len(grid) // figure["columns"]
    across = (np.arange(len(grid)) // each + 0.5)[:, None] * wide + grid[:, ::2] / half * 0.47 * wide
    up = tall / 2 - grid[:, 1::2] / half * (tall / 2 - EDGE)
    return ["M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(*line)) for line in zip(across, up)]


def shares(figure: dict) -> list[float]:
    """Each line's place between the two ends of the colours: its rank at the start."""
    starts = figure["data"][0]["z"][:, 0]
    if figure["drawn"] == "fold":
        starts = np.arange(len(starts)) % (len(starts) // figure["columns"] // 2)
    return (np.argsort(np.argsort(starts, kind="stable")) / max(len(starts) - 1, 1)).round(3).tolist()


def still_drawn(figure: dict) -> str:
    """The picture as inline SVG, which follows the theme and the width of its page."""
    tall = figure["layout"]["height"]
    inner = _woven(figure, tall) if figure["drawn"] == "carpet" else _lined(figure, tall)
    box = f'viewBox="0 0 {WIDTH} {tall}" preserveAspectRatio="none"'
    return f'<svg class="px-drawn" {box} aria-hidden="true">{inner}</svg>'


def _lined(figure: dict, tall: int) -> str:
    """Lines in the colours of their first places, over a hairline for each layer."""
    x = places(figure)[0] if figure["drawn"] != "fold" else np.arange(figure["columns"] + 1) * WIDTH / figure["columns"]
    rules = "".join(f'<path class="px-layer" d="M{at:.1f},0V{tall}"/>' for at in x[:: -(-len(x) // MOST)])
    return rules + "".join(
        f'<path class="px-{figure["drawn"]}" style="--px-at:{100 * at:.1f}%" d="{d}"/>'
        for at, d in zip(shares(figure), paths(figure))
    )


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
    """What stands at the two ends of a picture."""
    if not any(figure["ends"]):
        return ""
    left, right = map(html.escape, figure["ends"])
    return f'<div class="px-sides" aria-hidden="true"><span>{left}</span><span>{right}</span></div>'


def told(figure: dict) -> str:
    """What the picture shows, in words."""
    grid = figure["data"][0]["z"]
    layers = grid.shape[1] - 1
    if len(figure["data"]) > 1:
        name, numbers = figure["data"][1]["name"], figure["data"][1]["y"]
        return f"{name}: {numbers[0]:.2g} at the start, {numbers[-1]:.2g} at the end."
    if figure["drawn"] == "river":
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


def wire_of(figure: dict, controls: tuple[Control, ...], state: tuple[int, ...], where: str) -> list[dict[str, str]]:
    """The wire below a figure, a piece of SVG for each layer, its skip and its branch tied to controls.

    ExploreError: a part names no control, or one without the options "none" and the layers.
    """
    layers = figure["data"][0]["z"].shape[1] - 1
    parts = {part: _part(part, given, controls, layers, where) for part, given in figure["wire"].items()}
    return [{"html": _piece(layer, parts)} for layer in range(1, layers + 1)] if parts else []


def _part(part: str, given, controls, layers: int, where: str):
    """For each layer whether the part is on there, and what a press sets: (name of the control, [(on, index)])."""
    try:
        name, value = given
        control = next(each for each in controls if each.name == name)
        index = [control.index(each) for each in ("none", *range(1, layers + 1))]
        control.index(value)
    except (ExploreError, StopIteration, TypeError, ValueError):
        raise ExploreError(
            f"explore: {where}: the wire's {part} is {given!r}; give (control, value), of a control whose options are "
            f"'none', the layers 1 to {layers} and, if you like, 'all'."
        ) from None
    cut = [value == "all" or value == layer for layer in range(1, layers + 1)]
    return name, [(not off, index[0] if off else index[layer]) for layer, off in enumerate(cut, 1)]


def _piece(layer: int, parts: dict) -> str:
    """A layer's wire: the stream above, which is its skip, the branch below, and the sum to the right of both."""

    def tied(part: str) -> str:
        if part not in parts:
            return f'class="px-{part}" data-on="true"'
        name, layers = parts[part]
        on, to = layers[layer - 1]
        says = f"{'Skip around' if part == 'skip' else 'Branch of'} layer {layer}"
        press = f'data-set="{html.escape(name)}" data-to="{to}" data-role="switch"'
        return f'class="px-{part}" {press} data-on="{str(on).lower()}" data-name="{says}"'

    return (
        '<svg class="px-piece" height="64"><g '
        f'{tied("branch")}><rect class="px-hit" x="4" y="30" width="100%" height="34"/>'
        '<path class="px-wire" d="M2 14V47H8"/><line class="px-wire" x1="0" x2="100%" y1="47" y2="47"/>'
        '<rect class="px-box" x="18%" y="36" width="64%" height="22" rx="4"/>'
        f'<text x="50%" y="51.5">{layer}</text></g>'
        f'<g {tied("skip")}><rect class="px-hit" x="0" y="0" width="100%" height="30"/>'
        '<line class="px-line" x1="0" x2="100%" y1="14" y2="14"/>'
        '<svg x="50%" y="14" overflow="visible"><path class="px-cut" d="M-6-6L6 6M6-6L-6 6"/></svg></g>'
        '<svg x="100%" y="14" overflow="visible"><path class="px-wire" d="M0 33V6"/>'
        '<circle class="px-plus" r="6"/><path class="px-cross" d="M-3 0H3M0-3V3"/></svg></svg>'
    )
