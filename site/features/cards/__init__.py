"""The first page's chapters: a card each; and what a link to a chapter shows elsewhere is its own picture."""

from pathlib import Path

from assets import ROOT, carry, load

PREVIEWS = sorted((ROOT / "images" / "chapters").glob("*.png"))  # tools/pictures.py draws them


def name_previews(app, pages: dict, outdir: Path) -> None:
    own = {picture.stem for picture in PREVIEWS}
    for path in own.intersection(path.stem for path in pages):
        page = outdir / "chapters" / f"{path}.html"
        pages[page] = pages[page].replace("_static/preview.png", f"_static/plusx/{path}.png")


def setup(app):
    carry(app, Path(__file__).with_name("cards.css"), *PREVIEWS)
    app.connect("builder-inited", lambda app: load(app, "cards.css"))
    app.connect("pages-mended", name_previews)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
