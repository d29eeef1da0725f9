"""An index that the program computes is refused out of range, whatever the operator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import aoti_first
from tests.support.exported_models import exported

SIZE = 5
ONES = torch.ones(2)
USES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index": lambda cache, i: (cache - 0.5)[i],
    "gather": lambda cache, i: cache.gather(0, i),
    "index_select": lambda cache, i: cache.index_select(0, i),
    "embedding": lambda cache, i: nn.functional.embedding(i, cache.reshape(-1, 1)),
    "scatter_add": lambda cache, i: torch.zeros(SIZE).scatter_add(0, i, ONES),
    "of_unknown_size": lambda cache, i: cache[cache > -100][i],
    "branch": lambda cache, i: torch.cond(
        i.sum() > -100, lambda c, i: c[i] * 1, lambda c, i: i.float(), (cache, i)
    ),
    "index_put_": lambda cache, i: cache.index_put_((i,), ONES),
    "index_copy_": lambda cache, i: cache.index_copy_(0, i, ONES),
    "index_add_": lambda cache, i: cache.index_add_(0, i, ONES),
    "scatter_": lambda cache, i: cache.scatter_(0, i, 3.0),
}


class Indexed(nn.Module):
    """Caches of which each is used at twice an index of its own, and the number of calls."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        for name in USES:
            self.register_buffer(f"{name}_cache", torch.arange(1.0, SIZE + 1))

    def forward(self, indices: dict[str, Tensor]) -> list[Tensor]:
        self.calls.add_(1)
        return [
            use(self.get_buffer(f"{name}_cache"), indices[name] * 2) * 2
            for name, use in USES.items()
        ]


class Late(nn.Module):
    """Indices and conditions that are known when a part of the state has been written."""

    table: Tensor
    counts: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(SIZE))
        self.register_buffer("counts", torch.zeros(SIZE))

    def forward(self, i: Tensor, x: Tensor) -> Tensor:
        self.table[i * 2] = x
        self.counts[self.table.sum().long().reshape(1)] += 1
        self.table[1:] = self.table[:-1].clone()
        torch._check(self.counts.sum().item() < 3)
        return torch.cond(
            self.table[0] > -100, lambda t, i: t[i * 3] * 1, lambda t, i: t[i] * 2, (self.table, i)
        )


class All(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.use, self.late = Indexed(), Late()


@aoti_first
def test_an_index_out_of_range_is_an_error_that_leaves_the_state(
    tmp_path: Path, backend: str
) -> None:
    model = All()
    late = (torch.tensor([0]), torch.ones(1))
    methods = {
        "use": ps.Method(model.use, (dict.fromkeys(USES, torch.tensor([0, 1])),)),
        "late": ps.Method(model.late, late),
    }
    artifact = exported(model, methods, backend).save(tmp_path / "artifact")
    session = ps.load(artifact, trust_code=True).session()

    def refuse(name: str, *arguments: Tensor) -> None:
        before = {key: session.state[key] for key in session.state}
        with pytest.raises(ps.Error, match=name):
            session.run(name, *arguments)
        for key, value in before.items():
            assert torch.equal(session.state[key], value), (name, arguments, key)

    right = dict.fromkeys(USES, torch.tensor([2, 1]))
    torch.testing.assert_close([*session.run("use", *right.values())], model.use(right))
    for name, use in USES.items():
        for wrong in ([3, 0], [0, SIZE], [-4, 0]):
            with pytest.raises((IndexError, RuntimeError)):
                use(torch.zeros(SIZE), torch.tensor(wrong) * 2)
            refuse("use", *{**right, name: torch.tensor(wrong)}.values())

    # Of the table, of the counts, of the branch, and the number of counts, which comes last.
    for i, x in ((3, 0.0), (0, 5.0), (2, 1.0)):
        refuse("late", torch.tensor([i]), torch.tensor([x]))
    for _ in range(2):
        expected = model.late(*late)
        torch.testing.assert_close(session.run("late", *late)[0], expected)
        assert torch.equal(session.state["late.table"], model.late.table)
        assert torch.equal(session.state["late.counts"], model.late.counts)
    refuse("late", *late)


class Empty(nn.Module):
    """No rows, which no index reaches."""

    def put(self, rows: Tensor, i: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return rows.index_put((i,), values), rows[i] * 2


@aoti_first
def test_a_tensor_without_rows_is_indexed_by_nothing(tmp_path: Path, backend: str) -> None:
    none = (torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3))
    program = exported(Empty(), {"put": ps.Method("put", none)}, backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    assert [tuple(result.shape) for result in session.run("put", *none)] == [(0, 3), (0, 3)]
