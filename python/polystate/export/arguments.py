"""Refuses what `export` cannot take, before any work is done for it."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping

import torch

from polystate.artifact.manifest import Constant
from polystate.artifact.names import is_dotted_name
from polystate.errors import ContractError
from polystate.export.method import Method

BACKENDS = ("portable", "xnnpack", "aoti")


def check_arguments(model: torch.nn.Module, methods: Mapping[str, Method], backend: str) -> None:
    """Refuses what ``export`` cannot take, before any work is done for it; ContractError."""
    if not isinstance(model, torch.nn.Module):
        raise ContractError(f"model is a {type(model).__name__}, not a torch.nn.Module")
    if isinstance(model, torch.jit.ScriptModule):
        raise ContractError(
            "model is a module of TorchScript, whose code torch.export does not trace; rewrite: "
            "export the module that it was made of, without torch.jit.script and torch.jit.trace"
        )
    if not isinstance(methods, Mapping):
        raise ContractError(f"methods is a {type(methods).__name__}, not a mapping of names")
    if not methods:
        raise ContractError("methods is empty: name at least one entry point")
    for name, method in methods.items():
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise ContractError(f"method name {name!r} is not a Python identifier")
        if not isinstance(method, Method):
            raise ContractError(
                f"method '{name}' is a {type(method).__name__}, not a polystate.Method"
            )
    if backend not in BACKENDS:
        raise ContractError(f"backend is {backend!r}; it may be {' or '.join(map(repr, BACKENDS))}")


def checked_constants(constants: Mapping[str, Constant]) -> dict[str, Constant]:
    """The constants, which a manifest can have; ContractError otherwise."""
    for name, value in constants.items():
        if not isinstance(name, str) or not is_dotted_name(name):
            raise ContractError(
                f"a constant's name is {name!r}; it must be words of letters, digits, '_' and '-', "
                f"with dots between"
            )
        if not isinstance(value, bool | int | float | str):
            raise ContractError(
                f"constant '{name}' is a {type(value).__name__}; it may be a bool, an int, "
                f"a float or a str"
            )
        if isinstance(value, str) and not _is_unicode(value):
            raise ContractError(f"constant '{name}' is {value!r}, which is no valid Unicode")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ContractError(f"constant '{name}' is {value}, which does not fit 64 bits")
        if isinstance(value, float) and not math.isfinite(value):
            raise ContractError(f"constant '{name}' is {value}; it must be finite")
    return dict(constants)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
