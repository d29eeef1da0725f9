"""Exports change PyTorch for all threads, so that they wait for one another."""

import threading

import pytest
import torch
from torch import nn

from polystate.export import explaining
from polystate.export.method import Method
from polystate.export.surroundings import surroundings


def begin_an_export(begun):
    """A thread that comes to where exports begin, and sets an event there."""

    def export():
        with surroundings(nn.Linear(1, 1), None):
            begun.set()

    thread = threading.Thread(target=export)
    thread.start()
    return thread


def test_exports_of_several_threads_wait_for_one_another():
    begun = threading.Event()
    with surroundings(nn.Linear(1, 1), None):
        thread = begin_an_export(begun)
        assert not begun.wait(0.2)
    thread.join(60)
    assert begun.is_set()


class NeedsValues(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize("work", ["value_spots", "try_rewrites"])
def test_what_explain_does_beside_exports_has_others_wait(work, monkeypatch):
    begun, threads = threading.Event(), []

    def begin(*_):
        threads.append(begin_an_export(begun))
        assert not begun.wait(0.2)

    monkeypatch.setattr(explaining, "value_spots", lambda *_: ())
    monkeypatch.setattr(explaining, work, begin)
    method = Method("forward", (torch.ones(2),))
    explaining.explain(
        NeedsValues(), {"forward": method}, backends=["portable"], rewrites=work == "try_rewrites"
    )
    assert len(threads) == 1
    threads[0].join(60)
    assert begun.is_set()
