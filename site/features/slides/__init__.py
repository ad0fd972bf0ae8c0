"""A chapter on a projector: large, without what is not for a class, a part at a time. A button above each chapter."""

from assets import button, load

from plusx.sphinx.markup import OPENING


def _equip(app, pagename, templatename, context, doctree):
    body = context.get("body") or ""
    if not pagename.startswith("chapters/") or not (OPENING.search(body) or "px-choices" in body):
        return  # a chapter is what has something to try, or to guess
    load(app, "slides.js")
    press = button("slides", "fa-person-chalkboard", "plusx.slides()", "Projector (Alt+S)")
    context["header_buttons"].append(press)


HEARS = {"html-page-context": _equip}
