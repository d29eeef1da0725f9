"""An extended Kalman filter over a batch of tracks. Usage: export.py ARTIFACT"""

import sys

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

    def update(self, measured: Tensor) -> tuple[Tensor, Tensor]:
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


def program() -> tuple[nn.Module, dict[str, ps.Method]]:
    example = torch.tensor([[5.0, 0.9]]).repeat(TRACKS, 1)
    return Tracks(), {"update": ps.Method("update", (example,))}


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])
