"""Small data sets, shipped or generated: MNIST digits and MNIST-1D. Nothing is downloaded.

Here lives where the numbers come from; batching and training live elsewhere.
"""

from pathlib import Path

import numpy as np
import torch

MNIST_FILE = Path(__file__).parents[3] / "chapters" / "data" / "mnist-10k.npz"

# One row a digit, 12 heights each, drawn like the digit seen from the side: the templates
# of the authors' package mnist1d 0.0.2 (Apache-2.0, github.com/greydanus/mnist1d).
TEMPLATES = """
5   6   6.5 6.75 7   7    7    7   6.75 6.5 6   5
5   3   3   3.4  3.8 4.2  4.6  5   5.4  5.8 5   5
5   6   6.5 6.5  6   5.25 4.75 4   3.5  3.5 4   5
5   6   6.5 6.5  6   5    5    6   6.5  6.5 6   5
5   4.4 3.8 3.2  2.6 2.6  5    5   5    5   5   5
5   3   3   3    3   5    6    6.5 6.5  6   4.5 5
5   4   3.5 3.25 3   3    3    3   3.25 3.5 4   5
5   7   7   6.6  6.2 5.8  5.4  5   4.6  4.2 5   5
5   4   3.5 3.5  4   5    5    4   3.5  3.5 4   5
5   4   3.5 3.5  4   5    5    5   5    4.7 4.3 5
"""


def mnist(n=10_000, path=MNIST_FILE):
    """The first n of 10,000 MNIST digits: images (n, 28, 28) in [0, 1], labels (n,).

    Their order is shuffled once, so any n is a fair sample. Source and licence:
    chapters/data/README.md. Images have torch's default dtype, labels are int64.

    ValueError: n is not between 1 and 10,000.
    FileNotFoundError: the file does not lie where the repository keeps it.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"mnist: no file {path}. It comes with the repository; install with `pip install -e .`."
        )
    with np.load(path) as file:
        images, labels = file["images"], file["labels"]
    _check_count("mnist", n, len(labels))
    images = torch.from_numpy(images[:n]).to(torch.get_default_dtype()) / 255
    return images, torch.from_numpy(labels[:n]).long()


def mnist1d(n=4000, seed=0):
    """n signals of MNIST-1D: x (n, 40) of mean 0 and variance 1, labels (n,).

    The recipe and its constants are those of Greydanus and Kobak (2011.14439): a
    template of 12 points is padded, stretched, scaled, shifted in a circle, given
    correlated noise where it is empty and white noise everywhere, sheared and
    subsampled. All signals are made at once and drawn from `seed`, so they are not the
    samples of the authors' file. Labels come in random order, each digit as often as
    the others, up to one.

    ValueError: n is not between 1 and 1,000,000.
    """
    _check_count("mnist1d", n, 1_000_000)
    rng = torch.Generator().manual_seed(seed)
    labels = torch.arange(n)[torch.randperm(n, generator=rng)] % 10

    def uniform(low, high):
        return low + (high - low) * torch.rand(n, 1, generator=rng, dtype=torch.float64)

    def normal(std):
        return std * torch.randn(n, 72, generator=rng, dtype=torch.float64)

    digits = templates()[labels]
    padding = torch.randint(36, 61, (n, 1), generator=rng)
    x = _pad_and_stretch(digits, padding) * uniform(0.8, 1.2)
    shift = torch.randint(48, (n, 1), generator=rng)
    x = x.gather(1, (torch.arange(72) - shift) % 72)
    x = torch.where(x == 0, _smooth(normal(0.25)), x) + normal(0.02)
    x = x - uniform(-0.375, 0.375) * torch.linspace(-0.5, 0.5, 72, dtype=torch.float64)
    x = _interpolate(x, torch.linspace(0, 71, 40, dtype=torch.float64).expand(n, 40))
    x = (x - x.mean()) / x.std(correction=0)
    return x.to(torch.get_default_dtype()), labels


def templates():
    """The ten digits as curves (10, 12), each starting at 0, of standard deviation 1/6."""
    x = torch.tensor([[float(v) for v in row.split()] for row in TEMPLATES.split("\n") if row], dtype=torch.float64)
    x = x / x.std(1, correction=0, keepdim=True)
    return (x - x[:, :1]) / 6


def _pad_and_stretch(digits, padding):
    """digits (n, 12) followed by padding (n, 1) zeros, linearly interpolated to (n, 72)."""
    # 1e-8 tells a template's own zeros from the padding's.
    padded = torch.cat([digits + 1e-8, digits.new_zeros(len(digits), 60)], dim=1)
    fraction = torch.linspace(0, 1, 72, dtype=torch.float64)
    return _interpolate(padded, fraction * (11 + padding))


def _interpolate(x, at):
    """x (n, length) read at real-valued positions at (n, m): (n, m)."""
    left = at.floor().long().clamp(max=x.shape[1] - 2)
    weight = at - left
    return (1 - weight) * x.gather(1, left) + weight * x.gather(1, left + 1)


def _smooth(x):
    """Gaussian filter of standard deviation 2, cut off at 8, mirrored at the ends."""
    kernel = torch.exp(-(torch.arange(-8, 9, dtype=torch.float64) ** 2) / 8)
    x = torch.cat([x[:, :8].flip(1), x, x[:, -8:].flip(1)], dim=1)
    return x.unfold(1, 17, 1) @ (kernel / kernel.sum())


def _check_count(owner, n, most):
    if not 1 <= n <= most:
        raise ValueError(f"{owner}: n is {n}; choose between 1 and {most:,}.")
