"""What is written into pages: what names places is limited, and no place is written twice."""

from typing import Any

import pytest
import torch
from torch.export import Dim

from polystate.errors import ContractError
from polystate.export.graph.operands import called_operator
from tests.python.export.programs import Refused, trace

ops = torch.ops.polystate

TABLE = torch.tensor([[0, 1], [2, 3], [4, 5]])
ROWS = Dim("rows", min=1, max=3)
PLACED = "every token has a place of its own"
COPIED = "no page is both copied and overwritten, or overwritten by two"


class Cache(torch.nn.Module):
    """Two layers' pools of 12 pages, of which the second layer's are a part of a larger buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(12, 1, 2, 4))
        self.register_buffer("values", torch.zeros(12, 1, 4, 2))
        self.register_buffer("more_keys", torch.zeros(2, 12, 1, 2, 4))
        self.register_buffer("more_values", torch.zeros(2, 12, 1, 4, 2))

    def attend(
        self, x: torch.Tensor, table: torch.Tensor, positions: torch.Tensor, rows: torch.Tensor
    ) -> torch.Tensor:
        for pools in ((self.keys, self.values), (self.more_keys[1], self.more_values[1])):
            states = x[:, None]
            step = (states, states, states, *pools, table, positions, rows)
            x = x + ops.paged_attention(*step, None, None, 1.0, 0.0, 0)[:, 0]
        return x


def written_again(self: Any, x: torch.Tensor, table: torch.Tensor, first: torch.Tensor) -> Any:
    """Every row goes on by two tokens."""
    rows = torch.arange(table.shape[0]).repeat_interleave(2)
    return self.attend(x, table, (first[:, None] + torch.arange(2)).flatten(), rows)


def checks_in(program: Any) -> list[str]:
    operators = [called_operator(node) for node in program.functional.graph.nodes]
    return [str(each) for each in operators if each is not None and "check" in str(each)]


def test_inputs_that_name_places_are_limited_and_checked_once_for_all_layers() -> None:
    def forward(self: Any, x: Any, table: Any, positions: Any, rows: Any) -> Any:
        return self.attend(x, table, positions, rows)

    x, positions, rows = torch.randn(3, 2), torch.tensor([7, 1, 2]), torch.tensor([2, 0, 0])
    tokens = Dim("tokens", min=1, max=8)
    shapes = ({0: tokens}, {0: ROWS}, {0: tokens}, {0: tokens})
    program = trace(forward, (x, TABLE, positions, rows), shapes, model=Cache())
    limits = {i.name: [(r.min, r.max) for r in i.values] for i in program.contract.inputs}
    assert limits == {
        "x": [],
        "table": [(0, 11)],
        "positions": [(0, 7)],
        "rows": [(0, ["+", -1, "rows"])],
    }
    assert [check.text for check in program.contract.checks] == [PLACED]
    assert checks_in(program) == ["polystate.check_places.default"]
    program(x, TABLE, positions, rows)
    with pytest.raises(Refused):
        program(x, TABLE, positions, rows + 1)
    with pytest.raises(ContractError, match="check 0: tokens 1 and 2 both at slot 1 of page 0"):
        program(x, TABLE, torch.tensor([7, 1, 1]), rows)
    assert program.untouched


def test_places_that_the_method_computes_are_checked_before_any_is_written() -> None:
    x, first = torch.randn(6, 2), torch.tensor([0, 6, 3])
    shapes = ({0: 2 * ROWS}, {0: ROWS}, {0: ROWS})
    program = trace(written_again, (x, TABLE, first), shapes, model=Cache())
    assert [(r.min, r.max) for r in program.input("first").values] == [(0, 6)]
    program(x, TABLE, first)
    shared = torch.tensor([[0, 1], [2, 3], [1, 5]])
    with pytest.raises(ContractError, match="tokens 1 and 4 both at slot 0 of page 1"):
        program(x, shared, torch.tensor([3, 6, 0]))
    assert program.untouched


def test_copies_of_pages_are_checked_once_for_all_layers_before_any_is_made() -> None:
    def forward(self: Any, source: Any, target: Any) -> None:
        ops.copy_pages(self.keys, self.values, source, target)
        ops.copy_pages(self.more_keys[1], self.more_values[1], source, target)

    pages = torch.arange(4)
    program = trace(forward, (pages, pages + 4), model=Cache())
    assert [check.text for check in program.contract.checks] == [COPIED]
    assert checks_in(program) == ["polystate.check_page_copies.default"]
    program(pages, pages + 4)
    with pytest.raises(ContractError, match="check 0: page 3 is both a source and a target"):
        program(pages, pages + 3)
    with pytest.raises(ContractError, match="check 0: page 9 is the target of pages 0 and 1"):
        program(pages, torch.full((4,), 9))
    assert program.untouched


def test_lengths_and_pages_of_the_other_operators_are_limited() -> None:
    def forward(self: Any, x: Any, table: Any, lengths: Any, rows: Any, page: Any) -> Any:
        states = x[:, :, None]
        pools = (self.keys, self.values)
        written = ops.write_pages(states, states, *pools, table, lengths)
        copied = ops.copy_pages(*pools, page, page + 6)
        y = ops.cross_attention(states[:, 0], *pools, table, lengths, rows, None, 1.0, 0.0)
        z = ops.attention(states, states, states, lengths, None, None, 1.0, 0.0, 0, False)
        return y, z, written, copied

    lengths, rows, page = (torch.arange(3) for _ in range(3))
    x = torch.randn(3, 5, 2)
    program = trace(forward, (x, TABLE, lengths, rows, page), model=Cache())
    limits = {i.name: {(r.min, r.max) for r in i.values} for i in program.contract.inputs}
    assert limits == {
        "x": set(),
        "table": {(0, 11)},
        "lengths": {(0, 5), (0, 8)},
        "rows": {(0, 2)},
        "page": {(0, 11), (-6, 5)},
    }
