"""Losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch.nn import functional
from torch.nn.modules import linear_cross_entropy

from polystate.export.tracing.decompositions.composites import composed
from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten


def _huber_loss(input: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    """Has the type of the first tensor; PyTorch's own decomposition has the wider one of both."""
    loss = decomposition_table[aten.huber_loss.default](input, target, reduction, delta)
    return loss.to(input.dtype)


def _of_elements(operator: Any, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loss that reduces an operator's of each element, for tensors of one type."""

    def loss(input: Tensor, target: Tensor, reduction: int = 1, *numbers: float) -> Any:
        if input.dtype != target.dtype:
            return otherwise(input, target, reduction, *numbers)
        if reduction == 0:
            return NotImplemented
        losses = operator(input, target, 0, *numbers)
        return losses.mean() if reduction == 1 else losses.sum()

    return loss


def _multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Any:
    """Counts no pair of which the first is no target; PyTorch's own decomposition counts some.

    Returns the loss and, of each class of the input [N, C] or [C], whether it is a target.
    """
    if target.shape != input.shape or input.dim() > 2:
        return NotImplemented
    rows, targets = (x if x.dim() == 2 else x.reshape(1, -1) for x in (input, target))
    counts = (targets != -1).cumprod(-1).bool()  # up to the first -1
    # With a place for -1, so that all targets are checked.
    found = rows.new_zeros([rows.shape[0], rows.shape[1] + 1])
    is_target = found.scatter_add(-1, targets + 1, counts.to(rows.dtype))[:, 1:] > 0
    of_targets = rows.gather(-1, targets.where(counts, 0))
    margins = 1.0 - of_targets.unsqueeze(-1) + rows.unsqueeze(-2)
    # The kernel leaves out what is NaN.
    is_pair = counts.unsqueeze(-1) & ~is_target.unsqueeze(-2) & (margins > 0)
    losses = margins.where(is_pair, 0.0).sum((-2, -1)) / rows.shape[-1]
    loss = {0: losses, 1: losses.mean(), 2: losses.sum()}[reduction]
    if reduction == 0 and input.dim() < 2:
        loss = loss.reshape(())
    return loss, is_target.to(input.dtype).reshape(target.shape)


def _nll_loss_backward(
    grad: Tensor,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """Writes what each target gets, and nothing else.

    PyTorch's own decomposition multiplies zeros, which gives NaN where the total weight is 0.
    """
    classes = min(x.dim() - 1, 1)
    if x.dim() == 1 and target.dim():
        target = target[0]
    counts = target != ignore_index
    places = target.where(counts, 0)
    grad = grad.reshape(target.shape if reduction == 0 else ())
    each = -(grad / total_weight.reshape(()) if reduction == 1 else grad)
    if weight is not None:
        each = each * aten.index.Tensor(weight, (places,))
    each = torch.where(counts, each, 0.0).to(x.dtype)
    return torch.zeros_like(x).scatter(classes, places.unsqueeze(classes), each.unsqueeze(classes))


def _linear_cross_entropy(
    x: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    ignore_index: int,
    *_: Any,
    reduction: str = "none",
) -> Tensor:
    """Returns the loss of all rows at once: in chunks it takes less memory with gradients alone."""
    bias = None if linear_bias is None else in_single(linear_bias)
    scores = functional.linear(in_single(x), in_single(linear_weight), bias)
    weight = None if weight is None else in_single(weight)
    loss = functional.cross_entropy(
        scores, target, weight, ignore_index=ignore_index, reduction=reduction
    )
    return loss.to(x.dtype)


def _reduced_linear_cross_entropy(
    x: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    *options: Any,
) -> Any:
    """Returns the loss, and in place of gradients tensors without elements."""
    if label_smoothing or any(options[-3:]):  # which gradients are wanted
        return NotImplemented
    given = (x, linear_weight, target, linear_bias, weight, ignore_index)
    loss = _linear_cross_entropy(*given, reduction=reduction)
    return loss, *(torch.zeros(shape, dtype=x.dtype) for shape in ((0, 0), (0, 0), 0))


_chunked = linear_cross_entropy._linear_cross_entropy_batch_chunked
_chunked_no_reduction = linear_cross_entropy._linear_cross_entropy_batch_chunked_no_reduction

# Which gather by targets. AOTInductor decomposes them where indices get no checks any more.
_OF_TARGETS = (
    aten.multilabel_margin_loss.default,
    aten.nll_loss.default,
    aten.nll_loss2d.default,
    aten.nll_loss_nd.default,
)
_GATHERING = (aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)

OPERATORS: dict[Any, Callable[..., Any]] = {
    **{operator: composed(operator) for operator in _OF_TARGETS},
    **{operator: decomposition_table[operator] for operator in _GATHERING},
    _chunked._opoverload: _reduced_linear_cross_entropy,
    _chunked_no_reduction._opoverload: _linear_cross_entropy,
    aten.cosine_embedding_loss.default: composed(aten.cosine_embedding_loss.default),
    aten.cross_entropy_loss.default: composed(aten.cross_entropy_loss.default),
    aten.huber_loss.default: _of_elements(aten.huber_loss.default, _huber_loss),
    aten.nll_loss2d_backward.default: _nll_loss_backward,
    aten.nll_loss_backward.default: _nll_loss_backward,
    aten.multilabel_margin_loss_forward.default: _multilabel_margin_loss,
    aten.smooth_l1_loss.default: _of_elements(
        aten.smooth_l1_loss.default, decomposition_table[aten.smooth_l1_loss.default]
    ),
}
