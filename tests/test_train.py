"""plusx.training.sidebyside: nets side by side against each net alone, and its errors."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from plusx.nets.residual import Residual
from plusx.training.sidebyside import SideBySide, train, without_bars

N, BATCH, WIDTH, STEPS = 4, 16, 8, 20
# No bias where a norm or softmax cancels it: its gradient is 0 but for rounding, and Adam takes steps by its sign.


@pytest.fixture(autouse=True)
def double():
    """float64, and one thread: threads that wait for each other are slow beside other tests."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Attends(nn.Module):
    """Self-attention of one head with a skip, LayerNorm and a learned gate, on tokens of 4 kinds."""

    def __init__(self):
        super().__init__()
        self.token, self.norm, self.unembed = nn.Embedding(4, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4)
        self.qkv, self.gate = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Parameter(torch.tensor(0.5))

    def forward(self, tokens):
        x = self.token(tokens)
        return self.unembed(x + self.gate * F.scaled_dot_product_attention(*self.qkv(self.norm(x)).chunk(3, -1)))


def mlp():
    def block():
        first, second = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        branch = nn.Sequential(first, nn.BatchNorm1d(WIDTH), nn.ReLU(), second)
        return Residual(branch, skip=torch.rand(()))

    stem = nn.Linear(5, WIDTH, bias=False)
    return nn.Sequential(stem, block(), block(), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4))


def convolutional():
    def block():
        return Residual(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU()))

    return nn.Sequential(nn.Conv2d(1, 3, 3), block(), block(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 4))


# A net, and a batch of its inputs and answers for a step.
KINDS = {
    "MLP with BatchNorm": (mlp, lambda rng: torch.randn(BATCH, 5, generator=rng), (BATCH,)),
    "convolutions": (convolutional, lambda rng: torch.randn(BATCH, 1, 6, 6, generator=rng), (BATCH,)),
    "attention": (Attends, lambda rng: torch.randint(4, (BATCH, 6), generator=rng), (BATCH, 6)),
}
OPTIMISERS = {
    "Adam": torch.optim.Adam,
    "SGD with momentum": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=0.9),
}


def drawn(make, count=N):
    nets = []
    for seed in range(count):
        torch.manual_seed(seed)
        nets.append(make())
    return nets


def batches(draw, answers):
    """Each net's own batch for every step: (step, net, ...) twice."""
    rng = torch.Generator().manual_seed(7)
    x = torch.stack([torch.stack([draw(rng) for _ in range(N)]) for _ in range(STEPS)])
    return x, torch.randint(4, (STEPS, N, *answers), generator=rng)


def loss(net, x, y):
    scores = net(x)
    return F.cross_entropy(scores.flatten(0, -2), y.flatten())


def alone(net, x, y, optimiser, rates):
    """The losses of one net in a loop as anyone writes it, and the trained net."""
    optim, seen = optimiser(net.parameters(), lr=1.0), []
    for step in range(STEPS):
        optim.param_groups[0]["lr"] = float(rates(step))
        each = loss(net, x[step], y[step])
        optim.zero_grad()
        each.backward()
        optim.step()
        seen.append(each.detach())
    return torch.stack(seen), net


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own_rates", [False, True])
def test_side_by_side_each_net_trains_as_if_alone(kind, optimiser, own_rates):
    make, *data = KINDS[kind]
    x, y = batches(*data)
    rates = torch.tensor([0.01, 0.003, 0.03, 0.001]) if own_rates else 0.01
    nets = SideBySide(drawn(make))
    seen = train(lambda step: nets.each(loss, x[step], y[step]), nets, STEPS, OPTIMISERS[optimiser], rates)
    assert seen.shape == (STEPS, N)
    for at, net in enumerate(drawn(make)):
        rate = rates[at] if own_rates else rates
        expected, net = alone(net, x[:, at], y[:, at], OPTIMISERS[optimiser], lambda step: rate)  # noqa: B023
        torch.testing.assert_close(seen[:, at], expected, rtol=0, atol=1e-12)
        for name, tensor in [*net.named_parameters(), *net.named_buffers()]:  # also running averages
            torch.testing.assert_close(nets.net.state_dict()[name][at], tensor.data, rtol=0, atol=1e-12)


