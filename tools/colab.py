"""Run on Colab by a chapter's first cell, which has cloned the book: installs what is pinned, goes to `chapters/`.

Colab keeps its own torch, ipywidgets and matplotlib.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from google.colab import output

ROOT = Path(__file__).resolve().parents[1]
PINNED = "anywidget", "plotly", "safetensors"  # Colab lacks them, or has another version

requirements = (ROOT / "requirements.txt").read_text()
pins = [re.search(rf"^{name}==\S+$", requirements, re.M)[0] for name in PINNED]
subprocess.run([sys.executable, "-m", "pip", "install", "-q", *pins], check=True)
os.chdir(ROOT / "chapters")
sys.path.insert(0, str(ROOT / "src"))
output.enable_custom_widget_manager()  # without it Colab shows no widget of others
