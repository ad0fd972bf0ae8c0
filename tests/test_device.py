"""plusx.measure.device: a function that names no device, on torch's `meta`, which has shapes and no numbers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from plusx.measure.device import On
from plusx.nets import resnet_images
from plusx.training import SideBySide, train

IMAGES = torch.randn(64, 1, 8, 8, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(64) % 10


class Where(TorchDispatchMode):
    """The operations, draws and copies apart, that met another device."""

    def __init__(self, device):
        super().__init__()
        self.device, self.other, self.met = device, set(), 0

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        found = call(*args, **(kwargs or {}))
        devices = {x.device.type for x in tree_leaves((args, kwargs, found)) if isinstance(x, torch.Tensor)}
        random = torch.Tag.nondeterministic_seeded in call.tags
        if random or call.overloadpacket in (torch.ops.aten.to, torch.ops.aten.copy_, torch.ops.aten.empty_like):
            return found
        self.met += 1
        if devices - {self.device}:
            self.other.add((str(call), *devices))
        return found


def trained(seeds, steps=3):
    """As the book's functions do: two ways to draw, data from outside, nets side by side, a rate for each."""
    torch.manual_seed(0)
    nets = SideBySide([resnet_images(1, 4, seed=seed) for seed in seeds])
    lots = [torch.Generator().manual_seed(seed) for seed in seeds]
    batches = torch.stack([torch.randint(64, (steps, 8), generator=lot) for lot in lots], 1)
    noise = nn.init.normal_(torch.empty(1, 8, 8), std=0.1) + torch.rand(1, 8, 8)
    counted = torch.tensor([0, 0])

    def losses(step):
        at = batches[step]
        counted.add_(1)
        scores = nets(IMAGES[at] + noise).flatten(0, 1)
        return F.cross_entropy(scores, LABELS[at].flatten(), reduction="none").view(at.shape).mean(1)

    rates = torch.tensor([0.1, 0.01])
    seen = train(losses, nets, steps, torch.optim.SGD, lambda step, name: rates * (1 - step / steps))
    return dict(loss=seen, counted=counted, **dict(nets.named_parameters()))


def test_a_training_that_names_no_device_is_all_on_it():
    with Where("meta") as where, On("meta"):
        found = trained([0, 1])
    assert where.met > 500 and where.other == set()
    assert {x.device.type for x in found.values()} == {"meta"}
    assert IMAGES.device.type == LABELS.device.type == "cpu"


def test_a_seed_draws_on_a_device_what_it_draws_on_the_cpu():
    plain = trained([0, 1])
    with On("cpu"):
        drawn = trained([0, 1])
    assert plain["counted"].tolist() == [3, 3]
    torch.testing.assert_close(drawn, plain, rtol=0, atol=0)


def test_what_was_made_before_is_read_and_not_written():
    counts = torch.zeros(2)
    with On("meta"):
        assert (counts + 1).device.type == "meta"
        with pytest.raises(RuntimeError, match=r"add_.* writes to a tensor of shape \(2,\) on cpu; expected one that"):
            counts += 1
    assert counts.tolist() == [0, 0]
