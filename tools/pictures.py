"""Draw the pictures by which others know the book, from the first page of the built site: `python tools/pictures.py`.

images/preview.png is what a link to the book shows elsewhere, a picture in images/chapters what one to a chapter
shows, and images/strip.png stands in README.md.
"""

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "site" / "build"))
from chromium import chromium  # noqa: E402

SIZE = {"width": 1200, "height": 630}  # of a preview, in pixels
CUTS = (None, 9, 8)  # of the switches: the skip of layer 5, and its branch
# The first page's title, its sentence and its net, and nothing else.
ALONE = """() => {
  const parts = ['h1', 'h1 + p', '.plusx-writer'].map((part) => document.querySelector(`.bd-article ${part}`));
  document.body.replaceChildren(...parts);
  parts[0].querySelector('.headerlink').remove();
  document.body.className = 'bd-article';
  document.body.style.cssText = 'zoom: 1.4; width: 720px; margin: 0 auto; padding: 0; font-size: 1.25rem';
}"""
# A chapter's title, its question and the picture that it begins with.
OPENING = """() => {
  const figure = document.querySelector('.bd-article :is(.plusx-explore, .plusx-playground)');
  const parts = [...document.querySelectorAll('.bd-article h1, .bd-article h1 ~ p strong')].slice(0, 2);
  parts[0].querySelector('.headerlink').remove();
  document.body.replaceChildren(...parts, figure);
  document.body.className = 'bd-article';
  document.body.style.cssText = 'width: 1100px; margin: 0 auto; padding: 20px 0; font-size: 1.35rem';
}"""
QUIET = ".px-controls, .px-data, .px-legend, .px-sides { display: none !important } .px-figure { max-height: 330px }"


def draw_chapters(page, images):
    """The picture of each chapter, in small PNG files."""
    images.mkdir(exist_ok=True)
    for chapter in sorted((ROOT / "_build" / "html" / "chapters").glob("[0-9]*.html")):
        page.goto(chapter.as_uri())
        page.add_style_tag(content=QUIET)
        page.wait_for_timeout(600)
        page.evaluate(OPENING)
        path = images / f"{chapter.stem}.png"
        page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def main():
    images, index = ROOT / "images", ROOT / "_build" / "html" / "index.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light", reduced_motion="reduce")
        page.goto(index.as_uri())
        page.add_style_tag(content=".plusx-writer :is(.pn-said, .pn-row) { display: none }")
        net, states = page.locator(".plusx-writer"), []
        for number, cut in enumerate(CUTS):
            if cut is not None:
                page.get_by_role("switch").nth(cut).click()
            page.mouse.move(1, 1)
            page.wait_for_timeout(500)
            states.append(images / f"state-{number}.png")
            net.screenshot(path=states[-1])
        page.get_by_role("switch").nth(CUTS[1]).click()
        page.set_viewport_size(SIZE)
        page.evaluate(ALONE)
        page.screenshot(path=images / "preview.png")
        draw_chapters(page, images / "chapters")
        browser.close()
    drawn = [Image.open(path) for path in states]
    strip = Image.new("RGB", (drawn[0].width, sum(each.height + 12 for each in drawn) - 12), "white")
    top = 0
    for each in drawn:
        strip.paste(each, (0, top))
        top += each.height + 12
    strip.quantize(64).save(images / "strip.png", optimize=True)
    Image.open(images / "preview.png").convert("RGB").quantize(64).save(images / "preview.png", optimize=True)
    for path in states:
        path.unlink()


if __name__ == "__main__":
    main()
