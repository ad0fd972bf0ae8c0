"""plusx.measure.gates: which additions are residual, and which operand is the stream, a small net for each kind.

Each is compared with the same net cut by hand, in double precision.
"""

import copy
import threading
import warnings

import pytest
import torch
import transformers
from torch import nn
from torch.func import jacfwd, jacrev, vmap

from plusx.measure.gates import switches

X = torch.randn(4, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
TWO = torch.full((8,), 2.0, dtype=torch.float64)
ROWS = torch.tensor([0, 2])


def mlp(width=8):
    return nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width))


class Net(nn.Module):
    """A forward written in one line, and its parts by name."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.written = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.written(self, *inputs)


def made(make):
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return make().double()


def parallel(forward):
    return made(lambda: Net(forward, f=mlp(), g=nn.Linear(8, 8), h=mlp()))


def cut(gates, model, *inputs, **closed):
    """What the model gives with these gates at 0, such as branch=1."""
    for name, at in closed.items():
        getattr(gates, name)[at] = 0
    with gates:
        out = model(*inputs)
    gates.skip[:], gates.branch[:] = 1, 1
    return out


# In each order f is added first, and what is left without g is the rest.
ORDERS = {
    "x + f + g": lambda s, x: x + s.f(x) + s.g(x),
    "f + x + g": lambda s, x: s.f(x) + x + s.g(x),
    "g + (x + f)": lambda s, x: s.g(x) + (x + s.f(x)),
    "g + (f + x)": lambda s, x: s.g(x) + (s.f(x) + x),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("x", [X, X[0]], ids=["3 dimensions", "2"])
def test_two_branches_beside_one_stream_in_any_order(order, x):
    model = parallel(ORDERS[order])
    gates = switches(model, x)
    assert len(gates.places) == 2
    f, g = model.f(x), model.g(x)
    torch.testing.assert_close(cut(gates, model, x, branch=1), x + f)
    torch.testing.assert_close(cut(gates, model, x, branch=0), x + g)
    torch.testing.assert_close(cut(gates, model, x, skip=1), g)
    torch.testing.assert_close(cut(gates, model, x, skip=0), f + g)


def test_a_branch_that_is_a_sum_is_one():
    for forward in (lambda s, x: s.f(x) + s.g(x) + x, lambda s, x: x + (s.f(x) + s.g(x))):
        model = parallel(forward)
        gates = switches(model, X)
        assert len(gates.places) == 1
        torch.testing.assert_close(cut(gates, model, X, branch=0), X)


def test_three_branches():
    model = parallel(lambda s, x: x + s.f(x) + s.g(x) + s.h(x))
    gates = switches(model, X)
    parts = [model.f(X), model.g(X), model.h(X)]
    assert len(gates.places) == 3
    for at in range(3):
        wanted = X + sum(part for other, part in enumerate(parts) if other != at)
        torch.testing.assert_close(cut(gates, model, X, branch=at), wanted)


def injected(self, x):
    start = self.p(x)
    for f in self.fs:
        x = x + f(x + start)
    return x


def of_atoms_and_bonds(self, atoms, bonds):
    atoms, bonds = self.atoms(atoms), self.bonds(bonds)
    for f, g in zip(self.fs, self.gs):
        atoms = f(torch.cat([atoms, bonds[:4]], 1)) + atoms
        bonds = g(torch.cat([bonds, atoms[:1].expand(5, 8)], 1)) + bonds
    return atoms, bonds


def test_a_stream_that_begins_in_the_branch_of_another_has_its_first_addition_too():
    """As CHGNet has them (2302.14231, Methods): atoms from an embedding, and bonds that read what atoms have become."""
    parts = {name: nn.ModuleList([nn.Sequential(nn.Linear(16, 8), mlp()) for _ in range(2)]) for name in ("fs", "gs")}
    model = made(lambda: Net(of_atoms_and_bonds, atoms=nn.Embedding(4, 8), bonds=nn.Linear(8, 8), **parts))
    given = torch.arange(4), X[0]
    gates = switches(model, *given)
    assert [place.after for place in gates.places] == ["fs.0", "gs.0", "fs.1", "gs.1"]
    atoms, bonds = model.atoms(given[0]), model.bonds(given[1])
    for at, (f, g) in enumerate(zip(model.fs, model.gs)):
        atoms = f(torch.cat([atoms, bonds[:4]], 1)) + (atoms if at else 0)
        bonds = g(torch.cat([bonds, atoms[:1].expand(5, 8)], 1)) + bonds
    torch.testing.assert_close(cut(gates, model, *given, skip=0), (atoms, bonds))


def of_nodes_and_edges(self, edges):
    nodes = torch.zeros_like(edges)
    for f, g, norm in zip(self.fs, self.gs, self.norms):
        nodes = norm(nodes + f(torch.cat([nodes, edges], -1)))
        edges = edges + g(torch.cat([edges, nodes], -1))
    return edges


def test_so_has_one_that_begins_as_zeros_and_ends_in_a_norm():
    """As ProteinMPNN's encoder has it (doi 10.1126/science.add2187): nodes begin as zeros, and edges read them."""
    parts = {name: nn.ModuleList([nn.Sequential(nn.Linear(16, 8), mlp()) for _ in range(2)]) for name in ("fs", "gs")}
    norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(2))
    model = made(lambda: Net(of_nodes_and_edges, norms=norms, **parts))
    gates = switches(model, X)
    assert [place.after for place in gates.places] == ["fs.0", "gs.0", "fs.1", "gs.1"]
    nodes, edges = torch.zeros_like(X), X
    for at, (f, g, norm) in enumerate(zip(model.fs, model.gs, model.norms)):
        nodes = norm(nodes + f(torch.cat([nodes, edges], -1)) * (at > 0))
        edges = edges + g(torch.cat([edges, nodes], -1))
    torch.testing.assert_close(cut(gates, model, X, branch=0), edges)


