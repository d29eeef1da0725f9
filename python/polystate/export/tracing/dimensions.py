"""The sizes that a user declared to vary, and examples of other sizes within them."""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export import ExportedProgram
from torch.export.dynamic_shapes import (
    AdditionalInputs,
    ShapesCollection,
    _combine_args,
    _DimHint,
    _DimHintType,
    _tree_map_with_path,
)
from torch.utils import _pytree as pytree

from polystate.errors import ExportError
from polystate.export.diagnosis.explain import explain
from polystate.export.graph.signature import arguments
from polystate.export.graph.sizes import to_sympy
from polystate.export.method import Method

# Sizes that a dimension is grown to for a trace. Numbers computed from them are seldom 0 or 1, or
# equal to another size; a trace would take such an accident for a rule.
_USUAL = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
# The size that the module itself is called with, within the ranges: not special, and not large.
_SMALL = 5
# How often the largest examples are in memory: for the module, the trace and the program, and as
# large again for their results.
_COPIES = 4


@dataclass(frozen=True)
class Axis:
    """One varying dimension of one tensor among the flattened arguments."""

    leaf: int
    dimension: int
    key: str  # axes of one key have sizes that depend on one another
    min: int  # of what the key stands for
    max: int
    size_of: Callable[[int], int]  # from the key's value to this axis's size
    hint: bool = False  # Dim.AUTO or Dim.DYNAMIC: torch.export may find a narrower range


