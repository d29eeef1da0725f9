"""Products with int8 weights in groups: as near as torchao's, and the runtime computes the same."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup

import polystate as ps
from polystate.ops.groupwise import GROUP, pack, steps, unpack_groups

ops = torch.ops.polystate

SIZES = [(1, 2), (16, 4), (17, 5), (100, 33), (64, 600), (7, 1100)]


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(("columns", "depth"), SIZES)
def test_packed_values_are_found_again(columns: int, depth: int) -> None:
    weight = drawn(columns, depth)
    packed = pack(weight)
    found = unpack_groups(*packed, columns, depth)
    # Half a step, which is a part of a thousand longer where its length has no float16.
    assert ((found - weight).abs() <= 0.501 * steps(weight)).all()
    assert packed.tiles.abs().amax() <= 127


def test_weights_are_those_of_ggufs_q8_0() -> None:
    weight = drawn(48, 96)
    theirs = gguf.dequantize(
        gguf.quantize(weight.numpy(), gguf.GGMLQuantizationType.Q8_0),
        gguf.GGMLQuantizationType.Q8_0,
    )
    found = unpack_groups(*pack(weight), 48, 96).numpy()
    step = steps(weight).numpy()
    assert np.abs(found - theirs).max() <= 1.01 * step.max()
    assert (
        np.square(found - weight.numpy()).mean() < 1.02 * np.square(theirs - weight.numpy()).mean()
    )


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 1e3, 8e6])
def test_scales_cover_what_float16_does(scale: float) -> None:
    weight = drawn(4, 64) / drawn(4, 64).abs().max() * scale
    found = unpack_groups(*pack(weight), 4, 64)
    smallest_step = torch.finfo(torch.float16).smallest_normal / 1024
    assert ((found - weight).abs() <= 0.51 * steps(weight).clamp(min=smallest_step)).all()


def test_weights_beyond_it_are_refused() -> None:
    with pytest.raises(ps.UnsupportedError, match=r"a weight is 1e\+07; it may be 8\.319e\+06"):
        pack(torch.full((2, 40), 1e7))


@pytest.mark.parametrize(("columns", "depth"), [(16, 32), (100, 64), (64, 608)])
def test_a_product_is_as_near_as_that_of_torchao(columns: int, depth: int) -> None:
    linear = nn.Linear(depth, columns).requires_grad_(False)
    linear.weight.copy_(drawn(columns, depth))
    x = drawn(40, 2, depth)
    found, exact = ops.groupwise_linear(x, *pack(linear.weight), columns, linear.bias), linear(x)
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerGroup(GROUP)
    )
    quantize_(linear, config)
    error, theirs = ((y - exact).square().mean().sqrt() for y in (found, linear(x)))
    assert 0 < error < 1.1 * theirs


def test_what_follows_a_product_must_fit() -> None:
    packed = pack(drawn(5, 8))
    for x in (torch.zeros(3, 8), torch.zeros(3, 8, device="meta")):
        for addend in (torch.zeros(1, 5), torch.zeros(3, 5, dtype=torch.float64)):
            with pytest.raises(ValueError, match=r"must be float32 \[3, 5\]"):
                ops.groupwise_linear(x, *packed, 5, None, addend.to(x.device))


def test_rows_of_zeros_and_without_end() -> None:
    packed = pack(drawn(5, 40))
    x = torch.zeros(3, 40)
    x[1, 2], x[2, 39] = torch.nan, torch.inf
    found = ops.groupwise_linear(x, *packed, 5, torch.arange(5.0))
    assert torch.equal(found[0], torch.arange(5.0))
    assert found[1:].isnan().all()


class Products(nn.Module):
    """Both operators over one table."""

    def __init__(self) -> None:
        super().__init__()
        for name, value in pack(drawn(37, 45))._asdict().items():
            self.register_buffer(name, value)
        self.register_buffer("bias", drawn(37))

    def multiply(self, x: Tensor) -> Tensor:
        result: Tensor = ops.groupwise_linear(x, self.tiles, self.scales, 37, self.bias)
        return result

    def look_up(self, ids: Tensor) -> Tensor:
        result: Tensor = ops.groupwise_embedding(ids, self.tiles, self.scales, 37, 45)
        return result


def test_the_runtime_computes_the_same(tmp_path: Path) -> None:
    model = Products()
    rows = Dim("rows", min=1, max=9)
    methods = {
        "multiply": ps.Method("multiply", (torch.zeros(2, 3, 45),), dynamic_shapes=({0: rows},)),
        "look_up": ps.Method("look_up", (torch.zeros(2, 3).long(),), dynamic_shapes=({0: rows},)),
    }
    path = ps.export(model, methods, backend="portable").save(tmp_path / "artifact")
    session = ps.load(path).session()
    for count in (1, 4, 9):
        x = drawn(count, 3, 45)
        torch.testing.assert_close(
            session.run("multiply", x)[0], model.multiply(x), rtol=1e-5, atol=1e-5
        )
        ids = torch.randint(0, 37, (count, 3), generator=torch.Generator().manual_seed(count))
        assert torch.equal(session.run("look_up", ids)[0], model.look_up(ids))
    with pytest.raises(ps.ContractError):
        session.run("look_up", torch.full((1, 3), 37))
