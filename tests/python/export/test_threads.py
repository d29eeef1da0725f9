"""Exports change PyTorch for all threads, so that they wait for one another."""

import threading

from torch import nn

from polystate.export.program import surroundings


def test_exports_of_several_threads_wait_for_one_another():
    begun = threading.Event()

    def export():
        with surroundings(nn.Linear(1, 1), None):
            begun.set()

    thread = threading.Thread(target=export)
    with surroundings(nn.Linear(1, 1), None):
        thread.start()
        assert not begun.wait(0.2)
    thread.join(60)
    assert begun.is_set()
