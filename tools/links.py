"""Ask every other host that the built site links to whether the page is still there.

Run weekly, never by `make test`: it needs the network, and others may be down. A page is gone if it answers
404 or 410, if its host has no name or no answer; a host that turns scripts away (403, 429, 5xx) is only listed.
"""

import argparse
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urldefrag, urlsplit
from urllib.request import Request, urlopen

SITE = Path(__file__).parents[1] / "_build" / "html"
GONE = (404, 410)
TRIES = 3
HOSTS_AT_ONCE = 8


class Links(HTMLParser):
    """The addresses of a page's links to other hosts, without fragments."""

    def __init__(self, text: str):
        super().__init__()
        self.found = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        address = dict(attrs).get("href") or ""
        if tag == "a" and urlsplit(address).scheme in ("http", "https"):
            self.found.add(urldefrag(address).url)


def links(site: Path) -> dict[str, list[str]]:
    """Address -> the pages that link to it."""
    found = defaultdict(list)
    for page in sorted(site.rglob("*.html")):
        for address in Links(page.read_text(encoding="utf8")).found:
            found[address].append(page.relative_to(site).as_posix())
    return dict(sorted(found.items()))


def ask(address: str, timeout: float) -> int | str:
    """The status of an address, or why there is none."""
    request = Request(address, headers={"User-Agent": "Mozilla/5.0 (plusx link check)", "Accept": "text/html,*/*"})
    try:
        with urlopen(request, timeout=timeout) as answer:
            return answer.status
    except HTTPError as error:
        return error.code
    except (OSError, HTTPException, ValueError) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__


def ask_host(addresses: list[str], timeout: float, pause: float) -> dict[str, int | str]:
    """Status of each address of one host, one after the other; only what may pass is asked again."""
    answers = {}
    for address in addresses:
        for attempt in range(TRIES):
            time.sleep(pause * (1 + 4 * attempt))
            answers[address] = ask(address, timeout)
            if isinstance(answers[address], int) and answers[address] < 500 and answers[address] != 429:
                break
    return answers


def check(site: Path, timeout: float, pause: float) -> tuple[list[str], list[str]]:
    """What to say of links that are gone, and of those that could not be checked."""
    pages = links(site)
    hosts = defaultdict(list)
    for address in pages:
        hosts[urlsplit(address).netloc].append(address)
    with ThreadPoolExecutor(HOSTS_AT_ONCE) as pool:
        jobs = [pool.submit(ask_host, addresses, timeout, pause) for addresses in hosts.values()]
        answers = {address: answer for job in jobs for address, answer in job.result().items()}
    gone, unknown = [], []
    for address in pages:
        line = f"{answers[address]}  {address}  in {', '.join(pages[address])}"
        if isinstance(answers[address], str) or answers[address] in GONE:
            gone.append(line)
        elif answers[address] >= 300:  # a redirect that ends nowhere is one
            unknown.append(line)
    print(f"{len(pages)} links to {len(hosts)} hosts: {len(gone)} gone, {len(unknown)} could not be checked.")
    return gone, unknown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, default=SITE)
    parser.add_argument("--timeout", type=float, default=30, help="seconds for an answer")
    parser.add_argument("--pause", type=float, default=1, help="seconds between two questions to one host")
    given = parser.parse_args()
    if not (given.site / "index.html").exists():
        print(f"{given.site} has no index.html. Build the book first: make book", file=sys.stderr)
        return 2
    gone, unknown = check(given.site, given.timeout, given.pause)
    for heading, lines in (("Gone:", gone), ("Could not be checked:", unknown)):
        if lines:
            print(heading, *lines, sep="\n  ")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
