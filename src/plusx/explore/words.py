"""Words: the tags that plotly sets in titles and names, as HTML, as SVG, and as plain text; js/words.js does the same.

Anything else between < and > is text, and is escaped.
"""

import html
import re

_PAIR = re.compile(  # escaped, and with no other inside
    r"&lt;(b|i|em|strong|sub|sup|s|u)&gt;((?:(?!&lt;(?:b|i|em|strong|sub|sup|s|u)&gt;).)*?)&lt;/\1&gt;", re.S
)
_BREAK = re.compile(r"<br ?/?>")
_LOW = str.maketrans("0123456789+-=()aeoxhklmnpst", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜ")
RAISED = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_MOVED = "baseline-shift: {}; font-size: 70%"
_LOOKS = {"sub": _MOVED.format("sub"), "sup": _MOVED.format("super"), "s": "text-decoration: line-through"}
_LOOKS |= {"u": "text-decoration: underline", **dict.fromkeys(("b", "strong"), "font-weight: bold")}
_LOOKS |= dict.fromkeys(("i", "em"), "font-style: italic")


def tagged(text: str, tag=r"<\1>\2</\1>") -> str:
    """The words as HTML. tag: what becomes of a pair."""
    return _set(html.escape(_BREAK.sub(" ", text)), tag)


def in_svg(svg: str) -> str:
    """The SVG with the tags that stand, escaped, in its texts."""
    return _set(svg, lambda tag: f'<tspan style="{_LOOKS[tag[1]]}">{tag[2]}</tspan>')


def _set(text: str, tag) -> str:
    """From the innermost pair outwards."""
    while (done := _PAIR.sub(tag, text)) != text:
        text = done
    return text


def plain(text: str) -> str:
    """The words without tags: what is raised or lowered by letters that are, where there are such."""
    return html.unescape(tagged(text, _moved))


def _moved(pair: re.Match) -> str:
    letters = {"sub": _LOW, "sup": RAISED}.get(pair[1], {})
    is_known = all(ord(letter) in letters for letter in pair[2])
    return pair[2].translate(letters) if is_known else f" {pair[2]}" if letters else pair[2]
