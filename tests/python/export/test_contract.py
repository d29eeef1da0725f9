"""What a trace assumes about sizes and inputs is in the contract."""

import dataclasses
from unittest import mock

import pytest
import torch
from torch.export import Dim

import polystate as ps
from polystate.artifact.manifest import Symbol
from polystate.errors import UnsupportedError
from polystate.export.graph.expressions import evaluate
from polystate.export.tracing.dimensions import resized_leaf
from tests.python.export.programs import Refused, line_of, trace

BATCH = Dim("batch", min=1, max=8)
X = torch.arange(24.0).reshape(4, 6)


def rows(n, columns=6):
    return torch.arange(float(n * columns)).reshape(n, columns)


def refused(program, *args, **kwargs):
    with pytest.raises(Refused) as refusal:
        program(*args, **kwargs)
    return str(refusal.value)


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(10, 20))
        self.register_buffer("calls", torch.zeros(1))


# Symbols and ranges


def test_a_dimension_has_the_users_name_and_range():
    program = trace(lambda self, x: x * 2, (X,), ({0: BATCH},))
    assert program.contract.symbols == [Symbol("batch", 0, 0, 1, 8)]
    assert program.input("x").shape == ["batch", 6]
    assert [output.shape for output in program.contract.outputs] == [["batch", 6]]


@pytest.mark.parametrize("count", [1, 2, 8])
def test_every_size_in_the_range_is_taken(count):
    program = trace(lambda self, x: x * 2, (X,), ({0: BATCH},))
    assert torch.equal(program(rows(count))[0], rows(count) * 2)


@pytest.mark.parametrize("count", [0, 9])
def test_a_size_outside_the_range_is_refused(count):
    program = trace(lambda self, x: x * 2, (X,), ({0: BATCH},))
    assert refused(program, rows(count)) == "batch"


def test_other_dimensions_than_declared_are_refused_even_where_the_element_count_fits():
    dims = {0: Dim("rows", min=1, max=4), 1: Dim("columns", min=1, max=8)}
    program = trace(lambda self, x: x * 2, (rows(3, 5),), (dims,))
    assert refused(program, rows(32, 1)) == "rows"


def test_a_static_dimension_of_a_dynamic_input_is_in_the_contract():
    program = trace(lambda self, x: x / x.shape[1], (X,), ({0: BATCH},))
    assert refused(program, rows(4, 5)) == "x"


def test_dtype_and_rank_are_in_the_contract():
    program = trace(lambda self, x: x * 2, (X,), ({0: BATCH},))
    assert refused(program, X.double()) == "dtype"
    assert refused(program, X[0]) == "rank"


def test_a_dimension_without_a_name_is_named_after_its_input():
    program = trace(lambda self, x: x * 2, (X,), ({0: Dim.DYNAMIC(min=2, max=8)},))
    assert program.contract.symbols == [Symbol("x_0", 0, 0, 2, 8)]


def test_a_dimension_of_a_nested_input_has_a_name_that_is_an_identifier():
    program = trace(lambda self, x: x["a"] * 2, ({"a": X},), ({"a": {0: Dim.AUTO(max=8)}},))
    assert [symbol.name for symbol in program.contract.symbols] == ["x_a_0"]


class Sums(torch.nn.Module):
    def forward(self, x, y):
        return x + y["a"]


def exported(dynamic_shapes):
    method = ps.Method("forward", (X, {"a": X[:1]}), dynamic_shapes=dynamic_shapes)
    return ps.export(Sums(), {"forward": method}, backend="portable").methods["forward"]


def test_dimensions_may_be_collected_by_tensors():
    collected = torch.export.ShapesCollection()
    collected[X] = {0: BATCH}
    assert [symbol.name for symbol in exported(collected).symbols] == ["batch"]
    another = torch.zeros(1)
    collected[another] = {0: BATCH}
    with pytest.raises(ps.ExportError, match="dynamic_shapes does not fit the examples"):
        exported(collected)


class OfKeywords(torch.nn.Module):
    def forward(self, x, **more):
        return x + more["y"] * more["z"]


