"""From the pages that Sphinx has written to those that readers get: valid, light, and readable before scripts run.

Each step takes and gives HTML; `mend` says in which order. Nothing here knows Sphinx's build or a feature. What is
edited is not ours: `edit` stops the build where a page is no longer as an edit expects it.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import formulas
import pydata_sphinx_theme
from assets import NODE_MODULES
from sphinx.errors import ExtensionError

from plusx.sphinx.markup import states_beside

HERE = Path(__file__).parent
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
# What Sphinx writes for a formula, and the TeX within it: after a round bracket inline, after a square one on display.
MATHS = re.compile(r'<(span|div) class="[^"]*\bmath\b[^"]*"[^>]*>.*?</\1>', re.S)
TEX = re.compile(r"\\(?:(\()|\[)(.*?)\\(?(1)\)|\])", re.S)
STYLE = re.compile(r'<link(?=[^>]*rel="stylesheet")[^>]*href="([^"?]*)[^>]*>\s*')
IMPORT = re.compile(r'@import "([^"]+)";')
URL = re.compile(r"""url\(["']?(?!data:)([^"')]+)["']?\)""")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


class Edit(NamedTuple):
    """What others write, and what readers get in its place.

    times: how often a page holds it, or a pattern as frequent, or a function that tells; None for at least once.
    on: the names of the files that hold it at all.
    """

    name: str
    what: str
    put: str | Callable[[re.Match], str] = ""
    times: int | str | Callable[[str], int] | None = 1
    on: str = r".*\.html"


def edit(text: str, file: str, edits: list[Edit]) -> str:
    """The text of a file with all edits that are for it, each made on what the one before left.

    ExtensionError: an edit finds more or fewer places than it expects.
    """
    for name, what, put, times, on in edits:
        if not re.fullmatch(on, file):
            continue
        expected = times(text) if callable(times) else times
        if isinstance(times, str):
            expected = len(re.findall(times, text))
        text, found = re.subn(what, put, text, flags=re.S)
        if found != expected and (expected is not None or not found):
            wanted = "at least 1" if expected is None else expected
            raise ExtensionError(
                f"pages: the edit '{name}' fits {found} times in {file}, expected {wanted}. "
                "Look what the theme or extension writes there now, and whether the edit is still needed."
            )
    return text


def mend(outdir: Path, base: str, looks: list[Path], tell: Callable[[str, dict], object]) -> None:
    """All of it, for the site in `outdir`.

    base: where the site will be, or "" if that is not known. looks: stylesheets that come after those of pages.
    tell: takes the name of an event and all pages, path -> HTML, and lets features change them.

    ExtensionError: a formula, an icon, a stylesheet, or what an edit looks for is not as expected.
    """
    missing = outdir / "404.html"  # written below, from an earlier build here if at all
    ours = {*outdir.rglob("*.html")} - {*outdir.glob("_*/**/*.html")}  # what a page only refers to stays as it is
    paths = sorted(ours - {missing})
    pages = {path: edit(path.read_text(encoding="utf8"), path.name, THEMES) for path in paths}
    tell("pages-written", pages)
    _typeset(pages, outdir / "_static" / "plusx")
    options = (outdir / "_static" / "documentation_options.js").read_text(encoding="utf8")
    inline = SETTINGS._replace(put=lambda _: f"<script>{options}</script>")
    for path, html in pages.items():
        unused = [scripts for use, scripts in UNUSED.items() if not re.search(use, html)]
        pages[path] = _put_states_beside(path, edit(html, path.name, [inline, *SCRIPTS, *unused]), outdir)
    tell("pages-mended", pages)
    _join_styles(pages, outdir, looks)
    _address_site(outdir, pages, base)
    for path, html in pages.items():
        path.write_text(html, encoding="utf8")
    (outdir / "_static" / "scripts" / "fontawesome.js").unlink()
    for behaviour in BEHAVIOUR:
        script = outdir / "_static" / "scripts" / behaviour.on
        script.write_text(edit(script.read_text(encoding="utf8"), script.name, [behaviour]), encoding="utf8")


@cache
def _icons() -> dict:
    """Name -> (width, height, path) of the solid icons in the theme's Font Awesome."""
    script = (THEME / "static" / "scripts" / "fontawesome.js").read_text()
    # Brands, regular, solid: the last of a name wins.
    found = re.findall(r'"?([a-z0-9-]+)"?:\[(\d+),(\d+),\[[^\]]*\],"[0-9a-f]+","([^"]+)"\]', script)
    return {name: icon for name, *icon in found}


