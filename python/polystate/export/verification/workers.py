"""Processes in which programs run, each forked from one that has imported what they need.

Imports take a third of a second, and Python's end a tenth; a fork takes a hundredth.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection

from polystate.errors import EngineError
from polystate.runtime.worker import STATUS


class WorkerEndedError(EngineError):
    """A process ended before it was asked anything."""


class WorkerProcess:
    """A process of `polystate.runtime.worker`, which answers on `connection`."""

    def __init__(self) -> None:
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        ours, theirs = socket.socketpair()
        self._status, told = socket.socketpair()
        with theirs, told:
            _servers.begin(theirs.fileno(), self._output.fileno(), told.fileno())
        self.connection = Connection(ours.detach())
        self.pid = self._told()

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)  # no other process has its number before `close`

    def wait(self) -> int:
        """Its status when it has ended, below zero for the signal that ended it."""
        return self._told()

    def output(self) -> str:
        """What it has written to stdout and stderr."""
        self._output.seek(0)
        return self._output.read()

    def close(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self.kill()
        self._status.close()
        self._output.close()

    def _told(self) -> int:
        told = self._status.recv(STATUS.size, socket.MSG_WAITALL)
        if len(told) < STATUS.size:
            raise WorkerEndedError(f"no process begins: {_servers.output().strip()[-300:]}")
        return int(STATUS.unpack(told)[0])


class _Server:
    """A process from which workers are forked."""

    def __init__(self) -> None:
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._requests, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "polystate.runtime.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                pass_fds=[theirs.fileno()],
            )

    def begin(self, descriptors: Sequence[int]) -> None:
        """Have a worker forked, with these descriptors."""
        socket.send_fds(self._requests, [b"+"], list(descriptors))

    def close(self, *, is_ours: bool) -> None:
        """End it, unless it is another process's; its workers go on."""
        self._requests.close()
        if is_ours:
            self._process.wait()
        self.output.close()


class _Servers:
    """The server of this process, begun when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._process = 0

    def begin(self, *descriptors: int) -> None:
        """Have a worker forked, with these descriptors."""
        with self._lock:
            if os.getpid() != self._process:
                self._close()
            try:
                self._current().begin(descriptors)
            except ConnectionError:  # it was ended
                self._close()
                self._current().begin(descriptors)

    def output(self) -> str:
        """What the server has written to stdout and stderr."""
        with self._lock:
            output = self._current().output
            output.seek(0)
            return output.read()

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._close()

    def _current(self) -> _Server:
        if self._server is None:
            self._server = _Server()
            self._process = os.getpid()
        return self._server

    def _close(self) -> None:
        if self._server is not None:
            self._server.close(is_ours=os.getpid() == self._process)
        self._server = None


_servers = _Servers()
atexit.register(_servers.close)