@pytest.mark.parametrize(
    "shapes",
    [
        {"y": {0: BATCH}, "z": None},
        {"more": {"y": {0: BATCH}}},
        {"more": {"y": {0: BATCH}, "z": {}}},
    ],
)
def test_arguments_of_keywords_vary_by_their_names(shapes):
    method = ps.Method(
        "forward", (X,), {"y": X + 1, "z": X[:1]}, dynamic_shapes={"x": {0: BATCH}, **shapes}
    )
    contract = ps.export(OfKeywords(), {"forward": method}, backend="portable").methods["forward"]
    assert [(each.name, each.shape[0]) for each in contract.inputs] == [
        ("x", "batch"), ("y", "batch"), ("z", 1)
    ]  # fmt: skip


class Appends(torch.nn.Module):
    def forward(self, x, past):
        return torch.cat([past, x], 1)


def test_an_example_may_be_empty():
    shapes = {"x": {1: Dim("seq", max=8)}, "past": {1: Dim("past", max=16)}}
    examples = (torch.ones(1, 3, 8), torch.zeros(1, 0, 8))
    method = ps.Method("forward", examples, dynamic_shapes=shapes)
    contract = ps.export(Appends(), {"forward": method}, backend="portable").methods["forward"]
    assert [each.shape for each in contract.inputs] == [[1, "seq", 8], [1, "past", 8]]


def test_an_example_of_another_size_repeats_its_values_or_has_zeros():
    assert torch.equal(resized_leaf(rows(2, 1), 0, 5), torch.tensor([[0.0], [1], [0], [1], [0]]))
    assert torch.equal(resized_leaf(torch.ones(1, 0, 2), 1, 3), torch.zeros(1, 3, 2))


def test_a_dimension_must_be_one_of_torch_export():
    with pytest.raises(ps.ExportError, match=r"has 'batch' for dimension 0 .*Dim\('batch', max=64"):
        exported({"x": {0: "batch"}, "y": {"a": None}})


def test_names_of_dimensions_stay_apart():
    dims = ({0: Dim.DYNAMIC(min=2, max=8)}, {0: Dim("x_0", min=2, max=8)})
    program = trace(lambda self, x, y: (x * 2, y * 2), (X, rows(5)), dims)
    assert [symbol.name for symbol in program.contract.symbols] == ["x_0", "x_0_2"]


def test_equal_dimensions_share_a_symbol():
    program = trace(lambda self, x, y: x + y, (X, X + 1), ({0: BATCH}, {0: BATCH}))
    assert program.input("y").shape == ["batch", 6]
    assert refused(program, rows(3), rows(4)) == "y"


def test_dimensions_that_the_trace_found_equal_share_a_symbol():
    dims = ({0: Dim.AUTO(min=2, max=8)}, {0: Dim.AUTO(min=2, max=8)})
    program = trace(lambda self, x, y: x + y, (X, X + 1), dims)
    assert refused(program, rows(3), rows(4)) in ("x", "y")


def test_a_derived_dimension_is_an_expression_of_its_root():
    dims = ({0: BATCH}, {0: 2 * BATCH})
    program = trace(lambda self, x, y: x + y[::2], (rows(3), rows(6)), dims)
    assert program.input("y").shape == [["*", 2, "batch"], 6]
    assert refused(program, rows(3), rows(5)) == "y"


def test_the_root_of_a_derived_dimension_need_not_be_an_input():
    def pairs(self, x):
        return x.view(-1, 2, 6) + 1

    program = trace(pairs, (X,), ({0: 2 * BATCH},))
    assert program.contract.symbols == [Symbol("batch", 0, 0, 1, 8, scale=2, offset=0)]
    assert program.contract.guards == []
    assert torch.equal(program(rows(2))[0], rows(2).view(-1, 2, 6) + 1)
    assert refused(program, rows(5)) == "batch"
    assert refused(program, rows(18)) == "batch"


def test_a_dimension_derived_by_an_offset_is_read_back():
    program = trace(lambda self, x: x[1:] - x[:-1], (X,), ({0: BATCH + 1},))
    assert program.contract.symbols == [Symbol("batch", 0, 0, 1, 8, scale=1, offset=1)]
    assert program(rows(9))[0].shape == (8, 6)
    assert refused(program, rows(1)) == "batch"


