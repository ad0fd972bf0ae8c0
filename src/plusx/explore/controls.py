"""Controls: from `interact`'s abbreviations to finite lists of labelled values.

Here lives what a control is and which input is refused. How one looks is in `live` and `static`.
"""

import functools
import inspect
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


class ExploreError(ValueError):
    """The explorer cannot be shown; the message names the control or state and the mend."""


@dataclass(frozen=True)
class Control:
    """One control: `values[i]` is shown as `labels[i]`; `start` is the index it opens with."""

    name: str
    kind: str  # "switch", "radio", "select" or "slider"
    labels: tuple[str, ...]
    values: tuple[Any, ...]
    start: int

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    def index(self, value: Any) -> int:
        """Where a value stands among `values`. Raises ExploreError where it is none of them."""
        place = _find(value, self.values)
        if place is None:
            raise ExploreError(f"explore: control '{self.name}' is set to {value!r}, {_not_among(self.labels)}.")
        return place


def bind(function, abbreviations: dict[str, Any]) -> tuple[Control, ...]:
    """One `Control` per abbreviation, checked against the function's signature."""
    parameters = inspect.signature(function).parameters
    call = f"{name_of(function)}({', '.join(parameters)})"
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in abbreviations:
        if name not in parameters and not takes_any:
            raise ExploreError(f"explore: control '{name}' is no parameter of {call}. Rename one of the two.")
    for name, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY and name in abbreviations:
            raise ExploreError(
                f"explore: control '{name}' of {call} is positional-only. Make it a keyword: drop the '/'."
            )
        is_one = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if is_one and name not in abbreviations and parameter.default is parameter.empty:
            raise ExploreError(f"explore: {call} has no control for '{name}'. Add one, or give it a default.")
    if not abbreviations:
        raise ExploreError(f"explore: {call} has no controls. Add one, as in @explore(skip=True).")
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    none = inspect.Parameter.empty
    return tuple(_control(name, given, defaults.get(name, none)) for name, given in abbreviations.items())


def name_of(function) -> str:
    """A function's name; that of a partial is its function's."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _control(name: str, given: Any, default: Any) -> Control:
    if isinstance(given, bool):
        kind, labels, values, start = "switch", ["off", "on"], [False, True], given
    elif isinstance(given, tuple):
        kind, values = "slider", _steps(name, given)
        labels = [str(value) for value in values]
        start = values[(len(values) - 1) // 2]
    elif isinstance(given, (list, dict)):
        pairs = list(given.items()) if isinstance(given, dict) else [_pair(option) for option in given]
        if not pairs:
            raise ExploreError(f"explore: control '{name}' has no options. List at least one.")
        labels, values = [str(label) for label, _ in pairs], [value for _, value in pairs]
        kind, start = _kind(values, isinstance(given, list)), values[0]
    else:
        raise ExploreError(
            f"explore: control '{name}' is {given!r}, which cannot be tabulated. "
            "Give a bool, a list, a dict of label to value, or (min, max[, step])."
        )
    for label in labels:
        if re.search(r" at 0x[0-9a-f]{6,}", label):
            raise ExploreError(
                f"explore: control '{name}' has an option whose label is an address in memory, {label}. "
                "Each build would have other links: give (label, value) pairs."
            )
        if labels.count(label) > 1:
            raise ExploreError(f"explore: control '{name}' has the label '{label}' twice. Make labels differ.")
    if default is not inspect.Parameter.empty:
        start = default
    place = _find(start, values)
    if place is None:
        raise ExploreError(f"explore: control '{name}' starts at {start!r}, {_not_among(labels)} as the default.")
    return Control(name, kind, tuple(labels), tuple(values), place)


def _find(value: Any, values: Iterable) -> int | None:
    """The place of a value among others; True is not 1 here."""
    for place, own in enumerate(values):
        if own is value or (type(own) is type(value) or is_number(own) and is_number(value)) and own == value:
            return place
    return None


def _not_among(labels) -> str:
    return f"which is not among {', '.join(labels[:8])}{', …' if len(labels) > 8 else ''}. Use one of them"


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _pair(option: Any) -> tuple[Any, Any]:
    return option if isinstance(option, tuple) and len(option) == 2 else (option, option)


def _kind(values: list, unlabelled: bool) -> str:
    rising = all(map(is_number, values)) and all(a < b for a, b in zip(values, values[1:]))
    if unlabelled and rising and len(values) >= 5:
        return "slider"
    return "radio" if len(values) <= 5 else "select"


def _steps(name: str, given: tuple) -> list:
    """The values of ``(min, max[, step])``; the step is 1 for ints and 0.1 for floats, as in interact."""
    if len(given) not in (2, 3) or not all(is_number(number) and math.isfinite(number) for number in given):
        raise ExploreError(f"explore: control '{name}' is {given!r}; a slider takes (min, max) or (min, max, step).")
    whole = all(isinstance(number, Integral) for number in given)
    low, high, step = given if len(given) == 3 else (*given, 1 if whole else 0.1)
    if step <= 0 or low > high:
        raise ExploreError(f"explore: control '{name}' is {given!r}; a slider needs min <= max and step > 0.")
    count = int((high - low) / step + 1e-9) + 1
    return [round(low + index * step, 10) for index in range(count)]  # ints stay ints
