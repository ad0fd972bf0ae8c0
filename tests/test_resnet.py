"""plusx.nets.resnet against torch.nn and the papers' counts; chapter 6's nets against other libraries'."""

import math
import warnings

import pytest
import torch
from chapter_code import chapter_code
from torch import nn
from torch.nn import functional as F

from plusx.nets.resnet import ORDERS, block, linear, resnet_images, resnet_mlp
from plusx.show.tables import Table
from plusx.training.sidebyside import SideBySide

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what importing a large library warns of is not ours
    from transformers import ResNetConfig, ResNetForImageClassification

CHAPTER = "06-resnet-blocks"
BATCH, WIDTH = 16, 8
close = torch.testing.assert_close


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


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randomise(module, seed=1):
    """Random parameters, so that gains of 1 and biases of 0 hide nothing; running variances stay positive."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=rng))
        for buffer in module.buffers():
            if buffer.is_floating_point():
                buffer.add_(torch.rand(buffer.shape, generator=rng))
    return module


# Layers


@pytest.mark.parametrize("inputs", [40, 400])
@pytest.mark.parametrize("gain", [1.0, 2.0])
def test_linear_draws_hes_variance_from_its_own_generator(inputs, gain):
    before = torch.get_rng_state()
    made = linear(inputs, 300, generator(5), gain)
    error = 5 * (2 / (300 * inputs)) ** 0.5  # five standard errors of a variance
    assert made.weight.var().item() == pytest.approx(gain / inputs, rel=error)
    assert made.bias.abs().max() == 0
    assert torch.equal(made.weight, linear(inputs, 300, generator(5), gain).weight)
    assert not torch.equal(made.weight, linear(inputs, 300, generator(6), gain).weight)
    assert torch.equal(torch.get_rng_state(), before)


# The five orders, written out once more; w and n are a block's weights and norms as modules of torch.nn.


def original(x, skip, w1, n1, w2, n2):
    return F.relu(n2(w2(F.relu(n1(w1(x))))) + skip * x)


def bn_after_addition(x, skip, w1, n1, w2, n2):
    return F.relu(n2(w2(F.relu(n1(w1(x)))) + skip * x))


def relu_before_addition(x, skip, w1, n1, w2, n2):
    return F.relu(n2(w2(F.relu(n1(w1(x)))))) + skip * x


def relu_only(x, skip, w1, n1, w2, n2):
    return n2(w2(F.relu(n1(w1(F.relu(x)))))) + skip * x


def full(x, skip, w1, n1, w2, n2):
    return w2(F.relu(n2(w1(F.relu(n1(x)))))) + skip * x


REFERENCES = dict(zip(ORDERS, [original, bn_after_addition, relu_before_addition, relu_only, full]))


def layers(ours):
    """w1, n1, w2, n2 of a block."""
    w1, w2 = (m for m in ours.modules() if isinstance(m, nn.Linear))
    n1, n2 = (m for m in ours.modules() if isinstance(m, nn.BatchNorm1d))
    return w1, n1, w2, n2


@pytest.mark.parametrize("skip", [1.0, 0.0])
@pytest.mark.parametrize("order", ORDERS)
def test_each_order_equals_its_formula_in_torch_nn(order, skip):
    ours = randomise(block(order, WIDTH, generator(), skip))
    x, weighing = randn(BATCH, WIDTH).requires_grad_(), randn(BATCH, WIDTH, seed=9)
    wanted = [x, *(m.weight for m in layers(ours))]
    y, expected = ours(x), REFERENCES[order](x, skip, *layers(ours))
    close(y, expected, rtol=0, atol=1e-10)
    found = (torch.autograd.grad((out * weighing).sum(), wanted) for out in (y, expected))
    for mine, theirs in zip(*found):
        close(mine, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_a_resnet_has_a_last_norm_and_relu_only_with_preactivation(order):
    net = randomise(resnet_mlp(5, WIDTH, 2, 3, order=order)).eval()
    kinds = [type(part) for part in net[3:-1]]
    assert kinds == ([nn.BatchNorm1d, nn.ReLU] if order in ("ReLU-only pre-activation", "full pre-activation") else [])
    x = randn(BATCH, 5)
    h = net[0](x)
    for ours in net[1:3]:
        h = REFERENCES[order](h, 1.0, *layers(ours))
    if kinds:
        h = F.relu(net[3](h))
    close(net(x), net[-1](h), rtol=0, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_a_resnet_draws_its_weights_one_after_the_other(order):
    net, rng = resnet_mlp(5, WIDTH, 2, 3, order=order, seed=7), generator(7)
    weights = [m.weight for m in net.modules() if isinstance(m, nn.Linear)]
    assert [tuple(w.shape) for w in weights] == [(WIDTH, 5), *4 * [(WIDTH, WIDTH)], (3, WIDTH)]
    for weight in weights:
        drawn = torch.empty(weight.shape).normal_(generator=rng)
        assert torch.equal(weight, math.sqrt(2 / weight.shape[1]) * drawn)


def test_an_unknown_order_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError) as error:
        block("pre", WIDTH, generator())
    assert str(error.value).startswith("block: unknown order 'pre'; choose one of original, BN after addition,")
    with pytest.raises(ValueError, match="unknown order 'post'"):
        resnet_mlp(5, WIDTH, 2, 3, order="post")


# The nets for small images


@pytest.mark.parametrize("blocks, millions", [(3, 0.27), (5, 0.46), (7, 0.66), (9, 0.85), (18, 1.7)])
def test_nets_for_small_images_have_the_layers_and_counts_of_the_paper(blocks, millions):
    """1512.03385, table 6: ResNet-20, 32, 44, 56 and 110 on CIFAR-10, whose images have three channels."""
    net = resnet_images(blocks, channels=3)
    layers = [part for part in net.modules() if isinstance(part, (nn.Conv2d, nn.Linear))]
    assert len(layers) == 6 * blocks + 2
    count = sum(p.numel() for p in net.parameters())
    assert round(count / 1e6, 2 if count < 1e6 else 1) == millions


@pytest.mark.parametrize("skip", [0, 1])
def test_a_block_for_small_images_is_two_convolutions_and_a_padded_shortcut(skip):
    block = randomise(resnet_images(2, 4, skip=skip)[5])  # the first of the second stage
    x = randn(3, 4, 5, 5)
    c1, n1, _, c2, n2 = block.branch
    h = F.batch_norm(F.conv2d(x, c1.weight, stride=2, padding=1), None, None, n1.weight, n1.bias, training=True)
    h = F.batch_norm(F.conv2d(h.relu(), c2.weight, padding=1), None, None, n2.weight, n2.bias, training=True)
    shortcut = torch.cat([x[:, :, ::2, ::2], torch.zeros(3, 4, 3, 3)], 1)
    close(block.eval()(x), (h + skip * shortcut).relu())


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_net_for_small_images_halves_them_twice_and_reads_the_mean_over_all_pixels(blocks):
    """1512.03385, section 4.2."""
    net, x = randomise(resnet_images(blocks, 4)), randn(2, 1, 12, 8)
    conv, norm = net[:2]
    stream = F.batch_norm(F.conv2d(x, conv.weight, padding=1), None, None, norm.weight, norm.bias, training=True).relu()
    shapes = []
    for each in net[3 : 3 * blocks + 3]:
        stream = each(stream)
        shapes.append(tuple(stream.shape[1:]))
    assert shapes == blocks * [(4, 12, 8)] + blocks * [(8, 6, 4)] + blocks * [(16, 3, 2)]
    last = net[-1]
    close(net(x), stream.mean((2, 3)) @ last.weight.T + last.bias)
    assert net(x).shape == (2, 10)


def test_a_net_for_small_images_is_residual_and_begins_with_logits_as_large_as_its_features():
    assert [block.skip for block in resnet_images(1, 4)[3:6]] == [1, 1, 1]
    assert resnet_images(1, 64, classes=1000)[-1].weight.var().item() == pytest.approx(1 / 256, rel=0.02)


@pytest.mark.parametrize(
    "make", [lambda **given: resnet_images(1, 4, **given), lambda **given: resnet_mlp(5, 4, 1, 3, **given)]
)
def test_without_a_seed_a_net_is_that_of_seed_0(make):
    for ours, theirs in zip(make().parameters(), make(seed=0).parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_plain_and_residual_nets_for_small_images_start_from_the_same_weights():
    plain, residual = (resnet_images(1, 4, skip=skip, seed=3).state_dict() for skip in (0, 1))
    assert all(torch.equal(plain[name], residual[name]) for name in plain)


# Chapter 6: the code in the notebook


@pytest.fixture(scope="module")
def chapter():
    cells = ["two-branches", "three-shortcuts", "build-resnet", "count-parameters"]
    return chapter_code(CHAPTER, *cells, torch=torch, nn=nn, F=F, Table=Table)


def test_a_cell_that_is_gone_is_an_error_that_names_those_there_are():
    with pytest.raises(
        LookupError, match="06-resnet-blocks has no code cell 'nowhere'; it has fetch-book, setup-torch, threads-by"
    ):
        chapter_code(CHAPTER, "nowhere")


# Published by torchvision for resnet18, resnet34 and resnet50 (num_params in its documentation).
COUNTS = {"ResNet-18": 11_689_512, "ResNet-34": 21_797_672, "ResNet-50": 25_557_032}


@pytest.mark.parametrize("name", COUNTS)
def test_parameter_counts_are_the_published_ones(chapter, name):
    net = chapter.on_paper(name)
    assert sum(p.numel() for p in net.parameters()) == COUNTS[name]
    assert {p.device.type for p in net.parameters()} == {"meta"}


def test_option_a_has_no_parameters_and_is_a_strided_identity_padded_with_zeros(chapter):
    shortcut = chapter.OPTIONS["A"](3, 8, 2)
    assert not list(shortcut.parameters())
    x = randn(2, 3, 6, 6)
    y = shortcut(x)
    assert y.shape == (2, 8, 3, 3)
    assert torch.equal(y[:, :3], x[:, :, ::2, ::2])
    assert y[:, 3:].abs().max() == 0
    assert isinstance(chapter.OPTIONS["A"](8, 8, 1), nn.Identity)
    assert isinstance(chapter.OPTIONS["B"](8, 8, 1), nn.Identity)
    assert not isinstance(chapter.OPTIONS["B"](8, 8, 2), nn.Identity)
    assert not isinstance(chapter.OPTIONS["C"](8, 8, 1), nn.Identity)


@pytest.fixture(scope="module", params=["ResNet-18", "ResNet-50"])
def both(request, chapter):
    """The chapter's net and that of transformers with equal random weights, and their layers in pairs."""
    _, expansion, depths = chapter.NETS[request.param]
    config = ResNetConfig(
        depths=list(depths),
        hidden_sizes=[expansion * 64 * 2**stage for stage in range(4)],
        layer_type="bottleneck" if expansion == 4 else "basic",
        num_labels=1000,
    )
    assert not config.downsample_in_bottleneck, "both have the stride on the 3x3 convolution"
    with torch.device("meta"):  # no weights that are drawn and thrown away
        theirs = ResNetForImageClassification(config).double()
    ours, theirs = (net.to_empty(device="cpu") for net in (chapter.on_paper(request.param).double(), theirs))
    pairs = pair_layers(ours, theirs)
    rng = torch.Generator().manual_seed(0)
    for mine, other in pairs:
        for name, tensor in mine.state_dict().items():
            if name == "num_batches_tracked":
                tensor.zero_()
            elif tensor.ndim > 1:  # He's variance, so that 50 layers keep the signal
                tensor.copy_(torch.empty(tensor.shape).normal_(0, (2 / tensor[0].numel()) ** 0.5, generator=rng))
            else:
                tensor.copy_(torch.empty(tensor.shape).uniform_(0.5, 1.5, generator=rng))
        other.load_state_dict(mine.state_dict())
    return ours, theirs, pairs


