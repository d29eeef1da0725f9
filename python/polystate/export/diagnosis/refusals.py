"""What an export raises, as a user gets to see it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from polystate import quiet
from polystate.errors import Error
from polystate.export.diagnosis.lines import line_of_class, line_of_function, line_of_return
from polystate.export.diagnosis.pages import PAGES
from polystate.export.method import Method

_HAS_LINE = re.compile(r"\.py:\d+")
_OF_METHOD = re.compile(r"method '(\w+)'")
_OF_RESULT = re.compile(r"\breturns a tensor|: (a )?result \b")
_OF_MODULE = re.compile(r"the (parameter|buffer|attribute) '")


@contextlib.contextmanager
def told_plainly(
    model: torch.nn.Module | None = None, methods: Mapping[str, Method] | None = None
) -> Iterator[None]:
    """Gives errors a line and the name of their example, and keeps libraries' tracebacks from them.

    The exception of a library stays in ``__context__``, which Python does not print.

    Parameters
    ----------
    model, methods
        What is exported: an error that knows no line of the user's gets that where the method, or
        the module's class, is written.
    """
    try:
        yield
    except Error as error:
        _name_line(error, model, methods or {})
        _name_example(error)
        if quiet.is_verbose():
            raise
        error.__context__ = error.__cause__ or error.__context__
        raise error.with_traceback(None) from None


def _name_line(error: Error, model: Any, methods: Mapping[str, Method]) -> None:
    message = str(error)
    if _HAS_LINE.search(message):
        return
    named = _OF_METHOD.search(message)
    method = methods.get(named[1]) if named is not None and isinstance(methods, Mapping) else None
    line = ""
    if isinstance(method, Method):
        place = line_of_return if _OF_RESULT.search(message) else line_of_function
        line = place(_written(model, method))
    elif _OF_MODULE.search(message):
        line = line_of_class(type(model))
    if line:
        error.args = (f"{message}\n  at {line}",)


def _written(model: Any, method: Method) -> Callable[..., Any] | None:
    """The function of the user's that a method calls."""
    target = method.target
    if isinstance(target, torch.nn.Module):
        target = type(target).forward
    return getattr(model, target, None) if isinstance(target, str) else target


def _name_example(error: Error) -> None:
    message = str(error)
    if error.example is None:
        error.example = next((name for mark, name in PAGES if re.search(mark, message)), None)
    if error.example is not None:
        error.args = (message + _last_line(error),)


def without_example(error: Error) -> str:
    """What an error says, without the line that names the example."""
    return str(error).removesuffix(_last_line(error))


def _last_line(error: Error) -> str:
    return "" if error.example is None else f"\n  example: {error.example}"
