"""Kernels of products of matrices give what PyTorch's do."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import (
    FLOATS,
    INTEGERS,
    ComparedKernels,
    call_kernel,
    compare_samples,
)

aten = torch.ops.aten
# Rows, steps of a sum, columns: few of them and many, whole tiles and parts of them.
SIZES = list(itertools.product((0, 1, 3, 4, 29), (0, 1, 35, 70), (1, 16, 53)))


def test_samples_of_pytorch() -> None:
    names = ["mm", "bmm"]
    counts = compare_samples(names, [torch.float32, torch.float64], tolerance=(1e-4, 1e-3))
    assert counts.keys() >= {"aten.mm.default", "aten.bmm.default"}


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_any_sizes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    # ExecuTorch's kernels of 16 bits round what PyTorch keeps for a while.
    tolerance = (1e-4, 1e-4) if dtype.itemsize > 2 or not dtype.is_floating_point else (5e-2, 0.5)

    def drawn(*shape: int) -> torch.Tensor:
        return (3 * torch.randn(shape)).to(dtype)

    with ComparedKernels(tolerance) as compared:
        for rows, depth, columns in SIZES:
            aten.mm(drawn(rows, depth), drawn(depth, columns))
            aten.bmm(drawn(3, rows, depth), drawn(3, depth, columns))
    assert compared.counts.keys() == {"aten.mm.default", "aten.bmm.default"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_linears(dtype: torch.dtype) -> None:
    """Which a dispatch mode does not see."""
    torch.manual_seed(0)
    for rows, depth, columns in SIZES:
        x, weight = torch.randn(2, rows, depth).to(dtype), torch.randn(columns, depth).to(dtype)
        for bias in (None, torch.randn(columns).to(dtype)):
            expected = torch.nn.functional.linear(x, weight, bias)
            (found,) = call_kernel(aten.linear.default, (x, weight, bias), {}, [expected])
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_nan_and_infinities() -> None:
    torch.manual_seed(0)
    for rows in (2, 9):
        left, right = torch.randn(rows, 40), torch.randn(40, 33)
        left[0, 3], right[7, 5], right[8, 6] = math.nan, math.inf, -math.inf
        with ComparedKernels() as compared:
            aten.mm(left, right)
        assert compared.counts == {"aten.mm.default": 1}


def test_many_rows_and_columns_on_several_threads() -> None:
    torch.manual_seed(0)
    with ComparedKernels((1e-4, 1e-3)) as compared:
        aten.mm(torch.randn(300, 500), torch.randn(500, 700))
        aten.mm(torch.randn(2, 3000), torch.randn(3000, 900))
        aten.bmm(torch.randn(50, 20, 80), torch.randn(50, 80, 40))
    assert sum(compared.counts.values()) == 3


@pytest.mark.parametrize("namespace", ["polystate_aten", "polystate_faster"])
@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("mm", [torch.ones(2, 3), torch.ones(4, 2)], "sizes do not fit"),
        ("mm", [torch.ones(2, 3), torch.ones(3)], "no matrices"),
        ("mm", [torch.ones(2, 3), torch.ones(3, 2).double()], "differ in type"),
        ("bmm", [torch.ones(2, 2, 3), torch.ones(3, 3, 2)], "sizes do not fit"),
        ("linear", [torch.ones(2, 3), torch.ones(2, 4), None], "do not fit each other"),
        ("linear", [torch.ones(2, 3), torch.ones(2, 3), torch.ones(3)], "bias is not"),
    ],
)
def test_what_does_not_fit_is_refused(
    namespace: str, name: str, arguments: list[object], reason: str
) -> None:
    out = torch.zeros(2, 2, 2) if name == "bmm" else torch.zeros(2, 2)
    with pytest.raises(EngineError, match=rf"{name}\.out.*{reason}"):
        _core.call_operator(f"{namespace}::{name}.out", [*arguments, out], 1)
    assert not out.any()


def test_operands_are_read_before_the_result_has_its_sizes() -> None:
    """Also where a program has the same memory for both, whose elements are undefined then."""
    for name, others in (("linear", [torch.ones(1, 2), None]), ("mm", [torch.ones(2, 1)])):
        memory = torch.ones(2, 2)
        call = [memory, *others, memory]
        (shape,) = _core.call_operator(f"polystate_faster::{name}.out", call, 1)
        assert tuple(shape) == (2, 1)
