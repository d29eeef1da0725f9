"""Settings of all Python tests."""

import gc
import json
import os
import signal
import sys
import zlib
from pathlib import Path

# Workers side by side, and programs that they start, would wait for one another's threads. torch
# reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.support import compiled_objects

# The same cases on every machine, however slow and busy it is.
settings.register_profile(
    "hermetic",
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("hermetic")


# What is imported until all tests are known lives to the end: the garbage collector would look at
# half a million objects again and again.
gc.disable()

# What AOTInductor compiles is kept for the next run.
compiled_objects.keep()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that the file lists which POLYSTATE_LEFT_OUT names.

    `make check` names those for which it has no time; some of them may be no more.
    """
    listed = os.environ.get("POLYSTATE_LEFT_OUT")
    if listed is None:
        return
    left_out = frozenset(json.loads(Path(listed).read_text()))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_finish() -> None:
    """Has the garbage collector look at what tests make, and at nothing older."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Has each test draw the same numbers in every run, whichever tests ran before."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(zlib.crc32(item.nodeid.encode()))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Fails a test that leaves an alarm, which would end the process many tests later."""
    assert signal.alarm(0) == 0, "the test leaves an alarm"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells how many modules were tried (test_drawn_modules.py), of whichever process."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in report.user_properties:
                if name == "tried":
                    terminalreporter.write_line(str(value))
