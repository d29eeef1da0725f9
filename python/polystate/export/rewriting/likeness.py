"""Compares a rewritten module with the user's own, both run by PyTorch, with drawn values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.artifact import manifest
from polystate.export.method import Method, resolve
from polystate.export.rewriting.drafts import Draft, copied
from polystate.export.tracing.dimensions import Dimensions
from polystate.export.verification.draws import MANNERS, Source, drawn_arguments
from polystate.quiet import quiet

# How many sequences of calls, each from the module's own state, and how many calls in each.
_SEQUENCES = 4
_CALLS = 4

_RELATIVE_TOLERANCE = 1e-4
_ABSOLUTE_TOLERANCE = 1e-5


@dataclass
class Likeness:
    """What came of the calls.

    Attributes
    ----------
    agreed
        In how many both did the same, or both refused the arguments.
    refused
        In how many the rewritten module alone refused them.
    difference
        The first difference, in words; empty: none.
    """

    agreed: int = 0
    refused: int = 0
    both_refused: int = 0
    difference: str = ""
    _reasons: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether some calls were compared, and none differed."""
        return self.agreed > 0 and not self.difference

    def told(self, module: str) -> str:
        """In words; `module` says what it was compared with."""
        if self.difference:
            return f"differs from {module}: {self.difference}"
        if not self.agreed:
            return f"{module} took none of the drawn values, so that nothing was compared"
        told = f"equals {module} in {self.agreed} calls with drawn values"
        if self.refused:
            reason = f" ({self._reasons[0]})" if self._reasons else ""
            told += f"; refuses {self.refused} more that it takes{reason}"
        return told

    def add_refusal(self, reason: Exception) -> None:
        """Count arguments that the rewritten module alone refuses."""
        self.refused += 1
        self._reasons += [line for line in str(reason).splitlines()[:1] if line]


def likeness(
    model: torch.nn.Module,
    users: Method,
    draft: Draft,
    name: str,
    described: manifest.Method,
    changed: Callable[[torch.nn.Module], None],
) -> Likeness:
    """Calls both with drawn arguments of the examples' sizes and of the ends of their ranges.

    Parameters
    ----------
    users
        The method of the user's module.
    described
        The contract of the rewritten method, which the arguments keep to.
    changed
        What is not compared, since the rewrite is to change it: is done to the user's module first.
    """
    found = Likeness()
    method = draft.methods[name]
    own = ({name: method}, {name: users})
    shares = _parameters(model) == _parameters(draft.model)  # else a method changes some
    with quiet(), torch.random.fork_rng(devices=[]), torch.compiler.set_stance("force_eager"):
        points = list(_points(draft.model, name, method))
        for sequence in range(_SEQUENCES):
            functions = []
            for each in (model, draft.model):
                other, methods = copied(each, own[each is model], shares_parameters=shares)
                if each is model:
                    changed(other)
                functions.append(resolve(other, name, methods[name]))
            for number in range(_CALLS):
                index = sequence * _CALLS + number
                args, kwargs = points[index % len(points)]
                if index >= len(points):
                    source = Source(0, index, index % MANNERS, plain=True, near=True)
                    args, kwargs = drawn_arguments(source, described, args, kwargs, method.draw)
                if not _compare(found, functions, args, kwargs):
                    break
            if found.difference:
                break
    return found


def _parameters(model: torch.nn.Module) -> list[str]:
    return [name for name, _ in model.named_parameters()]


def _points(
    model: torch.nn.Module, name: str, method: Method
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The examples, and those of the ends of the ranges."""
    args, kwargs = method.examples()
    yield args, kwargs
    function = resolve(model, name, method)
    with contextlib.suppress(Exception):  # a range may be one that the user's code refuses
        dimensions = Dimensions.of(name, function, args, kwargs, method.dynamic_shapes)
        for sizes in dimensions.corners():
            yield dimensions.resized(args, kwargs, sizes)


def _compare(found: Likeness, functions: list[Callable[..., Any]], args: Any, kwargs: Any) -> bool:
    """Calls both; whether the next call may follow over the same state."""
    results: list[Any] = []
    for function in functions:
        given = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        torch.default_generator.manual_seed(0)
        try:
            with torch.no_grad():
                results.append((function(*given[0], **given[1]), given))
        except Exception as error:  # a user's code may raise anything
            results.append(error)
    a, b = results
    if isinstance(a, Exception):
        if isinstance(b, Exception):
            found.both_refused += 1
        return False
    if isinstance(b, Exception):
        found.add_refusal(b)
        return False
    found.difference = _difference(a, b)
    found.agreed += not found.difference
    return not found.difference


def _difference(a: Any, b: Any) -> str:
    ours, theirs = pytree.tree_leaves(b), pytree.tree_leaves(a)
    if len(ours) != len(theirs):
        return f"it returns {len(ours)} values instead of {len(theirs)}"
    for expected, value in zip(theirs, ours, strict=True):
        told = _differs(expected, value)
        if told:
            return told
    return ""


def _differs(expected: Any, value: Any) -> str:
    if not isinstance(expected, torch.Tensor) and not isinstance(value, torch.Tensor):
        return "" if expected == value else f"{value!r} instead of {expected!r}"
    a, b = torch.as_tensor(expected), torch.as_tensor(value)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{_form(b)} instead of {_form(a)}"
    tolerances = {"rtol": _RELATIVE_TOLERANCE, "atol": _ABSOLUTE_TOLERANCE}
    if torch.allclose(a, b, equal_nan=True, **tolerances):
        return ""
    return f"{_shown(b)} instead of {_shown(a)}"


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _shown(tensor: torch.Tensor) -> str:
    values = tensor.flatten()[:4].tolist()
    return f"{values}{'...' if tensor.numel() > len(values) else ''}"
