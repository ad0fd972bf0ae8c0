"""The Sphinx extension of the book: offline assets, the execution cache, launch buttons.

What an explorer draws is not its business; that is `plusx.explore`.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pydata_sphinx_theme
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset_file

PACKAGE = Path(__file__).parent
ROOT = PACKAGE.parents[1]
NODE_MODULES = ROOT / "node_modules"
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"
MODE = "static"
# tools/build.py leaves this file in a site; any other build of the site removes it.
STAMP = ".inputs"

BUNDLES = {
    "basic": "plotly.js-basic-dist-min/plotly-basic.min.js",
    "cartesian": "plotly.js-cartesian-dist-min/plotly-cartesian.min.js",
    "gl3d": "plotly.js-gl3d-dist-min/plotly-gl3d.min.js",
}
FONTS = "mathjax/es5/output/chtml/fonts/woff-v2"
EXPLORER = re.compile(r'<div\b[^>]*\bclass="plusx-explore\b[^>]*>')
# What Sphinx writes for a formula, and the TeX within it.
MATHS = re.compile(r'<(span|div) class="[^"]*\bmath\b[^"]*"[^>]*>.*?</\1>', re.S)
TEX = re.compile(r"\\\((?P<inline>.*?)\\\)|\\\[(?P<display>.*?)\\\]", re.S)
# The theme measures every <pre> of a page whenever something in it changes; book.js watches those in view.
TAB_STOPS = re.compile(r',"complete"===document\.readyState\?\w\(\):window\.addEventListener\("load",\w\)(?=\}\)\(\);)')
MATHJAX_SCRIPT = re.compile(
    r"<script\b[^>]*>window\.MathJax\b.*?</script>\s*|<script\b[^>]*mathjax[^>]*></script>\s*", re.S
)
STYLE = re.compile(r'<link(?=[^>]*rel="stylesheet")[^>]*href="([^"?]*)[^>]*>\s*')
IMPORT = re.compile(r'@import "([^"]+)";')
URL = re.compile(r"""url\(["']?(?!data:)([^"')]+)["']?\)""")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STATES = re.compile(
    r'(?P<before><div class="plusx-explore" id="(?P<id>[^"]+)".*?)'
    r'<script type="text/plain" class="px-states">(?P<payload>[^<]+)</script>',
    re.S,
)
BUNDLE_NAME = re.compile(r'\bdata-bundle="([^"]*)"')
ICON = re.compile(r'<(?:i|span) class="([^"]*\bfa-[^"]*)"([^>]*)></(?:i|span)>')


def cache_path(srcdir: Path) -> Path:
    """Where the outputs of these notebooks, run against this code, are kept."""
    digest = hashlib.sha256(f"mode={MODE}".encode())
    sources = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "book.py")
    for path in [*sources, ROOT / "requirements.txt", ROOT / "constraints.txt"]:
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return Path(srcdir) / "_build" / ".jupyter_cache" / digest.hexdigest()[:16]


def _from_npm(name: str) -> Path:
    path = NODE_MODULES / name
    if not path.exists():
        raise ExtensionError(f"plusx.book: {path} is missing. Run `.venv/bin/npm ci --ignore-scripts` first.")
    return path


def _configure(app, config):
    os.environ["PLUSX_EXPLORE"] = MODE
    config.nb_execution_cache_path = str(cache_path(app.srcdir))
    config.ogp_site_url = config.html_baseurl
    if not config.html_theme_options.get("repository_url"):
        config.html_theme_options["launch_buttons"] = {}


def _copy_assets(app):
    if app.builder.format != "html":
        return
    Path(app.outdir, STAMP).unlink(missing_ok=True)
    static = Path(app.outdir, "_static", "plusx")
    fonts = static / "mathjax"
    fonts.mkdir(parents=True, exist_ok=True)
    for part in [_from_npm("mathjax/LICENSE"), *sorted(_from_npm(FONTS).glob("*.woff"))]:
        copy_asset_file(str(part), str(fonts))
    for asset in ["book.css", "book.js", "explore/explore.js", "explore/explore.css"]:
        copy_asset_file(str(PACKAGE / asset), str(static))
    app.add_css_file("plusx/maths.css")
    app.add_css_file("plusx/book.css", priority=900)
    app.add_js_file("plusx/book.js", defer="defer")


def _equip_page(app, pagename, templatename, context, doctree):
    """Give the page of an explorer the scripts it needs, and other pages none."""
    explorers = EXPLORER.findall(context.get("body") or "")
    if not explorers:
        return
    app.add_css_file("plusx/explore.css")
    app.add_js_file("plusx/explore.js", defer="defer")
    for tag in explorers:
        match = BUNDLE_NAME.search(tag)
        if not match or match[1] not in BUNDLES:
            raise ExtensionError(
                f"plusx.book: an explorer of {pagename} asks for the plotly bundle "
                f"{match and match[1]!r}; there are {', '.join(BUNDLES)}."
            )
        static = Path(app.outdir, "_static", "plusx")
        copy_asset_file(str(_from_npm(BUNDLES[match[1]])), str(static))


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
        raise ExtensionError(f"plusx.book: the theme has no icon for {tag[0]}")
    width, height, path = _icons()[names[0]]
    return (
        f'<svg class="svg-inline--fa {" ".join(classes)}"{rest} aria-hidden="true" '
        f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"></path></svg>'
    )


def _measured(block: re.Match) -> str:
    """A block of code that says how many lines it has, and takes the keyboard's focus if a phone must scroll it."""
    lines = unescape(re.sub(r"<[^>]+>", "", block[1])).rstrip("\n").split("\n")
    focus = ' tabindex="0"' if max(map(len, lines)) > 34 else ""
    return f'<pre{focus} style="--lines:{len(lines)}">{block[1]}</pre>'