def _draw_icon(tag: re.Match) -> str:
    """The SVG that Font Awesome's 540 kB of script would put in place of an <i>."""
    classes, rest = tag[1].split(), re.sub(r'\s*title="[^"]*"', "", tag[2])
    names = [c[3:] for c in classes if c.startswith("fa-") and c[3:] in _icons()]
    if not names:
        raise ExtensionError(f"pages: the theme has no icon for {tag[0]}")
    width, height, path = _icons()[names[0]]
    return (
        f'<svg class="svg-inline--fa {" ".join(classes)}"{rest} aria-hidden="true" height="16" '
        f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"></path></svg>'
    )


def _measured(block: re.Match) -> str:
    """A block of code that says how many lines it has, and takes the keyboard's focus if a phone must scroll it."""
    lines = unescape(re.sub(r"<[^>]+>", "", block[1])).rstrip("\n").split("\n")
    focus = ' tabindex="0"' if max(map(len, lines)) > 34 else ""
    return f'<pre{focus} style="--lines:{len(lines)}">{block[1]}</pre>'


DOCUMENT = r"(?!genindex|search).*\.html"  # a page that has a source
FOLDED = r'<details class="[^"]*\bhide\b'  # myst-nb's cells that are folded

# Weight, valid HTML, and three of axe's rules.
THEMES = [
    Edit("script for icons", r'<script defer src="[^"]*/fontawesome\.js[^"]*"></script>'),
    Edit(
        "icons drawn",
        r'<(?:i|span) class="([^"]*\bfa-[^"]*)"([^>]*)></(?:i|span)>',
        _draw_icon,
        times=r'class="[^"]*\bfa-',
    ),
    # label-content-name-mismatch: the text inside is label enough.
    Edit("name of the search", r'(search-button-field[^>]*) title="Search" aria-label="Search"', r"\1", times=3),
    Edit("name of a fold", '<summary aria-label="Toggle hidden content">', "<summary>", times=FOLDED),
    # The header that book.css hides: the theme's scripts would take its buttons for those above the page.
    Edit("header that is hidden", r'(<header id="pst-header"[^>]*>).*?(?=</header>)', r"\1"),
    # Fifty tab stops lie before it, most of them chapters.
    Edit(
        "way to the first explorer",
        r'(<div id="pst-skip-link"[^>]*><a [^>]*>[^<]*</a>)(?=</div>.*?<div class="plusx-explore" id="([^"]+)")',
        r'\1 <a href="#\2">Skip to the first explorer</a>',
        times=lambda html: int('<div class="plusx-explore" id="' in html),
    ),
    # A tooltip would come with the focus when a menu closes; the browser's own does not.
    Edit(
        "tooltip of a menu",
        r'(<button class="sidebar-toggle [^>]*?) data-bs-placement="\w+" data-bs-toggle="tooltip"',
        r"\1",
        times='<button class="sidebar-toggle ',
    ),
    # A script in the head takes the reader's; "auto" has no colours of its own, so a page without scripts had none.
    Edit("light without scripts", r'(<html [^>]*data-theme=)"auto"', r'\1"light"'),
    # Sphinx has said it already.
    Edit("docutils' viewport", r'\s*<meta name="viewport"[^>]*initial-scale=1" />', on=DOCUMENT),
    Edit("theme's viewport", r'\s*<meta name="viewport"[^>]*initial-scale=1"/>'),
    Edit("title of the first page", r"<title>([^<]+) &#8212; \1</title>", r"<title>\1</title>", on="index.html"),
    Edit("title of the search", "<title>Search - ", "<title>Search &#8212; ", on="search.html"),
    Edit("lines of code", r"<pre>(.*?)</pre>", _measured, times=r"<pre\b"),
    # A summary holds no paragraph, and an id is a page's only one.
    Edit(
        "paragraphs in a fold's name",
        r"(<summary>\s*)((?:<p\b.*?</p>\s*)+)(?=</summary>)",
        lambda summary: summary[0].replace("<p ", "<span ").replace("</p>", "</span>"),
        times=FOLDED,
    ),
    Edit(
        "id of an exercise's text",
        r'<section id="(?:exercise|solution)-content">',
        "<section>",
        times='class="(?:exercise|solution) ',
    ),
    # aria-required-children: in a list, an item's role is listitem.
    Edit("role of a reference", ' role="doc-biblioentry"', ' role="listitem"', times='class="citation"'),
    # region: all content belongs to a landmark.
    Edit(
        "landmark of the contents",
        '<div id="pst-primary-sidebar" class',
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class',
    ),
]
# No script holds up the first view: they run when the page is read, and the index loads where one searches.
SCRIPTS = [
    Edit("scripts loaded early", r'<link rel="preload" as="script"[^>]*>\s*', times=2),
    Edit(
        "scripts of the search",
        r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>\s*',
        times=3,
        on=r"(?!search).*\.html",
    ),
    Edit("scripts deferred", r"<script (?!defer)(?=[^>]*\bsrc=)", "<script defer ", times=None),
    # The theme's script knows the reader's only later, and then every element's style is computed anew.
    Edit(
        "dark from the start",
        r'localStorage\.getItem\("theme"\) \|\| "auto"',
        'localStorage.getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")',
    ),
    # In a frame of another site it may not be asked, by the theme's scripts neither; there nothing is kept.
    Edit(
        "storage that may not be asked",
        r"(?=document\.documentElement\.dataset\.mode = localStorage)",
        'for (const name of ["localStorage", "sessionStorage"]) try { window[name].length; } catch {\n'
        "      const none = { getItem: () => null, setItem() {}, removeItem() {} };\n"
        "      Object.defineProperty(window, name, { value: none });\n"
        "    }\n    ",
    ),
]
# What a page must hold to have a use for a script: each costs a phone a request before its first view.
UNUSED = {
    r'class="[^"]*\bdropdown (?:[\w-]+ )*admonition\b': Edit(
        "script of folds", r"<script defer [^>]*/togglebutton\.js[^>]*></script>\s*"
    ),
    r'class="[^"]*\bsd-tab-set\b': Edit("script of tabs", r"<script defer [^>]*/design-tabs\.js[^>]*></script>\s*"),
    r'<div class="highlight': Edit(
        "scripts that copy code", r"<script defer [^>]*/(?:clipboard\.min|copybutton)\.js[^>]*></script>\s*", times=2
    ),
}
SETTINGS = Edit("settings in the page", r'<script src="[^"]*/documentation_options\.js[^>]*></script>')
MATHJAX = Edit(
    "scripts of MathJax",
    r"<script\b[^>]*>window\.MathJax\b.*?</script>\s*|<script\b[^>]*mathjax[^>]*></script>\s*",
    times=lambda html: 2 * bool(re.search(r"<mjx-container|window\.MathJax", html)),
)
# An empty one, which says how high they are. As a file it would be fetched before any other is asked for, and lines
# would change their height when it comes.
FIRST_FACE = Edit("typeface that formulas name first", r'url\("mathjax/MathJax_Zero\.woff"\)', on="maths.css")
PREVIEWS = Edit("address in previews", r'<meta property="og:(?:url|image)[^>]*>\n?', times=3, on=DOCUMENT)
# In the themes' own scripts.
BEHAVIOUR = [
    # It measures every <pre> of a page whenever something in it changes; book.js watches those in view.
    Edit(
        "tab stops of code",
        r',"complete"===document\.readyState\?\w\(\):window\.addEventListener\("load",\w\)(?=\}\)\(\);)',
        on="pydata-sphinx-theme.js",
    ),
    # Its marker in the contents stays where it was while no heading is in the upper third; book.js has another.
    Edit(
        "marker of the contents",
        r'(?<=const e=document\.querySelector\("#pst-page-toc-nav"\);)if\(!e\)return;',
        "return;",
        on="pydata-sphinx-theme.js",
    ),
    # It looks by 28 names, among all elements, for what the contents must make room for; here only explorers are wide.
    Edit(
        "what the contents make room for",
        r'(?<=document\.querySelectorAll\()n\.join\(", "\)(?=\)\.forEach)',
        '".full-width"',
        on="sphinx-book-theme.js",
    ),
    # It lets a menu's button lose the focus, so that no tooltip stays; it could not come back when the menu closes.
    Edit("focus of a menu's button", r"(?<=\(\)=>\{)\w\.blur\(\)(?=\})", on="sphinx-book-theme.js"),
]
EDITS = [*THEMES, SETTINGS, *SCRIPTS, *UNUSED.values(), MATHJAX, PREVIEWS, *BEHAVIOUR]


