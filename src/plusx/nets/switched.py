"""A transformer whose every skip, branch, norm and activation is a switch, and two trained ones.

Here live the net, what it shows of itself, and its tasks; `tools/train_playground.py` trained it,
`plusx.panels.playground` draws it. One net at a time, in `torch.nn`'s parts.
"""

import math
import string
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

CHECKPOINTS = Path(__file__).parents[3] / "chapters" / "data" / "playground"

# The switches of a layer, in sequence, and what each value means. A net of L layers has
# 7 L + 1: those of layer 1, ..., those of layer L, and the last norm.
LAYER = ("attention skip", "attention branch", "attention norm", "FFN skip", "FFN branch", "FFN norm", "activation")
OFF_ON = ("off", "on")
NORM = ("off", "before the branch", "after the addition")
ACTIVATIONS = {
    "off": lambda x: x,
    "relu": F.relu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
}
VALUES = (OFF_ON, OFF_ON, NORM, OFF_ON, OFF_ON, NORM, tuple(ACTIVATIONS))


class Task(NamedTuple):
    """What a net was trained for.

    alphabet: its tokens, as characters. places: the longest input. causal: whether each
    token sees only those before it, and predicts the next.
    """

    alphabet: str
    places: int
    causal: bool
    d_model: int
    heads: int = 4
    layers: int = 6


TASKS = {
    "characters": Task("\n" + "".join(map(chr, range(32, 127))), places=64, causal=True, d_model=64),
    "sorting": Task(string.digits, places=16, causal=False, d_model=48),
}
NETS = TASKS | {"wide": TASKS["characters"]._replace(d_model=128, heads=8)}  # all that are trained; the page has TASKS


class Seen(NamedTuple):
    """What `Switched.look` shows of one sequence of n tokens: L layers, H heads, V kinds of token.

    scores: the stream before layer 1 and after each, read by the last norm and the output
        map, the logit lens (L + 1, n, V). The last row is the net's answer.
    attention: shares that each token takes from each, rows sum to 1 (L, H, n, n).
    similarity: cosines of the tokens' vectors, after the same steps (L + 1, n, n).
    norm: length of each token's vector (L + 1, n).
    """

    scores: torch.Tensor
    attention: torch.Tensor
    similarity: torch.Tensor
    norm: torch.Tensor


class Layer(nn.Module):
    """Attention and feed-forward net (FFN), each y = skip x + branch(norm(x)).

    Trained as pre-norm (2002.04745, figure 1 b) with a ReLU in the FFN.
    """

    def __init__(self, d_model, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)

    def attend(self, x):
        """(batch, n, d_model) to what attention writes, and its shares (batch, heads, n, n)."""
        q, k, v = self.qkv(x).unflatten(-1, (3 * self.heads, -1)).transpose(-3, -2).chunk(3, dim=-3)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (batch, heads, n, n)
        if self.causal:
            later = torch.ones_like(scores[0, 0]).triu(1).bool()
            scores = scores.masked_fill(later, -math.inf)
        shares = torch.softmax(scores, dim=-1)
        return self.output((shares @ v).transpose(-3, -2).flatten(-2)), shares

    def forward(self, x, switches):
        """x (batch, n, d_model) and the 7 switches of the layer to the same shape, and attention's shares."""
        skip, branch, norm, *ffn, kind = switches
        written, shares = self.attend(normed(x, norm == 1, self.norms[0]))
        x = normed(add(x, skip, written, branch), norm == 2, self.norms[0])

        skip, branch, norm = ffn
        hidden = self.up(normed(x, norm == 1, self.norms[1]))
        written = self.down(choose(kind, *(partial(activation, hidden) for activation in ACTIVATIONS.values())))
        return normed(add(x, skip, written, branch), norm == 2, self.norms[1]), shares


def choose(value, *options):
    """options[value](). Where the value is a tensor, as in an export, all are computed and one is taken."""
    if isinstance(value, int):
        return options[value]()
    chosen = options[0]()
    for i, option in enumerate(options[1:], 1):
        chosen = torch.where(value == i, option(), chosen)
    return chosen


def normed(x, wanted, norm):
    return choose(wanted, lambda: x, lambda: norm(x))


def add(x, skip, written, branch):
    """skip x + branch written; a switch that is off leaves 0, also of what is infinite."""
    kept = choose(skip, lambda: torch.zeros_like(x), lambda: x)
    return choose(branch, lambda: kept, lambda: kept + written)


