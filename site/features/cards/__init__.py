"""A miniature of each chapter's picture, taken from its page, beside its question on the first page.

It is a drawn figure as `plusx.explore` left it in the page, of threads some; of a plot the thick lines and the bars.
"""

import re
from pathlib import Path

import numpy as np
from assets import ROOT
from sphinx.errors import ExtensionError

# The explorer of a chapter that a card shows; the playground has none, and its card stays as it is.
SHOWN = {
    1: "thirty_six_numbers", 2: "river_of_gradient", 3: "slope_over_the_line", 4: "fork", 5: "loss_by_depth",
    6: "threads_by_order", 7: "digits_on_their_way", 8: "twelve_walks", 9: "threads_held_by_a_number",
    10: "words_as_dots", 11: "threads_through_norms", 12: "four_orders", 13: "whose_thread_is_it",
    14: "tokens_become_one", 15: "who_wrote_it", 17: "verdicts_by_margin", 18: "four_bundles",
    19: "threads_at_five_places", 20: "letters_on_their_way",
}  # fmt: skip
SIZE, BOX, POINTS = np.array([100, 50]), "-1 -2 102 54", 40  # of all; of a line
CARD = re.compile(r'<li><p><a [^>]*href="(chapters/(\d+)-[^"]*)".*?(?=</li>)', re.S)
DRAWN = re.compile(r'<path d="([^"]*)" clip-path="url\(#([^)]*)\)" style="([^"]*)"')
THREAD = re.compile(r'<path class="px-threads" style="--px-at:([\d.]+%)" d="([^"]*)"')
STEP = re.compile(r"c[^c]*?(-?[\d.]+),(-?[\d.]+)(?=[chVZ])")
THREADS = 8  # of a miniature, at most
PREVIEWS = sorted((ROOT / "images" / "chapters").glob("*.png"))  # tools/pictures.py draws them
ASIDE = re.compile(r'<path class="px-(?:layer|zero)"[^>]*/>|<text .*?</text>', re.S)  # hairlines, words
COLOUR = re.compile(r"(?:fill|stroke): (var\(--px-(?!grid|muted)\w+\))")


def illustrate(app, pages: dict, outdir: Path) -> None:
    """A miniature for each card of index.html; and what a link to a chapter shows elsewhere is its own picture.

    ExtensionError: a chapter has no such picture.
    """
    index = outdir / "index.html"

    def with_picture(card):
        explorer = SHOWN.get(int(card[2]))
        return card[0] + (miniature(pages[outdir / card[1]], explorer) if explorer else "")

    pages[index] = CARD.sub(with_picture, pages[index])
    for name in {picture.stem for picture in PREVIEWS}.intersection(path.stem for path in pages):
        page = outdir / "chapters" / f"{name}.html"
        pages[page] = pages[page].replace("_static/preview.png", f"_static/plusx/{name}.png")


def miniature(page: str, explorer: str) -> str:
    """An explorer's still picture, of a plot the upper panel, as a small SVG."""
    found = re.search(rf'id="explore-{explorer}".*?<div class="px-still[^>]*>(<svg .*?</svg>)', page, re.S)
    if threads := THREAD.findall(found[1]) if found else []:
        tall = float(re.search(r'viewBox="0 0 \d+ (\d+)"', found[1])[1])
        return _fitted([_thread(*each) for each in threads[:: -(-len(threads) // THREADS)]], tall)
    if found and 'class="px-drawn"' in found[1]:
        return f'<span class="plusx-card">{ASIDE.sub("", found[1])}</span>'
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


def _fitted(lines: list, tall=np.inf) -> str:
    """Lines, each its paint and its points, as an SVG that they fill; what leaves a picture so `tall` leaves it too."""
    everything = np.concatenate([points for _, points in lines])
    everything[:, 1] = everything[:, 1].clip(0, tall)
    least = everything.min(0)
    scale = SIZE / np.maximum(everything.max(0) - least, 1e-9)
    shapes = ""
    for paint, points in lines:
        places = " ".join(f"{x:.0f},{y:.0f}" for x, y in (points - least) * scale)
        shapes += f'<polyline {paint} points="{places}"/>'
    return f'<svg class="plusx-card" viewBox="{BOX}" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'


CARRIED, HEARS = PREVIEWS, {"pages-mended": illustrate}
