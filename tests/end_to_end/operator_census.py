"""Predicts what an export of operators comes to, without exporting them.

``python -m tests.end_to_end.operator_census --results FILE`` runs the calls of
`operator_cases` operator by operator as a program of ExecuTorch would, decomposed in the same way,
and compares the kernels with PyTorch's. What it knows nothing of are the passes over whole graphs.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from executorch.exir.dialects.edge._ops import to_variant
from executorch.exir.program import _program
from executorch.extension.pybindings import portable_lib
from torch import Tensor
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torchgen.model import SchemaKind

from polystate import _core
from polystate.export.lowering.kernels import operators_with_kernels, own_kernels
from polystate.export.lowering.replaced_kernels import kernel_name, replaced_kernels
from polystate.export.tracing.decompositions.table import DECOMPOSED
from tests.end_to_end.operator_cases import DTYPES, Case, as_right, cases

aten = torch.ops.aten

# Types that an edge program makes equal before the kernel.
_PROMOTED = {
    aten.add.Tensor: ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
    aten.mul.Tensor: ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
    aten.sub.Tensor: ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
    aten.div.Tensor: ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT,
    aten.div.Tensor_mode: ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
    aten.minimum.default: ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
}


_LONGEST = 600  # seconds of a case


class MissingError(Exception):
    """An operator has no kernel."""


class DifferentError(Exception):
    """A kernel gives other results, or fails."""


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    kept = {aten.linear.default, *own_kernels()}
    table = _program._default_decomposition_table()
    return {op: decomposition for op, decomposition in table.items() if op not in kept}


@functools.cache
def _names() -> frozenset[str]:
    ours = (schema.partition("(")[0] for schema in _core.executorch_operators())
    return frozenset([*portable_lib._get_operator_names(), *ours])


class AsProgram(TorchDispatchMode):
    """While it is entered, what PyTorch computes is computed by the kernels of programs."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.used: set[str] = set()
        self._case = case

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        for table in (DECOMPOSED, _decompositions()):
            if operator in table:
                with self:
                    result = table[operator](*args, **kwargs)
                if result is not NotImplemented:
                    self.used.add(f"={operator}")
                    return result
        if torch.Tag.nondeterministic_seeded in operator.tags:
            raise MissingError(f"{operator} draws numbers")
        if operator._can_decompose():
            with self:
                return operator.decompose(*args, **kwargs)
        given = pytree.tree_map_only(Tensor, torch.clone, args) if _writes(operator) else args
        expected = operator(*args, **kwargs)
        if _is_rewritten(operator, args, kwargs, expected):
            self.used.add(f"~{operator}")
            return expected
        called = _functional(operator)
        if called is not None:
            results = expected if isinstance(expected, tuple | list) else (expected,)
            if _writes(operator):
                self._compare(called, given, kwargs, [results[0].clone()])
            else:
                self._compare(called, args, kwargs, results)
        return expected

    def _compare(self, operator: Any, args: Any, kwargs: Any, results: Sequence[Tensor]) -> None:
        name, arguments = _arguments(operator, args, kwargs)
        self.used.add(name)
        if any(each.is_complex() for each in results):
            return  # an export traces their parts
        told = f"{name}({', '.join(_text(each) for each in arguments)})"
        try:
            found = call_kernel(name, arguments, results)
        except Exception as error:
            if "No temp allocator" in str(error):  # which a program has
                raise NotImplementedError(f"{name} needs memory of its own") from error
            raise DifferentError(f"{told} fails: {str(error)[-200:]}") from error

        def call(arguments: Any) -> Sequence[Tensor]:
            given = operator(*arguments[0], **arguments[1])
            return given if isinstance(given, tuple | list) else (given,)

        for place, (value, right) in enumerate(zip(found, results, strict=True)):
            if self._case.deviation(value, right) is None:
                continue
            others = [each[place] for each in as_right(call, (args, kwargs))]
            where = self._case.deviation(value, right, others)
            if where is not None:
                raise DifferentError(f"{told}: {where}")


