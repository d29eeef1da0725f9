from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import polystate as ps


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work(0) ... work(count - 1) at once; the first exception of any is raised here."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(index: int) -> None:
        try:
            start.wait()
            work(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def results_of(session: ps.Session, seed: int, calls: int) -> list[torch.Tensor]:
    chance = torch.Generator().manual_seed(seed)
    results = []
    for _ in range(calls):
        rows = torch.randn(1 + seed % 8, 4, generator=chance)
        results += [*session.run("add", rows), *session.run("work", float(seed))]
    return results


@pytest.mark.parametrize("single_threaded", [False, True])
def test_threads_with_a_session_each_compute_what_one_thread_does(
    model: ps.Model, single_threaded: bool
) -> None:
    expected = [results_of(model.session(), seed, 30) for seed in range(8)]
    found: dict[int, list[torch.Tensor]] = {}

    def work(seed: int) -> None:
        session = model.session(single_threaded=single_threaded)
        found[seed] = results_of(session, seed, 30)

    in_threads(8, work)
    for seed in range(8):
        assert all(map(torch.equal, found[seed], expected[seed]))


def test_two_threads_on_one_session_are_told_and_never_get_a_wrong_result(
    model: ps.Model,
) -> None:
    session = model.session()
    busy = [0, 0]
    counted = [0, 0]
    done = [0, 0]
    both_met = threading.Event()

    def work(index: int) -> None:
        for _ in range(20_000):
            try:
                session.run("count", 1)
                counted[index] += 1
                assert session.run("work", 1.0)[0].shape == ()
                done[index] += 1
            except ps.BusyError:
                busy[index] += 1
            if sum(busy) > 0 and all(done):
                both_met.set()
            if both_met.is_set():
                return

    in_threads(2, work)
    assert both_met.is_set(), (busy, done)
    assert session.state["calls"] == sum(counted)
    session.reset()
    assert torch.equal(*session.run("work", 1.0)[:1], *model.session().run("work", 1.0)[:1])


def test_other_threads_run_python_while_a_session_computes(model: ps.Model) -> None:
    session = model.session()
    session.run("work", 1.0)
    ticks_while_computing = 0
    computing = threading.Event()
    finished = threading.Event()

    def compute(index: int) -> None:
        nonlocal ticks_while_computing
        if index == 0:
            for _ in range(200):
                computing.set()
                session.run("work", 1.0)
                computing.clear()
            finished.set()
        else:
            while not finished.is_set():
                ticks_while_computing += computing.is_set()

    in_threads(2, compute)
    # A thread that held the GIL throughout would let the other run at a switch interval only
    # (5 ms), and then between its own calls.
    assert ticks_while_computing > 1000


def test_sessions_keep_their_model_alive(toy: Path) -> None:
    model = ps.load(toy)
    sessions = [model.session() for _ in range(3)]
    del model
    gc.collect()
    for session in sessions:
        assert session.run("add", [[1, 1, 1, 1]])[0].tolist() == [2, 3, 4, 5]
    snapshot = sessions[0].snapshot()
    del sessions
    gc.collect()
    del snapshot


def test_a_model_is_loaded_by_many_threads_at_once(toy: Path) -> None:
    def work(index: int) -> None:
        for _ in range(3):
            session = ps.load(toy).session()
            assert session.run("add", [[index] * 4])[0].tolist() == [
                1 + index, 2 + index, 3 + index, 4 + index,
            ]  # fmt: skip

    in_threads(6, work)
