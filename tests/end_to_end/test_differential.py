"""Random calls on generated modules do the same in eager PyTorch and on a session."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.end_to_end.generated_modules import COLUMNS, MAX_BATCH, ROWS, Generated, methods
from tests.end_to_end.twins import BACKENDS, Twins

SEEDS = [*range(30), 36, 58]  # the last two took what the others did not
SAMPLED = {0: "xnnpack", 1: "portable", 36: "xnnpack", 58: "portable"}
SEQUENCES = 9  # a module and backend

calls = st.tuples(
    st.just("call"),
    st.integers(0, 3),
    st.sampled_from([1, MAX_BATCH // 2, MAX_BATCH]),
    st.integers(0, ROWS - 1),
    st.integers(0, 2**31),
)
events = st.one_of(
    calls,
    calls,
    calls,
    st.tuples(st.sampled_from(["reset", "snapshot", "restore", "save", "load", "write"])),
)


class Player:
    """Plays events on twins, and remembers what the eager twin had when state was kept."""

    def __init__(self, twins, directory):
        self.twins, self.file = twins, directory / "session"
        self.kept = self.snapshot = self.saved = None
        twins.start()

    def call(self, method, batch, index, seed):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(batch, COLUMNS, generator=generator)
        self.twins.call(f"method_{method}", x, torch.tensor([index]))

    def reset(self):
        self.twins.session.reset()
        self.twins.eager = copy.deepcopy(self.twins.initial)

    def snapshot_(self):
        self.snapshot, self.kept = self.twins.session.snapshot(), copy.deepcopy(self.twins.eager)

    def restore(self):
        if self.snapshot is not None:
            self.twins.session.restore(self.snapshot)
            self.twins.eager = copy.deepcopy(self.kept)

    def save(self):
        self.twins.session.save(self.file)
        self.saved = copy.deepcopy(self.twins.eager)

    def load(self):
        if self.saved is not None:
            self.twins.session = self.twins.model.session()
            self.twins.session.load(self.file)
            self.twins.eager = copy.deepcopy(self.saved)

    def write(self):
        if "a" in self.twins.session.state:
            value = torch.randn(ROWS, COLUMNS)
            self.twins.session.state["a"] = value
            self.twins.eager.a.copy_(value)


def cases():
    for seed in SEEDS:
        for backend in BACKENDS:
            marks = [] if SAMPLED.get(seed) == backend else [pytest.mark.exhaustive]
            yield pytest.param(seed, backend, marks=marks)


@pytest.mark.parametrize(("seed", "backend"), [*cases()])
def test_a_random_sequence_of_calls_equals_eager(seed, backend, tmp_path):
    twins = Twins(Generated(seed), methods(), tmp_path, backend)

    @settings(max_examples=SEQUENCES)
    @given(st.lists(events, min_size=3, max_size=20))
    def play(sequence):
        player = Player(twins, tmp_path)
        for kind, *arguments in sequence:
            getattr(player, "snapshot_" if kind == "snapshot" else kind)(*arguments)
            twins.compare_state()

    play()