def _is_rewritten(operator: Any, args: Any, kwargs: Any, result: Any) -> bool:
    """Whether a pass over the graph writes it by other operators (lowering/rewrites.py)."""
    name = operator._schema.name.removeprefix("aten::").rstrip("_")
    if not isinstance(result, Tensor):
        return False
    dtype = result.dtype
    if name in ("floor_divide", "remainder", "fmod") or kwargs.get("rounding_mode"):
        is_floored = kwargs.get("rounding_mode") == "floor" or name == "floor_divide"
        return is_floored or not dtype.is_floating_point
    if name == "pow" and isinstance(args[0], Tensor) and isinstance(args[1], int):
        return not dtype.is_floating_point and 0 < args[1] <= 64
    # lowering/kernel_limits.py, zero_dimensional.py
    first = args[0] if args else None
    has_dimension = any(each or each == 0 for each in args[1:] if isinstance(each, int | list))
    return (
        (name in ("gather", "scatter", "scatter_add") and args[2].dtype != torch.int64)
        or (name == "constant_pad_nd" and any(each < 0 for each in args[1]))
        or (name in ("mm", "bmm") and first.shape[-1] == 0)
        or (name in ("cat", "_log_softmax") and result.numel() == 0)
        or (name == "_log_softmax" and dtype == torch.float64)
        or (name == "sign" and dtype.is_floating_point)
        or (name in ("cumsum", "addmm", "avg_pool2d", "convolution") and dtype.itemsize == 2)
        or (isinstance(first, Tensor) and first.dim() == 0 and has_dimension)
    )


def _writes(operator: Any) -> bool:
    return bool(operator._schema.is_mutable)


def _functional(operator: Any) -> Any:
    """The form of an operator that a program has; None: it has none of it."""
    name = operator._schema.name.removeprefix("aten::")
    if operator in (aten.detach.default, aten.lift_fresh.default, aten.alias.default):
        return None
    if operator._schema.is_mutable and name.endswith("_"):
        return getattr(getattr(aten, name[:-1], None), operator._overloadname, operator)
    if operator._schema.is_mutable:
        raise NotImplementedError(f"{operator} writes to its arguments")
    if operator.is_view:
        return getattr(getattr(aten, f"{name}_copy", None), operator._overloadname, operator)
    return operator


def _arguments(operator: Any, args: Any, kwargs: Any) -> tuple[str, list[Any]]:
    """The name of an operator's kernel, and what it is called with."""
    try:
        filling = to_variant(operator, SchemaKind.out)
    except RuntimeError as error:
        raise MissingError(f"{operator} has no form that fills results") from error
    is_allowed = torch.Tag.core in operator.tags or operator in operators_with_kernels()
    if operator not in replaced_kernels() and filling.name() not in _names():
        raise MissingError(f"{filling.name()} has no kernel")
    if not is_allowed and not operator._schema.name.endswith("_copy"):
        raise MissingError(f"{operator} is not of the core set")
    schema = operator._schema
    given = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    given |= dict(zip((a.name for a in schema.arguments), args, strict=False)) | kwargs
    given["non_blocking"] = False
    for argument in schema.arguments:
        is_number = isinstance(given[argument.name], bool | int | float)
        if isinstance(argument.type, torch.TensorType) and is_number:
            given[argument.name] = torch.tensor(given[argument.name], dtype=_scalar_type(args))
    if operator in _PROMOTED:
        operands = [given[name] for name in ("self", "other")]
        kind = _PROMOTED[operator]
        if operator == aten.div.Tensor_mode and given["rounding_mode"] is None:
            kind = ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT
        dtype = elementwise_dtypes(*args[:2], type_promotion_kind=kind)[1]
        for argument_name, operand in zip(("self", "other"), operands, strict=True):
            given[argument_name] = operand.to(dtype)
    wanted = [each for each in filling._schema.arguments if not each.is_out]
    name = kernel_name(operator) if operator in replaced_kernels() else filling.name()
    return name, [_plain(given[each.name], each.type) for each in wanted]