class Switched(nn.Module):
    """Embeddings of token and place, layers with switches, a last norm, a linear map to scores.

    Calling it maps tokens (batch, n) and 7 L + 1 switches to scores (batch, n, V). The
    switches are a list of numbers, or a tensor of them, int64. Without any it is the net
    as it is trained.
    """

    def __init__(self, task):
        super().__init__()
        self.task = task
        width = task.d_model
        self.token = nn.Embedding(len(task.alphabet), width)
        self.place = nn.Embedding(task.places, width)
        self.layers = nn.ModuleList(Layer(width, task.heads, task.causal) for _ in range(task.layers))
        self.norm = nn.LayerNorm(width)
        self.unembed = nn.Linear(width, len(task.alphabet))

    def check(self, switches, what):
        """ValueError: `switches`, called `what` in the message, are no setting of this net."""
        values = [*VALUES * len(self.layers), OFF_ON]
        if len(switches) != len(values):
            raise ValueError(f"switches: {what} has {len(switches)} numbers, expected {len(values)}.")
        for i, (switch, allowed) in enumerate(zip(switches, values)):
            if switch not in range(len(allowed)):
                raise ValueError(f"switches: {what} has {switch!r} at {i}; choose 0 to {len(allowed) - 1}: {allowed}.")

    def run(self, tokens, switches):
        """The stream before layer 1 and after each, and the shares of each attention."""
        x = self.token(tokens) + self.place.weight[: tokens.shape[-1]]
        streams, shares = [x], []
        for i, layer in enumerate(self.layers):
            x, share = layer(x, switches[len(LAYER) * i :][: len(LAYER)])
            streams.append(x)
            shares.append(share)
        return streams, shares

    def read(self, x, switches):
        return self.unembed(normed(x, switches[-1], self.norm))

    def forward(self, tokens, switches=None):
        switches = trained(self.task) if switches is None else switches
        streams, _ = self.run(tokens, switches)
        return self.read(streams[-1], switches)

    def look(self, tokens, switches):
        """`Seen` of one sequence, tokens (n,)."""
        streams, shares = self.run(tokens[None], switches)
        streams = torch.cat(streams)  # (L + 1, n, d_model)
        unit = F.normalize(streams, dim=-1)
        return Seen(self.read(streams, switches), torch.cat(shares), unit @ unit.mT, streams.norm(dim=-1))


def trained(task):
    """The switches as they stand in training: skips and branches on, pre-norm, ReLU."""
    return [1] * (len(LAYER) * task.layers + 1)


def encode(task, text):
    """The tokens of a text of any length, (n,).

    ValueError: it has a character outside the alphabet.
    """
    unknown = sorted(set(text) - set(task.alphabet))
    if unknown:
        raise ValueError(f"encode: the net does not know {''.join(unknown)!r}; it was trained on {task.alphabet!r}.")
    return torch.tensor([task.alphabet.index(c) for c in text], dtype=torch.int64)


def examples(task, tokens):
    """What goes in and what should come out: of (batch, n) tokens, (batch, n) or (batch, n - 1) twice.

    Text: every token but the last, and the one after each. Sorting: the tokens, and the
    same in sequence.
    """
    return (tokens[:, :-1], tokens[:, 1:]) if task.causal else (tokens, tokens.sort(-1).values)


def losses(net, tokens, switches=None):
    """Cross-entropy of each answer in nats: tokens (batch, n) to (batch, n) or (batch, n - 1), see `examples`."""
    given, wanted = examples(net.task, tokens)
    return F.cross_entropy(net(given, switches).mT, wanted, reduction="none")


def held_out(task):
    """Sequences that no net was trained on: (256, 65) of text, or (256, 12) digits to sort."""
    if not task.causal:
        return torch.randint(10, (256, 12), generator=torch.Generator().manual_seed(1))
    text = encode(task, (CHECKPOINTS / "held-out.txt").read_text("utf8"))
    return text.view(256, task.places + 1)


def checkpoint_path(name, seed):
    """Where the net that was trained from a seed is kept; the playground's own are those of seed 0."""
    return CHECKPOINTS / (f"seed-{seed}" if seed else "") / f"{name}.safetensors"


def load(name, seed=0):
    """A trained `Switched`, in torch's default dtype.

    name: "characters", seeds 0 to 4; "sorting", 0 to 2; or "wide", a text net of twice the width, 0 to 2.

    ValueError: another name.
    FileNotFoundError: the checkpoint does not lie where the repository keeps it.
    """
    if name not in NETS:
        raise ValueError(f"load: no net {name!r}; choose one of {', '.join(NETS)}.")
    path = checkpoint_path(name, seed)
    if not path.exists():
        raise FileNotFoundError(
            f"load: no file {path}. Seeds 0 to 2, of characters 0 to 4, come with the repository; install with "
            "`pip install -e .`."
        )
    with torch.random.fork_rng([]):  # the first weights are drawn, and overwritten
        net = Switched(NETS[name])
    net.load_state_dict(load_file(path))
    return net.eval().requires_grad_(False)
