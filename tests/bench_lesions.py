"""All 1,024 lesions of chapter 7's net by prefix doubling, beside a loop and vmap: `make bench`.

One net, the same digits, one thread, one run. Asserts that the three ways agree, not how long they take.
"""

import statistics
import time
from itertools import product

import pytest
import torch
from chapter_code import chapter_code

PART = 8  # digits at a time: 1,024 states of one net still fit in the cache


@pytest.fixture
def chapter():
    """The net and `lesions` as the reader sees them."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    yield chapter_code("07-ensemble-of-paths", "setup-torch", "load-data", "make-net", "idea-doubling")
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@torch.no_grad()
def by_loop(net, inputs, subsets):
    """A plain loop: each subset of blocks is one forward pass of the blocks it keeps."""
    results = []
    for kept in subsets:
        h = net.stem(inputs)
        for keep, block in zip(kept, net.blocks):
            h = block(h) if keep else h
        results.append(net.tail(h))
    return torch.stack(results)


@torch.no_grad()
def by_vmap(net, inputs, gates):
    """One forward pass with a gate on each branch, mapped over all vectors of gates."""

    def gated(gate):
        h = net.stem(inputs)
        for g, block in zip(gate, net.blocks):
            h = h + g * block.branch(h)
        return net.tail(h)

    return torch.func.vmap(gated)(gates)


def in_parts(function, net, inputs, *args, part=PART):
    return torch.cat([function(net, some, *args) for some in inputs.split(part)], dim=1)


@pytest.mark.parametrize("digits", [100, 500])
def test_lesions_by_doubling_beside_loop_and_vmap(chapter, digits):
    net = chapter.Net(100, seed=0).eval()
    inputs = chapter.digits[2][:digits]
    subsets = [kept[::-1] for kept in product([0, 1], repeat=chapter.BLOCKS)]
    gates = torch.tensor(subsets, dtype=inputs.dtype)
    ways = {
        "doubling": lambda: in_parts(chapter.lesions, net, inputs),
        "loop": lambda: by_loop(net, inputs, subsets),  # all digits at once: fewer calls, its best case
        "vmap": lambda: in_parts(by_vmap, net, inputs, gates),
    }
    times, results = {name: [] for name in ways}, {}
    for _ in range(5):  # in turns, so that a busy moment of the machine meets all
        for name, way in ways.items():
            begun = time.process_time()
            results[name] = way()
            times[name].append(time.process_time() - begun)
    for result in results.values():
        torch.testing.assert_close(result, results["doubling"])
    assert results["doubling"].shape == (len(subsets), digits, 10)

    medians = {name: statistics.median(each) for name, each in times.items()}
    print(f"\n  {len(subsets):,} lesions of one net on {digits} digits, one thread, CPU time")
    for name, median in medians.items():
        print(f"  {name:10} median {median:5.2f} s, least {min(times[name]):5.2f} s")
    print(f"  loop / doubling {medians['loop'] / medians['doubling']:.1f} (aim 4)")
    print(f"  vmap / doubling {medians['vmap'] / medians['doubling']:.1f}")
