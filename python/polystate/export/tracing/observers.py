"""Observers of quantization, which branch on values that they keep.

PyTorch's observers are modules that a user runs to find the range of a tensor. They ask whether
their extremes are still infinite, and what fakes quantization asks which of its parts are on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Set
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.ao.quantization import observer as observers
from torch.ao.quantization.fake_quantize import FakeQuantize
from torch.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    UniformQuantizationObserverBase,
)

from polystate.errors import ExportError

aten = torch.ops.aten


@contextlib.contextmanager
def without_branches(model: nn.Module) -> Iterator[None]:
    """Lets observers of a model compute what they would branch on, within the block.

    Which parts of a ``FakeQuantize`` are on is taken as it is when the block begins.
    """
    parts_on = {
        id(module.__dict__): tuple(
            bool(flag.flatten()[0] == 1)
            for flag in (module.observer_enabled, module.fake_quant_enabled)
        )
        for module in model.modules()
        if type(module) is FakeQuantize
    }
    fake = FakeQuantize.forward

    def quantize(module: FakeQuantize, x: Tensor) -> Tensor:
        found = parts_on.get(id(module.__dict__))
        if found is None:
            return fake(module, x)  # type: ignore[no-untyped-call, no-any-return]
        return _fake_quantized(module, x, *found)

    base = UniformQuantizationObserverBase
    calculate = base._calculate_qparams

    def parameters(
        module: UniformQuantizationObserverBase, low: Tensor, high: Tensor
    ) -> tuple[Tensor, Tensor]:
        if low.numel() == 0 or low.dim() > 0:
            found: tuple[Tensor, Tensor] = calculate(module, low, high)
            return found
        unseen = _is_unseen(low, high)
        torch._assert_async(~(low > high) | unseen, "an observer's minimum is above its maximum")
        scale, zero_point = calculate(module, low.reshape(1), high.reshape(1))
        return torch.where(unseen, 1.0, scale), torch.where(unseen, 0, zero_point)

    with (
        mock.patch.object(MovingAverageMinMaxObserver, "forward", _averaged),
        mock.patch.object(FakeQuantize, "forward", quantize),
        mock.patch.object(base, "_calculate_qparams", parameters),
        mock.patch.object(observers, "check_min_max_valid", lambda low, _: low.numel() > 0),
    ):
        yield


def refuse_changed_switches(model: nn.Module, state: Set[str]) -> None:
    """Refuses methods that turn parts of a ``FakeQuantize`` on or off; ExportError."""
    for path, module in model.named_modules():
        if type(module) is not FakeQuantize:
            continue
        for switch in ("observer_enabled", "fake_quant_enabled"):
            name = f"{path}.{switch}" if path else switch
            if name in state:
                raise ExportError(
                    f"a method changes the buffer '{name}', and a program has the parts of a "
                    f"FakeQuantize that are on at the export; turn them on and off before it, or "
                    f"export one artifact for each"
                )


def _is_unseen(low: Tensor, high: Tensor) -> Tensor:
    """Whether extremes are those of an observer that has seen nothing."""
    return (low == torch.inf) & (high == -torch.inf)


def _averaged(observer: MovingAverageMinMaxObserver, x: Tensor) -> Tensor:
    """Moves the averages of the extremes; the first ones are taken as they are."""
    if x.numel() == 0:
        return x
    low, high = torch.aminmax(x.detach().to(observer.min_val.dtype))
    unseen = _is_unseen(observer.min_val, observer.max_val)
    for average, new in ((observer.min_val, low), (observer.max_val, high)):
        moved = average + observer.averaging_constant * (new - average)
        average.copy_(torch.where(unseen, new, moved))
    return x


def _fake_quantized(module: FakeQuantize, x: Tensor, observes: bool, quantizes: bool) -> Tensor:
    observer = module.activation_post_process
    if observes:
        observer(x.detach())
        scale, zero_point = module.calculate_qparams()
        if module.scale.shape != scale.shape:  # of channels, before the first call
            module.scale.resize_(scale.shape)
            module.zero_point.resize_(zero_point.shape)
        module.scale.copy_(scale)
        module.zero_point.copy_(zero_point)
    if not quantizes:
        return x
    limits = observer.quant_min, observer.quant_max
    if module.is_per_channel:
        return torch.fake_quantize_per_channel_affine(
            x, module.scale, module.zero_point, module.ch_axis, *limits
        )
    return torch.fake_quantize_per_tensor_affine(x, module.scale, module.zero_point, *limits)


def _rounded(x: Tensor, scale: Tensor, zero_point: Tensor | int, low: int, high: int) -> Tensor:
    """Numbers that have a code; computed as PyTorch does, in float32 and by the inverse scale.

    NaN has the lowest code.
    """
    scale = scale.to(torch.float32)
    places = x.to(torch.promote_types(x.dtype, torch.float32)) * scale.reciprocal()
    if isinstance(zero_point, Tensor) and zero_point.is_floating_point():
        codes = torch.round(places + zero_point)
    else:
        codes = torch.round(places) + zero_point
    codes = torch.where(codes.isnan(), low, codes).clamp(low, high)
    return ((codes - zero_point) * scale).to(x.dtype)


def _of_numbers(x: Tensor, scale: float, zero_point: int, low: int, high: int) -> Tensor:
    return _rounded(x, torch.full((), scale), zero_point, low, high)


def _of_tensors(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    return _rounded(x, scale, zero_point, low, high).reshape(x.shape)


def _of_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> Tensor:
    shape = [-1 if dim == axis % x.dim() else 1 for dim in range(x.dim())]
    return _rounded(x, scale.reshape(shape), zero_point.reshape(shape), low, high)


def _per_tensor(
    input: Tensor,
    scale: Tensor | float,
    zero_point: Tensor | int,
    quant_min: int,
    quant_max: int,
) -> Any:
    """PyTorch traces it at fixed sizes alone; NotImplemented there."""
    if not _varies(input):
        return NotImplemented
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):
        return _of_tensors(input, scale, zero_point, quant_min, quant_max)
    return _of_numbers(input, float(scale), int(zero_point), quant_min, quant_max)


def _per_channel(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Any:
    if not _varies(input):
        return NotImplemented
    return _of_channels(input, scale, zero_point, axis, quant_min, quant_max)


def _varies(x: Tensor) -> bool:
    return any(isinstance(size, torch.SymInt) for size in x.shape)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.fake_quantize_per_channel_affine: _per_channel,
    torch.fake_quantize_per_tensor_affine: _per_tensor,
}

FAKE_QUANTIZATION = {
    aten.fake_quantize_per_channel_affine.default: _of_channels,
    aten.fake_quantize_per_tensor_affine.default: _of_numbers,
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _of_tensors,
}
