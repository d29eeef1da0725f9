"""Kernels that copy elements by an index, or in another order, give what PyTorch's do."""

from __future__ import annotations

import itertools

import pytest
import torch

from polystate import _core
from polystate.errors import EngineError
from tests.python.aten.compared_kernels import ALL, ComparedKernels, compare_samples

aten = torch.ops.aten

SHAPES = ((3, 4, 5), (2, 1, 70), (4, 0, 3), (17,), (1, 1), ())


def compared() -> ComparedKernels:
    """Elements are moved: none is rounded."""
    return ComparedKernels(tolerance=(0, 0))


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return (torch.randn(shape) * 9).to(dtype)


def test_samples_of_pytorch() -> None:
    names = """
        __getitem__ as_strided_copy expand_copy flip gather index_put index_select permute_copy
        repeat roll
        rot90 take_along_dim tile
    """
    assert compare_samples(names.split()).keys() >= {
        "aten.as_strided_copy.default",
        "aten.expand_copy.default",
        "aten.flip.default",
        "aten.gather.default",
        "aten.index.Tensor",
        "aten.index_put.default",
        "aten.index_select.default",
        "aten.permute_copy.default",
        "aten.repeat.default",
        "aten.roll.default",
    }


@pytest.mark.parametrize("dtype", ALL)
def test_copies_in_another_order(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    with compared() as kernels:
        for shape in SHAPES:
            x = drawn(shape, dtype)
            for count in range(len(shape) + 1):
                for dims in itertools.combinations(range(-len(shape), 0), count):
                    aten.flip(x, dims)
                    aten.roll(x, range(-3, count - 3), dims) if dims else aten.roll(x, [5])
            aten.repeat(x, [2, *[3] * len(shape)])
            aten.repeat(x, [0, *[1] * len(shape)])
            aten.expand_copy(x, [2, 3, *[-1] * len(shape)])
            aten.expand_copy(x.unsqueeze(-1), [*shape, 3])
        aten.roll(drawn((3, 5), dtype), [1, 7, -(2**62)], [1, -1, 0])
        aten.flip(drawn((4, 6), dtype).t(), [0])
    assert sum(kernels.counts.values()) > 50


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.bool])
def test_dimensions_in_another_order(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shapes = (*SHAPES, (9, 17, 33), (8, 16), (7, 300), (65, 3), (2, 40, 1, 13), (3, 2, 4, 5, 2))
    with compared() as kernels:
        for shape in shapes:
            x = drawn(shape, dtype)
            for order in itertools.permutations(range(len(shape))):
                aten.permute_copy(x, order)
                aten.permute_copy(x, [dim - len(shape) for dim in order])
        aten.permute_copy(drawn((6, 200, 100), dtype), [2, 0, 1])
    assert kernels.counts["aten.permute_copy.default"] > 200


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.bool])
def test_windows_by_strides(dtype: torch.dtype) -> None:
    x = drawn((4, 30), dtype)
    with compared() as kernels:
        for size, stride, offset in (
            ([28, 3], [1, 1], 0),
            ([4, 10, 3], [30, 3, 1], None),
            ([30, 4], [1, 30], 0),
            ([5, 2, 4], [0, 7, 2], 11),
            ([0, 2**20], [2**20, 2**20], 200),
            ([], [], 119),
        ):
            aten.as_strided_copy(x, size, stride, offset)
    assert kernels.counts == {"aten.as_strided_copy.default": 6}


