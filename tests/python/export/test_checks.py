"""Conditions on values fail a call, in the contract or inside the program, and leave the state."""

from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.export import Dim
from torch.fx import Node

from polystate.artifact.manifest import ValueRange
from polystate.errors import ContractError, UnsupportedError
from polystate.export.tracing import assertions
from tests.python.export.programs import Refused, line_of, trace

BATCH = Dim("batch", min=1, max=8)
X = torch.arange(24.0).reshape(4, 6) / 24
K = torch.tensor(2)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("cache", torch.zeros(10, 6))
        self.linear = torch.nn.Linear(6, 6)


def ranges(program, name):
    return [(limits.min, limits.max) for limits in program.input(name).values]


def texts(program):
    return [check.text for check in program.contract.checks]


def operators(program):
    return [str(node.target) for node in program.functional.graph.nodes]


def fails(program, *args):
    """Whether a call fails, and that it then leaves the state as it was."""
    try:
        program(*args)
    except Refused:
        return True
    except ContractError:
        assert program.untouched
        return True
    return False


# Conditions on inputs become their ranges


def test_a_number_read_from_an_input_limits_the_input():
    def forward(self, x, k):
        i = k.item()
        torch._check(i >= 0)
        torch._check(i < 4)
        return x[:, i]

    program = trace(forward, (X, K), ({0: BATCH}, None))
    assert program.input("k").values[-1] == ValueRange(
        0, 3, f"the method asserts 0 <= k <= 3 ({line_of(forward, 1)})"
    )
    assert program.contract.checks == []
    assert not any("assert" in operator for operator in operators(program))
    for k in (-1, 4, 6, 2**62):
        assert fails(program, X, torch.tensor(k))
    assert torch.equal(program(X, torch.tensor(3))[0], X[:, 3])


def test_the_limit_of_an_input_may_be_a_size():
    def forward(self, x, k):
        i = k.item()
        torch._check(i >= 0)
        torch._check(i < x.shape[0])
        return x[i]

    program = trace(forward, (X, K), ({0: BATCH}, None))
    assert (0, ["+", -1, "batch"]) in ranges(program, "k")
    assert fails(program, X[:2], K)
    assert not fails(program, X[:3], K)


def test_a_number_may_have_to_equal_a_size():
    def forward(self, x, k):
        i = k.item()
        torch._check(i == x.shape[0])
        return x * i

    program = trace(forward, (X, torch.tensor(4)), ({0: BATCH}, None))
    assert ranges(program, "k") == [("batch", "batch")]
    assert fails(program, X[:3], torch.tensor(4))
    assert not fails(program, X[:3], torch.tensor(3))


@pytest.mark.parametrize(
    "condition",
    [
        lambda k, x: ((k >= 0) & (k < x.shape[0])).all(),
        lambda k, x: torch.logical_and(k > -1, x.shape[0] > k).all(),
        lambda k, x: (k.view(1, -1).to(torch.int64) >= 0).all() & (k <= x.shape[0] - 1).all(),
    ],
)
def test_an_assertion_on_all_elements_of_an_input_limits_it(condition):
    def forward(self, x, k):
        torch._assert_async(condition(k, x))
        return x * 2 + k.sum()

    program = trace(forward, (X, torch.tensor([0, 3], dtype=torch.int32)), ({0: BATCH}, None))
    assert ranges(program, "k") == [(0, ["+", -1, "batch"])]
    assert program.contract.checks == []


def test_a_comparison_read_as_a_bool_limits_the_input():
    def forward(self, x, k):
        torch._check((k > 1).item())
        return x * 2

    program = trace(forward, (X, K), ({0: BATCH}, None))
    assert ranges(program, "k") == [(2, None)]


def test_a_check_of_a_size_beside_values_is_a_guard():
    def forward(self, x, k):
        torch._check(x.shape[0] % 2 == 0)
        torch._check(k.item() > 0)
        return x * 2

    program = trace(forward, (X, K), ({0: Dim.AUTO(min=2, max=8)}, None))
    assert [guard.text for guard in program.contract.guards] == ["x_0 % 2 == 0"]
    assert ranges(program, "k") == [(1, None)]


# Other conditions are checked inside

