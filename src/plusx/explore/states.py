"""States: every figure an explorer can show, as one common figure and what varies.

Here live evaluation, the comparison of figures, the compact encoding and the budget. How a state
looks is in `figures`; js/states.js decodes what `encode` writes.
"""

import base64
import contextlib
import gzip
import inspect
import io
import itertools
import json
import math
import random
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .controls import Control, ExploreError, name_of
from .diagram import draw
from .drawn import told, wire_of
from .figures import normalise


class Budget(NamedTuple):
    """What one explorer may cost a static page."""

    states: int = 4096
    kilobytes: int = 300  # of gzip, in 1,000 bytes
    seconds: float = 60.0  # to evaluate all states


DEFAULT = Budget()
AGAIN = 5  # so many states are computed twice


@dataclass(eq=False)
class Explorer:
    """A function with controls. Calling it calls the function. widget: its view beside a kernel."""

    function: Callable
    controls: tuple[Control, ...]
    budget: Budget
    widget: Any = None

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        return name_of(self.function)

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    @property
    def question(self) -> str:
        """What stands above the controls: the first line of the function's docstring if it asks something."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return first if first.endswith("?") else self.title

    @property
    def start(self) -> tuple[int, ...]:
        return tuple(control.start for control in self.controls)

    def describe(self, state: tuple[int, ...]) -> str:
        return ", ".join(f"{c.name}={c.labels[i]}" for c, i in zip(self.controls, state))

    def figure(self, state: tuple[int, ...]) -> tuple[str, dict]:
        """Title and normalised figure of one state, given as an index per control."""
        where = f"{self.name}({self.describe(state)})"
        try:
            returned = self.function(**{c.name: c.values[i] for c, i in zip(self.controls, state)})
        except Exception as error:
            raise ExploreError(
                f"explore: {where} raised {type(error).__name__}: {error}. "
                "Mend the function for this state, or leave its value out of the control."
            ) from error
        title, figure = normalise(returned, where)
        if "diagram" in figure:
            figure["diagram"] = draw(figure["diagram"], self.controls, state)
        elif "drawn" in figure:
            figure["diagram"] = wire_of(figure, self.controls, where)
        if "drawn" in figure:
            figure = {**{key: value for key, value in figure.items() if key != "wire"}, "words": told(figure)}
        return title, figure

    @cached_property
    def states(self) -> list[tuple[int, ...]]:
        """Every state, the last control varying fastest."""
        return list(itertools.product(*(range(len(control.values)) for control in self.controls)))

    def tabulate(self) -> list[tuple[str, dict]]:
        """`figure` of every state, in the order of `states`.

        A few states, drawn by lot, are computed twice. Raises when over budget, or when such a state differs.
        """
        sizes = [len(control.values) for control in self.controls]
        count = math.prod(sizes)
        if count > self.budget.states:
            raise self._over(f"has {count:,} states", f"{self.budget.states:,}", lambda at: 1 / sizes[at])
        ends, results = [time.perf_counter()], []
        while len(results) < count and ends[-1] - ends[0] <= self.budget.seconds:
            results.append(self._quiet(self.states[len(results)]))
            ends.append(time.perf_counter())
        if (taken := ends[-1] - ends[0]) > self.budget.seconds:
            times = list(zip(self.states, np.diff(ends)))

            def left(at: int) -> float:
                return np.mean([each for state, each in times if state[at] == 0]) / sizes[at]

            what = f"took over {taken:.0f} s for {len(results):,} of {count:,} states"
            raise self._over(what, f"{self.budget.seconds:g} s", left)
        for at in random.Random(self.name).sample(range(count), min(count, AGAIN)):
            if _key(self._quiet(self.states[at])) != _key(results[at]):
                raise ExploreError(
                    f"explore: {self.name}({self.describe(self.states[at])}) came out otherwise when called again, so "
                    "a notebook would show other numbers than the page. Seed what is random in it, "
                    "and let it change nothing outside."
                )
        return results

    def _quiet(self, state: tuple[int, ...]) -> tuple[str, dict]:
        """`figure`, and what the function prints or warns of goes nowhere: it would stand in the page, once a state."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return self.figure(state)

    def payload(self, results: list[tuple[str, dict]]) -> str:
        """The encoded table of `results`; raises when over budget."""
        text = encode(results)
        size = len(text) * 3 / 4 / 1000
        if size > self.budget.kilobytes:

            def left(at: int) -> int:
                return len(packed([each for state, each in zip(self.states, results) if state[at] == 0], 1))

            raise self._over(f"needs {size:,.0f} kB", f"{self.budget.kilobytes:,} kB", left)
        return text

    def _over(self, what: str, allowed: str, left: Callable[[int], float]) -> ExploreError:
        """left: what the explorer would cost if of a control, by its place, all values but the first were gone."""
        control = self.controls[min(range(len(self.controls)), key=left)]
        return ExploreError(
            f"explore: {self.name} {what}, the budget is {allowed}. Shorten the control "
            f"'{control.name}' ({len(control.values)} options), or return fewer points."
        )


