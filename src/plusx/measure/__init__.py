"""Measure: what is asked of a net, how sure the answer is, and where answers that took long are kept.

Here lives nothing that draws: `plusx.show` turns measures into pictures and tables.
"""

from .asked import ask
from .gates import switches
from .kept import Disagreement, evidence
from .paired import difference, ratio
from .probes import branch_over_stream, gradient_norms, jacobian, left_of_x, norms

__all__ = [
    "Disagreement",
    "ask",
    "branch_over_stream",
    "difference",
    "evidence",
    "gradient_norms",
    "jacobian",
    "left_of_x",
    "norms",
    "ratio",
    "switches",
]
