"""Tables: what a chapter measured, as HTML in a page and in JupyterLab, as aligned text elsewhere.

Here lives how a number and the spread of several runs are written, too.
"""

import html

import numpy as np


def short(value) -> str:
    """A number in two significant digits, from 10 to a million as a whole one."""
    return _written(value, ".0f" if 10 <= abs(float(value)) < 1000 else ".2g")


def spread(values, spec="") -> str:
    """Median, least and greatest of several runs, such as "0.52 (0.41 to 0.60)".

    values: numbers of any shape. spec: how each is written, as after the colon of an f-string, or else by `short`.
    """
    return "{} ({} to {})".format(*median_and_ends(values, spec))


def median_and_ends(values, spec="") -> list[str]:
    """Median, least and greatest, for three columns of a `Table`. values, spec: as for `spread`."""
    v = np.asarray(values, float)
    return [_written(number, spec) if spec else short(number) for number in (np.median(v), v.min(), v.max())]


def _written(value, spec: str) -> str:
    """With a true minus and none before a zero, and below a million without an exponent: 66,000 and not 6.6e+04."""
    text = format(float(value), f"z{spec}")
    if "e+" in text and abs(float(text)) < 1e6:
        text = f"{float(text):,.0f}"
    return "−" + text[1:] if text.startswith("-") else text


class Table:
    """Rows of cells under a caption.

    caption: what was measured, and in how many runs. columns: their headings; the first column names the rows.
    Columns of numbers stand on the right, all others on the left.
    """

    def __init__(self, caption: str, *columns: str):
        self.caption, self.columns = caption, columns
        self.groups: list[tuple[str, list[list[str]]]] = [("", [])]

    def group(self, name):
        """Start a group: the rows that follow stand below this name."""
        self.groups.append((str(name), []))

    def row(self, *cells):
        """Add a row. ValueError: it has more or fewer cells than the table has columns."""
        if len(cells) != len(self.columns):
            raise ValueError(
                f"Table.row: {len(cells)} cells for the {len(self.columns)} columns {self.columns}: {cells}"
            )
        self.groups[-1][1].append([str(cell) for cell in cells])

    def __repr__(self) -> str:
        groups = [(name, [["  " * bool(name) + row[0], *row[1:]] for row in rows]) for name, rows in self.groups]
        columns = list(zip(self.columns, *(row for _, rows in groups for row in rows)))
        places = [(max(map(len, column)), right) for column, right in zip(columns, self._right())]

        def aligned(row):
            cells = (cell.rjust(width) if right else cell.ljust(width) for cell, (width, right) in zip(row, places))
            return "  ".join(cells).rstrip()

        lines = [self.caption, aligned(self.columns)]
        for name, rows in groups:
            lines += [name] * bool(name) + [aligned(row) for row in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        looks = ["" if right else ' style="text-align: left"' for right in self._right()]

        def row(tags, cells):
            parts = zip(tags, looks, map(html.escape, cells))
            return f"<tr>{''.join(f'<{tag}{look}>{cell}</{tag[:2]}>' for tag, look, cell in parts)}</tr>\n"

        head = ['th scope="col"' if heading else "td" for heading in self.columns]
        body = ['th scope="row"'] + ["td"] * (len(self.columns) - 1)
        whole = f'th scope="rowgroup" colspan="{len(self.columns)}" style="text-align: left"'
        groups = ""
        for name, rows in self.groups:
            named = f"<tr><{whole}>{html.escape(name)}</th></tr>\n" if name else ""
            groups += f"<tbody>{named}{''.join(row(body, cells) for cells in rows)}</tbody>" if name or rows else ""
        # The theme lets what has its class scroll in its own box.
        return (
            '<div class="px-measured pst-scrollable-table-container"><table>'
            f"<caption>{html.escape(self.caption)}</caption>"
            f"<thead>{row(head, self.columns)}</thead>{groups}</table></div>"
        )

    def _right(self) -> list[bool]:
        """Of each column, whether it stands on the right: it has digits, and no cell of more than one word."""
        columns = ["".join(column) for column in zip(*(row for _, rows in self.groups for row in rows))]
        right = [any(map(str.isdigit, each)) and " " not in each for each in columns]
        return right or [False] * len(self.columns)
