"""Sums, products, means and extremes of elements: short and long runs, rows, and every type."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SHAPES = [(700, 5), (5, 700), (9, 300), (3, 31, 40), (2, 9, 65), (3, 1300), (17, 1), ()]


def dimensions(x: Tensor) -> list[list[int]]:
    """All of a tensor's, each alone, and the first with the last."""
    return [list(range(x.dim())), *([dim] for dim in range(x.dim())), *([[0, -1]] * (x.dim() > 2))]


class Reductions(nn.Module):
    """What combines elements of one tensor; results of another type where there are such."""

    def forward(self, x: Tensor) -> list[Tensor]:
        # PyTorch rounds each product, so that long ones in 16 bits are right by chance.
        factors = x.sign() if x.is_floating_point() and x.dtype.itemsize == 2 else x
        results = [factors.prod()]
        for dims in dimensions(x):
            results += [x.sum(dims), x.amax(dims), x.amin(dims, keepdim=True)]
            if x.is_floating_point():
                results.append(x.mean(dims))
        for dim in range(x.dim()):
            results += [factors.prod(dim), factors.prod(dim, keepdim=True)]
        return results

    def of_other_types(self, x: Tensor) -> list[Tensor]:
        if x.is_floating_point():
            return [
                x.sum(0, dtype=torch.float32),
                x.mean(-1, dtype=torch.bfloat16),
                x.sum(-1, dtype=torch.float16),
                x.sum(dtype=torch.float64),
                x.sum(0, dtype=torch.int32),
                x.prod(-1, dtype=torch.float64),
            ]
        return [
            x.sum(0, dtype=torch.int8),
            x.sum(-1, dtype=torch.int32),
            x.sum(dtype=torch.bool),
            x.sum(-1, dtype=torch.float32),
            x.mean(0, dtype=torch.float64),
            x.prod(0, dtype=torch.bool),
            x.prod(-1, dtype=torch.uint8),
        ]


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Numbers whose products neither vanish nor grow without end, and now and then a NaN."""
    if dtype == torch.bool:
        return torch.rand(shape) < 0.9
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -3, 4, shape).to(dtype)
    x = (1 + 0.02 * torch.randn(shape, dtype=torch.float64)) * torch.randn(shape).sign()
    x[torch.rand(shape) < 0.0005] = torch.nan
    return x.to(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=lambda dtype: str(dtype)[6:])
def test_reductions_are_pytorchs(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    examples = {f"of_{i}": drawn(shape, dtype) for i, shape in enumerate(SHAPES)}
    model = type("Model", (Reductions,), dict.fromkeys(examples, Reductions.forward))()
    methods = {name: ps.Method(name, (x,)) for name, x in examples.items()}
    methods["of_other_types"] = ps.Method("of_other_types", (examples["of_0"],))
    program = ps.export(model, methods, backend="portable", draws=ps.Draws(count=0))
    session = ps.load(program.save(tmp_path / "artifact")).session()
    for name, example in {**examples, "of_other_types": examples["of_0"]}.items():
        x = drawn(example.shape, dtype)
        for found, right in zip(session.run(name, x), getattr(model, name)(x), strict=True):
            close = {"rtol": 2e-2, "atol": 1e-2} if right.dtype.itemsize == 2 else {}
            torch.testing.assert_close(torch.as_tensor(found), right, equal_nan=True, **close)
