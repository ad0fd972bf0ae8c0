"""plusx.training.step and sorter: the steps against torch.nn and torch.optim, gradients against differences, starts."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from plusx.training import sorter
from plusx.training.step import (
    ACTIVATIONS,
    BLOCKS,
    COUNT,
    FAR,
    TASKS,
    WIDTH,
    Lane,
    Setting,
    batch,
    noise,
    parts,
    run,
    setting,
    uniform,
)

ACTS = {"relu": F.relu, "tanh": torch.tanh, "none": lambda z: z}


@pytest.fixture(scope="module")
def lane():
    return Lane().double()


def drawn(rng, **fixed):
    """A setting by lot, each of its parts given to `setting` in words."""

    def one_of(*values):
        return values[torch.randint(len(values), (), generator=rng)]

    return setting(
        **{
            "task": one_of(*TASKS),
            "skips": "".join(one_of("0", "1", "1") for _ in range(BLOCKS)),
            "depth": one_of(1, 3, 8, 16),
            "norm": one_of(False, True),
            "activation": one_of(*ACTIVATIONS),
            "scale": one_of(0.0, 0.25, 1.0),
            "learned": one_of(False, True),
            "rate": one_of(0.001, 0.01),
            "optimiser": one_of("Adam", "SGD"),
        }
        | fixed
    )


def doubled(s):
    return Setting(*(part.double() if part.is_floating_point() else part for part in s))


class Plain(nn.Module):
    """The net of `plusx.training.step` as anybody would write it, with its first weights."""

    def __init__(self, weights, s):
        super().__init__()
        p = {name: nn.Parameter(part.clone()) for name, part in parts(weights).items()}
        self.depth, self.skip, self.scale = int(s.used.sum()), s.skip, s.scale
        self.activation = ACTS[ACTIVATIONS[s.activation.argmax()]]
        self.norm = nn.LayerNorm(WIDTH, elementwise_affine=False) if s.norm else nn.Identity()
        p["scale"].requires_grad_(bool(s.learned))
        self.p = nn.ParameterDict(p)

    def forward(self, x):
        p = self.p
        h = F.linear(x, p["enter"], p["enter_bias"])
        self.states = []
        for i in range(self.depth):
            z = self.activation(F.linear(self.norm(h), p["first"][i], p["first_bias"][i]))
            branch = (self.scale + p["scale"][i]) * F.linear(z, p["second"][i], p["second_bias"][i])
            h = h + branch if self.skip[i] else branch
            self.states.append(h)
        return F.linear(self.norm(h), p["leave"], p["leave_bias"])


def loss_of(scores, y, task):
    if task == "line":
        return F.mse_loss(scores[:, 0], y[:, 0])
    outputs = TASKS[task][1]
    return F.cross_entropy(scores[:, :outputs], y[:, :outputs].argmax(-1))


@pytest.mark.parametrize("optimiser, task", list(itertools.product(["Adam", "SGD"], TASKS)))
def test_thirty_steps_are_those_of_torch_optim(lane, optimiser, task):
    rng = torch.Generator().manual_seed(1)
    for seed in range(2):
        s = doubled(drawn(rng, optimiser=optimiser, task=task))
        number = list(TASKS).index(task)
        weights = lane.begin(noise(seed).double(), torch.tensor(0.7).double(), torch.tensor(0.0).double(), s.task)
        net = Plain(weights, s)
        optim = getattr(torch.optim, optimiser)([p for p in net.parameters() if p.requires_grad], lr=s.rate.item())
        state = weights, torch.zeros_like(weights), torch.zeros_like(weights)
        for count in range(1, 31):
            at = batch(seed, count)
            took = lane.step(*state, torch.tensor(float(count)).double(), at, s)
            state = took[:3]
            x, y = lane.x[number, at], lane.y[number, at]
            loss = loss_of(net(x), y, task)
            optim.zero_grad()
            norms = [each.norm() for each in torch.autograd.grad(loss, net.states, retain_graph=True)]
            loss.backward()
            assert torch.allclose(took.loss, loss, rtol=1e-6), count
            assert torch.allclose(took.gradient[: net.depth], torch.stack(norms), rtol=1e-6, atol=1e-12)
            assert not took.gradient[net.depth :].any()
            optim.step()
        theirs = torch.cat([net.p[name].detach().flatten() for name in parts(weights)])
        assert torch.allclose(state[0], theirs, rtol=1e-6, atol=1e-9)


def test_the_gradient_is_the_slope_that_differences_show(lane):
    rng = torch.Generator().manual_seed(2)
    for _ in range(6):
        s = doubled(drawn(rng, optimiser="SGD", learned=True, rate=1.0, activation="tanh"))
        weights = 0.1 * torch.randn(COUNT, generator=rng).double()
        towards = torch.randn(COUNT, generator=rng).double()
        at, zero, first = batch(0, 1), torch.zeros_like(weights), torch.tensor(1.0).double()
        slope = weights - lane.step(weights, zero, zero, first, at, s).weights
        x, y = lane.x[s.task[0], at], lane.y[s.task[0], at]
        above, below = (lane.error(weights + sign * 1e-5 * towards, [0] * BLOCKS, x, y, s)[0] for sign in (1, -1))
        assert torch.isclose((above - below) / 2e-5, slope @ towards, rtol=1e-6, atol=1e-9)


def test_a_start_has_the_variances_it_is_told_and_repeats(lane):
    zero, gain = torch.tensor(0.0).double(), torch.tensor(0.5).double()
    p = parts(lane.begin(noise(7).double(), gain, zero, torch.tensor([2])))
    assert p["first"].var().item() == pytest.approx(0.25 / WIDTH, rel=0.05)
    assert p["second"].var().item() == pytest.approx(0.5 / WIDTH, rel=0.05)
    assert p["enter"].var().item() == pytest.approx(1 / 41, rel=0.1)
    assert torch.equal(noise(7), noise(7)) and not torch.allclose(noise(7), noise(8))
    assert abs(noise(7).mean()) < 0.02 and noise(7).std().item() == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("task", TASKS)
def test_a_net_that_starts_as_the_identity_is_one_at_every_depth(lane, task):
    one = torch.tensor(1.0).double()
    weights = lane.begin(noise(3).double(), one, one, torch.tensor([list(TASKS).index(task)]))
    points = lane.points[list(TASKS).index(task)]
    deep, none = (run(weights, points, doubled(setting(task=task, depth=d, skips="0" * 16)))[0] for d in (16, 0))
    entered = points @ parts(weights)["enter"].T + parts(weights)["enter_bias"]
    assert entered.min() > -FAR
    assert torch.allclose(deep, none, rtol=0, atol=1e-12)


def test_numbers_are_those_of_mulberry32():
    """The generator as its author gives it for JavaScript, one number after the other."""

    def one_by_one(seed, count):
        for _ in range(count):
            seed = (seed + 0x6D2B79F5) % 2**32
            t = (seed ^ seed >> 15) * (seed | 1) % 2**32
            t ^= (t + (t ^ t >> 7) * (t | 61)) % 2**32
            yield (t ^ t >> 14) / 2**32

    expected = list(one_by_one(12345, 300))
    assert uniform(12345, 0, 300).tolist() == expected
    assert uniform(12345, 100, 200).tolist() == expected[100:]
    assert all(0 <= at < 1024 for at in batch(5, 9)) and len(set(batch(5, 9).tolist())) > 50


def test_each_task_is_what_it_is_called(lane):
    x, y = lane.x[0, :, 0], lane.y[0, :, 0]
    assert torch.allclose(y, x + 0.3 * torch.sin(3 * x), atol=1e-6) and x.aminmax() == (-2, 2)
    plane, turned = lane.x[1, :512, :2], lane.x[1, 512:, :2]
    assert torch.allclose(plane, -turned, atol=1e-6)  # half a turn apart
    assert [lane.y[task].sum(0).count_nonzero().item() for task in (1, 2)] == [2, 10]
    assert lane.points[1].unique(dim=0).shape[0] == 1024
    apart = torch.cdist(lane.points[2], lane.x[2]).min()
    assert apart > 0.1  # no signal to look at is one to train on


def test_what_is_seen_is_the_function_the_plane_and_what_is_told_right(lane):
    for number, task in enumerate(TASKS):
        s = doubled(setting(task=task))
        weights = lane.begin(noise(0).double(), torch.tensor(0.5).double(), torch.tensor(0.0).double(), s.task)
        seen, (scores, _) = lane.look(weights, s), run(weights, lane.points[number], s)
        expected = {
            "line": scores[:, 0],
            "spirals": torch.softmax(scores[:, :2], -1)[:, 1],
            "signals": (scores.argmax(-1) == lane.answers[number]).double(),
        }
        assert torch.allclose(seen, expected[task])


# ---- the sorter ---------------------------------------------------------------------------------------------------


class Sorting(nn.Module):
    """The net of `plusx.training.sorter` with torch's own attention and its first weights."""

    def __init__(self, weights, s):
        super().__init__()
        p = sorter.parts(weights)
        self.s, width = s, sorter.WIDTH
        self.token, self.place = nn.Parameter(p["token"].clone()), nn.Parameter(p["place"].clone())
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.attend = nn.ModuleList(nn.MultiheadAttention(width, 2, batch_first=True).double() for _ in range(4))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width).double() for _ in range(4))
        self.down = nn.ModuleList(nn.Linear(4 * width, width).double() for _ in range(4))
        self.leave = nn.Linear(width, 6).double()
        with torch.no_grad():
            for name, parameter in self.theirs(p):
                parameter.copy_(name)

    def theirs(self, p):
        """Each part of ours beside their parameter."""
        for i, (attend, up, down) in enumerate(zip(self.attend, self.up, self.down)):
            yield p["qkv"][i], attend.in_proj_weight
            yield p["qkv_bias"][i], attend.in_proj_bias
            yield p["output"][i], attend.out_proj.weight
            yield p["output_bias"][i], attend.out_proj.bias
            yield from ((p["up"][i], up.weight), (p["up_bias"][i], up.bias))
            yield from ((p["down"][i], down.weight), (p["down_bias"][i], down.bias))
        yield from ((p["leave"], self.leave.weight), (p["leave_bias"], self.leave.bias))
        yield from ((p["token"], self.token), (p["place"], self.place))

    def forward(self, tokens):
        none, pre, post = self.s.place
        before, after = (self.norm if wanted else nn.Identity() for wanted in (pre, post))
        h = self.token[tokens] + self.place
        self.states = []
        for i in range(4):
            n = before(h)
            h = after(self.s.skip[2 * i] * h + self.s.scale * self.attend[i](n, n, n, need_weights=False)[0])
            self.states.append(h)
            h = after(self.s.skip[2 * i + 1] * h + self.s.scale * self.down[i](F.relu(self.up[i](before(h)))))
            self.states.append(h)
        return self.leave(before(h))


