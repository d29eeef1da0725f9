"""A method that gives a tensor another form is refused, and the tensor is as it was."""

import contextlib

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.tracing.eager import same_values


class Reshaping(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(4))
        self.scratch = torch.empty(0)
        self.register_buffer("filled", torch.empty(0))
        self.weight = nn.Parameter(torch.arange(4.0))
        self.square = torch.tensor([[1.0, 2.0], [2.0, 1.0]])

    def fill_attribute(self, x):
        return torch.mul(x, 2, out=self.scratch)

    def fill_buffer(self, x):
        return torch.mul(x, 2, out=self.filled)

    def unsqueeze(self, x):
        self.b.unsqueeze_(0)
        return self.b + x

    def shorten(self, x):
        self.b.data = self.b.data.half()
        return self.b + x

    def move(self, x):
        self.b.data = self.b.data + x
        return self.b * 1

    def reshape_parameter(self, x):
        self.weight.unsqueeze_(0)
        return self.weight + x

    def shorten_parameter(self, x):
        self.weight.data = self.weight.data.half()
        return self.weight + x

    def transpose(self, x):
        return self.square.t_().sum() + x


def export(model, name):
    ps.export(model, {name: ps.Method(name, (torch.ones(4),))}, backend="portable")


def forms(model):
    """What every tensor of a module is, and what it holds."""
    tensors = [*model.parameters(), *model.buffers(), model.scratch, model.square]
    return [
        (each.dtype, each.shape, each.stride(), each.data_ptr(), each.untyped_storage().nbytes())
        for each in tensors
    ], [each.tolist() for each in tensors]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fill_attribute", "changes the attribute 'scratch'"),
        ("fill_buffer", r"changes the buffer 'filled' from float32\[0\] to float32\[4\]"),
        ("unsqueeze", r"changes the buffer 'b' from float32\[4\] to float32\[1, 4\]"),
        ("shorten", r"changes the buffer 'b' from float32\[4\] to float16\[4\]"),
        ("move", r"gives the buffer 'b' other memory.*self\.b\.data = self\.b\.data \+ x"),
        ("reshape_parameter", "changes the parameter 'weight'"),
        ("shorten_parameter", "changes the parameter 'weight'"),
    ],
)
def test_a_tensor_that_gets_another_form_has_its_own_after_the_refusal(name, words):
    model = Reshaping()
    before = forms(model)
    with pytest.raises(ps.ExportError, match=words):
        export(model, name)
    assert forms(model) == before
    model.scratch.unsqueeze_(0).squeeze_(0)  # it may be changed as before
    model.b.unsqueeze_(0).squeeze_(0)


def test_strides_are_put_back_where_the_values_are_the_same():
    model = Reshaping()
    before = forms(model)
    with contextlib.suppress(ps.Error):
        export(model, "transpose")
    assert forms(model) == before


def test_tensors_of_other_forms_are_not_the_same():
    x = torch.arange(6.0)
    for other in (torch.empty(0), x[:5], x.view(2, 3), x.half(), x.double()):
        assert not same_values(x, other)
        assert not same_values(other, x)
    assert same_values(x, x.clone())
