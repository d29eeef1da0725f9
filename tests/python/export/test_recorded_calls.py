"""Which calls an export records, and in which state."""

from types import SimpleNamespace

import torch

from polystate.artifact.manifest import Input, Method
from polystate.export.tracing.eager import Outcome
from polystate.export.verification.golden import record
from polystate.export.verification.twins import Agreed, Call, LeftOut

METHOD = Method(
    name="step",
    symbols=[],
    inputs=[Input("x", "float32", [2])],
    outputs=[],
    guards=[],
    checks=[],
    reads=[],
    writes=[],
    atomic=True,
    checks_first=True,
    activation_bytes=0,
)


class Counting:
    """A module and a program whose calls count up one number."""

    def __init__(self, results):
        self.eager = self
        self.count = self.programs_count = 0
        self._results = iter(results)

    def buffers(self):
        return {"count": torch.tensor(self.count)}

    def set_buffers(self, values):
        self.count = int(values["count"])

    def copy_state(self):
        self.programs_count = self.count

    def call_example(self, call, *, is_given):
        self.count += 1
        self.programs_count += 1
        return next(self._results)

    def method(self, name):
        return METHOD


def test_a_call_that_is_left_out_leaves_the_state_of_those_that_are_recorded():
    x = torch.ones(2)
    agreed = Agreed(Outcome([], [x], {}))
    twins = Counting([agreed, LeftOut("rounding", has_run=True), agreed])
    call = Call(SimpleNamespace(name="step"), "at its example", (x,), {})
    assert [name for name, _ in record(twins, [call] * 3, None)] == ["step", "step"]
    assert twins.count == twins.programs_count == 2
