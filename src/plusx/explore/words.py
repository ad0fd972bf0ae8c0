"""Words: the tags that plotly sets in titles and names, as HTML, as SVG, and as plain text; js/words.js does the same.

Anything else between < and > is text, and is escaped.
"""

import html
import re

_PAIR = re.compile(r"<(b|i|em|strong|sub|sup|s|u)>(.*?)</\1>", re.S)
_PLAIN = re.compile(r"</?(?:span|a)(?: [^<>]*)?>")
_BREAK = re.compile(r"<br ?/?>")
_LOW = str.maketrans("0123456789+-=()aeoxhklmnpst", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜ")
_HIGH = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_SVG = {
    "sub": 'style="baseline-shift: sub; font-size: 70%"',
    "sup": 'style="baseline-shift: super; font-size: 70%"',
    "b": 'style="font-weight: bold"',
    "strong": 'style="font-weight: bold"',
    "i": 'style="font-style: italic"',
    "em": 'style="font-style: italic"',
    "s": 'style="text-decoration: line-through"',
    "u": 'style="text-decoration: underline"',
}


def tagged(text: str) -> str:
    """The words as HTML."""
    text = _BREAK.sub(" ", _PLAIN.sub("", text))
    parts, end = [], 0
    for pair in _PAIR.finditer(text):
        parts += [html.escape(text[end : pair.start()]), f"<{pair[1]}>{tagged(pair[2])}</{pair[1]}>"]
        end = pair.end()
    return "".join(parts) + html.escape(text[end:])


def plain(text: str) -> str:
    """The words without tags: what is raised or lowered by letters that are, where there are such."""
    text = _BREAK.sub(" ", _PLAIN.sub("", text))
    return _PAIR.sub(lambda pair: _moved(plain(pair[2]), pair[1]), text)


def _moved(text: str, tag: str) -> str:
    letters = {"sub": _LOW, "sup": _HIGH}.get(tag)
    if letters is None:
        return text
    return text.translate(letters) if all(ord(letter) in letters for letter in text) else f" {text}"


def in_svg(svg: str) -> str:
    """The SVG with tags that stand in its texts, escaped, set."""
    pair = re.compile(r"&lt;(b|i|em|strong|sub|sup|s|u)&gt;((?:(?!&lt;/?\1&gt;)[^<])*)&lt;/\1&gt;")
    while (found := pair.sub(lambda tag: f"<tspan {_SVG[tag[1]]}>{tag[2]}</tspan>", svg)) != svg:
        svg = found
        pair = re.compile(pair.pattern.replace("[^<]", "."))
    return re.sub(r"&lt;/?(?:span|a)(?: (?:(?!&lt;|&gt;)[^<])*)?&gt;", "", svg)
