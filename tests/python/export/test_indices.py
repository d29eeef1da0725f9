"""Integer inputs that index something are limited to what they index."""

import pytest
import torch
from torch.export import Dim

from polystate.artifact.manifest import ValueRange
from tests.python.export.programs import Refused, trace

BATCH = Dim("batch", min=1, max=8)
X = torch.arange(24.0).reshape(4, 6)
ROW = torch.tensor([1, 3])


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(10, 20))
        self.embed = torch.nn.Embedding(7, 6)


def limits(forward, k=ROW, dims=None):
    """The limits that an input gets, as (least, greatest, reason)."""
    dims = ({0: BATCH}, None) if dims is None else dims
    program = trace(forward, (X, k), dims, model=Cache())
    return [(r.min, r.max, r.reason) for r in program.input("k").values]


DIRECT = {
    "index_select": (lambda self, x, k: x.index_select(1, k), 1, 5, "x"),
    "index": (lambda self, x, k: x[:, k], 1, 5, "x"),
    "index of rows": (lambda self, x, k: self.cache[k], 0, 9, "cache"),
    "index_copy": (
        lambda self, x, k: self.cache.index_copy_(1, k, x[0, :2].expand(10, 2)),
        1,
        19,
        "cache",
    ),
    "index_add": (lambda self, x, k: self.cache.index_add(0, k, self.cache[:2]), 0, 9, "cache"),
    "index_fill": (lambda self, x, k: self.cache.index_fill(1, k, 2.0), 1, 19, "cache"),
    "gather": (lambda self, x, k: x.gather(1, k.expand(x.shape[0], 2)), 1, 5, "x"),
    "scatter": (lambda self, x, k: self.cache.scatter(1, k.expand(10, 2), 1.0), 1, 19, "cache"),
    "scatter_add": (
        lambda self, x, k: self.cache.scatter_add(1, k.expand(10, 2), self.cache[:, :2]),
        1,
        19,
        "cache",
    ),
    "negative dimension": (lambda self, x, k: x.index_select(-1, k), 1, 5, "x"),
    "embedding": (lambda self, x, k: self.embed(k) + x[0], 0, 6, "embed.weight"),
}


@pytest.mark.parametrize("name", DIRECT)
def test_an_index_is_limited_to_the_dimension_that_it_indexes(name):
    forward, dimension, last, indexed = DIRECT[name]
    assert (0, last, f"indexes dimension {dimension} of '{indexed}'") in limits(forward)


def test_an_assignment_by_index_limits_the_index():
    def forward(self, x, k):
        self.cache[k, :6] = x[:2]

    dims = ({0: Dim("batch", min=2, max=8)}, None)
    assert limits(forward, dims=dims) == [(0, 9, "indexes dimension 0 of 'cache'")]


def test_several_indices_of_one_operator_have_their_own_dimensions():
    program = trace(
        lambda self, x, i, j: self.cache[i, j] + x[0, 0], (X, ROW, ROW + 1), None, model=Cache()
    )
    assert program.input("i").values == [ValueRange(0, 9, "indexes dimension 0 of 'cache'")]
    assert program.input("j").values == [ValueRange(0, 19, "indexes dimension 1 of 'cache'")]


def test_a_mask_before_an_index_stands_for_its_dimensions():
    mask = torch.ones(10, dtype=torch.bool)

    def forward(self, x, mask, k):
        return (
            torch.ops.aten.index.Tensor(self.cache[:, None].expand(10, 4, 20), [None, k]) + x[0, 0]
        )

    program = trace(forward, (X, mask, ROW), None, model=Cache())
    assert [(r.min, r.max) for r in program.input("k").values] == [(0, 3)]


def test_the_limit_is_symbolic_where_the_dimension_is_dynamic():
    found = limits(lambda self, x, k: x[k])
    assert found == [(0, ["+", -1, "batch"], "indexes dimension 0 of 'x'")]


def test_a_number_read_from_an_input_is_an_index_too():
    def forward(self, x, k):
        i = k.item()
        torch._check(i >= -100)
        torch._check(i < 10)
        return self.cache.select(0, i) + x[0, 0]

    assert (0, 9, "indexes dimension 0 of 'cache'") in limits(forward, torch.tensor(3))


def test_a_bound_of_a_slice_may_be_the_end():
    def forward(self, x, k):
        i = k.item()
        torch._check(i >= 0)
        torch._check(i <= 10)
        return self.cache[:i] + x[0, 0]

    assert limits(forward, torch.tensor(3)) == [(0, 10, "slices dimension 0 of 'cache'")]


def test_an_index_may_count_from_the_end_where_the_example_does():
    from_the_end = torch.tensor([-1, 3])
    found = limits(lambda self, x, k: self.cache[k] + x[0, 0], from_the_end)
    assert found == [(-10, 9, "indexes dimension 0 of 'cache'")]
    found = limits(lambda self, x, k: self.cache[k - 4] + x[0, 0])  # rows -3 and -1
    assert found == [(-6, 13, "indexes dimension 0 of 'cache'")]