BITS = {
    "common bits": (lambda i: (i & 1) == 0, (2, 0, 6, -4), (1, 3, -1)),
    "bits of either": (lambda i: (i | 1) == 3, (2, 3), (0, 1, 4)),
    "both conditions": (lambda i: (i > 0) & (i < 4), (1, 2, 3), (0, 4)),
    "differing bits": (lambda i: (i ^ 5) == 7, (2,), (0, 5, 7, -3)),
    "differing bits of a number": (lambda i: 5 ^ i > 5, (2, 3, 8), (0, 4, 5, -1)),
    "one of both conditions": (lambda i: (i > 0) ^ (i > 3), (1, 2, 3), (0, 4, -1)),
}


@pytest.mark.parametrize("name", BITS)
def test_bits_of_a_number_are_no_truth_values(name):
    condition, good, bad = BITS[name]

    def forward(self, x, k):
        torch._check(condition(k.item()))
        return x * 2

    program = trace(forward, (X, K), ({0: BATCH}, None))
    for k in good:
        assert torch.equal(program(X, torch.tensor(k))[0], X * 2)
    for k in bad:
        assert fails(program, X, torch.tensor(k))


def test_an_assertion_on_a_tensor_is_checked_inside():
    def forward(self, x):
        torch._assert_async(x.abs().sum() < 100, "too much")
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    (check,) = program.contract.checks
    assert (check.id, check.text, check.source) == (0, "too much", line_of(forward, 1))
    assert fails(program, X + 100)
    assert fails(program, X * float("nan"))
    assert not fails(program, X)


def test_an_assertion_without_a_message_is_described():
    def forward(self, x):
        torch._assert_async((x + 1 < 100).all())
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert texts(program) == ["all(lt(add(x, 1), 100))"]
    assert fails(program, X + 100)


def test_an_assertion_on_a_number_fails_where_it_is_zero():
    def forward(self, x):
        torch._assert_async(x.sum())
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert fails(program, X * 0)
    assert not fails(program, X)


@pytest.mark.parametrize(
    ("condition", "text", "good", "bad"),
    [
        (lambda a: a <= 100, "sum(x) <= 100", 100.0, 101.0),
        (lambda a: a < 100, "sum(x) < 100", 99.0, 100.0),
        (lambda a: a != 3, "sum(x) != 3", 2.0, 3.0),
        (lambda a: a * 2 < 7, "2 * sum(x) < 7", 3.0, 3.5),
        (lambda a: (a > 3) | (a < -3), "sum(x) < -3 or sum(x) > 3", 4.0, 0.0),
    ],
)
def test_a_condition_on_a_float_is_checked_inside(condition, text, good, bad):
    def forward(self, x):
        torch._check(condition(x.sum().item()))
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert texts(program) == [text]
    assert not fails(program, torch.tensor([[good, 0, 0, 0, 0, 0]]))
    assert fails(program, torch.tensor([[bad, 0, 0, 0, 0, 0]]))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_limit_of_a_float_fails_for_what_is_no_number(value):
    def forward(self, x):
        torch._check(x.max().item() <= 100)
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert fails(program, X * value)


def test_the_message_of_a_check_is_kept():
    def forward(self, x):
        torch._check_value(x.sum().item() < 100, lambda: "the sum is too large")
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert texts(program) == ["the sum is too large"]


def test_assertions_on_tensors_and_on_numbers_stand_side_by_side():
    def forward(self, x):
        torch._assert_async((x > -9).all(), "too small")
        torch._check(x.sum().item() < 100, lambda: "the sum is too large")
        return x * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert sorted(texts(program)) == ["the sum is too large", "too small"]
    assert fails(program, X - 10)
    assert fails(program, X + 10)
    assert not fails(program, X)


def test_a_message_that_shows_a_symbol_is_replaced():
    def forward(self, x, k):
        i = k.max().item()
        torch._check(i % 2 == 0, lambda: f"{i} is odd")
        return x * i

    program = trace(forward, (X, torch.tensor([2, 4])), ({0: BATCH}, None))
    assert texts(program) == ["max(k) % 2 == 0"]


def test_a_float_and_an_integer_and_a_size_may_be_compared():
    def forward(self, x, k):
        torch._check(x.sum().item() * 2 < k.item() + x.shape[0])
        return x * 2

    program = trace(forward, (X, torch.tensor(40)), ({0: BATCH}, None))
    assert texts(program) == ["2 * sum(x) < batch + k"]
    for k in (16, 17, 18, 19, 20):
        assert fails(program, X, torch.tensor(k)) == (not float(X.sum()) * 2 < k + 4)


