"""What two arms of an experiment, run with the same seeds, allow to be said.

Here live intervals and the words that they permit; where the numbers come from is no matter.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """The mean difference of two arms or their mean ratio, and its 95 % interval.

    none: what no difference would be, 0 or 1.
    small, great: the margin around it, within which a difference does not count.
    """

    middle: float
    low: float
    high: float
    none: float
    small: float
    great: float

    @property
    def words(self):
        """'no difference' inside the margin; 'smaller' or 'larger' where the interval leaves `none` out, and
        'slightly' where both hold; else 'not settled'."""
        within = self.small <= self.low and self.high <= self.great
        side = "smaller" if self.high < self.none else "larger" if self.low > self.none else ""
        if within:
            return f"slightly {side}" if side else "no difference"
        return side or "not settled"

    def __str__(self):
        middle, low, high = (f"{round(v, 2) + 0.0:.2f}".replace("-", "−") for v in (self.middle, self.low, self.high))
        return f"{middle} ({low} to {high})"


def difference(a, b, margin):
    """a - b, seed by seed: both (seeds,), the same seeds in the same order.

    margin: the greatest difference that would not count, set before the runs.

    ValueError: the arms have other shapes, fewer than three seeds, or a number that is not finite.
    """
    return Comparison(*interval(a, b), 0, -margin, margin)


def ratio(a, b, margin):
    """a / b, seed by seed, for what is above zero, such as losses: the geometric mean.

    margin: the greatest ratio that would not count, such as 1.1; its inverse is the least.

    ValueError: as for `difference`; a number that is not above zero.
    """
    a, b = np.asarray(a), np.asarray(b)
    least = min(a.min(), b.min())
    if least <= 0:
        raise ValueError(f"ratio: the least number is {least}; expected numbers above 0.")
    return Comparison(*np.exp(interval(np.log(a), np.log(b))), 1, 1 / margin, margin)


def interval(a, b):
    """Mean of a - b and the 95 % interval of Student's t around it."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 3 or not np.isfinite(a - b).all():
        raise ValueError(
            f"paired: arms of shapes {a.shape} and {b.shape}; expected (seeds,) twice, three seeds or more, "
            "all numbers finite."
        )
    reach = t_95(len(a) - 1) * (a - b).std(ddof=1) / np.sqrt(len(a))
    return (a - b).mean() + reach * np.array([0, -1, 1])


@cache
def t_95(freedom):
    """What |t| stays below in 95 % of cases.

    With t = sqrt(freedom) tan(angle), the density of the angle is cos(angle)^(freedom - 1).
    """
    angle = np.linspace(0, np.pi / 2, 100_001)
    density = np.cos(angle) ** (freedom - 1)
    share = np.cumsum((density[1:] + density[:-1]) / 2)
    return np.sqrt(freedom) * np.tan(np.interp(0.95, share / share[-1], angle[1:]))
