"""What goes wrong with state in a plain export of several methods, hazard by hazard."""

import itertools

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor([7.0, -3.0]))

    def increase(self, x):
        self.count.add_(x)
        return self.count * 2

    def double(self):
        self.count.mul_(2)
        return self.count + 1

    def get(self):
        return self.count + 0


COUNTER = {
    "increase": ps.Method("increase", (torch.ones(2),)),
    "double": ps.Method("double"),
    "get": ps.Method("get"),
}


@pytest.mark.parametrize("order", list(itertools.permutations(COUNTER)))
def test_non_zero_initial_values_hold_whichever_method_is_called_first(tmp_path, backend, order):
    twins = Twins(Counter(), COUNTER, tmp_path, backend)
    for name in order + order:
        twins.call(name, *([torch.tensor([1.5, 2.0])] if name == "increase" else []))


def test_a_getter_alone_sees_the_initial_value(tmp_path, backend):
    twins = Twins(Counter(), COUNTER, tmp_path, backend)
    torch.testing.assert_close(twins.call("get")[0], torch.tensor([7.0, -3.0]))


class ThreeBuffers(nn.Module):
    def __init__(self):
        super().__init__()
        for i, name in enumerate(("a", "b", "c")):
            self.register_buffer(name, torch.full((3,), float(i + 1)))

    def first(self, x):
        self.a.add_(x)
        self.b.mul_(self.a)
        return self.b * 1

    def second(self, x):
        self.b.sub_(x)
        self.c.add_(self.b)
        return self.c * 1

    def third(self):
        return self.a + self.b + self.c


def test_three_buffers_of_which_two_methods_use_two_each_and_a_third_only_reads(tmp_path, backend):
    x = torch.tensor([1.0, 2.0, 3.0])
    twins = Twins(
        ThreeBuffers(),
        {
            "third": ps.Method("third"),
            "second": ps.Method("second", (x,)),
            "first": ps.Method("first", (x,)),
        },
        tmp_path,
        backend,
    )
    for name in ("third", "first", "second", "third", "second", "first", "third"):
        twins.call(name, *([] if name == "third" else [x]))


class AlikeNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("Pos", torch.tensor([5.0]))
        self.register_buffer("pos_max", torch.tensor([0.0]))
        self.register_buffer("pos_max_value", torch.tensor([9.0]))
        self.register_buffer("POS", torch.tensor([2.0]))

    def advance(self, x):
        self.Pos.add_(x)
        self.pos_max.copy_(torch.maximum(self.pos_max, self.Pos))
        return self.pos_max_value - self.Pos

    def lower(self):
        self.POS.sub_(1)
        return self.POS + self.Pos

    def get(self):
        return self.Pos + 0, self.pos_max + 0, self.POS + 0, self.pos_max_value + 0


def test_names_in_mixed_case_and_names_that_are_prefixes_of_one_another(tmp_path, backend):
    x = torch.tensor([1.0])
    methods = {
        "advance": ps.Method("advance", (x,)),
        "lower": ps.Method("lower"),
        "get": ps.Method("get"),
    }
    twins = Twins(AlikeNames(), methods, tmp_path, backend)
    assert set(twins.program.state) == {"Pos", "pos_max", "POS"}
    for name in ("get", "lower", "advance", "get", "advance", "lower", "get"):
        twins.call(name, *([x] if name == "advance" else []))


class WeightState(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.full((8, 8), 5.0))
        self.register_buffer("bias", torch.ones(8))
        self.linear = nn.Linear(8, 8)
        self.requires_grad_(False)

    def put(self, w):
        self.weight.copy_(w)
        self.bias.add_(1)
        return w.sum()

    def use(self, x):
        return nn.functional.linear(x, self.weight)

    def use_with_bias(self, x):
        return torch.relu(x @ self.weight.t() + self.bias)

    def use_beside_constants(self, x):
        return torch.relu(self.linear(x) + self.bias)

    def use_and_change(self, x):
        y = nn.functional.linear(x, self.weight)
        self.weight.add_(1.0)
        return y


