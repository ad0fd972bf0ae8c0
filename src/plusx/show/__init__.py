"""Show: what chapters draw and tabulate, as plain dicts for plotly, as HTML and as text.

Here lives nothing that measures, and nothing that knows a page.
"""

from .draw import (
    bars,
    beside,
    beside_the_stream,
    bundle,
    figure,
    heatmap,
    hline,
    line,
    log_axis,
    panel,
    points,
    vline,
    words,
)
from .drawn import along, carpet, dots, fanned, fold, river, threads, waterfall
from .tables import Table, median_and_ends, short, spread
