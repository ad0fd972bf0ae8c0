"""What we measure: gradient norms, Jacobians, and branches beside the stream.

Nothing here builds or trains a net; every function takes what autograd has recorded.
"""

import torch


def gradient_norms(loss, tensors, lead=0):
    """Norm of d loss / d tensor for each tensor: shape (len(tensors), *leading).

    loss: scalar; where independent nets are batched, their losses summed.
    tensors: weights or states of equal leading shape that the loss depends on.
    lead: how many leading dimensions number independent nets; they stay apart.

    ValueError: the loss is not a scalar, or does not depend on a tensor.
    """
    if loss.ndim != 0:
        raise ValueError(
            f"gradient_norms: the loss has shape {tuple(loss.shape)}; expected a "
            "scalar. Sum the losses of independent nets."
        )
    tensors = list(tensors)
    grads = torch.autograd.grad(loss, tensors, allow_unused=True, retain_graph=True)
    for index, grad in enumerate(grads):
        if grad is None:
            raise ValueError(f"gradient_norms: the loss does not depend on tensor {index} of {len(tensors)}.")
    return torch.stack([norms(grad, lead) for grad in grads])


def norms(tensor, lead=0):
    """Euclidean norm over all but the first `lead` dimensions: shape (*leading,)."""
    return tensor.detach().flatten(lead).norm(dim=-1)


def jacobian(function, x):
    """d function(x) / d x for each sample: x (*batch, n) gives (*batch, m, n).

    function: maps (*batch, n) to (*batch, m), each sample on its own (no BatchNorm).

    ValueError: the batch shape changes.
    """
    x = x.detach().requires_grad_()
    y = function(x)
    if y.shape[:-1] != x.shape[:-1]:
        raise ValueError(
            f"jacobian: the function maps {tuple(x.shape)} to {tuple(y.shape)}; expected the same leading dimensions."
        )
    rows = [torch.autograd.grad(y_i.sum(), x, retain_graph=True, materialize_grads=True)[0] for y_i in y.unbind(-1)]
    return torch.stack(rows, dim=-2)


def branch_over_stream(states, skip=1.0):
    """How large each block's branch is beside the stream that enters it: (blocks, *leading), root mean squares.

    states: blocks + 1 tensors (*leading, inputs, width), before the first block and after each; leading dimensions
        number nets. What a block adds is told from what is after it: states[l + 1] - skip * states[l].
    skip: as for `plusx.nets.residual.Residual`; of a plain net, 0, the branch is all that goes on.

    ValueError: fewer than two states, or of different shapes.
    """
    return torch.stack([_size(after - skip * before) / _size(before) for before, after in _pairs(states)])


def left_of_x(states):
    """How much of what tells the inputs apart is still there: (blocks + 1, *leading), 1 at the start, 0 if none.

    The cosine of each state with the first, both without their mean over the inputs. states: as for
    `branch_over_stream`. The streams must not be turned on the way, so a net that projects its input is measured
    from there on.
    """
    apart = [(state - state.mean(-2, keepdim=True)).detach().flatten(-2) for state in states]
    return torch.stack([torch.cosine_similarity(apart[0], each, dim=-1) for each in apart])


def _pairs(states):
    if len(states) < 2 or any(state.shape != states[0].shape for state in states):
        shapes = [tuple(state.shape) for state in states]
        raise ValueError(f"branch_over_stream: states {shapes}; expected two or more of equal shape.")
    return zip(states[:-1], states[1:])


def _size(x):
    return x.detach().square().mean((-2, -1)).sqrt()
