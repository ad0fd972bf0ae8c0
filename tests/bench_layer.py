"""Our transformer layer beside torch.nn.TransformerEncoderLayer, forward and backward: `make bench`.

One net, the same weights' shapes and input, one thread, in turns.
"""

import statistics
import time

import pytest
import torch
from torch import nn

from plusx.nets.transformer import POST_NORM, PRE_NORM, layer


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("order", [PRE_NORM, POST_NORM], ids=["pre-norm", "post-norm"])
@pytest.mark.parametrize("batch, n, d, heads", [(32, 8, 32, 4), (8, 128, 256, 8)])
def test_layer_beside_torch(batch, n, d, heads, order, dtype):
    ours = layer(order, d, heads, torch.Generator().manual_seed(0)).to(dtype)
    theirs = nn.TransformerEncoderLayer(
        d, heads, 4 * d, dropout=0, batch_first=True, norm_first=order == PRE_NORM, dtype=dtype
    )
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    x = torch.randn(batch, n, d, dtype=dtype)
    ways = {"ours": (ours, x), "torch": (theirs, x.clone())}
    times = {name: [] for name in ways}
    for _ in range(40):
        for name, (module, x) in ways.items():
            begun = time.process_time()
            module(x.requires_grad_()).square().sum().backward()
            times[name].append(time.process_time() - begun)
    medians = {name: statistics.median(each[5:]) for name, each in times.items()}
    name = f"{'pre' if order == PRE_NORM else 'post'}-norm {str(dtype)[6:]}"
    print(
        f"\n  {name}, batch {batch}, {n} tokens, d_model {d}: ours {1000 * medians['ours']:.2f} ms, "
        f"torch.nn {1000 * medians['torch']:.2f} ms, ratio {medians['ours'] / medians['torch']:.2f} (aim 1.1)"
    )
