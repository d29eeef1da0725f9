"""What an export draws for verification, and which differences it does not count."""

import contextlib
from unittest import mock

import pytest
import torch
from torch._higher_order_ops import map as mapped
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.scan import scan

import polystate as ps
from polystate.artifact.manifest import Input, Method, Symbol, ValueRange
from polystate.export.program import prepare
from polystate.export.surroundings import surroundings
from polystate.export.tracing.control_flow import uncompiled
from polystate.export.tracing.eager import Outcome
from polystate.export.verification import undefined as undefined_results
from polystate.export.verification.branches import Branches
from polystate.export.verification.draws import MANNERS, Source, drawn_arguments
from polystate.export.verification.live_graph import LiveGraph
from polystate.export.verification.outcomes import differs_in_numbers
from polystate.export.verification.rounding import Rounding, is_explained
from polystate.export.verification.tolerances import first_deviation
from polystate.export.verification.undefined import Undefined
from polystate.ops import groupwise, quantized

aten = torch.ops.aten

SMALLEST = torch.iinfo(torch.int32).min


def sources(count=200, **options):
    return [Source(7, number, **options) for number in range(count)]


def test_the_same_seed_and_number_draw_the_same():
    for _ in range(2):
        first, second, other = Source(1, 2), Source(1, 2), Source(1, 3)
        values = first.floats((5,), torch.float32)
        assert torch.equal(values, second.floats((5,), torch.float32))
        assert not torch.equal(values, other.floats((5,), torch.float32))


def test_floats_have_signs_and_a_scale_of_each_tensor():
    drawn = [source.floats((50,), torch.float32) for source in sources()]
    scales = torch.stack([values.abs().mean() for values in drawn])
    assert scales.min() < 1e-2 and scales.max() > 1e2
    assert all((values < 0).any() and (values > 0).any() for values in drawn)
    plain = [source.floats((50,), torch.float32).abs().mean() for source in sources(plain=True)]
    assert min(plain) > 0.4 and max(plain) < 1.3
    last = [source.floats((50,), torch.float32) for source in sources(manner=MANNERS - 1)]
    assert all(((values >= 0) & (values < 1)).all() for values in last)


def test_integers_stay_in_their_range_and_reach_its_ends():
    drawn = [s.integers((3,), torch.int64, 2, 9, range(2, 4)) for s in sources()]
    together = torch.stack(drawn)
    assert together.min() == 2 and together.max() == 9 and together.unique().numel() == 8
    assert any(values.unique().numel() == 3 for values in drawn)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.uint8])
def test_integers_without_a_range_are_near_the_example_and_at_the_ends_of_the_type(dtype):
    together = torch.stack([s.integers((4,), dtype, None, None, range(5, 6)) for s in sources()])
    limits = torch.iinfo(dtype)
    assert together.min() == limits.min and together.max() == limits.max
    near = {3, 4, 5, 6, 7} if limits.bits > 16 else set()
    assert near <= set(together.flatten().tolist())


@pytest.mark.parametrize(
    ("low", "high"), [(0, 2**63 - 1), (-(2**63), 2**62), (-(2**62), 2**63 - 1)]
)
def test_integers_of_a_range_that_is_nearly_all_of_int64_stay_within_it(low, high):
    drawn = [s.integers((8,), torch.int64, low, high, range(5, 6)) for s in sources()]
    together = torch.stack(drawn)
    assert together.min() >= low and together.max() <= high
    assert (together.double() > high / 2).any()


def test_integers_that_decide_how_much_is_done_are_near_the_example():
    drawn = [s.integers((4,), torch.int64, None, None, range(5, 6)) for s in sources(near=True)]
    assert torch.stack(drawn).abs().max() < 10


def test_both_values_of_a_bool_are_drawn():
    assert {bool(source.bools(())) for source in sources(20)} == {True, False}
    drawn = [source.bools((6,)) for source in sources()]
    assert any(b.all() for b in drawn) and any(not b.any() for b in drawn)


