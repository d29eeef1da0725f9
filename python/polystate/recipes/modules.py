"""Has modules compute as an export needs it: in ``eval`` mode, and in ways that can be packed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

# transformers' way to compute experts that has no loop over them.
_EXPERTS = "batched_mm"


@contextlib.contextmanager
def evaluated(model: PreTrainedModel) -> Iterator[None]:
    """Has all modules in ``eval`` mode, for a block."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextlib.contextmanager
def linears(model: PreTrainedModel) -> Iterator[None]:
    """Has ``nn.Linear`` in the place of transformers' ``Conv1D``, for a block."""
    replaced: list[tuple[nn.Module, str, nn.Module]] = []
    try:
        for parent in list(model.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, Conv1D):
                    replaced.append((parent, name, child))
                    setattr(parent, name, _as_linear(child))
        yield
    finally:
        for parent, name, child in replaced:
            setattr(parent, name, child)


def _as_linear(layer: Conv1D) -> nn.Linear:
    inputs, outputs = layer.weight.shape
    linear = nn.Linear(inputs, outputs, device="meta")
    linear.weight = nn.Parameter(layer.weight.detach().T.contiguous(), requires_grad=False)
    linear.bias = layer.bias
    return linear.train(layer.training)


@contextlib.contextmanager
def experts(model: PreTrainedModel) -> Iterator[None]:
    """Has mixtures of experts computed in a way that can be exported, for a block."""
    if not model._can_set_experts_implementation():
        yield
        return
    before = model.get_experts_implementation()
    model.set_experts_implementation(_EXPERTS)
    try:
        yield
    finally:
        model.set_experts_implementation(before)
