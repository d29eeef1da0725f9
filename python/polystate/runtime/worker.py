"""Runs an artifact for another process, which sees whatever happens to this one.

``python -m polystate.runtime.worker DESCRIPTOR`` reads requests from a connection and answers each:
a pair of ``None`` and what was asked for, or of an exception of polystate's and nothing. A signal
that ends the process first writes the functions that it ended to stderr.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from polystate import _core
from polystate.errors import EngineError, Error
from polystate.runtime.model import load
from polystate.runtime.session import Session


class Worker:
    """A session, and what the other process knows of its state."""

    def __init__(self, artifact: str, leading: dict[str, int]) -> None:
        self._session: Session = load(artifact, trust_code=True).session()
        self._leading = leading
        self._known: dict[str, Any] = {}

    def run(self, method: str, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs of a call, and the inputs after it."""
        outputs = self._session.run(method, *inputs)
        return list(outputs), inputs

    def reset(self) -> None:
        """Set all state to its initial values."""
        self._session.reset()

    def set_state(self, values: dict[str, Any]) -> None:
        """Set some states."""
        for name, value in values.items():
            if name in self._leading:
                whole = self._session.state[name]
                whole[: self._leading[name]] = value
                value = whole
            self._session.state[name] = value

    def changed_state(self) -> dict[str, Any]:
        """The states that are not what this gave last."""
        changed = {}
        for name in self._session.state:
            value = self._seen(name)
            known = self._known.get(name)
            if known is None or not np.array_equal(_bytes_of(known), _bytes_of(value)):
                changed[name] = self._known[name] = value
        return changed

    def _seen(self, name: str) -> Any:
        """A state, or the leading part of one of which the rest is zero."""
        value = self._session.state[name]
        if name not in self._leading:
            return value
        count = self._leading[name]
        if _bytes_of(value[count:]).any():
            raise EngineError(f"state '{name}' is changed beyond the first {count} of it")
        return value[:count].copy()


def _bytes_of(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def main() -> None:
    """Answer requests until the connection is closed."""
    _core.report_crashes()
    connection = Connection(int(sys.argv[1]))
    worker: Worker | None = None
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            if worker is None:
                worker, answer = Worker(*arguments), None
            else:
                answer = getattr(worker, name)(*arguments)
        except Error as error:
            connection.send((error, None))
        else:
            connection.send((None, answer))


if __name__ == "__main__":
    main()
