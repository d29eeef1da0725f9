"""Runs artifacts for another process, which sees whatever happens to those that run them.

``python -m polystate.runtime.worker DESCRIPTOR`` imports what it takes to run one, and waits at a
socket. Each message there brings three descriptors, and begins a process of its own, a worker:

- a connection, on which the worker reads requests and answers each: a pair of ``None`` and what was
  asked for, or of an exception of polystate's and nothing;
- a file for what it writes to stdout and stderr; a signal that ends it first writes there which
  functions it ended;
- a socket, on which its number is told, and how it ended (`STATUS`, each); the number remains its
  own until the other end is closed.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from polystate import _core
from polystate.errors import EngineError, Error
from polystate.runtime.model import load
from polystate.runtime.session import Session

# The number of a process; or its status, below zero for the signal that ended it.
STATUS = struct.Struct("=i")


class Worker:
    """A session, and what the other process knows of its state.

    Parameters
    ----------
    environment
        The variables that hold from now on: this process was forked from an older one.
    """

    def __init__(self, artifact: str, leading: dict[str, int], environment: dict[str, str]) -> None:
        os.environ.clear()
        os.environ.update(environment)
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


def answer(connection: Connection) -> None:
    """Answer requests until the connection is closed."""
    worker: Worker | None = None
    while True:
        try:
            name, arguments = connection.recv()
        except EOFError:
            return
        try:
            if worker is None:
                worker, result = Worker(*arguments), None
            else:
                result = getattr(worker, name)(*arguments)
        except Error as error:
            connection.send((error, None))
        else:
            connection.send((None, result))


def serve(requests: socket.socket) -> None:
    """Begin a worker for each message until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked is interrupted, and closes
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets a process that ended
    while True:
        message, descriptors, *_ = socket.recv_fds(requests, 1, 3)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _begin_and_tell(*descriptors)
        for each in descriptors:
            os.close(each)


def _begin_and_tell(connection: int, output: int, status: int) -> None:
    """Begins a worker, and tells of it until nobody listens. Ends this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    worker = os.fork()
    if worker == 0:
        os.close(status)
        _work(connection, output)
    os.close(connection)
    listener = socket.socket(fileno=status)
    try:
        listener.sendall(STATUS.pack(worker))
        ended = os.waitid(os.P_PID, worker, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        by_signal = ended.si_code != os.CLD_EXITED
        listener.sendall(STATUS.pack(-ended.si_status if by_signal else ended.si_status))
        listener.recv(1)
    finally:
        os._exit(0)


def _work(connection: int, output: int) -> None:
    """Answers on a connection, and ends this process: without Python's own end, which is slow."""
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        _core.report_crashes()
        answer(Connection(connection))
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
