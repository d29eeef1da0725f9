"""Refuses tensors that no program can hold, before anything else is tried with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from polystate.errors import ContractError, UnsupportedError


def refuse_unusual_weights(model: torch.nn.Module) -> None:
    """Refuses a model of which a parameter or a buffer is no plain tensor of the CPU.

    Raises
    ------
    ContractError
        With its name, what is unusual about it, and what to do.
    """
    kinds = (("parameter", model.named_parameters()), ("buffer", model.named_buffers()))
    for kind, tensors in kinds:
        for name, tensor in tensors:
            unusual = _unusual(tensor)
            if unusual is not None:
                what, weights = unusual
                raise ContractError(f"the {kind} '{name}' {what}; rewrite: {weights}")
    for name, tensor in _attributes(model):
        if tensor.is_meta:
            raise ContractError(
                f"the attribute '{name}' {_META}; rewrite: make it on the CPU, or register it as a "
                f"buffer, and load it"
            )


def _attributes(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors that are attributes of modules, neither parameters nor buffers."""
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                yield f"{path}.{name}" if path else name, value


def refuse_unusual_examples(method: str, args: Any, kwargs: Any) -> None:
    """Refuses examples of a method that are no plain tensors of the CPU, as above."""
    for path, leaf in pytree.tree_flatten_with_path((args, kwargs))[0]:
        if isinstance(leaf, np.ndarray):
            where = pytree.keystr(path[1:]) or "[0]"
            raise ContractError(
                f"method '{method}': the example {where} is an array of NumPy's, and programs take "
                f"tensors; rewrite: torch.from_numpy(x)"
            )
        unusual = _unusual(leaf) if isinstance(leaf, torch.Tensor) else None
        if unusual is not None:
            where = pytree.keystr(path[1:]) or "[0]"
            raise ContractError(
                f"method '{method}': the example {where} {unusual[0]}; rewrite: "
                f"{_EXAMPLES.get(unusual[0], unusual[1])}"
            )


def refuse_unusual_results(method: str, outputs: Any) -> None:
    """Refuses a method that returns such a tensor."""
    for leaf in pytree.tree_leaves(outputs):
        unusual = _unusual(leaf) if isinstance(leaf, torch.Tensor) else None
        if unusual is not None:
            raise UnsupportedError(
                f"method '{method}' returns a tensor that {unusual[0]}; rewrite: {unusual[1]}"
            )


_SPARSE = "is sparse, and tensors of programs are dense"
_META = "is on the device 'meta' and so has no values"
_QUANTIZED = "is a quantized tensor, which programs do not have"
_NESTED = "is a nested tensor, which programs do not have"

_EXAMPLES = {
    _META: "give an example with values: torch.zeros(shape)",
}


def _unusual(tensor: torch.Tensor) -> tuple[str, str] | None:
    """What is unusual about a tensor, and what to do; None: nothing."""
    return next(_all_unusual(tensor), None)


def _all_unusual(tensor: torch.Tensor) -> Iterator[tuple[str, str]]:
    if tensor.is_nested:
        yield _NESTED, "pad it: torch.nested.to_padded_tensor(x, 0.0)"
    if tensor.layout != torch.strided:
        yield _SPARSE, "use x.to_dense()"
    if tensor.is_quantized:
        yield _QUANTIZED, "use x.dequantize(), or quantization='q8' of the export"
    if tensor.is_meta:
        yield (
            _META,
            "load its weights first: model.to_empty(device='cpu'), "
            "then model.load_state_dict(torch.load(file))",
        )
    elif tensor.device.type != "cpu":
        yield f"is on the device '{tensor.device}', and programs run on the CPU", "use x.cpu()"
