"""Each paragraph that sets a picture, and what the picture then says of itself: for a reader's eye, before a release.

    make captions > captions.txt
    .venv/bin/python tests/captions.py chapters/02-gradients-through-depth.html

The caption is computed by torch, so where the two disagree the sentence is wrong. No test can tell.
"""

import sys

from browser import FLAGS, ROOT, SOLID
from chromium import chromium
from playwright.sync_api import sync_playwright

SITE = ROOT / "_build" / "html"
LINKS = """() => [...document.querySelectorAll(".bd-article :is(p, li, td, dd) a[href^='#'][href*='?']")].map((a) =>
    [a.closest("p, li, td, dd").textContent.replace(/\\s+/g, " ").trim(), a.textContent, a.getAttribute("href")])"""
CAPTION = """async (link) => {
    const root = document.getElementById(`explore-${link.slice(1).split("?")[0]}`);
    if (!root) return null; // a panel, which trains
    root.scrollIntoView();
    await new Promise((done) => setTimeout(done, 250)); // until it has its states
    root.dataset.show = link;
    root.dispatchEvent(new Event("px-show"));
    await new Promise((done) => setTimeout(done, 250));
    return root.querySelector(".px-result").textContent + root.querySelector(".px-message").textContent; }"""


def main(pages):
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=chromium(), args=FLAGS + SOLID).new_page()
        page.emulate_media(reduced_motion="reduce")
        for path in pages:
            page.goto(path.as_uri())
            page.evaluate("document.documentElement.dataset.reading = 'lab'")  # its notes, too
            told = None
            for paragraph, words, link in page.evaluate(LINKS):
                caption = page.evaluate(CAPTION, link)
                if caption and paragraph != told:
                    print(f"\n{path.stem}: {paragraph}")
                    told = paragraph
                if caption:
                    print(f"  [{words}] {caption}", flush=True)


if __name__ == "__main__":
    main([SITE / name for name in sys.argv[1:]] or sorted([*SITE.glob("*.html"), *SITE.glob("chapters/*.html")]))
