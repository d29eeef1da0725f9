"""Memory that buffers share with one another, with attributes, or among their own elements."""

import pytest
import torch
from torch import nn

from tests.python.export.state_support import Buffers, X, equals_eager, refusal


class HasAlias(Buffers):
    def __init__(self, view):
        super().__init__()
        self.alias = view(self.a)

    def read(self):
        return self.alias * 1


@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a.data, lambda a: a[1:]], ids=["tensor", "data", "part"]
)
def test_an_attribute_over_the_memory_of_a_changed_buffer_is_refused(view):
    message = refusal(HasAlias(view), add=(X,), read=())
    assert "'a', which shares memory with the attribute 'alias' of HasAlias" in message
    assert ".clone()" in message


def test_an_attribute_with_a_copy_of_a_buffer_is_a_constant(tmp_path):
    calls = [("add", X), ("read",), ("add", X), ("read",)]
    equals_eager(HasAlias(torch.clone), calls, tmp_path, add=(X,), read=())


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Buffers()
        self.again = nn.ModuleList([self.inner])

    def step(self, x):
        return self.inner.add(x)


def test_state_of_a_module_of_two_names_is_refused_as_that():
    message = refusal(Twice(), step=(X,))
    assert "changes the buffer 'again.0.a', which is also 'inner.a'" in message
    assert "are one module that is registered under two names" in message
    assert "register the module once" in message


def test_a_buffer_of_two_names_is_refused_as_that():
    model = Buffers()
    model.register_buffer("same", model.a)
    message = refusal(model, add=(X,))
    assert "'a' and 'same' are one tensor that is registered under two names" in message


class Expanded(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(1).expand(4))

    def change(self, x):
        self.a.add_(x)

    def change_element(self, x):
        self.a[0] = x[0]

    def assign(self, x):
        self.a = self.a + x


@pytest.mark.parametrize("method", ["change", "change_element", "assign"])
def test_a_changed_buffer_that_is_expanded_is_refused_by_its_name(method):
    message = refusal(Expanded(), **{method: (X,)})
    assert f"method '{method}' changes the buffer 'a', which is expanded" in message
    assert ".clone()" in message


class Overlapping(nn.Module):
    """Writes expanded views of a buffer, and over what it reads of it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(1.0, 13).reshape(4, 3))

    def add(self, x):
        self.a[:1].expand(4, 3).add_(x)

    def copy(self, x):
        self.a[:1].expand(4, 3).copy_(x + self.a)

    def shift(self, x):
        self.a[1:].copy_(self.a[:3, :1].expand(3, 3))


@pytest.mark.parametrize("method", ["add", "copy"])
def test_a_write_to_an_expanded_view_is_refused_as_in_eager(method):
    message = refusal(Overlapping(), **{method: (torch.ones(3),)})
    assert f"method '{method}' fails on its own examples" in message


def test_a_copy_that_writes_over_what_it_reads_is_refused():
    message = refusal(Overlapping(), shift=(torch.ones(3),))
    assert "buffer 'a' of the graph differs from the module's" in message


class WithGradients(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("leaf", torch.ones(4, requires_grad=True))
        self.register_buffer("computed", self.weight * 2)

    def change(self, x):
        self.leaf.add_(x)
        self.computed.mul_(self.leaf)
        return self.computed + 1

    def assign(self, x):
        self.leaf = self.leaf + x
        self.computed = self.computed * self.leaf
        return self.computed + 1


@pytest.mark.parametrize("method", ["change", "assign"])
def test_a_buffer_with_a_gradient_starts_with_its_value(tmp_path, method):
    equals_eager(WithGradients(), [(method, X), (method, X)], tmp_path, **{method: (X,)})