def described(values):
    return Method(
        name="step",
        symbols=[Symbol("n", input=0, dimension=0, min=1, max=9)],
        inputs=[Input("x", "float32", ["n"]), Input("i", "int64", [2], values)],
        outputs=[],
        guards=[],
        checks=[],
        reads=[],
        writes=[],
        atomic=True,
        checks_first=True,
        activation_bytes=0,
    )


def test_arguments_are_drawn_within_limits_that_follow_from_sizes():
    method = described([ValueRange(0, ["+", "n", -1], "index"), ValueRange(None, 100, "check")])
    for source in sources(50):
        args, kwargs = drawn_arguments(
            source, method, (torch.zeros(4), "mode"), {"i": torch.zeros(2, dtype=torch.int64)}, None
        )
        assert args[0].shape == (4,) and args[1] == "mode"
        assert kwargs["i"].dtype == torch.int64
        assert kwargs["i"].min() >= 0 and kwargs["i"].max() <= 3


@pytest.mark.parametrize("draws", [{"seed": -1}, {"seed": 0.5}, {"count": -1}, {"count": True}])
def test_draws_that_cannot_be_made_are_refused(draws):
    with pytest.raises(ps.ContractError, match="must be a whole number from 0 on"):
        ps.Draws(**draws)


def test_a_draw_that_is_no_function_is_refused():
    with pytest.raises(ps.ContractError, match="it must be a function"):
        ps.Method("step", (torch.zeros(2),), draw=3)


def reason(function):
    mode = Undefined()
    with mode:
        function()
    return mode.reason


ROWS = torch.zeros(4, 3)
TWICE, ONCE = torch.tensor([1, 1]), torch.tensor([1, 2])


@pytest.mark.parametrize(
    ("undefined", "defined"),
    [
        (lambda: torch.tensor(300.0).to(torch.int8), lambda: torch.tensor(127.5).to(torch.int8)),
        (lambda: torch.tensor(float("nan")).int(), lambda: torch.tensor(-0.5).to(torch.uint8)),
        (
            lambda: torch.zeros(1, dtype=torch.int8).copy_(torch.tensor([1e9])),
            lambda: torch.zeros(1, dtype=torch.int8).copy_(torch.tensor([1e9]).clamp(max=5)),
        ),
        (
            lambda: ROWS.index_copy(0, TWICE, ROWS[:2]),
            lambda: ROWS.index_copy(0, ONCE, ROWS[:2]),
        ),
        (
            lambda: ROWS.clone().index_put_((TWICE, TWICE), torch.ones(2)),
            lambda: ROWS.clone().index_put_((TWICE, ONCE), torch.ones(2)),
        ),
        (
            lambda: ROWS.clone().index_put_((torch.tensor([1, -3]),), torch.ones(2, 3)),
            lambda: ROWS.clone().index_put_((TWICE,), torch.ones(2, 3), accumulate=True),
        ),
        (
            lambda: ROWS.scatter(0, TWICE[:, None], torch.ones(2, 1)),
            lambda: ROWS.scatter(1, TWICE[:, None], torch.ones(2, 1)),
        ),
    ],
)
def test_what_pytorch_leaves_to_chance_is_noticed(undefined, defined):
    assert reason(undefined) is not None
    assert reason(defined) is None


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8:UserWarning")
def test_a_mask_of_bytes_writes_to_each_place_once():
    mask = torch.tensor([1, 1, 0, 1], dtype=torch.uint8)
    args = (ROWS.clone(), [mask], torch.ones(3, 3))
    assert reason(lambda: torch.ops.aten.index_put(*args)) is None


def test_what_the_search_itself_raises_is_no_error_of_the_module():
    def fails(args, kwargs):
        raise RuntimeError("not of the module")

    kind = undefined_results._KINDS[0]._replace(
        packets={torch.ops.aten.scatter}, has_any=fails, places=fails, reason="not known"
    )
    with mock.patch.object(undefined_results, "_KIND_OF", {torch.ops.aten.scatter: kind}):
        assert reason(lambda: ROWS.scatter(0, ONCE[:, None], torch.ones(2, 1))) == "not known"


