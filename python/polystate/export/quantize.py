"""Quantizes the linears of a module for the length of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from polystate.errors import ContractError, UnsupportedError


@contextlib.contextmanager
def quantized(model: torch.nn.Module, quantization: str | None, backend: str) -> Iterator[None]:
    """The module with quantized linears; its own weights are back when the block ends.

    ``"q8"``: weights int8, symmetric, one scale per output channel; activations int8, asymmetric,
    one scale per row, found while the program runs.

    Raises
    ------
    ContractError
        For an unknown name.
    UnsupportedError
        When the backend has no kernels for it.
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
    linears = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    originals = [linear._parameters["weight"] for linear in linears]
    fields = [(dict(linear.__dict__), linear.__class__) for linear in linears]
    try:
        _to_int8(model)
        yield
    finally:
        for linear, weight, (saved, kind) in zip(linears, originals, fields, strict=True):
            linear.__class__ = kind
            linear.__dict__.clear()
            linear.__dict__.update(saved)
            linear._parameters["weight"] = weight


def _to_int8(model: torch.nn.Module) -> None:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis

    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    )
    quantize_(model, config)
