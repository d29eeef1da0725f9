"""What an export raises, as a user gets to see it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from polystate import quiet
from polystate.errors import Error
from polystate.export.diagnosis.pages import PAGES


@contextlib.contextmanager
def told_plainly() -> Iterator[None]:
    """Gives errors the name of their example's page, and keeps libraries' tracebacks from them.

    The exception of a library stays in ``__context__``, which Python does not print.
    """
    try:
        yield
    except Error as error:
        _name_example(error)
        if quiet.is_verbose():
            raise
        error.__context__ = error.__cause__ or error.__context__
        raise error.with_traceback(None) from None


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
