"""Settings of all Python tests."""

import os
import sys
import zlib

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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Has each test draw the same numbers in every run, whichever tests ran before.

    What AOTInductor compiles for it is kept for the next run.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(zlib.crc32(item.nodeid.encode()))
    if "torch._inductor.cpp_builder" in sys.modules:
        compiled_objects.keep()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells how many modules were tried (test_drawn_modules.py), of whichever process."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in report.user_properties:
                if name == "tried":
                    terminalreporter.write_line(str(value))
