"""Functions that ask for values in eager PyTorch are programs, which give what it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

ROWS, COLUMNS = 6, 4


class Functions(nn.Module):
    def covariances(self, x: Tensor, counts: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        return (
            torch.cov(x),
            torch.cov(x[0]),
            x.cov(correction=0),
            torch.cov(x, correction=COLUMNS + 1),  # of too few observations
            torch.cov(x, fweights=counts),
            torch.cov(x, aweights=weights),
            torch.cov(x, fweights=counts, aweights=weights, correction=2),
            torch.cov(counts.reshape(2, -1)),
            torch.corrcoef(x),
            torch.corrcoef(x[:1]),
        )

    def least_squares(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return (
            torch.linalg.lstsq(x, y).solution,
            torch.linalg.lstsq(x.mT, y[: x.shape[1]]).solution,
            torch.linalg.lstsq(x, y[:, 0], rcond=1e-3)[0],
            *torch.linalg.lstsq(torch.stack([x, x + 1]), y.mT.contiguous()),
            *torch.linalg.lstsq(x, y, driver="gels")[:2],
            *torch.linalg.lstsq(x, y, driver="gelsd"),
            torch.linalg.lstsq(torch.stack([x, x + 1]), torch.stack([y, y * 2])).rank,
            *torch.linalg.lstsq(x[:0], y[:0], driver="gelsd"),
            *torch.linalg.lstsq(x[:, :0], y)[:3],
        )

    def lists(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = list(x.clone())
        torch._foreach_mul_(rows, 2.0)
        torch._foreach_lerp_(rows, list(x), 0.25)
        added = torch._foreach_add(rows, [x[0]] * len(rows), alpha=3)
        pairs = torch.combinations(x[0], 2)
        return *rows, *added, pairs, torch.combinations(x[0], 3, with_replacement=True)

    def comparisons(self, x: Tensor, y: Tensor) -> tuple[bool, ...]:
        return torch.equal(x, y), torch.allclose(x, y, atol=0.1), x.equal(x[:1])


def _not_negative(generator: torch.Generator, args: Any, kwargs: Any) -> Any:
    x, counts, weights = args
    drawn = torch.randint(1, 5, counts.shape, generator=generator)
    return (x, drawn, weights.abs() + 0.1), kwargs


@pytest.mark.filterwarnings("ignore:cov.*degrees of freedom:UserWarning")
@every_backend
def test_values_are_pytorchs(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(ROWS, COLUMNS), torch.randn(ROWS, 2)
    counts, weights = torch.tensor([1, 2, 0, 3]), torch.rand(COLUMNS)
    methods = {
        "covariances": ps.Method("covariances", (x, counts, weights), draw=_not_negative),
        "least_squares": ps.Method("least_squares", (x, y)),
        "lists": ps.Method("lists", (x,)),
        "comparisons": ps.Method("comparisons", (x, x + 0.05)),
    }
    twins = Twins(Functions(), methods, tmp_path, backend)
    twins.call("covariances", x * 3, counts + 1, weights)
    twins.call("least_squares", x - 1, y)
    for other in (x, x + 0.05, x + 1):
        found = twins.session.run("comparisons", x, other)
        assert [bool(each) for each in found] == list(Functions().comparisons(x, other))
    with pytest.raises(ps.Error, match="value -1 at"):
        twins.session.run("covariances", x, -counts, weights)


def test_matrices_without_full_rank_are_refused_by_gels(tmp_path: Path) -> None:
    class Solved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.linalg.lstsq(x, x[:, :1], driver="gels").solution

    x = torch.randn(ROWS, COLUMNS)
    program = ps.export(Solved(), {"forward": ps.Method("forward", (x,))}, backend="portable")
    session = ps.load(program.save(tmp_path / "artifact")).session()
    x[:, 1] = 0
    with pytest.raises(ps.Error, match="full rank"):
        session.run("forward", x)


@every_backend
def test_a_right_side_of_more_matrices_is_solved(tmp_path: Path, backend: str) -> None:
    class Solved(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            found = torch.linalg.lstsq(x, y)
            return found.solution.sin(), found.rank

    x, y = torch.randn(1, ROWS, COLUMNS), torch.randn(3, ROWS, 2)
    twins = Twins(Solved(), {"forward": ps.Method("forward", (x, y))}, tmp_path, backend)
    twins.call("forward", x - 1, y * 2)


def test_drivers_of_the_operator_itself_are_refused_but_for_the_usual_one() -> None:
    class Solved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            solution: Tensor = torch.ops.aten.linalg_lstsq(x, x[:, :1], driver="gelsd")[0]
            return solution

    with pytest.raises(ps.Error, match="linalg_lstsq"):
        ps.export(Solved(), {"forward": ps.Method("forward", (torch.randn(ROWS, COLUMNS),))})


def test_other_forms_of_a_call_are_pytorchs() -> None:
    class Forms(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            filled = torch.empty(4, 8)
            torch.kron(x, torch.ones(1, 2), out=filled)
            return filled, torch.kron(x1=x, x2=x), *torch.chunk(x, 2, axis=1)

    ps.export(Forms(), {"forward": ps.Method("forward", (torch.randn(4, 4),))}, backend="portable")
