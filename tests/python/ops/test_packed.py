"""Products with packed float32 weights beside PyTorch's, and the runtime computes the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from polystate.ops.packed import pack_floats, unpack_floats

ops = torch.ops.polystate

SIZES = [(1, 1), (16, 4), (17, 5), (100, 33), (64, 600)]


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(("columns", "depth"), SIZES)
def test_packed_values_are_found_again(columns: int, depth: int) -> None:
    weight = random(columns, depth)
    tiles = pack_floats(weight)
    assert tiles.shape == (-(-columns // 16), depth, 16)
    assert tiles.is_contiguous()
    assert torch.equal(unpack_floats(tiles, columns), weight)


@pytest.mark.parametrize(("columns", "depth"), SIZES)
def test_a_product_is_that_of_pytorch(columns: int, depth: int) -> None:
    weight, bias, x = random(columns, depth), random(columns), random(3, 2, depth)
    addend = random(3, 2, columns)
    found = ops.packed_linear(x, pack_floats(weight), columns, bias, addend, "silu")
    product = nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(found, nn.functional.silu(product) + addend)


def test_what_follows_a_product_must_fit() -> None:
    tiles = pack_floats(random(5, 8))
    for x in (torch.zeros(3, 8), torch.zeros(3, 8, device="meta")):
        for addend in (torch.zeros(1, 5), torch.zeros(3, 5, dtype=torch.float64)):
            with pytest.raises(ValueError, match=r"must be float32 \[3, 5\]"):
                ops.packed_linear(x, tiles, 5, None, addend.to(x.device))
        with pytest.raises(ValueError, match="'gelu'; it may be none, relu, silu"):
            ops.packed_linear(x, tiles, 5, None, None, "gelu")


def test_ids_must_be_of_the_table() -> None:
    tiles = pack_floats(random(5, 8))
    assert ops.packed_embedding(torch.zeros(0, dtype=torch.int64), tiles, 5).shape == (0, 8)
    for wrong in (-1, 5):
        with pytest.raises(IndexError, match="between 0 and 4"):
            ops.packed_embedding(torch.tensor([0, wrong]), tiles, 5)


class Products(nn.Module):
    """Both operators over one table."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("tiles", pack_floats(random(37, 22)))
        self.register_buffer("bias", random(37))

    def multiply(self, x: Tensor) -> Tensor:
        result: Tensor = ops.packed_linear(x, self.tiles, 37, self.bias)
        return result

    def look_up(self, ids: Tensor) -> Tensor:
        result: Tensor = ops.packed_embedding(ids, self.tiles, 37)
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
        x = random(count, 3, 22)
        torch.testing.assert_close(session.run("multiply", x)[0], model.multiply(x))
        ids = torch.randint(0, 37, (count, 3), generator=torch.Generator().manual_seed(count))
        assert torch.equal(session.run("look_up", ids)[0], model.look_up(ids))
