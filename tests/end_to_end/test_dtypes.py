"""Values that a method writes into buffers and inputs of other types."""

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend

METHODS = ["copy", "assign_all", "assign_part", "broadcast", "branch"]


class Buffer(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("held", torch.zeros(4, dtype=dtype))

    def copy(self, x):
        self.held.copy_(x)
        return self.held.float()

    def assign_all(self, x):
        self.held[:] = x
        return self.held * 1

    def assign_part(self, x):
        self.held[1:3] = x[1:3]
        return self.held * 1

    def broadcast(self, x):
        self.held.copy_(x[0])
        return self.held * 1

    def branch(self, x):
        self.held.copy_(torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)))
        return self.held * 1

    def write_input(self, x, y):
        y.copy_(x)
        return y * 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_what_is_copied_into_a_buffer_takes_its_type_and_shape(tmp_path, backend, dtype):
    x = torch.tensor([2.7, -1.3, 0.1, 5.5])
    twins = Twins(Buffer(dtype), {n: ps.Method(n, (x,)) for n in METHODS}, tmp_path, backend)
    for name in METHODS:
        twins.call(name, x)
        twins.call(name, -3 * x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bool], ids=str)
def test_what_is_copied_into_an_input_takes_its_type(tmp_path, backend, dtype):
    x, y = torch.tensor([2.7, -1.3, 0.1, 5.5]), torch.zeros(4, dtype=dtype)
    methods = {"write_input": ps.Method("write_input", (x, y))}
    twins = Twins(Buffer(torch.float32), methods, tmp_path, backend)
    twins.call("write_input", -x, y.clone())


class Flags(nn.Module):
    """Whose bools have other bytes than 0 and 1."""

    def __init__(self):
        super().__init__()
        odd = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
        self.register_buffer("flags", odd.view(torch.bool))
        self.register_buffer("mask", odd.flip(0).view(torch.bool))

    def forward(self, x):
        before = torch.where(self.flags, 1.0, 0.0)
        self.flags.copy_(torch.where(self.flags, x > 0, False))
        return torch.where(self.mask, x, 0.0), before

    def given(self, x, chosen):
        return torch.where(chosen, x, 0.0)


def test_a_bool_of_any_byte_but_0_is_true(tmp_path, backend):
    x, model = torch.tensor([1.0, -1.0, 2.0, 3.0]), Flags()
    methods = {
        "forward": ps.Method("forward", (x,)),
        "given": ps.Method("given", (x, model.mask)),
    }
    twins = Twins(model, methods, tmp_path, backend)
    assert twins.program.state["flags"].preview == "false, true, true, true"
    masked, before = twins.call("forward", x)
    assert masked.tolist() == [1.0, -1.0, 2.0, 0.0]
    assert before.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert twins.session.state["flags"].tolist() == [False, False, True, True]
    assert model.flags.tolist() == [False, True, True, True]
