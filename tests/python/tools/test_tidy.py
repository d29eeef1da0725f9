"""What clang-tidy's findings of a source depend on."""

from __future__ import annotations

import json
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


@pytest.fixture
def tests_folder(folder: Path) -> Path:
    (folder / ".clang-tidy").write_text(
        "Checks: -*, misc-include-cleaner, cppcoreguidelines-pro-type-cstyle-cast\n"
        "WarningsAsErrors: '*'\nHeaderFilterRegex: 'tests/.*'\n"
        "ExtraArgs: [-Xclang, -analyzer-config, -Xclang, max-nodes=10000]\n"
    )
    tests = folder / "tests" / "cpp" / "core"
    tests.mkdir(parents=True)
    (folder / "tests" / ".clang-tidy").write_text("InheritParentConfig: true\n")
    (tests / "one_test.cc").write_text("#include <cstddef>\n\nint one() { return 1; }\n")
    (tests / "two_test.cc").write_text("int two() { return 2; }\n")
    return tests


def commands_of(*sources: Path) -> list[dict[str, str]]:
    build = tidy.ROOT / "build"
    build.mkdir(exist_ok=True)
    commands = [
        {
            "directory": str(build),
            "file": str(source),
            "command": f"c++ -o core_test.dir/{source.name}.o -c {source}",
        }
        for source in sources
    ]
    (build / "compile_commands.json").write_text(json.dumps(commands))
    return commands


def readings(
    commands: list[dict[str, str]], folder: Path, *, alone: bool = False
) -> list[tidy.Reading]:
    clean = tidy.CleanSources(folder)
    return tidy.readings_of(commands, tidy.Digests(), clean, alone=alone)


def test_tests_of_a_program_are_read_together_and_others_alone(
    tests_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kernels = tests_folder.parent / "kernels" / "deep"
    kernels.mkdir(parents=True)
    (kernels / "three_test.cc").touch()
    tests = commands_of(tests_folder / "one_test.cc", tests_folder / "two_test.cc")
    others = commands_of(tidy.ROOT / "one.cc", kernels / "three_test.cc")
    clean = tmp_path_factory.mktemp("clean")
    found = readings([*tests, *others], clean)
    assert [reading.commands for reading in found] == [tests, *([other] for other in others)]
    for digest in found[0].digests:
        tidy.CleanSources(clean).add(digest)
    assert readings(tests, clean) == []
    assert [reading.commands for reading in readings(tests, clean, alone=True)] == [
        [test] for test in tests
    ]


def test_many_unknown_sources_of_a_folder_are_read_together(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "two.cc").touch()
    commands = commands_of(folder / "one.cc", folder / "two.cc")
    clean = tmp_path_factory.mktemp("clean")
    alone = [[command] for command in commands]
    assert [reading.commands for reading in readings(commands, clean)] == alone
    monkeypatch.setattr(tidy, "_FEW", 1)
    (together,) = readings(commands, clean)
    assert together.commands == commands
    for digest in together.digests:
        tidy.CleanSources(clean).add(digest)
    assert readings(commands, clean) == []
    assert [reading.commands for reading in readings(commands, clean, alone=True)] == alone
    (folder / "two.cc").write_text("int two();\n")
    assert [reading.commands for reading in readings(commands, clean)] == [commands[1:]]


def test_so_many_are_read_at_once_and_the_longest_first(
    tests_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy, "_TOGETHER", 2)
    for name in "abc":
        (tests_folder / f"{name}_test.cc").touch()
    (tests_folder / "c_test.cc").write_text("int c();\n")
    commands = commands_of(*(tests_folder / f"{name}_test.cc" for name in "abc"))
    found = [reading.commands for reading in readings(commands, tmp_path / "clean")]
    assert found == [commands[2:], commands[:2]]


def test_a_finding_in_sources_that_are_read_together_names_its_own(
    tests_folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tidy.ROOT)
    build, clean = Path("build"), tmp_path_factory.mktemp("clean")
    commands = commands_of(tests_folder / "one_test.cc", tests_folder / "two_test.cc")
    (together,) = readings(commands, clean)
    assert together.report(build) == ""
    one, two = readings(commands, clean, alone=True)
    assert "cstddef" in one.report(build)  # what it includes is seen here alone
    assert two.report(build) == ""
    (tests_folder / "two_test.cc").write_text("int two(long* x) { return *(int*)x; }\n")
    report = together.report(build)
    assert f"{tests_folder / 'two_test.cc'}:1:" in report
    assert "C-style cast" in report


def test_a_build_that_the_configuration_does_not_reach_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tidy", "--build", str(tmp_path)])
    with pytest.raises(SystemExit):
        tidy.main()
    assert "has to be within" in capsys.readouterr().err
