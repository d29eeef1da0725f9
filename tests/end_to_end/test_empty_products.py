"""Products that sum nothing are zeros, whatever is in memory."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Products(nn.Module):
    """Of the rows that are kept, which may be none."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(4))

    def kept(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = x[x[:, 0] > 0]
        pair = torch.stack([rows, rows * 2])
        return (
            rows.T @ rows,
            pair.mT @ pair,
            torch.baddbmm(torch.ones(2, 4, 4), pair.mT, pair),
            nn.functional.linear(rows.T, rows.T),
            nn.functional.linear(rows.T, rows.T, self.bias),
            (x @ rows.T).softmax(-1) @ rows,
            rows.T.double() @ rows.double(),
        )

    def rest(self, x: Tensor) -> Tensor:
        """What is left of whole blocks of eight."""
        rows = x[x.shape[0] - x.shape[0] % 8 :]
        return (x @ rows.T).softmax(-1) @ rows

    def whole(self, x: Tensor) -> Tensor:
        return x.T @ x


def test_executorch_has_the_kernel_of_what_is_never_empty() -> None:
    """As it is in its place where a program is bundled."""
    rows = ({0: Dim("rows", min=5, max=40)},)
    for name, namespace in (("kept", "polystate_aten"), ("whole", "polystate_faster")):
        method = ps.Method(name, (torch.randn(20, 4),), dynamic_shapes=rows)
        program = ps.export(Products(), {name: method}, backend="portable")
        called = [each for each in program.manifest.program.operators if each.endswith("::mm.out")]
        assert called == [f"{namespace}::mm.out"]


@every_backend
def test_nothing_is_summed(tmp_path: Path, backend: str) -> None:
    rows = ({0: Dim("rows", min=5, max=40)},)
    x = torch.randn(20, 4)
    methods = {name: ps.Method(name, (x,), dynamic_shapes=rows) for name in ("kept", "rest")}
    twins = Twins(Products(), methods, tmp_path, backend)
    for count in (20, 16, 17):
        x = torch.randn(count, 4)
        for sign in (x.sign(), -1.0):
            twins.call("kept", x.abs() * sign)
        twins.call("rest", x)
