"""An extended Kalman filter over a batch is a program whose state follows the same in float64."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.support.examples import example

EXAMPLE = example("kalman_filter")


def measurements(steps: int) -> Tensor:
    """Measure what moves as the filter thinks, each track a bit beside it; [steps, tracks, 2]."""
    torch.manual_seed(0)
    times = 0.1 * torch.arange(1, steps + 1)[:, None]
    x, y = 3.0 + 0.5 * times, 4.0 - 0.25 * times
    exact = torch.stack([(x * x + y * y).sqrt(), torch.atan2(y, x)], -1)
    exact = exact.expand(-1, EXAMPLE.TRACKS, -1)
    return exact + 0.05 * torch.randn(steps, EXAMPLE.TRACKS, 2)


@pytest.mark.parametrize("backend", ["portable", "aoti"])
def test_a_kalman_filter_s_state_is_that_of_the_same_in_float64(
    backend: str, tmp_path: Path
) -> None:
    program = ps.export(*EXAMPLE.program(), backend=backend, draws=ps.Draws(count=4))
    program.save(tmp_path / "filter")
    session = ps.load(tmp_path / "filter", trust_code=backend == "aoti").session()
    exact = EXAMPLE.Tracks(torch.float64)
    for measured in measurements(30):
        likelihood, certainty = session.run("update", measured.numpy())
        right = exact.update(measured.double())
        assert_near(likelihood, right[0], atol=1e-3)
        assert_near(certainty, right[1])
        assert_near(session.state["mean"], exact.mean, atol=1e-5)
        assert_near(session.state["covariance"], exact.covariance, atol=1e-5)


def assert_near(found: object, exact: Tensor, atol: float = 0.0) -> None:
    torch.testing.assert_close(torch.as_tensor(found).double(), exact, rtol=1e-3, atol=atol)


class Whitening(nn.Module):
    """Counts the covariances that it has factored."""

    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, covariance: Tensor) -> tuple[Tensor, Tensor]:
        self.count.add_(1)
        return torch.linalg.cholesky(covariance), self.count.clone()


def positive(generator: torch.Generator, args: tuple[Tensor], kwargs: dict[str, Tensor]) -> object:
    return (args[0] @ args[0].mT + torch.eye(3),), kwargs


@pytest.mark.parametrize("backend", ["portable", "aoti"])
def test_a_matrix_that_is_not_positive_definite_is_refused_before_the_state_changes(
    backend: str, tmp_path: Path
) -> None:
    method = ps.Method("forward", (torch.eye(3),), draw=positive)
    ps.export(Whitening(), {"factor": method}, backend=backend, draws=ps.Draws(count=4)).save(
        tmp_path / "whitening"
    )
    session = ps.load(tmp_path / "whitening", trust_code=backend == "aoti").session()
    session.run("factor", torch.eye(3).numpy())
    with pytest.raises(ps.Error, match="not positive-definite"):
        session.run("factor", (-torch.eye(3)).numpy())
    _, count = session.run("factor", torch.eye(3).numpy())
    assert count == 2
