"""A second reader of the format `plusx.explore.states.encode` documents, in Python and apart from the browser's."""

import base64
import gc
import gzip
import json
import random
import re
from pathlib import Path

import numpy as np

from plusx.explore import Explorer
from plusx.explore.legend import for_page, legend
from plusx.panels.playground.page import START, look_at, pack


def decode(payload: str) -> tuple[dict, list[dict]]:
    """The common figure and the leaves, arrays restored to float64."""
    return decode_bytes(base64.b64decode(payload))


def decode_bytes(packed: bytes) -> tuple[dict, list[dict]]:
    blob = gzip.decompress(packed)
    length = int.from_bytes(blob[:4], "little")
    header = json.loads(blob[4 : 4 + length])
    planes = np.frombuffer(blob[4 + length :], np.uint8).reshape(8, -1)
    numbers = sum(plane.astype(np.uint64) << np.uint64(8 * i) for i, plane in enumerate(planes)).view(np.float64)

    def restore(node):
        if isinstance(node, list):
            return [restore(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$" in node:
            offset, *shape = node["$"]
            return numbers[offset : offset + int(np.prod(shape))].reshape(shape)
        return {key: restore(value) for key, value in node.items()}

    header = restore(header)
    return header["figure"], header["leaves"]


def state(figure: dict, leaves: list[dict], at: int) -> dict:
    """The figure of state number `at`."""

    def copied(node):
        if isinstance(node, dict):
            return {key: copied(value) for key, value in node.items()}
        return [copied(item) for item in node] if isinstance(node, list) else node

    figure = copied(figure)
    for leaf in leaves:
        node = figure
        for key in leaf["path"][:-1]:
            node = node[key]
        node[leaf["path"][-1]] = leaf["values"][leaf["index"][at]]
    return figure


def assert_same(shown, live, where=""):
    """Equal trees, numbers within what `spared` may leave out at most, NaN and infinities in the same places."""
    if isinstance(live, np.ndarray):
        assert shown.shape == live.shape, where
        np.testing.assert_allclose(shown, live, rtol=2.0**-16, atol=0, equal_nan=True, err_msg=where)
    elif isinstance(live, dict):
        assert shown.keys() == live.keys(), where
        for key in live:
            assert_same(shown[key], live[key], f"{where}.{key}")
    elif isinstance(live, list):
        assert len(shown) == len(live), where
        for i, (a, b) in enumerate(zip(shown, live)):
            assert_same(a, b, f"{where}[{i}]")
    else:
        assert type(shown) is type(live) and shown == live, where


def payload(page: str, id: str) -> str:
    """What `encode` wrote for an explorer of a built page, from the script beside the page."""
    text = Path(page).read_text()
    source = re.search(r'class="px-states" data-src="([^"]+)"', text[text.index(f'id="{id}"') :])[1]
    return (Path(page).parent / source).read_text().split('"')[-2]


def assert_page_shows(page: str, namespace: dict) -> None:
    """The explorers of a chapter draw in states drawn by lot what its page's tables hold for them.

    page: the file of the page. namespace: the globals of the chapter's notebook, run where explorers are live.
    """
    text = Path(page).read_text()
    # What a method has shown has no name in the notebook.
    alive = {each.name: each for each in gc.get_objects() if type(each) is Explorer}
    explorers = [each for name, each in alive.items() if f'id="explore-{name}"' in text]
    playgrounds = text.count('class="plusx-playground"')
    panels = playgrounds + text.count('class="plusx-lanes"')
    assert len(explorers) + panels == text.count('class="px-states" data-src=') > 0
    if playgrounds:
        presets = {
            name: look_at(net, START[name]["start"], namespace["presets"]) for name, net in namespace["nets"].items()
        }
        shown, live = (np.frombuffer(blob, np.uint8).reshape(2, -1).astype(int) for blob in (
            gzip.decompress(base64.b64decode(payload(page, "playground"))), pack(presets)))  # fmt: skip
        assert np.abs(shown[0] + 256 * shown[1] - live[0] - 256 * live[1]).max() <= 1
    for explorer in explorers:
        figure, leaves = decode(payload(page, f"explore-{explorer.name}"))
        lot = random.Random(explorer.name).sample(range(len(explorer.states)), min(40, len(explorer.states)))
        for at in lot:  # not in the order in which the page's were drawn: a state must not depend on the one before
            indices = explorer.states[at]
            title, live = explorer.figure(indices)
            where = f"{explorer.name}({explorer.describe(indices)})"
            drawn = {"title": title, **for_page(live), "legend": legend(live, turns=True)}
            assert_same(state(figure, leaves, at), drawn, where)
