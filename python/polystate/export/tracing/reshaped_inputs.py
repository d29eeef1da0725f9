"""Refuses methods that give their arguments another shape, order, type or memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.errors import ExportError
from polystate.export.tracing.changed_lines import line_of_change
from polystate.export.tracing.eager import EagerModule, Entry, copied
from polystate.export.tracing.tensor_forms import Form


@dataclass(frozen=True)
class Argument:
    """A tensor that a method is called with, as it was before the call."""

    path: str
    tensor: torch.Tensor
    form: Form
    words: str


def forms(args: Any, kwargs: Any) -> list[Argument]:
    """What the tensors among arguments are now."""
    leaves, _ = pytree.tree_flatten_with_path((args, kwargs))
    return [
        Argument(pytree.keystr(path[1:]), leaf, Form(leaf), _words(leaf))
        for path, leaf in leaves
        if isinstance(leaf, torch.Tensor)
    ]


def refuse(eager: EagerModule, entry: Entry, before: list[Argument]) -> None:
    """Refuse the method where a call of it has changed an argument so.

    Raises
    ------
    ExportError
        With the line that does it.
    """
    for argument in before:
        if argument.form.is_changed():
            now, line = _words(argument.tensor), _line(eager, entry)
            change = f"its argument {argument.path} from {argument.words} to {now}"
            if now == argument.words:
                change = f"the memory of its argument {argument.path}, or its order there"
            raise ExportError(
                f"method '{entry.name}' changes {change}"
                + (f" (at {line})" if line else "")
                + ": what a caller passes keeps its type, shape and memory"
                "\n  rewrite: make a new tensor, as x = x.unsqueeze(0) in place of x.unsqueeze_(0)"
            )


def _line(eager: EagerModule, entry: Entry) -> str:
    """The user's line that changes an argument, found in one more call."""
    eager.reset()
    args, kwargs = copied(*entry.points[0])
    arguments = forms(args, kwargs)
    call = functools.partial(eager.call_on, entry.function, args, kwargs)
    return line_of_change(call, lambda: any(each.form.is_changed() for each in arguments))


def _words(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