@pytest.mark.parametrize("divisor", [-1, torch.tensor(-1), torch.tensor([-1, 3]).int()])
def test_the_smallest_integer_by_minus_one_does_not_end_the_process(divisor):
    values = torch.tensor([SMALLEST, 7], dtype=torch.int32)
    with Undefined() as mode:
        quotient = torch.div(values, divisor, rounding_mode="trunc")
        floored, rest, left = values // divisor, values % divisor, torch.fmod(values, divisor)
    assert quotient[0] == floored[0] == SMALLEST and rest[0] == left[0] == 0
    assert quotient[1] == torch.div(values[1:], divisor, rounding_mode="trunc").flatten()[-1]
    with Undefined():
        assert (values / divisor)[0] == 2.0**31 and (values // -1.0)[0] == 2.0**31
    assert mode.reason is None


@pytest.mark.parametrize(
    "run",
    [
        lambda f, a, b: torch.cond(a.sum() > 0, lambda a, b: a - b, f, (a, b)),
        lambda f, a, b: mapped(lambda e: f(*e), (a, b)),
        lambda f, a, b: scan(lambda c, e: (c + 1, f(*e)), torch.zeros(()), (a, b))[1],
        lambda f, a, b: while_loop(lambda i, q: i < 1, lambda i, q: (i + 1, f(a, b)), (0, a))[1],
    ],
    ids=["cond", "map", "scan", "while_loop"],
)
def test_nor_does_it_in_branches_and_loops(run):
    values, divisors = torch.tensor([[SMALLEST]]).int(), torch.tensor([[-1]]).int()

    def divided(a, b):
        return torch.div(a, b, rounding_mode="trunc")

    with uncompiled(), Undefined():
        assert torch.equal(run(divided, values, divisors), values)


class Quotients(torch.nn.Module):
    def forward(self, a, b):
        return torch.cond(
            a.sum() > 0,
            lambda a, b: a - b,
            lambda a, b: torch.div(a, b, rounding_mode="trunc"),
            (a, b),
        )


def test_nor_does_it_where_a_graph_is_asked_which_branches_it_takes_and_what_it_refuses():
    one, two = torch.ones(2, dtype=torch.int64), torch.full((2,), -1)
    methods = {"forward": ps.Method("forward", (one, one))}
    model = Quotients()
    with surroundings(model, None):
        prepared = prepare(model, methods, "portable", {}, at_corners=True)
        eager, (traced,) = prepared.eager, prepared.traced
        smallest = torch.full((2,), torch.iinfo(torch.int64).min)
        branches = Branches(traced)
        branches.see(eager, (smallest, two), {})
        assert [each.partition(" ")[0] for each in branches.untaken()] == ["True"]
        assert not LiveGraph(traced).refuses(eager, (smallest, two), {})


def outcome(*outputs):
    return Outcome(list(outputs), [], {})


def test_only_differences_that_rounding_can_make_are_explained():
    torch.manual_seed(0)
    weight, x = torch.randn(8, 64), torch.randn(64)
    weight[3] = weight[5] = 9 * x  # two equal largest products, which round apart
    weight[5, 0] += 1e-7

    def run(seed):
        with Rounding(seed):
            products = weight @ x
            return outcome(products.argmax(), products, x.clone() > 0)

    expected, others = run(100), [run(seed) for seed in range(6)]
    products = expected.outputs[1]
    swapped = torch.tensor(8 - int(expected.outputs[0]))
    tolerance = (1e-4, 2e-5)
    assert is_explained(outcome(swapped, products, x > 0), expected, others, tolerance)
    wrong = torch.tensor(1)
    assert not is_explained(outcome(wrong, products * 1.01, x > 0), expected, others, tolerance)
    assert not is_explained(outcome(swapped, products, x >= 0.1), expected, others, tolerance)


def test_noise_of_many_elements_explains_each_of_them():
    generator = torch.Generator().manual_seed(0)
    size = torch.tensor([[1.0], [0.01]])  # of each row
    wanted, noise = size * torch.randn(2, 100_000, generator=generator), 0.1 * size
    found, *variants = (
        wanted + noise * torch.randn(wanted.shape, generator=generator) for _ in range(4)
    )
    others, tolerance = [outcome(each) for each in variants], (1e-5, 1e-5)
    assert is_explained(outcome(found), outcome(wanted), others, tolerance)
    found[1, 7] = wanted[1, 7] + 0.05  # as much as the first row's noise
    assert not is_explained(outcome(found), outcome(wanted), others, tolerance)


def test_noise_of_some_rows_explains_that_of_others():
    generator = torch.Generator().manual_seed(0)
    wanted = torch.randn(50, 64, generator=generator)
    found, *variants = (wanted.clone() for _ in range(4))
    for row, moved in enumerate([found, *variants]):  # each another one
        moved[row] += 0.1 * torch.randn(64, generator=generator)
    others, tolerance = [outcome(each) for each in variants], (2e-2, 2e-2)
    assert is_explained(outcome(found), outcome(wanted), others, tolerance)
    assert not is_explained(outcome(found), outcome(wanted), others, (1e-5, 1e-5))
    found[7, 7] += 3.0
    assert not is_explained(outcome(found), outcome(wanted), others, tolerance)


def test_states_are_told_apart_by_their_names_whatever_their_order():
    wanted = {"table": torch.ones(3), "count": torch.ones(2, 2), "cache": torch.ones(3)}
    moved = Outcome([], [], {**wanted, "cache": torch.full((3,), 2.0)})
    found = {"cache": torch.ones(3), "table": torch.full((3,), 1.5)}  # those that change
    for differing, is_right in ((found, False), ({"cache": torch.full((3,), 1.5)}, True)):
        explained = is_explained(
            Outcome([], [], differing), Outcome([], [], wanted), [moved], (1e-4, 2e-5)
        )
        assert explained == is_right


TIES = torch.tensor([[3, 1, 3, 2], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sort(-1),
        lambda x: [each.T for each in x.T.sort(0, descending=True)],
        lambda x: torch.sort(x, stable=False, dim=-1),
        lambda x: x.topk(3),
        lambda x: x.kthvalue(2, -1),
        lambda x: x.median(-1),
        lambda x: x.float().nanmedian(-1, keepdim=True),
        lambda x: x.mode(-1),
    ],
)
def test_only_the_order_of_equal_elements_is_by_chance(function):
    expected = function(TIES)
    indices = set()
    for seed in range(20):
        with Rounding(seed):
            values, places = function(TIES)
        assert torch.equal(values, expected[0])
        chosen = TIES.gather(-1, places.reshape(2, -1)).reshape(values.shape)
        assert torch.equal(chosen.to(values.dtype), values)
        indices.add(tuple(places.flatten().tolist()))
    assert len(indices) > 1


def test_stable_sorts_and_medians_of_all_have_one_result():
    for seed in range(10):
        with Rounding(seed):
            indices, median = TIES.sort(stable=True).indices, TIES.median()
        assert indices.tolist() == [[1, 3, 0, 2], [0, 1, 2, 3]] and median == 0


def test_the_order_of_equal_elements_excuses_indices_alone():
    def run(seed):
        with Rounding(seed):
            values, indices = TIES.sort(-1)
            return outcome(values, indices, TIES + 1)

    values, indices = TIES.sort(stable=True, dim=-1)
    others, tolerance = [run(seed) for seed in range(32)], (1e-4, 2e-5)
    swapped = indices.clone()
    swapped[0, 2:] = indices[0, 2:].flip(0)  # of the two threes
    wanted = outcome(values, indices, TIES + 1)
    assert is_explained(outcome(values, swapped, TIES + 1), wanted, others, tolerance)
    wrong = indices.clone()
    wrong[0, :2] = indices[0, :2].flip(0)  # of 1 and 2
    assert not is_explained(outcome(values, wrong, TIES + 1), wanted, others, tolerance)
    assert not is_explained(outcome(values + 1, swapped, TIES + 1), wanted, others, tolerance)
    assert not is_explained(outcome(values, swapped, TIES), wanted, others, tolerance)


def test_a_nan_excuses_itself_alone():
    nan, tolerance = float("nan"), (1e-4, 2e-5)
    wanted = outcome(torch.tensor([nan, 1.0, 2.0]))
    right, wrong = outcome(torch.tensor([5.0, 1.0, 2.0])), outcome(torch.tensor([nan, 1.0, 3.0]))
    assert not differs_in_numbers(right, wanted, tolerance)
    assert differs_in_numbers(wrong, wanted, tolerance)
    same, moved = wanted, outcome(torch.tensor([nan, 1.0, 2.5]))
    assert is_explained(right, wanted, [], tolerance, nan_counts=False)
    assert not is_explained(wrong, wanted, [same] * 4, tolerance, nan_counts=False)
    assert is_explained(wrong, wanted, [moved], tolerance, nan_counts=False)


def test_rounding_changes_nothing_that_is_exact():
    x = torch.randn(100)
    with Rounding(0):
        assert torch.equal(torch.cat([x, x]).view(2, 100)[1].clone().relu(), x.relu())
        assert not torch.equal(x * 3, torch.mul(x, 3))


def by_row(weight):
    packed = quantized.pack(weight)
    return lambda x: torch.ops.polystate.quantized_linear(x, *packed, None)


def by_groups(weight):
    packed = groupwise.pack(weight)
    return lambda x: torch.ops.polystate.groupwise_linear(x, *packed, len(weight), None)


@pytest.mark.parametrize("product", [by_row, by_groups])
def test_rows_are_quantized_otherwise_where_they_lie_between_two_steps(product):
    torch.manual_seed(0)
    multiply = product(torch.randn(16, 64))

    def products(x, seed=None):
        with Rounding(seed) if seed is not None else contextlib.nullcontext():
            return multiply(x)

    steps = torch.randint(-99, 100, (1, 64)).float()
    ends = torch.tensor([-127.0, 128.0]) if product is by_row else torch.tensor([-127.0, 127.0])
    steps[0, :2] = steps[0, -2:] = ends  # of a row and of its groups: a step is 1
    between = steps.clone()
    between[0, 9] += 0.4999
    for x, least, most in ((steps, 0, 0), (between, 1, 19)):
        exact = products(x)
        changed = [not torch.allclose(products(x, seed), exact, atol=1e-2) for seed in range(20)]
        assert least <= sum(changed) <= most


def moved_by_rounding(function):
    """How far elements are moved at most, over some seeds."""
    exact = function()
    changed = []
    for seed in range(8):
        with Rounding(seed):
            changed.append((function() - exact).abs())
    return torch.stack(changed).amax(0)


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128),
    ],
)
def test_numbers_of_each_type_are_off_by_some_units_of_their_last_place(dtype):
    x, y = ((torch.rand(16, 16) + 1).to(dtype) for _ in range(2))
    for function in (lambda: x * y, lambda: x @ y, lambda: x.exp()):
        part = moved_by_rounding(function) / function().abs().max()
        assert torch.finfo(dtype).eps / 4 < part.max() < 16 * torch.finfo(dtype).eps


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: torch.nn.functional.layer_norm(x, (8,)),
        lambda x: torch.nn.functional.group_norm(x, 2),
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
    ],
)
def test_normalised_elements_that_are_all_alike_are_what_rounding_leaves(norm):
    alike, others = torch.full((4, 8), 5.2), torch.randn(4, 8)
    eps = torch.finfo(torch.float32).eps
    assert eps < moved_by_rounding(lambda: norm(alike)).max() < 3e4 * eps
    assert moved_by_rounding(lambda: norm(others)).max() < 1e2 * eps


