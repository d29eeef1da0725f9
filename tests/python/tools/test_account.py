"""The account of a test run: what its steps, tests, exports and caches took."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import account

NOTES = """\
step	12.5	20.0	build
step	7.5	9.0	pytest
export	made	3.0	tests/test_state.py::test_it[2]
export	made	41.0	tests/test_models.py::test_it
export	kept	0.1	tests/test_models.py::test_it
object	kept	0.1	tests/test_models.py::test_it
object	made	2.0	tests/test_models.py::test_it
"""

CTEST = """\
<testsuite>
  <testcase classname="PageTable" name="PageTable" time="0.5">
    <system-out>[==========] 3 tests ran.
[  PASSED  ] 3 tests.
</system-out>
  </testcase>
  <testcase name="loops" time="2.5"/>
</testsuite>
"""

PYTEST = """\
<testsuites><testsuite>
  <testcase classname="tests.test_readme" name="test_it_builds" time="30.25"/>
</testsuite></testsuites>
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the account is kept in."""
    monkeypatch.setenv("POLYSTATE_ACCOUNT", str(tmp_path / "account.tsv"))
    return tmp_path / "account.tsv"


def test_the_table_has_steps_slowest_tests_exports_and_caches(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(NOTES)
    (tmp_path / "ctest-tests.xml").write_text(CTEST)
    (tmp_path / "pytest-tests.xml").write_text(PYTEST)
    monkeypatch.setattr(account, "_processor", lambda: "a processor")
    monkeypatch.setattr(account, "_ccache", lambda: "no ccache")
    assert list(account.table(tmp_path)) == [
        "Where the time went, on a processor",
        "seconds  processor  step",
        "   12.5       20.0  build",
        "    7.5        9.0  pytest",
        "   20.0             in all",
        "",
        "The 20 slowest tests, in seconds",
        "   30.2  pytest-tests: tests.test_readme.test_it_builds",
        "    2.5  ctest-tests: loops",
        "    0.5  ctest-tests: PageTable",
        "   33.2  all 3 tests",
        "Suites of C++ count as one test each; 3 tests passed in them",
        "",
        "Exports that tests only run: 2 made in 44 s, the longest for",
        "   41.0  tests/test_models.py::test_it",
        "    3.0  tests/test_state.py::test_it[2]",
        "Caches: 1 of 3 exports were kept, 1 of 2 objects were kept; no ccache",
    ]


def test_the_slowest_tests_alone_have_lines_of_their_own(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("")
    (tmp_path / "tests.xml").write_text(CTEST)
    monkeypatch.setattr(account, "_SLOWEST", 1)
    lines = list(account.table(tmp_path))
    assert any("loops" in line for line in lines)
    assert not any("PageTable" in line for line in lines)
    assert "    3.0  all 2 tests" in lines
    assert any("0 made in 0 s" in line for line in lines)


def test_a_step_has_its_command_s_status_and_is_noted(file: Path) -> None:
    status = account.step("a step", [sys.executable, "-c", "raise SystemExit(3)"])
    kind, seconds, processor, name = file.read_text().rstrip("\n").split("\t")
    assert (status, kind, name) == (3, "step", "a step")
    assert float(seconds) >= 0
    assert float(processor) >= 0


def test_nothing_is_noted_where_no_account_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYSTATE_ACCOUNT", raising=False)
    monkeypatch.chdir(tmp_path)
    account.note("step", 1.0, 1.0, "build")
    assert not any(tmp_path.iterdir())
