"""What the attributes of modules hold: compared between calls, and put back after them.

The elements of lists, tuples, dictionaries, sets and arrays, and the fields of plain objects, are
parts of the attribute that holds them. Registered tensors, submodules and callables are not.
"""

from __future__ import annotations

import array
import hashlib
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

_REGISTERED = ("_parameters", "_buffers", "_modules", "forward")
_LISTS_OF_WEIGHTS = ("_flat_weights", "_flat_weight_refs")
_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_USUAL_SCALARS = frozenset({bool, int, float, str, type(None)})
_ARRAYS = (np.ndarray, bytearray, array.array)

# What holds other objects, and can be refilled.
_Container: TypeAlias = list[Any] | deque[Any] | dict[Any, Any] | set[Any]

# What to do in place of an attribute that is a cache of keys and values.
CACHE_ADVICE = (
    "export the model with ps.export_pretrained or polystate-export, which make a cache of "
    "transformers state; or keep keys and values in buffers of your own, without its classes"
)


def is_cache_of_transformers(value: object) -> bool:
    """Whether a value is one of transformers' caches of keys and values."""
    kind = type(value)
    return kind.__module__.startswith("transformers.") and kind.__name__.endswith("Cache")


def held(model: torch.nn.Module, path: str) -> object:
    """Return the attribute at a dotted path of the model, or None if it has no such attribute."""
    owner, _, leaf = path.rpartition(".")
    return getattr(model.get_submodule(owner), leaf, None)


@dataclass(frozen=True)
class Attribute:
    """One attribute of one module: the module's class, and the path from the model."""

    owner: str
    path: str


@dataclass(frozen=True)
class _Scalar:
    kind: type
    text: str  # so that NaN equals itself


