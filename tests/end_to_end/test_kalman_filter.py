"""An extended Kalman filter over a batch is a program whose state follows the same in float64."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps

TRACKS = 5


class Tracks(nn.Module):
    """Positions and velocities in a plane, of which distances and bearings are measured."""

    mean: Tensor  # [tracks, 4]
    covariance: Tensor  # [tracks, 4, 4]

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        start = torch.tensor([[3.0, 4.0, 0.5, -0.25]], dtype=dtype).repeat(TRACKS, 1)
        self.register_buffer("mean", start)
        self.register_buffer("covariance", torch.eye(4, dtype=dtype).repeat(TRACKS, 1, 1))
        motion = torch.eye(4, dtype=dtype)
        motion[0, 2] = motion[1, 3] = 0.1
        self.register_buffer("motion", motion)
        self.register_buffer("drift", 1e-3 * torch.eye(4, dtype=dtype))
        self.register_buffer("noise", torch.diag(torch.tensor([0.05, 0.01], dtype=dtype)))

    def forward(self, measured: Tensor) -> tuple[Tensor, Tensor]:
        """Take measurements [tracks, 2]; return their log-likelihoods, and how sure they are."""
        mean = self.mean @ self.motion.mT
        covariance = self.motion @ self.covariance @ self.motion.mT + self.drift
        x, y = mean[:, 0], mean[:, 1]
        distance = (x * x + y * y).sqrt()
        none = torch.zeros_like(x)
        slopes = torch.stack(
            [
                torch.stack([x / distance, y / distance, none, none], -1),
                torch.stack([-y / distance**2, x / distance**2, none, none], -1),
            ],
            -2,
        )
        turned = measured[:, 1] - torch.atan2(y, x)
        turned = torch.atan2(turned.sin(), turned.cos())
        error = torch.stack([measured[:, 0] - distance, turned], -1)
        spread = slopes @ covariance @ slopes.mT + self.noise
        factor = torch.linalg.cholesky(spread)
        gain = torch.linalg.solve(spread, slopes @ covariance).mT
        kept = torch.eye(4, dtype=mean.dtype) - gain @ slopes
        self.mean.copy_(mean + (gain @ error.unsqueeze(-1)).squeeze(-1))
        self.covariance.copy_(kept @ covariance @ kept.mT + gain @ self.noise @ gain.mT)
        white = torch.linalg.solve_triangular(factor, error.unsqueeze(-1), upper=False)
        halves = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        certainty = torch.linalg.inv(spread).diagonal(dim1=-2, dim2=-1).sum(-1)
        return -0.5 * white.square().sum((-2, -1)) - halves, certainty


def measurements(steps: int) -> Tensor:
    """Measure what moves as the filter thinks, each track a bit beside it; [steps, tracks, 2]."""
    torch.manual_seed(0)
    times = 0.1 * torch.arange(1, steps + 1)[:, None]
    x, y = 3.0 + 0.5 * times, 4.0 - 0.25 * times
    exact = torch.stack([(x * x + y * y).sqrt(), torch.atan2(y, x)], -1).expand(-1, TRACKS, -1)
    return exact + 0.05 * torch.randn(steps, TRACKS, 2)


@pytest.mark.parametrize("backend", ["portable", "aoti"])
def test_a_kalman_filter_s_state_is_that_of_the_same_in_float64(
    backend: str, tmp_path: Path
) -> None:
    example = torch.tensor([[5.0, 0.9]]).repeat(TRACKS, 1)
    program = ps.export(
        Tracks(),
        {"update": ps.Method("forward", (example,))},
        backend=backend,
        draws=ps.Draws(count=4),
    )
    program.save(tmp_path / "filter")
    session = ps.load(tmp_path / "filter", trust_code=backend == "aoti").session()
    exact = Tracks(torch.float64)
    for measured in measurements(30):
        likelihood, certainty = session.run("update", measured.numpy())
        right = exact(measured.double())
        torch.testing.assert_close(
            torch.as_tensor(likelihood).double(), right[0], rtol=1e-3, atol=1e-3
        )
        torch.testing.assert_close(torch.as_tensor(certainty).double(), right[1], rtol=1e-3, atol=0)


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