@pytest.mark.parametrize("mask", [-1e9, torch.finfo(torch.float32).min])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.log_softmax(-1),
        lambda x: torch.stack([x[:, :1].logsumexp(-1), x[:, 1:].logsumexp(-1)], -1),
        lambda x: x.cumsum(-1),
        lambda x: x.sum(0),
        lambda x: torch.addmm(x, torch.full((3, 2), 0.5), torch.full((2, 4), 0.5)),
    ],
)
def test_a_mask_says_nothing_of_the_rounding_of_what_is_beside_it(function, mask):
    x = torch.linspace(0.5, 2.0, 12).reshape(3, 4)
    x[:, -1] = mask
    moved = moved_by_rounding(lambda: function(x))
    assert moved.flatten()[0] < 1e-5


def test_sums_that_cancel_are_moved_by_what_they_add_up():
    x = torch.tensor([[1e6, -1e6, 0.25], [1.0, -1.0, 0.25]])
    large, small = moved_by_rounding(lambda: x.sum(-1))
    assert large > 1e-2 and 0 < small < 1e-5


def test_integers_are_explained_by_such_as_are_as_far_off():
    wanted = outcome(torch.tensor([3, 7]))
    other, tolerance = [outcome(torch.tensor([4, 7]))], (1e-4, 2e-5)
    assert is_explained(outcome(torch.tensor([5, 7])), wanted, other, tolerance)
    assert not is_explained(outcome(torch.tensor([30, 7])), wanted, other, tolerance)
    assert not is_explained(outcome(torch.tensor([4, 8])), wanted, other, tolerance)


