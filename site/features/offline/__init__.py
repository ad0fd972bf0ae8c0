"""The book kept on a reader's device: the list of files that offline-worker.js keeps, and the manifest of the app."""

import json
import re
import shutil
from pathlib import Path
from urllib.parse import quote

from assets import digest

HERE = Path(__file__).parent
OFFER = re.compile(r'(<div class="px-offline" data-megabytes=")\d*"')
WORKER = "offline-worker.js"  # it answers for addresses below its own, so it lies beside the first page


def offer_to_keep(site: Path) -> None:
    """Write what the first page's offer needs, if it makes one: again after any change to the site's files."""
    first, worker = site / "index.html", site / WORKER
    html = first.read_text(encoding="utf8")
    if not OFFER.search(html):
        return
    shutil.copy(HERE / "app.webmanifest", site)
    files = [path for path in sorted(site.rglob("*")) if path.is_file() and path.suffix != ".map" and path != worker]
    files = [path for path in files if not path.name.startswith(".") and not path.name.endswith("smollm2.onnx")]
    megabytes = round(sum(path.stat().st_size for path in files) / 1e6)
    first.write_text(OFFER.sub(rf'\g<1>{megabytes}"', html), encoding="utf8")
    names = [path.relative_to(site).as_posix() for path in files]
    listed = json.dumps(["./", *map(quote, names)])
    settings = f'const edition = "{digest(zip(names, files))[:16]}";\nconst files = {listed};\n'
    worker.write_text(settings + (HERE / WORKER).read_text(encoding="utf8"), encoding="utf8")


def _finish(app, exception):
    if not exception and app.builder.format == "html":
        offer_to_keep(Path(app.outdir))


SCRIPTED, HEARS = OFFER, {"build-finished": _finish}
