"""Live: an explorer beside a kernel, the same view as in a page; a state that nobody has seen calls the function.

Here live the messages between the two. The view itself is in `js/`.
"""

import functools
import gzip
from importlib.resources import files
from pathlib import Path

import anywidget
import traitlets

from ..sphinx.markup import opening
from .controls import Control, ExploreError
from .drawn import known_as
from .figures import HEIGHT
from .saved import saved
from .states import Explorer, packed
from .static import as_seen, markup, still_picture

HERE = Path(__file__).parent
STYLES = HERE / "explore.css", HERE / "diagram.css"


class Choice(traitlets.TraitType):
    """A control as a trait: in Python one of its values, between kernel and view the value's index."""

    def __init__(self, control: Control):
        super().__init__(control.values[control.start])
        self.control = control
        self.tag(
            sync=True,
            to_json=lambda value, widget: control.index(value),
            from_json=lambda index, widget: control.values[index],
        )

    def validate(self, widget, value):
        try:
            return self.control.values[self.control.index(value)]
        except ExploreError as error:
            raise traitlets.TraitError(str(error)) from None


def joined(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf8") for path in paths)


class Asking(anywidget.AnyWidget):
    """Markup that asks its kernel: `answer` says what. kept: what the notebook's file holds beside it, by MIME type."""

    markup = traitlets.Unicode().tag(sync=True)
    kept: dict[str, str] = {}

    def __init__(self, markup: str):
        super().__init__(markup=markup)
        self.on_msg(lambda widget, question, buffers: self.answer(question))

    def _repr_mimebundle_(self, **how):
        view, metadata = super()._repr_mimebundle_(**how)
        return {**view, **self.kept}, metadata


class Live(Asking):
    """A trait for each control, and answers to {state} and {plotly}.

    A view asks for the states that it lacks; what the kernel sends, every view hears.
    computed: the states asked for so far, packed.
    """

    _esm = joined(HERE / "built" / "explore-widget.js")
    _css = joined(*STYLES)
    explorer: Explorer | None = None
    computed: dict[tuple[int, ...], bytes] = {}

    @classmethod
    def check(cls, controls: tuple[Control, ...]):
        """Refuse names of controls that every widget has, also for a page: it and a notebook take the same."""
        for control in controls:
            if control.name == "self" or hasattr(cls, control.name):
                raise ExploreError(f"explore: every widget has a '{control.name}' of its own. Rename that control.")

    def __init__(self, explorer: Explorer):
        self.check(explorer.controls)
        self.explorer, self.computed = explorer, {}
        self.add_traits(**{control.name: Choice(control) for control in explorer.controls})
        try:
            title, figure = start = explorer.figure(explorer.start)
            seen = as_seen(figure)
            self.computed[explorer.start] = packed([(title, seen)], 1)
            picture = still_picture(explorer, seen, "wide", 720)
        except ExploreError as error:
            start, title, picture = error, str(error), ""
            seen = {"data": [], "layout": {"height": HEIGHT}, "legend": ""}
        tag = opening("explore", data_name=explorer.name, **known_as(seen))
        super().__init__(markup(explorer, tag, title, seen, picture))
        self.kept = saved(explorer, start)

    def answer(self, question: dict):
        if "plotly" in question:
            self.send({"plotly": True}, [_plotly()])
        else:
            state = tuple(question["state"])
            try:
                if state not in self.computed:
                    title, figure = self.explorer.figure(state)
                    self.computed[state] = packed([(title, as_seen(figure))], 1)
                self.send({"state": state}, [self.computed[state]])
            except ExploreError as error:  # shown in place, and the last good picture stays
                self.send({"state": state, "error": str(error)})


@functools.cache
def _plotly() -> bytes:
    """All of plotly.js, in the very version that the Python side has, gzipped."""
    return gzip.compress(files("plotly").joinpath("package_data/plotly.min.js").read_bytes(), 6)
