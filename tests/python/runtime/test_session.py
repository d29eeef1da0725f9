from __future__ import annotations

import copy
import errno
import pickle
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps

ONES = [[1.0, 1.0, 1.0, 1.0]]
INITIAL = [1, 2, 3, 4]


def total(session: ps.Session) -> list[float]:
    values: list[float] = session.run("get")[0].tolist()
    return values


def test_sessions_of_one_model_have_states_of_their_own(model: ps.Model) -> None:
    first, second = model.session(), model.session()
    first.run("add", ONES)
    assert total(first) == [2, 3, 4, 5]
    assert total(second) == INITIAL


def test_reset_brings_the_initial_values_back(session: ps.Session) -> None:
    session.run("add", ONES)
    session.run("count", 5)
    session.reset()
    assert total(session) == INITIAL
    assert session.state["calls"] == 0


def test_a_snapshot_is_restored_also_in_another_session(model: ps.Model) -> None:
    first, second = model.session(), model.session()
    first.run("add", ONES)
    snapshot = first.snapshot()
    first.run("add", ONES)
    first.restore(snapshot)
    second.restore(snapshot)
    assert total(first) == total(second) == [2, 3, 4, 5]


def test_a_snapshot_of_another_model_is_refused(session: ps.Session, echo: Path) -> None:
    with pytest.raises(ps.ContractError):
        session.restore(ps.load(echo).session().snapshot())
    with pytest.raises(ps.ContractError, match="a dict is no Snapshot"):
        session.restore({})  # type: ignore[arg-type]


def test_a_saved_state_is_loaded_also_in_another_session(model: ps.Model, tmp_path: Path) -> None:
    first, second = model.session(), model.session()
    first.run("add", ONES)
    first.save(tmp_path / "state")
    first.run("add", ONES)
    second.load(str(tmp_path / "state"))
    assert total(first) == [3, 4, 5, 6]
    assert total(second) == [2, 3, 4, 5]


def test_a_damaged_state_file_is_refused_and_the_state_stays(
    session: ps.Session, tmp_path: Path
) -> None:
    session.run("add", ONES)
    session.save(tmp_path / "state")
    whole = (tmp_path / "state").read_bytes()
    for damaged in (whole[:-1], whole[:7], b"", whole + b"x", whole[:-9] + b"x" + whole[-8:]):
        (tmp_path / "state").write_bytes(damaged)
        with pytest.raises(ps.ArtifactError):
            session.load(tmp_path / "state")
    assert total(session) == [2, 3, 4, 5]


def test_another_models_state_file_is_refused(
    session: ps.Session, echo: Path, tmp_path: Path
) -> None:
    ps.load(echo).session().save(tmp_path / "state")
    with pytest.raises(ps.ContractError):
        session.load(tmp_path / "state")


def test_a_missing_state_file_is_an_io_error(session: ps.Session, tmp_path: Path) -> None:
    with pytest.raises(ps.IoError, match="absent") as failure:
        session.load(tmp_path / "absent")
    assert isinstance(failure.value, OSError)
    assert str(failure.value) == f"cannot open '{tmp_path / 'absent'}': No such file or directory"


def test_an_io_error_says_its_message_alone() -> None:
    assert str(ps.IoError("cannot read 'x'")) == "cannot read 'x'"
    assert str(ps.IoError(errno.EACCES, "cannot write 'x'")) == "cannot write 'x'"
    assert ps.IoError(errno.EACCES, "cannot write 'x'").errno == errno.EACCES
    assert str(ps.IoError()) == ""


def test_a_newer_state_file_is_unsupported(session: ps.Session, tmp_path: Path) -> None:
    session.save(tmp_path / "state")
    saved = bytearray((tmp_path / "state").read_bytes())
    saved[8] = 2
    (tmp_path / "state").write_bytes(saved)
    with pytest.raises(ps.UnsupportedError, match="made by a newer polystate"):
        session.load(tmp_path / "state")


def test_a_saved_session_keeps_mode_and_link(session: ps.Session, tmp_path: Path) -> None:
    (tmp_path / "state").touch(mode=0o600)
    (tmp_path / "link").symlink_to("state")
    session.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "state").stat().st_mode & 0o7777 == 0o600
    session.load(tmp_path / "state")


