"""Which operator a node calls, and with what, also where the operator changes its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node


def called_operator(node: Node) -> torch._ops.OpOverload | None:
    """Return the operator that a node calls, which may be one that changes its arguments."""
    target: Any = node.args[0] if changes_arguments(node) else node.target
    return target if isinstance(target, torch._ops.OpOverload) else None


def given_arguments(
    operator: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Name what a call gives an operator, by its schema."""
    names = [argument.name for argument in operator._schema.arguments]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def all_arguments(
    operator: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Name all arguments of a call, in the schema's order; others have their defaults."""
    given = given_arguments(operator, args, kwargs)
    return {
        argument.name: given.get(argument.name, argument.default_value)
        for argument in operator._schema.arguments
        if argument.name in given or argument.has_default_value()
    }


def all_operands(node: Node) -> dict[str, Any]:
    """Name all arguments of the operator that a node calls, which changes none of them."""
    assert isinstance(node.target, torch._ops.OpOverload)
    return all_arguments(node.target, node.args, node.kwargs)


def named_operands(node: Node) -> Mapping[str, Any]:
    """List what a node of a functional graph gives its operator, by the schema's names.

    In the place of an argument that the operator changes stands the tensor of which that is the
    whole or a view: see `changed_shape`.
    """
    operator = called_operator(node)
    assert operator is not None
    if not changes_arguments(node):
        return given_arguments(operator, node.args, node.kwargs)
    given: dict[str, Any] = dict(node.kwargs)
    bases = given["_all_bases"]
    for argument in operator._schema.arguments:
        index = given.get(f"_{argument.name}_base_index")
        if index is not None:
            given[argument.name] = bases[index]
    return given


def changed_shape(node: Node, name: str) -> Sequence[Any]:
    """Return the sizes of an argument, also of one that is changed and a view of another tensor."""
    given = named_operands(node)
    if f"_{name}_size" in given:
        return [_size(size) for size in given[f"_{name}_size"]]
    shape = list(given[name].meta["val"].shape)
    if f"_{name}_slice_dim" in given:
        start, end = (_size(given[f"_{name}_slice_{which}"]) for which in ("start", "end"))
        shape[given[f"_{name}_slice_dim"]] = end - start
    return shape


def _size(size: Any) -> Any:
    return size.meta["val"] if isinstance(size, Node) else size


def changes_arguments(node: Node) -> bool:
    """Tell whether a node calls an operator that changes its arguments."""
    return node.target == torch.ops.higher_order.auto_functionalized_v2


def number_as(value: float, dtype: torch.dtype) -> float:
    """A number as PyTorch makes it one of a tensor's type: of a whole one the low bits."""
    if dtype.is_floating_point:
        return float(value)
    if dtype == torch.bool:
        return bool(value)
    limits = torch.iinfo(dtype)
    wrapped: int = (int(value) - limits.min) % 2**limits.bits + limits.min
    return wrapped
