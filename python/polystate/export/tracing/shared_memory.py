"""Refuses memory that a method changes and that has several names.

Eager PyTorch sees a change under every name of a memory; an exported program gives each state
memory of its own.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.errors import ExportError
from polystate.export.tracing import attributes

# The most places of memory that are marked to find out whether two tensors share one.
_MARKED = 2**26


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: the addresses between which its elements are."""

    start: int
    end: int
    kind: str  # "parameter", "buffer", "attribute" or "input"
    name: str
    owner: str = ""  # the class of the module that holds an attribute
    tensor: torch.Tensor | None = None  # keeps the memory from being used again

    def __str__(self) -> str:
        return f"the {self.kind} '{self.name}'{f' of {self.owner}' if self.owner else ''}"


def places(model: torch.nn.Module) -> list[Place]:
    """Where parameters, buffers and the tensors of attributes lie, each under every name."""
    found: list[Place] = []
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found += _place(parameter, "parameter", name)
    for name, buffer in model.named_buffers(remove_duplicate=False):
        found += _place(buffer, "buffer", name)
    for attribute, tensor in attributes.named_tensors(model):
        found += _place(tensor, "attribute", attribute.path, attribute.owner)
    return found


def input_places(function: Callable[..., Any], args: Any, kwargs: Any) -> list[Place]:
    """Where the tensors among the arguments of a call lie."""
    try:
        named = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # a callable without a signature
        named = {**{str(i): arg for i, arg in enumerate(args)}, **kwargs}
    return [
        place
        for name, value in named.items()
        for leaf in pytree.tree_leaves(value)
        if isinstance(leaf, torch.Tensor)
        for place in _place(leaf, "input", name)
    ]


def refuse_changed_twice(
    model: torch.nn.Module, method: str, before: Iterable[Place], changed: set[str]
) -> None:
    """Refuses a changed buffer whose memory had another name already when the method was called."""
    for buffer, other in _overlaps(before, changed):
        if other.kind == "attribute":
            advice = (
                attributes.CACHE_ADVICE
                if attributes.is_cache_of_transformers(attributes.held(model, other.name))
                else "read the buffer itself in its place, or give the attribute a copy (.clone())"
            )
            raise ExportError(
                f"method '{method}' changes '{buffer.name}', which shares memory with {other}: an "
                f"exported program would keep that attribute's first value; {advice}"
            )
        if buffer.tensor is other.tensor:
            raise ExportError(_registered_twice(model, method, buffer.name, other.name))
        raise ExportError(
            f"method '{method}' changes '{buffer.name}', which shares memory with '{other.name}': "
            f"state must have one name; register the tensor once, or give '{other.name}' a copy "
            f"(.clone())"
        )


def refuse_set_to_another(
    method: str, after: Iterable[Place], changed: set[str], lines: Mapping[str, str]
) -> None:
    """Refuses a buffer that a method sets to memory of another tensor that outlives the call.

    Parameters
    ----------
    lines
        Where a buffer was assigned, by its name.
    """
    for first, second in _overlaps(after, changed):
        buffer, other = first, second
        if second.kind == "buffer" and second.name in lines and first.name not in lines:
            buffer, other = second, first
        line = lines.get(buffer.name, "")
        where = f" ({line})" if line else ""
        raise ExportError(
            f"method '{method}' sets the buffer '{buffer.name}' to memory of {other}{where}: "
            f"afterwards a change of one would change the other, but in an exported program each "
            f"has memory of its own; set it to a copy: self.{buffer.name} = (...).clone()"
        )


def refuse_moved(
    method: str, before: Iterable[Place], after: Iterable[Place], lines: Mapping[str, str]
) -> None:
    """Refuses a buffer that is set to what was another buffer when the method was called."""
    for place in after:
        if place.kind == "buffer" and place.name in lines:
            for other in before:
                if other.kind == "buffer" and other.name != place.name and _overlap(place, other):
                    raise ExportError(
                        f"method '{method}' sets the buffer '{place.name}' to memory of {other} "
                        f"({lines[place.name]}): torch.export cannot follow that; set it to a "
                        f"copy: self.a = self.b.clone(), and to exchange two: self.a, self.b = "
                        f"self.b.clone(), self.a.clone()"
                    )


