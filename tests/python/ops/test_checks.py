"""The operators that fail a call: what they mean, and that no pass of the export drops them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

import polystate.ops  # noqa: F401
from polystate.errors import ContractError

ops = torch.ops.polystate


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float16, torch.float32])
def test_check_range_returns_a_copy_when_every_value_is_inside(dtype: torch.dtype) -> None:
    x = torch.ones(2, 3)
    result = ops.check_range(x, torch.tensor([1, 5], dtype=dtype), 1, 5, 0)
    assert torch.equal(result, x)
    assert result.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("value", [0, 6, float("nan"), float("inf")])
def test_check_range_names_the_first_value_outside(value: float) -> None:
    values = torch.tensor([2.0, value, -7.0])
    with pytest.raises(ContractError, match=f"check 3: {float(value)} is not between 1 and 5"):
        ops.check_range(torch.ones(1), values, 1, 5, 3)


def test_check_needs_every_condition() -> None:
    assert torch.equal(ops.check(torch.ones(2), torch.tensor([True, True]), 0), torch.ones(2))
    with pytest.raises(ContractError, match="check 4"):
        ops.check(torch.ones(2), torch.tensor([True, False]), 4)


def test_checks_of_nothing_hold() -> None:
    assert ops.check(torch.ones(1), torch.ones(0, dtype=torch.bool), 0).item() == 1
    assert ops.check_range(torch.ones(1), torch.ones(0), 2, 1, 0).item() == 1


def test_check_size_takes_both_limits() -> None:
    for size in (2, 4):
        assert ops.check_size(torch.ones(1), size, 2, 4, 0).item() == 1
    for size in (1, 5):
        with pytest.raises(ContractError, match=f"check 0: {size} is not between 2 and 4"):
            ops.check_size(torch.ones(1), size, 2, 4, 0)


def test_check_places_names_the_first_token_without_a_place_of_its_own() -> None:
    table, rows = torch.tensor([[0, 1], [2, 0]]), torch.tensor([0, 1, 1])
    assert ops.check_places(torch.ones(1), table, torch.tensor([0, 0, 1]), rows, 4, 0).item() == 1
    for positions, message in (
        ([2, 6, 9], "tokens 0 and 1 both at slot 2 of page 0"),
        ([2, 5, 5], "tokens 1 and 2 both at slot 1 of page 0"),
        ([2, 8, 6], "token 1 at position 8, which is not between 0 and 7"),
    ):
        with pytest.raises(ContractError, match=f"check 5: {message}"):
            ops.check_places(torch.ones(1), table, torch.tensor(positions), rows, 4, 5)


def test_check_page_copies_names_the_first_page_that_cannot_be_copied() -> None:
    source = torch.tensor([4, 1, 4, 1])
    for target in ([0, 2, 3, 5], [0, 2, 3, 2]):
        assert ops.check_page_copies(torch.ones(1), source, torch.tensor(target), 0).item() == 1
    for target, message in (
        ([0, 2, 2, 4], "page 2 is the target of pages 1 and 4"),
        ([0, 4, 0, 0], "page 4 is both a source and a target"),
        ([0, 2, 3, 1], "page 1 is both a source and a target"),
    ):
        with pytest.raises(ContractError, match=f"check 5: {message}"):
            ops.check_page_copies(torch.ones(1), source, torch.tensor(target), 5)


@pytest.mark.parametrize(
    "write",
    [
        lambda out: ops.check_range.out(torch.ones(2), torch.tensor(1), 0, 1, 0, out=out),
        lambda out: ops.check.out(torch.ones(2), torch.tensor(True), 0, out=out),
        lambda out: ops.check_size.out(torch.ones(2), 1, 0, 1, 0, out=out),
        lambda out: ops.check_places.out(
            *(torch.ones(2), torch.ones(1, 1, dtype=torch.int64), torch.tensor([0])),
            *(torch.tensor([0]), 1, 0),
            out=out,
        ),
        lambda out: ops.check_page_copies.out(
            torch.ones(2), torch.tensor([0]), torch.tensor([1]), 0, out=out
        ),
    ],
)
def test_out_forms_fill_out(write: Callable[[torch.Tensor], torch.Tensor]) -> None:
    out = torch.zeros(2)
    write(out)
    assert torch.equal(out, torch.ones(2))


class Checked(torch.nn.Module):
    """Every check once, around what XNNPACK takes and around constants."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("limit", torch.tensor([1, 2]))

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        y = ops.check_range(self.linear(x), k, 0, 3, 0)
        y = ops.check(y, (x < 10).all(), 1)
        y = ops.check_size(y, x.shape[0], 1, 8, 2)
        return ops.check_range(self.linear(y), self.limit, 0, 3, 3)


def test_checks_survive_decomposition_lowering_and_emission() -> None:
    example = (torch.ones(2, 4), torch.tensor(1))
    dynamic = ({0: torch.export.Dim("rows", max=8)}, None)
    exported = torch.export.export(Checked(), example, dynamic_shapes=dynamic)
    lowered = to_edge_transform_and_lower(
        {"forward": exported.run_decompositions({})}, partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    plan = lowered.executorch_program.execution_plan[0]
    called = [
        plan.operators[instruction.instr_args.op_index].name
        for instruction in plan.chains[0].instructions
        if hasattr(instruction.instr_args, "op_index")
    ]
    assert called.count("polystate::check_range") == 2
    assert called.count("polystate::check") == 1
    assert called.count("polystate::check_size") == 1
    assert [delegate.id for delegate in plan.delegates] == ["XnnpackBackend"] * 2
