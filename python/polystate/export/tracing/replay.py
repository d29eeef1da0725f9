"""Runs a graph by PyTorch, and compares what it gives and writes with the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind
from torch.utils import _pytree as pytree

from polystate.errors import UnsupportedError
from polystate.export.diagnosis.explain import explain
from polystate.export.graph.signature import stored
from polystate.export.tracing.closeness import Limits, deviating
from polystate.export.tracing.eager import EagerModule, Outcome, copied, copied_leaves, identical
from polystate.export.tracing.printed_graphs import no_printed_graphs
from polystate.export.tracing.traced import Traced
from polystate.quiet import quiet

# How far the exported graph, run by PyTorch, may be from the module: the same kernels in another
# order.
_LIMITS = Limits(relative=1e-4, absolute=1e-5)
_ROUNDINGS = 4


def first_deviation(eager: EagerModule, traced: Traced, *, at_corners: bool) -> str | None:
    """Where the graph differs from the module, at the points of a method; None: nowhere."""
    for where, args, kwargs in traced.points(at_corners=at_corners):
        try:
            expected = eager.run(traced.function, args, kwargs)
        except Exception:  # the module itself refuses these sizes; so may the graph
            continue
        difference = _difference_at(eager, traced, args, kwargs, expected)
        if difference is not None:
            return f"{where} {difference}"
    return None


def is_right(eager: EagerModule, traced: Traced, args: Any, kwargs: Any) -> bool | None:
    """Whether the graph does with arguments what the module does; None: that refuses them."""
    try:
        expected = eager.run(traced.function, args, kwargs)
    except Exception:  # the module may raise anything
        return None
    return _difference_at(eager, traced, args, kwargs, expected) is None


def _difference_at(
    eager: EagerModule, traced: Traced, args: Any, kwargs: Any, expected: Outcome
) -> str | None:
    try:
        found = _replay(eager, traced.functional, args, kwargs)
    except Exception as error:
        return f"the graph fails: {explain(error)}"
    return _difference(expected, found)


def _replay(eager: EagerModule, program: ExportedProgram, args: Any, kwargs: Any) -> Outcome:
    """Runs a functional graph by PyTorch, from the initial values.

    The graph itself, not ``program.module()``: that writes buffers back one after another, and so
    loses one of two that a method exchanges.
    """
    args, kwargs = copied(args, kwargs)
    with eager.restored(), torch.no_grad(), quiet(), no_printed_graphs():
        inputs = flat_inputs(program, args, kwargs)
        torch.default_generator.manual_seed(0)
        results = copied_leaves(list(program.graph_module(*inputs)))
    signature = program.graph_signature
    placeholders = {
        spec.arg.name: value for spec, value in zip(signature.input_specs, inputs, strict=True)
    }
    outputs, buffers = [], eager.initials()
    for spec, result in zip(signature.output_specs, results, strict=True):
        if spec.kind == OutputKind.USER_OUTPUT:
            outputs.append(result)
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            buffers[str(spec.target)] = result
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            placeholders[str(spec.target)].copy_(result)
        else:
            raise UnsupportedError(f"the graph has a result of kind {spec.kind.name}")
    return Outcome(outputs=outputs, inputs=copied_leaves((args, kwargs)), buffers=buffers)


def flat_inputs(
    program: ExportedProgram,
    args: Any,
    kwargs: Any,
    buffers: Mapping[str, torch.Tensor] | None = None,
) -> list[Any]:
    """What a graph's placeholders stand for; PyTorch's own function fails on named tuples.

    Parameters
    ----------
    buffers
        By their names, in place of those that the program holds.
    """
    given = iter(pytree.tree_leaves((args, kwargs)))
    buffers = buffers or {}

    def held(spec: InputSpec) -> Any:
        name = str(spec.target)
        if spec.kind == InputKind.BUFFER and name in buffers:
            return buffers[name]
        return stored(program, name)

    return [
        next(given) if spec.kind == InputKind.USER_INPUT else held(spec)
        for spec in program.graph_signature.input_specs
    ]


def _difference(expected: Outcome, found: Outcome) -> str | None:
    if len(expected.outputs) != len(found.outputs):
        return f"the graph returns {len(found.outputs)} values, the module {len(expected.outputs)}"
    pairs = [
        (f"output {i}", a, b)
        for i, (a, b) in enumerate(zip(expected.outputs, found.outputs, strict=True))
    ]
    pairs += [
        (f"input {i}", a, b)
        for i, (a, b) in enumerate(zip(expected.inputs, found.inputs, strict=True))
    ]
    pairs += [
        (f"buffer '{name}'", value, found.buffers[name])
        for name, value in expected.buffers.items()
        if name in found.buffers
    ]
    for label, a, b in pairs:
        if not _equal(a, b):
            return f"{label} of the graph differs from the module's"
    return None


def _equal(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and bool(a == b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if identical(a, b):
        return True
    limits = _LIMITS
    if a.is_floating_point() and a.dtype.itemsize == 2:
        # Operators that others write are rounded at each of these.
        rounding = _ROUNDINGS * torch.finfo(a.dtype).eps
        limits = Limits(rounding, rounding, least=0.0)
    return not bool(deviating(b, a, limits).any())