def test_a_buffer_written_in_one_method_and_used_as_a_weight_in_another(tmp_path, backend):
    x, w = torch.randn(2, 8), torch.full((8, 8), 2.0)
    methods = {n: ps.Method(n, (x,)) for n in ("use", "use_with_bias", "use_beside_constants")}
    twins = Twins(WeightState(), {"put": ps.Method("put", (w,)), **methods}, tmp_path, backend)
    for name in (*methods, "put", *methods, "put", *methods):
        twins.call(name, w if name == "put" else x)


def test_a_buffer_used_as_a_weight_and_changed_in_the_same_method(tmp_path, backend):
    x = torch.randn(2, 8)
    twins = Twins(
        WeightState(), {"use_and_change": ps.Method("use_and_change", (x,))}, tmp_path, backend
    )
    for _ in range(4):
        twins.call("use_and_change", x)


class NoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("value", torch.tensor([1.0, 2.0]))

    def two_constants(self):
        self.value.copy_((self.value + torch.tensor([10.0, 20.0])) * torch.tensor([3.0, 5.0]))
        return self.value - torch.tensor([1.0, 2.0])

    def constant_only(self):
        return torch.arange(3)


def test_a_method_without_inputs_and_with_lifted_constants(tmp_path, backend):
    twins = Twins(
        NoInputs(),
        {n: ps.Method(n) for n in ("two_constants", "constant_only")},
        tmp_path,
        backend,
    )
    for name in ("two_constants", "constant_only", "two_constants"):
        twins.call(name)


class OldAndNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(6.0).reshape(2, 3))
        self.register_buffer("b", torch.full((2, 3), 4.0))

    def as_is(self):
        return self.a, self.b

    def changed_as_is(self, x):
        self.a.add_(x)
        return self.a

    def old_value(self):
        old = self.a.clone()
        self.a.mul_(3)
        return old

    def old_view(self):
        old = self.a.view(3, 2).clone()
        self.a.add_(1)
        return old, self.a.view(6)

    def swap(self):
        a = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(a)

    def overwrite(self):
        self.a.copy_(self.b)

    def transpose_into(self):
        self.a.copy_(self.b.t().reshape(2, 3))
        return self.a + self.b


OLD_AND_NEW = {
    "as_is": ps.Method("as_is"),
    "changed_as_is": ps.Method("changed_as_is", (torch.ones(2, 3),)),
    **{n: ps.Method(n) for n in ("old_value", "old_view", "swap", "overwrite", "transpose_into")},
}


def test_a_buffer_returned_as_it_is_before_and_after_changes(tmp_path, backend):
    twins = Twins(OldAndNew(), OLD_AND_NEW, tmp_path, backend)
    for name in (*OLD_AND_NEW, *reversed(OLD_AND_NEW), "swap", "old_value", "as_is"):
        twins.call(name, *([torch.ones(2, 3)] if name == "changed_as_is" else []))


def test_outputs_are_not_overwritten_by_the_next_calls(tmp_path, backend):
    twins = Twins(OldAndNew(), OLD_AND_NEW, tmp_path, backend)
    kept = twins.call("as_is")
    before = [t.clone() for t in kept]
    for name in ("old_value", "swap", "old_view"):
        twins.call(name)
    for value, expected in zip(kept, before, strict=True):
        torch.testing.assert_close(value, expected)


