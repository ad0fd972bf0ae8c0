"""Still: a figure's first picture as inline SVG, there before any script runs.

Here lives the translation from plotly's terms to matplotlib's, for traces of the types `DRAWN`. It follows the layout
closely enough that nothing jumps when plotly takes over.
"""

import io
import re
import warnings

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Ellipse, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from .controls import ExploreError
from .drawn import still_drawn
from .figures import COLOURS, FLAT, NEUTRALS, coloured
from .words import RAISED, in_svg

DRAWN = {*FLAT, "surface"}
MANY = 2000  # marks of one trace, or ten times as many points, are one bitmap: else a page holds megabytes of them

# Stand-ins that matplotlib accepts, replaced by CSS variables so that the SVG follows the theme.
_STANDINS = {name: f"#0000{i + 1:02x}" for i, name in enumerate((*COLOURS, *NEUTRALS))}
# A grid is a bitmap, which follows no theme: its scale has the colours of the light page.
_FIXED = {key: code for name, code in {**COLOURS, "page": "#ffffff"}.items() for key in (name, _STANDINS[name])}
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 4)), "longdashdot": "-."}
# The corners of plotly's markers, in radii from the middle, upwards positive; a circle has none.
_PLUS = [
    *[(1.2, 0.4), (1.2, -0.4), (0.4, -0.4), (0.4, -1.2), (-0.4, -1.2), (-0.4, -0.4)],
    *[(-1.2, -0.4), (-1.2, 0.4), (-0.4, 0.4), (-0.4, 1.2), (0.4, 1.2), (0.4, 0.4)],
]
_HALF = 2 / np.sqrt(3)  # of a triangle's base
_MARKERS = {
    "circle": None,
    "square": [(1, 1), (1, -1), (-1, -1), (-1, 1)],
    "diamond": [(1.3, 0), (0, -1.3), (-1.3, 0), (0, 1.3)],
    "cross": _PLUS,
    "x": [((x + y) / np.sqrt(2), (y - x) / np.sqrt(2)) for x, y in _PLUS],
    "triangle-up": [(-_HALF, -0.5), (_HALF, -0.5), (0, 1)],
    "triangle-down": [(-_HALF, 0.5), (_HALF, 0.5), (0, -1)],
}
_ORDERS = {"trace": 0, "array": 0, "category ascending": 1, "category descending": -1}  # of categories
_RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "plusx",
    "font.size": 9.75,  # points: plotly's 13 px
    "text.color": _STANDINS["ink"],
    "axes.edgecolor": _STANDINS["muted"],
    "axes.labelcolor": _STANDINS["ink"],
    "xtick.color": _STANDINS["ink"],
    "ytick.color": _STANDINS["ink"],
    "grid.color": _STANDINS["grid"],
    "grid.linewidth": 0.75,
    "axes.linewidth": 0,
    "axes.axisbelow": True,
    "text.parse_math": False,
    "path.simplify": True,
    "path.simplify_threshold": 1.0,
}


