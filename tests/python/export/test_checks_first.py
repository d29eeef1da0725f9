"""For AOTInductor, states that change in part before a check are changed in copies."""

import pytest
import torch
from torch import nn

from polystate.export.lowering.checks_first import write_after_checks
from tests.python.export.programs import trace

X = torch.ones(4, 6)


class Caches(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(10, 6))
        self.register_buffer("other", torch.zeros(10, 6))


def checks_later(self, x):
    self.cache[0] = x[0]
    self.other.add_(1)
    torch._assert_async(self.cache.sum() < 100, "too much")
    return x * 2


def checks_before(self, x):
    torch._assert_async(x.sum() < 100, "too much")
    self.cache[0] = x[0]
    self.other.add_(1)
    return x * 2


# The new value of `other` waits for the check, so that it follows from what that looks at.
@pytest.mark.parametrize(
    ("forward", "copied"), [(checks_later, {"cache", "other"}), (checks_before, set())]
)
def test_a_state_is_copied_where_a_part_of_it_would_change_before_a_check(forward, copied):
    program = trace(forward, (X,), model=Caches())
    assert write_after_checks(program.functional) == copied
    program.functional.validate()
    result, state = program(X)
    assert torch.equal(result, X * 2)
    assert torch.equal(state["cache"][0], X[0])
    assert torch.equal(state["other"], torch.ones(10, 6))
