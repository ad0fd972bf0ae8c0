"""What the panels' markup shares: a stage for a script with what it needs to know, and what is there without one."""

import base64
import gzip
import html
import json

import numpy as np

from ..explore.static import opening, states

STAGE = '<div class="pn-stage"></div>\n'


def panel(kind: str, setup: dict, stage=STAGE, **attributes) -> str:
    """A panel's markup. setup: for its script. attributes: of its tag."""
    data = json.dumps(setup, separators=(",", ":")).replace("<", "\\u003c")
    script = f'<script type="application/json" class="pn-setup">{data}</script>'
    return f"{opening(kind, **attributes)}\n{stage}{script}\n</div>"


def beforehand(what: str, tables: str, packed: bytes) -> str:
    """What was computed for a page without a kernel: tables for who has no script, and numbers for the script."""
    return f"""<noscript><p class="px-message">{what} JavaScript, the table below does not.</p></noscript>
<details class="pg-table"><summary>The presets as a table</summary>
<div class="px-table" role="region" aria-label="The presets as a table" tabindex="0">{tables}</div></details>
{states(base64.b64encode(gzip.compress(packed, 9, mtime=0)).decode())}
"""


def planes(parts) -> bytes:
    """Tensors as whole numbers of 16 bits: the low bytes, then the high ones, which compress better apart.

    ValueError: one is beyond 16 bits.
    """
    numbers = np.concatenate([part.double().numpy().ravel() for part in parts])
    if not (numbers.min() >= -0.5 and numbers.max() < 65535.5):
        raise ValueError(f"planes: numbers from {numbers.min()} to {numbers.max()} do not fit 16 bits.")
    return np.rint(numbers).astype("<u2").view(np.uint8).reshape(-1, 2).T.tobytes()


def table(caption: str, head, rows) -> str:
    """Rows of words as HTML; the first of each names it."""
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    cells = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>"
    )