# How a branch reads its own stream and others.
READS = {
    "laid beside": lambda f, *streams: f(torch.cat(streams, -1)),
    "added": lambda f, own, *others: f(sum(others, own)),
    "multiplied": lambda f, own, *others: f(own) * torch.sigmoid(sum(others)),
}


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("given_back", ["all", "the last"])
def test_streams_that_read_each_other_have_each_addition(reads, streams, given_back):
    def run(self, x, branches=True):
        states = [start(x) for start in self.starts]
        for at, fs in enumerate(self.fs):
            for which, f in enumerate(fs):
                read = READS[reads](f, states[which], *states[:which], *states[which + 1 :])
                states[which] = states[which] + read * (branches or (at, which) != (1, 0))
        return torch.cat(states, -1) if given_back == "all" else torch.tanh(states[-1])

    width = 8 * streams if reads == "laid beside" else 8
    parts = dict(starts=nn.ModuleList(nn.Linear(8, 8) for _ in range(streams)))
    parts["fs"] = nn.ModuleList(
        nn.ModuleList(nn.Sequential(nn.Linear(width, 8), mlp()) for _ in range(streams)) for _ in range(3)
    )
    model = made(lambda: Net(run, **parts))
    gates = switches(model, X)
    wanted = [f"fs.{at}.{which}" for at in range(3) for which in range(streams)]
    found = [place.after for place in gates.places if place.line == gates.places[0].line]
    assert found == wanted and (given_back == "the last" or len(gates.places) == len(wanted)), gates
    torch.testing.assert_close(cut(gates, model, X, branch=streams), run(model, X, branches=False))


def test_what_goes_into_a_branch_beside_the_stream_is_none():
    model = made(lambda: Net(injected, p=nn.Linear(8, 8), fs=nn.ModuleList([mlp() for _ in range(3)])))
    gates = switches(model, X)
    assert [place.after for place in gates.places] == ["fs.0", "fs.1", "fs.2"]
    assert [why for *_, why in gates.told] == 3 * [f"what the branch in {gates.places[0].line} begins with"]
    x, start = X, model.p(X)
    for f in (model.fs[0], model.fs[2]):
        x = x + f(x + start)
    torch.testing.assert_close(cut(gates, model, X, branch=1), x)


