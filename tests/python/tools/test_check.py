"""What `make check` selects: all that a change can reach, the nearest first, and nothing else."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from tools.check import cpp_tests, programs, python_tests
from tools.check import memory as memories
from tools.check.memory import Memory
from tools.check.python_tests import Selection, _distribution, _files, _Reached, select
from tools.ingredients import ROOT


@pytest.fixture(scope="module")
def all_passed() -> dict[str, dict[str, str]]:
    memory = Memory(Path("none"))
    for name, files in python_tests.all_files().items():
        memory.note(name, files)
    return memory.files


@pytest.fixture
def memory(tmp_path: Path, all_passed: dict[str, dict[str, str]]) -> Memory:
    """A memory in which all tests of the repository passed as they are."""
    files = {name: dict(digests) for name, digests in all_passed.items()}
    return Memory(tmp_path / "check.json", files)


def changed(memory: Memory, file: str) -> None:
    """Let a file be another than when tests passed."""
    for digests in memory.files.values():
        if file in digests:
            digests[file] = "another"


def selected(memory: Memory) -> list[str]:
    selection = select(memory, 1e6)
    assert not selection.left
    return [str(file.path.relative_to(ROOT)) for file in selection.whole]


def test_nothing_runs_when_nothing_changed(memory: Memory) -> None:
    assert selected(memory) == []


def test_a_change_of_the_exporter_reaches_what_exports_and_its_own_tests_come_first(
    memory: Memory,
) -> None:
    changed(memory, "python/polystate/export/lowering/in_place.py")
    names = selected(memory)
    assert names[0] == "tests/python/export/test_in_place.py"
    assert "tests/end_to_end/test_rolling_caches.py" in names
    assert not [name for name in names if name.startswith("tests/python/tokenizer/")]
    nearest = [name for name in names[1:12] if not name.startswith("tests/python/export/")]
    assert nearest == ["tests/end_to_end/test_state_hazards.py"]


def test_of_tests_as_near_those_that_fewer_imports_part_from_the_change_come_first(
    memory: Memory,
) -> None:
    changed(memory, "python/polystate/export/graph/sizes.py")
    names = selected(memory)
    by_contract, by_export = (f"tests/python/export/test_{n}.py" for n in ("contract", "quantize"))
    assert names.index(by_contract) < names.index(by_export)


def test_a_change_of_a_tokenizer_reaches_its_comparisons_first(memory: Memory) -> None:
    changed(memory, "src/tokenizer/regex/translate.cc")
    changed(memory, "src/tokenizer/text_encoder.cc")
    names = selected(memory)
    first = names[: len(list(ROOT.glob("tests/python/tokenizer/test_*.py")))]
    assert all("tokenizer" in name for name in first)


def test_a_change_of_a_helper_reaches_those_that_import_it(memory: Memory) -> None:
    changed(memory, "tests/end_to_end/twins.py")
    names = selected(memory)
    assert "tests/end_to_end/test_differential.py" in names
    assert "tests/end_to_end/test_cli_inspect.py" not in names


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("src/core/utf8.cc", "tests/python/test_layers.py"),
        ("cli/main.cc", "tests/python/test_layers.py"),
        ("cli/main.cc", "tests/end_to_end/test_cli_translate.py"),
        ("ARCHITECTURE.md", "tests/python/test_where_to_add.py"),
        ("src/sampler/logits_processor.cc", "tests/python/test_where_to_add.py"),
        ("src/chat_template/text_filters.cc", "tests/python/chat_template/test_expressions.py"),
        (
            "tests/python/chat_template/expressions.txt",
            "tests/python/chat_template/test_expressions.py",
        ),
        (
            "tests/python/chat_template/templates/brackets.jinja",
            "tests/python/chat_template/test_templates.py",
        ),
        ("tests/data/tatoeba-en-fr/valid.tsv", "tests/python/grammar/test_grammars.py"),
        ("tests/package/main.cc", "tests/end_to_end/test_installed.py"),
        ("tests/cpp/tokenizer/tokenize_lines.cc", "tests/python/tokenizer/test_marian.py"),
        ("examples/histogram/main.cc", "tests/end_to_end/test_examples.py"),
        ("CMakePresets.json", "tests/end_to_end/test_examples.py"),
        ("tools/xgrammar.patch", "tests/python/grammar/test_grammars.py"),
        ("tools/requirements.txt", "tests/python/export/test_contract.py"),
    ],
)
def test_a_change_of_what_is_no_source_of_a_test_reaches_it(file: str, test: str) -> None:
    assert ROOT / file in _files(ROOT / test)


def test_a_test_in_cpp_reaches_none_in_python() -> None:
    test = ROOT / "tests/cpp/tokenizer/damage_test.cc"
    assert test.is_file()
    assert not [p for p in ROOT.glob("tests/python/tokenizer/test_*.py") if test in _files(p)]


def test_what_is_built_is_no_ingredient() -> None:
    for path in (ROOT / "tests/end_to_end").glob("test_*.py"):
        built = [file for file in _files(path) if file.is_relative_to(ROOT / "build")]
        assert not built, path


def test_programs_are_built_for_the_tests_that_run_them() -> None:
    def needed(test: str) -> set[str]:
        return set(programs.needed(ROOT / test))

    assert needed("tests/python/export/test_contract.py") == set()
    assert needed("tests/python/tokenizer/test_marian.py") == {"test_programs"}
    assert needed("tests/end_to_end/test_examples.py") >= {"test_programs", "example_histogram"}
    assert needed("tests/end_to_end/test_readme.py") >= {"polystate_installed"}


def test_data_of_a_folder_are_files_of_its_program() -> None:
    program = ROOT / "build/asan/tests/cpp/artifact/artifact_test"
    assert ROOT / "tests/cpp/artifact/data/reference.npz" in cpp_tests._files(program)


def test_few_files_are_divided_unless_they_empty_a_folder() -> None:
    few = [ROOT / LAYERS, ROOT / WHERE_TO_ADD]
    installed = ROOT / "tests/end_to_end/test_installed.py"
    assert _distribution(few, 2) == "worksteal"
    assert _distribution([*few, installed], 2) == "loadfile"
    assert _distribution(few * 20, 2) == "loadfile"


def test_a_change_of_a_page_reaches_the_tests_that_run_what_it_prints(memory: Memory) -> None:
    changed(memory, "README.md")
    assert "tests/end_to_end/test_readme.py" in selected(memory)


def test_what_takes_too_long_is_sampled_where_it_is_near_and_left_where_it_is_far(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(name: str, distance: int, count: int) -> _Reached:
        tests = {f"{name}::{i}": 1.0 for i in range(count)}
        return _Reached(ROOT / name, ["some.py"], distance, 0, tests)

    files = [reached("far", 4, 5), reached("near", 2, 100), reached("own", 0, 10)]
    monkeypatch.setattr(python_tests, "_reached", lambda _: files)
    selection = select(memory, 40)
    assert [file.path.name for file in selection.whole] == ["own"]
    assert len(selection.parts) == 30
    assert all(name.startswith("near::") for name in selection.parts)
    assert [file.path.name for file in selection.left] == ["near", "far"]


def test_what_failed_is_selected_again(memory: Memory) -> None:
    memory.forget("tests/python/test_layers.py")
    assert selected(memory) == ["tests/python/test_layers.py"]


def test_of_what_never_ran_the_committed_files_count_as_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "_not_committed", lambda: frozenset({"README.md"}))
    memory = Memory.open(tmp_path / "check.json")
    assert memory.changes("new", [ROOT / "README.md", ROOT / "CHANGELOG.md"]) == ["README.md"]
    assert memory.changes("new", [ROOT / "CHANGELOG.md"]) == []


def test_a_memory_is_read_as_it_was_written_and_empty_where_it_is_damaged(
    tmp_path: Path,
) -> None:
    memory = Memory.open(tmp_path / "check.json")
    memory.note("a", [ROOT / "README.md"])
    memory.seconds["a::b"] = 2.5
    memory.save()
    assert Memory.open(memory.path) == memory
    assert memory.changes("a", [ROOT / "README.md"]) == []
    assert memory.changes("a", [ROOT / "CHANGELOG.md"]) == ["CHANGELOG.md", "README.md"]
    memory.path.write_text("{")
    assert Memory.open(memory.path) == Memory(memory.path)


def test_what_changed_while_all_tests_ran_does_not_count_as_passed(tmp_path: Path) -> None:
    checks, begun = all_begun(tmp_path)
    memory = Memory(Path("memory"), {"b": {"y": "0"}})
    (tmp_path / "y").write_text("2")
    replaced = tmp_path / "z.new"
    replaced.write_text("1")
    os.utime(replaced, ns=(0, 0))
    replaced.rename(tmp_path / "z")
    memory.note_unchanged(checks, begun)
    assert memory.files == {"a": {"x": hashlib.sha256(b"1").hexdigest()}, "b": {"y": "0"}}


def test_nothing_counts_as_passed_if_a_file_was_removed_while_all_tests_ran(
    tmp_path: Path,
) -> None:
    checks, begun = all_begun(tmp_path)
    memory = Memory(Path("memory"))
    (tmp_path / "y").unlink()
    memory.note_unchanged(checks, begun)
    assert memory.files == {}


def all_begun(folder: Path) -> tuple[dict[str, frozenset[Path]], Path]:
    """Returns checks of a file each, and the list that is written when all tests begin."""
    files = [folder / name for name in "xyz"]
    for file in files:
        file.write_text("1")
    time.sleep(0.02)  # the system's clock for files ticks each 4 milliseconds
    begun = folder / "begun"
    begun.write_text("".join(f"{file}\n" for file in files))
    time.sleep(0.02)
    return {name: frozenset([file]) for name, file in zip("abc", files, strict=True)}, begun


LAYERS, WHERE_TO_ADD = (f"tests/python/test_{name}.py" for name in ("layers", "where_to_add"))


def case(name: str, result: str = "") -> str:
    """A test of the file that sees layers, in a report."""
    return (
        f'<testcase classname="tests.python.test_layers" name="{name}" time="1">{result}</testcase>'
    )


OTHER = case("a").replace("test_layers", "test_where_to_add")
BROKEN = '<testcase classname="" name="tests.python.test_where_to_add" time="0"><error/></testcase>'


@pytest.mark.parametrize(
    ("cases", "status", "passed"),
    [
        ([case("a"), OTHER], 0, [LAYERS, WHERE_TO_ADD]),
        ([case("a")], 0, [LAYERS, WHERE_TO_ADD]),  # of the other, no test was chosen
        ([case("a"), case("b", "<failure/>"), OTHER], 1, [WHERE_TO_ADD]),
        ([case("a"), BROKEN], 1, [LAYERS]),
        ([case("a")], 1, [LAYERS]),
        ([*(case(str(i), "<failure/>") for i in range(5)), OTHER], 1, []),  # where pytest stops
        ([case("a"), OTHER], 2, []),
        ([], 3, []),
    ],
)
def test_what_ran_to_its_end_and_did_not_fail_counts_as_passed(
    tmp_path: Path, cases: list[str], status: int, passed: list[str]
) -> None:
    memory, report = Memory(tmp_path / "check.json"), tmp_path / "report.xml"
    if cases:
        report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    names = (LAYERS, WHERE_TO_ADD)
    for name in names:
        memory.files[name] = {"gone.py": "digest"}
    files = [_Reached(ROOT / name, ["gone.py"], 0, 0, {}) for name in names]
    python_tests.note(Selection(files, {}, []), memory, report, status)
    assert [name for name in names if not memory.changes(name, _files(ROOT / name))] == passed
    assert not [
        test for test in memory.seconds if test.endswith("::tests.python.test_where_to_add")
    ]


def test_tests_that_are_no_more_are_forgotten(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{case('a')}</testsuite></testsuites>")
    memory = Memory(
        tmp_path / "check.json", seconds={f"{LAYERS}::gone": 1, f"{WHERE_TO_ADD}::b": 1}
    )
    whole = [_Reached(ROOT / LAYERS, ["gone.py"], 0, 0, {})]
    left = [_Reached(ROOT / WHERE_TO_ADD, ["gone.py"], 0, 0, {})]
    python_tests.note(Selection(whole, {}, left), memory, report, 0)
    assert memory.seconds.keys() == {f"{LAYERS}::a", f"{WHERE_TO_ADD}::b"}
    memory.seconds["tests/python/test_gone.py::a"] = 1
    select(memory, 0)
    assert memory.seconds.keys() == {f"{LAYERS}::a", f"{WHERE_TO_ADD}::b"}
