"""``polystate run``."""

from __future__ import annotations

import json
import math
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

from tests.end_to_end import toy as toys
from tests.end_to_end.command_line import POLYSTATE, polystate
from tests.end_to_end.toy import Toy


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.toy(tmp_path_factory.mktemp("run"))


def answer(*arguments: object) -> list[dict[str, Any]]:
    done = polystate("run", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    calls: list[dict[str, Any]] = json.loads(done.stdout)["calls"]
    return calls


def refusal(*arguments: object) -> str:
    done = polystate("run", *arguments)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("polystate: ")
    return done.stderr


def test_literals_take_the_inputs_dtypes_and_outputs_are_readable(toy: Path) -> None:
    done = polystate("run", toy, "step", "-i", "x=[[1,2,3],[4,5,6]]", "-i", "position=[0]")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("0: float32 [2, 3]\n[[ 2,  4,  6],\n [ 8, 10, 12]]\n1: int64 []\n3\n")


def test_files_and_literals_may_be_mixed_and_come_in_any_order(toy: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "both.npz", position=np.array([2]), other=np.ones(3))
    arguments = ["--input", f"position={tmp_path}/both.npz", "--input", f"x={tmp_path}/x.npy"]
    (call,) = answer(*arguments, toy, "step")
    np.testing.assert_array_equal(np.float32(call["outputs"][0]["values"]), x * 2)


def test_an_npz_file_gives_all_inputs_by_name(toy: Path, tmp_path: Path) -> None:
    x = np.ones((1, 3), dtype=np.float32)
    np.savez(tmp_path / "inputs.npz", x=x, position=np.array([3]))
    (call,) = answer(toy, "step", "--input", tmp_path / "inputs.npz")
    assert call["outputs"][0]["values"] == [[2.0, 2.0, 2.0]]


def test_several_calls_share_one_state(toy: Path) -> None:
    x = "x=[[1,2,3]]"
    calls = answer(
        toy, "step", "-i", x, "-i", "position=[1]",
        "--call", "step", "--input", x, "--input", "position=[3]",
        "--call", "read",
    )  # fmt: skip
    eager = Toy()
    for position in (1, 3):
        eager.step(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([position]))
    assert [call["method"] for call in calls] == ["step", "step", "read"]
    assert calls[1]["outputs"][1]["values"] == 4
    assert calls[2]["outputs"][0]["values"] == eager.read().tolist()


def test_a_mutated_input_comes_back_under_its_name(toy: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.array([1, 2, 3], dtype=np.float32))
    call = ["double", "--input", f"data={tmp_path}/data.npy"]
    (result,) = answer(toy, *call)
    assert result["outputs"][0]["values"] == 12
    assert result["written"] == [
        {"name": "data", "dtype": "float32", "shape": [3], "values": [2, 4, 6]}
    ]
    assert polystate("run", toy, *call, "--output", tmp_path / "out.npz").stdout == ""
    with np.load(tmp_path / "out.npz") as file:
        assert set(file) == {"0", "data"}
        np.testing.assert_array_equal(file["data"], np.float32([2, 4, 6]))
    np.testing.assert_array_equal(np.load(tmp_path / "data.npy"), np.float32([1, 2, 3]))


def test_the_outputs_of_several_calls_are_numbered(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    done = polystate("run", toy, "read", "--call", "double", "-i", "data=[1,1,1]", "-o", out)
    assert done.returncode == 0, done.stderr
    with np.load(out) as file:
        assert set(file) == {"call_000/0", "call_001/0", "call_001/data"}


def test_an_npy_file_takes_one_tensor_and_no_more(toy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert polystate("run", toy, "read", "--output", out).returncode == 0
    np.testing.assert_array_equal(np.load(out), np.zeros((4, 3), np.float32))
    message = refusal(toy, "double", "-i", "data=[1,2,3]", "-o", tmp_path / "two.npy")
    assert "one tensor" in message
    assert not (tmp_path / "two.npy").exists()


def test_bfloat16_is_a_number_in_literals_and_bits_in_files(toy: Path, tmp_path: Path) -> None:
    (call,) = answer(toy, "brain", "--input", "x=[0.5, -3]")
    assert call["outputs"] == [
        {"name": "0", "dtype": "bfloat16", "shape": [2], "values": [1.5, -2.0]}
    ]
    np.save(tmp_path / "x.npy", np.array([0x3F00, 0xC040], dtype=np.uint16))
    out = tmp_path / "out.npy"
    done = polystate("run", toy, "brain", "--input", f"x={tmp_path}/x.npy", "--output", out)
    assert done.returncode == 0, done.stderr
    assert np.load(out).tolist() == [0x3FC0, 0xC000]


def test_nan_and_the_infinities_are_words_in_json(toy: Path) -> None:
    (call,) = answer(toy, "odd_values", "--input", "x=[2, -2, 0]")
    assert call["outputs"][0]["values"] == ["inf", "-inf", "nan"]
    assert call["outputs"][1]["values"] == [True, False, False]
    (call,) = answer(toy, "odd_values", "--input", "x=[nan, inf, 0.1]")
    assert call["outputs"][0]["values"] == ["nan", "inf", "inf"]


def test_a_session_goes_on_where_it_was_saved(toy: Path, tmp_path: Path) -> None:
    session = tmp_path / "session.bin"
    x = np.array([[1, 2, 3]], dtype=np.float32)
    step = ["step", "-i", "x=[[1,2,3]]", "-i", "position=[2]"]
    first = polystate("run", toy, *step, "--save-session", session)
    assert first.returncode == 0, first.stderr
    (call,) = answer(toy, "read", "--session", session)
    np.testing.assert_array_equal(np.float32(call["outputs"][0]["values"])[2:3], x)
    (call,) = answer(toy, *step, "--session", session, "--save-session", session)
    assert call["outputs"][1]["values"] == 4


def test_a_damaged_session_file_is_a_bad_input(toy: Path, tmp_path: Path) -> None:
    session = tmp_path / "session.bin"
    session.write_bytes(b"no session")
    assert "session.bin" in refusal(toy, "read", "--session", session)
    assert "missing.bin" in refusal(toy, "read", "--session", tmp_path / "missing.bin")


def test_a_profile_is_an_etdump(toy: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.etdp"
    done = polystate("run", toy, "read", "--profile", profile)
    assert done.returncode == 0, done.stderr
    recorded = deserialize_from_etdump_flatcc(profile.read_bytes())
    events = [event.profile_event for run in recorded.run_data for event in run.events or []]
    assert "Method::execute" in {event.name for event in events if event is not None}


def test_the_times_of_operators_are_told(toy: Path) -> None:
    calls = ["step", "--input", "x=[[1,2,3]]", "--input", "position=[1]", "--call", "read"]
    done = polystate("run", toy, *calls, "--times", "--json")
    assert done.returncode == 0, done.stderr
    times = json.loads(done.stdout)["times"]
    by_name = {time["name"]: time for time in times}
    assert by_name["polystate_faster::mul.out"]["calls"] == 1
    assert by_name["polystate_faster::mul.out"]["nanoseconds"] > 0
    assert times[-1]["name"] == "outside of operators"
    assert times[-1]["calls"] == 2
    operators = [time["nanoseconds"] for time in times[:-1]]
    assert operators == sorted(operators, reverse=True)
    lines = polystate("run", toy, *calls, "--times").stdout.splitlines()
    assert lines[0].split() == ["operator", "calls", "microseconds", "%"]
    assert len(lines) == len(times) + 1


def test_a_flame_graph_has_a_box_for_each_call_operator_and_instruction(
    toy: Path, tmp_path: Path
) -> None:
    flame = tmp_path / "flame.svg"
    calls = ["step", "--input", "x=[[1,2,3]]", "--input", "position=[1]", "--call", "read"]
    done = polystate("run", toy, *calls, "--flame", flame, "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["calls"]) == 2
    root = ElementTree.parse(flame).getroot()
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("1: step\n") for title in titles)
    assert any(title.startswith("2: read\n") for title in titles)
    assert any(title.startswith("polystate_faster::mul.out\n") for title in titles)
    assert all("\u00b5s" in title for title in titles)


def test_inputs_that_the_method_does_not_take_are_named(toy: Path) -> None:
    message = refusal(toy, "no_such_method")
    assert "no_such_method" in message
    assert "odd_values" in message
    message = refusal(toy, "step", "--input", "y=3")
    assert "'y'" in message
    assert "x, position" in message
    assert "'position'" in refusal(toy, "step", "--input", "x=[[1,2,3]]")
    assert "twice" in refusal(toy, "brain", "--input", "x=[1,2]", "--input", "x=[1,2]")


def test_inputs_against_the_contract_are_named_with_value_and_limit(toy: Path) -> None:
    step = [toy, "step", "--input", "x=[[1,2,3]]"]
    message = refusal(*step, "--input", "position=[4]")
    assert "position" in message
    assert "4" in message
    assert "3" in message
    message = refusal(toy, "step", "-i", f"x={[[1, 2, 3]] * 5}", "-i", "position=[0]")
    assert "5" in message
    assert "4" in message


@pytest.mark.parametrize("value", ["[1,2", "[[1],[2,3]]", "1.5e", "file.txt", "x.pt", ""])
def test_a_malformed_value_is_named_with_method_and_input(value: str, toy: Path) -> None:
    message = refusal(toy, "double", "--input", f"data={value}")
    assert "method 'double', input 0 'data'" in message


def test_a_file_that_is_no_array_is_a_bad_input(toy: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.npy"
    text.write_text("no array")
    assert "text.npy" in refusal(toy, "double", "--input", f"data={text}")
    assert "missing.npy" in refusal(toy, "double", "--input", f"data={tmp_path}/missing.npy")
    pickled = tmp_path / "pickled.npy"
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "pickled.npy" in refusal(toy, "double", "--input", f"data={pickled}")


def test_a_failed_call_writes_nothing(toy: Path, tmp_path: Path) -> None:
    message = refusal(
        toy, "read",
        "--call", "step", "--input", "x=[[1,2,3]]", "--input", "position=[9]",
        "--output", tmp_path / "out.npz",
        "--save-session", tmp_path / "session.bin",
        "--profile", tmp_path / "profile.etdp",
    )  # fmt: skip
    assert "call 2" in message
    assert list(tmp_path.iterdir()) == []


def test_where_results_cannot_be_written_the_session_stays_as_it_was(
    toy: Path, tmp_path: Path
) -> None:
    session = tmp_path / "session.bin"
    saved = ["--save-session", session]
    assert polystate("run", toy, "read", *saved).returncode == 0
    before = session.read_bytes()
    step = ["step", "-i", "x=[[1,2,3]]", "-i", "position=[2]"]
    out = tmp_path / "no_such_folder" / "out.npz"
    assert polystate("run", toy, *step, *saved, "--output", out).returncode == 1
    with Path("/dev/full").open("w") as full:
        assert polystate("run", toy, *step, *saved, stdout=full).returncode == 1
    assert session.read_bytes() == before


def test_floats_in_json_read_back_exactly(toy: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=3).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (call,) = answer(toy, "double", "--input", f"data={tmp_path}/x.npy")
    np.testing.assert_array_equal(np.float32(call["written"][0]["values"]), x * 2)
    assert math.isclose(call["outputs"][0]["values"], float((x * 2).sum()), rel_tol=1e-5)


def test_a_file_that_may_not_grow_is_an_output_that_cannot_be_written(
    toy: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.npz"
    command = f"ulimit -f 0; exec {POLYSTATE} run {toy} read -o {out}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "out.npz" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--session", ""],
        ["--save-session", ""],
        ["--profile", ""],
        ["--flame", ""],
        ["-o", "x.npz", "--save-session", "./x.npz"],
        ["--profile", "x", "--save-session", "x"],
        ["--profile", "x", "--flame", "./x"],
    ],
)
def test_files_that_cannot_be_meant_are_errors_of_usage(
    options: list[str], toy: Path, tmp_path: Path
) -> None:
    assert polystate("run", toy, "read", *options, cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_one_file_of_two_names_is_an_error_of_usage(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "x.npz").touch()
    (tmp_path / "link.npz").symlink_to("x.npz")
    (tmp_path / "y.npz").symlink_to("z.npz")  # which is not there yet
    for names in (("x.npz", tmp_path / "x.npz"), ("x.npz", "link.npz"), ("y.npz", "z.npz")):
        files = ("-o", names[0], "--save-session", names[1])
        done = polystate("run", toy, "read", *files, cwd=tmp_path)
        assert done.returncode == 2
        assert "is named for two results" in done.stderr
