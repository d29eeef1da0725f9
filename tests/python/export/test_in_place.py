"""Which state a method updates in place, which it writes back at its end, and why."""

import pytest
import torch
from torch import nn

import polystate as ps

ROWS, COLUMNS = 8, 4
LARGE = (4096, 4)  # 64 KiB of float32
X = torch.ones(1, COLUMNS)
ROW = torch.tensor([2])

ONLY_READ = "nothing reads the old value later"
WRITTEN_LAST = "written last, so that a failed call changes nothing"


class Program(nn.Module):
    def __init__(self, shape=(ROWS, COLUMNS)):
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("a", torch.randn(shape))
        self.register_buffer("b", torch.randn(shape))
        self.linear = nn.Linear(COLUMNS, COLUMNS)
        self.requires_grad_(False)

    def put_rows(self, x, i):
        self.a[i] = x

    def write_a_slice(self, x, i):
        self.a[2:3] = x

    def write_a_row(self, x, i):
        self.a[1] = x[0]

    def add_everywhere(self, x, i):
        self.a.add_(x)

    def change_twice(self, x, i):
        self.a.mul_(2)
        self.a.add_(x)

    def overwrite(self, x, i):
        self.a.copy_(x @ torch.ones(COLUMNS, COLUMNS) + torch.zeros(ROWS, COLUMNS))

    def put_and_use(self, x, i):
        self.a[i] = x
        return self.a.sum(0)

    def keep_the_old_value(self, x, i):
        old = self.a + 0
        self.a.add_(x)
        return old

    def shift(self, x, i):
        self.a.copy_(torch.cat([self.a[1:], x]))

    def copy_over(self, x, i):
        self.a.copy_(self.b)

    def swap(self, x, i):
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)

    def change_both(self, x, i):
        self.a.add_(x)
        self.b.mul_(x)
        return self.a.sum(0), self.b.sum(0)

    def use_the_old_value_later(self, x, i):
        new = self.a + x
        old = self.a * 2
        self.a.copy_(new)
        return old

    def multiply_matrices(self, x, i):
        self.a.copy_(self.a @ self.linear.weight)

    def put_into_another(self, x, i):
        self.a.copy_(self.b.index_put((i,), x))

    def delegate(self, x, i):
        self.a.copy_(self.linear(self.b + x))

    def put_then_check(self, x, i):
        self.a[i] = x
        total = self.a.sum()
        torch._assert_async(total < 1e6, "too large")
        return total

    def put_then_check_in_a_branch(self, x, i):
        self.a[i] = x

        def checked(total):
            torch._assert_async(total < 1e6, "too large")
            return total + 1

        return torch.cond(x.sum() > 0, checked, lambda total: total + 2, (self.a.sum(),))

    def put_then_look_up(self, x, i):
        self.a[i] = x
        return self.b[x.sum().long().reshape(1)]

    def put_then_look_up_what_was_put(self, x, i):
        self.a[i] = x
        return self.b[self.a.sum().long().reshape(1)]

    def put_then_look_up_the_largest(self, x, i):
        self.a[i] = x
        places = torch.topk(self.a[:, 0] + 0, 3).indices
        return self.b[places], self.b[self.a.argmax(0)], self.b[self.a[0].long() % 7]


def exported(method, shape=(ROWS, COLUMNS), backend="portable", **options):
    methods = {"step": ps.Method(method, (X, ROW))}
    return ps.export(Program(shape), methods, backend=backend, **options)


def updates(program):
    """How and why, by the state's name."""
    names = list(program.state)
    writes = program.methods["step"].writes
    return {names[write.state]: (write.update, write.reason) for write in writes}


@pytest.mark.parametrize(
    "method",
    [
        *("put_rows", "write_a_slice", "write_a_row", "add_everywhere", "change_twice"),
        *("overwrite", "keep_the_old_value", "shift", "copy_over"),
    ],
)
def test_a_last_write_is_in_place_and_atomic(method):
    program = exported(method)
    assert updates(program) == {"a": ("in_place", ONLY_READ)}
    assert program.methods["step"].atomic
    assert f"writes 'a' in place: {ONLY_READ}" in program.report()
    assert "not atomic" not in program.report()


def test_small_state_with_later_operators_is_written_back():
    program = exported("put_and_use")
    reason = f"small (128 bytes): {WRITTEN_LAST}"
    assert updates(program) == {"a": ("written_back", reason)}
    assert program.methods["step"].atomic
    assert f"writes 'a' written back: {reason}" in program.report()


def test_large_state_with_later_operators_is_in_place_and_not_atomic():
    program = exported("put_and_use", LARGE)
    assert updates(program) == {"a": ("in_place", ONLY_READ)}
    assert not program.methods["step"].atomic
    assert "not atomic: after a failure inside the engine" in program.report()


def test_state_just_below_the_limit_is_small():
    program = exported("put_and_use", (4095, COLUMNS))
    assert updates(program) == {"a": ("written_back", f"small (65520 bytes): {WRITTEN_LAST}")}


@pytest.mark.parametrize(
    "method", ["put_then_check", "put_then_check_in_a_branch", "put_then_look_up_what_was_put"]
)
def test_a_check_after_the_write_keeps_even_large_state_until_it_passed(method):
    program = exported(method, LARGE)
    assert updates(program) == {"a": ("written_back", "a check comes later")}
    assert program.methods["step"].atomic


def test_an_index_is_checked_before_large_state_is_written():
    found = exported("put_then_look_up", LARGE)
    assert updates(found) == {"a": ("in_place", ONLY_READ)}
    (check,) = found.methods["step"].checks
    assert "indexes dimension 0 of 'b'" in check.text
    assert found.methods["step"].checks_first


def test_an_index_that_is_always_in_range_is_not_checked():
    found = exported("put_then_look_up_the_largest", LARGE)
    assert updates(found) == {"a": ("in_place", ONLY_READ)}
    assert not found.methods["step"].checks


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("use_the_old_value_later", "'mul' reads the old value later"),
        ("multiply_matrices", "'mm' reads the old value while it writes the new one"),
        ("put_into_another", "'index_put' changes a part of another value"),
    ],
)
def test_a_value_that_cannot_take_the_states_place_is_written_back(method, reason):
    program = exported(method)
    assert updates(program)["a"] == ("written_back", reason)
    assert program.methods["step"].atomic
    assert f"writes 'a' written back: {reason}" in program.report()


def test_a_value_from_a_delegate_is_written_back():
    program = exported("delegate", backend="xnnpack")
    reason = "it comes from 'getitem', which cannot write to a given place"
    assert updates(program) == {"a": ("written_back", reason)}


def test_two_large_states_are_each_in_place():
    found = updates(exported("change_both", LARGE))
    assert found == {"a": ("in_place", ONLY_READ), "b": ("in_place", ONLY_READ)}


def test_of_two_states_that_are_swapped_one_is_in_place():
    found = updates(exported("swap"))
    assert found["a"] == ("written_back", "'_clone_dim_order' reads the old value later")
    assert found["b"] == ("in_place", ONLY_READ)