LAYERS = nn.Conv2d, nn.BatchNorm2d, nn.Linear


def leaves(*modules):
    return [m for module in modules for m in module.modules() if isinstance(m, LAYERS)]


def pair_layers(ours, theirs):
    stages = theirs.resnet.encoder.stages
    mine = leaves(ours[0])
    other = leaves(theirs.resnet.embedder)
    for stage, their_stage in zip(ours[1:5], stages, strict=True):
        for unit, their_unit in zip(stage, their_stage.layers, strict=True):
            mine += leaves(unit.branch, unit.shortcut)
            other += leaves(their_unit.layer, their_unit.shortcut)
    mine, other = mine + leaves(ours[5]), other + leaves(theirs.classifier)
    assert len(other) == len(leaves(theirs)) and len(mine) == len(leaves(ours)), "every layer is paired"
    return list(zip(mine, other, strict=True))


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_outputs_and_gradients_are_those_of_transformers(both, training):
    ours, theirs, pairs = both
    for net in ours, theirs:
        net.train(training).zero_grad()
    x = randn(4, 3, 32, 32).requires_grad_()
    x_theirs = x.detach().clone().requires_grad_()
    labels = torch.tensor([3, 5, 0, 999])
    y, y_theirs = ours(x), theirs(x_theirs).logits
    close(y, y_theirs)
    F.cross_entropy(y, labels).backward()
    F.cross_entropy(y_theirs, labels).backward()
    close(x.grad, x_theirs.grad, rtol=1e-6, atol=1e-10)
    assert x.grad.abs().max() > 0
    # One relative error a tensor: comparing 25 million numbers one by one takes seconds.
    errors = [
        (a.grad - b.grad).norm() / b.grad.norm()
        for mine, other in pairs
        for a, b in zip(mine.parameters(), other.parameters(), strict=True)
    ]
    close(torch.stack(errors), torch.zeros(len(errors)), rtol=0, atol=1e-9)
    for mine, other in pairs:  # running averages: moved by the batch, or left alone
        for a, b in zip(mine.buffers(), other.buffers(), strict=True):
            close(a, b)