def test_another_number_of_elements_explains_no_other_elements():
    wanted, fewer = outcome(torch.tensor([1.0, 2.0])), outcome(torch.tensor([1.0]))
    tolerance = (1e-4, 2e-5)
    assert is_explained(outcome(torch.tensor([1.0, 2.0, 3.0])), wanted, [fewer], tolerance)
    assert not is_explained(outcome(torch.tensor([1.0, 9.0])), wanted, [fewer], tolerance)


def test_an_unsteady_row_does_not_excuse_the_others():
    wanted = torch.randn(2, 64, generator=torch.Generator().manual_seed(0))
    moved, found = wanted.clone(), wanted.clone()
    moved[0] = -moved[0]
    found[1] *= 1.1
    assert not is_explained(outcome(found), outcome(wanted), [outcome(moved)], (1e-4, 2e-5))


WRITTEN, SMALL = torch.tensor([5.0, 6.0, 7.0]), torch.tensor([SMALLEST, 1, 2]).int()


@pytest.mark.parametrize(
    ("function", "places"),
    [
        (lambda x: (x * 1e12).to(torch.int32), [0, 3]),
        (lambda x: torch.zeros(4, dtype=torch.int8).copy_(x * 300), [0, 3]),
        (lambda x: x.index_put((torch.tensor([1, 1, 2]),), WRITTEN), [1]),
        (lambda x: x.index_copy(0, torch.tensor([2, 0, 2]), WRITTEN), [2]),
        (lambda x: x.scatter(0, torch.tensor([3, 3]), torch.tensor([5.0, 6.0])), [3]),
        (lambda x: torch.gcd(WRITTEN.int(), SMALL), [0]),
        (lambda x: x.put(torch.tensor([1, -3, 2]), WRITTEN), [1]),
        (lambda x: aten.max_unpool2d(x[None, None, ::3], torch.tensor([[[3, 3]]]), [1, 4]), [3]),
    ],
)
def test_what_is_left_to_chance_is_drawn_and_nothing_else(function, places):
    x = torch.tensor([1.0, 0.0, -0.0, -2.0])
    results = []
    for seed in range(12):
        with Rounding(seed):
            results.append(function(x).flatten())
    changed = (torch.stack(results) != results[0]).any(0)
    assert changed.nonzero().flatten().tolist() == places


def test_a_factor_of_a_matrix_that_has_none_is_left_to_chance():
    matrices = torch.stack([2 * torch.eye(2), torch.tensor([[4.0, 1.0], [1.0, -3.0]])])
    factors = []
    for seed in range(12):
        with Rounding(seed):
            factors.append(torch.linalg.cholesky_ex(matrices).L)
    deviations = torch.stack(factors).std(0).amax((1, 2))
    assert deviations[0] < 1e-5 < 1e-2 < deviations[1]


def test_the_scale_of_small_results_is_their_own():
    expected = torch.full((4,), 1e-3)
    assert first_deviation(torch.zeros(4), expected, (1e-4, 2e-5)) is not None
    assert first_deviation(expected + 1e-8, expected, (1e-4, 2e-5)) is None
