"""Calls kernels of ours in place of those of ExecuTorch that compute otherwise than PyTorch's.

ExecuTorch sums float64 in float32, for instance, and its pools lose NaN. A kernel's name can be
taken once: ours are in the namespace ``polystate_aten``, with PyTorch's names and schemas. Those
that compute what ExecuTorch's do, only faster, are in the namespace ``polystate_faster``: where a
program is written for its own runtime, it calls them by PyTorch's names again. Products of matrices
and convolutions have both names.

Needs the edge program after delegation. Keeps what the method computes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch.export import ExportedProgram
from torch.fx import Node

from polystate import _core
from polystate.export.graph.signature import changed_graphs
from polystate.export.graph.sizes import may_be_empty

_RANK_OF_VOLUMES = 5
_OWN, _FASTER = "polystate_aten", "polystate_faster"
_LIBRARIES: dict[str, Any] = {
    namespace: torch.library.Library(namespace, "DEF")  # type: ignore[no-untyped-call]
    for namespace in (_OWN, _FASTER)
}


@functools.cache
def replaced_kernels() -> dict[torch._ops.OpOverload, torch._ops.OpOverload]:
    """PyTorch's operators, in the form that returns, and those that take their places."""
    return {**_replaced_by(_OWN), **_replaced_by(_FASTER)}


@functools.cache
def _replaced_by(namespace: str) -> dict[torch._ops.OpOverload, torch._ops.OpOverload]:
    prefix = f"{namespace}::"
    filling = {
        schema.partition("(")[0].removeprefix(prefix)
        for schema in _core.executorch_operators()
        if schema.startswith(prefix)
    }
    return {
        operator: _defined(operator, namespace)
        for packet in sorted({name.partition(".")[0] for name in filling})
        for operator in returning_overloads(packet)
        if _name(filling_form(operator)).removeprefix("aten::") in filling
    }


def executorchs_name(name: str) -> str:
    """The name of ExecuTorch's kernel that computes what one of ours does; others as they are."""
    return name.replace(f"{_FASTER}::", "aten::", 1)


def kernel_name(operator: torch._ops.OpOverload) -> str:
    """The name of the kernel that computes an operator of PyTorch in its form that returns."""
    return _name(filling_form(replaced_kernels().get(operator, operator)))


def call_replaced_kernels(program: ExportedProgram) -> None:
    """Rewrite such calls, those in branches included."""
    for graph in changed_graphs(program):
        for node in graph.nodes:
            if isinstance(node.target, EdgeOpOverload):
                replacement = _replacement(node.target._op, node)
                if replacement is not None:
                    node.target = _of_edge(replacement)


def _replacement(operator: torch._ops.OpOverload, node: Node) -> torch._ops.OpOverload | None:
    """What takes the place of an operator, unless ExecuTorch's own kernel will do."""
    if operator == torch.ops.aten.abs.default and not node.meta["val"].dtype.is_floating_point:
        return None
    own, faster = _replaced_by(_OWN).get(operator), _replaced_by(_FASTER).get(operator)
    return own if faster is None or (own is not None and _is_wrong(operator, node)) else faster


def _is_wrong(operator: torch._ops.OpOverload, node: Node) -> bool:
    """Whether ExecuTorch refuses, or computes otherwise, what its kernel computes elsewhere.

    That are products of tensors without elements, and convolutions of volumes.
    """
    if operator == torch.ops.aten.convolution.default:
        return bool(node.meta["val"].dim() == _RANK_OF_VOLUMES)
    return any(map(may_be_empty, node.all_input_nodes))


def returning_overloads(packet: str) -> Iterator[torch._ops.OpOverload]:
    """Those of a name that return new tensors, and have a form that fills given ones."""
    operators = getattr(torch.ops.aten, packet)
    for overload in operators.overloads():
        operator = getattr(operators, overload)
        if not _results(operator) and _filling_forms(operator):
            yield operator


def filling_form(operator: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """The form of an operator that fills given results."""
    return _filling_forms(operator)[0]


def _name(operator: Any) -> str:
    """With its namespace and overload: ``aten::sum.IntList_out``."""
    name: str = operator.name()
    return name


def _filling_forms(operator: torch._ops.OpOverload) -> list[torch._ops.OpOverload]:
    packet = operator.overloadpacket
    others = (getattr(packet, overload) for overload in packet.overloads())
    return [each for each in others if _results(each) and _inputs(each) == _inputs(operator)]


def _inputs(operator: torch._ops.OpOverload) -> list[tuple[str, str]]:
    arguments = operator._schema.arguments
    return [(each.name, str(each.type)) for each in arguments if not each.is_out]


def _results(operator: torch._ops.OpOverload) -> list[str]:
    """The arguments that it fills."""
    return [each.name for each in operator._schema.arguments if each.is_out]


def _defined(operator: torch._ops.OpOverload, namespace: str) -> torch._ops.OpOverload:
    """The operator of a namespace of ours, whose eager form is PyTorch's."""
    library = _LIBRARIES[namespace]
    for form in (operator, filling_form(operator)):
        library.define(str(form._schema).removeprefix("aten::"))
        library.impl(_name(form).removeprefix("aten::"), form, "CompositeExplicitAutograd")
    # PyTorch's rule for the shape of the result, which may depend on values (of a mask).
    defined = _name(operator).replace("aten::", f"{namespace}::", 1)
    torch.library.register_fake(defined, operator, lib=library)
    operators = getattr(torch.ops, namespace)
    packet = getattr(operators, operator._schema.name.removeprefix("aten::"))
    overload: torch._ops.OpOverload = getattr(packet, operator._overloadname)
    return overload


def _of_edge(operator: torch._ops.OpOverload) -> Any:
    namespace = getattr(exir_ops.edge, operator.namespace)
    packet = getattr(namespace, operator._schema.name.partition("::")[2])
    return getattr(packet, operator._overloadname)
