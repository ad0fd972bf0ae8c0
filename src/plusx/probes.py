"""What we measure: gradient norms and Jacobians.

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