class Types(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("flags", torch.tensor([True, False, True]))
        self.register_buffer("step", torch.tensor(3))
        self.register_buffer("sixteen", torch.tensor([1.5, -2.5], dtype=torch.float16))
        self.register_buffer("brain", torch.full((3,), 2.0, dtype=torch.bfloat16))
        self.register_buffer("scalar", torch.tensor(0.5))
        self.register_buffer("bytes", torch.tensor([1, 255], dtype=torch.uint8))
        self.register_buffer("small", torch.tensor([-5, 5], dtype=torch.int8))
        self.register_buffer("wide", torch.tensor([2.5], dtype=torch.float64))

    def flip(self):
        self.flags.logical_not_()
        return self.flags.clone()

    def tick(self):
        self.step.add_(1)
        self.scalar.mul_(2)
        return self.step + 0, self.scalar + 0

    def halves(self, x):
        self.sixteen.add_(x.to(torch.float16))
        self.brain.mul_(2)
        return self.sixteen + 0, self.brain + 0

    def integers(self):
        self.bytes.add_(1)
        self.small.neg_()
        self.wide.add_(0.25)
        return self.bytes + 0, self.small + 0, self.wide + 0

    def all(self):
        return self.flags, self.step, self.sixteen, self.brain, self.scalar


def test_bool_int64_float16_bfloat16_and_0_d_buffers(tmp_path, backend):
    x = torch.tensor([0.5, 0.25])
    methods = {n: ps.Method(n) for n in ("flip", "tick", "integers", "all")}
    twins = Twins(Types(), {**methods, "halves": ps.Method("halves", (x,))}, tmp_path, backend)
    for name in ("all", "flip", "tick", "halves", "integers", "all", "halves", "flip", "tick"):
        twins.call(name, *([x] if name == "halves" else []))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0]))

    def step(self, x):
        delta = torch.cond(x.sum() > 0, lambda x, t: x + t, lambda x, t: x * 2 - t, (x, self.total))
        self.total.add_(delta)
        return delta

    def get(self):
        return self.total + 0


def test_cond_with_state_in_both_branches(tmp_path, backend):
    x = torch.tensor([1.0, 2.0])
    methods = {"step": ps.Method("step", (x,)), "get": ps.Method("get")}
    twins = Twins(Branches(), methods, tmp_path, backend)
    for value in (x, -x, x * 3, -x * 5):
        twins.call("step", value)
        twins.call("get")


class Leaf(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.register_buffer("seen", torch.full((2,), value))

    def forward(self, x):
        self.seen.add_(x)
        return self.seen * 2


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = Leaf(1.0), Leaf(-1.0)
        self.inner = nn.ModuleList([Leaf(0.0)])

    def both(self, x):
        return self.left(x) + self.right(x * 2)

    def deep(self, x):
        return self.inner[0](x) + self.left.seen


def test_buffers_of_submodules(tmp_path, backend):
    x = torch.tensor([1.0, 2.0])
    twins = Twins(Tree(), {n: ps.Method(n, (x,)) for n in ("both", "deep")}, tmp_path, backend)
    assert set(twins.program.state) == {"left.seen", "right.seen", "inner.0.seen"}
    for name in ("deep", "both", "deep", "both"):
        twins.call(name, x)


class Pair(nn.Module):
    def forward(self, x, y):
        x.add_(1)
        return x + y


def test_examples_that_are_one_tensor_stay_two_inputs(tmp_path, backend):
    x = torch.tensor([10.0, 20.0])
    twins = Twins(Pair(), {"forward": ps.Method("forward", (x, x))}, tmp_path, backend)
    twins.call("forward", torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0]))


class WritesInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def accumulate(self, x, y):
        self.total.add_(x)
        y.copy_(self.total)
        x.mul_(2)
        return x + y

    def nothing(self, y):
        y.fill_(4)


def test_mutated_inputs_are_written_and_only_declared_outputs_come_back(tmp_path, backend):
    x = torch.ones(3)
    twins = Twins(
        WritesInputs(),
        {
            "accumulate": ps.Method("accumulate", (x, x)),
            "nothing": ps.Method("nothing", (x,)),
        },
        tmp_path,
        backend,
    )
    assert len(twins.call("accumulate", torch.randn(3), torch.randn(3))) == 1
    assert twins.call("nothing", torch.randn(3)) == ()
    assert len(twins.call("accumulate", torch.randn(3), torch.randn(3))) == 1


