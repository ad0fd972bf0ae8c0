"""The book kept on a device: all of it opens when the server is gone, and a new edition takes the old one's place."""

import contextlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from browser import PLAYGROUND, SAMPLES, serve
from offline import WORKER, offer_to_keep
from test_site import explorers, in_lab, press_until_changed, ready

KEPT = "Kept. The book opens here without a network."
NEWER = "Kept. A new edition is here too, and opens once all pages of the book were closed."


class Copied(NamedTuple):
    folder: Path
    url: str
    stop: Callable


@pytest.fixture
def copied(site, tmp_path):
    """The site at an address of its own, and how to stop its server."""
    shutil.copytree(site, tmp_path / "site")
    with contextlib.ExitStack() as stack:
        yield Copied(tmp_path / "site", stack.enter_context(serve(tmp_path / "site")), stack.close)


def offer(page):
    return page.locator(".px-offline")


def use(page, button, answer):
    offer(page).get_by_role("button", name=button).click()
    offer(page).get_by_role("status").get_by_text(answer, exact=True).wait_for()


def opened_anew(page, title):
    """The page closed and opened until its title is the new one: browsers let a worker go a moment after its pages."""
    reader, url = page.context, page.url
    for _ in range(40):
        page.close()
        time.sleep(0.25)
        page = reader.new_page()
        page.goto(url)
        if page.title().startswith(title):
            return page
    raise AssertionError(f"after ten seconds the title is still {page.title()}")


def test_a_kept_book_works_when_the_network_is_gone(copied, open_page):
    page, foreign, errors = open_page(f"{copied.url}/", solid=True)
    use(page, "Keep the book on this device", KEPT)
    copied.stop()
    assert page.evaluate("fetch('chapters/glossary.html').then(answer => answer.ok)")  # the page that was open, too
    for name in [*SAMPLES, "chapters/glossary.html", "search.html"]:
        page.goto(f"{copied.url}/{name}")
        in_lab(page)
        ready(page)
        for root in explorers(page):
            press_until_changed(page, root, root.locator(".px-result").text_content())
    page.goto(f"{copied.url}/{PLAYGROUND}")
    page.click(".pn-load")
    page.wait_for_function("document.querySelector('.plusx-playground').plusx.engine")
    page.goto(f"{copied.url}/")
    offer(page).get_by_role("status").get_by_text(KEPT, exact=True).wait_for()
    assert foreign == [] and errors == []


def test_a_new_edition_takes_over_when_the_old_one_is_closed(copied, open_page):
    page, _, errors = open_page(f"{copied.url}/", solid=False)
    use(page, "Keep the book on this device", KEPT)
    index = copied.folder / "index.html"
    index.write_text(index.read_text(encoding="utf8").replace("<title>", "<title>New: "), encoding="utf8")
    offer_to_keep(copied.folder)
    page.reload()  # the browser looks for a new edition, and goes on with the old one meanwhile
    assert not page.title().startswith("New: ")
    offer(page).get_by_role("status").get_by_text(NEWER, exact=True).wait_for()
    page.reload()
    offer(page).get_by_role("status").get_by_text(NEWER, exact=True).wait_for()
    page = opened_anew(page, "New: ")
    offer(page).get_by_role("status").get_by_text(KEPT, exact=True).wait_for()
    assert len(page.evaluate("caches.keys()")) == 1
    assert errors == []


def test_a_removed_book_leaves_nothing_behind(copied, open_page):
    page, _, errors = open_page(f"{copied.url}/", solid=False)
    use(page, "Keep the book on this device", KEPT)
    use(page, "Remove it from this device", "Removed.")
    assert page.evaluate("caches.keys()") == []
    page.reload()
    assert offer(page).get_by_role("button", name="Keep the book on this device").is_enabled()
    assert page.evaluate("navigator.serviceWorker.getRegistration().then(found => found === undefined)")
    assert page.evaluate("caches.keys()") == [] and errors == []


def test_a_book_that_cannot_be_fetched_whole_is_not_kept_and_it_is_said(copied, open_page):
    (copied.folder / "chapters" / "glossary.html").unlink()
    page, _, _ = open_page(f"{copied.url}/", solid=False)
    failed = "That did not work: the network or the space on this device gave out."
    use(page, "Keep the book on this device", failed)
    assert page.evaluate("caches.keys()") == []
    assert offer(page).get_by_role("button", name="Keep the book on this device").is_enabled()


def test_from_disk_nothing_is_offered(site, open_page):
    page, _, errors = open_page((site / "index.html").as_uri())
    assert offer(page).count() == 1 and offer(page).is_hidden() and errors == []


def test_chromium_reads_the_manifest(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/", solid=False)
    offer(page).wait_for()
    found = page.context.new_cdp_session(page).send("Page.getAppManifest")
    manifest = found["manifest"]
    assert found["errors"] == [] and manifest["startUrl"] == manifest["scope"] == f"{site_url}/"
    (icon,) = manifest["icons"]
    assert page.request.get(icon["url"]).ok


def test_the_offer_says_how_much_it_takes(site):
    (said,) = re.findall(r'data-megabytes="(\d+)"', (site / "index.html").read_text(encoding="utf8"))
    kept = [path for path in site.rglob("*") if path.is_file() and path.suffix != ".map" and path.name != WORKER]
    assert abs(sum(path.stat().st_size for path in kept) / 1e6 - int(said)) < 1
