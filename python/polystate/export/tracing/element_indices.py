"""Elements and rows by indices that are tensors without dimensions.

For ``x[i]`` PyTorch reads the number in ``i``, and a trace has no numbers. A write is traced with
``i`` as a tensor index (`FUNCTIONS`); so are rows whose number varies. A read is traced with a
number whose range is unknown, and afterwards gets ``i`` as a tensor index in its place
(`index_by_tensors`). ``narrow`` from a tensor on reads its number, and says its range.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, is_symbolic
from torch.utils import _pytree as pytree

from polystate.export.graph.scalar_tensors import call
from polystate.export.graph.scalars import ITEMS
from polystate.export.graph.signature import changed_graphs, rename_outputs
from polystate.export.graph.sizes import limits
from polystate.export.tracing import masks

aten = torch.ops.aten


def _set(input: Tensor, index: Any, value: Any) -> Any:
    """Write to a place. NotImplemented where no index is a 0-d tensor, or some are larger ones."""
    found = _places(input, index)
    if found is None:
        return NotImplemented
    view, places = found
    dims = list(places)
    if not isinstance(value, Tensor):
        value = torch.full((), value, dtype=input.dtype)
    shape = [size for dim, size in enumerate(view.shape) if dim not in places]
    while value.dim() > len(shape) and value.shape[0] == 1:
        value = value[0]
    if value.dim():
        # Neighbouring indices make one dimension in their place, others one at the front.
        are_neighbours = dims[-1] - dims[0] == len(dims) - 1
        value = value.expand(shape).unsqueeze(dims[0] if are_neighbours else 0)
    indices = [
        places[dim].reshape(1).to(torch.int64) if dim in places else None
        for dim in range(dims[-1] + 1)
    ]
    aten.index_put_(view, indices, value.to(input.dtype))
    return None


def _places(input: Tensor, index: Any) -> tuple[Tensor, dict[int, Tensor]] | None:
    """Apply the other indices, and map dimensions of the result to the tensors that index them.

    None where no index is such a tensor, or some are of another kind than numbers, slices, ``None``
    and ``...``.
    """
    given = list(index) if isinstance(index, tuple) else [index]
    if not any(map(_is_number, given)) or not all(map(_is_plain, given)):
        return None
    given = masks.written_out(given, input.dim())
    places, dim = {}, 0
    for each in given:
        if isinstance(each, Tensor):
            places[dim] = each
        dim += not isinstance(each, int)
    plain = [slice(None) if isinstance(each, Tensor) else each for each in given]
    return input[tuple(plain)], places


def _is_number(index: Any) -> bool:
    return (
        isinstance(index, FakeTensor)
        and index.dim() == 0
        and index.dtype not in (torch.bool, torch.uint8)  # which are masks
        and not index.dtype.is_floating_point
    )


def _is_plain(index: Any) -> bool:
    if isinstance(index, Tensor):
        return _is_number(index)
    return index is None or index is Ellipsis or type(index) in (int, slice)


def _set_rows(input: Tensor, index: Any, value: Any) -> Any:
    """Write rows whose number varies; NotImplemented where it does not.

    PyTorch drops leading dimensions of size 1 of the value, for which it asks whether there is one
    row.
    """
    given = list(index) if isinstance(index, tuple) else [index]
    varies = isinstance(value, FakeTensor) and value.dim() and is_symbolic(value.shape[0])
    if not varies or not all(isinstance(each, Tensor) or _is_whole(each) for each in given):
        return NotImplemented
    tensors = [each for each in given if isinstance(each, Tensor)]
    if not tensors or not all(map(_is_list, tensors)):
        return NotImplemented
    indices = [each if isinstance(each, Tensor) else None for each in given]
    aten.index_put_(input, indices, value.to(input.dtype))
    return None


def _is_whole(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _is_list(index: Tensor) -> bool:
    """Whether it names places, more than one."""
    is_mask = index.dtype in (torch.bool, torch.uint8)
    return isinstance(index, FakeTensor) and index.dim() > 0 and not is_mask


def _set_at_numbers(input: Tensor, index: Any, value: Any) -> Any:
    """Write at numbers that are read from tensors; NotImplemented where there are none.

    PyTorch takes such a number alone, not beside slices.
    """
    given = list(index) if isinstance(index, tuple) else [index]
    if not any(isinstance(each, torch.SymInt) for each in given):
        return NotImplemented
    if not all(_is_plain_or_symbolic(each) for each in given):
        return NotImplemented
    view, dim = input, 0
    for each in masks.written_out(given, input.dim()):
        if isinstance(each, int | torch.SymInt):
            view = view.select(dim, each)
        elif each is None:
            view, dim = view.unsqueeze(dim), dim + 1
        else:
            part = [slice(None)] * dim + [each]
            view, dim = view[tuple(part)], dim + 1
    if isinstance(value, Tensor):
        while value.dim() > view.dim() and value.shape[0] == 1:
            value = value[0]
        view.copy_(value)
    else:
        view.fill_(value)
    return None


def _is_plain_or_symbolic(index: Any) -> bool:
    return isinstance(index, torch.SymInt) or (not isinstance(index, Tensor) and _is_plain(index))


def _set_by_tensors(input: Tensor, index: Any, value: Any) -> Any:
    for write in (masks.set_elements, _set, _set_rows, _set_at_numbers):
        if write(input, index, value) is not NotImplemented:
            return None
    return NotImplemented


def _narrow(input: Tensor, dim: int, start: Any, length: Any) -> Any:
    """A part that starts at a tensor. NotImplemented where it starts at a number."""
    if not isinstance(start, FakeTensor):
        return NotImplemented
    size = input.shape[dim]
    first: Any = torch.where(start < 0, start + size, start).item()
    check: Any = torch._check
    check(first >= 0)
    check(first <= size - length)
    return input.narrow(dim, first, length)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.narrow: _narrow,
    Tensor.narrow: _narrow,
    Tensor.__getitem__: masks.elements,
    Tensor.__setitem__: _set_by_tensors,
}


def with_placed_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy results that are views at an unknown offset: PyTorch cannot trace them as results."""

    @functools.wraps(function)
    def placed(*args: Any, **kwargs: Any) -> Any:
        return pytree.tree_map_only(FakeTensor, _placed, function(*args, **kwargs))

    return placed


