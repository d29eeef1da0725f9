"""Products with int8 weights beside torchao's, and the runtime computes the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerAxis

import polystate as ps
from polystate.ops.quantized import pack, unpack

ops = torch.ops.polystate

SIZES = [(1, 2), (16, 4), (17, 5), (100, 33), (64, 600), (7, 1100)]


def weights(columns: int, depth: int) -> Tensor:
    return torch.randn(columns, depth, generator=torch.Generator().manual_seed(columns + depth))


@pytest.mark.parametrize(("columns", "depth"), SIZES)
def test_packed_values_are_found_again(columns: int, depth: int) -> None:
    weight = weights(columns, depth)
    packed = pack(weight)
    values = unpack(packed.tiles, columns, depth)
    step = weight.abs().amax(1, keepdim=True) / 127
    assert ((values * packed.scales[:, None] - weight).abs() <= 0.5001 * step).all()
    assert values.abs().amax() <= 127
    assert torch.equal(packed.sums, values.sum(1, dtype=torch.int32))


@pytest.mark.parametrize(("columns", "depth"), SIZES)
def test_a_product_is_as_near_as_that_of_torchao(columns: int, depth: int) -> None:
    linear = nn.Linear(depth, columns).requires_grad_(False)
    linear.weight.copy_(weights(columns, depth))
    x = torch.randn(40, 2, depth, generator=torch.Generator().manual_seed(1))
    found, exact = ops.quantized_linear(x, *pack(linear.weight), linear.bias), linear(x)
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    )
    quantize_(linear, config)
    error, theirs = ((y - exact).square().mean().sqrt() for y in (found, linear(x)))
    assert 0 < error < 1.2 * theirs


def test_what_follows_a_product_must_fit() -> None:
    packed = pack(weights(5, 8))
    for x in (torch.zeros(3, 8), torch.zeros(3, 8, device="meta")):
        for addend in (torch.zeros(1, 5), torch.zeros(3, 5, dtype=torch.float64)):
            with pytest.raises(ValueError, match=r"must be float32 \[3, 5\]"):
                ops.quantized_linear(x, *packed, None, addend.to(x.device))
        with pytest.raises(ValueError, match="'gelu'; it may be none, relu, silu"):
            ops.quantized_linear(x, *packed, None, None, "gelu")


def test_rows_of_zeros_and_without_end() -> None:
    packed = pack(weights(5, 8))
    x = torch.zeros(3, 8)
    x[1, 2], x[2, 3] = torch.nan, torch.inf
    found = ops.quantized_linear(x, *packed, torch.arange(5.0))
    assert torch.equal(found[0], torch.arange(5.0))
    assert found[1:].isnan().all()


class Products(nn.Module):
    """Both operators over one table."""

    def __init__(self) -> None:
        super().__init__()
        packed = pack(weights(37, 22))
        for name, value in packed._asdict().items():
            self.register_buffer(name, value)
        self.register_buffer("bias", torch.randn(37, generator=torch.Generator().manual_seed(2)))

    def multiply(self, x: Tensor) -> Tensor:
        result: Tensor = ops.quantized_linear(x, self.tiles, self.scales, self.sums, self.bias)
        return result

    def look_up(self, ids: Tensor) -> Tensor:
        result: Tensor = ops.quantized_embedding(ids, self.tiles, self.scales, 22)
        return result


def test_the_runtime_computes_the_same(tmp_path: Path) -> None:
    model = Products()
    rows = Dim("rows", min=1, max=9)
    methods = {
        "multiply": ps.Method("multiply", (torch.zeros(2, 3, 22),), dynamic_shapes=({0: rows},)),
        "look_up": ps.Method("look_up", (torch.zeros(2, 3).long(),), dynamic_shapes=({0: rows},)),
    }
    path = ps.export(model, methods, backend="portable").save(tmp_path / "artifact")
    session = ps.load(path).session()
    for count in (1, 4, 9):
        x = torch.randn(count, 3, 22, generator=torch.Generator().manual_seed(count))
        torch.testing.assert_close(
            session.run("multiply", x)[0], model.multiply(x), rtol=1e-6, atol=1e-6
        )
        ids = torch.randint(0, 37, (count, 3), generator=torch.Generator().manual_seed(count))
        assert torch.equal(session.run("look_up", ids)[0], model.look_up(ids))