@pytest.mark.parametrize(
    ("forward", "minimum"),
    [
        (lambda self, x: x * 2 if x.shape[0] == 1 else x * 3, 2),
        (lambda self, x: x * 3, 1),
    ],
    ids=["other at 1", "the same at 1"],
)
def test_a_range_starts_at_1_where_a_trace_without_size_1_is_right_there(forward, minimum):
    args = (forward, (X,), ({0: BATCH},))
    program = trace(*args, oblivious=False)
    assert program.contract.symbols == [Symbol("batch", 0, 0, minimum, 8)]
    untried = trace(*args, oblivious=False, tried=False)
    assert untried.contract.symbols == [Symbol("batch", 0, 0, 2, 8)]


@pytest.mark.parametrize(("factor", "minimum"), [(2, 2), (3, 1)])
def test_size_1_is_tried_beside_sizes_that_the_module_takes_with_it(factor, minimum):
    def forward(self, tokens, pages):
        pages = pages * (factor if pages.shape[0] == 1 else 3)
        return tokens + pages[torch.arange(tokens.shape[0]) // 4]  # four tokens a page

    dims = ({0: Dim("tokens", min=1, max=12)}, {0: Dim("pages", min=1, max=3)})
    program = trace(forward, (rows(7), rows(2)), dims, oblivious=False)
    assert [(s.name, s.min, s.max) for s in program.contract.symbols] == [
        ("tokens", 1, 12),
        ("pages", minimum, 3),
    ]


def test_a_size_that_the_module_never_takes_is_not_known_to_be_right():
    def forward(self, x):
        return x[torch.tensor([1])] * 3  # the second row

    program = trace(forward, (X,), ({0: BATCH},), oblivious=False)
    assert program.contract.symbols == [Symbol("batch", 0, 0, 2, 8)]


def test_integers_of_an_example_are_tried_as_zeros_where_they_are_too_large():
    def forward(self, x, index):
        return x[index] * 3  # the example's index is none of one row

    program = trace(forward, (X, torch.tensor([1])), ({0: BATCH}, {}), oblivious=False)
    assert program.contract.symbols == [Symbol("batch", 0, 0, 1, 8)]


# Guards


def test_a_branch_that_holds_for_the_whole_range_is_no_guard():
    program = trace(lambda self, x: x * 2 if x.shape[0] < 9 else x * 3, (X,), ({0: BATCH},))
    assert program.contract.guards == []


def test_a_branch_on_a_shape_is_a_guard():
    def forward(self, x):
        if x.shape[0] * x.shape[1] > 20:
            return x * 2
        return x * 3

    dims = {0: Dim.AUTO(min=1, max=8), 1: Dim.AUTO(min=1, max=8)}
    program = trace(forward, (X,), (dims,))
    (guard,) = program.contract.guards
    assert guard.text == "x_0 * x_1 > 20"
    assert guard.source == line_of(forward, 1)
    assert refused(program, rows(4, 5)) == guard.text


def test_a_branch_on_one_size_limits_its_range():
    dims = ({0: Dim.AUTO(min=1, max=8)},)
    program = trace(lambda self, x: x * 2 if x.shape[0] > 3 else x * 3, (X,), dims)
    assert refused(program, rows(3)) == "x_0"


@pytest.mark.parametrize(
    ("forward", "guard"),
    [
        (lambda self, x: x * 2 if x.shape[0] > 1 else x * 3, "batch > 1"),
        (lambda self, x: x.squeeze(0) * 2, "batch != 1"),
        (lambda self, x: x[:, :1].squeeze() * 2, "batch != 1"),
    ],
    ids=["branch", "squeezed dimension", "every dimension squeezed"],
)
def test_what_differs_at_size_1_is_a_guard(forward, guard):
    program = trace(forward, (X,), ({0: BATCH},))
    assert refused(program, rows(1)) in (guard, "batch")


def test_a_check_against_size_1_is_a_guard():
    def forward(self, x):
        torch._check(x.shape[0] > 1)
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert refused(program, rows(1)) in ("batch > 1", "batch")


def test_divisibility_is_a_guard():
    def forward(self, x):
        torch._check(x.shape[0] % 2 == 0)
        return x.view(-1, 2, 6)

    program = trace(forward, (X,), ({0: Dim.AUTO(min=2, max=8)},))
    assert [guard.text for guard in program.contract.guards] == ["x_0 % 2 == 0"]
    assert refused(program, rows(5)) == "x_0 % 2 == 0"


@pytest.mark.parametrize("oblivious", [True, False])
def test_the_guards_of_a_view_are_those_that_torch_export_checks(oblivious):
    def forward(self, x):
        return x.view(x.shape[0] // 2, -1)

    program = trace(forward, (X,), ({0: Dim.AUTO(min=1, max=64)},), oblivious=oblivious)
    module = program.exported.module(check_guards=True)
    taken = []
    for n in range(2, 65):
        try:
            expected = module(rows(n))
        except AssertionError:
            assert refused(program, rows(n))
        else:
            assert torch.equal(program(rows(n))[0], expected)
            taken.append(n)
    assert 4 in taken and len(taken) < 63


@pytest.mark.parametrize(("tried", "guards"), [(False, ["batch != 1"]), (True, [])])
def test_what_a_decomposition_assumed_is_a_guard_unless_a_trial_shows_it_to_be_idle(tried, guards):
    def forward(self, x, y):
        return torch.einsum("bi,bj->bij", x, y)

    dims = ({0: BATCH}, {0: BATCH})
    program = trace(forward, (X, X + 1), dims, tried=tried)
    assert [guard.text for guard in program.contract.guards] == guards


def test_a_check_on_sizes_is_a_guard():
    def forward(self, x, y):
        torch._check(x.shape[0] + y.shape[0] < 10)
        return x * 2, y * 2

    dims = ({0: Dim.AUTO(min=2, max=8)}, {0: Dim.AUTO(min=2, max=8)})
    program = trace(forward, (X, rows(3)), dims)
    assert [guard.text for guard in program.contract.guards] == ["x_0 + y_0 < 10"]
    assert refused(program, rows(6), rows(4)) == "x_0 + y_0 < 10"


# Inputs


def test_nested_inputs_have_paths_for_names():
    def forward(self, xs, config, *, scale):
        return xs[0] + config["mask"] * scale

    dims = {"xs": ({0: BATCH}, {0: BATCH}), "config": {"mask": {0: BATCH}}, "scale": None}
    program = trace(forward, ((X, X + 1), {"mask": X + 2}), dims, scale=torch.tensor(2.0))
    names = [declared.name for declared in program.contract.inputs]
    assert names == ["xs.0", "xs.1", "config.mask", "scale"]


def test_values_that_are_no_tensors_are_constants():
    def forward(self, x, times=3, flag=True, mode="a", nothing=None):
        return x * times

    program = trace(forward, (X, 2.5, False, "b", None), ({0: BATCH}, None, None, None, None))
    assert [declared.name for declared in program.contract.inputs] == ["x"]
    constants = [(c.name, c.position, c.value) for c in program.contract.constants]
    assert constants == [
        ("times", 1, 2.5),
        ("flag", 2, False),
        ("mode", 3, "b"),
        ("nothing", 4, None),
    ]


@pytest.mark.parametrize("key", ["last hidden", "a.b", "", "a\nb"])
def test_a_key_that_cannot_be_a_name_is_refused(key):
    with pytest.raises(UnsupportedError, match="of a dictionary cannot name an input or a result"):
        trace(lambda self, x: {key: x + 1}, (X,))
    with pytest.raises(UnsupportedError, match="of a dictionary cannot name an input or a result"):
        trace(lambda self, xs: xs[key] + 1, ({key: X},))


def test_a_dynamic_number_is_refused_with_a_rewrite():
    with pytest.raises(UnsupportedError, match=r"'n' is a dynamic number; pass it as a tensor"):
        trace(lambda self, x, n: x * n, (X, 3), ({0: BATCH}, Dim.DYNAMIC(max=5)))


def test_mutated_inputs_are_written_from_the_first_outputs():
    def forward(self, x, y, z):
        z.mul_(2)
        self.calls.add_(1)
        x.add_(1)
        self.cache.add_(3)
        return x, x + self.calls

    dims = ({0: BATCH}, None, {0: BATCH})
    program = trace(forward, (X.clone(), X + 1, X + 2), dims, model=Stateful())
    assert [declared.written_from for declared in program.contract.inputs] == [0, None, 1]
    outputs = [(output.name, output.program_output) for output in program.contract.outputs]
    assert outputs == [("0", 2), ("1", 3)]


# Outputs


def test_nested_outputs_have_paths_for_names():
    def forward(self, x):
        return {"hidden": x * 2, "states": [x + 1, None]}, x * 3

    program = trace(forward, (X,), ({0: BATCH},))
    outputs = [(output.name, output.program_output) for output in program.contract.outputs]
    assert outputs == [("0.hidden", 0), ("0.states.0", 1), ("1", 3)]


def test_fields_of_a_registered_dataclass_are_names():
    @dataclasses.dataclass
    class Scores:
        logits: torch.Tensor
        hidden: torch.Tensor

    torch.export.register_dataclass(Scores)
    program = trace(lambda self, x: Scores(x * 2, x * 3), (X,), ({0: BATCH},))
    assert [output.name for output in program.contract.outputs] == ["logits", "hidden"]


def test_a_tensor_may_be_returned_twice():
    def forward(self, x):
        y = x * 2
        return y, y

    program = trace(forward, (X,), ({0: BATCH},))
    assert [output.name for output in program.contract.outputs] == ["0", "1"]


def test_a_size_of_a_result_is_open_where_only_the_run_decides():
    program = trace(lambda self, x: x.nonzero(), (X,), ({0: BATCH},))
    assert program.contract.outputs[0].shape == [None, 2]


def test_a_method_may_return_nothing():
    def forward(self, x):
        self.calls.add_(x.sum())

    program = trace(forward, (X,), ({0: BATCH},), model=Stateful())
    assert program.contract.outputs == []


@pytest.mark.parametrize("result", [3, 2.5, True, "text"])
def test_a_result_that_is_no_tensor_is_refused_with_a_rewrite(result):
    # Of the user's methods, numbers are tensors by now (`polystate.export.method.resolve`).
    told = f"a Python {type(result).__name__}; leave it out of the results"
    with pytest.raises(UnsupportedError, match=told):
        trace(lambda self, x: (x, result), (X,), ({0: BATCH},))


# Programs of the kinds that users write


EXPORTABLE = {
    "slice": (lambda self, x: x[: x.shape[0] // 2 + 1, 1:], ({0: BATCH},)),
    "reshape": (lambda self, x: x.reshape(-1, 3) * 2, ({0: BATCH},)),
    "cat": (lambda self, x: torch.cat([x, x[:1]], 0), ({0: BATCH},)),
    "expand": (lambda self, x: x.mean(0, keepdim=True).expand(x.shape[0], 6) + x, ({0: BATCH},)),
    "arange": (lambda self, x: x + torch.arange(x.shape[0])[:, None], ({0: BATCH},)),
    "full": (lambda self, x: torch.full((x.shape[0], 2), x.shape[0] * 1.0), ({0: BATCH},)),
    "roll": (lambda self, x: torch.roll(x, 1, 0), ({0: BATCH},)),
    "mask": (lambda self, x: x.tril(), ({0: BATCH},)),
    "softmax": (lambda self, x: torch.softmax(x @ x.T, -1), ({0: BATCH},)),
}


@pytest.mark.parametrize("name", EXPORTABLE)
def test_programs_over_dynamic_shapes_are_free_of_guards_and_right(name):
    forward, dims = EXPORTABLE[name]
    program = trace(forward, (X,), dims)
    assert program.contract.guards == []
    for count in (1, 2, 5, 8):
        outputs, _ = program(rows(count))
        torch.testing.assert_close(outputs, forward(program.model, rows(count)))
        shape = program.contract.outputs[0].shape
        assert [evaluate(size, {"batch": count}) for size in shape] == list(outputs.shape)


def test_the_stateful_model_takes_its_whole_range():
    def set_cache(self, data):
        self.cache[0 : data.shape[0], 0 : data.shape[1]] = data

    dims = {0: Dim("b", min=1, max=10), 1: Dim("t", min=1, max=20)}
    with mock.patch.object(torch, "_debug_has_internal_overlap", lambda _: 2):
        program = trace(set_cache, (torch.ones(4, 5),), (dims,), model=Stateful())
    assert program.contract.guards == []
    for b, t in [(1, 1), (10, 20), (1, 20), (10, 1), (3, 7)]:
        data = torch.randn(b, t)
        expected = torch.zeros(10, 20)
        expected[:b, :t] = data
        assert torch.equal(program(data)[1]["cache"], expected)
    assert refused(program, torch.ones(11, 1)) == "b"
    assert refused(program, torch.ones(1, 21)) == "t"