def refuse_kept_elsewhere(
    method: str,
    before: Iterable[Place],
    calls: tuple[Iterable[Place], Iterable[Place]],
    lines: Mapping[str, str],
) -> None:
    """Refuses a buffer that two calls set to the same memory: somebody else keeps that."""
    own, first = ({p.name: p for p in each if p.kind == "buffer"} for each in (before, calls[0]))
    for place in calls[1]:
        if place.kind != "buffer" or place.name not in lines or _meet(place, own[place.name]):
            continue
        if _meet(place, first[place.name]):
            raise ExportError(
                f"method '{method}' sets the buffer '{place.name}' to a tensor that is kept "
                f"outside of the module ({lines[place.name]}): a change of the buffer would "
                f"change it too; set it to a copy: self.{place.name} = (...).clone()"
            )


def _registered_twice(model: torch.nn.Module, method: str, first: str, second: str) -> str:
    what, names = "tensor", (first, second)
    owners = [name.rpartition(".")[0] for name in names]
    if owners[0] != owners[1] and len({id(model.get_submodule(owner)) for owner in owners}) == 1:
        what, names = "module", (owners[0], owners[1])
    return (
        f"method '{method}' changes the buffer '{first}', which is also '{second}': '{names[0]}' "
        f"and '{names[1]}' are one {what} that is registered under two names, and state must have "
        f"one name; register the {what} once"
    )


def _place(tensor: torch.Tensor, kind: str, name: str, owner: str = "") -> list[Place]:
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return []
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    end = start + (last + 1) * tensor.element_size()
    return [Place(start, end, kind, name, owner, tensor)]


def _meet(a: Place, b: Place) -> bool:
    """Whether the addresses between which two tensors lie overlap."""
    return a.start < b.end and b.start < a.end


def _overlap(a: Place, b: Place) -> bool:
    """Whether two tensors have memory in common. Interleaved columns of a matrix have none.

    Assumed where it would take much memory to find out.
    """
    if not _meet(a, b) or a.tensor is None or b.tensor is None:
        return _meet(a, b)
    low, high = min(a.start, b.start), max(a.end, b.end)
    unit = math.gcd(a.tensor.element_size(), b.tensor.element_size(), a.start - b.start)
    if high - low > unit * _MARKED:
        return True
    marks = torch.zeros((high - low) // unit, dtype=torch.bool)
    _elements(marks, a.tensor, a.start - low, unit).fill_(True)
    return bool(_elements(marks, b.tensor, b.start - low, unit).any())


def _elements(marks: torch.Tensor, tensor: torch.Tensor, start: int, unit: int) -> torch.Tensor:
    """The marks of a tensor's elements: one for each `unit` bytes of an element."""
    size = tensor.element_size() // unit
    dimensions = [
        (1 if stride == 0 else length, stride * size)  # elements at one address have one mark
        for length, stride in zip(tensor.shape, tensor.stride(), strict=True)
    ]
    shape, strides = ([each[i] for each in dimensions] for i in (0, 1))
    return marks.as_strided([*shape, size], [*strides, 1], start // unit)


def _overlaps(every: Iterable[Place], changed: set[str]) -> Iterator[tuple[Place, Place]]:
    """Pairs of a buffer and another tensor that share memory, where one of them is changed."""
    ordered = sorted(every, key=lambda p: (p.start, p.end, p.kind, p.name))
    for i, first in enumerate(ordered):
        for second in ordered[i + 1 :]:
            if second.start >= first.end:
                break
            buffer, other = (first, second) if first.kind == "buffer" else (second, first)
            if buffer.kind != "buffer" or (buffer.kind, buffer.name) == (other.kind, other.name):
                continue
            names = {p.name for p in (buffer, other) if p.kind in ("buffer", "parameter")}
            if changed & names and _overlap(buffer, other):
                yield buffer, other