@pytest.fixture(scope="module")
def orders():
    names = dict(torch=torch, nn=nn, F=F, linear=linear, SideBySide=SideBySide)
    return chapter_code(CHAPTER, "five-orders", "orders-block", "orders-net", **names)


def test_the_chapters_orders_are_those_of_the_module(orders):
    assert orders.ORDERS == ORDERS


@pytest.mark.parametrize("order", ORDERS)
def test_the_chapters_block_computes_what_the_modules_does(orders, order):
    ours = orders.OrderedBlock(order, generator())
    module = block(order, orders.WIDTH, generator())
    x = randn(BATCH, orders.WIDTH).requires_grad_()
    y, expected = ours(x), module(x)
    close(y, expected)
    weighing = randn(*y.shape, seed=9)
    close(*(torch.autograd.grad((out * weighing).sum(), x)[0] for out in (y, expected)))


@pytest.mark.parametrize("order", ORDERS)
def test_the_chapters_nets_are_those_of_the_module_where_the_ends_agree(orders, order):
    seeds, last_norm = range(3), "pre-activation" in order
    nets = orders.variants(order, seeds)
    x = randn(BATCH, 40)
    ours = nets(nets.same(x)).unflatten(0, (4, 3))[orders.VARIANTS.index((last_norm, False))]
    close(ours, torch.stack([resnet_mlp(40, 32, 12, 10, order=order, seed=seed)(x) for seed in seeds]))


def test_branches_that_start_at_zero_leave_only_the_skip(orders):
    for order in set(ORDERS) - {"original", "BN after addition"}:  # these have parts after the sum
        random, zeroed = (orders.Net(order, 0, zero=zero).blocks[0] for zero in (False, True))
        x = randn(BATCH, orders.WIDTH)
        assert torch.equal(zeroed(x), x)
        assert not torch.allclose(random(x), x)


@pytest.mark.parametrize("order", ORDERS)
def test_branches_that_start_at_zero_can_learn_unless_a_relu_comes_last(orders, order):
    first = orders.Net(order, 0, zero=True).blocks[0]
    x = randn(BATCH, orders.WIDTH)
    assert first.branch(x).abs().max() == 0
    (first(x) * randn(*x.shape, seed=9)).sum().backward()
    (zeroed,) = (part for part in first.branch if hasattr(part, "weight") and not part.weight.any())
    assert (zeroed.weight.grad.abs().max() > 1e-12) == (order != "ReLU before addition")
