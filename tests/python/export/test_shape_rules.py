"""The rules for shapes that a trace lacks say how the results of PyTorch's operators lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from polystate.export.tracing import shape_rules

aten = torch.ops.aten


def _calls() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    for shape in ((4, 3), (3, 4), (3, 3), (1, 3), (4, 1), (2, 4, 3), (2, 1, 3, 5), (0, 3), (3, 0)):
        a, b = torch.randn(shape), torch.randn(*shape[:-1], 2)
        yield aten.geqrf.default, (a,)
        yield aten.linalg_lstsq.default, (a, b)
        yield aten.linalg_lstsq.default, (a, b[..., 0])
        yield aten.linalg_lstsq.default, (a.double(), b.double(), 1e-3)
    for shape, other in (
        ((1, 5, 3), (2, 5, 2)),
        ((3, 1, 3, 5), (1, 2, 3, 2)),
        ((4, 5, 3), (1, 5, 2)),
    ):
        yield aten.linalg_lstsq.default, (torch.randn(shape), torch.randn(other))
    points = torch.randn(7, 2)
    edges = [torch.linspace(-1, 1, 4), torch.linspace(-2, 2, 6)]
    yield aten.histogram.bin_ct, (points, 5)
    yield aten.histogram.bins_tensor, (points, edges[0])
    yield aten._histogramdd_bin_edges.default, (points, [3, 4])
    yield aten._histogramdd_from_bin_cts.default, (points, [3, 4])
    yield aten._histogramdd_from_bin_tensors.default, (points, edges)


def test_results_lie_as_pytorchs_do() -> None:
    seen = set()
    for operator, arguments in _calls():
        seen.add(operator)
        expected = operator(*arguments)
        with shape_rules.known(), FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fakes = pytree.tree_map_only(Tensor, mode.from_tensor, arguments)
            found = operator(*fakes)
        assert _forms(found) == _forms(expected), (operator, arguments)
    assert seen == set(shape_rules._RULES)


def _forms(results: Any) -> list[tuple[Any, ...]]:
    return [(tuple(each.shape), each.stride(), each.dtype) for each in pytree.tree_leaves(results)]
