"""The browser that tests drive: which one is found, and that what `make test` lacks stops it before it builds."""

import os
import re
import shutil
import socket
import subprocess
import threading
from urllib.parse import urlsplit

import chromium
import pytest
from browser import ROOT, QuietHandler, serve


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_an_installed_browser_comes_before_the_one_that_was_brought(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "HOME", tmp_path / "home")
    with pytest.raises(SystemExit, match="There is no Chromium. `make browser` brings one"):
        chromium.chromium()
    brought = program(tmp_path / "home" / chromium.BROUGHT)
    assert chromium.chromium() == brought
    installed = program(tmp_path / "google-chrome")
    assert chromium.chromium() == installed
    shell = program(tmp_path / "chromium-headless-shell")
    assert chromium.chromium() == shell


@pytest.mark.parametrize("fault, told", [(BrokenPipeError, False), (ConnectionResetError, False), (KeyError, True)])
def test_a_reader_who_has_gone_leaves_no_traceback_in_the_log_and_a_fault_does(tmp_path, capsys, fault, told):
    met = threading.Event()

    class Gone(QuietHandler):
        def do_GET(self):
            raise fault("as it writes")

        def finish(self):
            super().finish()
            met.set()

    with serve(tmp_path, Gone) as url:
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as reader:
            reader.sendall(b"GET / HTTP/1.0\r\n\r\n")
            met.wait()
            reader.recv(1)  # nothing: by then the server has told what it tells
    assert (fault.__name__ in capsys.readouterr().err) == told


def test_make_test_asks_for_its_tools_before_it_installs_or_builds(tmp_path):
    wanted = re.search(r"^test: (.*)", (ROOT / "Makefile").read_text(), re.M)[1].split()
    assert wanted[0] == "needs" and wanted.index("browser") < wanted.index("book")
    for name in ("make", "sh", "bash"):
        (tmp_path / name).symlink_to(shutil.which(name))
    make = ["make", "-s", "-C", ROOT, "needs"]
    without = subprocess.run(make, env=os.environ | {"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert without.returncode != 0 and "make test needs git: install it" in without.stderr
    assert subprocess.run(make).returncode == 0