class HalfInPlace(nn.Module):
    """The module of ExecuTorch's issue 4042."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.tensor([7, 5, 6], dtype=torch.float16))

    def forward(self, x):
        self.buffer.mul_(x.to(torch.float16))
        self.buffer.add_(torch.tensor([1, 2, 3], dtype=torch.float16))
        return self.buffer * 9


def test_executorch_4042_is_exact_over_many_calls(tmp_path, backend):
    x = torch.tensor([0.5, 0.25, 1.0])
    twins = Twins(HalfInPlace(), {"forward": ps.Method("forward", (x,))}, tmp_path, backend)
    twins.tolerance = {"rtol": 0, "atol": 0}
    for i in range(30):
        twins.call("forward", x * (i % 5) / 4)


class StatefulModel(nn.Module):
    """The model of execu-tools."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(10, 20))

    def set_cache(self, data):
        self.cache[0 : data.shape[0], 0 : data.shape[1]] = data

    def get_cache(self, data):
        data.copy_(self.cache.narrow(0, 0, data.size(0)).narrow(1, 0, data.size(1)))


@pytest.mark.parametrize("example", [(1, 1), (10, 20), (9, 19), (3, 20), (10, 7)])
def test_the_stateful_model_works_over_its_whole_range(tmp_path, backend, example):
    batch, length = Dim("batch", min=1, max=10), Dim("length", min=1, max=20)
    shapes = {"data": {0: batch, 1: length}}
    methods = {
        name: ps.Method(name, kwargs={"data": torch.ones(*example)}, dynamic_shapes=shapes)
        for name in ("set_cache", "get_cache")
    }
    twins = Twins(
        StatefulModel(), methods, tmp_path, backend, constants={"max_batch": 10, "max_length": 20}
    )
    assert dict(twins.model.constants) == {"max_batch": 10, "max_length": 20}
    generator = torch.Generator().manual_seed(0)
    for rows in range(1, 11):
        for columns in range(1, 21):
            twins.call("set_cache", data=torch.randn(rows, columns, generator=generator))
            other = (11 - rows, 21 - columns)
            twins.call("get_cache", data=torch.randn(*other, generator=generator))


class Exchange(nn.Module):
    """Moves buffers about; ``count`` starts with the bytes of the constant that doubles it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(6.0).reshape(2, 3))
        self.register_buffer("b", -torch.ones(2, 3))
        self.register_buffer("constant", torch.full((2, 3), 0.5))
        self.register_buffer("flag", torch.tensor(True))
        self.register_buffer("count", torch.tensor(2))

    def by_copies(self):
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)

    def by_names(self):
        self.a, self.b = self.b.clone(), self.a.clone()

    def by_rows(self):
        self.a, self.b = self.b.flip(0), torch.stack((self.a[1], self.a[0]))

    def to_one_value(self):
        self.a.copy_(self.b * 2)
        self.b.copy_(self.a)
        return self.a + 1

    def from_a_constant(self, x):
        self.b.copy_(self.constant)
        return nn.functional.linear(x, self.constant), self.constant

    def there_and_back(self):
        self.by_copies()
        self.by_copies()

    def beside_a_written_input(self, x):
        self.by_copies()
        x.mul_(2).add_(self.a[0])
        return self.b[1]

    def named_as_its_input(self, a):
        old = self.a[:, :1].clone()
        self.b.copy_(self.a)
        self.a.copy_(a)
        a.copy_(self.b)
        return old

    def toggle_and_count(self):
        self.flag.logical_not_()
        self.count += 1
        return self.count * 2


EXCHANGES = ("by_copies", "by_names", "by_rows", "to_one_value", "there_and_back")


def test_buffers_that_are_exchanged(tmp_path, backend):
    methods = {name: ps.Method(name) for name in EXCHANGES}
    methods["beside"] = ps.Method("beside_a_written_input", (torch.ones(3),))
    methods["constant"] = ps.Method("from_a_constant", (torch.ones(2, 3),))
    methods["named"] = ps.Method("named_as_its_input", (torch.ones(2, 3),))
    twins = Twins(Exchange(), methods, tmp_path, backend)
    for name in EXCHANGES + EXCHANGES[::-1]:
        twins.call(name)
        twins.call("beside", torch.randn(3))
        twins.call("constant", torch.randn(2, 3))
        twins.call("named", torch.randn(2, 3))


def test_a_state_that_starts_with_the_bytes_of_a_constant(tmp_path, backend):
    twins = Twins(Exchange(), {"toggle": ps.Method("toggle_and_count")}, tmp_path, backend)
    assert int(twins.session.state["count"]) == 2
    twins.call("toggle")
