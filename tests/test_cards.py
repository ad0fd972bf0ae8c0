"""The first page's cards: each has its chapter's number."""

import re


def test_every_card_shows_its_chapter_s_number(site_url, open_page):
    page, _, _ = open_page(f"{site_url}/index.html")
    found = page.evaluate("""() => [...document.querySelectorAll('.px-chapters li')].map((card) => [
        card.querySelector('a').getAttribute('href'),
        getComputedStyle(card).counterIncrement,
        card.closest('ol').start + [...card.parentElement.children].indexOf(card)])""")
    assert [int(re.search(r"/(\d+)-", address)[1]) for address, *_ in found] == list(range(1, 21))
    for address, increment, number in found:
        assert (increment, number) == ("list-item 1", int(re.search(r"/(\d+)-", address)[1]))
