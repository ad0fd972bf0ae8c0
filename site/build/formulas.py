"""How formulas look: the addition that the book is about in its colours, and typefaces that hold what is drawn.

MathJax's typefaces have a tenth of their bytes left; fontTools cuts them.
"""

import re
from base64 import b64encode
from pathlib import Path

from fontTools import subset

FACE = re.compile(r"font-family: MJX(TEX[\w-]*);\s*src: url\(\"mathjax/([^\"]+)\"\)")
DRAWN = re.compile(r"(mjx-[^{}]*)::(?:before|after) *\{[^}]*?content: \"((?:[^\"\\]|\\.)*)\"")
INDEX = r"(?:_(?:\w|\{[^{}]*\}))?"
SKIP = rf"(?<![\w\\])[xh]{INDEX}(?![\w(])"
BRANCH = rf"(?:a(?:\\,| ) *)?F{INDEX}\((?:[^()]|\([^()]*\))*\)"
ADDITION = re.compile(rf"({SKIP}) \+ ({BRANCH})|({BRANCH}) \+ ({SKIP})")
CODE = re.compile(r"\\([0-9A-Fa-f]+) ?")


def painted(tex: str) -> str:
    """The TeX of a formula with one branch, added to what passes it by: both in their colours; any other as it is."""

    def paint(sum):
        parts = zip(("skip", "branch", "branch", "skip"), sum.groups())
        return " + ".join(rf"\class{{plusx-{kind}}}{{{part}}}" for kind, part in parts if part)

    return ADDITION.sub(paint, tex) if tex.count("F") == 1 else tex


def characters(css: str) -> dict[str, set[str]]:
    """Typeface -> what formulas draw from it, by the stylesheet that MathJax wrote for them.

    A rule for a character names its typeface, if it is not the usual one; the parts of what is stretched, such as a
    tall brace, may stand in any.
    """
    found = {face: set() for face, _ in FACE.findall(css)}
    for rule, content in DRAWN.findall(css):
        drawn = CODE.sub(lambda code: chr(int(code[1], 16)), content)
        named = re.search(r"\.(TEX-\w+)", rule)
        for face in found if "stretchy" in rule else [named[1] if named else "TEX"]:
            found[face].update(drawn)
    return found


def inlined(font: Path) -> str:
    """A typeface as its stylesheet may hold it."""
    return f'url("data:font/woff;base64,{b64encode(font.read_bytes()).decode()}")'


def cut(css: str, static: Path) -> None:
    """Leave in each typeface beside the stylesheet what its formulas draw."""
    files, options = dict(FACE.findall(css)), ["--flavor=woff", "--no-hinting", "--layout-features="]
    for face, drawn in characters(css).items():
        path = static / "mathjax" / files[face]
        text = f"--text={''.join(sorted(drawn))}"
        subset.main([str(path), text, f"--output-file={path}", "--drop-tables+=FFTM", *options])
