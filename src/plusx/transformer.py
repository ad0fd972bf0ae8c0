"""Attention, and transformer layers written down in one line, many nets side by side.

Here live the parts and the net made of them; `Residual` lives in `plusx.residual`,
the batched `Linear` in `plusx.resnet`, training in `plusx.train`.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .order import runs
from .residual import Residual
from .resnet import Linear

# What happens to the stream in one layer, as `plusx.order` reads it.
PRE_NORM = "[norm attention] [norm linear relu linear]"  # 2002.04745, figure 1 (b)
POST_NORM = "[attention] norm [linear relu linear] norm"  # 1706.03762, section 3.1


class TokenLinear(Linear):
    """`Linear` on every token: (S, batch, n, inputs) to (S, batch, n, outputs).

    W is drawn from N(0, 1 / inputs), half the variance that ReLU asks for: most of a
    transformer's maps feed no ReLU.
    """

    def __init__(self, inputs, outputs, generators):
        super().__init__(inputs, outputs, generators)
        with torch.no_grad():
            self.weight.mul_(math.sqrt(0.5))

    def forward(self, x):
        return super().forward(x.flatten(-3, -2)).unflatten(-2, x.shape[-3:-1])


class LayerNorm(nn.Module):
    """Each token to mean 0 and variance 1, then a learned gain and bias (1607.06450, eq. 4).

    weight, bias: (S, 1, 1, width).
    """

    def __init__(self, width, nets):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(nets, 1, 1, width))
        self.bias = nn.Parameter(torch.zeros(nets, 1, 1, width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:]) * self.weight + self.bias


class Attention(nn.Module):
    """Multi-head self-attention, no mask: (S, batch, n, d_model) keeps its shape.

    1706.03762, section 3.2: softmax(Q K^T / sqrt(d_head)) V for each head, then W_O.

    ValueError: d_model is not a multiple of the number of heads.
    """

    def __init__(self, d_model, heads, generators):
        super().__init__()
        if d_model % heads:
            raise ValueError(f"Attention: d_model {d_model} is not a multiple of {heads} heads.")
        self.heads = heads
        self.query = TokenLinear(d_model, d_model, generators)
        self.key = TokenLinear(d_model, d_model, generators)
        self.value = TokenLinear(d_model, d_model, generators)
        self.output = TokenLinear(d_model, d_model, generators)

    def split(self, x):
        """(S, batch, n, d_model) to (S, batch, heads, n, d_head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def weights(self, x):
        """How much each token takes from each: (S, batch, heads, n, n), rows sum to 1."""
        q, k = self.split(self.query(x)), self.split(self.key(x))
        return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)

    def forward(self, x):
        mixed = self.weights(x) @ self.split(self.value(x))  # (S, batch, heads, n, d_head)
        return self.output(mixed.transpose(-3, -2).flatten(-2))


def layer(order, d_model, heads, generators):
    """One layer from its line, such as PRE_NORM: (S, batch, n, d_model) keeps its shape.

    Parts are attention, norm, relu, linear. In a pair of linears the first widens to
    4 d_model and the second narrows again.

    ValueError: an unknown part, brackets that do not pair or are nested, an odd number
    of linears.
    """
    make = {
        "attention": lambda: Attention(d_model, heads, generators),
        "norm": lambda: LayerNorm(d_model, len(generators)),
        "relu": nn.ReLU,
    }

    def sequence(names):
        parts, width = [], d_model
        for name in names:
            if name == "linear":
                width, before = (4 * d_model if width == d_model else d_model), width
                parts.append(TokenLinear(before, width, generators))
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
    """Embeddings of token and place, layers, a linear map: (batch, n) to (S, batch, n, classes).

    tokens: how many different ones. n: how many in a sequence.
    order: the line of a layer. norm_last: LayerNorm after the last layer, as pre-norm
        needs it; GPT-2 has one (Radford et al. 2019, section 2.3).
    Each seed draws its own net.
    """

    def __init__(self, tokens, n, d_model, heads, layers, classes, *, order=PRE_NORM, norm_last=True, seeds=range(3)):
        super().__init__()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        draw = [torch.empty(tokens + n, d_model).normal_(generator=g) for g in generators]
        drawn = torch.stack(draw).to(torch.get_default_dtype())
        self.token = nn.Parameter(drawn[:, :tokens].clone())  # (S, tokens, d_model)
        self.place = nn.Parameter(drawn[:, None, tokens:].clone())  # (S, 1, n, d_model)
        self.layers = nn.ModuleList(layer(order, d_model, heads, generators) for _ in range(layers))
        self.norm = LayerNorm(d_model, len(generators)) if norm_last else nn.Identity()
        self.unembed = TokenLinear(d_model, classes, generators)

    def states(self, x):
        """The stream before the first layer and after each: layers + 1 of (S, batch, n, d_model)."""
        states = [self.token[:, x] + self.place]
        for each in self.layers:
            states.append(each(states[-1]))
        return states

    def forward(self, x):
        return self.unembed(self.norm(self.states(x)[-1]))