def _without_paragraphs(summary: re.Match) -> str:
    return summary[1] + summary[2].replace("<p ", "<span ").replace("</p>", "</span>")


def _mend_theme(html: str) -> str:
    """Mend what themes and extensions get wrong: weight, valid HTML, and three of axe's rules."""
    html = re.sub(r'<script defer src="[^"]*/fontawesome\.js[^"]*"></script>', "", html)
    html = ICON.sub(_draw_icon, html)
    # label-content-name-mismatch: the text inside is label enough.
    html = re.sub(r'(search-button-field[^>]*) title="Search" aria-label="Search"', r"\1", html)
    html = html.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    html = re.sub(r"<pre>(.*?)</pre>", _measured, html, flags=re.S)
    # A summary holds no paragraph, and an id is a page's only one.
    html = re.sub(r"(<summary>\s*)((?:<p\b.*?</p>\s*)+)(?=</summary>)", _without_paragraphs, html)
    html = re.sub(r'<section id="(?:exercise|solution)-content">', "<section>", html)
    # aria-required-children: in a list, an item's role is listitem.
    html = html.replace(' role="doc-biblioentry"', ' role="listitem"')
    # region: all content belongs to a landmark.
    return html.replace(
        '<div id="pst-primary-sidebar" class',
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class',
    )


def _node(script: str, request: dict, task: str) -> str:
    """What a script beside this file answers to a request."""
    node = Path(sys.executable).with_name("node")
    modules = os.environ | {"NODE_PATH": str(NODE_MODULES)}
    command, request = [node, PACKAGE / script], json.dumps(request)
    done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf8", env=modules)
    if done.returncode:
        raise ExtensionError(f"plusx.book: {task}: {done.stderr.strip()}")
    return done.stdout


