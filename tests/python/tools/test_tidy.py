"""What clang-tidy's findings of a source depend on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import tidy

HEADER = "#pragma once\n\n// One.\nint one();  // NOLINT\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "tools").mkdir()
    for pin in tidy._PINS:
        (tmp_path / pin).write_text("")
    (tmp_path / "one.cc").write_text('#include "one.h"\n\nint one() { return 1; }\n')
    (tmp_path / "one.h").write_text(HEADER)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    tidy._own_files.cache_clear()
    yield tmp_path
    tidy._own_files.cache_clear()


def digest_with(folder: Path, header: str) -> str:
    (folder / "one.h").write_text(header)
    source = str(folder / "one.cc")
    return tidy.Digests().of({"file": source, "command": f"c++ -c {source}"})


def test_what_a_comment_says_does_not_count(folder: Path) -> None:
    before = digest_with(folder, HEADER)
    assert digest_with(folder, HEADER.replace("// One.", "// The first number.")) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [("one();", "one(int);"), ("// One.", "// One.\n// Two."), ("// One.", "// NOLINTBEGIN")],
)
def test_code_lines_and_what_clang_tidy_is_told_count(folder: Path, old: str, new: str) -> None:
    before = digest_with(folder, HEADER)
    assert digest_with(folder, HEADER.replace(old, new)) != before


@pytest.mark.parametrize("pin", tidy._PINS)
def test_what_is_installed_counts(folder: Path, pin: str) -> None:
    before = digest_with(folder, HEADER)
    (folder / pin).write_text("another")
    assert digest_with(folder, HEADER) != before


def test_a_mark_that_another_run_forgot_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy.CleanSources, "_KEPT", 1)
    clean = tidy.CleanSources(tmp_path)
    for number, name in enumerate(("old", "new")):
        clean.add(name)
        os.utime(tmp_path / name, (number, number))
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")  # which is listed, and has no date
    clean.prune()
    assert [clean.has(name) for name in ("old", "new")] == [False, True]
    tidy.CleanSources(None).prune()
