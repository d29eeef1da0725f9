"""Arguments and results that are named tuples, dataclasses and nodes of a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


@dataclass
class Options:
    scale: Tensor
    shift: Tensor | None
    times: int = 2


@dataclass
class Kept:
    value: Tensor
    other: Tensor | None = None


@dataclass
class Batch:
    pair: Pair
    options: dict[str, list[Options | Kept]]


class Range:
    def __init__(self, low: Tensor, high: Tensor) -> None:
        self.low, self.high = low, high


for each in (Options, Kept, Batch):
    torch.export.register_dataclass(each)
pytree.register_pytree_node(
    Range,
    lambda x: ([x.low, x.high], None),
    lambda parts, _: Range(*parts),
    flatten_with_keys_fn=lambda x: (
        [(pytree.GetAttrKey("low"), x.low), (pytree.GetAttrKey("high"), x.high)],
        None,
    ),
)


class Structured(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def swap(self, pair: Pair) -> Pair:
        self.count.add_(1)
        return Pair(pair.right + self.count, pair.left * 1)

    def apply(self, batch: Batch, *, range: Range) -> dict[str, Any]:
        (options,) = batch.options["all"]
        scaled = batch.pair.left * options.scale * options.times
        assert isinstance(options, Options) and options.shift is None
        bounded = scaled.clamp(range.low, range.high)
        nested = Batch(batch.pair, {"kept": [Kept(bounded)]})
        return {"nested": nested, "range": (Range(scaled.amin(), scaled.amax()), None)}


def batch(rows: int) -> Batch:
    options = Options(torch.randn(3), None)
    return Batch(Pair(torch.randn(rows, 3), torch.randn(rows, 2)), {"all": [options]})


def test_values_keep_their_names(tmp_path: Path, backend: str) -> None:
    bounds = {"range": Range(torch.tensor(-1.0), torch.tensor(1.0))}
    rows = {0: Dim("rows", min=1, max=8)}
    sizes = {
        "batch": [Pair(rows, rows), {"all": [[None, None]]}],
        "range": [None, None],
    }
    methods = {
        "swap": ps.Method("swap", (Pair(torch.zeros(2), torch.ones(3)),)),
        "apply": ps.Method("apply", (batch(4),), bounds, dynamic_shapes=sizes),
    }
    twins = Twins(Structured(), methods, tmp_path, backend)
    for count in (1, 8):
        twins.call("swap", Pair(torch.randn(2), torch.randn(3)))
        twins.call("apply", batch(count), **bounds)
    swap, apply = twins.program.methods["swap"], twins.program.methods["apply"]
    assert [each.name for each in swap.inputs] == ["pair.left", "pair.right"]
    assert [each.name for each in swap.outputs] == ["left", "right"]
    assert [each.name for each in apply.inputs] == [
        "batch.pair.left", "batch.pair.right", "batch.options.all.0.scale", "range.low",
        "range.high",
    ]  # fmt: skip
    assert [each.name for each in apply.outputs] == [
        "nested.pair.left", "nested.pair.right", "nested.options.kept.0.value", "range.0.low",
        "range.0.high",
    ]  # fmt: skip
