"""Conditions on values that kernels refuse while they compute, or crash without.

An engine that calls PyTorch's kernels has them checked before, as has a method that writes a state
before its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node
from torch.fx.experimental.proxy_tensor import make_fx

from polystate.export.graph.operands import all_operands

aten = torch.ops.aten


@dataclass(frozen=True)
class KernelCondition:
    """What must hold before an operator is computed.

    Attributes
    ----------
    use
        The operator.
    operands
        The operator's arguments that `holds` takes.
    holds
        Computes a bool tensor without dimensions.
    text
        The same in words.
    """

    use: Node
    operands: tuple[Any, ...]
    holds: Callable[..., Tensor]
    text: str

    def write(self, graph: Graph) -> Node:
        """Write the condition at the graph's insertion point."""
        nodes = [operand for operand in self.operands if isinstance(operand, Node)]
        values = [node.meta["val"] for node in nodes]
        with values[0].fake_mode:
            traced = make_fx(self._of_tensors)(*values).graph
        copies = dict(zip(traced.find_nodes(op="placeholder"), nodes, strict=True))
        found = graph.graph_copy(traced, copies)
        assert isinstance(found, Node)
        return found

    def _of_tensors(self, *tensors: Tensor) -> Tensor:
        given = iter(tensors)
        return self.holds(*(next(given) if isinstance(x, Node) else x for x in self.operands))


def kernel_conditions(graph: Graph, *, every: bool) -> Iterator[KernelCondition]:
    """List the conditions of a graph's operators.

    Parameters
    ----------
    every
        Whether to list also those that some engines' kernels test themselves.
    """
    for node in graph.nodes:
        if node.target not in _CONDITIONS or not (every or node.target in _OF_ALL_ENGINES):
            continue
        names, holds, text = _CONDITIONS[node.target]
        given = all_operands(node)
        if node.target in _FIND_A_RANGE and _has_range(given):
            continue
        yield KernelCondition(node, tuple(given[name] for name in names), holds, text)


def are_pivots(pivots: Tensor) -> Tensor:
    """Tell whether ``linalg_ldl_solve`` can take pivots [..., n].

    They are rows from 1 to n. A block of two rows has a negative one twice, so that equal negative
    neighbours are even in number.
    """
    size = pivots.shape[-1]
    wide = pivots.to(torch.int64)
    rows = wide.abs()
    are_rows = (rows >= 1) & (rows <= size)
    places = torch.arange(size)
    differs = wide[..., 1:] != wide[..., :-1]
    edge = torch.ones_like(wide[..., :1], dtype=torch.bool)
    begins = torch.cat([edge, differs], -1)[..., :size]
    ends = torch.cat([differs, edge], -1)[..., -size:]
    # The place where the row of neighbours begins to which a place belongs.
    begun = torch.where(begins, places, 0).cummax(-1).values
    is_odd = (places - begun) % 2 == 0
    return (are_rows & ~((wide < 0) & ends & is_odd)).all()


def _are_counts(x: Tensor) -> Tensor:
    return (x >= 0).all()


def _are_finite(x: Tensor) -> Tensor:
    return x.isfinite().all()


def _have_no_nan(a: Tensor, b: Tensor) -> Tensor:
    return ~(a.isnan().any() | b.isnan().any())


def _has_finite_triangle(x: Tensor, triangle: str) -> Tensor:
    return _are_finite(x.tril() if triangle.upper() == "L" else x.triu())


def _has_range(given: Mapping[str, Any]) -> bool:
    """Tell whether a histogram has a range, also of numbers that only the run knows."""
    if "range" in given:
        return given["range"] is not None
    low, high = given["min"], given["max"]
    return isinstance(low, Node) or isinstance(high, Node) or low != high


def _has_inverse(factor: Tensor) -> Tensor:
    return (factor.diagonal(0, -2, -1) != 0).all()


def _are_enough(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(x.shape, mask.shape)  # type: ignore[no-untyped-call]
    return mask.expand(shape).to(torch.int64).sum() <= source.numel()


def _are_samples(samples: Tensor) -> Tensor:
    return ((samples >= 0) & (samples < 1)).all()


def _begin_rows(crow_indices: Tensor) -> Tensor:
    return (crow_indices.diff() >= 0).all()


def are_bags(indices: Tensor, offsets: Tensor) -> Tensor:
    """Tell whether offsets begin at 0, go up, and stay within the indices."""
    goes_up = (offsets.diff() >= 0).all()
    return goes_up & (offsets[:1] == 0).all() & (offsets <= indices.shape[0]).all()


_BAGS = (("indices", "offsets"), are_bags, "offsets of bags begin at 0, go up, and are indices")
_SAMPLES = (("random_samples",), _are_samples, "0 <= random_samples < 1")

_COUNTED = (("self",), _are_finite, "values that are counted between their ends are finite")
# Of some matrices that are not finite PyTorch's kernels make NaN; they refuse others, or end the
# process.
_MATRIX = "a matrix that is decomposed is finite"

# Which find a range in their values where none is given.
_FIND_A_RANGE = {
    aten._histogramdd_from_bin_cts.default,
    aten.histc.default,
    aten.histogram.bin_ct,
}

# For which PyTorch makes something of other values, too, so that these are no error of a program.
_OF_ALL_ENGINES = (aten.fractional_max_pool2d.default, aten.fractional_max_pool3d.default)

# Of each operator: names of arguments, what must hold for them, and that in words.
_CONDITIONS: dict[Any, tuple[tuple[str, ...], Callable[..., Tensor], str]] = {
    aten._convert_indices_from_csr_to_coo.default: (
        ("crow_indices",),
        _begin_rows,
        "crow_indices do not decrease",
    ),
    aten._embedding_bag.default: _BAGS,
    aten._embedding_bag_backward.default: _BAGS,
    aten._embedding_bag_forward_only.default: _BAGS,
    aten._embedding_bag_per_sample_weights_backward.default: _BAGS,
    aten._histogramdd_from_bin_cts.default: _COUNTED,
    aten._linalg_eigh.default: (("A", "UPLO"), _has_finite_triangle, _MATRIX),
    aten._linalg_svd.default: (("A",), _are_finite, _MATRIX),
    aten.bincount.default: (("self",), _are_counts, "numbers that are counted are not negative"),
    aten.cholesky_inverse.default: (("self",), _has_inverse, "no element of a diagonal is zero"),
    aten.fractional_max_pool2d.default: _SAMPLES,
    aten.fractional_max_pool3d.default: _SAMPLES,
    aten.histc.default: _COUNTED,
    aten.histogram.bin_ct: _COUNTED,
    aten.linalg_eig.default: (("self",), _are_finite, _MATRIX),
    aten.linalg_eigvals.default: (("self",), _are_finite, _MATRIX),
    aten.linalg_ldl_solve.default: (
        ("pivots",),
        are_pivots,
        "pivots are those of a factorization by ldl_factor",
    ),
    aten.linalg_lstsq.default: (
        ("self", "b"),
        _have_no_nan,
        "equations that are solved have no NaN",
    ),
    aten.masked_scatter.default: (
        ("self", "mask", "source"),
        _are_enough,
        "masked_scatter has an element for each place",
    ),
}