def encode(results: list[tuple[str, dict]]) -> str:
    """`packed`, in base64: what a page holds."""
    return base64.b64encode(packed(results, 9)).decode()


def packed(results: list[tuple[str, dict]], level: int) -> bytes:
    """Gzip, at some level, of: header length (uint32), header (JSON, padded to 4 bytes), numbers.

    The header is ``{"figure", "leaves"}``: the figure all states share, with null where they
    differ, and for each such place its path, its distinct values and the index per state. An array
    stands there as ``{"$": [offset, *shape]}`` into the numbers, which are float64. Their eight bytes
    are stored as eight planes, since neighbours' exponents are alike and compress, as the zeros do
    that `spared` has left.
    """
    leaves: list[dict] = []
    common = _shared([{"title": title, **figure} for title, figure in results], [], leaves)
    offsets, numbers = {}, array("d")  # all arrays end to end, equal ones once

    def put(node: Any) -> Any:
        """The tree with its arrays replaced by references."""
        if isinstance(node, dict):
            return {key: put(value) for key, value in node.items()}
        if isinstance(node, list):
            return [put(value) for value in node]
        if not isinstance(node, np.ndarray):
            return node
        if (key := _key(node)) not in offsets:
            offsets[key] = len(numbers)
            numbers.frombytes(node.tobytes())
        return {"$": [offsets[key], *node.shape]}

    tree = put({"figure": common, "leaves": leaves})
    header = json.dumps(tree, allow_nan=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 4)
    planes = np.array(numbers, "<f8").view(np.uint8).reshape(-1, 8).T.tobytes()
    blob = np.uint32(len(header)).astype("<u4").tobytes() + header + planes
    return gzip.compress(blob, level, mtime=0)


def grids(payload: str) -> list[np.ndarray]:
    """Of each state of a drawn figure what is drawn, out of what `encode` wrote."""
    blob = gzip.decompress(base64.b64decode(payload))
    end = 4 + int.from_bytes(blob[:4], "little")
    header = json.loads(blob[4:end])
    numbers = np.frombuffer(blob[end:], np.uint8).reshape(8, -1).T.copy().view("<f8").ravel()
    leaf = next((each for each in header["leaves"] if each["path"] == ["data", 0, "z"]), None)
    if leaf is None:  # in all states the same
        count = max((len(each["index"]) for each in header["leaves"]), default=1)
        leaf = {"index": [0] * count, "values": [header["figure"]["data"][0]["z"]]}
    found = [numbers[at : at + int(np.prod(shape))].reshape(shape) for at, *shape in (z["$"] for z in leaf["values"])]
    return [found[at] for at in leaf["index"]]


def _shared(nodes: list, path: list, leaves: list[dict]) -> Any:
    """The tree that all nodes share; where they differ, None, and a leaf is recorded."""
    first = nodes[0]
    if all(isinstance(node, dict) and node.keys() == first.keys() for node in nodes):
        return {key: _shared([node[key] for node in nodes], [*path, key], leaves) for key in first}
    lists = all(isinstance(node, list) and len(node) == len(first) for node in nodes) and first
    if lists and all(isinstance(item, dict) for node in nodes for item in node):
        return [_shared([node[i] for node in nodes], [*path, i], leaves) for i in range(len(first))]
    places: dict = {}
    index = [places.setdefault(_key(node), len(places)) for node in nodes]
    if len(places) == 1:
        return first
    values = [nodes[index.index(place)] for place in range(len(places))]
    leaves.append({"path": path, "index": index, "values": values})
    return None


def _key(node: Any) -> str:
    """Equal for equal trees, whose keys are in one order."""
    return json.dumps(node, default=lambda array: [array.shape, array.tobytes().hex()])
