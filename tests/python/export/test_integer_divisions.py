"""Remainders of negative integers are PyTorch's in the lowered program."""

import pytest
import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime

from polystate.export.lowering.integer_divisions import rewrite_integer_divisions

DIVIDENDS = torch.tensor([-7, -1, 7, 1, -6, 6, 0])
DIVISORS = torch.tensor([3, 3, -3, -3, 3, -3, 5])


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def lowered(function, *args):
    """A function's result as ExecuTorch computes it."""
    program = torch.export.export(Module(function), args).run_decompositions({})
    rewrite_integer_divisions(program)
    program.validate()
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer)
    return method.load_method("forward").execute(list(args))[0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a % b,
        lambda a, b: a % 3 + b,
        lambda a, b: torch.remainder(-5, b) + a,
        lambda a, b: torch.cond(a.sum() < 9, lambda a, b: a % b, lambda a, b: a * b, (a, b)),
    ],
    ids=["of tensors", "by a number", "of a number", "in a branch"],
)
def test_a_remainder_takes_the_sign_of_the_divisor(function, dtype):
    a, b = DIVIDENDS.to(dtype), DIVISORS.to(dtype)
    assert torch.equal(lowered(function, a, b), function(a, b))


@pytest.mark.parametrize("number", [-7, -5, -1, 0, 3, 7])
def test_the_remainder_of_a_number_read_from_a_tensor_takes_the_sign_of_the_divisor(number):
    def function(k):
        i = k.item()
        torch._check(i > -100)
        torch._check(i < 100)
        return torch.full((2,), i % 5)

    assert lowered(function, torch.tensor(number)).tolist() == [number % 5] * 2
