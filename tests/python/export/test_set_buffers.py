"""Buffers that methods set to other tensors, remove or register."""

import pytest
import torch
from torch import nn

from tests.python.export.state_support import Buffers, X, equals_eager, line_of, refusal

GLOBAL = torch.ones(4)


class Sets(Buffers):
    def __init__(self, view=None):
        super().__init__()
        self.table = torch.zeros(4)
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("late", None)
        object.__setattr__(self, "view", view)

    def set_to_view(self):
        self.b = self.view(self.a)

    def set_to_input(self, x):
        self.a = x
        return self.a + 1

    def set_to_view_of_input(self, x):
        self.a = x[:]
        return self.a + 1

    def set_to_table(self, x):
        self.a = self.table
        return self.a + x

    def set_to_weight(self, x):
        self.a = self.weight.detach()
        return self.a + x

    def set_to_global(self, x):
        self.a = GLOBAL
        return self.a + x

    def set_two(self, x):
        y = x * 2
        self.a = y
        self.b = y
        return y + 1

    def previous(self, x):
        self.b = self.a
        self.a = x * 2
        return self.a + self.b

    def set_in_registry(self, x):
        self._buffers["a"] = self.a + x
        return self.a * 1

    def set_late(self, x):
        self.late = x * 1
        return x + 1

    def exchange_copies(self, x):
        self.a, self.b = self.b.clone(), self.a.clone()
        return self.a + x

    def set_to_itself(self, x):
        self.a = self.a.add_(x)[:]
        return self.a * 1

    def register_again(self, x):
        self.register_buffer("a", self.a + x)
        return self.a * 1

    def set_in_inference_mode(self, x):
        with torch.inference_mode():
            self.b = self.b * 2 + x
        return self.b * 1


VIEWS = {
    "the tensor": lambda a: a,
    "view": lambda a: a.view(4),
    "slice": lambda a: a[:],
    "detach": lambda a: a.detach(),
    "transpose": lambda a: a.t(),
    "contiguous": lambda a: a.contiguous(),
    "float": lambda a: a.float(),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_buffer_that_is_set_to_memory_of_another_is_refused(view):
    message = refusal(Sets(view), set_to_view=(), add=(X,))
    assert "method 'set_to_view' sets the buffer 'b' to memory of the buffer 'a'" in message
    assert line_of(Sets.set_to_view, "self.b =") in message
    assert "set it to a copy: self.b = (...).clone()" in message


@pytest.mark.parametrize(
    ("method", "source"),
    [
        ("set_to_input", "to memory of the input 'x'"),
        ("set_to_view_of_input", "to memory of the input 'x'"),
        ("set_to_table", "to memory of the attribute 'table' of Sets"),
        ("set_to_weight", "to memory of the parameter 'weight'"),
        ("set_to_global", "to a tensor that is kept outside of the module"),
    ],
)
def test_a_buffer_that_is_set_to_what_outlives_the_call_is_refused(method, source):
    message = refusal(Sets(), **{method: (X,)})
    assert f"method '{method}' sets the buffer 'a' {source}" in message
    assert line_of(getattr(Sets, method), "self.a =") in message
    assert "set it to a copy: self.a = (...).clone()" in message


def test_two_buffers_that_are_set_to_one_tensor_are_refused():
    message = refusal(Sets(), set_two=(X,))
    assert "sets the buffer 'a' to memory of the buffer 'b'" in message


def test_a_buffer_that_gets_the_tensor_of_another_is_refused_with_a_rewrite():
    message = refusal(Sets(), previous=(X,))
    assert "sets the buffer 'b' to memory of the buffer 'a'" in message
    assert line_of(Sets.previous, "self.b =") in message
    assert "self.a = self.b.clone()" in message


def test_a_buffer_that_is_set_in_a_modules_registry_is_refused():
    message = refusal(Sets(), set_in_registry=(X,))
    assert "sets the buffer 'a' in a module's _buffers" in message
    assert "self.a = ..." in message


class Halves(Buffers):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(2, 4))
        self.register_buffer("c", torch.ones(2, 4))

    def step(self, x):
        gates = torch.cat([self.h + x, self.c * 2 + 1], -1)
        self.h, self.c = gates.chunk(2, -1)
        return self.h * 1

    def overlapping(self, x):
        gates = torch.cat([self.h + x, self.c * 2 + 1], -1)
        self.h, self.c = gates[:, :4], gates[:, 3:7]
        return self.h * 1


def test_buffers_may_be_set_to_columns_of_one_matrix(tmp_path):
    x = torch.arange(8.0).reshape(2, 4)
    calls = [("step", x), ("step", x * 2), ("step", x)]
    equals_eager(Halves(), calls, tmp_path, step=(x,))


def test_buffers_that_are_set_to_overlapping_columns_are_refused():
    message = refusal(Halves(), overlapping=(X,))
    assert "sets the buffer 'c' to memory of the buffer 'h'" in message or (
        "sets the buffer 'h' to memory of the buffer 'c'" in message
    )


class Removes(Buffers):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.ones(4))

    def forget(self, x):
        y = self.a + x
        self.a = None
        return y

    def delete(self, x):
        y = self.a + x
        del self.a
        return y

    def forget_head(self, x):
        y = self.head(x)
        self.head = None
        return y

    def forget_weight(self, x):
        y = self.weight * x
        self.weight = None
        return y


@pytest.mark.parametrize(
    ("method", "what", "line"),
    [
        ("forget", "buffer 'a'", "self.a = None"),
        ("delete", "buffer 'a'", "del self.a"),
        ("forget_head", "submodule 'head'", "self.head = None"),
        ("forget_weight", "parameter 'weight'", "self.weight = None"),
    ],
)
def test_what_a_method_removes_is_refused_by_its_name(method, what, line):
    message = refusal(Removes(), **{method: (X,)})
    assert f"method '{method}' removes the {what}" in message
    assert line_of(getattr(Removes, method), line) in message


def test_a_buffer_that_was_registered_as_none_is_refused_with_its_line():
    message = refusal(Sets(), set_late=(X,))
    assert "method 'set_late' registers the buffer 'late'" in message
    assert line_of(Sets.set_late, "self.late =") in message
    assert "self.register_buffer('late', torch.zeros([4]))" in message


@pytest.mark.parametrize(
    "method", ["exchange_copies", "set_to_itself", "register_again", "set_in_inference_mode"]
)
def test_a_buffer_may_be_set_to_memory_of_its_own(tmp_path, method):
    calls = [(method, X), (method, X * 2), ("add", X)]
    equals_eager(Sets(), calls, tmp_path, **{method: (X,), "add": (X,)})
