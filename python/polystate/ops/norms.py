"""Normalisation over the last dimension.

``layer_norm(x, weight, bias, eps)`` is ``(x - mean) / sqrt(variance + eps) * weight + bias`` over
each row of ``x``, float32 [..., columns], with weight and bias float32 [columns].
"""

from __future__ import annotations

import torch
from torch import Tensor

from polystate.ops.library import define_with_out


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps).contiguous()


def _fake_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return x.new_empty(x.shape)


define_with_out(
    "layer_norm",
    "Tensor x, Tensor weight, Tensor bias, float eps",
    _layer_norm,
    _fake_layer_norm,
)
