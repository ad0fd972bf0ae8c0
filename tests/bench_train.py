"""Training steps of nets side by side, beside a loop over them and nets batched by hand: `make bench`.

The same nets, batches and optimiser, one thread, in turns. Asserts that the ways agree, not how long they take.
"""

import statistics
import time

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from plusx.nets.residual import Residual
from plusx.training.sidebyside import Adam, SideBySide

BLOCKS, WIDTH, BATCH, INPUTS, CLASSES, STEPS = 16, 16, 32, 40, 10, 12


@pytest.fixture(autouse=True)
def one_thread():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


def make(seed):
    torch.manual_seed(seed)

    def block():
        return Residual(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))

    return nn.Sequential(nn.Linear(INPUTS, WIDTH), *[block() for _ in range(BLOCKS)], nn.Linear(WIDTH, CLASSES))


def by_loop(count):
    nets = [make(seed) for seed in range(count)]
    optims = [Adam(net.parameters(), lr=0.001) for net in nets]

    def step(x, y):
        losses = []
        for net, optim, one_x, one_y in zip(nets, optims, x, y):
            loss = F.cross_entropy(net(one_x), one_y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    return step


def side_by_side(count):
    nets = SideBySide([make(seed) for seed in range(count)])
    optim = Adam(nets.parameters(), lr=0.001)

    def step(x, y):
        losses = nets.each(lambda net, x, y: F.cross_entropy(net(x), y), x, y)
        optim.zero_grad()
        losses.sum().backward()
        optim.step()
        return losses.detach()

    return step


def by_hand(count):
    nets = [make(seed) for seed in range(count)]
    weights = [torch.stack(each).detach().requires_grad_() for each in zip(*(net.parameters() for net in nets))]
    optim = Adam(weights, lr=0.001)

    def linear(x, weight, bias):
        return x @ weight.mT + bias[:, None]

    def step(x, y):
        stem, *inner, head = zip(weights[::2], weights[1::2])
        x = linear(x, *stem)
        for first, second in zip(inner[::2], inner[1::2]):
            x = x + linear(torch.relu(linear(x, *first)), *second)
        losses = F.cross_entropy(linear(x, *head).flatten(0, 1), y.flatten(), reduction="none").view(count, -1).mean(1)
        optim.zero_grad()
        losses.sum().backward()
        optim.step()
        return losses.detach()

    return step


@pytest.mark.parametrize("count", [6, 30, 60])
def test_a_step_of_many_nets(count):
    ways = {"loop": by_loop(count), "by hand": by_hand(count), "side by side": side_by_side(count)}
    times = {name: [] for name in ways}
    rng = torch.Generator().manual_seed(0)
    for _ in range(STEPS):  # in turns, so that a busy moment of the machine meets all
        x = torch.randn(count, BATCH, INPUTS, generator=rng)
        y = torch.randint(CLASSES, (count, BATCH), generator=rng)
        losses = {}
        for name, step in ways.items():
            begun = time.process_time()
            losses[name] = step(x, y)
            times[name].append(time.process_time() - begun)
        for loss in losses.values():
            torch.testing.assert_close(loss, losses["loop"])
    medians = {name: statistics.median(each) for name, each in times.items()}
    print(f"\n  {count} nets of {2 * BLOCKS + 2} layers, width {WIDTH}, batch {BATCH}: a step's CPU time")
    for name, median in medians.items():
        print(f"  {name:13} {1000 * median:7.1f} ms")
    print(f"  side by side / by hand {medians['side by side'] / medians['by hand']:.2f} (aim 1.3)")
    print(f"  loop / side by side    {medians['loop'] / medians['side by side']:.1f} (aim 6)")
