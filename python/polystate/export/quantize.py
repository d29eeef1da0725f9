"""Quantizes the linears of a module for the length of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar
from unittest import mock

import torch
from torch import nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from polystate.errors import ContractError, UnsupportedError
from polystate.ops.quantized import PackedWeights, pack

M = TypeVar("M", bound=nn.Module)


@contextlib.contextmanager
def quantized(model: nn.Module, quantization: str | None) -> Iterator[None]:
    """Lets linears compute in 8 bits until the block ends.

    ``"q8"``: weights int8, symmetric, one scale per output channel; activations 8 bits, asymmetric,
    one scale per row, found while the program runs. An embedding that shares its weight with such a
    linear reads it from there. Linears of one column stay as they are, and so do those whose
    weights are no parameters.

    Raises
    ------
    ContractError
        For an unknown name.
    UnsupportedError
        When a linear is not of float32.
    """
    if quantization is None:
        yield
        return
    if quantization != "q8":
        raise ContractError(f"quantization is {quantization!r}; it may be None or 'q8'")
    packed = _packed(model)
    with packed.read_by(nn.Linear, _linear), packed.read_by(nn.Embedding, _embedding):
        yield


class _Weights:
    """The packed weights of modules.

    While a module is traced, another object with the same attributes may stand for it.
    """

    def __init__(self) -> None:
        self._by_attributes: dict[int, PackedWeights] = {}

    def add(self, module: nn.Module, weights: PackedWeights) -> None:
        self._by_attributes[id(module.__dict__)] = weights

    def read_by(
        self, kind: type[M], compute: Callable[[M, torch.Tensor, PackedWeights], torch.Tensor]
    ) -> contextlib.AbstractContextManager[object]:
        """Lets modules of a kind that have packed weights ``compute`` with them, for a block."""
        original = kind.forward

        def forward(module: M, input: torch.Tensor) -> torch.Tensor:
            weights = self._by_attributes.get(id(module.__dict__))
            if weights is None:
                result: torch.Tensor = original(module, input)
                return result
            return compute(module, input, weights)

        return mock.patch.object(kind, "forward", forward)


def _packed(model: nn.Module) -> _Weights:
    """The weights of linears, and of embeddings that share them, each packed once."""
    by_parameter: dict[int, PackedWeights] = {}
    found = _Weights()
    for name, linear in _quantizable(model):
        if linear.weight.dtype != torch.float32:
            raise UnsupportedError(
                f"quantization 'q8': the weight of the linear '{name}' is {linear.weight.dtype}; "
                f"it may be torch.float32"
            )
        key = id(linear.weight)
        if key not in by_parameter:
            by_parameter[key] = pack(linear.weight.detach())
        found.add(linear, by_parameter[key])
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.max_norm is None:
            weights = by_parameter.get(id(module.weight))
            if weights is not None:
                found.add(module, weights)
    return found


def _quantizable(model: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    """The linears whose weights are parameters with more than one column, by name."""
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear) or "weight" not in module._parameters:
            continue
        if isinstance(module, NonDynamicallyQuantizableLinear):
            continue  # attention reads its weight as it is
        if module.in_features > 1 and module.out_features > 0:
            yield name, module


def _linear(linear: nn.Linear, input: torch.Tensor, weights: PackedWeights) -> torch.Tensor:
    result: torch.Tensor = torch.ops.polystate.quantized_linear(input, *weights, linear.bias)
    return result


def _embedding(table: nn.Embedding, input: torch.Tensor, weights: PackedWeights) -> torch.Tensor:
    result: torch.Tensor = torch.ops.polystate.quantized_embedding(
        input, weights.tiles, weights.scales, table.embedding_dim
    )
    return result
