"""Train the nets of the playground and their relatives, and write down how: `python tools/train_playground.py`.

The page has those of seed 0. The chapters on transformers compare text nets of five seeds, and three that are wider.
With names behind it, such as `wide-2`, it trains these alone.

The text is the reference of the Python language that ships with Python (`pydoc_data.topics`),
so another version of Python trains on slightly another text. All nets, half an hour on two
cores. Beside each checkpoint lies a .json with the settings, the hashes of this script and
of the checkpoint, the losses in training, and the loss on data that was held out.
"""

import hashlib
import json
import math
import multiprocessing
import platform
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics

import torch
from safetensors.torch import save_file

from plusx.nets.switched import CHECKPOINTS, NETS, Switched, checkpoint_path, encode, held_out, losses

SETTINGS = {
    "characters": {"steps": 1800, "batch": 32, "rate": 3e-3, "warm_up": 100},
    "sorting": {"steps": 1800, "batch": 64, "rate": 3e-3, "warm_up": 100},
    "wide": {"steps": 1800, "batch": 32, "rate": 3e-3, "warm_up": 100},
}
SEEDS = {"characters": 5, "sorting": 3, "wide": 3}
SIMPLER = {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}


def texts():
    """The text to train on, and that to hold out: the last tenth of every topic."""
    parts = ["", ""]
    for name in sorted(topics):
        text = "".join(SIMPLER.get(c, c) for c in topics[name])
        text = "".join(c for c in text if c in NETS["characters"].alphabet)
        cut = len(text) * 9 // 10
        parts = [parts[0] + text[:cut], parts[1] + text[cut:]]
    return parts


def write_held_out():
    """256 windows of 65 characters, evenly spread over the held-out text.

    Topics quote one another, so only windows of which no 32 characters in a row stand in the text to train on.
    """
    text, kept = texts()
    size, quote = NETS["characters"].places + 1, 32
    known = {text[i : i + quote] for i in range(len(text) - quote + 1)}
    windows = [kept[i : i + size] for i in range(len(kept) - size + 1)]
    new = [w for w in windows if not any(w[i : i + quote] in known for i in range(size - quote + 1))]
    picked = [new[(len(new) - 1) * i // 255] for i in range(256)]
    (CHECKPOINTS / "held-out.txt").write_text("".join(picked), "utf8")


def batches(name, size, generator):
    """Endless batches of tokens, (size, n)."""
    task = NETS[name]
    if not task.causal:
        while True:
            n = int(torch.randint(1, task.places + 1, (1,), generator=generator))
            yield torch.randint(10, (size, n), generator=generator)
    tokens = encode(task, texts()[0])
    places = torch.arange(task.places + 1)
    while True:
        starts = torch.randint(len(tokens) - len(places) + 1, (size, 1), generator=generator)
        yield tokens[starts + places]


def rate(step, steps, warm_up):
    """Share of the full rate: up in a line, down in half a cosine."""
    return min((step + 1) / warm_up, (1 + math.cos(math.pi * step / steps)) / 2)


def train(name, seed, stop=None):
    """A net and its losses before each step; `stop` ends the training earlier."""
    settings = SETTINGS[name]
    torch.manual_seed(seed)
    net = Switched(NETS[name])
    adam = torch.optim.AdamW(net.parameters(), settings["rate"], betas=(0.9, 0.98), weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: rate(step, settings["steps"], settings["warm_up"]))
    generator = torch.Generator().manual_seed(seed)
    seen = []
    for tokens, _ in zip(batches(name, settings["batch"], generator), range(stop or settings["steps"])):
        loss = losses(net, tokens).mean()
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        adam.step()
        plan.step()
        seen.append(loss.item())
        if len(seen) % 100 == 0:
            print(f"{name} {seed} {len(seen):5} {sum(seen[-100:]) / 100:.3f}", flush=True)
    return net, seen


def tested(net):
    """Mean loss on the held-out data, in float64."""
    with torch.no_grad():
        return losses(net.double(), held_out(net.task)).mean().item()


def make(name, seed):
    """Train a net on one core, and write its checkpoint and record."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    net, seen = train(name, seed)
    seconds = time.perf_counter() - start
    checkpoint = checkpoint_path(name, seed)
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    if name == "wide":  # half the precision is half the file
        net.half()
    save_file(net.state_dict(), checkpoint)
    record = {
        "settings": {**SETTINGS[name], "seed": seed},
        "task": NETS[name]._asdict(),
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (Path(__file__), checkpoint)},
        "python": platform.python_version(),
        "torch": torch.__version__,
        "minutes": round(seconds / 60, 1),
        "losses_every_100_steps": [round(loss, 3) for loss in seen[::100]],
        "held_out_loss": round(tested(net), 6),
    }
    checkpoint.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf8")
    print(f"{name} {seed}: {seconds:.0f} s, held-out loss {record['held_out_loss']}")


if __name__ == "__main__":
    write_held_out()
    everything = [f"{name}-{seed}" for name, count in SEEDS.items() for seed in range(count)]
    asked = [which.rsplit("-", 1) for which in sys.argv[1:] or everything]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(make, [(name, int(seed)) for name, seed in asked], chunksize=1)
