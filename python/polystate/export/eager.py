"""Runs methods of the user's module eagerly, and tells what they change, without changing the module."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.errors import ExportError

_OWN_FIELDS = ("_parameters", "_buffers", "_modules", "forward")


@dataclass(frozen=True)
class Outcome:
    """What one call did: the tensors it returned, its inputs afterwards, and every buffer afterwards."""

    outputs: list[Any]
    inputs: list[Any]
    buffers: dict[str, torch.Tensor]


class EagerModule:
    """The user's module, with the values that it had when it was given to us.

    Every call starts from these values, and they are put back when it ends. Parameters are not copied, but for the one call
    that finds out whether a method changes them.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self._values = {
            name: b.detach().clone() for name, b in model.named_buffers(remove_duplicate=False)
        }

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        yield from self.model.named_parameters(remove_duplicate=False)
        yield from self.model.named_buffers(remove_duplicate=False)

    def initial(self, name: str) -> torch.Tensor:
        """The value that a buffer starts with, by its fully qualified name."""
        return self._values[name]

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """Calls `function` from the initial values; whatever it raises passes through."""
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        with self.restored(), torch.no_grad():
            torch.manual_seed(0)
            outputs = function(*args, **kwargs)
            return Outcome(
                outputs=copied_leaves(outputs),
                inputs=copied_leaves((args, kwargs)),
                buffers={n: b.detach().clone() for n, b in self.model.named_buffers()},
            )

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Puts every buffer and attribute back when the block ends."""
        modules = list(self.model.modules())
        registries = [(dict(m._parameters), dict(m._buffers)) for m in modules]
        attributes = [dict(m.__dict__) for m in modules]
        try:
            yield
        finally:
            for module, (parameters, buffers), fields in zip(
                modules, registries, attributes, strict=True
            ):
                module.__dict__.clear()
                module.__dict__.update(fields)
                module._parameters.update(parameters)
                module._buffers.update(buffers)
            with torch.no_grad():
                for name, buffer in self.model.named_buffers(remove_duplicate=False):
                    buffer.copy_(self._values[name])

    def refuse_hidden_state(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Refuses a method that changes anything which is not a buffer of one name.

        Raises
        ------
        ExportError
            With the attribute, the user's line where it is known, and a rewrite.
        """
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        with self.restored(), self._parameters_restored(), torch.no_grad():
            function(*args, **kwargs)  # the first call may fill caches: what counts is what a later one changes
            before = self._fingerprint()
            versions = {n: t._version for n, t in self._tensors()}
            with _record_assignments() as lines:
                function(*args, **kwargs)
            after = self._fingerprint()
            for key in after:
                if before.get(key) != after[key]:
                    raise ExportError(_hidden_attribute(name, key, before.get(key), after[key], lines))
            mutated = {n for n, t in self._tensors() if t._version != versions[n]}
        self._refuse_mutated_parameters(name, mutated)
        self._refuse_shared_memory(name, mutated)

    @contextlib.contextmanager
    def _parameters_restored(self) -> Iterator[None]:
        before = [(p, p._version, p.detach().clone()) for p in self.model.parameters()]
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, version, value in before:
                    if parameter._version != version:
                        parameter.copy_(value)

    def _refuse_mutated_parameters(self, method: str, mutated: set[str]) -> None:
        for name, _ in self.model.named_parameters(remove_duplicate=False):
            if name in mutated:
                raise ExportError(
                    f"method '{method}' changes the parameter '{name}': parameters are constants of the program; "
                    f"register it as a buffer instead: self.register_buffer('{name.rpartition('.')[2]}', ...)"
                )

    def _refuse_shared_memory(self, method: str, mutated: set[str]) -> None:
        spans: list[tuple[int, int, str]] = sorted(
            (t.data_ptr(), t.data_ptr() + t.untyped_storage().nbytes(), n)
            for n, t in self._tensors()
            if t.numel()
        )
        for (_, end, first), (start, _, second) in zip(spans, spans[1:], strict=False):
            if start < end and mutated & {first, second}:
                raise ExportError(
                    f"method '{method}' changes '{first}', which shares memory with '{second}': state must have one "
                    f"name; register the tensor once, or give '{second}' a copy (.clone())"
                )

    def _fingerprint(self) -> dict[tuple[str, str], object]:
        """What the attributes that are not registered hold, in a form that compares."""
        prints: dict[tuple[str, str], object] = {}
        for path, module in self.model.named_modules():
            for attribute, value in module.__dict__.items():
                if attribute in _OWN_FIELDS or attribute.startswith("__"):
                    continue
                label = f"{path}.{attribute}" if path else attribute
                prints[(type(module).__name__, label)] = _comparable(value)
        return prints


def copied_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, tensors copied."""
    return pytree.tree_leaves(pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), tree))


def _comparable(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return ("tensor", id(value), value._version)
    if isinstance(value, bool | int | float | str | bytes | type(None)):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return (type(value).__name__, tuple(_comparable(item) for item in value))
    if isinstance(value, dict):
        return ("dict", tuple((str(k), _comparable(v)) for k, v in value.items()))
    return ("object", id(value))


@contextlib.contextmanager
def _record_assignments() -> Iterator[dict[str, str]]:
    """The user's line of every attribute that is assigned to a module inside the block."""
    lines: dict[str, str] = {}
    original = torch.nn.Module.__setattr__

    def recording(module: torch.nn.Module, attribute: str, value: Any) -> None:
        frame = traceback.extract_stack(limit=2)[0]
        lines[attribute] = f"{frame.filename}:{frame.lineno}: {frame.line}"
        original(module, attribute, value)

    torch.nn.Module.__setattr__ = recording  # type: ignore[method-assign]
    try:
        yield lines
    finally:
        torch.nn.Module.__setattr__ = original  # type: ignore[method-assign]


def _hidden_attribute(
    method: str, key: tuple[str, str], before: object, after: object, lines: dict[str, str]
) -> str:
    owner, attribute = key
    leaf = attribute.rpartition(".")[2]
    where = f" ({lines[leaf]})" if leaf in lines else ""
    change = ""
    if isinstance(before, bool | int | float | str) and isinstance(after, bool | int | float | str):
        change = f" from {before!r} to {after!r}"
    return (
        f"method '{method}' changes the attribute '{attribute}' of {owner}{change}{where}: only buffers are state, and an "
        f"exported program would keep the value of the trace; make it a buffer: "
        f"self.register_buffer('{leaf}', torch.tensor(...)), and change it in place"
    )