@dataclass(frozen=True, eq=False)
class _Identity:
    """Equals another that holds the same object. Keeps it alive, so that its id stays its own."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


Contents = tuple[object, ...]

# The contents of an attribute that is None.
NONE: Contents = (_Scalar(type(None), "None"),)


def contents(model: torch.nn.Module) -> dict[Attribute, Contents]:
    """Comparable values of all attributes, without those that every call sets."""
    seen: set[int] = set()
    anew = set(_set_anew(model))
    return {
        attribute: _flattened(value, seen)
        for attribute, value in _attributes(model)
        if attribute.path not in anew
    }


def change(before: Contents, after: Contents) -> str:
    """``" from 1 to 2"`` where both are one scalar, else nothing."""
    if len(before) == len(after) == 1:
        old, new = before[0], after[0]
        if isinstance(old, _Scalar) and isinstance(new, _Scalar):
            return f" from {old.text} to {new.text}"
    return ""


def named_tensors(model: torch.nn.Module) -> list[tuple[Attribute, torch.Tensor]]:
    """Every tensor that an attribute holds, with that attribute."""
    return [
        (attribute, value)
        for attribute, root in _attributes(model)
        for value in _walk([root])
        if isinstance(value, torch.Tensor)
    ]


def tensors(model: torch.nn.Module) -> list[torch.Tensor]:
    """Every tensor that an attribute holds, once."""
    return list({id(tensor): tensor for _, tensor in named_tensors(model)}.values())


def version(tensor: torch.Tensor) -> int:
    """How often the tensor was changed in place; -1 where PyTorch does not count that."""
    return -1 if tensor.is_inference() else tensor._version


def keep(model: torch.nn.Module) -> Callable[[], None]:
    """Remembers every attribute and registry; calling the result puts them back.

    What tensors hold is not remembered.
    """
    kept: list[_Container] = []
    arrays: list[Any] = []
    for module in model.modules():
        kept += [module.__dict__, *_registries(module)]
    for value in _walk(value for _, value in _attributes(model)):
        if isinstance(value, list | deque | dict | set):
            kept.append(value)
        elif isinstance(value, _ARRAYS):
            arrays.append(value)
        elif _is_plain_object(value):
            kept.append(vars(value))
    saved = [(each, list(each.items() if isinstance(each, dict) else each)) for each in kept]
    elements = [each.copy() if isinstance(each, np.ndarray) else each[:] for each in arrays]

    def put_back() -> None:
        for each, items in saved:
            _refill(each, items)
        for each, values in zip(arrays, elements, strict=True):
            _rewrite(each, values)

    return put_back


def _registries(module: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """What a module has registered. A module of TorchScript has none of these dictionaries."""
    for registry in (module._parameters, module._buffers, module._modules):
        if isinstance(registry, dict):
            yield registry


def _rewrite(values: Any, before: Any) -> None:
    """Gives an array the elements that it had before."""
    if not isinstance(values, np.ndarray):
        values[:] = before
    elif values.shape != before.shape or values.tobytes() != before.tobytes():
        if values.shape != before.shape:
            values.resize(before.shape, refcheck=False)
        if values.flags.writeable:
            values[...] = before


def _refill(container: _Container, items: list[Any]) -> None:
    if isinstance(container, dict):
        now: list[Any] = [part for item in container.items() for part in item]
        if not _same_objects(now, [part for item in items for part in item]):
            container.clear()
            for key, value in items:  # the update of a Counter would add to its counts
                container[key] = value
    elif not _same_objects(list(container), items):
        container.clear()
        container.update(items) if isinstance(container, set) else container.extend(items)


def _same_objects(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _attributes(model: torch.nn.Module) -> Iterator[tuple[Attribute, object]]:
    for path, module in model.named_modules():
        for name, value in module.__dict__.items():
            if name not in _REGISTERED and not name.startswith("__"):
                label = f"{path}.{name}" if path else name
                yield Attribute(type(module).__name__, label), value


def _set_anew(model: torch.nn.Module) -> Iterator[str]:
    """The attributes that modules of PyTorch set anew before each of their calls.

    They are the lists of weights of a recurrent network, and weights that a hook norms.
    """
    for path, module in model.named_modules():
        names = [*_LISTS_OF_WEIGHTS] if isinstance(module, torch.nn.RNNBase) else []
        hooks = module._forward_pre_hooks.values()
        names += [hook.name for hook in hooks if isinstance(hook, WeightNorm | SpectralNorm)]
        yield from (f"{path}.{name}" if path else name for name in names)


def _flattened(value: object, seen: set[int]) -> Contents:
    flat: list[object] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, torch.Tensor):
            flat.append((_Identity(part), version(part)))
        elif isinstance(part, _SCALARS):
            flat.append(_Scalar(type(part), repr(part)))
        elif isinstance(part, set | frozenset):
            flat.append((type(part), frozenset(part)))
        elif isinstance(part, _ARRAYS) and not _holds_objects(part):
            flat.append(_elements(part))
        elif id(part) in seen or (parts := _parts(part)) is None:
            flat.append(_Identity(part))
        else:
            seen.add(id(part))
            flat.append((type(part), len(parts)))
            stack.extend(reversed(parts))
    return tuple(flat)


def _walk(roots: Iterable[object]) -> Iterator[object]:
    """Everything that the roots hold, once, without the most usual scalars."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            stack.extend(part for part in _parts(value) or () if type(part) not in _USUAL_SCALARS)


def _holds_objects(values: object) -> bool:
    """Whether an array has other objects as its elements."""
    return isinstance(values, np.ndarray) and values.dtype.hasobject


def _elements(values: Any) -> tuple[object, ...]:
    """What the elements of an array are, in a form that compares and takes little memory."""
    kind = (values.dtype.str, values.shape) if isinstance(values, np.ndarray) else ()
    content = values if isinstance(values, bytearray) else values.tobytes()
    return (type(values), *kind, len(content), hashlib.sha256(content).digest())


def _parts(value: object) -> list[object] | None:
    """What a container or plain object holds; None for anything else."""
    if isinstance(value, list | tuple | set | frozenset | deque):
        return list(value)
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype.hasobject else None
    if isinstance(value, dict):
        return [part for item in value.items() for part in item]
    if _is_plain_object(value):
        return [part for item in vars(value).items() for part in item]
    return None


def _is_plain_object(value: object) -> bool:
    """Whether all that the object holds is in fields of its own."""
    if isinstance(value, (torch.Tensor, types.ModuleType, *_SCALARS)) or callable(value):
        return False
    return isinstance(getattr(value, "__dict__", None), dict)
