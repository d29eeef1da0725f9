"""Programs that cannot be exported soundly are refused, and the module stays as it was."""

import contextlib
import inspect

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps

X = torch.tensor([1.0, 2.0, 3.0, 4.0])


class Tally:
    """A plain object that a module may hold."""

    def __init__(self):
        self.calls = 0


class Program(nn.Module):
    """All that the refused methods change in vain."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("state", torch.tensor([1.0, 2.0, 3.0, 4.0]))
        self.register_buffer("other", torch.zeros(4))
        self.tensor = torch.ones(4)
        self.calls = 0
        self.log = [1.0]
        self.cache = {"kept": 1.0}
        self.seen = {1}
        self.tally = Tally()
        self.dropout = nn.Dropout(0.5)

    def change_parameter(self, x):
        self.state.add_(x)
        self.weight.add_(1)
        return x * self.weight

    def change_parameters_data(self, x):
        self.weight.data.add_(1)
        return x * self.weight

    def change_tensor(self, x):
        self.tensor.add_(1)
        return x * self.tensor

    def assign_tensor(self, x):
        self.tensor = self.tensor + 1
        return x * self.tensor

    def assign_tensor_twice(self, x):
        self.tensor = self.tensor + 1
        self.tensor = self.tensor + 1
        return x * self.tensor

    def exchange_names(self, x):
        self.state, self.other = self.other, self.state
        return x + self.state

    def grow(self, x):
        self.state = torch.cat([self.state, x])
        return self.state.sum()

    def register(self, x):
        self.register_buffer("late", x * 1)
        return self.late + 1

    def count_calls(self, x):
        self.calls += 1
        return x * self.calls

    def append(self, x):
        self.log.append(2.0)
        return x * len(self.log)

    def grow_cache(self, x):
        self.cache[len(self.cache)] = 2.0
        return x * len(self.cache)

    def grow_set(self, x):
        self.seen.add(len(self.seen) + 1)
        return x * len(self.seen)

    def count_in_object(self, x):
        self.tally.calls += 1
        return x * self.tally.calls

    def branch_on_size(self, x):
        return x * 2 if x.shape[0] > 4 else x * 3

    def branch_on_one(self, x):
        return x * 2 if x.shape[0] == 1 else x * 3

    def branch_on_value(self, x):
        return x * 2 if x.sum() > 4 else x * 3

    def fail(self, x):
        self.state.add_(1)
        self.calls += 1
        return x @ torch.ones(3)

    def text(self, x):
        return x * 2, "text"

    def double(self, x):
        return x * 2

    def add_both(self, x, y):
        return x + y


def line_of(method, text):
    """The place of a line of a method, as messages tell it."""
    lines, first = inspect.getsourcelines(method)
    offset = next(i for i, line in enumerate(lines) if text in line)
    return f"{__file__}:{first + offset}: {lines[offset].strip()}"


def held(model):
    """Everything that a module holds, for comparison."""
    return {
        "registered": {k: (id(t), t.tolist()) for k, t in model.state_dict(keep_vars=True).items()},
        "attributes": {
            path: {k: v for k, v in module.__dict__.items() if not k.startswith("_")}
            for path, module in model.named_modules()
        },
        "registries": [
            (list(m._parameters), list(m._buffers), list(m._modules)) for m in model.modules()
        ],
        "log": list(getattr(model, "log", [])),
        "cache": dict(getattr(model, "cache", {})),
        "seen": set(getattr(model, "seen", set())),
        "tally": vars(getattr(model, "tally", Tally())).copy(),
        "tensor": getattr(model, "tensor", X).tolist(),
        "training": [m.training for m in model.modules()],
        "forward": "forward" in model.__dict__,
        "random": torch.get_rng_state().tolist(),
    }


@contextlib.contextmanager
def unchanged(model):
    before = held(model)
    tensor = before["attributes"][""].pop("tensor", None)
    yield
    after = held(model)
    assert after["attributes"][""].pop("tensor", None) is tensor
    assert before == after


def refusal(method, *, error=ps.ExportError, model=None, x=X, dynamic_shapes=None, **options):
    """The message with which the export of one method is refused."""
    model = model or Program()
    options.setdefault("backend", "portable")
    with unchanged(model), pytest.raises(error) as refused:
        entry = ps.Method(method, (x,), dynamic_shapes=dynamic_shapes)
        ps.export(model, {"step": entry}, **options)
    assert type(refused.value) is error
    return str(refused.value)


# State that is no buffer


@pytest.mark.parametrize("method", ["change_parameter", "change_parameters_data"])
def test_a_changed_parameter_is_refused(method):
    message = refusal(method)
    assert "method 'step' changes the parameter 'weight'" in message
    assert "self.register_buffer('weight', ...)" in message


@pytest.mark.parametrize(
    ("method", "attribute"),
    [
        ("change_tensor", "tensor"),
        ("assign_tensor", "tensor"),
        ("assign_tensor_twice", "tensor"),
        ("count_calls", "calls"),
        ("append", "log"),
        ("grow_cache", "cache"),
        ("grow_set", "seen"),
        ("count_in_object", "tally"),
    ],
)
def test_a_changed_attribute_is_refused(method, attribute):
    message = refusal(method)
    assert f"method 'step' changes the attribute '{attribute}' of Program" in message
    assert f"self.register_buffer('{attribute}', torch." in message or "a buffer" in message


def test_the_line_and_the_values_of_a_changed_attribute_are_told():
    message = refusal("count_calls")
    assert "from 1 to 2" in message
    assert line_of(Program.count_calls, "self.calls += 1") in message


def test_a_changed_attribute_of_a_submodule_is_named_by_its_path():
    model = nn.Module()
    model.inner = Program()
    model.outer_step = lambda x: model.inner.count_calls(x)
    assert "the attribute 'inner.calls' of Program" in refusal(model.outer_step, model=model)


class FillsACache(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.log = None, []
        self.padding = float("nan")

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0)
            self.log.append("made")
        return x + self.table


def test_what_only_a_first_call_fills_is_no_state_and_is_emptied_again():
    model = FillsACache()
    with unchanged(model):
        ps.export(model, {"forward": ps.Method("forward", (X,))}, backend="portable")


# Memory under several names


class Shares(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        for name, tensor in (("first", first), ("second", second)):
            if isinstance(tensor, nn.Parameter):
                setattr(self, name, tensor)
            else:
                self.register_buffer(name, tensor)

    def step(self, x):
        self.first.add_(x)
        return self.first + self.second.sum()

    def read(self, x):
        return self.first + self.second.sum() + x


STORAGE = torch.zeros(12)
PARAMETER = nn.Parameter(torch.ones(4))


@pytest.mark.parametrize(
    "shared",
    [
        pytest.param((STORAGE[:4], STORAGE[:4]), id="one tensor"),
        pytest.param((STORAGE[:4], STORAGE[3:6]), id="overlapping views"),
        pytest.param((STORAGE[2:6], STORAGE), id="a part and the whole"),
        pytest.param((PARAMETER.detach(), PARAMETER), id="a parameter"),
        pytest.param((PARAMETER.data, PARAMETER), id="a parameter's data"),
    ],
)
def test_changed_memory_under_two_names_is_refused(shared):
    message = refusal("step", model=Shares(*shared))
    assert "method 'step' changes " in message and "shares memory with " in message
    assert "'first'" in message and "'second'" in message
    assert "register the tensor once" in message and ".clone()" in message


def test_memory_under_two_names_that_no_method_changes_is_a_constant():
    model = Shares(STORAGE[:4], STORAGE[3:6])
    program = ps.export(model, {"read": ps.Method("read", (X,))}, backend="portable")
    assert program.state == {}


def test_a_part_behind_an_unrelated_one_is_found_to_overlap():
    model = Shares(STORAGE[8:], STORAGE)
    model.register_buffer("between", STORAGE[4:6])
    assert "shares memory with" in refusal("step", model=model)


def test_separate_parts_of_one_storage_are_separate_states():
    storage = torch.zeros(8)
    model = Shares(storage[:4], storage[4:])
    program = ps.export(model, {"step": ps.Method("step", (X,))}, backend="portable")
    assert list(program.state) == ["first"]


def test_buffers_that_exchange_their_names_are_refused_with_a_rewrite():
    message = refusal("exchange_names")
    assert "sets the buffer 'state' to memory of the buffer 'other'" in message
    assert line_of(Program.exchange_names, "self.state, self.other =") in message
    assert "to exchange two: self.a, self.b = self.b.clone(), self.a.clone()" in message


def test_a_buffer_that_changes_its_shape_is_refused_with_its_line():
    message = refusal("grow")
    assert "method 'step' changes the buffer 'state' from float32[4] to float32[8]" in message
    assert line_of(Program.grow, "torch.cat") in message
    assert "register it as large as it gets" in message


def test_a_buffer_that_a_method_registers_is_refused():
    message = refusal("register")
    assert "method 'step' registers the buffer 'late'" in message


# Sizes


BATCH = Dim("batch", min=1, max=8)


def test_a_branch_on_a_size_is_refused():
    message = refusal("branch_on_size", x=torch.ones(6), dynamic_shapes=({0: BATCH},))
    assert "method 'step' cannot be exported over its ranges" in message
    assert "batch" in message
    assert "export one method for each path" in message


def test_a_branch_on_a_size_of_one_is_refused():
    message = refusal("branch_on_one", dynamic_shapes=({0: BATCH},))
    assert "at batch = 1 output 0 of the graph differs from the module's" in message
    assert "export one method for each path" in message


def test_a_branch_on_a_value_is_refused_with_its_line():
    message = refusal("branch_on_value")
    assert "method 'step'" in message
    assert line_of(Program.branch_on_value, "x.sum() > 4") in message
    assert "rewrite: " in message


@pytest.mark.parametrize("dim", [Dim("batch"), Dim("batch", min=1), Dim.AUTO, Dim.DYNAMIC(min=1)])
def test_a_dimension_without_a_maximum_is_refused(dim):
    message = refusal("double", dynamic_shapes=({0: dim},))
    assert "method 'step': dimension '" in message
    assert "has no maximum, and memory is planned at export; give it one: Dim" in message


@pytest.mark.parametrize(
    ("dynamic_shapes", "told"),
    [
        ({"y": {0: BATCH}}, "has keys ['y']"),
        (({0: BATCH}, None), "has 2 elements"),
        (({1: BATCH},), "names dimension 1 of an example with 1 dimensions"),
        (({0: Dim("batch", max=3)},), "dimension 0 of an example is 4; dynamic_shapes limits it"),
    ],
)
def test_dynamic_shapes_that_do_not_fit_the_examples_are_refused(dynamic_shapes, told):
    message = refusal("double", dynamic_shapes=dynamic_shapes)
    assert "method 'step': " in message and "dynamic_shapes" in message
    assert told in message


@pytest.mark.parametrize("dynamic_shapes", [{"x": {0: BATCH}}, ({0: BATCH},)])
def test_examples_that_a_method_does_not_take_are_refused(dynamic_shapes):
    message = refusal("add_both", dynamic_shapes=dynamic_shapes)
    assert "method 'step': the examples do not fit its arguments" in message
    assert "'y'" in message


# Calls and results


def test_a_method_that_fails_on_its_own_examples_is_refused_with_its_line():
    message = refusal("fail")
    assert "method 'step' fails on its own examples" in message
    assert line_of(Program.fail, "return") in message


def test_an_unknown_method_is_refused():
    assert refusal("absent") == "method 'step': Program has no method 'absent'"


def test_a_text_as_a_result_is_refused():
    message = refusal("text", error=ps.UnsupportedError)
    assert "method 'step': result '1' is no tensor but a Python str" in message


# Arguments of export


@pytest.mark.parametrize("name", ["", "a b", "a.b", "1st", "class", 7, None])
def test_a_method_name_that_is_no_identifier_is_refused(name):
    with pytest.raises(ps.ContractError, match="is not a Python identifier") as refused:
        ps.export(Program(), {name: ps.Method("double", (X,))})
    assert repr(name) in str(refused.value)


def test_a_model_that_is_no_module_is_refused():
    with pytest.raises(ps.ContractError, match=r"model is a function, not a torch\.nn\.Module"):
        ps.export(line_of, {"double": ps.Method("double", (X,))})


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        ({}, "methods is empty"),
        ([ps.Method("double", (X,))], "methods is a list"),
        ({"double": "double"}, "method 'double' is a str, not a polystate.Method"),
    ],
)
def test_methods_of_another_form_are_refused(methods, told):
    with pytest.raises(ps.ContractError, match=told):
        ps.export(Program(), methods)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("double", X), r"args=\(x,\)"),
        (("double", 3), r"args of a Method is a int.*args=\(x,\)"),
        (("double", (X,), 3), "kwargs of a Method is a int"),
        ((3,), "the target of a Method is a int"),
    ],
)
def test_a_method_of_another_form_is_refused(arguments, told):
    with pytest.raises(ps.ContractError, match=told):
        ps.Method(*arguments)


@pytest.mark.parametrize("backend", ["", "XNNPACK", "AOTI", None])
def test_an_unknown_backend_is_refused(backend):
    message = refusal("double", error=ps.ContractError, backend=backend)
    assert message == f"backend is {backend!r}; it may be 'portable' or 'xnnpack' or 'aoti'"


@pytest.mark.parametrize("quantization", ["q4", "", "int8", 8, ["q8"]])
def test_an_unknown_quantization_is_refused(quantization):
    message = refusal(
        "double", error=ps.ContractError, backend="xnnpack", quantization=quantization
    )
    assert message == f"quantization is {quantization!r}; it may be None, 'q8' or 'q8_0'"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), "constant 'limit' is nan; it must be finite"),
        (float("-inf"), "constant 'limit' is -inf; it must be finite"),
        (2**63, f"constant 'limit' is {2**63}, which does not fit 64 bits"),
        (-(2**63) - 1, f"constant 'limit' is {-(2**63) - 1}, which does not fit 64 bits"),
        ([1], "constant 'limit' is a list; it may be a bool, an int, a float or a str"),
        (None, "constant 'limit' is a NoneType; it may be a bool, an int, a float or a str"),
        ("\ud800", r"constant 'limit' is '\ud800', which is no valid Unicode"),
    ],
)
def test_a_constant_that_the_artifact_cannot_hold_is_refused(value, told):
    assert refusal("double", error=ps.ContractError, constants={"limit": value}) == told


@pytest.mark.parametrize("name", ["", 3, "max length", "a..b", "a\n", "n" * 256])
def test_a_constant_without_a_proper_name_is_refused(name):
    message = refusal("double", error=ps.ContractError, constants={name: 1})
    assert message == (
        f"a constant's name is {name!r}; it must be words of letters, digits, '_' and '-', "
        f"with dots between"
    )


def test_a_debug_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    message = refusal("double", error=ps.IoError, debug_dir=tmp_path / "file")
    assert f"debug_dir '{tmp_path / 'file'}' cannot be written" in message


def test_ranges_for_which_no_machine_has_memory_are_refused_with_what_they_take() -> None:
    elements = ({0: Dim("elements", max=2**40)},)
    method = ps.Method("forward", (X,), dynamic_shapes=elements)
    with pytest.raises(ps.ExportError, match=r"'elements' at 1099511627776 .* 4096\.0 GiB"):
        ps.export(nn.Tanh(), {"forward": method}, backend="portable")


def test_draws_that_are_none_are_refused() -> None:
    with pytest.raises(ps.ContractError, match="draws is a int"):
        ps.export(nn.Tanh(), {"forward": ps.Method("forward", (X,))}, draws=5)
