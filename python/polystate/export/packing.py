"""Packs the weights of a module's linears for the length of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from polystate.errors import ContractError, UnsupportedError
from polystate.ops import unpacked
from polystate.ops.packed import pack_floats
from polystate.ops.quantized import PackedWeights, pack

M = TypeVar("M", bound=nn.Module)


class _Weights(Protocol):
    """The weights [columns, depth] of a linear, packed."""

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor: ...

    def embedding(self, ids: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class _Floats:
    """In float32."""

    tiles: Tensor
    columns: int

    @staticmethod
    def of(weight: Tensor) -> _Floats:
        return _Floats(pack_floats(weight), weight.shape[0])

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = torch.ops.polystate.packed_linear(x, self.tiles, self.columns, bias)
        return result

    def embedding(self, ids: Tensor) -> Tensor:
        result: Tensor = torch.ops.polystate.packed_embedding(ids, self.tiles, self.columns)
        return result


@dataclass(frozen=True)
class _Bytes:
    """In 8 bits."""

    packed: PackedWeights
    depth: int

    @staticmethod
    def of(weight: Tensor) -> _Bytes:
        return _Bytes(pack(weight), weight.shape[1])

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = torch.ops.polystate.quantized_linear(x, *self.packed, bias)
        return result

    def embedding(self, ids: Tensor) -> Tensor:
        tiles, scales, _ = self.packed
        result: Tensor = torch.ops.polystate.quantized_embedding(ids, tiles, scales, self.depth)
        return result


@contextlib.contextmanager
def packed(model: nn.Module) -> Iterator[None]:
    """Lets linears read float32 weights in the order in which the kernels do, until the block ends.

    An embedding that shares its weight with such a linear reads it from there, so that an artifact
    holds it once. Linears of another type, or whose weights are no parameters, stay as they are.
    """
    chosen = [linear for _, linear in _linears(model) if linear.weight.dtype == torch.float32]
    with _read_by_modules(model, chosen, _Floats.of):
        yield


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
        For an unknown name, and for a module without linears.
    UnsupportedError
        When a linear is not of float32.
    """
    if quantization is None:
        yield
        return
    if quantization != "q8":
        raise ContractError(f"quantization is {quantization!r}; it may be None or 'q8'")
    linears = list(_linears(model))
    if not linears:
        raise ContractError(
            f"quantization 'q8' is for linears, and {type(model).__name__} has none: leave it out"
        )
    chosen = []
    for name, linear in linears:
        if linear.in_features == 1:
            continue
        if linear.weight.dtype != torch.float32:
            raise UnsupportedError(
                f"quantization 'q8': the weight of the linear '{name}' is {linear.weight.dtype}; "
                f"it may be torch.float32"
            )
        chosen.append(linear)
    with _read_by_modules(model, chosen, _Bytes.of):
        yield


def _linears(model: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    """The linears whose weights are parameters that are not empty, by name."""
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear) or "weight" not in module._parameters:
            continue
        if isinstance(module, NonDynamicallyQuantizableLinear):
            continue  # attention reads its weight as it is
        if module.in_features > 0 and module.out_features > 0:
            yield name, module


@contextlib.contextmanager
def _read_by_modules(
    model: nn.Module, linears: Sequence[nn.Linear], pack: Callable[[Tensor], _Weights]
) -> Iterator[None]:
    """Lets linears, and embeddings that share their weights, read these packed, each once."""
    by_parameter: dict[int, _Weights] = {}
    found = _ByModule()
    for linear in linears:
        key = id(linear.weight)
        if key not in by_parameter:
            by_parameter[key] = pack(linear.weight.detach())
        found.add(linear, by_parameter[key])
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.max_norm is None:
            weights = by_parameter.get(id(module.weight))
            if weights is not None:
                found.add(module, weights)
    try:
        torch.compiler.reset()  # or torch.cond computes what it compiled before
        with (
            found.read_by(nn.Linear, _linear),
            found.read_by(nn.Embedding, _embedding),
            unpacked.kept(),
        ):
            yield
    finally:
        torch.compiler.reset()


class _ByModule:
    """The packed weights of modules.

    While a module is traced, another object with the same attributes may stand for it.
    """

    def __init__(self) -> None:
        self._by_attributes: dict[int, _Weights] = {}

    def add(self, module: nn.Module, weights: _Weights) -> None:
        self._by_attributes[id(module.__dict__)] = weights

    def read_by(
        self, kind: type[M], compute: Callable[[M, Tensor, _Weights], Tensor]
    ) -> contextlib.AbstractContextManager[object]:
        """Lets modules of a kind that have packed weights ``compute`` with them, for a block."""
        original = kind.forward

        def forward(module: M, input: Tensor) -> Tensor:
            weights = self._by_attributes.get(id(module.__dict__))
            if weights is None:
                result: Tensor = original(module, input)
                return result
            return compute(module, input, weights)

        return mock.patch.object(kind, "forward", forward)


def _linear(linear: nn.Linear, input: Tensor, weights: _Weights) -> Tensor:
    return weights.linear(input, linear.bias)


def _embedding(table: nn.Embedding, input: Tensor, weights: _Weights) -> Tensor:
    return weights.embedding(input)