def projected(self, x):
    return self.p(x) + self.f(x)


def around(self, x):
    h = self.a(x)
    return self.b(h) + h


def test_a_long_skip_around_a_block_that_changes_shape():
    model = made(lambda: Net(around, **{k: Net(projected, p=nn.Linear(8, 8), f=mlp()) for k in "ab"}))
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["a", "b", ""]
    h = model.a(X)
    torch.testing.assert_close(cut(gates, model, X, branch=1), model.b.p(h) + h)
    torch.testing.assert_close(cut(gates, model, X, skip=1), model.b.f(h) + h)
    torch.testing.assert_close(cut(gates, model, X, branch=2), h)


def around_two(self, x):
    return x + self.o(self.b(self.a(x)))


def test_a_long_skip_around_two_blocks_that_change_shape():
    parts = {k: Net(projected, p=nn.Linear(8, 8), f=mlp()) for k in "ab"}
    model = made(lambda: Net(around_two, o=nn.Linear(8, 8), **parts))
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["a", "b", ""]  # b's stream is another addition
    h = model.a(X)
    torch.testing.assert_close(cut(gates, model, X, branch=1), X + model.o(model.b.p(h)))
    torch.testing.assert_close(cut(gates, model, X, skip=2), model.o(model.b(h)))


def injected_again(self, x):
    h = x + self.f(self.i(x))
    return h + self.g(h + self.i(x))  # the input anew: what the second branch begins with


def test_an_input_that_is_injected_again_is_what_a_branch_begins_with():
    model = made(lambda: Net(injected_again, f=mlp(), g=mlp(), i=nn.Linear(8, 8)))
    gates = switches(model, X)
    first, second = (place.line for place in gates.places)
    assert int(second.split(":")[-1]) == int(first.split(":")[-1]) + 1 and "begins with" in repr(gates)
    h = X + model.f(model.i(X))
    torch.testing.assert_close(cut(gates, model, X, skip=1), model.g(h + model.i(X)))
    torch.testing.assert_close(cut(gates, model, X, branch=1), h)


class Block(nn.Module):
    def __init__(self, add=lambda x, y: x + y):
        super().__init__()
        self.f, self.add = mlp(), add

    def forward(self, x):
        return self.add(x, self.f(x))


def blocks(add):
    return made(lambda: nn.Sequential(Block(), Block(add), Block()))


def first_row(x, y):
    x = x.clone()
    x[:, :1] += y[:, :1]
    return x


# How else a stream and its branch are added, and what is left of the two without the branch and without the skip.
OTHER_WAYS = {
    "lerp": (lambda x, y: torch.lerp(x, y, 0.25), lambda x, y: (0.75 * x, 0.25 * y)),
    "sum of a stack": (lambda x, y: torch.stack([x, y]).sum(0), lambda x, y: (x, y)),
    "of the last dimension": (lambda x, y: torch.stack([x, y], -1).sum(-1), lambda x, y: (x, y)),
    "mean of a stack": (lambda x, y: torch.stack((x, y)).mean(dim=0), lambda x, y: (x / 2, y / 2)),
    "sum of what was joined": (lambda x, y: torch.cat([x[None], y[None]]).sum(0), lambda x, y: (x, y)),
    "addcdiv": (lambda x, y: torch.addcdiv(x, y, TWO), lambda x, y: (x, y / 2)),
    "addcmul in place": (lambda x, y: x.clone().addcmul_(y, TWO), lambda x, y: (x, 2 * y)),
    "baddbmm": (
        lambda x, y: torch.baddbmm(x, y, torch.eye(8).double().expand(4, 8, 8), alpha=3),
        lambda x, y: (x, 3 * y),
    ),
    "addmm": (
        lambda x, y: torch.addmm(x.flatten(0, 1), y.flatten(0, 1), 2 * torch.eye(8).double(), beta=0.5).view_as(x),
        lambda x, y: (x / 2, 2 * y),
    ),
    "index_add": (
        lambda x, y: x.index_add(0, ROWS, y[:2]),
        lambda x, y: (x, torch.zeros_like(x).index_add(0, ROWS, y[:2])),
    ),
    "a slice in place": (first_row, lambda x, y: (x, torch.cat([y[:, :1], 0 * y[:, 1:]], 1))),
    "below torch": (lambda x, y: torch.ops.aten.add(x, y), lambda x, y: (x, y)),
    "a branch that broadcasts": (
        lambda x, y: x + y.mean(1, keepdim=True),
        lambda x, y: (x, y.mean(1, keepdim=True) + 0 * x),
    ),
}