def _scalar_type(args: Any) -> torch.dtype | None:
    """As lowering/scalar_operands.py writes numbers beside tensors of float64."""
    dtypes = [each.dtype for each in pytree.tree_leaves(args) if isinstance(each, Tensor)]
    return torch.float64 if torch.float64 in dtypes else None


def call_kernel(name: str, arguments: Sequence[Any], like: Sequence[Tensor]) -> list[Tensor]:
    results = [torch.empty(each.shape, dtype=each.dtype) for each in like]
    shapes = _core.call_operator(name, [*arguments, *results], len(results))
    return [
        result.flatten()[: torch.Size(shape).numel()].reshape(shape)
        for result, shape in zip(results, shapes, strict=True)
    ]


def _plain(value: Any, kind: Any) -> Any:
    """An argument as a program has it; a tuple of tensors is a list without None."""
    if isinstance(value, Tensor):
        return value.contiguous()
    if isinstance(value, torch.dtype):
        return _SCALAR_TYPES.get(value, 0)
    if isinstance(value, torch.layout | torch.device | torch.memory_format):
        return 0
    if isinstance(value, list | tuple):
        elements = [each.contiguous() if isinstance(each, Tensor) else each for each in value]
        may_lack = "Optional[Tensor]" in str(kind)
        return elements if may_lack else tuple(elements)
    return float(value) if isinstance(value, int) and str(kind) == "float" else value


_SCALAR_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}


def _text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)


def census(case: Case) -> Iterator[dict[str, Any]]:
    for number, sample in enumerate(case.samples()):
        line = {"name": case.name, "number": number, "kind": sample.kind}
        mode = AsProgram(case)
        yield {**line, "outcome": "died"}
        try:
            with torch.no_grad(), mode:
                sample.run(case.entry.op, [each.clone() for each in sample.tensors])
            yield {**line, "outcome": "equal", "used": sorted(mode.used)}
        except MissingError as error:
            yield {**line, "outcome": "missing", "told": str(error)}
            return
        except DifferentError as error:
            yield {**line, "outcome": "different", "told": str(error)[:600]}
        except Exception as error:
            yield {**line, "outcome": "unknown", "told": f"{type(error).__name__}: {error}"[:300]}


def _in_child(case: Case, path: Path) -> None:
    """A kernel may end the process."""
    child = os.fork()
    if child == 0:
        signal.alarm(_LONGEST)  # PyTorch's own eig does not come back from NaN
        try:
            with path.open("a") as file:
                for line in census(case):
                    file.write(json.dumps(line) + "\n")
                    file.flush()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def equal_cases(path: Path) -> set[str]:
    """The cases of a file of results of which every sample was equal."""
    last = _last_outcomes(path)
    return {name for name, _ in last} - {
        name for (name, _), outcome in last.items() if outcome != "equal"
    }


def _done(path: Path, *, again: bool) -> set[str]:
    """The cases that need not be run."""
    return equal_cases(path) if again else {name for name, _ in _last_outcomes(path)}


def _last_outcomes(path: Path) -> dict[tuple[str, int], str]:
    """Those of each sample of each case, of its last run."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = map(json.loads, lines)
    return {(line["name"], line["number"]): line["outcome"] for line in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--dtype", choices=DTYPES, action="append")
    parser.add_argument("--only", action="append", help="this operator; may be repeated")
    parser.add_argument("--again", action="store_true", help="also what was not equal before")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = _done(options.results, again=options.again)
    for case in cases(options.dtype or list(DTYPES)):
        if case.name not in done and (not options.only or case.operator in options.only):
            _in_child(case, options.results)


if __name__ == "__main__":
    main()
