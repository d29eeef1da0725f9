"""State that an exported program would lose is refused; what is no state may stay."""

import array
import collections
import dataclasses
import inspect

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.utils import _pytree as pytree

import polystate as ps
from polystate.export.tracing.eager import EagerModule

X = torch.tensor([1.0, 2.0, 3.0, 4.0])


class Buffers(nn.Module):
    """What the modules below have in common."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(4))
        self.register_buffer("b", torch.ones(4))

    def add(self, x):
        self.a.add_(x)
        return self.a * 1


def export(model, methods):
    """Exports methods by their names and examples, and leaves the module as it was."""
    entries = {
        name: args if isinstance(args, ps.Method) else ps.Method(name, args)
        for name, args in methods.items()
    }
    before = [(m, dict(m.__dict__), dict(m._buffers)) for m in model.modules()]
    values = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        return ps.export(model, entries, backend="portable")
    finally:
        for module, fields, buffers in before:
            assert {k: id(v) for k, v in module.__dict__.items()} == {
                k: id(v) for k, v in fields.items()
            }
            assert {k: id(v) for k, v in module._buffers.items()} == {
                k: id(v) for k, v in buffers.items()
            }
        for name, buffer in model.named_buffers():
            assert torch.equal(buffer, values[name])


def refusal(model, **methods):
    """The message with which methods are refused."""
    with pytest.raises(ps.ExportError) as refused:
        export(model, methods)
    assert type(refused.value) is ps.ExportError
    return str(refused.value)


def equals_eager(model, calls, tmp_path, **methods):
    """Exports methods, and compares calls in a row with those of the module itself."""
    session = ps.load(export(model, methods).save(tmp_path / "artifact")).session()
    for name, *args in calls:
        found = session.run(name, *[a.clone() for a in args])
        with torch.no_grad():
            expected = getattr(model, name)(*args)
        for a, b in zip(found, pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(a, b)
        buffers = dict(model.named_buffers())
        for key in session.state:
            torch.testing.assert_close(session.state[key], buffers[key])


def line_of(method, text):
    """The place of a line of a method, as messages tell it."""
    lines, first = inspect.getsourcelines(method)
    offset = next(i for i, line in enumerate(lines) if text in line)
    return f"{__file__}:{first + offset}: {lines[offset].strip()}"


# Attributes that only a first call changes


class Remembers(Buffers):
    def __init__(self):
        super().__init__()
        self.first, self.kept, self.limit = True, None, None
        self.options = {"seed": 1}
        self.drawn = torch.zeros(4)

    def start_or_add(self, x):
        if self.first:
            self.first = False
            self.a.copy_(x)
        else:
            self.a.add_(x)
        return self.a * 1

    def keep_input(self, x):
        if self.kept is None:
            self.kept = x.clone()
        return self.a + self.kept

    def keep_index(self, index):
        if self.kept is None:
            self.kept = index * 2
        return self.a[index] + self.kept

    def keep_mask(self, mask):
        if self.kept is None:
            self.kept = mask
        return torch.where(self.kept, self.a, self.b)

    def keep_new(self, x):
        if not hasattr(self, "made"):
            self.made = x.clone()
        return self.a + self.made

    def keep_in_dictionary(self, x):
        if "key" not in self.options:
            self.options["key"] = x * 1
        return self.a + self.options["key"]

    def take_seed(self, x):
        if self.options.pop("seed", None) is None:
            self.a.add_(x)
        return self.a * 1

    def keep_size(self, x):
        if self.limit is None:
            self.limit = x.shape[0]
        return x * self.limit

    def fill_once(self, x):
        if self.first:
            self.drawn.add_(1)
            self.first = False
        return x + self.drawn

    def encode(self, x):
        if self.kept is None:
            self.kept = x.clone()
        return x * 2

    def decode(self, x):
        return x if self.kept is None else x + self.kept

    def keep_state(self, x):
        if self.kept is None:
            self.kept = self.a * 2
        return x + self.kept

    def keep_constant(self, x):
        if self.kept is None:
            self.kept = self.b * 2
        self.a.add_(x)
        return self.a + self.kept

    def table_of_size(self, x):
        if x.shape[0] not in self.options:
            self.options[x.shape[0]] = torch.arange(float(x.shape[0]))
        self.a.add_(self.options[x.shape[0]] * x)
        return self.a * 1

    def zeros_once(self, x):
        if not hasattr(self, "zeros"):
            self.zeros = torch.zeros(4)
        self.a.add_(x * 2 + self.zeros)
        return self.a * 1

    def saturate(self, x):
        self.limit = 1
        self.a.mul_(0.5 if self.limit == 1 else 2.0).add_(x)
        return self.a * 1


@pytest.mark.parametrize(
    ("method", "attribute", "line", "example"),
    [
        ("start_or_add", "first", "self.first = False", X),
        ("keep_input", "kept", "self.kept =", X),
        ("keep_index", "kept", "self.kept =", torch.tensor([1, 2])),
        ("keep_mask", "kept", "self.kept =", X > 2),
        ("keep_new", "made", "self.made =", X),
        ("keep_in_dictionary", "options", None, X),
        ("take_seed", "options", None, X),
    ],
)
def test_an_attribute_that_a_first_call_changes_and_a_later_one_reads_is_refused(
    method, attribute, line, example
):
    message = refusal(Remembers(), **{method: (example,)})
    assert f"the first call of method '{method}' changes the attribute '{attribute}'" in message
    assert f"output 0 of method '{method}' is another" in message
    assert "make it a buffer" in message
    if line is not None:
        assert line_of(getattr(Remembers, method), line) in message


def test_a_size_that_a_first_call_keeps_is_refused():
    method = ps.Method("keep_size", (X,), dynamic_shapes=({0: Dim("n", min=1, max=8)},))
    assert "changes the attribute 'limit' of Remembers from None to 4" in refusal(
        Remembers(), keep_size=method
    )


def test_a_tensor_of_an_attribute_that_a_first_call_changes_in_place_is_refused():
    model = Remembers()
    message = refusal(model, fill_once=(X,))
    assert "method 'fill_once' changes the attribute 'drawn' of Remembers" in message
    assert model.drawn.tolist() == [0.0] * 4


@pytest.mark.parametrize("order", [("encode", "decode"), ("decode", "encode")])
def test_an_attribute_that_one_method_keeps_and_another_reads_is_refused(order):
    message = refusal(Remembers(), **dict.fromkeys(order, (X,)))
    assert "the first call of method 'encode' changes the attribute 'kept'" in message
    assert "output 0 of method 'decode' is another" in message


@pytest.mark.parametrize("order", [("keep_state", "add"), ("add", "keep_state")])
def test_an_attribute_that_is_computed_from_state_is_refused(order):
    message = refusal(Remembers(), **dict.fromkeys(order, (X,)))
    assert "the first call of method 'keep_state' changes the attribute 'kept'" in message


@pytest.mark.parametrize(
    "method", ["keep_constant", "table_of_size", "zeros_once", "saturate", "keep_state"]
)
def test_a_cache_of_what_no_call_changes_is_no_state(tmp_path, method):
    equals_eager(Remembers(), [(method, X), (method, X * 3)], tmp_path, **{method: (X,)})


class StartsByBuffer(Buffers):
    """The rewrite of ``Remembers.start_or_add``."""

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.tensor(True))

    def start_or_add(self, x):
        self.a.copy_(torch.where(self.first, x, self.a + x))
        self.first.fill_(False)
        return self.a * 1


def test_a_flag_as_a_buffer_does_what_the_refused_attribute_did(tmp_path):
    calls = [("start_or_add", X), ("start_or_add", X * 2), ("start_or_add", X)]
    equals_eager(StartsByBuffer(), calls, tmp_path, start_or_add=(X,))


# Attributes that hold arrays


class HoldsArrays(Buffers):
    def __init__(self):
        super().__init__()
        self.seen, self.objects = np.zeros(1), np.array([None], dtype=object)
        self.raw, self.typed = bytearray(2), array.array("l", [0])
        self.recent = collections.deque([0], maxlen=2)

    def count_in_numpy(self, x):
        self.seen += 1
        return x * 2

    def keep_object(self, x):
        self.objects[0] = [self.objects[0]]
        return x * 2

    def count_in_bytes(self, x):
        self.raw[1] += 1
        return x * 2

    def count_in_array(self, x):
        self.typed[0] += 1
        return x * 2

    def remember(self, x):
        self.recent.append(self.recent[-1] + 1)
        return x * 2

    def fill_once(self, x):
        self.seen[0], self.raw[0] = 3, 3
        self.recent.clear()
        return x * 2

    def held(self):
        return (
            *(self.seen.tolist(), self.objects.tolist(), bytes(self.raw)),
            *(self.typed.tolist(), list(self.recent)),
        )


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("count_in_numpy", "seen"),
        ("keep_object", "objects"),
        ("count_in_bytes", "raw"),
        ("count_in_array", "typed"),
        ("remember", "recent"),
    ],
)
def test_a_changed_array_is_refused_and_put_back(method, name):
    model = HoldsArrays()
    before = model.held()
    message = refusal(model, **{method: (X,)})
    assert f"changes the attribute '{name}' of HoldsArrays" in message
    assert model.held() == before


def test_an_array_that_a_first_call_fills_is_emptied_again():
    model = HoldsArrays()
    before = model.held()
    export(model, {"fill_once": (X,)})
    assert model.held() == before


# Buffers that are set to other tensors

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


# Memory of several names


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


# Initial values


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


# State outside of the module

KEPT = {"calls": 0, "sum": torch.zeros(4)}


class KeepsOutside(Buffers):
    calls = 0

    def count_globally(self, x):
        KEPT["calls"] += 1
        return x * KEPT["calls"]

    def add_globally(self, x):
        KEPT["sum"] = KEPT["sum"] + x
        return KEPT["sum"] * 1

    def add_in_place(self, x):
        KEPT["sum"].add_(x)
        return KEPT["sum"] * 1

    def count_in_class(self, x):
        type(self).calls += 1
        self.a.add_(x * type(self).calls)

    def keep_in_default(self, x, kept=[]):  # noqa: B006
        kept.append(x)
        return sum(kept)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("count_globally", "output 0"),
        ("add_globally", "output 0"),
        ("add_in_place", "output 0"),
        ("count_in_class", "buffer 'a'"),
        ("keep_in_default", "output 0"),
    ],
)
def test_state_outside_of_the_module_is_refused_and_stays_real(method, what):
    message = refusal(KeepsOutside(), **{method: (X,)})
    assert f"method '{method}' gives something else when it is called again" in message
    assert f"{what} differs" in message
    assert "it keeps state outside of KeepsOutside" in message and "a buffer" in message
    kept = [KEPT["sum"], *KeepsOutside.keep_in_default.__defaults__[0]]
    assert all(type(tensor) is torch.Tensor for tensor in kept)


OUTER = {}


class MethodsShareAGlobal(Buffers):
    def encode(self, x):
        OUTER["kept"] = x * 2
        return x + 1

    def encode_size(self, x):
        OUTER["kept"] = x.shape[0]
        return x + 1

    def decode(self, x):
        return x + OUTER["kept"]

    def get(self, x):
        return OUTER["kept"] * 1


@pytest.mark.parametrize(
    "order", [("encode", "decode"), ("decode", "encode"), ("encode", "get"), ("get", "encode")]
)
def test_a_global_that_one_method_writes_and_another_reads_is_refused(order):
    OUTER["kept"] = torch.zeros(4)
    message = refusal(MethodsShareAGlobal(), **dict.fromkeys(order, (X,)))
    assert "keep state outside of MethodsShareAGlobal" in message
    assert all(f"'{name}'" in message for name in order) and "make it a buffer" in message


def test_a_global_number_that_one_method_writes_and_another_reads_is_refused():
    OUTER["kept"] = 0
    message = refusal(MethodsShareAGlobal(), decode=(X,), encode_size=(X,))
    assert "keep state outside of MethodsShareAGlobal" in message


def test_what_pytorch_itself_kept_of_another_trace_is_no_state(monkeypatch):
    """As its compilation of `cond` does now and then."""
    call_on, resets = EagerModule.call_on, []

    def call_and_meet_what_is_kept(self, function, args, kwargs):
        outcome = call_on(self, function, args, kwargs)
        if resets:
            return outcome
        with FakeTensorMode():
            return dataclasses.replace(outcome, outputs=[torch.zeros(4)])

    monkeypatch.setattr(EagerModule, "call_on", call_and_meet_what_is_kept)
    monkeypatch.setattr(torch._dynamo, "reset", lambda: resets.append(1))
    program = export(Buffers(), {"add": (X,)})
    assert resets == [1] and list(program.state) == ["a"]


def test_state_beside_a_mask_of_large_numbers_is_seen():
    class Ready(nn.Module):
        ready = False

        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def encode(self, x):
            self.ready = True
            self.total.add_(x)
            return x * 1

        def decode(self, x):
            return torch.where(x > 0, x * (2.0 if self.ready else 1.0), -1e9)

    x = torch.tensor([1.0, -2.0, 3.0])
    methods = {name: ps.Method(name, (x,)) for name in ("encode", "decode")}
    with pytest.raises(ps.ExportError, match="ready"):
        ps.export(Ready(), methods, backend="portable")