@pytest.mark.parametrize("name", OTHER_WAYS)
def test_other_ways_to_add_have_gates_too(name):
    add, parts = OTHER_WAYS[name]
    model = blocks(add)
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["0", "1", "2"] and gates.told == [], gates
    with torch.no_grad():
        x = model[0](X)
        skip, branch = parts(x, model[1].f(x))
        with gates:
            torch.testing.assert_close(model(X), model[2](skip + branch))
        torch.testing.assert_close(cut(gates, model, X, branch=1), model[2](skip))
        if name != "a slice in place":
            torch.testing.assert_close(cut(gates, model, X, skip=1), model[2](branch))


def test_a_sum_that_is_written_elsewhere_is_gated_there():
    kept = torch.empty(4, 5, 8).double()
    model = blocks(lambda x, y: x + y if torch.is_grad_enabled() else torch.add(x, y, out=kept))
    gates = switches(model, X)
    with torch.no_grad():
        torch.testing.assert_close(cut(gates, model, X, branch=1), model[2](model[0](X)))
        assert torch.equal(kept, model[0](X))


class Queries(nn.Module):
    """A stream of weights: it is one sample long, and what attention adds is as long as the batch."""

    def __init__(self):
        super().__init__()
        self.q, self.g = nn.Parameter(torch.randn(1, 4, 8)), mlp()
        self.to_q, self.to_k, self.to_v = (nn.Linear(8, 8) for _ in range(3))

    def written(self, x):
        return (self.to_q(self.q) @ self.to_k(x).mT).softmax(-1) @ self.to_v(x)

    def forward(self, x):
        q = self.q + self.written(x)
        return q + self.g(q)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_stream_that_broadcasts(batch):
    model, x = made(Queries), X[:batch]
    gates = switches(model, x)
    assert len(gates.places) == 2
    with torch.no_grad():
        torch.testing.assert_close(cut(gates, model, x, branch=1), model.q + model.written(x))
        q = model.q.expand(batch, -1, -1)
        torch.testing.assert_close(cut(gates, model, x, branch=0), q + model.g(q))


class Streams(nn.Module):
    """Four copies of a stream, mixed anew at each block, which reads one and writes to all."""

    def __init__(self):
        super().__init__()
        self.f, self.norm, self.mix = mlp(), nn.LayerNorm(8), nn.Linear(8, 5)
        self.alpha, self.beta = nn.Parameter(torch.randn(4, 5)), nn.Parameter(torch.randn(4))

    def mixed(self, x):
        x = torch.einsum("bnsd,bnst->bntd", x, torch.tanh(self.mix(self.norm(x))) + self.alpha)
        return x[..., 0, :], x[..., 1:, :]

    def forward(self, x):
        own, rest = self.mixed(x)
        return torch.einsum("bnd,s->bnsd", self.f(own), self.beta) + rest


class Constrained(Streams):
    """What is carried and what is read are mixed apart."""

    def mixed(self, x):
        carried = torch.einsum("bnsd,bnt->bntd", x, torch.softmax(self.mix(self.norm(x[..., 0, :])), -1)[..., :4])
        return torch.einsum("bnsd,s->bnd", x, self.alpha[:, 0]), carried


