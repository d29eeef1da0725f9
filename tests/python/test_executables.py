"""How tests find the programs of the C++ build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.executables import executable


def test_a_program_is_found_in_the_build_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reckon").touch()
    monkeypatch.setenv("POLYSTATE_TEST_BUILD", str(tmp_path))
    assert executable("reckon") == tmp_path / "reckon"


@pytest.mark.parametrize(
    ("target", "built"), [(None, "reckon"), ("example_reckon", "example_reckon")]
)
def test_a_missing_program_fails_a_test_with_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str | None, built: str
) -> None:
    monkeypatch.setenv("POLYSTATE_TEST_BUILD", str(tmp_path))
    with pytest.raises(pytest.fail.Exception) as failed:
        executable("tests/reckon", target)
    program, command = tmp_path / "tests/reckon", f"cmake --build {tmp_path} --target {built}"
    assert str(failed.value) == f"there is no {program}: `{command}` builds it"


def test_a_missing_program_of_the_developer_build_is_built_by_its_preset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("POLYSTATE_TEST_BUILD", raising=False)
    command = "cmake --preset dev && cmake --build --preset dev --target reckon"
    with pytest.raises(pytest.fail.Exception, match=f"build/dev/tests/reckon: `{command}`"):
        executable("tests/reckon")
