"""mutmut changes the science and the explorers, one place at a time: a test notices, or a list says why none does."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from browser import ROOT

pytestmark = pytest.mark.audit
HERE = Path(__file__).parent
MUTMUT = Path(sys.executable).with_name("mutmut")
# Runs where mutmut ran; prints each mutant's verdict, and of those that nothing noticed the lines they have for others.
REPORT = r"""
import json, re, subprocess, sys
from mutmut.mutation.diff_apply import get_diff_for_mutant
listed = subprocess.run([sys.argv[1], "results", "--all", "true"], capture_output=True, text=True, check=True).stdout
report = []
for name, verdict in re.findall(r"^ *(\S+): (.*)$", listed, re.M):
    lines = []
    if verdict in ("survived", "no tests"):
        lines = [line[1:].strip() for line in get_diff_for_mutant(name).splitlines() if re.match(r"\+(?!\+)", line)]
    report.append((name, verdict, " ".join(lines)))
print(json.dumps(report))
"""


def function_of(mutant):
    """plusx.nets.residual.xǁStackǁstates__mutmut_1 is plusx.nets.residual.Stack.states, x_mnist__mutmut_1 its own."""
    module, _, name = mutant.rpartition("__mutmut_")[0].rpartition(".")
    return f"{module}.{name[2:].replace('ǁ', '.')}"


def test_what_no_test_notices_is_listed_with_a_reason(tmp_path):
    for part in ("src", "tests", "tools", "site", "chapters"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("node_modules", "*.egg-info"))
    shutil.copy(HERE / "mutmut.toml", tmp_path / "pyproject.toml")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "CI": "1"}  # by the second, hypothesis draws the same each time
    how = {
        "cwd": tmp_path,
        "env": environment,
        "check": True,
        "text": True,
        "stdout": subprocess.PIPE,
        "stdin": subprocess.DEVNULL,
    }
    subprocess.run([MUTMUT, "run", "--max-children", str(os.cpu_count())], **how)
    report = json.loads(subprocess.run([sys.executable, "-c", REPORT, MUTMUT], **how).stdout)
    assert len(report) > 500
    found = {f"{function_of(name)}: {lines}" for name, verdict, lines in report if verdict in ("survived", "no tests")}
    reasons = tomllib.loads((HERE / "unnoticed.toml").read_text(encoding="utf8"))
    listed = {line for lines in reasons.values() for line in lines}
    print(f"\n{len(report)} mutants, {len(found)} unnoticed. Listed in vain: {sorted(listed - found)}")
    assert sorted(found - listed) == []