class Spread(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first, self.blocks = Block(), nn.ModuleList([kind() for _ in range(3)])

    def forward(self, x):
        x = self.first(x).unsqueeze(2).expand(-1, -1, 4, -1)
        for block in self.blocks:
            x = block(x)
        return x.sum(2)


@pytest.mark.parametrize("kind", [Streams, Constrained])
def test_a_stream_of_several_copies(kind):
    model = made(lambda: Spread(kind))
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["first", "blocks.0", "blocks.1", "blocks.2"]
    with torch.no_grad():
        x = model.blocks[0](model.first(X).unsqueeze(2).expand(-1, -1, 4, -1))
        carried = model.blocks[1].mixed(x)[1]
        torch.testing.assert_close(cut(gates, model, X, branch=2), model.blocks[2](carried).sum(2))
        written = model.blocks[1](x) - carried
        torch.testing.assert_close(cut(gates, model, X, skip=2), model.blocks[2](written).sum(2))


def coupled(self, x):
    a, b = x.chunk(2, -1)
    a = a + self.f(b)
    return torch.cat([a, b + self.g(a)], -1)


def test_two_halves_that_add_to_each_other():
    model = made(lambda: nn.Sequential(*[Net(coupled, f=mlp(4), g=mlp(4)) for _ in range(2)]))
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["0", "0", "1", "1"]
    with torch.no_grad():
        a, b = model[0](X).chunk(2, -1)
        wanted = torch.cat([a, b + model[1].g(a)], -1)
        torch.testing.assert_close(cut(gates, model, X, branch=2), wanted)


class Parallel(nn.Module):
    """One linear map in several parts, as while it is trained: convolutions beside a norm."""

    def __init__(self, one_by_one):
        super().__init__()
        self.norm, self.one_by_one = nn.LayerNorm(8), one_by_one
        self.parts = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x):
        if not self.one_by_one:
            return torch.tanh(self.norm(x) + (self.parts[0](x) + self.parts[1](x) + self.parts[2](x)))
        out = self.parts[0](x) + self.norm(x)
        for part in self.parts[1:]:
            out += part(x)
        return torch.tanh(out)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_parallel_linear_maps_beside_a_norm_are_one_branch(one_by_one):
    model = made(lambda: nn.Sequential(*[Parallel(one_by_one) for _ in range(3)]))
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["0", "1", "2"]
    with torch.no_grad():
        x = model[0](X)
        torch.testing.assert_close(cut(gates, model, X, branch=1), model[2](torch.tanh(model[1].norm(x))))
        written = sum(part(x) for part in model[1].parts)
        torch.testing.assert_close(cut(gates, model, X, skip=1), model[2](torch.tanh(written)))


def recurrent(self, x):
    state, given = torch.zeros(len(x), 8, dtype=x.dtype), self.p(x)
    for time in range(x.shape[1]):
        state = torch.tanh(given[:, time] + self.g(state))
    return state


def film(self, x):
    scale, shift = self.wide(x).chunk(2, -1)
    return self.f(torch.ones_like(x)) * scale + shift


def groups(self, x):
    first, *rest = self.p(x).chunk(4, -1)
    out = [first]
    for part in rest:
        out.append(torch.tanh(self.small(part + out[-1])))
    return self.g(torch.cat(out, -1))


def activated(self, x):
    y = self.p(x)
    y = torch.where(y > 0, self.alpha * y * y + y / 2, (torch.expm1(y) - y) * self.alpha + y / 2)
    return self.g(y)


def position_bias(self, x):
    q, k = self.p(x), self.g(x)
    return (q @ k.mT + self.f(q) @ k.mT).softmax(-1) @ x


