"""Whether a model fits an artifact: the same methods, inputs, results and state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from polystate.artifact import Manifest, manifest
from polystate.errors import ContractError
from polystate.export.contract.contract import MethodContract
from polystate.export.method import Method
from polystate.export.state import StateBuffer, dtype_name
from polystate.export.tracing.traced import Traced
from polystate.export.verification.outcomes import tensors


def methods_of(
    model: nn.Module, described: Manifest, inputs: Mapping[str, Method | Sequence[Any]]
) -> dict[str, Method]:
    """The methods as they were exported, with these arguments and the contract's ranges.

    In the order of the artifact, in which they are exported again.
    """
    if not isinstance(inputs, Mapping):
        raise ContractError(f"inputs is a {type(inputs).__name__}, not a mapping of methods' names")
    known = {method.name: method for method in described.methods}
    for name in inputs:
        if name not in known:
            raise ContractError(
                f"the artifact has no method {name!r}; it has {', '.join(map(repr, known))}"
            )
    missing = [name for name in known if name not in inputs]
    if missing:
        raise ContractError(
            f"inputs has no arguments for the artifact's method {missing[0]!r}; all methods are "
            f"compared, since they share their state"
        )
    return {name: _method(model, method, inputs[name]) for name, method in known.items()}


def _method(model: nn.Module, described: manifest.Method, given: Any) -> Method:
    if isinstance(given, torch.Tensor):
        raise ContractError(
            f"the inputs of method '{described.name}' are a Tensor; a sequence of the arguments is "
            f"needed: (x,)"
        )
    method = given if isinstance(given, Method) else Method(described.name, tuple(given))
    if isinstance(method.target, str) and not callable(getattr(model, method.target, None)):
        raise ContractError(
            f"the artifact does not fit the model: it has the method '{described.name}', and "
            f"{type(model).__name__} has no {method.target!r}"
        )
    given_tensors = tensors((method.args, method.kwargs))
    if len(given_tensors) != len(described.inputs):
        raise ContractError(
            f"method '{described.name}' of the artifact takes {_tensors(len(described.inputs))}; "
            f"inputs has {len(given_tensors)}"
        )
    if method.dynamic_shapes is not None or method.kwargs:
        return method
    return dataclasses.replace(method, dynamic_shapes=_ranges(method.args, described))


def _tensors(count: int) -> str:
    return "1 tensor" if count == 1 else f"{count} tensors"


def _ranges(args: Any, described: manifest.Method) -> Any:
    """The contract's ranges of sizes in torch.export's form; None: all sizes are fixed."""
    symbols = {symbol.name: symbol for symbol in described.symbols}
    shapes = iter(described.inputs)

    def of(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return None
        shape = next(shapes).shape
        ranges: dict[int, Any] = {}
        for dimension, size in enumerate(shape):
            if isinstance(size, str):
                ranges[dimension] = Dim.AUTO(min=symbols[size].min, max=symbols[size].max)
            elif not isinstance(size, int):
                ranges[dimension] = Dim.AUTO
        return ranges or None

    return pytree.tree_map(of, tuple(args)) if described.symbols else None


def check_state(model: nn.Module, described: Manifest) -> None:
    """Refuses a model that lacks a state, before it is traced."""
    buffers = dict(model.named_buffers(remove_duplicate=False))
    for state in described.state:
        buffer = buffers.get(state.name)
        what = f"the artifact does not fit the model: its state '{state.name}' is "
        form = f"{state.dtype} {list(state.shape)}"
        if buffer is None:
            raise ContractError(f"{what}no buffer of {type(model).__name__}")
        found = f"{dtype_name(buffer.dtype)} {list(buffer.shape)}"
        if found != form:
            raise ContractError(f"{what}{form}, the model's buffer {found}")


def check_fit(
    traced: Sequence[Traced],
    contracts: Sequence[MethodContract],
    state: Sequence[StateBuffer],
    described: Manifest,
) -> None:
    """Refuses a model whose methods have another form or other state."""
    known = {method.name: method for method in described.methods}
    for contract, each in zip(contracts, traced, strict=True):
        method = known[each.name]
        _check_form(method.name, "takes", contract.inputs, method.inputs)
        _check_form(method.name, "returns", contract.outputs, method.outputs)
    names = {each.name for each in described.state}
    mine = {buffer.name for buffer in state}
    for name in sorted(names ^ mine):
        who = "the artifact's" if name in names else "the model's"
        other = "the model's" if name in names else "the artifact's"
        raise ContractError(
            f"the artifact does not fit the model: {who} methods change '{name}', {other} do not"
        )


def _check_form(
    method: str,
    what: str,
    mine: Sequence[manifest.Input | manifest.Output],
    theirs: Sequence[manifest.Input | manifest.Output],
) -> None:
    if [_form(each) for each in mine] != [_form(each) for each in theirs]:
        raise ContractError(
            f"the artifact does not fit the model: its method '{method}' {what} "
            f"({', '.join(map(str, theirs))}), the model's ({', '.join(map(str, mine))})"
        )


def _form(tensor: manifest.Input | manifest.Output) -> tuple[Any, ...]:
    """What of an input or a result two exports have in common, whatever its sizes are called."""
    sizes = [size if isinstance(size, int) else None for size in tensor.shape]
    return tensor.name, tensor.dtype, sizes
