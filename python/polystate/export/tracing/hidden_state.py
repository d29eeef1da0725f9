"""Finds what a method changes that is not a buffer of one name: state that an export would lose."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from polystate.errors import ExportError
from polystate.export.tracing import attributes
from polystate.export.tracing.eager import EagerModule, copied, same_values


def refuse_hidden_state(
    eager: EagerModule, name: str, function: Callable[..., Any], args: Any, kwargs: Any
) -> None:
    """Refuses a method that changes anything which is not a buffer of one name.

    The method is called twice: the first call may fill caches, so what counts is what the second
    one changes.

    Raises
    ------
    ExportError
        With the parameter, buffer or attribute, the user's line where it is known, and a rewrite.
    """
    model = eager.model
    kept = [*model.parameters(), *attributes.tensors(model)]
    with torch.no_grad(), eager.restored(), _restored(kept) as values:
        with _recorded_assignments() as lines:
            _call(function, args, kwargs)
        _refuse_reshaped_buffers(eager, name, lines)
        eager.reset()
        before = attributes.contents(model)
        versions = {key: tensor._version for key, tensor in _registered(model)}
        with _recorded_assignments() as lines:
            _call(function, args, kwargs)
        after = attributes.contents(model)
        changed_parameters = [
            key
            for key, parameter in model.named_parameters(remove_duplicate=False)
            if id(parameter) not in values or not same_values(parameter, values[id(parameter)])
        ]
        changed = set(changed_parameters) | {
            key
            for key, tensor in _registered(model)
            if key not in versions or tensor._version != versions[key]
        }
    _refuse_shared_memory(model, name, changed)
    for key in changed_parameters:
        raise ExportError(
            f"method '{name}' changes the parameter '{key}': parameters are constants of the "
            f"program; register it as a buffer instead: "
            f"self.register_buffer('{key.rpartition('.')[2]}', ...)"
        )
    for attribute in dict.fromkeys([*before, *after]):
        old, new = before.get(attribute, ()), after.get(attribute, ())
        if old != new:
            owner, _, leaf = attribute.path.rpartition(".")
            line = lines.get((id(model.get_submodule(owner)), leaf), "")
            change = attributes.change(old, new)
            raise ExportError(_hidden_attribute(name, attribute, change, line))


def _refuse_reshaped_buffers(
    eager: EagerModule, method: str, lines: dict[tuple[int, str], str]
) -> None:
    initials = eager.initials()
    for key, buffer in eager.model.named_buffers(remove_duplicate=False):
        owner, _, leaf = key.rpartition(".")
        line = lines.get((id(eager.model.get_submodule(owner)), leaf), "")
        where = f" ({line})" if line else ""
        if key not in initials:
            raise ExportError(
                f"method '{method}' registers the buffer '{key}'{where}: register it before the "
                f"export, with the value that it starts with"
            )
        old, new = _form(initials[key]), _form(buffer)
        if old != new:
            raise ExportError(
                f"method '{method}' changes the buffer '{key}' from {old} to {new}{where}: state "
                f"keeps its type and shape; register it as large as it gets, and change a part "
                f"of it in place"
            )


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    args, kwargs = copied(args, kwargs)
    function(*args, **kwargs)


def _registered(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


@contextlib.contextmanager
def _restored(tensors: list[torch.Tensor]) -> Iterator[dict[int, torch.Tensor]]:
    """Gives tensors their values back when the block ends; yields these values by identity."""
    values = {id(tensor): tensor.detach().clone() for tensor in tensors}
    try:
        yield values
    finally:
        for tensor in tensors:
            if not same_values(tensor, values[id(tensor)]):
                tensor.copy_(values[id(tensor)])


def _refuse_shared_memory(model: torch.nn.Module, method: str, changed: set[str]) -> None:
    parameters = dict(model.named_parameters(remove_duplicate=False)).keys()
    spans = sorted((*_span(t), key) for key, t in _registered(model) if t.numel())
    for i, (_, end, first) in enumerate(spans):
        for start, _, second in spans[i + 1 :]:
            if start >= end:
                break
            if changed & {first, second} and not {first, second} <= parameters:
                raise ExportError(
                    f"method '{method}' changes '{first}', which shares memory with '{second}': "
                    f"state must have one name; register the tensor once, or give '{second}' a "
                    f"copy (.clone())"
                )


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses between which the elements of a tensor lie."""
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


@contextlib.contextmanager
def _recorded_assignments() -> Iterator[dict[tuple[int, str], str]]:
    """The user's line of every attribute that is assigned inside the block, by module and name."""
    lines: dict[tuple[int, str], str] = {}
    original = torch.nn.Module.__setattr__

    def recording(module: torch.nn.Module, attribute: str, value: Any) -> None:
        frame = traceback.extract_stack(limit=2)[0]
        lines[id(module), attribute] = f"{frame.filename}:{frame.lineno}: {frame.line}"
        original(module, attribute, value)

    with mock.patch.object(torch.nn.Module, "__setattr__", recording):
        yield lines


def _hidden_attribute(method: str, attribute: attributes.Attribute, change: str, line: str) -> str:
    leaf = attribute.path.rpartition(".")[2]
    where = f" ({line})" if line else ""
    return (
        f"method '{method}' changes the attribute '{attribute.path}' of {attribute.owner}{change}"
        f"{where}: only buffers are state, and an exported program would keep the value of the "
        f"trace; make it a buffer: self.register_buffer('{leaf}', torch.tensor(...)), and change "
        f"it in place"
    )