def test_a_rate_may_depend_on_step_net_and_parameter():
    x, y = batches(*KINDS["attention"][1:])
    scale = torch.tensor([1.0, 2.0, 0.5, 0.0])
    nets = SideBySide(drawn(Attends))
    train(
        lambda step: nets.each(loss, x[step], y[step]),
        nets,
        STEPS,
        lr=lambda step, name: 0.0 if name == "gate" else 0.01 * scale / (1 + step),
    )
    for at, net in enumerate(drawn(Attends)):
        net.gate.requires_grad_(False)
        _, net = alone(net, x[:, at], y[:, at], torch.optim.Adam, lambda step: 0.01 * scale[at] / (1 + step))  # noqa: B023
        for name, p in net.named_parameters():
            torch.testing.assert_close(nets.net.state_dict()[name][at], p.data, rtol=0, atol=1e-12)


def test_a_net_that_explodes_leaves_the_others_alone():
    x, y = batches(*KINDS["MLP with BatchNorm"][1:])
    seen = []
    for rate in 0.01, 1e200:
        nets = SideBySide(drawn(mlp))
        rates = torch.tensor([0.01, 0.01, rate, 0.01])
        seen.append(train(lambda step: nets.each(loss, x[step], y[step]), nets, STEPS, torch.optim.SGD, rates))  # noqa: B023
    assert not seen[1][:, 2].isfinite().all()
    assert torch.equal(seen[0][:, [0, 1, 3]], seen[1][:, [0, 1, 3]])


def test_parts_tensors_and_gradients_are_those_of_each_net():
    each, nets = drawn(mlp), SideBySide(drawn(mlp))
    x = randn(N, BATCH, 5)
    states = [nets[0](x)]
    for block in nets[1:3]:
        states.append(block(states[-1]))
    gradients = torch.autograd.grad(nets[3:](states[-1]).square().sum(), states)
    for at, net in enumerate(each):
        alone = [net[0](x[at])]
        for block in net[1:3]:
            alone.append(block(alone[-1]))
        expected = torch.autograd.grad(net[3:](alone[-1]).square().sum(), alone)
        for ours, theirs in zip([*states, *gradients], [*alone, *expected]):
            torch.testing.assert_close(ours[at], theirs, rtol=0, atol=1e-12)
        assert torch.equal(nets[1].branch[0].weight[at], net[1].branch[0].weight)
        assert nets[2].skip[at] == net[2].skip


def test_each_runs_a_function_of_one_net_and_methods_are_such():
    class Walks(nn.Linear):
        def states(self, x, times):
            return [x, *(self(x) for _ in range(times))]

    nets, x = SideBySide([Walks(3, 3) for _ in range(N)]), randn(N, 2, 3)
    for states in nets.states(x, 2), nets.each(lambda net, x: net.states(x, 2), x):
        assert [tuple(s.shape) for s in states] == 3 * [(N, 2, 3)]
        torch.testing.assert_close(states[1], x @ nets.weight.mT + nets.bias[:, None])
    torch.testing.assert_close(nets(nets.same(x[0]))[2], x[0] @ nets.weight[2].T + nets.bias[2])
    slopes = nets.each(lambda net, x: torch.func.jacrev(net)(x), x[:, 0])
    torch.testing.assert_close(slopes, nets.weight)


def test_nets_at_other_tensors_are_others_and_the_first_stay():
    each, nets, x = drawn(mlp, 6), SideBySide(drawn(mlp)), randn(6, BATCH, 5)
    six = SideBySide(each)
    others = nets.at(dict(six.named_parameters()) | dict(six.named_buffers()))
    assert torch.equal(others(x), torch.stack([net(row) for net, row in zip(drawn(mlp, 6), x)]))
    assert others.count == 6 and nets.count == N
    assert torch.equal(nets(x[:N]), SideBySide(drawn(mlp))(x[:N]))


def test_the_mode_reaches_parts_and_copies_are_independent():
    nets, x = SideBySide(drawn(mlp)), randn(N, BATCH, 5)
    kept = copy.deepcopy(nets.eval())
    assert not nets.training and not nets[1].branch[1].training
    before = nets(x)
    nets.train()(x)
    assert not torch.equal(nets.eval()(x), before)  # the running averages moved
    assert torch.equal(kept(x), before)


