"""Training: small data sets, many nets side by side, and steps in which all that a reader switches is a tensor.

Here lives what changes weights. The nets are in `plusx.nets`; `step` and `sorter` bring their own.
"""

from .data import mnist, mnist1d
from .sidebyside import Adam, SideBySide, progress, train, without_bars