def _join_styles(pages: dict, outdir: Path) -> None:
    """One stylesheet in place of those the pages load, which are one after the other what a first view waits for."""
    sheets = {
        page: [(page.parent / found[1]).resolve() for found in STYLE.finditer(html)] for page, html in pages.items()
    }
    order = max(sheets.values(), key=len)
    for page, wanted in sheets.items():
        if wanted != [sheet for sheet in order if sheet in wanted]:
            raise ExtensionError(f"plusx.book: {page.name} loads its stylesheets in an order of its own.")

    def read(sheet):
        text = IMPORT.sub(lambda found: read((sheet.parent / found[1]).resolve()), sheet.read_text(encoding="utf8"))
        here = sheet.parent.relative_to(outdir / "_static").as_posix()
        return URL.sub(lambda found: f"url(../{here}/{found[1]})", COMMENT.sub("", text))

    scripts = [path for path in sorted(outdir.rglob("*.js")) if not path.name.startswith(("plotly", "searchindex"))]
    request = {"css": "\n".join(map(read, order)), "pages": list(pages.values()), "scripts": list(map(str, scripts))}
    css = _node("styles.js", request, "the stylesheets cannot be read")
    (outdir / "_static" / "plusx" / "site.css").write_text(css, encoding="utf8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page, html in pages.items():
        root = "../" * (len(page.relative_to(outdir).parts) - 1)
        one = f'<link rel="stylesheet" href="{root}_static/plusx/site.css?v={version}" />'
        pages[page] = STYLE.sub("", html).replace("</title>", f"</title>\n    {one}", 1)


def _typeset(pages: dict, static: Path) -> None:
    """Put drawn formulas in place of TeX: 260 kB of MathJax less to load, and maths with scripts off."""
    found = {}  # (TeX, display) -> the page that has it

    def each_formula(html, put):
        return MATHS.sub(lambda maths: TEX.sub(lambda tex: put(_formula(tex)), maths[0]), html)

    def _formula(tex):
        display = tex["display"] is not None
        return unescape(tex["display"] if display else tex["inline"]).strip(), display

    for page, html in pages.items():
        each_formula(html, lambda formula, page=page: str(found.setdefault(formula, page)))
    request = {"fonts": "mathjax", "formulas": list(found)}
    answer = json.loads(_node("typeset.js", request, "MathJax cannot typeset a formula"))
    drawn = dict(zip(found, answer["html"]))
    (static / "maths.css").write_text(answer["css"], encoding="utf8")
    for page, html in pages.items():
        pages[page] = MATHJAX_SCRIPT.sub("", each_formula(html, drawn.__getitem__))


def _unblock(page: Path, html: str, outdir: Path) -> str:
    """Let no script hold up the first view: run them when the page is read, and load the index where one searches."""
    options = (outdir / "_static" / "documentation_options.js").read_text(encoding="utf8")
    html = re.sub(r'<script src="[^"]*/documentation_options\.js[^>]*></script>', f"<script>{options}</script>", html)
    html = re.sub(r"<script (?!defer)(?=[^>]*\bsrc=)", "<script defer ", html)
    html = re.sub(r'<link rel="preload" as="script"[^>]*>\s*', "", html)
    # The theme's script knows the reader's only later, and then every element's style is computed anew.
    wanted = 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'
    html = html.replace('localStorage.getItem("theme") || "auto"', f'localStorage.getItem("theme") || ({wanted})')
    if page.name != "search.html":
        html = re.sub(
            r'<script defer src="[^"]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>\s*', "", html
        )
    return html


def _put_states_beside(page: Path, html: str, outdir: Path) -> str:
    """Move the states of explorers out of the page, whose words need not wait for them."""

    def move(states):
        name = f"{page.stem}-{states['id'].removeprefix('explore-')}.js"
        script = f'(window.plusxStates ??= {{}})["{states["id"]}"] = "{states["payload"]}";\n'
        (outdir / "_static" / "plusx" / name).write_text(script, encoding="utf8")
        source = f"{'../' * (len(page.relative_to(outdir).parts) - 1)}_static/plusx/{name}"
        return f'{states["before"]}<script type="text/plain" class="px-states" data-src="{source}"></script>'

    return STATES.sub(move, html)


def _address_site(outdir: Path, pages: dict, base: str) -> None:
    """What speaks of the site's own address: previews, the sitemap, the way home from a page that is missing."""
    for page, html in pages.items() if not base else ():
        pages[page] = re.sub(r'<meta property="og:(?:url|image)[^>]*>\n?', "", html)  # they hold an address
    home = urlsplit(base).path or "/"
    missing = (PACKAGE / "404.html").read_text(encoding="utf8")
    (outdir / "404.html").write_text(missing.replace("{home}", home), encoding="utf8")
    if base:
        links = "".join(
            f"<url><loc>{urljoin(base, page.relative_to(outdir).as_posix())}</loc></url>\n" for page in pages
        )
        xmlns = "http://www.sitemaps.org/schemas/sitemap/0.9"
        (outdir / "sitemap.xml").write_text(f'<urlset xmlns="{xmlns}">\n{links}</urlset>\n', encoding="utf8")


def _finish(app, exception):
    if exception or app.builder.format != "html":
        return
    outdir = Path(app.outdir)
    paths = sorted(path for path in outdir.rglob("*.html") if "_static" not in path.parts)
    pages = {path: _mend_theme(path.read_text(encoding="utf8")) for path in paths}
    _typeset(pages, outdir / "_static" / "plusx")
    for path, html in pages.items():
        pages[path] = _put_states_beside(path, _unblock(path, html, outdir), outdir)
    _join_styles(pages, outdir)
    _address_site(outdir, pages, app.config.html_baseurl)
    for path, html in pages.items():
        path.write_text(html, encoding="utf8")
    (outdir / "_static" / "scripts" / "fontawesome.js").unlink(missing_ok=True)
    theme = outdir / "_static" / "scripts" / "pydata-sphinx-theme.js"
    script, mended = TAB_STOPS.subn("", theme.read_text(encoding="utf8"))
    if mended != 1:
        raise ExtensionError("plusx.book: the theme's script no longer ends as TAB_STOPS expects. Is book.js needed?")
    theme.write_text(script, encoding="utf8")


def setup(app):
    # Before myst-nb (priority 500) reads its own settings.
    app.connect("config-inited", _configure, priority=400)
    app.connect("builder-inited", _copy_assets)
    app.connect("html-page-context", _equip_page)
    # After the theme (priority 500) has written the colours of code.
    app.connect("build-finished", _finish, priority=900)
    # Pages copy their bundles while they are written: one writer.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
