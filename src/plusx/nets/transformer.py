"""Attention, and transformer layers written down in one line.

Here live the parts and the net made of them; `Residual` lives in `plusx.nets.residual`,
many nets side by side in `plusx.training.sidebyside`.
"""

import math

import torch
from torch import nn

from ..order import runs
from .residual import Residual, states
from .resnet import linear

# What happens to the stream in one layer, as `plusx.order` reads it.
PRE_NORM = "[norm attention] [norm linear relu linear]"  # 2002.04745, figure 1 (b)
POST_NORM = "[attention] norm [linear relu linear] norm"  # 1706.03762, section 3.1


def token_linear(inputs, outputs, rng):
    """`linear` with half the variance that ReLU asks for: most of a transformer's maps feed no ReLU."""
    return linear(inputs, outputs, rng, gain=1.0)


class Attention(nn.Module):
    """Multi-head self-attention, no mask: (..., n, d_model) keeps its shape.

    1706.03762, section 3.2: softmax(Q K^T / sqrt(d_head)) V for each head, then W_O.

    ValueError: d_model is not a multiple of the number of heads.
    """

    def __init__(self, d_model, heads, rng):
        super().__init__()
        if d_model % heads:
            raise ValueError(f"Attention: d_model {d_model} is not a multiple of {heads} heads.")
        self.heads = heads
        self.query = token_linear(d_model, d_model, rng)
        self.key = token_linear(d_model, d_model, rng)
        self.value = token_linear(d_model, d_model, rng)
        self.output = token_linear(d_model, d_model, rng)

    def split(self, x):
        """(..., n, d_model) to (..., heads, n, d_head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def weights(self, x):
        """How much each token takes from each: (..., heads, n, n), rows sum to 1."""
        q, k = self.split(self.query(x)), self.split(self.key(x))
        return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)

    def forward(self, x):
        mixed = self.weights(x) @ self.split(self.value(x))  # (..., heads, n, d_head)
        return self.output(mixed.transpose(-3, -2).flatten(-2))


def layer(order, d_model, heads, rng):
    """One layer from its line, such as PRE_NORM: (..., n, d_model) keeps its shape.

    Parts are attention, norm, relu, linear. In a pair of linears the first widens to
    4 d_model and the second narrows again.

    ValueError: an unknown part, brackets that do not pair or are nested, an odd number
    of linears.
    """
    make = {
        "attention": lambda: Attention(d_model, heads, rng),
        "norm": lambda: nn.LayerNorm(d_model),
        "relu": nn.ReLU,
    }

    def sequence(names):
        parts, width = [], d_model
        for name in names:
            if name == "linear":
                width, before = (4 * d_model if width == d_model else d_model), width
                parts.append(token_linear(before, width, rng))
            elif name in make:
                parts.append(make[name]())
            else:
                raise ValueError(f"layer: unknown part {name!r} in {order!r}; there are linear, {', '.join(make)}.")
        if width != d_model:
            run = " ".join(names)
            raise ValueError(f"layer: {run!r} ends {width} wide, expected {d_model}. Give linears in pairs.")
        return nn.Sequential(*parts)

    pieces = [(sequence(names), residual) for names, residual in runs(order)]
    return nn.Sequential(*[Residual(piece) if residual else piece for piece, residual in pieces])


class Transformer(nn.Module):
    """Embeddings of token and place, layers, a linear map: (batch, n) to (batch, n, classes).

    tokens: how many different ones. n: how many in a sequence.
    order: the line of a layer. norm_last: LayerNorm after the last layer, as pre-norm
        needs it; GPT-2 has one (Radford et al. 2019, section 2.3).
    """

    def __init__(self, tokens, n, d_model, heads, layers, classes, *, order=PRE_NORM, norm_last=True, seed=0):
        super().__init__()
        rng = torch.Generator().manual_seed(seed)
        drawn = torch.empty(tokens + n, d_model).normal_(generator=rng)
        self.token = nn.Parameter(drawn[:tokens].clone())
        self.place = nn.Parameter(drawn[tokens:].clone())
        self.layers = nn.ModuleList(layer(order, d_model, heads, rng) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model) if norm_last else nn.Identity()
        self.unembed = token_linear(d_model, classes, rng)

    def embed(self, x):
        """The stream before the first layer: (batch, n) to (batch, n, d_model)."""
        return self.token[x] + self.place

    def states(self, x):
        """The stream before the first layer and after each: layers + 1 of (batch, n, d_model)."""
        return states(self.layers, self.embed(x))

    def read(self, stream):
        """Scores for each class from the last state: (..., d_model) to (..., classes)."""
        return self.unembed(self.norm(stream))

    def forward(self, x):
        return self.read(self.states(x)[-1])
