"""Operators of PyTorch that the runtime has kernels of, beside those of ExecuTorch's libraries."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchgen.aoti.fallback_ops import inductor_fallback_ops

from polystate import _core
from polystate.export.diagnosis.lines import line_of_nodes
from polystate.export.diagnosis.problems import Problem
from polystate.export.lowering.replaced_kernels import (
    kernel_name,
    replaced_kernels,
    returning_overloads,
)

# Of ExecuTorch's, those outside of the core ATen set.
_OF_EXECUTORCH: tuple[torch._ops.OpOverload, ...] = (
    torch.ops.aten.masked_select.default,
    torch.ops.aten.repeat_interleave.Tensor,
    torch.ops.aten.var_mean.correction,
)


@functools.cache
def operators_with_kernels() -> tuple[torch._ops.OpOverload, ...]:
    """The operators that an ExecuTorch program may have beside the core ATen set."""
    return (*_OF_EXECUTORCH, *own_kernels())


@functools.cache
def own_kernels() -> tuple[torch._ops.OpOverload, ...]:
    """Those whose kernels are ours (src/engine/executorch/aten), in the form that returns."""
    names = {schema.partition("(")[0] for schema in _core.executorch_operators()}
    found = (
        operator
        for name in sorted({name.partition(".")[0] for name in names if name.startswith("aten::")})
        for operator in returning_overloads(name.removeprefix("aten::"))
        if kernel_name(operator) in names
    )
    return (*found, *replaced_kernels())


# How ExecuTorch and our runtime name an operator that they do not have.
_LACKING = (
    re.compile(r"Operator torch\._ops\.(?P<name>[\w.]+) is not in Core ATen opset"),
    re.compile(r"Missing out variants: \{'(?P<name>[\w:.]+)'"),
    re.compile(r"call_function:(?P<name>[\w.]+) is not supported in XNNPACK Delegate"),
    re.compile(r"needs the operator '(?P<name>[\w:.]+)', which this build lacks"),
)


def without_kernel(programs: Mapping[str, ExportedProgram], error: BaseException) -> Problem | None:
    """The problem of an exception that tells of an operator without a kernel; else None."""
    found = next((match for lacking in _LACKING if (match := lacking.search(str(error)))), None)
    if found is None:
        return None
    packet = re.sub(r"(_out)?$", "", re.split(r"[.:]+", found["name"])[1])
    nodes = [node for program in programs.values() for node in _calls(program, packet)]
    operator = str(nodes[0].target) if nodes else found["name"].replace("::", ".")
    return Problem(
        f"the ExecuTorch runtime (backends 'xnnpack' and 'portable') has no kernel for PyTorch's "
        f"operator '{operator}'",
        line_of_nodes(nodes),
        _instead(nodes[0].target if nodes else None),
        "operator_without_kernel",
    )


def _calls(program: ExportedProgram, packet: str) -> Iterator[Node]:
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            target = node.target
            if isinstance(target, torch._ops.OpOverload) and _packet(target) == packet.rstrip("_"):
                yield node


def _packet(operator: torch._ops.OpOverload) -> str:
    """The name without the library and, of a form that changes its argument, the last sign."""
    return str(operator._schema.name.partition("::")[2].rstrip("_"))


def _instead(operator: object) -> str:
    outside = "compute it in the caller, and pass the result as an input"
    if isinstance(operator, torch._ops.OpOverload) and inductor_has(operator):
        return f"backend='aoti' has it; or {outside}"
    return f"write it with other operators; or {outside}"


def inductor_has(operator: torch._ops.OpOverload) -> bool:
    """Whether AOTInductor compiles an operator, or calls PyTorch's kernel by its C interface."""
    import torch._inductor.lowering as inductor  # takes a second

    if operator not in inductor.lowerings and operator.overloadpacket not in inductor.lowerings:
        return False
    is_called = operator in inductor.fallbacks or operator.overloadpacket in inductor.fallbacks
    names = (str(operator), str(operator.overloadpacket))
    return not is_called or any(name in inductor_fallback_ops for name in names)


def executorch_has(operator: object) -> bool:
    """Whether the ExecuTorch runtime computes an operator, by a kernel or by its decomposition."""
    if not isinstance(operator, torch._ops.OpOverload):
        return False
    return (
        operator.namespace == "polystate"
        or torch.Tag.core in operator.tags
        or operator in operators_with_kernels()
    )