def test_a_number_computed_inside_is_checked_before_it_is_used():
    def forward(self, x, k):
        i = (k * 2).max().item()
        torch._check(i >= 0)
        torch._check(i < x.shape[1])
        return x[:, i]

    program = trace(forward, (X, torch.tensor([0, 2])), ({0: BATCH}, None))
    assert texts(program) == ["0 <= max(mul(k, 2)) <= 5"]
    (item,) = [node for node in program.functional.graph.nodes if node.name.startswith("item")]
    assert item.args[0].target == torch.ops.polystate.check_range.default
    assert fails(program, X, torch.tensor([0, 3]))
    assert fails(program, X, torch.tensor([-1, -2]))


def test_the_elements_of_a_list_are_checked_one_by_one():
    def forward(self, x, k):
        low, high = k.tolist()
        torch._check(low >= 0)
        torch._check(high >= low)
        torch._check(high <= 10)
        return self.cache[low:high] * 2

    program = trace(forward, (X, torch.tensor([1, 3])), ({0: BATCH}, None), model=Counter())
    assert texts(program) == ["0 <= k[0]", "0 <= k[1] <= 10", "k[0] <= k[1]"]
    assert ranges(program, "k") == []
    assert not fails(program, X, torch.tensor([1, 10]))
    for bad in ([3, 1], [-1, 2], [0, 11]):
        assert fails(program, X, torch.tensor(bad))


def test_a_size_that_values_decide_is_checked_inside():
    def forward(self, x):
        y = x.nonzero()
        torch._check(y.shape[0] > 2)
        torch._check(y.shape[0] % 2 == 0)
        return y * 2

    program = trace(forward, (X,), ({0: BATCH},))
    assert texts(program) == ["3 <= nonzero(x).shape[0] <= 48", "nonzero(x).shape[0] % 2 == 0"]
    for count in range(7):
        x = torch.zeros(4, 6)
        x.view(-1)[:count] = 1
        assert fails(program, x) == (count <= 2 or count % 2 == 1)


# Branches


def test_an_assertion_in_a_branch_counts_only_there():
    def positive(x):
        torch._assert_async((x < 9).all(), "too large")
        return x * 2

    def negative(x):
        torch._check(x.sum().item() > -7)
        return x * 3

    def forward(self, x):
        self.calls.add_(1)
        return torch.cond(x.sum() > 0, positive, negative, (x,))

    program = trace(forward, (X,), ({0: BATCH},), model=Counter())
    assert texts(program) == ["too large", "sum(x) > -7"]
    assert not fails(program, X)
    assert fails(program, X * 100)
    assert not fails(program, X * -0.1)
    assert fails(program, X * -100)


def test_a_condition_on_an_input_in_a_branch_does_not_limit_the_input():
    def small(x, k):
        torch._assert_async((k < 5).all())
        return x * 2

    def large(x, k):
        return x * 3

    def forward(self, x, k):
        return torch.cond(x.sum() > 0, small, large, (x, k))

    program = trace(forward, (X, K), ({0: BATCH}, None))
    assert ranges(program, "k") == []
    assert fails(program, X, torch.tensor(6))
    assert not fails(program, -X, torch.tensor(6))


# State


def test_every_change_of_state_comes_after_the_checks():
    def forward(self, x):
        self.calls.add_(1)
        self.cache[: x.shape[0]] = x
        h = self.linear(x)
        torch._assert_async(h.isfinite().all(), "not finite")
        return h

    program = trace(forward, (X,), ({0: BATCH},), model=Counter())
    changed = program.functional.graph_signature.buffers_to_mutate
    for node in program.functional.graph.output_node().args[0]:
        if node.name in changed:
            assert any(n.target == torch.ops.polystate.check.default for n in ancestors(node))
    assert fails(program, X * float("nan"))
    assert not fails(program, X)


def ancestors(node: Node) -> set[Node]:
    found = {node}
    for operand in node.all_input_nodes:
        found |= ancestors(operand)
    return found


def test_a_check_of_the_new_state_leaves_the_old():
    def forward(self, x):
        self.calls.add_(1)
        self.cache[: x.shape[0]] = x
        torch._assert_async(self.cache.sum() < 100)

    program = trace(forward, (X,), ({0: BATCH},), model=Counter())
    assert fails(program, X * 100)
    assert not fails(program, X)


