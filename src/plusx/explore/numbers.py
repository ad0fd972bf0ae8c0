"""Numbers: as many bits of each as a picture can show, and as many digits in words as tell a column's rows apart.

Here live the rounding of what a page holds and the writing of numbers; js/numbers.js writes the same to the letter.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context

import numpy as np

from .controls import is_number

BITS = 20  # of an axis' width: half of the last is a tenth of a pixel of 2,000, after a zoom by 100
OWN = 15  # and behind the first of each number, whose table shows four digits
PLACED = {"scatter": "xy", "bar": "xy", "heatmap": "xyz", "contour": "xyz", "surface": "xyz"}  # by their numbers


def spared(results: list[tuple[str, dict]]) -> list[tuple[str, dict]]:
    """The results less the bits that no picture shows: off by half a step of `BITS`, of a number and of its axis.

    Kept is what tells two x apart, and all that is read rather than placed: names, times, text.
    """
    ranges: dict[str, float] = {}  # the narrowest of all states, for one's lines stay as ghosts in another
    for _, figure in results:
        for name, axis in _axes(figure).items():
            low, high = axis.get("range") or (None, None)
            if all(isinstance(end, (int, float)) for end in (low, high)):
                ranges[name] = min(ranges.get(name, np.inf), abs(high - low))
    return [(title, {**figure, "data": _spared(figure, ranges)}) for title, figure in results]


def _spared(figure: dict, ranges: dict[str, float]) -> list[dict]:
    axes, spans = _axes(figure), {}
    placed = []
    for at, trace in enumerate(figure["data"]):
        for key in PLACED.get(trace.get("type", "scatter"), ""):
            axis = _axis(figure, trace, key, at)
            kind = axes.get(axis, {}).get("type", "linear")
            if isinstance(trace.get(key), np.ndarray) and kind in ("linear", "-", "log"):
                placed.append((at, key, axis, kind == "log"))
                shown = trace[key][np.isfinite(trace[key])]
                shown = np.log10(shown[shown > 0]) if kind == "log" else shown
                if shown.size:
                    low, high = spans.get(axis, (np.inf, -np.inf))
                    spans[axis] = min(low, shown.min()), max(high, shown.max())
    data = [dict(trace) for trace in figure["data"]]
    for at, key, axis, log in placed:
        with np.errstate(over="ignore"):
            width = ranges.get(axis) or min(np.subtract(*spans.get(axis, (0, 0))[::-1]), np.finfo(float).max)
        apart = key == "x" or key == "y" and data[at].get("z") is not None
        data[at][key] = _rounded(data[at][key], width, log, apart)
    return data


def _axes(figure: dict) -> dict[str, dict]:
    """The axes of a figure by their names, those of its scene too; the heights of a drawn one are an axis."""
    layout = figure["layout"]
    axes = {key: axis for key, axis in layout.items() if key[1:5] == "axis"}
    scenes = [name for name in layout if name.startswith("scene")]
    axes |= {f"{name}.{key}": axis for name in scenes for key, axis in layout[name].items() if key[1:5] == "axis"}
    return axes | ({"z": {"range": figure["span"]}} if "drawn" in figure else {})


def _axis(figure: dict, trace: dict, key: str, at: int) -> str:
    if trace.get("type") == "surface":
        return f"{trace.get('scene', 'scene')}.{key}axis"
    return f"{key}axis{trace.get(f'{key}axis', key)[1:]}" if key != "z" else "z" if "drawn" in figure else f"z{at}"


def _rounded(values: np.ndarray, width: float, log: bool, apart: bool) -> np.ndarray:
    """The values to `BITS` of their own and of the axis' width; all of them where two would fall together.

    log: width is that of their logarithms. apart: whether two must not.
    """
    finite = values[np.isfinite(values)]
    spread = finite.max() / 2 - finite.min() / 2 if finite.size else 0  # a table shows four digits of it
    spread = 0 if _is_noise(spread, finite / 2) else spread
    exponents = np.frexp(values)[1]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reach = np.abs(values) * np.log(10) * width if log else width
        steps = np.minimum(exponents - 1.0 - OWN, np.floor(np.log2(reach)) - BITS)
        steps = np.minimum(steps, np.floor(np.log2(spread or width)) - OWN)
        steps = np.maximum(np.nan_to_num(steps, neginf=-3000), exponents - 53).astype(int)  # all that a double has
        rounded = np.ldexp(np.rint(np.ldexp(values, -steps)), steps)
    rounded = np.where(np.isfinite(rounded), rounded, values)
    return values if apart and len(np.unique(rounded)) < len(np.unique(values)) else rounded


def number(value: float, digits: int = 4) -> str:
    """So many significant digits, ties away from zero."""
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = float(Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(float(value)))
    if 1e-3 <= abs(rounded) and abs(value) < max(1e5, 10.0**digits):
        return np.format_float_positional(rounded, trim="-")
    mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent):+d}"


def cells(values: Sequence, apart: bool = False) -> list[str]:
    """The values of a column in words: four digits of the largest and of how far they lie apart.

    apart: or as many as it takes until no two that differ are written alike.
    """
    numbers = {float(v) for v in values if is_number(v) and np.isfinite(v)}
    digits = 4
    if len(numbers) > 1 and (far := max(numbers) - min(numbers)) < np.inf and not _is_noise(far, np.array([*numbers])):
        digits = min(max(4, 4 + _power(max(map(abs, numbers))) - _power(far)), 17)
    while apart and digits < 17 and len({number(value, digits) for value in numbers}) < len(numbers):
        digits += 1
    return [_cell(value, digits) for value in values]


def _is_noise(far: float, values: np.ndarray) -> bool:
    """Whether values that lie so far apart differ by the rounding of a sum alone."""
    return far < 2**-44 * np.abs(values).max(initial=0) and (values != np.rint(values)).any()


def _cell(value, digits: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(value, digits) if is_number(value) else "–" if value is None else str(value)


def _power(value: float) -> int:
    return int(f"{value:.16e}".split("e")[1])
