"""A miniature of each chapter's result, taken from its page: beside its question on the first page, and at its head.

What is drawn are the thick lines and the bars of an explorer's first picture, as `plusx.explore` left it in the page.
"""

import re
from pathlib import Path

import numpy as np
from assets import carry, load
from sphinx.errors import ExtensionError

# The explorer of a chapter that a card shows; the playground has none, and its card stays as it is.
SHOWN = {
    1: "thirty_six_numbers", 2: "gradient_by_layer", 3: "slope_over_the_line", 4: "two_gradients", 5: "loss_by_depth",
    6: "threads_by_order", 7: "gradient_by_path_length", 8: "loss_along_lines", 9: "threads_held_by_a_number",
    10: "branch_beside_stream", 11: "threads_through_norms", 12: "four_orders", 13: "whose_thread_is_it",
    14: "tokens_become_one", 15: "features_in_a_sum", 17: "verdicts_by_margin", 18: "four_bundles",
    19: "cost_of_a_layer", 20: "edit_by_layer",
}  # fmt: skip
SIZE, BOX, POINTS = np.array([100, 50]), "-1 -2 102 54", 40  # of all; of a line
CARD = re.compile(r'<li><p><a [^>]*href="(chapters/(\d+)-[^"]*)".*?(?=</li>)', re.S)
DRAWN = re.compile(r'<path d="([^"]*)" clip-path="url\(#([^)]*)\)" style="([^"]*)"')
OPENER = re.compile(r'(<div class="px-opener">.*?)(?=</div>)', re.S)
THREAD = re.compile(r'<path class="px-threads" style="--px-at:([\d.]+%)" d="([^"]*)"')
STEP = re.compile(r"c[^c]*?(-?[\d.]+),(-?[\d.]+)(?=[chVZ])")
THREADS = 8  # of a miniature, at most
COLOUR = re.compile(r"(?:fill|stroke): (var\(--px-(?!grid|muted)\w+\))")


def add_miniatures(app, pages: dict, outdir: Path) -> None:
    """Into the cards of index.html, and the heads of chapters that do not begin with that picture.

    ExtensionError: a chapter has no such picture.
    """
    index = outdir / "index.html"

    def with_picture(card):
        explorer, chapter = SHOWN.get(int(card[2])), outdir / card[1]
        if not explorer:
            return card[0]
        picture = miniature(pages[chapter], explorer)
        if f'id="explore-{explorer}" data-name="{explorer}" data-drawn' not in pages[chapter]:
            pages[chapter] = OPENER.sub(rf"\g<1>{picture}", pages[chapter], count=1)
        return card[0] + picture

    pages[index] = CARD.sub(with_picture, pages[index])


def miniature(page: str, explorer: str) -> str:
    """The upper panel of an explorer's still picture as an SVG of some hundred bytes."""
    found = re.search(rf'id="explore-{explorer}".*?<div class="px-still[^>]*>(<svg .*?</svg>)', page, re.S)
    if threads := THREAD.findall(found[1]) if found else []:
        return _fitted([_thread(*each) for each in threads[:: -(-len(threads) // THREADS)]])
    drawn = DRAWN.findall(found[1]) if found else []
    if not drawn:
        raise ExtensionError(f"cards: the page has no still picture of {explorer}.")
    lines = []
    for path, panel, style in drawn:
        colour, bar = COLOUR.search(style), "fill: none" not in style
        thick = re.search(r"stroke-width: ([\d.]+)", style)
        if panel == drawn[0][1] and colour and (bar or float(thick[1]) > 1):
            numbers = np.array(re.findall(r"-?[\d.]+", path), float).reshape(-1, 2)
            dashes = ' stroke-dasharray="4 3"' if "dasharray" in style else ""
            paint = f'fill="{colour[1]}"' if bar else f'fill="none" stroke="{colour[1]}"{dashes}'
            lines.append((paint, np.append(numbers[:: -(-len(numbers) // POINTS)], numbers[-1:], 0)))
    if not lines:
        raise ExtensionError(f"cards: the first state of {explorer} has neither thick lines nor bars; choose another.")
    return _fitted(lines)


def _thread(at: str, path: str) -> tuple[str, np.ndarray]:
    """How a thread is painted, and where it is at each layer."""
    steps = np.array(STEP.findall(path), float)
    points = np.cumsum([[0, float(path[3:].partition("h")[0])], *steps], 0)
    return f'fill="none" style="stroke:color-mix(in oklch decreasing hue,var(--px-C1) {at},var(--px-C0))"', points


def _fitted(lines: list) -> str:
    """Lines, each its paint and its points, as an SVG that they fill."""
    everything = np.concatenate([points for _, points in lines])
    least = everything.min(0)
    scale = SIZE / np.maximum(everything.max(0) - least, 1e-9)
    shapes = ""
    for paint, points in lines:
        places = " ".join(f"{x:.0f},{y:.0f}" for x, y in (points - least) * scale)
        shapes += f'<polyline {paint} points="{places}"/>'
    return f'<svg class="plusx-card" viewBox="{BOX}" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'


def setup(app):
    carry(app, Path(__file__).with_name("cards.css"))
    app.connect("builder-inited", lambda app: load(app, "cards.css"))
    app.connect("pages-mended", add_miniatures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
