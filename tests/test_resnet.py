"""plusx.resnet and plusx.train against torch.nn; chapter 6's ResNets against torchvision's counts and transformers."""

import math
import warnings
from types import SimpleNamespace

import pytest
import torch
from chapter_code import chapter_code
from torch import nn
from torch.nn import functional as F

from plusx.resnet import ORDERS, BatchNorm, Linear, block, resnet_mlp
from plusx.tables import Table
from plusx.train import train

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what importing a large library warns of is not ours
    from transformers import ResNetConfig, ResNetForImageClassification

CHAPTER = "06-resnet-blocks"
S, BATCH, WIDTH = 3, 16, 8
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


def generators(seeds=range(S)):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


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


def torch_linear(linear, net):
    theirs = nn.Linear(linear.weight.shape[-1], linear.weight.shape[-2])
    with torch.no_grad():
        theirs.weight.copy_(linear.weight[net])
        theirs.bias.copy_(linear.bias[net, 0])
    return theirs


def torch_norm(norm, net):
    theirs = nn.BatchNorm1d(norm.weight.shape[-1])
    with torch.no_grad():
        for mine, copy in zip(
            (norm.weight, norm.bias, norm.mean, norm.variance),
            (theirs.weight, theirs.bias, theirs.running_mean, theirs.running_var),
        ):
            copy.copy_(mine[net, 0])
    return theirs


# Layers


def test_linear_is_that_of_torch_for_each_net():
    linear, x = randomise(Linear(WIDTH, 5, generators())), randn(S, BATCH, WIDTH).requires_grad_()
    y = linear(x)
    for net in range(S):
        close(y[net], F.linear(x[net], linear.weight[net], linear.bias[net, 0]))
    shared = linear(x[0])  # one batch for all nets
    close(shared[2], F.linear(x[0], linear.weight[2], linear.bias[2, 0]))


@pytest.mark.parametrize("inputs", [40, 400])
def test_linear_draws_hes_variance_and_each_net_its_own(inputs):
    linear = Linear(inputs, 300, generators([5, 6]))
    error = 5 * (2 / (300 * inputs)) ** 0.5  # five standard errors of a variance
    for weight in linear.weight:
        assert weight.var().item() == pytest.approx(2 / inputs, rel=error)
    assert linear.bias.abs().max() == 0
    assert torch.equal(linear.weight[1], Linear(inputs, 300, generators([6])).weight[0])
    assert not torch.equal(*linear.weight)


def test_batchnorm_is_that_of_torch_in_training():
    ours = randomise(BatchNorm(WIDTH, S))
    theirs = [torch_norm(ours, net) for net in range(S)]
    weighing = randn(S, BATCH, WIDTH, seed=9)
    for step in range(3):  # the running averages accumulate
        x = (2 + 3 * randn(S, BATCH, WIDTH, seed=step)).requires_grad_()
        ours.zero_grad()
        y = ours(x)
        (g,) = torch.autograd.grad((y * weighing).sum(), x, retain_graph=True)
        (y * weighing).sum().backward()
        for net, norm in enumerate(theirs):
            norm.zero_grad()
            x_net = x[net].detach().requires_grad_()
            y_net = norm(x_net)
            (y_net * weighing[net]).sum().backward()
            close(y[net], y_net)
            close(g[net], x_net.grad)
            close(ours.weight.grad[net, 0], norm.weight.grad)
            close(ours.bias.grad[net, 0], norm.bias.grad)
            close(ours.mean[net, 0], norm.running_mean)
            close(ours.variance[net, 0], norm.running_var)


def test_batchnorm_is_that_of_torch_in_evaluation():
    ours, x = randomise(BatchNorm(WIDTH, S)).eval(), randn(S, 1, WIDTH)  # one example is enough
    before = ours.mean.clone(), ours.variance.clone()
    y = ours(x)
    for net in range(S):
        close(y[net], torch_norm(ours, net).eval()(x[net]))
    assert torch.equal(ours.mean, before[0])
    assert torch.equal(ours.variance, before[1])


def test_batchnorm_takes_leading_dimensions_in_evaluation():
    norm, x = randomise(BatchNorm(WIDTH, S)).eval(), randn(4, S, BATCH, WIDTH)
    for part, y in zip(x, norm(x)):
        close(y, norm(part))


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