@dataclass(frozen=True)
class Dimensions:
    """Every varying dimension of a method's examples.

    Attributes
    ----------
    narrowed
        Whether a trace covers less than was declared.
    """

    axes: tuple[Axis, ...]
    narrowed: bool = False

    @staticmethod
    def of(
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        dynamic_shapes: Any,
    ) -> Dimensions:
        """Reads ``dynamic_shapes`` in torch.export's form.

        Raises
        ------
        ExportError
            When it does not fit the arguments, or a dimension has no maximum.
        """
        if dynamic_shapes is None:
            return Dimensions(())
        positions = {id(leaf): i for i, leaf in enumerate(pytree.tree_leaves((args, kwargs)))}
        axes: list[Axis] = []

        def visit(leaf: torch.Tensor, dimension: int, dim: Any) -> None:
            axis = _axis(name, leaf, positions[id(leaf)], dimension, dim)
            if axis is not None:
                axes.append(axis)

        try:
            combined = combined_arguments(function, args, kwargs, dynamic_shapes)
        except TypeError as error:
            raise ExportError(
                f"method '{name}': the examples do not fit its arguments: {explain(error)}"
            ) from error
        except ValueError as error:  # a function without a signature
            raise _unfitting(name, error) from error
        try:
            visit_dimensions(visit, combined, dynamic_shapes)
        except ExportError:
            raise
        except Exception as error:
            raise _unfitting(name, error) from error
        return Dimensions(tuple(axes))

    def found_by(self, exported: ExportedProgram) -> Dimensions:
        """The dimensions within the ranges that a trace found, without those it found static."""
        tensors = [a.value for a in arguments(exported)]
        axes = []
        for axis in self.axes:
            size = tensors[axis.leaf].shape[axis.dimension]
            if axis.hint and not _is_fixed(size):
                found = exported.range_constraints.get(size.node.expr)
                low = axis.min if found is None else max(axis.min, int(found.lower))
                high = axis.max if found is None else min(axis.max, int(found.upper))
                axes.append(dataclasses.replace(axis, key=str(size), min=low, max=high))
            elif not axis.hint:
                axes.append(axis)
        ranges, found = ([(a.min, a.max) for a in each] for each in (self.axes, axes))
        return Dimensions(tuple(axes), narrowed=ranges != found)

    def fixed_at_another_size(self, exported: ExportedProgram, args: Any, kwargs: Any) -> bool:
        """Whether a trace fixed a dimension of ``Dim.AUTO`` at a size other than the example's."""
        traced = [a.value for a in arguments(exported)]
        given = pytree.tree_leaves((args, kwargs))
        return any(
            axis.hint
            and _is_fixed(traced[axis.leaf].shape[axis.dimension])
            and traced[axis.leaf].shape[axis.dimension] != given[axis.leaf].shape[axis.dimension]
            for axis in self.axes
        )

    def declare(self, exported: ExportedProgram, condition: Any) -> bool:
        """Whether a condition on symbolic sizes follows from the user's names.

        It does if it says that dimensions of one name are equal.
        """
        if not isinstance(condition, sympy.Eq):
            return False
        tensors = [a.value for a in arguments(exported)]
        named = {
            size.node._expr: axis.key  # the symbol itself, before equal ones are replaced by one
            for axis in self.axes
            if not axis.hint and axis.size_of is _identity
            for size in (tensors[axis.leaf].shape[axis.dimension],)
            if isinstance(size, torch.SymInt)
        }
        keys = [named.get(side) for side in condition.args]
        return keys[0] is not None and keys[0] == keys[1]

    def ranges(self) -> dict[str, tuple[int, int]]:
        """The range of each key."""
        return {axis.key: (axis.min, axis.max) for axis in self.axes}

    def resized(self, args: Any, kwargs: Any, sizes: Mapping[str, int]) -> tuple[Any, Any]:
        """The arguments with each varying dimension at its size, by repeating its own values."""
        leaves, structure = pytree.tree_flatten((args, kwargs))
        for axis in self.axes:
            if axis.key in sizes:
                size = axis.size_of(sizes[axis.key])
                leaves[axis.leaf] = resized_leaf(leaves[axis.leaf], axis.dimension, size)
        resized: tuple[Any, Any] = pytree.tree_unflatten(leaves, structure)
        return resized

    def refuse_what_has_no_room(self, name: str, args: Any, kwargs: Any) -> None:
        """Refuse ranges whose largest examples are more than a machine has memory for.

        Raises
        ------
        ExportError
            With the largest size and what the examples take there.
        """
        if not self.axes:
            return
        bounds = {(axis.leaf, axis.dimension): axis for axis in self.axes}
        leaves = pytree.tree_leaves((args, kwargs))
        taken = 0
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.Tensor):
                sizes = (
                    bounds[i, d].size_of(bounds[i, d].max) if (i, d) in bounds else size
                    for d, size in enumerate(leaf.shape)
                )
                taken += math.prod(sizes) * leaf.element_size()
        there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if taken * _COPIES > there_is:
            widest = max(
                self.axes,
                key=lambda axis: (
                    axis.size_of(axis.max) / max(leaves[axis.leaf].shape[axis.dimension], 1)
                ),
            )
            raise ExportError(
                f"method '{name}': with '{widest.key}' at {widest.max} its examples take "
                f"{taken / 2**30:.1f} GiB, an export compares several copies of them, and this "
                f"machine has {there_is / 2**30:.1f} GiB: give the Dim a smaller max, or say "
                "draws=ps.Draws(count=0), which leaves out the largest sizes"
            )

    def interior(self, args: Any, kwargs: Any, skipped: int = 0) -> dict[str, int]:
        """Sizes strictly inside their ranges, unlike one another and unlike static sizes.

        Each where that is possible; without the first choices, where some are skipped.
        """
        varying = {(axis.leaf, axis.dimension) for axis in self.axes}
        taken = {
            size
            for i, leaf in enumerate(pytree.tree_leaves((args, kwargs)))
            if isinstance(leaf, torch.Tensor)
            for d, size in enumerate(leaf.shape)
            if (i, d) not in varying
        }
        sizes: dict[str, int] = {}
        for key, (low, high) in self.ranges().items():
            least = max(low, 2)
            inside = range(least, min(high, least + 64))
            usual = [n for n in _USUAL if n in inside and n not in taken]
            free = [n for n in reversed(inside) if n not in taken]
            choices = [*usual, *free] or [*inside, high]
            sizes[key] = choices[min(skipped, len(choices) - 1)]
            taken.add(sizes[key])
        return sizes

    def small(self) -> dict[str, int]:
        """Small sizes within their ranges, above their least."""
        return {key: min(max(low + 1, _SMALL), high) for key, (low, high) in self.ranges().items()}

    def more_usual(
        self, exported: ExportedProgram, args: Any, kwargs: Any, sizes: Mapping[str, int]
    ) -> dict[str, int] | None:
        """Sizes inside the ranges at which fewer of the sizes that a trace computes are 0 or 1.

        None where those of the trace are the best. Later passes take a size of 0 or 1 for fixed.
        """
        tensors = [a.value for a in arguments(exported)]
        symbols = {}
        for axis in self.axes:
            size = tensors[axis.leaf].shape[axis.dimension]
            if isinstance(size, torch.SymInt) and axis.size_of is _identity:
                symbols[size.node._expr] = axis.key
        computed = {
            expression
            for node in exported.graph.nodes
            for value in pytree.tree_leaves(node.meta.get("val"))
            if isinstance(value, torch.Tensor)
            for expression in map(to_sympy, value.shape)
            if isinstance(expression, sympy.Expr) and not expression.is_symbol
            if expression.free_symbols and expression.free_symbols <= symbols.keys()
        }

        def odd(at: Mapping[str, int]) -> int:
            values = {symbol: at[key] for symbol, key in symbols.items() if key in at}
            return sum(bool(each.subs(values) <= 1) for each in computed)

        if not computed or not odd(sizes):
            return None
        others = [self.interior(args, kwargs, skipped) for skipped in range(len(_USUAL))]
        best = min(others, key=odd)
        return best if odd(best) < odd(sizes) else None

    def corners(self) -> list[dict[str, int]]:
        """The corners of the ranges, as values of the keys.

        All minima, all maxima, the middle, and each dimension at one end with the others at the
        other.
        """
        ranges = self.ranges()
        if not ranges:
            return []
        low = {key: r[0] for key, r in ranges.items()}
        high = {key: r[1] for key, r in ranges.items()}
        middle = {key: (r[0] + r[1]) // 2 for key, r in ranges.items()}
        corners = [low, high, middle]
        if 1 < len(ranges) <= 4:
            corners += [{**low, key: high[key]} for key in ranges]
            corners += [{**high, key: low[key]} for key in ranges]
        return [c for i, c in enumerate(corners) if c not in corners[:i]]


def resized_leaf(tensor: torch.Tensor, dimension: int, size: int) -> torch.Tensor:
    """A copy with another size of a dimension: its values repeated, or zeros if it is empty."""
    values = tensor.shape[dimension]
    if values == 0:
        shape = list(tensor.shape)
        shape[dimension] = size
        return tensor.new_zeros(shape)
    return tensor.index_select(dimension, torch.arange(size) % values)


def combined_arguments(function: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
    """The arguments in the form of ``dynamic_shapes``: by name, or in their order.

    Raises
    ------
    TypeError, ValueError
        When the function does not take them, or has no signature.
    """
    combined: Any = _combine_args(function, args, kwargs)
    if isinstance(dynamic_shapes, tuple | list):
        return type(dynamic_shapes)(combined.values())
    return combined


def visit_dimensions(
    visit: Callable[[torch.Tensor, int, Any], None], combined: Any, dynamic_shapes: Any
) -> None:
    """Calls ``visit(tensor, dimension, dim)`` for what ``dynamic_shapes`` say of each tensor."""

    def visit_all(tensor: torch.Tensor, spec: Any) -> None:
        if spec is not None:
            for dimension, dim in _items(spec):
                visit(tensor, dimension, dim)

    map_dimensions(visit_all, combined, dynamic_shapes)


def map_dimensions(
    change: Callable[[torch.Tensor, Any], Any], combined: Any, dynamic_shapes: Any
) -> Any:
    """``dynamic_shapes`` with ``change(tensor, spec)`` for what they say of each tensor."""

    def change_leaf(_path: Any, leaf: Any, spec: Any) -> Any:
        return change(leaf, spec) if isinstance(leaf, torch.Tensor) else spec

    return _tree_map_with_path(change_leaf, combined, dynamic_shapes, tree_name="inputs")


def _is_fixed(size: int | torch.SymInt) -> bool:
    return isinstance(size, int) or isinstance(to_sympy(size), sympy.Integer)


def with_plain_shapes(name: str, function: Callable[..., Any], method: Method) -> Method:
    """A method whose ``dynamic_shapes`` are as nested as its examples.

    Where they are collected, or said of all that ``**kwargs`` takes.

    Raises
    ------
    ExportError
        When the collection does not fit the examples.
    """
    shapes = method.dynamic_shapes
    if isinstance(shapes, Mapping):
        return dataclasses.replace(method, dynamic_shapes=_by_names(function, shapes))
    if not isinstance(shapes, ShapesCollection | AdditionalInputs):
        return method
    collected: Any = shapes
    try:
        plain = collected.dynamic_shapes(function, tuple(method.args), dict(method.kwargs))
    except Exception as error:
        raise _unfitting(name, error) from error
    return dataclasses.replace(method, dynamic_shapes=plain)


def _by_names(function: Callable[..., Any], shapes: Mapping[str, Any]) -> dict[str, Any]:
    """Says of each argument that ``**kwargs`` takes what was said of them together."""
    given = dict(shapes)
    try:
        written = inspect.signature(inspect.unwrap(function)).parameters
    except (TypeError, ValueError):  # a function without a signature
        return given
    for parameter in written.values():
        if parameter.kind == inspect.Parameter.VAR_KEYWORD:
            together = given.pop(parameter.name, None) or {}
            named = inspect.signature(function).parameters.keys() - written.keys()
            given = {**dict.fromkeys(named), **given, **together}
    return given


def _unfitting(method: str, error: Exception) -> ExportError:
    return ExportError(
        f"method '{method}': dynamic_shapes does not fit the examples: {explain(error)}"
    )


def _items(spec: Any) -> Iterator[tuple[int, Any]]:
    if isinstance(spec, Mapping):
        yield from spec.items()
    else:
        yield from enumerate(spec)


def _axis(method: str, tensor: torch.Tensor, leaf: int, dimension: int, dim: Any) -> Axis | None:
    if dim is None or isinstance(dim, int):
        return None
    if not 0 <= dimension < tensor.dim():
        raise ExportError(
            f"method '{method}': dynamic_shapes names dimension {dimension} of an example with "
            f"{tensor.dim()} dimensions"
        )
    if isinstance(dim, _DimHint):
        if dim.type == _DimHintType.STATIC or dim.max is None:
            return None  # without a maximum, only a size that torch.export finds static will do
        # Which of such sizes must be equal is torch.export's finding; those of one size now may be.
        key = f"size {tensor.shape[dimension]}"
        low, high = _bounded(method, key, dim.min, dim.max)
        axis = Axis(leaf, dimension, key, low, high, _identity, hint=True)
        return _fitting(method, axis, tensor)
    root = getattr(dim, "root", dim)
    if not hasattr(root, "min"):
        raise ExportError(
            f"method '{method}': dynamic_shapes has {dim!r} for dimension {dimension} of an "
            f"example; it may be a torch.export.Dim, such as Dim('batch', max=64), a number, or "
            f"None"
        )
    name = root.__name__
    low, high = _bounded(method, name, root.min, root.max)
    axis = Axis(leaf, dimension, name, low, high, getattr(dim, "fn", _identity))
    return _fitting(method, axis, tensor)


def _fitting(method: str, axis: Axis, tensor: torch.Tensor) -> Axis:
    """The axis; ExportError when the example is outside its range."""
    size = tensor.shape[axis.dimension]
    low, high = axis.size_of(axis.min), axis.size_of(axis.max)
    if not low <= size <= high:
        raise ExportError(
            f"method '{method}': dimension {axis.dimension} of an example is {size}; "
            f"dynamic_shapes limits it to {low}..{high}"
        )
    return axis


def _identity(size: int) -> int:
    return size


def _bounded(method: str, name: str, low: Any, high: Any) -> tuple[int, int]:
    if not isinstance(high, int) or high >= 2**62:  # without a maximum it is PyTorch's infinity
        raise ExportError(
            f"method '{method}': dimension '{name}' has no maximum, and memory is planned at "
            f"export; give it one: Dim('{name}', max=...) or Dim.DYNAMIC(max=...)"
        )
    return int(low or 0), int(high)