PARTS = dict(p=nn.Linear(8, 8), g=nn.Linear(8, 8), f=mlp(), a=nn.Linear(8, 2), b=nn.Linear(2, 8))
PARTS |= dict(wide=nn.Linear(8, 16), small=nn.Linear(2, 2), alpha=nn.Parameter(torch.ones(1)))
NONE = {
    "two losses": lambda s, x: s.p(x).mean() + s.f(x).logsumexp(-1).mean(),
    "a low-rank change": lambda s, x: s.p(x) + s.b(s.a(x)),
    "a recurrent step": recurrent,
    "scale and shift": film,
    "parallel maps": lambda s, x: s.p(x) + s.g(x),
    "what is only another's": lambda s, x: s.f(x) + 0 * s.p(torch.ones_like(x)),
    "a difference": lambda s, x: s.f(x) - x,
}
INSIDE = {"groups of channels": groups, "an activation": activated, "scores of attention": position_bias}


@pytest.mark.parametrize("name", NONE)
def test_sums_that_are_no_residual_additions_are_told_with_a_reason(name):
    with pytest.raises(
        ValueError, match="no residual addition in Net(.|\n)*seen and not taken:\n.*x  .*test_additions.py"
    ):
        switches(made(lambda: Net(NONE[name], **PARTS)), X)


@pytest.mark.parametrize("name", INSIDE)
def test_sums_inside_a_branch_are_told_and_not_counted(name):
    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Net(INSIDE[name], **PARTS)

        def forward(self, x):
            return x + self.inner(x)

    gates = switches(made(lambda: nn.Sequential(Around(), Around())), X)
    assert [place.module for place in gates.places] == ["0", "1"]
    assert {module for module, line, _ in gates.told if line} == {"0.inner", "1.inner"}


def embedded(self, tokens):
    x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
    x = self.norm(x @ self.turned.mT + self.shift)
    return x + self.f(x)


def test_what_can_be_no_residual_addition_is_not_told():
    parts = dict(words=nn.Embedding(9, 8), places=nn.Embedding(9, 8), norm=nn.LayerNorm(8), f=mlp())
    parts |= dict(turned=nn.Parameter(torch.eye(8)), shift=nn.Parameter(torch.ones(1, 1, 8)))
    gates = switches(made(lambda: Net(embedded, **parts)), torch.arange(6).view(2, 3))
    assert len(gates.places) == 1 and gates.told == []


UNGATED = {
    "logaddexp": (torch.logaddexp, "logaddexp has no gate"),
    "of lists": (lambda x, y: torch._foreach_add([x], [y])[0], "_foreach_add has no gate"),
    "einsum": (lambda x, y: torch.einsum("sbnd,s->bnd", torch.stack([x, y]), torch.ones(2).double()), "a stack of a"),
    "a branch without gradients": (lambda x, y: x + y.detach(), "one side records no gradient"),
    "a stream without gradients": (lambda x, y: x.detach() + y, "one side records no gradient"),
}


@pytest.mark.parametrize("name", UNGATED)
def test_what_adds_in_a_way_without_gates_is_told(name):
    add, why = UNGATED[name]
    gates = switches(blocks(add), X)
    assert [place.module for place in gates.places] == ["0", "2"]
    assert [(module, line[:18]) for module, line, _ in gates.told] == [("1", "test_additions.py:")]
    assert why in repr(gates).split("seen and not taken:")[1]


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, slope):
        return slope


def test_an_autograd_function_and_a_scripted_part_are_told():
    model = made(lambda: nn.Sequential(Block(), Net(lambda s, x: Own.apply(x)), Block()))
    assert ("1", "", "Own, an autograd function, is not seen into") in switches(model, X).told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model[1] = torch.jit.trace(made(Block), X)
        assert ("1", "", "scripted, is not seen into") in switches(model, X).told
        with pytest.raises(ValueError, match="the model is scripted or traced"):
            switches(model[1], X)


def test_only_what_one_chooses():
    model = made(lambda: Net(lambda s, x: s.g(torch.tanh(s.p(x) + s.b(s.a(x)))), **PARTS))
    gates = switches(model, X, only=lambda place: place.module == "")
    torch.testing.assert_close(cut(gates, model, X, branch=0), model.g(torch.tanh(model.p(X))))
    chosen = switches(blocks(lambda x, y: x + y), X, only=lambda place: place.module == "1")
    assert [place.module for place in chosen.places] == ["1"]


