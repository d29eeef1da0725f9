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


class Indexed(nn.Module):
    cache: Tensor
    calls: Tensor

    def __init__(self, use: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.use = use
        self.register_buffer("cache", torch.arange(1.0, SIZE + 1))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, i: Tensor) -> Tensor:
        self.calls.add_(1)
        return self.use(self.cache, i * 2)


def written(write: Callable[[Tensor, Tensor], object]) -> Callable[[Tensor, Tensor], Tensor]:
    def use(cache: Tensor, i: Tensor) -> Tensor:
        write(cache, i)
        return cache * 2

    return use


ONES = torch.ones(2)
USES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index": lambda cache, i: (cache - 0.5)[i],
    "gather": lambda cache, i: cache.gather(0, i),
    "index_select": lambda cache, i: cache.index_select(0, i),
    "embedding": lambda cache, i: nn.functional.embedding(i, cache.reshape(-1, 1)),
    "scatter_add": lambda cache, i: torch.zeros(SIZE).scatter_add(0, i, ONES),
    "branch": lambda cache, i: torch.cond(
        i.sum() > -100, lambda c, i: c[i] * 1, lambda c, i: i.float(), (cache, i)
    ),
    "index_put_": written(lambda cache, i: cache.index_put_((i,), ONES)),
    "index_copy_": written(lambda cache, i: cache.index_copy_(0, i, ONES)),
    "index_add_": written(lambda cache, i: cache.index_add_(0, i, ONES)),
    "scatter_": written(lambda cache, i: cache.scatter_(0, i, 3.0)),
}


@aoti_first
def test_an_index_out_of_range_is_an_error_that_leaves_the_state(
    tmp_path: Path, backend: str
) -> None:
    class All(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleDict({name: Indexed(use) for name, use in USES.items()})

    model = All()
    example = (torch.tensor([0, 1]),)
    methods = {name: ps.Method(part, example) for name, part in model.parts.items()}
    artifact = exported(model, methods, backend).save(tmp_path / "artifact")
    session = ps.load(artifact, trust_code=True).session()
    for name, part in model.parts.items():
        expected = part(torch.tensor([2, 1]))
        torch.testing.assert_close(session.run(name, torch.tensor([2, 1]))[0], expected)
        before = {key: session.state[key] for key in session.state}
        for wrong in ([3, 0], [0, SIZE], [-4, 0]):
            with pytest.raises((IndexError, RuntimeError)):
                part(torch.tensor(wrong))
            with pytest.raises(ps.Error):
                session.run(name, torch.tensor(wrong))
            for key, value in before.items():
                assert torch.equal(session.state[key], value), (name, wrong, key)
