"""How far a reader has come: kept in the browser, shown as a line, as marks and as the way back."""

from pathlib import Path

from assets import carry, load

HERE = Path(__file__).parent


def setup(app):
    carry(app, HERE / "progress.css", HERE / "progress.js")
    app.connect("builder-inited", lambda app: load(app, "progress.css", "progress.js", priority=903))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
