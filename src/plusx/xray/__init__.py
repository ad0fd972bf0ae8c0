"""X-ray: somebody's own net, drawn as this book draws its nets, in words, in a notebook and as one file.

Here lives what is remarkable and how it looks; how additions are found, cut and asked lives in `plusx.measure`.
"""

from .net import Xray, opened, xray
from .pair import Pair, beside

__all__ = ["Pair", "Xray", "beside", "opened", "xray"]