@pytest.mark.parametrize("optimiser, place", list(itertools.product(["Adam", "SGD"], sorter.NORMS)))
def test_thirty_steps_of_the_sorter_are_those_of_torch_optim(optimiser, place):
    lane, rng = sorter.Lane().double(), torch.Generator().manual_seed(3)
    skips = "".join("0111"[each] for each in torch.randint(4, (8,), generator=rng))
    s = sorter.setting("sort", skips=skips, place=place, scale=0.5, rate=0.01, optimiser=optimiser)
    s = sorter.Setting(*(part.double() for part in s))
    weights = lane.begin(sorter.noise(2).double(), torch.tensor(0.7).double())
    net = Sorting(weights, s)
    optim = getattr(torch.optim, optimiser)(net.parameters(), lr=s.rate.item())
    state = weights, torch.zeros_like(weights), torch.zeros_like(weights)
    for count in range(1, 31):
        at = sorter.batch(2, count)
        took = lane.step(*state, torch.tensor(float(count)).double(), at, s)
        state = took[:3]
        tokens = at.view(16, 6)
        loss = F.cross_entropy(net(tokens).movedim(-1, 1), tokens.sort(-1).values)
        optim.zero_grad()
        norms = [each.norm() for each in torch.autograd.grad(loss, net.states, retain_graph=True)]
        loss.backward()
        assert torch.allclose(took.loss, loss, rtol=1e-6), count
        assert torch.allclose(took.gradient, torch.stack(norms), rtol=1e-6, atol=1e-12)
        optim.step()
    for ours, theirs in net.theirs(sorter.parts(state[0])):
        assert torch.allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_the_sorter_starts_as_the_book_s_transformers_do_and_sees_what_is_sorted():
    lane = sorter.Lane()
    p = sorter.parts(lane.begin(sorter.noise(0), torch.tensor(2.0)))
    for name, variance in {"qkv": 4 / 16, "down": 4 / 64, "leave": 1 / 16, "token": 1}.items():
        assert p[name].var().item() == pytest.approx(variance, rel=0.3)
    assert p["up_bias"].abs().max() == 0
    s = sorter.setting("sort")
    seen = lane.look(torch.zeros(sorter.COUNT), s)  # no scores: it always answers the first kind
    assert torch.equal(seen, (lane.tokens == 0).all(-1).float())
    assert len(lane.tokens.unique(dim=0)) > 240
    batch = sorter.batch(1, 1)
    assert batch.shape == (96,) and batch.unique().tolist() == [0, 1, 2, 3, 4, 5]
    assert not torch.equal(batch, sorter.batch(1, 2)) and not torch.equal(batch, sorter.batch(2, 1))
