"""On an accelerator, what was written for the CPU.

Here lives how a function that names no device computes on one; what is measured and kept is told by
`plusx.measure.kept`.
"""

import functools

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only


class On(TorchDispatchMode):
    """While it is entered, torch computes on a device.

    What is random is drawn by the CPU, so that a seed draws the same weights and batches on every device. What was
    made before, such as a page's data, is copied to the device where it is read.

    RuntimeError: an operation writes to a tensor that was made before.
    """

    def __init__(self, device):
        super().__init__()
        self.device = torch.device(device)

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        random, makes, writes = _kind(call)
        if random and writes:
            return args[0].copy_(call(torch.empty_like(args[0], device="cpu"), *args[1:], **(kwargs or {})))
        if random:
            args, kwargs = tree_map_only(torch.Tensor, torch.Tensor.cpu, (args, kwargs or {}))
            return call(*args, **kwargs).to(self.device)
        if writes and isinstance(args[0], torch.Tensor) and self.here(args[0]) is not args[0]:
            raise RuntimeError(
                f"On({str(self.device)!r}): {call} writes to a tensor of shape {tuple(args[0].shape)} on "
                f"{args[0].device}; expected one that was made while it was entered."
            )
        args, kwargs = tree_map_only(torch.Tensor, self.here, (args, kwargs or {}))
        return call(*args, **kwargs | ({"device": self.device} if makes else {}))

    def here(self, x):
        return x if x.device.type == self.device.type else x.to(self.device)


@functools.cache
def _kind(call):
    """Of an operation: is it random, does it make tensors where it is told, does it write to its first argument?"""
    makes = any(each.name == "device" for each in call._schema.arguments)
    return torch.Tag.nondeterministic_seeded in call.tags, makes, call._schema.is_mutable
