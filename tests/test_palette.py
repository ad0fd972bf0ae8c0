"""One palette, in explore.css: whatever else has a colour takes it from there, or is the same."""

import re

import pytest
from browser import EXPLORING, ROOT
from decoding import decode, payload, state

from plusx.explore.figures import COLOURS, MEANINGS, NEUTRALS

EXPLORE = ROOT / "src" / "plusx" / "explore"
CSS = (EXPLORE / "explore.css").read_text(encoding="utf8")
PAIRS = re.findall(r"--px-([\w-]+): light-dark\((#\w+), (#\w+)\);", CSS)
LIGHT, DARK = ({name: pair[at] for name, *pair in PAIRS} for at in (0, 1))
PAGE = LIGHT["page"]  # the ground, where no theme says that it is dark


def test_plots_pictures_and_pages_have_one_colourway():
    assert COLOURS == {name: code for name, code in LIGHT.items() if re.fullmatch(r"C\d", name)}
    assert set(NEUTRALS) <= LIGHT.keys()


def test_each_colour_is_of_the_palette_and_is_told_for_both_themes():
    assert len(PAIRS) == 14 and len(re.findall(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", CSS)) == 28


def test_what_has_a_meaning_has_it_in_figures_and_in_pages():
    said = dict(re.findall(r"--px-(\w+): var\(--px-(\w+)\);", CSS))
    assert said == MEANINGS
    assert set(MEANINGS.values()) <= {*COLOURS, "ink"}


def contrast(one, other):
    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        shares = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_and_more_so_those_with_words_at_their_lines(palette):
    """WCAG 2.2: 4.5:1 for words (1.4.3), 3:1 for what else is drawn (1.4.11), on the page and on a control's ground."""
    worded = {*MEANINGS.values(), "ink", "muted", "accent"}
    drawn = {*COLOURS, *worded, "line"}
    found = {
        (name, ground): contrast(palette[name], palette[ground]) for name in drawn for ground in ("page", "surface")
    }
    assert {key: ratio for key, ratio in found.items() if ratio < (4.5 if key[0] in worded else 3)} == {}


def test_what_can_load_no_stylesheet_has_the_same_colours():
    dark, accent = DARK, LIGHT["accent"]
    missing = (ROOT / "site" / "build" / "404.html").read_text(encoding="utf8")
    pairs = re.findall(r"light-dark\((#\w+), (#\w+)\)", missing)
    assert pairs == [(PAGE, dark["page"]), (LIGHT["ink"], dark["ink"]), (accent, dark["accent"])]
    manifest = (ROOT / "site" / "features" / "offline" / "app.webmanifest").read_text(encoding="utf8")
    assert re.findall(r"#\w+", manifest) == [f"#{2 * PAGE[1:]}", accent]
    assert re.findall(r'fill="(#\w+)"', (ROOT / "images" / "favicon.svg").read_text())[0] == accent


def test_no_other_stylesheet_or_script_of_a_page_has_a_colour_of_its_own():
    files = [
        path for folder in ("site", "src") for path in ROOT.glob(f"{folder}/**/*") if path.suffix in (".css", ".js")
    ]
    files = [path for path in files if path.name != "explore.css"]
    assert len(files) > 10
    own = {path.name: re.findall(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", path.read_text(encoding="utf8")) for path in files}
    own = {name: set(found) - {PAGE} for name, found in own.items()}
    # The theme's link blue, darkened where it stands on a tint.
    assert {name: found for name, found in own.items() if found} == {"book.css": {"#0d5bc9"}}


def test_a_page_changes_its_form_at_few_widths_and_explore_css_says_which():
    sheets = [path for folder in ("site", "src") for path in ROOT.glob(f"{folder}/**/*.css")]
    found = {width for path in sheets for width in re.findall(r"@media[^{]*-width: (\d+)px", path.read_text("utf8"))}
    assert found == set(re.search(r"Pages change at ([^.]+)\.", CSS)[1].replace(" px", "").split(", "))


# ---- the book's figures ----------------------------------------------------------------------------------------

# How the name of a line begins that shows what has a colour of its own.
NAMED = {
    "plain": "(plain|no skip)(, mean.*)?$",
    "residual": "(skip|residual)(, mean.*)?$",
    "stream": "(the )?stream$",
    "gradient": "gradient",
    "signal": "signal",
}


def painted(node, here=False):
    """All colours of a figure, by `coloured`'s rule for where one stands."""
    if isinstance(node, dict):
        return {c for key, value in node.items() for c in painted(value, re.search(r"colou?r(way|scale|s)?$", key))}
    if isinstance(node, list):
        return {colour for value in node for colour in painted(value, here)}
    return {node} if here and isinstance(node, str) else set()


def figures(page):
    """(explorer, figure) for each state of the explorers of a page."""
    html = page.read_text(encoding="utf8")
    for name in re.findall(r'<div class="plusx-explore"[^>]* id="explore-([^"]+)"', html):
        table, leaves = decode(payload(page, f"explore-{name}"))
        for at in range(max((len(leaf["index"]) for leaf in leaves), default=1)):
            yield name, state(table, leaves, at)


def meaning_of(name):
    return next((meaning for meaning, begins in NAMED.items() if re.match(begins, name)), None)


def strays(page):
    """(explorer, colour) where a colour is not in the list, and (explorer, meaning) where it is another's."""
    found = set()
    for explorer, figure in figures(page):
        found |= {(explorer, colour) for colour in painted(figure) - {*COLOURS, *NEUTRALS, *LEFT}}
        for trace in figure["data"]:
            colour = trace.get("line", {}).get("color") or trace.get("marker", {}).get("color")
            meaning = meaning_of(trace.get("name") or "")
            if meaning and isinstance(colour, str) and colour != MEANINGS[meaning]:
                found.add((explorer, meaning))
    return found


# Words on a grid's cells, scales of one direction, and no colour at all.
LEFT = {"#ffffff", "#000000", "Viridis", "Cividis", "rgba(0,0,0,0)"}


@pytest.mark.parametrize("chapter", EXPLORING)
def test_a_figure_has_the_colours_of_the_list_and_each_with_its_meaning(site, chapter):
    assert not strays(site / chapter)
