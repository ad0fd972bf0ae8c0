"""A chapter on a projector: large, without what is not for a class, a part at a time. A button above each chapter."""

from pathlib import Path

from assets import button, carry, load

from plusx.sphinx.markup import OPENING

HERE = Path(__file__).parent


def _equip(app, pagename, templatename, context, doctree):
    body = context.get("body") or ""
    if not pagename.startswith("chapters/") or not (OPENING.search(body) or "px-choices" in body):
        return  # a chapter is what has something to try, or to guess
    load(app, "slides.js")
    press = button("slides", "fa-person-chalkboard", "plusx.slides()", "Projector (Alt+S)")
    context["header_buttons"].append(press)


def setup(app):
    carry(app, HERE / "slides.css", HERE / "slides.js")
    app.connect("builder-inited", lambda app: load(app, "slides.css"))
    # After the theme (priority 501) has begun the list of buttons.
    app.connect("html-page-context", _equip, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