def test_gates_that_are_no_gates_are_named():
    model = blocks(lambda x, y: x + y)
    for wrong, said in (
        ([1, 0, 1], "branch is a list; expected a tensor of 3 gates"),
        (torch.ones(2), r"branch has shape \(2,\); expected 3 gates"),
        (torch.tensor(0.5), r"branch has shape \(\); expected 3 gates"),
        (torch.tensor([1, torch.nan, 0]), r"branch is NaN at \[1\]"),
    ):
        gates = switches(model, X)
        gates.branch = wrong
        with pytest.raises(ValueError, match=said), gates:
            model(X)


def test_a_gate_that_would_make_another_shape_is_named_with_both():
    model = blocks(lambda x, y: x + y)
    gates = switches(model, X)
    gates.branch = torch.ones(3, 1, 5, 1)
    gates.branch[1, 0, 2] = 0
    with gates:
        model(X)
    said = r"branch gate 1 of shape \(1, 5, 1\) at 1, test_additions.py:\d+, makes \(4, 5, 8\) of \(4, 1, 8\), where"
    with pytest.raises(ValueError, match=said), gates:
        model(X[:, :1])
    with pytest.raises(ValueError, match="branch gate 1 .* does not go with"), gates:
        model(X[:, :3])
    gates.branch = torch.ones(3, 7, 1, 1, 1)
    gates.branch[0] = 0
    with pytest.raises(ValueError, match=r"makes \(7, 4, 5, 8\)"), gates:
        model(X)


def test_text_with_a_cache_and_a_gate_for_each_token_stops():
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2
    )
    model, tokens = made(lambda: transformers.LlamaForCausalLM(config).eval()), torch.arange(18).view(2, 9)
    gates = switches(model, tokens)
    gates.branch = torch.ones(6, 1, 9, 1)
    gates.branch[2, 0, 4] = 0
    with pytest.raises(ValueError, match=r"branch gate 2 of shape \(1, 9, 1\)"), torch.no_grad(), gates:
        model.generate(tokens, max_new_tokens=5, pad_token_id=0)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_derivatives_of_gates_forward_backward_and_in_a_batch(value):
    model = blocks(lambda x, y: x + y)
    gates = switches(model, X)

    def lost(branch):
        gates.branch = branch
        with gates:
            return model(X).square().sum()

    at = torch.full((3,), value).double()
    steps = 1e-5 * torch.eye(3).double()
    wanted = torch.stack([(lost(at + step) - lost(at - step)) / 2e-5 for step in steps])
    for way in (jacrev(lost)(at), jacfwd(lost)(at)):
        torch.testing.assert_close(way, wanted, rtol=1e-6, atol=1e-6)
    many = torch.stack([at, at + steps[1]])
    torch.testing.assert_close(vmap(lost)(many), torch.stack([lost(each) for each in many]))


def looped(self, x):
    for at, block in enumerate(self.blocks):
        if at not in self.left_out:
            x = x + block(x)
    return x


def test_layers_that_are_left_out_move_no_gate_to_another_layer():
    model = made(lambda: Net(looped, blocks=nn.ModuleList([mlp() for _ in range(4)]), left_out=[]))
    gates = switches(model, X)
    gates.branch[2] = 0
    model.left_out = [0]
    x = X + model.blocks[1](X)
    with gates:
        torch.testing.assert_close(model(X), x + model.blocks[3](x))
    model.left_out = [2]
    with (
        pytest.raises(RuntimeError, match="gate 2 is not 1, and its addition in , test_additions.py:.* never came"),
        gates,
    ):
        model(X)
    some = switches(model, X)
    assert ("blocks.2", "", "has weights and never ran") in some.told
    model.left_out, some.branch[1] = [], 0
    with pytest.raises(RuntimeError, match="adds in .* after blocks.2, as it did not when"), some:
        model(X)


