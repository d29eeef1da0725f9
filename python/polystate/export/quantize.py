"""Quantizes the linears of a module for the length of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from polystate.errors import ContractError, UnsupportedError


@contextlib.contextmanager
def quantized(model: torch.nn.Module, quantization: str | None, backend: str) -> Iterator[None]:
    """The module with quantized linears; its own weights are back when the block ends.

    ``"q8"``: weights int8, symmetric, one scale per output channel; activations int8, asymmetric,
    one scale per row, found while the program runs. Linears of one column stay as they are, and so
    do those whose weights are no parameters.

    Raises
    ------
    ContractError
        For an unknown name.
    UnsupportedError
        When the backend has no kernels for it, or a linear is not of float32.
    """
    if quantization is None:
        yield
        return
    if quantization != "q8":
        raise ContractError(f"quantization is {quantization!r}; it may be None or 'q8'")
    if backend != "xnnpack":
        raise UnsupportedError(
            f"quantization 'q8' needs the backend 'xnnpack': '{backend}' has no kernels for int8 "
            f"linears"
        )
    linears = dict(_quantizable(model))
    originals = [linear._parameters["weight"] for linear in linears.values()]
    fields = [(dict(linear.__dict__), linear.__class__) for linear in linears.values()]
    try:
        for name, linear in linears.items():
            _to_int8(name, linear)
        yield
    finally:
        for linear, weight, (saved, kind) in zip(linears.values(), originals, fields, strict=True):
            linear.__class__ = kind
            linear.__dict__.clear()
            linear.__dict__.update(saved)
            linear._parameters["weight"] = weight


def _quantizable(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Linear]]:
    """The linears whose weights are parameters with more than one column, by name."""
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or "weight" not in module._parameters:
            continue
        if isinstance(module, NonDynamicallyQuantizableLinear):
            continue  # attention reads its weight as it is
        if module.in_features > 1 and module.out_features > 0:
            yield name, module


def _to_int8(name: str, linear: torch.nn.Linear) -> None:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis

    if linear.weight.dtype != torch.float32:
        raise UnsupportedError(
            f"quantization 'q8': the weight of the linear '{name}' is {linear.weight.dtype}; "
            f"it may be torch.float32"
        )
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    )
    try:
        quantize_(linear, config)
    except Exception as error:  # torchao raises many kinds
        raise UnsupportedError(
            f"quantization 'q8' of the linear '{name}' failed: {error}"
        ) from error
    linear.forward = _of_rows(linear.forward)  # type: ignore[method-assign]


def _of_rows(forward: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Gives vectors to a linear as rows of one: activations are quantized by rows."""

    def forward_rows(input: torch.Tensor) -> torch.Tensor:
        return forward(input[None])[0] if input.dim() == 1 else forward(input)

    return forward_rows
