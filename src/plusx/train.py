"""One training loop, for many independent nets side by side.

Here lives how nets are trained; nets and data live elsewhere.
"""

import os

import torch
from IPython.display import ProgressBar


def train(losses, parameters, steps, optimiser=torch.optim.Adam, lr=1e-3):
    """Take `steps` optimiser steps; return the losses before each: (steps, *nets).

    losses: function of the step's number that gives one loss per independent net,
        (*nets), from the batch it chooses. Their sum is minimised: as no parameter is
        shared, each net gets the gradient of its own loss, as if trained alone.
    parameters: what to train, net dimensions first.
    optimiser: a class of `torch.optim` that treats every number by itself, such as SGD
        or Adam; clipping by a common norm would tie the nets together.
    """
    parameters = list(parameters)
    optim = optimiser(parameters, lr=lr)
    seen = []
    for step in progress(range(steps)):
        each = losses(step)
        optim.zero_grad()
        each.sum().backward()
        optim.step()
        seen.append(each.detach())
    return torch.stack(seen)


def progress(items):
    """Iterate over a sequence with a bar below the cell; no bar while the book is built."""
    if os.environ.get("PLUSX_EXPLORE") == "static":
        yield from items
        return
    bar = ProgressBar(len(items))
    bar.display()
    for done, item in enumerate(items, 1):
        yield item
        if done * 50 // len(items) > (done - 1) * 50 // len(items):  # each update is a message to the page
            bar.progress = done
