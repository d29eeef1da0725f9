"""An operator's arguments are the same in Python, on ExecuTorch and on AOTInductor."""

from __future__ import annotations

import subprocess
import sys

import torch

import polystate.ops  # noqa: F401  (registers the operators)
from polystate import _core
from polystate.export.lowering.inductor import _OPERATORS
from polystate.export.lowering.kernels import own_kernels
from polystate.export.lowering.replaced_kernels import kernel_name

LISTED = sorted(_core.executorch_operators())

# The namespaces of kernels that take the places of ExecuTorch's.
REPLACING = ("polystate_aten", "polystate_faster")


def registered() -> dict[str, torch._ops.OpOverload]:
    """The operators of ours by their names: ``copy_pages.out``, ``index_put_``."""
    found = {}
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        if namespace == "polystate":
            packet, _, overload = rest.partition(".")
            found[rest] = getattr(getattr(torch.ops.polystate, packet), overload or "default")
    return found


def test_the_runtime_has_the_schemas_that_are_registered() -> None:
    given = {n: operator for n, operator in registered().items() if n.endswith((".out", "_"))}
    ours = [schema for schema in LISTED if schema.startswith("polystate::")]
    assert ours == sorted(str(o._schema) for o in given.values())


def test_operators_of_pytorch_have_its_schemas() -> None:
    for schema in LISTED:
        namespace, _, rest = schema.partition("(")[0].partition("::")
        if namespace in ("aten", *REPLACING):
            packet, _, overload = rest.partition(".")
            operator = getattr(getattr(torch.ops.aten, packet), overload)
            assert schema == str(operator._schema).replace("aten::", f"{namespace}::")


def test_an_operator_of_pytorch_with_a_kernel_is_lowered_to_it() -> None:
    names = {s.partition("(")[0] for s in LISTED if not s.startswith("polystate::")}
    called = {kernel_name(operator) for operator in own_kernels()}
    # These have two names.
    others = {f"polystate_aten::{name}.out" for name in ("bmm", "convolution", "linear", "mm")}
    assert called <= names <= called | others


def test_a_name_that_executorch_has_is_in_a_namespace_of_ours() -> None:
    # In a process that does not have our kernels.
    program = (
        "from executorch.extension.pybindings import portable_lib\n"
        "print(*portable_lib._get_operator_names())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    of_executorch = set(told.stdout.split())
    names = {schema.partition("(")[0] for schema in LISTED}
    replaced = {name for name in names if name.partition("::")[0] in REPLACING}
    assert not names & of_executorch
    assert {f"aten::{name.partition('::')[2]}" for name in replaced} <= of_executorch


def test_a_form_that_fills_a_result_has_the_arguments_of_the_one_that_returns_it() -> None:
    operators = registered()
    for name, operator in operators.items():
        if name.endswith(".out"):
            *arguments, _ = ((a.name, str(a.type)) for a in operator._schema.arguments)
            returning = operators[name.removesuffix(".out")]._schema.arguments
            assert arguments == [(a.name, str(a.type)) for a in returning]


def test_aotinductor_calls_all_operators_that_do_not_work_in_place() -> None:
    returning = {o for name, o in registered().items() if not name.endswith((".out", "_"))}
    assert set(_OPERATORS) == returning