def test_a_weight_is_seen_directly_by_its_operator():
    def forward(self, x):
        torch._assert_async(x.isfinite().all())
        self.calls.add_(1)
        return self.linear(x)

    program = trace(forward, (X,), ({0: BATCH},), model=Counter())
    weights = set(program.functional.graph_signature.inputs_to_parameters)
    for node in program.functional.graph.nodes:
        if node.name in weights:
            assert not any("check" in str(user.target) for user in node.users)


def test_a_check_copies_the_smallest_tensor_on_the_way():
    def forward(self, x, position):
        torch._assert_async(x.isfinite().all())
        self.cache.index_copy_(0, position, x[:2])
        return self.cache * 2

    program = trace(
        forward, (X, torch.tensor([1, 2])), ({0: Dim("batch", min=2, max=8)}, None), model=Counter()
    )
    (check,) = [n for n in program.functional.graph.nodes if "check" in str(n.target)]
    assert check.args[0].name == "position"


def test_assertions_alone_keep_their_inputs_alive():
    def forward(self, x):
        torch._assert_async(x.isfinite().all(), "not finite")
        self.calls.add_(1)

    program = trace(forward, (X,), ({0: BATCH},), model=Counter())
    assert fails(program, X * float("nan"))


# What operators check in eager PyTorch


def test_classes_that_do_not_exist_are_refused():
    program = trace(
        lambda self, x, k: torch.nn.functional.one_hot(k, 5) + x[0, 0].long(),
        (X, torch.tensor([1, 2])),
        ({0: BATCH}, None),
    )
    assert ranges(program, "k") == [(0, 4)]


@pytest.mark.parametrize("operator", ["index_copy", "index_add"])
def test_a_computed_negative_index_fails_where_pytorch_refuses_it(operator):
    def forward(self, x, k):
        return getattr(x, operator)(1, k * 2, torch.ones(4, 2))

    program = trace(forward, (X, torch.tensor([0, 1])))
    assert fails(program, X, torch.tensor([0, -1]))
    assert not fails(program, X, torch.tensor([0, 1]))


# What cannot be checked is refused


def test_a_condition_that_torch_export_drops_is_refused_when_it_was_not_recorded():
    def forward(self, x):
        torch._check(x.sum().item() <= 100)
        return x * 2

    with (
        mock.patch.object(assertions, "_is_on_values", lambda _: False),
        pytest.raises(UnsupportedError, match=r"torch\.export leaves out the condition"),
    ):
        trace(forward, (X,), ({0: BATCH},))


# Differential


CONDITIONS = {
    "between": lambda a, b, n: (a >= 0) & (a < n),
    "sum": lambda a, b, n: a + b <= n,
    "product": lambda a, b, n: a * b < 20,
    "square": lambda a, b, n: a**2 + n > b,
    "parity": lambda a, b, n: (a + b) % 2 == 0,
    "quotient": lambda a, b, n: (a // 3) < b,
    "remainder": lambda a, b, n: (b % 5) < n,
    "unequal": lambda a, b, n: torch.sym_not(a == b),
    "either": lambda a, b, n: (a < -2) | (b > n),
    "largest": lambda a, b, n: torch.sym_max(a, b) < 7,
    "least": lambda a, b, n: torch.sym_min(a, b) > -n,
    "float": lambda a, b, n: torch.sym_float(a) * 0.5 < b,
    "apart": lambda a, b, n: (a > 0) ^ (b > n),
    "bits": lambda a, b, n: (a ^ b) < n,
}


@pytest.fixture(scope="module")
def conditional():
    programs = {}

    def program_of(name):
        if name not in programs:

            def forward(self, x, k, m):
                a, b = (k + 0).max().item(), (m + 0).max().item()
                torch._check(CONDITIONS[name](a, b, x.shape[0]))
                self.calls.add_(1)
                return x * a

            dims = ({0: BATCH}, None, None)
            good = next((a, b) for a in range(6) for b in range(6) if CONDITIONS[name](a, b, 4))
            examples = (X, *(torch.tensor([value, -9]) for value in good))
            programs[name] = trace(forward, examples, dims, model=Counter())
        return programs[name]

    return program_of


@settings(max_examples=300)
@given(
    name=st.sampled_from(sorted(CONDITIONS)),
    a=st.integers(-9, 12),
    b=st.integers(-9, 12),
    n=st.integers(1, 8),
)
def test_a_condition_fails_just_where_python_says_so(conditional, name, a, b, n):
    program = conditional(name)
    k, m = torch.tensor([a, -9]), torch.tensor([b, -9])
    assert fails(program, torch.ones(n, 6), k, m) == (not CONDITIONS[name](a, b, n))