def test_a_layer_that_was_left_out_when_gates_were_found_is_told_of_when_it_comes():
    class Sometimes(Block):
        runs = True

        def forward(self, x):
            return super().forward(x) if self.runs else x

    model = made(lambda: nn.Sequential(*[Sometimes() for _ in range(3)]))
    model[1].runs = False
    gates = switches(model, X)
    assert [place.module for place in gates.places] == ["0", "2"] and "1.f  " in repr(gates)
    model[1].runs, gates.branch[0] = True, 0
    with pytest.raises(RuntimeError, match="1 adds in .* as it did not when its additions were found"), gates:
        model(X)


def test_the_search_draws_no_random_number_and_takes_what_asks_for_gradients_of_its_input():
    def drawing(self, x):
        x.requires_grad = True
        return x + self.f(torch.nn.functional.dropout(x))

    model = made(lambda: Net(drawing, f=mlp()))
    with torch.random.fork_rng([]):
        torch.manual_seed(5)
        wanted = torch.rand(3)
        torch.manual_seed(5)
        assert len(switches(model, X).places) == 1
        assert torch.equal(torch.rand(3), wanted)


def test_another_thread_is_neither_gated_nor_broken():
    model = blocks(lambda x, y: x + y)
    gates, plain, answers = switches(model, X), model(X), []
    gates.branch[:] = 0

    def run():
        for _ in range(60):
            try:
                answers.append(torch.equal(model(X), plain))
            except Exception as error:
                answers.append(error)

    other = threading.Thread(target=run)
    other.start()
    for _ in range(60):
        with gates:
            torch.testing.assert_close(model(X), X)
    other.join()
    assert answers == 60 * [True]


def test_a_copy_that_is_made_under_gates_is_a_net_of_its_own():
    model = blocks(lambda x, y: x + y)
    gates, own = switches(model, X), model[0].f
    model[1].forward = lambda x: own(x) + x  # as others set it
    with gates:
        copied = copy.deepcopy(model[2])
        nn.init.zeros_(copied.f[2].weight)
        nn.init.zeros_(copied.f[2].bias)
        assert torch.equal(copied(X), X)
    assert torch.equal(copied(X), X) and not torch.equal(model[2](X), X)
    assert [("forward" in vars(part)) for part in model] == [False, True, False]
    torch.testing.assert_close(model[1](X), own(X) + X)


def test_what_torch_would_refuse_is_told_in_our_words():
    with torch.inference_mode():
        model, x = blocks(lambda x, y: x + y), X.clone()
        assert len(switches(model, x).places) == 3
    with pytest.raises(ValueError, match="0.weight has no shape yet; run the model once"):
        switches(nn.Sequential(nn.LazyLinear(8)), X)
    with pytest.raises(ValueError, match="found outside of vmap"):
        vmap(lambda x: len(switches(model, x).places))(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, that these are a prototype
        nested = torch.nested.nested_tensor(list(X))
    gates = switches(blocks(lambda x, y: x + y), X)
    gates.branch[1] = 0.5
    with pytest.raises(ValueError, match="gate 1 .* does not go with a nested tensor"), gates:
        gates.model(nested)


def test_what_a_net_takes_as_numbers_records_no_gradient_in_the_search_and_its_buffers_stay():
    def counted(self, x):
        x += 1
        self.calls += 1
        return x + self.f(x) + float(torch.zeros(3).double().numpy().sum() + x.numpy().max())

    model = made(lambda: Net(counted, f=mlp()))
    model.register_buffer("calls", torch.zeros(()))
    given = X.clone()
    assert len(switches(model, given).places) == 1
    assert torch.equal(given, X) and model.calls == 0


def test_a_padded_encoder_of_torch_computes_what_it_pads_as_is_said():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2).eval(), X.float()
    padded = torch.zeros(4, 5, dtype=torch.bool)
    padded[1, 3:] = True
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        gates = switches(model, x, src_key_padding_mask=padded)
        plain = model(x, src_key_padding_mask=padded)
        with gates:
            under = model(x, src_key_padding_mask=padded)
    torch.testing.assert_close(under[~padded], plain[~padded])
    assert not plain[padded].any() and under[padded].any() and "padding mask" in type(gates).__doc__
