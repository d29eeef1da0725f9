"""What every command of ``polystate`` has in common."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.support.altered_artifacts import digest_of

COMMANDS = ["inspect", "run", "doctor"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("cli"))


def arguments_of(command: str, artifact: Path) -> list[object]:
    return [command, artifact, "read"] if command == "run" else [command, artifact]


def test_help_goes_to_stdout_and_fits_a_hundred_columns() -> None:
    general = polystate("--help").stdout
    subcommands = general.partition("Subcommands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(subcommands) >= 10
    for command in ([], *([line.split()[0]] for line in subcommands)):
        done = polystate(*command, "--help")
        assert (done.returncode, done.stderr) == (0, ""), command
        assert "--help" in done.stdout, command
        assert [line for line in done.stdout.splitlines() if len(line) > 100] == [], command


def test_the_version_names_polystate_and_executorch() -> None:
    done = polystate("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("polystate 0.")
    assert "ExecuTorch 1.5.1" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["inspect"],
        ["inspect", "a", "--no-such-option"],
        ["inspect", "a", "--expect-sha256", "xyz"],
        ["doctor", "a", "--threads", "0"],
        ["doctor", "a", "--threads", "many"],
        ["run", "a"],
        ["run", "a", "step", "--input", "x"],
        ["run", "a", "step", "--input", "=3"],
        ["run", "a", "step", "--output", "out.txt"],
        ["run", "a", "step", "--output", "out.npz", "--json"],
    ],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str]) -> None:
    done = polystate(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("polystate: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_an_artifact_that_is_missing_is_a_bad_artifact(command: str, tmp_path: Path) -> None:
    done = polystate(*arguments_of(command, tmp_path / "nowhere"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "nowhere" in done.stderr


def test_doctor_says_so_in_its_first_step(tmp_path: Path) -> None:
    done = polystate("doctor", tmp_path / "nowhere")
    assert done.returncode == 3
    assert "artifact  FAILED" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_changed_byte_is_noticed_unless_the_artifact_is_trusted(
    command: str, toy: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "toy"
    subprocess.run(["cp", "-r", toy, damaged], check=True)
    golden = damaged / "golden.npz"
    content = bytearray(golden.read_bytes())
    content[len(content) // 2] ^= 1
    golden.write_bytes(content)
    assert polystate(*arguments_of(command, damaged)).returncode == 3
    if command != "doctor":  # which reads the damaged file
        assert polystate(*arguments_of(command, damaged), "--trusted").returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_digest_pins_the_artifact(command: str, toy: Path) -> None:
    arguments = arguments_of(command, toy)
    assert polystate(*arguments, "--expect-sha256", digest_of(toy)).returncode == 0
    refused = polystate(*arguments, "--expect-sha256", "0" * 64)
    assert refused.returncode == 3
    assert digest_of(toy) in refused.stdout + refused.stderr


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_error(command: str, form: list[str], toy: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = polystate(*arguments_of(command, toy), *form, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [*COMMANDS, "--help"])
def test_a_full_disk_is_an_error(command: str, toy: Path) -> None:
    arguments = [command] if command == "--help" else arguments_of(command, toy)
    with Path("/dev/full").open("w") as full:
        done = polystate(*arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "polystate: cannot write to standard output: No space left on device\n"


def test_a_closed_standard_output_is_an_error_and_no_file_gets_the_results(toy: Path) -> None:
    shell = f"'{POLYSTATE}' inspect '{toy}' >&-"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot write to standard output" in done.stderr


def test_messages_cannot_control_the_terminal(tmp_path: Path) -> None:
    done = polystate("inspect", tmp_path / "a\x1b[2Jb")
    assert done.returncode == 3
    assert "\x1b" not in done.stderr