@pytest.mark.parametrize("dtype", ALL)
def test_elements_at_places_along_a_dimension(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = drawn((3, 4, 5), dtype)
    with compared() as kernels:
        for dim in (0, 1, 2, -1):
            size = x.shape[dim]
            for count in (0, 1, 7):
                index = torch.randint(0, size, (count,))
                aten.index_select(x, dim, index)
                aten.index_select(x, dim, index.int())
                shape = [2, 3, 4]
                shape[dim] = count
                aten.gather(x, dim, torch.randint(0, size, shape))
        aten.gather(x.transpose(0, 2), 1, torch.randint(0, 4, (5, 6, 3)))
        aten.index_select(x, 0, torch.tensor(1))
        for number in (drawn((), dtype), drawn((1,), dtype)):
            aten.index_select(number, 0, torch.zeros(1, dtype=torch.int64))
            aten.gather(number, 0, torch.zeros((), dtype=torch.int64))
            aten.gather(number, 0, torch.zeros(1, dtype=torch.int64))
        aten.gather(drawn((2, 0), dtype), 0, torch.zeros((3, 0), dtype=torch.int64))
    assert sum(kernels.counts.values()) == 45


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(300, 7), (3, 2500), (400, 500)])
def test_a_place_that_there_is_not_is_seen_wherever_it_is(shape: tuple[int, int], dim: int) -> None:
    """Places are checked some lines at a time, by several threads."""
    torch.manual_seed(0)
    x = torch.randn(shape)
    index = torch.randint(0, shape[dim], shape)
    with compared() as kernels:
        aten.gather(x, dim, index)
    assert kernels.counts == {"aten.gather.default": 1}
    out = torch.empty(shape)
    for row, column in ((0, 0), (shape[0] // 2, shape[1] // 2), (-1, -1)):
        for wrong in (shape[dim], -1, -(2**63), 2**63 - 1):
            other = index.clone()
            other[row, column] = wrong
            with pytest.raises(EngineError, match=f"index {wrong} of {shape[dim]}"):
                _core.call_operator("polystate_faster::gather.out", [x, dim, other, False, out], 1)


@pytest.mark.parametrize("dtype", ALL)
def test_elements_that_several_indices_name(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = drawn((4, 5, 6, 3), dtype)
    rows, columns = torch.tensor([[3], [-3], [0]]), torch.tensor([1, -1], dtype=torch.int32)
    mask, plane = torch.rand(4) < 0.5, torch.rand(5, 6) < 0.3
    some, others = torch.tensor([1, -1, 0]), torch.tensor([2, 1, 0])
    with compared() as kernels:
        for indices in (
            [some],
            [None, some],
            [None, None, None, some],
            [rows, columns],
            [None, rows, columns],
            [rows, None, columns],
            [some, some, some, others],
            [mask],
            [None, plane],
            [None, plane, some[:1]],
            [some[:0]],
            [torch.tensor(2), None, torch.tensor(-1)],
        ):
            found = aten.index(x, indices)
            aten.index_put(x, indices, drawn(found.shape, dtype))
            aten.index_put(x, indices, drawn(found.shape[-1:], dtype), True)
            aten.index_put(x, indices, drawn((), dtype))
        aten.index(x[:, :, :0], [some, None])
        aten.index(x.transpose(0, 3), [some, None, some])
    assert kernels.counts == {"aten.index.Tensor": 14, "aten.index_put.default": 36}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.bool])
def test_sums_at_places_that_are_there_twice(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, places = drawn((5, 40), dtype), torch.randint(-5, 5, (60,))
    with compared() as kernels:
        aten.index_put(x, [places], drawn((60, 40), dtype), True)
        aten.index_put(x, [None, places], drawn((5, 60), dtype), True)
        aten.index_put(x, [places, places], drawn((60,), dtype), True)
        aten.index_put(x, [places], drawn((60, 1), dtype), True)
    assert kernels.counts == {"aten.index_put.default": 4}


X = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("flip.out", [X, (0, -2)], "dimension -2 is there twice"),
        ("flip.out", [X, (2,)], r"dimension 2 of a tensor of shape \[2, 3\]"),
        ("roll.out", [X, (1,), (0, 1)], "1 shifts along 2 dimensions"),
        ("expand_copy.out", [X, (2, 4), False], "of 3 elements cannot have 4"),
        ("expand_copy.out", [X, (-1, 2, 3), False], "of 1 elements cannot have -1"),
        ("permute_copy.out", [X, (0,)], "1 dimensions of 2"),
        ("permute_copy.out", [X, (0, -2)], "dimension -2 is there twice"),
        ("permute_copy.out", [X, (0, 2)], r"dimension 2 of a tensor of shape \[2, 3\]"),
        ("repeat.out", [X, (2,)], "fewer dimensions than self"),
        ("repeat.out", [X, (1, -1)], "repeats has -1"),
        ("as_strided_copy.out", [X, (2, 2), (4, 2), None], "outside of self"),
        ("as_strided_copy.out", [X, (2,), (2**62,), 0], "outside of self"),
        ("as_strided_copy.out", [X, (2,), (-1,), 5], "a stride is negative"),
        ("as_strided_copy.out", [X, (1,), (1,), 6], "outside of self"),
        ("index_select.out", [X, 0, torch.tensor([0, 2])], "index 2 of 2"),
        ("index_select.out", [X, 0, torch.tensor([0, -1])], "index -1 of 2"),
        ("index_select.out", [X, 0, torch.tensor([0.5])], "the index has no integers"),
        ("gather.out", [X, 1, torch.tensor([[0, 3]]), False], "index 3 of 3"),
        ("gather.out", [X, 1, torch.zeros(3, 1).long(), False], "3 elements in dimension 0"),
        ("gather.out", [X, 1, torch.tensor([0]), False], "differ in their number of dimensions"),
        ("index.Tensor_out", [X, [torch.tensor([1, 2])]], "index 2 of a dimension of 2"),
        ("index.Tensor_out", [X, [None, torch.tensor([-4])]], "index -4 of a dimension of 3"),
        ("index.Tensor_out", [X, [torch.ones(3).bool()]], "a mask of shape"),
        (
            "index.Tensor_out",
            [X, [torch.tensor([0, 0]), torch.tensor([0, 1, 2])]],
            "an index of shape",
        ),
        (
            "index_put.out",
            [X, [torch.tensor([0, 2])], torch.ones(2, 3), False],
            "index 2 of a dimension of 2",
        ),
        (
            "index_put.out",
            [X, [torch.tensor([0])], torch.ones(2, 3), False],
            "values have shape",
        ),
        (
            "index_put.out",
            [X, [torch.tensor([0])], torch.ones(3).double(), False],
            "elements of type",
        ),
    ],
)
def test_what_pytorch_refuses_is_refused(name: str, arguments: list[object], reason: str) -> None:
    out = torch.zeros(2, 3) if name != "index.Tensor_out" else torch.zeros(3, 3)
    with pytest.raises(EngineError, match=f"polystate_faster::{name}.*{reason}"):
        _core.call_operator(f"polystate_faster::{name}", [*arguments, out], 1)
    assert not out.any()


def test_rows_are_copied_to_where_the_index_lies() -> None:
    index = torch.tensor([2, 0, 1])
    _core.call_operator("polystate::index_copy_", [index, 0, index, index.clone() + 10**9], 1)
    assert index.equal(torch.tensor([10**9, 10**9 + 1, 10**9 + 2]))


def test_a_result_that_lies_where_an_operand_does_is_refused() -> None:
    x, index = torch.arange(6.0).reshape(2, 3), torch.zeros(1, dtype=torch.int64)
    for name, arguments in (
        ("flip.out", [x, (0,)]),
        ("permute_copy.out", [x, (0, 1)]),
        ("index_select.out", [x, 0, index.repeat(2)]),
        ("index.Tensor_out", [x, [index.repeat(2)]]),
        ("index_put.out", [x, [index], torch.ones(1, 3), False]),
    ):
        with pytest.raises(EngineError, match="out lies where self does"):
            _core.call_operator(f"polystate_faster::{name}", [*arguments, x], 1)
    assert x.equal(torch.arange(6.0).reshape(2, 3))
