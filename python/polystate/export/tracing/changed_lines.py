"""Finds the user's line that changes something, by looking before and after each line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from polystate.export.diagnosis.lines import is_users, line_at


def line_of_change(call: Callable[[], object], is_changed: Callable[[], bool]) -> str:
    """The line of the user's code after which `is_changed` is true for the first time.

    Parameters
    ----------
    call
        Runs the code again; what it raises is dropped.
    is_changed
        Looks, before each line and where a function returns.

    Returns
    -------
    str
        Empty where no line of the user's is running, or nothing changes.
    """
    running: list[str] = []  # a line of each of the user's functions, the innermost last
    found: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if not found and running and running[-1] and is_changed():
            found.append(running[-1])
        if event == "line":
            running[-1] = line_at(frame.f_code.co_filename, frame.f_lineno)
        elif event == "return":
            running.pop()
        return look

    def enter(frame: FrameType, *_: Any) -> Any:
        if found or not is_users(frame.f_code.co_filename):
            return None
        running.append("")
        return look

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        with contextlib.suppress(Exception):
            call()
    finally:
        sys.settrace(before)
    return found[0] if found else ""