def copies(ours, net):
    """w1, n1, w2, n2 of a block: torch copies of one net's layers."""
    w1, w2 = (torch_linear(m, net) for m in ours.modules() if isinstance(m, Linear))
    n1, n2 = (torch_norm(m, net) for m in ours.modules() if isinstance(m, BatchNorm))
    return w1, n1, w2, n2


@pytest.mark.parametrize("skip", [1.0, 0.0])
@pytest.mark.parametrize("order", ORDERS)
def test_each_order_equals_its_formula_in_torch_nn(order, skip):
    ours = randomise(block(order, WIDTH, generators(), skip))
    x = randn(S, BATCH, WIDTH).requires_grad_()
    weighing = randn(S, BATCH, WIDTH, seed=9)
    y = ours(x)
    (y * weighing).sum().backward()
    for net in range(S):
        layers = copies(ours, net)
        x_net = x[net].detach().requires_grad_()
        y_net = REFERENCES[order](x_net, skip, *layers)
        (y_net * weighing[net]).sum().backward()
        close(y[net], y_net, rtol=0, atol=1e-10)
        close(x.grad[net], x_net.grad, rtol=0, atol=1e-10)
        mine = [m for m in ours.modules() if isinstance(m, Linear)]
        for linear, theirs in zip(mine, layers[::2], strict=True):
            close(linear.weight.grad[net], theirs.weight.grad, rtol=0, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
def test_a_resnet_has_a_last_norm_and_relu_only_with_preactivation(order):
    net = randomise(resnet_mlp(5, WIDTH, 2, 3, order=order, seeds=range(S))).eval()
    kinds = [type(part) for part in net[3:-1]]
    assert kinds == ([BatchNorm, nn.ReLU] if order in ("ReLU-only pre-activation", "full pre-activation") else [])
    x = randn(BATCH, 5)
    y = net(x)
    assert y.shape == (S, BATCH, 3)
    h = torch_linear(net[0], 1)(x)
    for ours in net[1:3]:
        w1, n1, w2, n2 = copies(ours, 1)
        h = REFERENCES[order](h, 1.0, w1, n1.eval(), w2, n2.eval())
    if kinds:
        h = F.relu(torch_norm(net[3], 1).eval()(h))
    close(y[1], torch_linear(net[-1], 1)(h), rtol=0, atol=1e-10)


def test_the_seeds_of_a_resnet_are_independent_nets():
    x = randn(BATCH, 5)
    alone = resnet_mlp(5, WIDTH, 2, 3, seeds=[7])(x)
    close(resnet_mlp(5, WIDTH, 2, 3, seeds=[6, 7])(x)[1], alone[0])


@pytest.mark.parametrize("order", ORDERS)
def test_a_resnet_draws_its_weights_one_after_the_other(order):
    net = resnet_mlp(5, WIDTH, 2, 3, order=order, seeds=[7])
    rng = torch.Generator().manual_seed(7)
    weights = [linear.weight[0] for linear in net.modules() if isinstance(linear, Linear)]
    assert [tuple(w.shape) for w in weights] == [(WIDTH, 5), *4 * [(WIDTH, WIDTH)], (3, WIDTH)]
    for weight in weights:
        drawn = torch.empty(weight.shape).normal_(generator=rng)
        assert torch.equal(weight, math.sqrt(2 / weight.shape[1]) * drawn)


def test_an_unknown_order_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError) as error:
        block("pre", WIDTH, generators())
    assert str(error.value).startswith("block: unknown order 'pre'; choose one of original, BN after addition,")
    with pytest.raises(ValueError, match="unknown order 'post'"):
        resnet_mlp(5, WIDTH, 2, 3, order="post")


# Training


def regression(seeds, targets):
    net, x = resnet_mlp(5, WIDTH, 2, 3, seeds=seeds), randn(BATCH, 5)

    def losses(step):
        order = torch.randperm(BATCH, generator=torch.Generator().manual_seed(step))
        return (net(x)[:, order] - targets[order]).square().mean((1, 2))

    return net, losses


@pytest.mark.parametrize("optimiser, lr", [(torch.optim.Adam, 0.01), (torch.optim.SGD, 0.05)])
def test_nets_trained_side_by_side_equal_nets_trained_alone(optimiser, lr):
    targets = randn(BATCH, 3, seed=4)
    net, losses = regression([0, 1, 2], targets)
    together = train(losses, net.parameters(), 10, optimiser, lr)
    assert together.shape == (10, 3)
    assert (together[-1] < together[0]).all()
    for seed in range(3):
        alone, losses = regression([seed], targets)
        seen = train(losses, alone.parameters(), 10, optimiser, lr)
        close(together[:, seed], seen[:, 0], rtol=1e-8, atol=1e-8)
        for a, b in zip(net.parameters(), alone.parameters()):
            close(a[seed], b[0], rtol=1e-7, atol=1e-7)