def _node(script: str, request: dict, task: str) -> str:
    """What a script beside this file answers to a request."""
    node = Path(sys.executable).with_name("node")
    modules = os.environ | {"NODE_PATH": str(NODE_MODULES)}
    command, request = [node, HERE / script], json.dumps(request)
    done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf8", env=modules)
    if done.returncode:
        raise ExtensionError(f"pages: {task}: {done.stderr.strip()}")
    return done.stdout


def _static(page: Path, outdir: Path) -> str:
    """The way from a page to the folder of our own files."""
    return "../" * (len(page.relative_to(outdir).parts) - 1) + "_static/plusx"


def _join_styles(pages: dict, outdir: Path, looks: list[Path]) -> None:
    """One stylesheet in place of those the pages load, which are one after the other what a first view waits for."""
    lists = [[(page.parent / found[1]).resolve() for found in STYLE.finditer(html)] for page, html in pages.items()]
    order = [*dict.fromkeys(sheet for sheets in lists for sheet in sheets)]
    for sheets in lists:
        if sheets != [sheet for sheet in order if sheet in sheets]:
            raise ExtensionError(
                f"pages: one loads {', '.join(each.name for each in sheets)}, and others in another order."
            )

    def read(sheet):
        text = IMPORT.sub(lambda found: read((sheet.parent / found[1]).resolve()), sheet.read_text(encoding="utf8"))
        here = sheet.parent.relative_to(outdir / "_static").as_posix()
        return URL.sub(lambda found: f"url(../{here}/{found[1]})", text)

    css = "\n".join([*map(read, order), *(sheet.read_text(encoding="utf8") for sheet in looks)])
    scripts = [
        path for path in sorted(outdir.rglob("*.js")) if not path.name.startswith(("plotly", "searchindex", "ort"))
    ]
    request = {"css": COMMENT.sub("", css), "pages": list(pages.values()), "scripts": list(map(str, scripts))}
    css = _node("styles.js", request, "the stylesheets cannot be read")
    (outdir / "_static" / "plusx" / "site.css").write_text(css, encoding="utf8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    types = (HERE / "type.js").read_text(encoding="utf8")
    for page, html in pages.items():
        root = _static(page, outdir)
        one = f'<link rel="stylesheet" href="{root}/site.css?v={version}" />'
        one += f"\n    <script>{types.replace('{root}', root)}</script>"
        pages[page] = STYLE.sub("", html).replace("</title>", f"</title>\n    {one}", 1)


def _typeset(pages: dict, static: Path) -> None:
    """Put drawn formulas in place of TeX: 260 kB of MathJax less to load, and maths with scripts off."""
    found = {}  # (TeX, display) -> nothing yet

    def each_formula(html, put):
        def within(maths):
            return TEX.sub(lambda tex: put((unescape(tex[2]).strip(), not tex[1])), maths[0])

        return MATHS.sub(within, html)

    for html in pages.values():
        each_formula(html, lambda formula: found.setdefault(formula, ""))
    request = {"fonts": "mathjax", "formulas": [(*each, formulas.painted(each[0])) for each in found]}
    answer = json.loads(_node("typeset.js", request, "MathJax cannot typeset a formula"))
    drawn = dict(zip(found, answer["html"]))
    face = FIRST_FACE._replace(put=formulas.inlined(static / "mathjax" / "MathJax_Zero.woff"))
    (static / "maths.css").write_text(edit(answer["css"], "maths.css", [face]), encoding="utf8")
    formulas.cut(answer["css"], static)
    for page, html in pages.items():
        pages[page] = edit(each_formula(html, drawn.__getitem__), page.name, [MATHJAX])


def _put_states_beside(page: Path, html: str, outdir: Path) -> str:
    """Move the states of explorers out of the page, whose words need not wait for them."""

    def put(id, payload):
        name = f"{page.stem}-{id.removeprefix('explore-')}.js"
        script = f'((globalThis.plusx ??= {{}}).states ??= {{}})["{id}"] = "{payload}";\n'
        (outdir / "_static" / "plusx" / name).write_text(script, encoding="utf8")
        return f"{_static(page, outdir)}/{name}"

    return states_beside(html, put)


def _address_site(outdir: Path, pages: dict, base: str) -> None:
    """What speaks of the site's own address: previews, the sitemap, the way home from a page that is missing."""
    for page, html in pages.items() if not base else ():
        pages[page] = edit(html, page.name, [PREVIEWS])
    home = urlsplit(base).path or "/"
    missing = (HERE / "404.html").read_text(encoding="utf8")
    (outdir / "404.html").write_text(missing.replace("{home}", home), encoding="utf8")
    if base:
        links = "".join(
            f"<url><loc>{urljoin(base, page.relative_to(outdir).as_posix())}</loc></url>\n" for page in pages
        )
        xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9"
        (outdir / "sitemap.xml").write_text(f'<urlset xmlns="{xmlns}">\n{links}</urlset>\n', encoding="utf8")
