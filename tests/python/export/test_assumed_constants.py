"""What a marked function returns is a constant, for the values of the examples alone."""

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.tracing.assumed_constants import with_assumed_constants
from polystate.export.tracing.eager import EagerModule

X = torch.arange(24.0).reshape(6, 4)
LAST = torch.zeros(6, 4)


@torch.compiler.assume_constant_result
def half(count):
    return int(count) // 2


class Marked(nn.Module):
    @torch.compiler.assume_constant_result
    def rows(self, count):
        return int(count)

    def forward(self, x, count):
        return x[: self.rows(count)] * half(count)


def test_an_unmarked_method_is_called_as_it_is():
    model = nn.ReLU()
    assert with_assumed_constants(EagerModule(model), model.forward, (X,), {}) == model.forward


def test_a_program_has_the_constant_and_refuses_other_values(tmp_path):
    methods = {"forward": ps.Method("forward", (X, torch.tensor(3)))}
    model = Marked()
    program = ps.export(model, methods, backend="portable", draws=ps.Draws(count=2))
    session = ps.load(program.save(tmp_path / "artifact")).session()
    (found,) = session.run("forward", X + 1, torch.tensor(3))
    torch.testing.assert_close(torch.as_tensor(found), model(X + 1, torch.tensor(3)))
    with pytest.raises(ps.ContractError, match="is called with other values than the example's"):
        session.run("forward", X, torch.tensor(4))
    torch.testing.assert_close(model(X, torch.tensor(4)), X[:4] * 2)  # the module is as it was


class Remembering(nn.Module):
    def forward(self, x, count):
        global LAST
        y = x * half(count) + LAST
        LAST = x * 1
        return y


def test_a_method_that_sets_a_global_is_refused_beside_a_marked_function_too():
    methods = {"forward": ps.Method("forward", (X, torch.tensor(3)))}
    with pytest.raises(ps.ExportError, match="method 'forward' cannot be exported"):
        ps.export(Remembering(), methods, backend="portable")