def still(figure: dict, width: int, prefix: str) -> str:
    """The normalised figure as SVG of `width` pixels; `prefix` keeps its ids apart on the page.

    ExploreError: a part of it, which the message names, has no still picture.
    """
    if "drawn" in figure:
        return still_drawn(figure)
    if others := sorted({trace.get("type", "scatter") for trace in figure["data"]} - DRAWN):
        raise ExploreError(f"explore: no still picture for a trace of type '{others[0]}'.")
    figure = coloured(figure, _Understood(_STANDINS))
    layout = figure["layout"]
    words = _categories(figure)
    height = layout["height"]
    with matplotlib.rc_context(_RC), warnings.catch_warnings(action="ignore"):  # what it minds, a page need not
        canvas = Figure(figsize=(width / 96, height / 96), dpi=96)
        axes, bars = {}, {}
        for index, trace in enumerate(figure["data"]):
            if trace.get("type") == "surface":
                _surface(canvas, trace, layout["scene"])
                continue
            key = trace.get("xaxis", "x"), trace.get("yaxis", "y")
            if key not in axes:
                axes[key] = _axes(canvas, layout, width, height, *key)
            colour = layout["colorway"][index % len(layout["colorway"])]
            if trace.get("visible", True) is not True:
                continue
            names = [f"{side}axis{name[1:]}" for side, name in zip("xy", key)]
            placed = {
                side: _placed(trace[side], layout.get(name, {}).get("type"), words.get(name, {}))
                for side, name in zip("xy", names)
                if trace.get(side) is not None
            }
            if trace.get("type") == "bar":
                bars.setdefault(key, []).append(({**trace, **placed}, colour))
            else:
                _draw(axes[key], {**trace, **placed}, colour, layout)
        for key, group in bars.items():
            _bars(axes[key], group, layout)
        for key, axis in axes.items():
            _settle(axis, key, layout, words, axes)
        for shape in layout.get("shapes", []):
            _shape(axes, shape)
        out = io.StringIO()
        unsaid = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(out, format="svg", dpi=192, transparent=True, metadata=unsaid)
    svg = out.getvalue()
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{prefix}-", svg)
    # As a rule this would hold for all of the page, and each still that arrives would have all of it styled anew.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.S)
    head = r'<svg viewBox="\1" style="stroke-linejoin: round; stroke-linecap: butt" aria-hidden="true">'
    svg = re.sub(r'.*?<svg [^>]*viewBox="([^"]+)"[^>]*>', head, svg, count=1, flags=re.S)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)
    # Inside a tag numbers are places, for which two decimals are enough. Between tags they are text, and stay.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    for name, standin in _STANDINS.items():
        svg = svg.replace(standin, f"var(--px-{name})")
    return in_svg(svg)


class _Understood(dict):
    """A palette that has CSS's rgb() as well, in the words of matplotlib."""

    def get(self, word: str, default: str) -> str:
        if not (found := re.fullmatch(r"rgba?\(([^)]+)\)", word)):
            return super().get(word, default)
        *parts, alpha = [*(float(part) for part in found[1].split(",")), 1][:4]
        return to_hex([*(part / 255 for part in parts), alpha], keep_alpha=alpha < 1)


def _categories(figure: dict) -> dict[str, dict[str, int]]:
    """The words of each axis that holds some, with their places."""
    words = {}
    for name, axis in figure["layout"].items():
        if name[1:5] == "axis" and axis.get("type") in ("category", "multicategory"):
            order, side = axis.get("categoryorder", "trace"), name[0]
            if axis["type"] == "multicategory" or order not in _ORDERS:
                raise ExploreError(f"explore: no still picture of categories in groups, or in the order {order!r}.")
            on = [t for t in figure["data"] if f"{side}axis{t.get(f'{side}axis', side)[1:]}" == name]
            found = [_word(value) for trace in on for value in trace.get(side, ()) if value is not None]
            found = sorted(found, reverse=_ORDERS[order] < 0) if _ORDERS[order] else found
            found = dict.fromkeys([*map(_word, axis.get("categoryarray", ())), *found])
            words[name] = {word: place for place, word in enumerate(found)}
    return words