def _placed(result: Tensor) -> Tensor:
    return result.clone() if free_unbacked_symbols(result.storage_offset()) else result


def index_by_tensors(program: ExportedProgram) -> None:
    """Replace numbers of unknown range that select of a dimension, in a functional program."""
    for graph in changed_graphs(program):
        for node in list(graph.nodes):
            write = _WRITERS.get(node.target)
            if write is None or not _is_unknown(node.args[-1]):
                continue
            item = node.args[-1]
            with graph.inserting_before(node):
                node.replace_all_uses_with(write(graph, node))
            graph.erase_node(node)
            if not item.users:
                graph.erase_node(item)
    rename_outputs(program)


def _is_unknown(number: Any) -> bool:
    """Whether it was read from a tensor, and nothing says in which range it is."""
    if not isinstance(number, Node) or number.target not in ITEMS:
        return False
    value = number.meta["val"]
    if not is_symbolic(value):
        return False
    assert isinstance(value, torch.SymInt)
    found = limits(value)
    return bool(found.lower < 0) or not found.upper.is_finite


def _selected(graph: Graph, node: Node) -> Node:
    x, dim, item = node.args
    dim, index = _place(graph, x, dim, item)
    return call(graph, aten.squeeze.dims, call(graph, aten.index.Tensor, x, index), [dim])


def _scattered(graph: Graph, node: Node) -> Node:
    x, source, dim, item = node.args
    dim, index = _place(graph, x, dim, item)
    row = call(graph, aten.unsqueeze.default, source, dim)
    return call(graph, aten.index_put.default, x, index, row)


def _place(graph: Graph, x: Any, dim: Any, item: Any) -> tuple[int, list[Node | None]]:
    """A dimension from the front, and the indices by which one element of it is taken."""
    dim %= x.meta["val"].dim()
    place = call(graph, aten.view.default, item.args[0], [1])
    if place.meta["val"].dtype != torch.int64:
        place = call(graph, aten._to_copy.default, place, dtype=torch.int64)
    return dim, [*[None] * dim, place]


_WRITERS: dict[Any, Callable[[Graph, Node], Node]] = {
    aten.select.int: _selected,
    aten.select_scatter.default: _scattered,
}
