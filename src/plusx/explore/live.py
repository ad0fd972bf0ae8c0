"""Live: an explorer as ipywidgets beside a kernel; each change calls the function again.

Here live the widgets and how they follow one another. What is shown comes from `states`.
"""

import html

import ipywidgets as widgets
import plotly.graph_objects as go

from .controls import Control, ExploreError
from .figures import coloured, table
from .saved import PALETTE, saved
from .states import Explorer


class Panel(widgets.VBox):
    """A box that leaves more in the notebook's file than the name of its model: `kept`, by MIME type."""

    kept: dict[str, str] = {}

    def _repr_mimebundle_(self, **how):
        return {**super()._repr_mimebundle_(**how), **self.kept}


def panel(explorer: Explorer) -> Panel:
    """Controls, result line, figure and data table, kept in step."""
    inputs = [_input(control) for control in explorer.controls]
    reset = widgets.Button(description="Reset", layout={"width": "auto"})
    result, message, data = widgets.HTML(), widgets.HTML(), widgets.HTML()
    figure = go.FigureWidget()
    figure._config = {**figure._config, "displayModeBar": False, "responsive": True, "scrollZoom": False}
    known: dict[tuple, tuple[str, dict]] = {}

    def show(_=None):
        state = tuple(widget.index if hasattr(widget, "index") else int(widget.value) for widget in inputs)
        try:
            if state not in known:
                known[state] = explorer.figure(state)
        except ExploreError as error:
            message.value = (
                f'<p role="alert" style="color:#d0342c">{html.escape(str(error))} The picture is the last good one.</p>'
            )
            return
        title, content = known[state]
        _redraw(figure, coloured(content, PALETTE))
        message.value = ""
        result.value = f'<p role="status" style="font-weight:600">{html.escape(title)}</p>'
        data.value = f"<details><summary>Data of this picture</summary>{table(content)}</details>"

    def restart(_):
        for widget, control in zip(inputs, explorer.controls):
            widget.value = bool(control.start) if control.kind == "switch" else control.start

    for widget in inputs:
        widget.observe(show, "value")
    reset.on_click(restart)
    show()
    box = Panel([widgets.HBox([*inputs, reset], layout={"flex_flow": "row wrap"}), message, result, figure, data])
    box.kept = saved(explorer, known.get(explorer.start))
    return box


def _input(control: Control):
    options = [(label, index) for index, label in enumerate(control.labels)]
    look = {"description": control.title, "style": {"description_width": "initial"}}
    if control.kind == "switch":
        return widgets.Checkbox(value=bool(control.start), indent=False, **look)
    if control.kind == "slider":
        return widgets.SelectionSlider(options=options, value=control.start, **look)
    if control.kind == "radio":
        return widgets.ToggleButtons(
            options=options, value=control.start, description=control.title,
            style={"description_width": "initial", "button_width": "auto"},
        )  # fmt: skip
    return widgets.Dropdown(options=options, value=control.start, **look)


def _redraw(figure: go.FigureWidget, content: dict):
    """Make the widget show `content`, and nothing that only the last picture set."""
    with figure.batch_update():
        if [trace.type for trace in figure.data] == [trace.get("type", "scatter") for trace in content["data"]]:
            for trace, new in zip(figure.data, content["data"]):
                _replace(trace, new, keep={"type", "uid"})
        else:
            figure.data = ()
            figure.add_traces(content["data"])
        _replace(figure.layout, content["layout"], keep=set())
    # What a page that connects later asks for: Voila's, or one loaded anew. plotly sets it when a figure itself is
    # displayed, and ours is in a box. Past the traits, since the page that is there has had its message.
    figure._trait_values |= {"_widget_data": figure._data, "_widget_layout": figure._layout_obj._props}


def _replace(part, new: dict, keep: set[str]):
    stale = dict.fromkeys(part.to_plotly_json().keys() - new.keys() - keep)
    part.update({**stale, **new}, overwrite=True)
