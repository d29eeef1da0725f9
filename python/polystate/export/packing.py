"""Packs the weights of a module's linears for the length of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from polystate.errors import ContractError, UnsupportedError
from polystate.ops import groupwise, unpacked
from polystate.ops import quantized as per_channel
from polystate.ops.packed import pack_floats

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
        return _Floats(pack_floats(weight.float()), weight.shape[0])

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = torch.ops.polystate.packed_linear(x, self.tiles, self.columns, bias)
        return result

    def embedding(self, ids: Tensor) -> Tensor:
        result: Tensor = torch.ops.polystate.packed_embedding(ids, self.tiles, self.columns)
        return result


@dataclass(frozen=True)
class _Bytes:
    """In 8 bits, with a scale for each column."""

    packed: per_channel.PackedWeights
    depth: int

    @staticmethod
    def of(weight: Tensor) -> _Bytes:
        return _Bytes(per_channel.pack(weight), weight.shape[1])

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = torch.ops.polystate.quantized_linear(x, *self.packed, bias)
        return result

    def embedding(self, ids: Tensor) -> Tensor:
        tiles, scales, _ = self.packed
        result: Tensor = torch.ops.polystate.quantized_embedding(ids, tiles, scales, self.depth)
        return result


@dataclass(frozen=True)
class _Groups:
    """In 8 bits, with a scale for each group of a column."""

    packed: groupwise.GroupwiseWeights
    columns: int
    depth: int

    @staticmethod
    def of(weight: Tensor) -> _Groups:
        return _Groups(groupwise.pack(weight), *weight.shape)

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        result: Tensor = torch.ops.polystate.groupwise_linear(x, *self.packed, self.columns, bias)
        return result

    def embedding(self, ids: Tensor) -> Tensor:
        result: Tensor = torch.ops.polystate.groupwise_embedding(
            ids, *self.packed, self.columns, self.depth
        )
        return result


# What `quantization` may be, and what linears then read.
_QUANTIZED: dict[str, type[_Bytes] | type[_Groups]] = {"q8": _Bytes, "q8_0": _Groups}


@dataclass
class _Stored:
    """In the type that they are stored in, converted to float32 at each use."""

    weight: Tensor | None

    def linear(self, x: Tensor, bias: Tensor | None) -> Tensor:
        assert self.weight is not None
        return nn.functional.linear(x, self.weight.float(), bias)

    def embedding(self, ids: Tensor) -> Tensor:
        assert self.weight is not None
        return nn.functional.embedding(ids, self.weight).float()

    def take(self) -> Tensor:
        """The weight, which nothing is computed with from now on."""
        weight, self.weight = self.weight, None
        assert weight is not None
        return weight


@contextlib.contextmanager
def as_stored(model: nn.Module) -> Iterator[None]:
    """Takes the weights of linears out of a model, in the type that they have, for a block.

    Linears, and embeddings that share their weights, compute with them in float32. The model has
    parameters of these shapes in float32 that take no memory, and are NaN, so that it shows where
    something else reads them.

    :func:`packed` and :func:`quantized` take one weight after another and drop it when it is
    packed. What they took is gone when the block ends; the other weights are put back.
    """
    weights = {id(linear.weight): linear.weight for _, linear in _linears(model)}
    stored: dict[int, _Stored] = {}
    found = _ByModule()
    for module in model.modules():
        if not isinstance(module, nn.Linear | nn.Embedding) or id(module.weight) not in weights:
            continue
        if getattr(module, "max_norm", None) is None:
            of_module = stored.setdefault(id(module.weight), _Stored(module.weight.detach()))
            found.add(module, of_module)
    for weight in weights.values():
        weight.data = torch.full((), torch.nan).expand(weight.shape)
    try:
        with found.read():
            yield
    finally:
        for key, weight in weights.items():
            if stored[key].weight is not None:
                weight.data = stored[key].take()


@contextlib.contextmanager
def packed(model: nn.Module, *, takes_stored: bool = True) -> Iterator[None]:
    """Lets linears read float32 weights in the order in which the kernels do, until the block ends.

    An embedding that shares its weight with such a linear reads it from there, so that an artifact
    holds it once. Linears of another type, or whose weights are no parameters, stay as they are.

    Parameters
    ----------
    takes_stored
        Whether weights of :func:`as_stored` are packed, too.
    """
    chosen = [
        linear
        for _, linear in _linears(model)
        if linear.weight.dtype == torch.float32
        and (takes_stored or not isinstance(_read_by(linear), _Stored))
    ]
    with _read_packed(model, chosen, _Floats.of):
        yield


@contextlib.contextmanager
def quantized(model: nn.Module, quantization: str | None) -> Iterator[None]:
    """Lets linears compute in 8 bits until the block ends.

    ``"q8"``: weights int8, symmetric, one scale per output channel; activations 8 bits, asymmetric,
    one scale per row, found while the program runs.

    ``"q8_0"``: weights int8 and activations 8 bits, both symmetric, one scale for each 32 values
    along the depth, as llama.cpp's Q8_0. Nearer to float32, and a little slower.

    An embedding that shares its weight with such a linear reads it from there. Linears of one
    column stay as they are, and so do those whose weights are no parameters, and those that a block
    around this one has quantized.

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
    if quantization not in tuple(_QUANTIZED):
        names = " or ".join(map(repr, _QUANTIZED))
        raise ContractError(f"quantization is {quantization!r}; it may be None, {names}")
    linears = list(_linears(model))
    if not linears:
        raise ContractError(
            f"quantization {quantization!r} is for linears, and {type(model).__name__} has none: "
            f"leave it out"
        )
    chosen = []
    for name, linear in linears:
        if linear.in_features == 1 or isinstance(_read_by(linear), _Bytes | _Groups):
            continue
        if linear.weight.dtype != torch.float32:
            raise UnsupportedError(
                f"quantization {quantization!r}: the weight of the linear '{name}' is "
                f"{linear.weight.dtype}; it may be torch.float32"
            )
        chosen.append(linear)
    with _read_packed(model, chosen, _QUANTIZED[quantization].of):
        yield


