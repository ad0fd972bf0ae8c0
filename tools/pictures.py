"""Draw the pictures by which others know the book, from pages of the built site: `python tools/pictures.py`.

images/preview.png is what a link to the book shows elsewhere, a picture in images/chapters what one to a chapter
shows; images/threads.gif, images/strip.png and images/xray.png stand in README.md.
"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from chromium import chromium  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-partial-raster"]  # the same pixels each time
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


# Threads a share of their way from one state to the other.
MOVE = """([root, from, to, share]) => root.querySelectorAll('.px-plot .px-threads').forEach((thread, at) => {
  const numbers = to[at].match(/-?[\\d.]+/g);
  let next = 0;
  thread.setAttribute('d', from[at].replace(/-?[\\d.]+/g, (was) => was * (1 - share) + numbers[next++] * share));
})"""
SHARES = 0.04, 0.16, 0.36, 0.64, 0.84, 0.96, 1
TAKE = [2000, *6 * [70], 2600, *6 * [70]]  # milliseconds for a frame: whole, on its way, cut, and back


def draw_threads(page, file):
    """Chapter 1's threads, whose fourth skip is cut and mended."""
    page.set_viewport_size({"width": 1000, "height": 900})
    page.goto((ROOT / "_build" / "html" / "chapters" / "01-f-of-x-plus-x.html").as_uri())
    root = page.locator("#explore-thirty_six_numbers")
    root.scroll_into_view_if_needed()
    page.add_style_tag(content=".px-controls, .px-data, .px-message, .bd-header-article { display: none !important }")
    ways = "root => [...root.querySelectorAll('.px-plot .px-threads')].map((thread) => thread.getAttribute('d'))"
    page.wait_for_timeout(1500)
    page.evaluate("document.fonts.ready.then(() => null)")
    frames, now = [], root.evaluate(ways)
    for _ in range(2):
        root.get_by_role("switch", name="Skip around layer 4").dispatch_event("click")
        page.wait_for_timeout(500)
        was, now = now, root.evaluate(ways)
        for share in SHARES:
            page.evaluate(MOVE, [root.element_handle(), was, now, share])
            page.wait_for_timeout(300)
            frames.append(Image.open(io.BytesIO(root.screenshot())).convert("RGB"))
    frames.insert(0, frames.pop())
    palette = frames[len(SHARES)].quantize(40, Image.Quantize.FASTOCTREE)
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(file, save_all=True, append_images=others, duration=TAKE, loop=0, optimize=True)


def draw_xray(page, file):
    """A sentence model's threads, the skip of its eighth addition cut."""
    page.set_viewport_size({"width": 1000, "height": 900})
    page.goto((ROOT / "chapters" / "data" / "minilm.html").as_uri())
    page.add_style_tag(content=".px-controls, .px-data, .px-message { display: none !important }")
    page.wait_for_function("document.querySelector('.plusx-explore').explorer")
    page.locator("[data-cut='15']").click()
    page.wait_for_timeout(500)
    page.locator(".plusx-explore").screenshot(path=file)
    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


def main():
    images, index = ROOT / "images", ROOT / "_build" / "html" / "index.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
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
        draw_threads(page, images / "threads.gif")
        draw_xray(page, images / "xray.png")
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