def test_a_tensor_with_two_names_stays_one():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(3, 3), nn.Linear(3, 3)
            self.down.weight = self.up.weight

        def forward(self, x):
            return self.down(self.up(x))

    each = [Tied() for _ in range(N)]
    nets, x = SideBySide(each), randn(N, 2, 3)
    torch.testing.assert_close(nets(x), torch.stack([net(row) for net, row in zip(each, x)]))
    assert nets.down.weight is nets.up.weight


@pytest.mark.parametrize(
    "other, message",
    [
        (lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "0.out_features is 4 in net 1 and 3 in net 0"),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.Tanh()), "1 is Tanh in net 1 and ReLU in net 0"),
        (lambda: nn.Sequential(nn.Linear(3, 3)), "1 is nothing in net 1 and ReLU in net 0"),
        (lambda: nn.Sequential(nn.Linear(3, 3, bias=False), nn.ReLU()), "0.bias is nothing in net 1"),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True)), "1.inplace is True in net 1 and False in net"),
    ],
)
def test_nets_that_differ_in_more_than_numbers_are_refused(other, message):
    with pytest.raises(ValueError, match="SideBySide: " + message):
        SideBySide([nn.Sequential(nn.Linear(3, 3), nn.ReLU()), other()])


def test_no_nets_are_refused():
    with pytest.raises(ValueError, match="SideBySide: there is no net"):
        SideBySide([])


def test_an_input_needs_one_entry_for_each_net():
    nets = SideBySide([nn.Linear(3, 3) for _ in range(N)])
    with pytest.raises(ValueError, match=r"SideBySide: input 0 has shape \(2, 3\); expected \(4, ...\), one for each"):
        nets(randn(2, 3))


def test_train_names_what_is_not_one_for_each_net():
    nets = SideBySide([nn.Linear(3, 3) for _ in range(N)])
    x = randn(N, 2, 3)
    with pytest.raises(ValueError, match=r"train: the losses have shape \(\); expected one a net, \(4,\)"):
        train(lambda step: nets(x).sum(), nets, 1)
    with pytest.raises(ValueError, match=r"train: the rate of weight has shape \(3,\); expected \(\) or \(4,\)"):
        train(lambda step: nets(x).sum((1, 2)), nets, 1, lr=torch.ones(3))

    def decaying(parameters, lr):
        return torch.optim.AdamW(parameters, lr=lr)

    with pytest.raises(ValueError, match="train: weight_decay with a rate for each net"):
        train(lambda step: nets(x).sum((1, 2)), nets, 1, decaying, torch.ones(N))


class Number(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w))

    def forward(self, target):
        return (self.w - target).square()


def test_an_sgd_step_by_hand():
    nets = SideBySide([Number(1.0), Number(-2.0)])
    targets = torch.tensor([[3.0, 0.0], [1.0, 1.0]])  # one row a step
    seen = train(lambda step: nets(targets[step]), nets, 2, torch.optim.SGD, lr=0.1)
    # d (w - t)^2 / dw = 2 (w - t): 1 + 0.2 * 2 = 1.4, -2 + 0.2 * 2 = -1.6, then towards 1
    torch.testing.assert_close(seen, torch.tensor([[4.0, 4.0], [0.4**2, 2.6**2]]))
    torch.testing.assert_close(nets.w.data, torch.tensor([1.4 - 0.2 * 0.4, -1.6 + 0.2 * 2.6]))
    assert not seen.requires_grad


def test_the_bar_appears_live_and_not_while_the_book_is_built(monkeypatch, capsys):
    nets = SideBySide([Number(1.0)])
    monkeypatch.setenv("PLUSX_EXPLORE", "static")
    train(lambda step: nets(torch.zeros(1)), nets, 3)
    assert capsys.readouterr().out == ""
    monkeypatch.delenv("PLUSX_EXPLORE")
    with without_bars():
        train(lambda step: nets(torch.zeros(1)), nets, 3)
    assert capsys.readouterr().out == ""
    train(lambda step: nets(torch.zeros(1)), nets, 3)
    assert "3/3" in capsys.readouterr().out