def is_quantized(module: nn.Module) -> bool:
    """Whether a block of :func:`quantized` has a module compute in 8 bits now."""
    return isinstance(_read_by(module), _Bytes | _Groups)


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
def _read_packed(
    model: nn.Module, linears: Sequence[nn.Linear], pack: Callable[[Tensor], _Weights]
) -> Iterator[None]:
    """Lets linears, and embeddings that share their weights, read these packed, each once."""
    by_parameter: dict[int, _Weights] = {}
    found = _ByModule()
    for linear in linears:
        key = id(linear.weight)
        if key not in by_parameter:
            by_parameter[key] = pack(_taken_weight(linear))
        found.add(linear, by_parameter[key])
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.max_norm is None:
            weights = by_parameter.get(id(module.weight))
            if weights is not None:
                found.add(module, weights)
    try:
        torch.compiler.reset()  # or torch.cond computes what it compiled before
        with found.read(), unpacked.kept():
            yield
    finally:
        torch.compiler.reset()


def _taken_weight(linear: nn.Linear) -> Tensor:
    """A linear's weight, which is dropped where it is kept as it is stored."""
    weights = _read_by(linear)
    return weights.take() if isinstance(weights, _Stored) else linear.weight.detach()


class _ByModule:
    """The weights that modules read.

    While a module is traced, another object with the same attributes may stand for it.
    """

    def __init__(self) -> None:
        self._by_attributes: dict[int, _Weights] = {}

    def add(self, module: nn.Module, weights: _Weights) -> None:
        self._by_attributes[id(module.__dict__)] = weights

    def get(self, module: nn.Module) -> _Weights | None:
        return self._by_attributes.get(id(module.__dict__))

    @contextlib.contextmanager
    def read(self) -> Iterator[None]:
        """Lets the modules read these weights until the block ends, whatever they read before."""
        token = _blocks.set((self, *_blocks.get()))
        try:
            with (
                self._computed_by(nn.Linear, _linear),
                self._computed_by(nn.Embedding, _embedding),
            ):
                yield
        finally:
            _blocks.reset(token)

    def _computed_by(
        self, kind: type[M], compute: Callable[[M, Tensor, _Weights], Tensor]
    ) -> contextlib.AbstractContextManager[object]:
        """Lets modules of a kind that have weights here ``compute`` with them, for a block."""
        original = kind.forward

        def forward(module: M, input: Tensor) -> Tensor:
            weights = self.get(module)
            if weights is None:
                result: Tensor = original(module, input)
                return result
            return compute(module, input, weights)

        return mock.patch.object(kind, "forward", forward)


# What modules read, of the innermost block first.
_blocks: ContextVar[tuple[_ByModule, ...]] = ContextVar("blocks", default=())


def _read_by(module: nn.Module) -> _Weights | None:
    """The weights that a module reads; None where it reads its own."""
    return next((found for block in _blocks.get() if (found := block.get(module))), None)


def _linear(linear: nn.Linear, input: Tensor, weights: _Weights) -> Tensor:
    return weights.linear(input, linear.bias)


def _embedding(table: nn.Embedding, input: Tensor, weights: _Weights) -> Tensor:
    return weights.embedding(input)
