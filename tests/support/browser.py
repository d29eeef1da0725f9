"""Opens pages in a headless Chromium, through the DevTools protocol over a pipe."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_START = 'exec "$@" 3<&"$COMMANDS" 4>&"$EVENTS"'
_OPTIONS = (
    "--headless",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0  # seconds, for an answer


@dataclass
class Visit:
    """What opening a page did.

    Attributes
    ----------
    requests
        The addresses that were asked for, the page's own and data that it holds left out.
    complaints
        What the browser's console says of it.
    """

    browser: Browser
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, as JSON has it."""
        answer = self.browser.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


class Browser:
    """A running browser with one tab."""

    def __init__(self, commands: int, events: int) -> None:
        self._commands = commands
        self._events = events
        self._ids = itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self._seen: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def open(self, page: Path, width: int) -> Visit:
        """Open a file in a window that is so many pixels wide, and wait until it is shown."""
        address = page.resolve().as_uri()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._seen.clear()
        self.call("Page.navigate", url=address)
        self._read_until(lambda message: message.get("method") == "Page.loadEventFired")
        visit = Visit(self)
        visit.evaluate("document.title")  # what was logged before has come by then
        for message in self._seen:
            self._record(visit, message, address)
        return visit

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command of the protocol, and return its result."""
        number = next(self._ids)
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        answer = self._read_until(lambda message: message.get("id") == number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    @staticmethod
    def _record(visit: Visit, message: dict[str, Any], page: str) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                if address != page and not address.startswith("data:"):
                    visit.requests.append(address)
            case "Runtime.exceptionThrown":
                visit.complaints.append(parameters["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled":
                visit.complaints.append(str(parameters["args"]))
            case "Log.entryAdded":
                visit.complaints.append(parameters["entry"]["text"])

    def _read_until(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while True:
            while b"\0" in self._unread:
                text, self._unread = self._unread.split(b"\0", 1)
                message: dict[str, Any] = json.loads(text)
                self._seen.append(message)
                if wanted(message):
                    return message
            ready, _, _ = select.select([self._events], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            received = os.read(self._events, 1 << 16)
            assert received, "the browser has ended"
            self._unread += received


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser for as long as the block runs."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("there is no chromium: tools/setup.sh installs it", pytrace=False)
    for_commands, commands = os.pipe()
    events, for_events = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = os.environ | {"COMMANDS": str(for_commands), "EVENTS": str(for_events)}
        started = subprocess.Popen(
            ["bash", "-c", _START, "bash", program, f"--user-data-dir={home}", *_OPTIONS],
            env=environment,
            pass_fds=(for_commands, for_events),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(for_commands)
        os.close(for_events)
        try:
            yield Browser(commands, events)
        finally:
            os.close(commands)  # at which it ends
            os.close(events)
            try:
                started.wait(timeout=20)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()