def test_an_sgd_step_by_hand():
    w = nn.Parameter(torch.tensor([1.0, -2.0]))
    targets = torch.tensor([[3.0, 0.0], [1.0, 1.0]])  # one row a step
    seen = train(lambda step: (w - targets[step]).square(), [w], 2, torch.optim.SGD, lr=0.1)
    # d (w - t)^2 / dw = 2 (w - t): 1 + 0.2 * 2 = 1.4, -2 + 0.2 * 2 = -1.6, then towards 1
    close(seen, torch.tensor([[4.0, 4.0], [0.4**2, 2.6**2]]))
    close(w.data, torch.tensor([1.4 - 0.2 * 0.4, -1.6 + 0.2 * 2.6]))
    assert not seen.requires_grad


def test_the_bar_appears_live_and_not_while_the_book_is_built(monkeypatch, capsys):
    w = nn.Parameter(torch.ones(1))
    monkeypatch.setenv("PLUSX_EXPLORE", "static")
    train(lambda step: w.square(), [w], 3)
    assert capsys.readouterr().out == ""
    monkeypatch.delenv("PLUSX_EXPLORE")
    train(lambda step: w.square(), [w], 3)
    assert "3/3" in capsys.readouterr().out


# Chapter 6: the code in the notebook


@pytest.fixture(scope="module")
def chapter():
    cells = ["two-branches", "three-shortcuts", "build-resnet", "count-parameters"]
    return chapter_code(CHAPTER, *cells, torch=torch, nn=nn, F=F, Table=Table)


def test_a_cell_that_is_gone_is_an_error_that_names_those_there_are():
    with pytest.raises(
        LookupError, match="06-resnet-blocks has no code cell 'nowhere'; it has fetch-book, setup-torch, two-br"
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
    names = dict(torch=torch, nn=nn, F=F, Linear=Linear, BatchNorm=BatchNorm)
    return chapter_code(CHAPTER, "five-orders", "orders-block", "orders-net", **names)


def test_the_chapters_orders_are_those_of_the_module(orders):
    assert orders.ORDERS == ORDERS


@pytest.mark.parametrize("order", ORDERS)
def test_the_chapters_block_computes_what_the_modules_does(orders, order):
    ours = orders.OrderedBlock(order, generators())
    module = block(order, orders.WIDTH, generators())
    x = randn(S, BATCH, orders.WIDTH).requires_grad_()
    y, expected = ours(x), module(x)
    close(y, expected)
    weighing = randn(*y.shape, seed=9)
    close(*(torch.autograd.grad((out * weighing).sum(), x)[0] for out in (y, expected)))


@pytest.mark.parametrize("order", ORDERS)
def test_the_chapters_nets_are_those_of_the_module_where_the_ends_agree(orders, order):
    ours = orders.Net(order, last_norm=[False, True])
    module = resnet_mlp(40, orders.WIDTH, orders.BLOCKS, 10, order=order)
    x = randn(BATCH, 40)
    close(ours(x).unflatten(0, (2, 3))[int("pre-activation" in order)], module(x))


def test_branches_that_start_at_zero_leave_only_the_skip(orders):
    for order in set(ORDERS) - {"original", "BN after addition"}:  # these have parts after the sum
        net = orders.Net(order, last_norm=[False, False])
        orders.start_at_zero(net, [True, False])
        stream, x = net.blocks[0], randn(6, BATCH, orders.WIDTH)
        assert torch.equal(stream(x)[:3], x[:3])
        assert not torch.allclose(stream(x)[3:], x[3:])


@pytest.mark.parametrize("order", ORDERS)
def test_branches_that_start_at_zero_can_learn_unless_a_relu_comes_last(orders, order):
    block = orders.OrderedBlock(order, generators())
    net = SimpleNamespace(blocks=[block])
    orders.start_at_zero(net, [True])
    x = randn(S, BATCH, orders.WIDTH)
    assert block.branch(x).abs().max() == 0
    (block(x) * randn(*x.shape, seed=9)).sum().backward()
    (zeroed,) = (part for part in block.branch if hasattr(part, "weight") and not part.weight.any())
    assert (zeroed.weight.grad.abs().max() > 1e-12) == (order != "ReLU before addition")
