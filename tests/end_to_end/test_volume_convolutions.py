"""Convolutions of volumes, on every backend, equal PyTorch's."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import every_backend

BATCH = torch.export.Dim("batch", min=1, max=4)
DEPTH = torch.export.Dim("depth", min=4, max=9)


class Volumes(nn.Module):
    """Kernels, strides, paddings and groups of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Conv3d(4, 6, 3, padding=1)
        self.grouped = nn.Conv3d(4, 6, (2, 3, 1), (2, 1, 2), (1, 0, 2), (2, 1, 1), groups=2)
        self.same = nn.Conv3d(4, 4, (4, 2, 3), padding="same", groups=4, bias=False)
        self.up = nn.ConvTranspose3d(4, 6, (3, 2, 3), (2, 2, 1), (1, 0, 1), (1, 1, 0), groups=2)
        self.wide = nn.ConvTranspose3d(4, 2, (2, 1, 3), padding=(2, 0, 0), dilation=(1, 1, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(layer(x) for layer in self.children())

    def single(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.plain(x), self.up(x)


@every_backend
def test_sizes_that_vary(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    model = Volumes().eval()
    forward = ps.Method(
        "forward", (torch.randn(2, 4, 5, 7, 6),), dynamic_shapes=({0: BATCH, 2: DEPTH},)
    )
    single = ps.Method("single", (torch.randn(4, 5, 3, 4),))
    program = ps.export(model, {"forward": forward, "single": single}, backend=backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    calls = [("forward", torch.randn(n, 4, d, 7, 6)) for n, d in ((1, 4), (4, 9), (3, 7))]
    for method, x in (*calls, ("single", torch.randn(4, 5, 3, 4))):
        right = getattr(model, method)(x)
        for found, expected in zip(session.run(method, x), right, strict=True):
            torch.testing.assert_close(torch.as_tensor(found), expected, rtol=1e-4, atol=1e-4)