def test_state_is_a_mapping_of_copies(session: ps.Session) -> None:
    assert list(session.state) == ["total", "calls", "scale", "matrix"]
    assert len(session.state) == 4
    assert "total" in session.state and "weight" not in session.state
    session.state["total"] += 100
    assert total(session) == [101, 102, 103, 104]
    read = session.state["total"]
    read += 100
    assert total(session) == [101, 102, 103, 104]
    assert dict(session.state.items())["calls"] == 0


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("total", torch.tensor([5.0, 6.0, 7.0, 8.0]), [5, 6, 7, 8]),
        ("total", np.arange(8, dtype=np.float32)[::2], [0, 2, 4, 6]),
        ("total", [0.5, 1, 2, 3], [0.5, 1, 2, 3]),
        ("calls", 7, 7),
        ("scale", [0.5, 4], [0.5, 4]),
    ],
)
def test_assigning_writes_state(session: ps.Session, name: str, value: Any, expected: Any) -> None:
    session.state[name] = value
    assert session.state[name].tolist() == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total", torch.zeros(4, dtype=torch.float64)),
        ("total", torch.zeros(5)),
        ("total", 0.0),
        ("total", None),
        ("calls", 0.5),
        ("calls", [1]),
    ],
)
def test_state_of_another_dtype_or_shape_is_refused_by_name(
    session: ps.Session, name: str, value: Any
) -> None:
    with pytest.raises(ps.ContractError, match=f"state '{name}'"):
        session.state[name] = value
    assert total(session) == INITIAL


def test_an_unknown_state_is_named_and_is_a_missing_key(session: ps.Session) -> None:
    with pytest.raises(ps.ContractError, match=r"no state is named 'totl': there are \['total', "):
        session.state["totl"] = 1
    with pytest.raises(KeyError):
        session.state["totl"]
    assert session.state.get("totl") is None


def test_a_profile_is_bytes_of_the_calls_since_the_last_one(model: ps.Model) -> None:
    session = model.session(profile=True)

    def profile_of(calls: int) -> bytes:
        for _ in range(calls):
            session.run("add", ONES)
        return session.take_profile()

    first = profile_of(1)  # with the loading of the methods
    assert isinstance(first, bytes)
    one, three = profile_of(1), profile_of(3)
    assert 100 < len(one) == len(profile_of(1)) < len(first)
    assert len(three) > 2 * len(one)


def test_a_session_that_does_not_profile_has_no_profile(session: ps.Session) -> None:
    with pytest.raises(ps.ContractError):
        session.take_profile()


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_pickling_and_copying_are_refused_with_a_way_out(
    model: ps.Model, session: ps.Session, take: Any
) -> None:
    with pytest.raises(ps.UnsupportedError, match=r"a Model cannot be pickled .* load '.*toy'"):
        take(model)
    with pytest.raises(ps.UnsupportedError, match=r"a Session cannot be pickled .* save"):
        take(session)
    with pytest.raises(ps.UnsupportedError, match=r"a Snapshot cannot be pickled .* Session\.save"):
        take(session.snapshot())


SAVER = """
import sys
import polystate as ps
session = ps.load(sys.argv[1]).session()
for count in range(1_000_000):
    session.state["matrix"] = session.state["matrix"] * 0 + count
    session.save(sys.argv[2])
    if count == 0:
        print("ready", flush=True)
"""


def test_a_killed_process_leaves_the_old_state_file_or_the_new_one(
    toy: Path, session: ps.Session, tmp_path: Path, subprocess_environment: dict[str, str]
) -> None:
    chance = random.Random(0)
    for _ in range(15):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVER, toy, tmp_path / "state"],
            stdout=subprocess.PIPE,
            env=subprocess_environment,
        )
        assert saver.stdout is not None and saver.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * 0.05)
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        session.load(tmp_path / "state")
        assert len(session.state["matrix"].unique()) == 1


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """A limit on the size of a file, which fails writes as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_state_file(
    session: ps.Session, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    session.save(tmp_path / "state")
    before = (tmp_path / "state").read_bytes()
    session.run("add", ONES)
    request.getfixturevalue("small_files_only")
    with pytest.raises(ps.IoError) as failure:
        session.save(tmp_path / "state")
    assert "state" in str(failure.value)
    assert (tmp_path / "state").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert total(session) == [2, 3, 4, 5]