def test_an_index_of_a_dynamic_dimension_may_count_from_the_end():
    ((low, high, _),) = limits(lambda self, x, k: x[k], torch.tensor([-4]))
    assert (low, high) == (["*", -1, "batch"], ["+", -1, "batch"])


SHIFTED = {
    "constant": (lambda self, x, k: self.cache[k + 2], -2, 7),
    "difference": (lambda self, x, k: self.cache[k - 1], 1, 10),
    "reversed difference is computed": (lambda self, x, k: self.cache[9 - k], None, None),
    "arange": (lambda self, x, k: self.cache[k[:, None] + torch.arange(4)], 0, 6),
    "arange of a size": (
        lambda self, x, k: self.cache[k[:, None] + torch.arange(x.shape[0])],
        0,
        ["+", ["*", -1, "batch"], 10],
    ),
    "arange with a start": (lambda self, x, k: self.cache[torch.arange(2, 5) + k[:, None]], -2, 5),
    "constant tensor": (lambda self, x, k: self.cache[k[:, None] + torch.tensor([0, 5])], 0, 4),
    "scaled": (lambda self, x, k: self.cache[torch.add(k, torch.tensor(1), alpha=2)], None, None),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_known_offsets_shift_the_limits(name):
    forward, low, high = SHIFTED[name]
    found = [(lowest, highest) for lowest, highest, _ in limits(forward)]
    if low is None:
        assert found == []
        return
    ((lowest, highest),) = found
    assert lowest == low
    if isinstance(high, list):
        highest, high = (sorted(map(str, expression)) for expression in (highest, high))
    assert highest == high


KEPT = {
    "view": lambda k: k.view(2, 1).view(-1),
    "unsqueeze": lambda k: k.unsqueeze(0).squeeze(0),
    "expand": lambda k: k.expand(3, 2),
    "clone": lambda k: k.clone(),
    "transpose": lambda k: k.view(1, 2).t(),
    "wider type": lambda k: k.to(torch.int64),
}


@pytest.mark.parametrize("name", KEPT)
def test_limits_pass_through_operators_that_keep_values(name):
    found = limits(lambda self, x, k: self.cache[KEPT[name](k)], ROW.to(torch.int32))
    assert found == [(0, 9, "indexes dimension 0 of 'cache'")]


COMPUTED = {
    "clamp": lambda k: k.clamp(0, 9),
    "remainder": lambda k: k % 10,
    "where": lambda k: torch.where(k > 9, 0, k),
    "product": lambda k: k * 2,
    "some elements": lambda k: k[:1],
    "narrower type": lambda k: k.to(torch.int8).to(torch.int64),
    "sum": lambda k: k.sum(),
    "an offset for each element": lambda k: k + torch.tensor([0, 5]),
    "offsets that cancel": lambda k: (k - torch.arange(2)) + torch.arange(2),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_computed_index_does_not_limit_the_input(name):
    assert limits(lambda self, x, k: self.cache[COMPUTED[name](k)]) == []


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_a_sum_of_narrow_integers_may_wrap_and_limits_nothing(dtype):
    assert limits(lambda self, x, k: self.cache[(k + 2).long()], ROW.to(dtype)) == []


def test_a_sum_of_int32_does_not_wrap():
    found = limits(lambda self, x, k: self.cache[(k + 2).long()], ROW.to(torch.int32))
    assert found == [(-2, 7, "indexes dimension 0 of 'cache'")]


def test_what_a_long_sum_uses_twice_is_read_once():
    def forward(self, x, k):
        for _ in range(40):
            k = k + k
        return self.cache[k]

    assert limits(forward, torch.zeros(2, dtype=torch.int64)) == []


def test_an_input_that_is_no_index_is_not_limited():
    assert limits(lambda self, x, k: x * k.sum()) == []


def test_equal_limits_are_given_once():
    found = limits(lambda self, x, k: (self.cache[k], self.cache[k] * 2))
    assert found == [(0, 9, "indexes dimension 0 of 'cache'")]


def step(self, x, position):
    self.cache.index_copy_(1, position, x)
    mask = torch.arange(20) <= position
    return (self.cache * mask).sum(1)


def test_a_step_over_a_cache_takes_the_positions_that_it_has():
    program = trace(step, (torch.ones(10, 1), torch.tensor([3])), None, model=Cache())
    assert program.input("position").values == [ValueRange(0, 19, "indexes dimension 1 of 'cache'")]
    for position in (0, 19):
        outputs, state = program(torch.ones(10, 1), torch.tensor([position]))
        assert torch.equal(outputs, torch.ones(10))
        assert state["cache"][:, position].sum() == 10
    for position in (-1, 20, 2**62, -(2**63)):
        with pytest.raises(Refused, match="cache"):
            program(torch.ones(10, 1), torch.tensor([position]))
