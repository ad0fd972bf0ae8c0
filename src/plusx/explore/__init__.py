"""Toggles that live with a kernel and without one.

Here lives `explore`, the one name a chapter imports. Nothing in this package knows torch:
an explorer is any function from control values to a plotly figure.
"""

import os

from .controls import ExploreError, bind
from .saved import show
from .states import DEFAULT, Budget, Explorer
from .static import fragment

__all__ = ["Budget", "ExploreError", "Explorer", "explore"]


def explore(budget: Budget = DEFAULT, /, **abbreviations):
    """Show a function of discrete controls as an interactive figure.

    In a live notebook a state calls the function when it is first asked for; the notebook's file
    keeps a picture and the data of the start state.
    While the book is built (environment variable ``PLUSX_EXPLORE=static``) the function is
    called once per state, and the page gets the same view over the tabulated figures.

    Parameters
    ----------
    budget
        What the tabulated page may cost; only the static page enforces it.
    abbreviations
        One per control, written as for ``ipywidgets.interact``: a bool, a list of values, a list
        of ``(label, value)`` pairs, a dict of label to value, or ``(min, max[, step])``.
        A default in the function's signature is the control's start value.

    Returns
    -------
    A decorator. It shows the explorer and returns an `Explorer`, which calls like the function. In a live notebook
    its `widget` is an ipywidget with a trait for each control; while a book is built it is None.
    A docstring whose first line is a question puts it above the controls.
    The function returns a plotly figure, or its plain dict, with a ``layout.title`` that states
    the result of that state in words.

    Raises
    ------
    ExploreError
        Naming the control or the state that is wrong, and how to mend it.
    """

    def decorate(function) -> Explorer:
        from .live import Live  # with anywidget and ipywidgets

        explorer = Explorer(function, bind(function, abbreviations), budget)
        if os.environ.get("PLUSX_EXPLORE") == "static":
            from IPython.display import HTML, display

            Live.check(explorer.controls)  # as a widget does itself
            display(HTML(fragment(explorer)))
        else:
            explorer.widget = Live(explorer)
            show(explorer.widget)
        return explorer

    return decorate
