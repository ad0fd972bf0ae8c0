"""One palette, in explore.css: whatever else has a colour takes it from there, or is the same."""

import re

from browser import ROOT

from plusx.explore.figures import COLOURS, NEUTRALS

EXPLORE = ROOT / "src" / "plusx" / "explore"
CSS = (EXPLORE / "explore.css").read_text(encoding="utf8")
# The light page, then the two ways in which a theme says that it is dark.
LIGHT, *DARK = (
    dict(re.findall(r"--px-([\w-]+): (#\w+);", block)) for block in re.findall(r"{([^{}]*--px-ink:[^{}]*)}", CSS)
)
PAGE = re.search(r"var\(--px-page, (#\w+)\)", CSS)[1]  # the ground, where no theme says that it is dark


def test_plots_pictures_and_pages_have_one_colourway():
    assert COLOURS == {name: code for name, code in LIGHT.items() if re.fullmatch(r"C\d", name)}
    assert set(NEUTRALS) <= LIGHT.keys()


def test_the_dark_palette_is_one_and_leaves_only_the_colourway_as_it_is():
    one, other = DARK
    assert one == other and one.keys() == LIGHT.keys() - COLOURS.keys() | {"page"}


def test_what_can_load_no_stylesheet_has_the_same_colours():
    (dark, _), accent = DARK, LIGHT["accent"]
    missing = (ROOT / "site" / "404.html").read_text(encoding="utf8")
    pairs = re.findall(r"light-dark\((#\w+), (#\w+)\)", missing)
    assert pairs == [(PAGE, dark["page"]), (LIGHT["ink"], dark["ink"]), (accent, dark["accent"])]
    manifest = (ROOT / "site" / "app.webmanifest").read_text(encoding="utf8")
    assert re.findall(r"#\w+", manifest) == [f"#{2 * PAGE[1:]}", accent]
    assert re.findall(r'fill="(#\w+)"', (ROOT / "images" / "favicon.svg").read_text())[0] == accent


def test_no_other_stylesheet_or_script_of_a_page_has_a_colour_of_its_own():
    files = [*ROOT.glob("site/*.*"), *ROOT.glob("src/**/*.*")]
    files = [path for path in files if path.suffix in (".css", ".js") and path.name != "explore.css"]
    assert len(files) > 10
    own = {path.name: re.findall(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", path.read_text(encoding="utf8")) for path in files}
    own = {name: set(found) - {PAGE} for name, found in own.items()}
    # The theme's link blue, darkened where it stands on a tint.
    assert {name: found for name, found in own.items() if found} == {"book.css": {"#0d5bc9"}}
