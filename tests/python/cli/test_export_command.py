"""What ``polystate-export`` refuses before torch is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def export_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polystate.cli.export", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", ["", "0", "1", "'no model'"])
def test_a_source_that_ends_the_process_is_refused(tmp_path: Path, code: str) -> None:
    source, out = tmp_path / "made.py", tmp_path / "out"
    source.write_text(f"import sys\n\ndef make():\n    sys.exit({code})\n")
    done = export_command(f"{source}:make", out)
    assert done.returncode == 4
    assert "the source called sys.exit\n" in done.stderr
    assert f"sys.exit({code})" in done.stderr
    assert not out.exists()
    source.write_text(f"import sys\n\nsys.exit({code})\n")
    assert export_command(f"{source}:make", out).returncode == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--explain", "--report"], "--report has no meaning for --explain"),
        (["--explain", "--bundled", "file"], "--bundled has no meaning for --explain"),
        (["out", "--no-rewrites"], "--no-rewrites is for --explain"),
        (["out", "--html", "file"], "--html is for --explain"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(options: list[str], told: str) -> None:
    done = export_command("made.py:make", *options)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_name_that_is_too_long_is_told_as_one_that_is_not_there(tmp_path: Path) -> None:
    for name in ("a" * 300, "a" * 300 + ".gguf"):
        done = export_command(tmp_path / name, tmp_path / "out")
        assert done.returncode == 2
        assert "is not there, and is of none of these forms" in done.stderr
    done = export_command(f"{tmp_path / ('a' * 300)}.py:make", tmp_path / "out")
    assert done.returncode == 4
    assert "there is no file" in done.stderr