def _word(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def _placed(values, kind: str | None, words: dict[str, int]) -> np.ndarray:
    """Where values stand on an axis of a type, as numbers; NaN where they do not."""
    if any(isinstance(value, list) for value in values):
        raise ExploreError("explore: no still picture of names in groups.")
    if words:
        return np.array([words.get(_word(value), np.nan) for value in values], float)
    if isinstance(values, np.ndarray):
        return values / 864e5 if kind == "date" else values
    if kind == "date":
        days = [re.sub(r"(?<=:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d*)$", r"\1", value) if value else "NaT" for value in values]
        return date2num(np.array(days, "datetime64[ms]"))
    numbers = (re.fullmatch(r"\s*-?[\d.]+(e[+-]?\d+)?\s*", str(value)) for value in values)
    return np.array([float(number[0]) if number else np.nan for number in numbers])


def _settle(axis, key: tuple[str, str], layout: dict, words: dict, axes: dict):
    """What can be set only when all is drawn: words beside an axis, its ticks, its direction, and who shares it."""
    for side, name in zip("xy", key):
        given, part = layout.get(f"{side}axis{name[1:]}", {}), getattr(axis, f"{side}axis")
        get, put = (getattr(axis, f"{verb}_{side}lim") for verb in ("get", "set"))
        if found := list(words.get(f"{side}axis{name[1:]}", ())):
            wide = max(map(len, found)) * 8 if side == "x" else 20
            every = int(np.ceil(len(found) * wide / max(getattr(axis.bbox, "width" if side == "x" else "height"), 1)))
            if "tickvals" not in given:
                part.set_ticks(range(0, len(found), every), found[::every])
        elif given.get("type") == "date" and "tickvals" not in given:
            part.set_major_locator(locator := AutoDateLocator(maxticks=6))
            part.set_major_formatter(ConciseDateFormatter(locator, offset_formats=[""] * 6))
        if "range" not in given:
            shared = {name, given.get("matches")}
            others = [other for names, other in axes.items() if names["xy".index(side)] in shared]
            if len(others) > 1:
                ends = [end for other in others for end in getattr(other, f"get_{side}lim")()]
                for other in others:
                    getattr(other, f"set_{side}lim")(min(ends), max(ends))
            if "reversed" in str(given.get("autorange")):
                put(sorted(get(), reverse=True))
        if given.get("type") == "log" and "tickvals" not in given:
            ticks = _decades(axis, side, *sorted(np.log10(get())))
            part.set_minor_locator(NullLocator())
            part.set_ticks(list(ticks), list(ticks.values()))


def _bars(axis, group: list[tuple[dict, str]], layout: dict):
    """The bars of one plot: side by side, upon each other or one before the other, as `barmode` has it."""
    mode, tops = layout.get("barmode", "group"), {}
    sides = ["yx" if trace.get("orientation") == "h" else "xy" for trace, _ in group]
    steps = np.diff(np.unique(np.concatenate([trace[side[0]] for side, (trace, _) in zip(sides, group)])))
    room = (1 - layout.get("bargap", 0.2)) * min(steps[np.isfinite(steps)], default=1)
    slots = list(dict.fromkeys(mode == "group" and trace.get("offsetgroup", at) for at, (trace, _) in enumerate(group)))
    for at, ((across, along), (trace, colour)) in enumerate(zip(sides, group)):
        slot = slots.index(mode == "group" and trace.get("offsetgroup", at))
        place, length, base = trace[across], trace[along], trace.get("base")
        wide = np.asarray(trace.get("width", room / len(slots)), float)
        middle = place - room / 2 + room / len(slots) * (slot + 0.5)
        if "offset" in trace:
            middle = place + trace["offset"] + wide / 2
        if base is None:
            base = []
            for where, value in zip(place, np.nan_to_num(length)):
                pile = mode in ("stack", "relative") or at, where, value < 0 and mode != "stack"
                base.append(tops.get(pile, 0))
                tops[pile] = base[-1] + value
        draw = axis.barh if across == "y" else axis.bar  # the same by place: where, how far, how wide, from where
        draw(middle, length, wide, base, color=trace.get("marker", {}).get("color", colour), alpha=trace.get("opacity"))


def _axes(canvas: Figure, layout: dict, width: int, height: int, x: str, y: str):
    xaxis, yaxis = layout.get(f"xaxis{x[1:]}", {}), layout.get(f"yaxis{y[1:]}", {})
    margin = layout["margin"]
    inner_w, inner_h = width - margin["l"] - margin["r"], height - margin["t"] - margin["b"]
    (x0, x1), (y0, y1) = xaxis.get("domain", (0, 1)), yaxis.get("domain", (0, 1))
    box = margin["l"] + x0 * inner_w, margin["b"] + y0 * inner_h, (x1 - x0) * inner_w, (y1 - y0) * inner_h
    axis = canvas.add_axes(np.divide(box, [width, height, width, height]))
    axis.patch.set_alpha(0)
    axis.tick_params(length=0, which="both")
    axis.set_xmargin(0)
    _scale(axis, "x", xaxis, partner=y)
    _scale(axis, "y", yaxis, partner=x)
    if "scaleanchor" in yaxis:
        axis.set_aspect("equal", anchor="N")  # as plotly: a unit as long up as across, and the rest left below
    return axis


def _scale(axis, side: str, given: dict, partner: str):
    log, part = given.get("type") == "log", getattr(axis, f"{side}axis")
    if log:
        axis.set(**{f"{side}scale": "log"})
    if "range" in given:
        ends = _placed(given["range"], given.get("type"), {})
        axis.set(**{f"{side}lim": 10.0**ends if log else ends})
    if "tickvals" in given:
        part.set_minor_locator(NullLocator())  # those between have no length, and would take half of the time
        part.set_ticks(_placed(given["tickvals"], given.get("type"), {}), given.get("ticktext"))
    if given.get("visible") is False:
        return part.set_visible(False)
    axis.grid(given.get("showgrid", True), axis=side)
    if given.get("showticklabels") is False or given.get("anchor", partner) != partner:
        axis.tick_params(**{"labelbottom" if side == "x" else "labelleft": False})
    elif title := given.get("title", {}).get("text"):
        part.set_label_text(re.sub(r"<br>", "\n", title))


def _decades(axis, side: str, low: float, high: float) -> dict[float, str]:
    """Ticks of a logarithmic axis by their places, as plotly chooses them: each power of ten, fewer, or 2 and 5 too."""
    box = axis.get_window_extent()
    room = box.height / 40 if side == "y" else box.width / 80
    step = (high - low) / (np.clip(room, 4, 9) + 1)
    every = int(np.ceil(step)) if step > 0.7 else 1
    digits = (1,) if step > 0.7 else (1, 2, 5) if step > 0.3 else range(1, 10)
    ticks = {}
    for power in range(int(np.floor(low / every)) * every, int(np.floor(high)) + 1, every):
        name = {0: "1", 1: "10"}.get(power, f"10{str(power).translate(RAISED)}")
        ticks |= {digit * 10.0**power: str(digit) if digit > 1 else name for digit in digits}
    return {place: name for place, name in ticks.items() if low <= np.log10(place) <= high}


def _draw(axis, trace: dict, colour: str, layout: dict):
    kind = trace.get("type", "scatter")
    if kind in ("heatmap", "contour"):
        return _grid(axis, trace)
    line, marker = trace.get("line", {}), trace.get("marker", {})
    x, y = trace["x"], trace["y"]
    if trace.get("connectgaps") or "sizeref" in marker:
        raise ExploreError("explore: no still picture of joined gaps, or of marks whose sizes have a scale.")
    if isinstance(marker.get("color"), np.ndarray):
        trace = {**trace, "marker": {**marker, "color": _scaled(marker | layout.get(marker.get("coloraxis", ""), {}))}}
    mode = trace.get("mode", "lines+markers")
    line_colour = line.get("color", marker.get("color", colour))
    if isinstance(line_colour, (list, np.ndarray)):
        line_colour = colour
    with np.errstate(invalid="ignore"):
        axis.plot(
            x, np.where(np.isfinite(y), y, np.nan),
            color=line_colour,
            linestyle=_DASHES.get(line.get("dash"), "-") if "lines" in mode else "",
            linewidth=line.get("width", 2) * 0.75,
            drawstyle={"hv": "steps-post", "vh": "steps-pre", "hvh": "steps-mid"}.get(line.get("shape"), "default"),
            rasterized=len(x) > 10 * MANY, alpha=trace.get("opacity"),
        )  # fmt: skip
    if "markers" in mode:
        _markers(axis, x, y, trace, line_colour)
    shade = {"alpha": 0.2, "color": line_colour, "linewidth": 0}
    if trace.get("fill") == "toself":
        axis.fill(x, y, **shade)
    elif trace.get("fill") == "tozeroy":
        axis.fill_between(x, y, **shade)
    if "text" in mode:
        font = trace.get("textfont", {})
        letters = {
            "color": font.get("color", _STANDINS["ink"]),
            "size": font.get("size", 12) * 0.75,
            "weight": font.get("weight", "normal"),
            "alpha": trace.get("opacity"),
        }
        for at_x, at_y, text in zip(x, y, trace.get("text", [])):
            axis.text(at_x, at_y, text, ha="center", va="center", **letters)


def _markers(axis, x, y, trace: dict, colour: str):
    """A mark at each point; those of one symbol are drawn together. colour: what they have where none is set."""
    marker = trace.get("marker", {})
    symbols = marker.get("symbol", "circle")
    if isinstance(symbols, str):
        symbols = [symbols] * len(x)
    for symbol in dict.fromkeys(symbols):
        places, is_open = corners(symbol)
        fill, edge, width = outline(trace, colour, is_open)
        each = np.array(symbols) == symbol
        x_, y_, fill, edge, size = (_of(each, part) for part in (x, y, fill, edge, marker.get("size", 6)))
        # matplotlib scales a path of one's own to fit the size, plotly does not.
        extent = 1 if places is None else np.abs(places).max()
        axis.scatter(
            x_, y_, s=(np.asarray(size, float) * extent * 0.75) ** 2, linewidths=width * 0.75, zorder=3,
            rasterized=len(x_) > MANY,
            marker="o" if places is None else MarkerStyle(Path([*places, places[0]], closed=True), joinstyle="miter"),
            alpha=trace.get("opacity"), edgecolors=edge, **({"facecolors": "none"} if is_open else {"c": fill}),
        )  # fmt: skip


def _scaled(marker: dict) -> list[str]:
    """The colour of each mark whose number a scale turns into one."""
    values = marker["color"]
    shown = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
    low, high = marker.get("cmin", shown.min()), marker.get("cmax", shown.max())
    scale = colours(marker)
    shares = np.nan_to_num((values - low) / ((high - low) or 1))
    return [to_hex(scale(float(share))) for share in shares]


def _of(each: np.ndarray, part):
    """A part of a marker's look for the points that `each` selects: a list has one for every point."""
    return [one for one, wanted in zip(part, each) if wanted] if isinstance(part, (list, np.ndarray)) else part


def corners(symbol: str) -> tuple[list[tuple[float, float]] | None, bool]:
    """A marker's corners, in radii from the middle and upwards positive (a circle has None), and whether it is open."""
    name = symbol.removesuffix("-open") if isinstance(symbol, str) else symbol
    if name not in _MARKERS:
        raise ExploreError(
            f"explore: no still picture with the marker symbol {symbol!r}. "
            f"Use {', '.join(_MARKERS)}, or one of these with -open."
        )
    return _MARKERS[name], name != symbol


def outline(trace: dict, colour, is_open: bool) -> tuple:
    """The colour of a trace's markers, and colour and width (pixels) of the line around them.

    colour: what they have where none is set.
    """
    marker = trace.get("marker", {})
    line, fill = marker.get("line", {}), marker.get("color", colour)
    if is_open:
        return "none", fill, line.get("width") or 1
    edge = trace.get("line", {}).get("color", "#444")  # plotly's choice, unless it could not be seen
    if isinstance(fill, str) and edge == fill:
        edge = "#444"
    return fill, line.get("color", edge), line.get("width", 0)


def limits(trace: dict) -> tuple[float, float]:
    """The values of z at the two ends of a grid's colours."""
    low, high = (trace.get(f"{'c' if trace['type'] == 'surface' else 'z'}{end}") for end in ("min", "max"))
    return (np.nanmin(trace["z"]), np.nanmax(trace["z"])) if low is None or high is None else (low, high)


def colours(trace: dict) -> Colormap:
    """A grid's colour scale, from 0 to 1."""
    given = trace.get("colorscale", "Viridis")
    if isinstance(given, list):
        scale = LinearSegmentedColormap.from_list("given", coloured(given, _Understood(_FIXED), True))
    else:
        scale = matplotlib.colormaps[given.lower()]
    return scale.reversed() if trace.get("reversescale") else scale


def _grid(axis, trace: dict):
    """A heat map or contours. Many small cells make one picture rather than as many paths."""
    low, high = limits(trace)
    look = {"cmap": colours(trace), "vmin": low, "vmax": high}
    lines = trace.get("contours", {})
    how = lines.get("coloring", "fill") if trace["type"] == "contour" else "heatmap"
    x, y, z = trace["x"], trace["y"], trace["z"]
    if how == "heatmap":
        axis.pcolormesh(x, y, z, shading="flat" if len(x) > z.shape[1] else "nearest", rasterized=True, **look)
        if trace["type"] == "heatmap":
            return
    start, end = lines.get("start", low), lines.get("end", high)
    size = lines.get("size", (end - start) / 15)
    levels = np.arange(start, end + size / 2, size)
    if how == "fill":
        axis.contourf(x, y, z, levels=levels, extend="both", **look)
    edge = {"colors": trace.get("line", {}).get("color", _STANDINS["ink"]), "alpha": 0.6}
    axis.contour(x, y, z, levels=levels, linewidths=0.4, **(look if how == "lines" else edge))


def _surface(canvas: Figure, trace: dict, scene: dict):
    """A surface seen from where plotly's camera stands."""
    axis = canvas.add_axes((0, 0, 1, 1), projection="3d")
    axis.patch.set_alpha(0)
    low, high = limits(trace)
    across, along = np.meshgrid(trace["x"], trace["y"])
    axis.plot_surface(
        across, along, trace["z"], cmap=colours(trace), vmin=low, vmax=high, rstride=1, cstride=1,
        linewidth=0, antialiased=False, rasterized=True,
    )  # fmt: skip
    x, y, z = (scene.get("camera", {}).get("eye", {}).get(side, 1.25) for side in "xyz")
    axis.view_init(*np.degrees([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]))
    axis.set_box_aspect((1, 1, 1), zoom=0.85)
    for side in "xyz":
        given, part = scene.get(f"{side}axis", {}), getattr(axis, f"{side}axis")
        part.pane.set_visible(False)
        part.set_major_locator(MaxNLocator(4))
        if "range" in given:
            getattr(axis, f"set_{side}lim")(*given["range"])
        if "tickvals" in given:
            getattr(axis, f"set_{side}ticks")(given["tickvals"], given.get("ticktext"))
        getattr(axis, f"set_{side}label")(given.get("title", {}).get("text", side))


def _place(axes: dict, item: dict):
    """The axes and the transform of an item whose xref and yref name an axis, its 'domain', or 'paper'."""
    refs = item.get("xref", "x"), item.get("yref", "y")
    x, y = (ref.removesuffix(" domain") for ref in refs)
    axis = axes.get((x, y)) or next((a for key, a in axes.items() if x in key or y in key), next(iter(axes.values())))
    across, up = (axis.transAxes if ref.endswith(("domain", "paper")) else axis.transData for ref in refs)
    return axis, across if across is up else blended_transform_factory(across, up)


def _shape(axes: dict, shape: dict):
    axis, transform = _place(axes, shape)
    line = shape.get("line", {})
    x0, x1, y0, y1 = (shape.get(key, 0) for key in ("x0", "x1", "y0", "y1"))
    stroke = {
        "linewidth": line.get("width", 2) * 0.75,
        "linestyle": _DASHES.get(line.get("dash"), "-"),
        "alpha": shape.get("opacity"),
        "transform": transform,
        "clip_on": False,
    }
    edge = line.get("color", _STANDINS["ink"])
    fill = {"edgecolor": edge, "facecolor": shape.get("fillcolor", "none"), **stroke}
    kind = shape.get("type", "rect")
    if kind == "line":
        axis.add_line(Line2D([x0, x1], [y0, y1], color=edge, **stroke))
        if label := shape.get("label"):
            font, across, up = label.get("font", {}), label.get("xanchor"), label.get("yanchor")
            if across not in ("left", "right") or up not in ("top", "bottom"):
                raise ExploreError("explore: no still picture of a shape's label without xanchor and yanchor.")
            away = {"left": 3, "right": -3}[across], {"top": -3, "bottom": 3}[up]
            letters = {"color": font.get("color", _STANDINS["ink"]), "size": font.get("size", 12) * 0.75}
            axis.annotate(label["text"], (x1, y1), away, transform, "offset points", ha=across, va=up, **letters)
    elif kind == "circle":
        axis.add_patch(Ellipse(((x0 + x1) / 2, (y0 + y1) / 2), x1 - x0, y1 - y0, **fill))
    elif kind == "rect":
        axis.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, **fill))
    else:
        raise ExploreError(f"explore: no still picture for a shape of type '{kind}'. Use line, rect or circle.")
