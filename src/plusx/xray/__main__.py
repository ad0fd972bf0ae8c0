"""`python -m plusx.xray`: the page of a net from a shell, of a folder of transformers or of what a function gives."""

import argparse
import importlib
import os
import sys
from pathlib import Path

from . import beside, xray


def loaded(folder, text):
    """The model and tokenizer of a folder, or of a name that is in the reader's cache: nothing is downloaded."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read as transformers is imported
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    written = any("ForCausalLM" in each or "LMHead" in each for each in config.architectures or ())
    kind = transformers.AutoModelForCausalLM if written else transformers.AutoModel
    model = kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    given = dict(tokenizer(text, return_tensors="pt"))
    given.pop("token_type_ids", None)
    return dict(model=model, inputs=given, says=lambda at: tokenizer.decode([at]))


def called(name):
    """What a function gives, `module:function`: the model and its inputs, or a dict of what `xray` takes."""
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    given = getattr(importlib.import_module(module), function)()
    return given if isinstance(given, dict) else dict(zip(("model", "inputs", "loss"), given))


def main(words=None):
    parser = argparse.ArgumentParser("python -m plusx.xray", description="Draw a net: one page, without a network.")
    parser.add_argument("nets", nargs="*", help="a folder of transformers, a name in your cache, or two pages written")
    parser.add_argument("--text", default="Once upon a time, there was a little girl who", help="that it reads")
    parser.add_argument("--call", help="module:function that gives a model and its inputs, of any torch model")
    parser.add_argument("-o", default="net.html", help="the page to write (net.html)")
    parser.add_argument("--megabytes", type=int, default=128, help="about what cuts that share a pass may take")
    asked = parser.parse_args(words)
    if len(asked.nets) not in ([0] if asked.call else [1, 2]):
        parser.error("give a folder, two pages that were written, or --call module:function")
    try:
        if len(asked.nets) == 2:
            found = beside(**{str(Path(each).with_suffix("")): each for each in asked.nets})
        else:
            given = called(asked.call) if asked.call else loaded(*asked.nets, asked.text)
            found = xray(**given, megabytes=asked.megabytes)
        found.save(asked.o)
    except (OSError, ValueError, ImportError, AttributeError, TypeError) as error:
        sys.exit(f"xray: nothing was written. {str(error).removeprefix('xray: ')}")
    print(found)
    print(f"written: {asked.o}")


if __name__ == "__main__":
    main()
