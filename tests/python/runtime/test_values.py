"""Numbers and foreign objects as arrays."""

from __future__ import annotations

import array
import ctypes
import math
from typing import Any

import numpy as np
import pytest
import torch

from polystate.errors import ContractError
from polystate.runtime.values import exact_array, shared_array


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        (5, "int64"),
        (2**63 - 1, "int64"),
        (-(2**63), "int64"),
        (255, "uint8"),
        (2.0, "int32"),
        (1 - 2.0**53, "int64"),
        (True, "bool"),
        (1, "bool"),
        (0.0, "bool"),
        (True, "int16"),
        (False, "float32"),
        (2**24, "float32"),
        (2**53, "float64"),
        (2**62, "float64"),
        (0.1, "float64"),
        (math.inf, "float32"),
        (-math.inf, "float16"),
        (65504, "float16"),
        ([[1, 2], [3, 4]], "int8"),
        (([1], (2.0,)), "int64"),
        ([], "int64"),
        ([[], []], "float32"),
    ],
)
def test_numbers_that_a_dtype_holds_come_out_equal(numbers: Any, dtype: str) -> None:
    converted = exact_array(numbers, dtype, "x")
    assert converted.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(converted, np.asarray(numbers))


@pytest.mark.parametrize(
    ("numbers", "dtype", "value"),
    [
        (1.5, "int64", "1.5"),
        (math.nan, "int64", "nan"),
        (math.inf, "int32", "inf"),
        (2.0**63, "int64", "9.22337"),
        (2**63, "int64", "9223372036854775808"),
        (256, "uint8", "256"),
        (-1, "uint8", "-1"),
        (300.0, "int8", "300.0"),
        (2, "bool", "2"),
        (0.5, "bool", "0.5"),
        (2**24 + 1, "float32", "16777217"),
        (2**53 + 1, "float64", "9007199254740993"),
        (2**63 - 1, "float64", "9223372036854775807"),
        (65536, "float16", "65536"),
        (1e39, "float32", "1e+39"),
        (257, "bfloat16", "257"),
        ([1, 2, 300], "int8", "300"),
        ([2**53 + 1, 0.0], "int64", "90071992547409"),  # NumPy has rounded it already
    ],
)
def test_a_number_that_a_dtype_lacks_is_refused(numbers: Any, dtype: str, value: str) -> None:
    with pytest.raises(ContractError) as refusal:
        exact_array(numbers, dtype, "method 'm', input 0 'x'")
    assert str(refusal.value).startswith(f"method 'm', input 0 'x': {value}")
    assert f" cannot be {dtype} without a change of its value" in str(refusal.value)


@pytest.mark.parametrize(
    ("numbers", "stranger"),
    [
        ([1, "two"], "'two'"),
        ([None], "None"),
        ([[1, 2], [3, {}]], "{}"),
        (2**64, "18446744073709551616"),
    ],
)
def test_what_is_no_number_is_named(numbers: Any, stranger: str) -> None:
    with pytest.raises(ContractError, match="x: ") as refusal:
        exact_array(numbers, "float32", "x")
    assert str(refusal.value) == f"x: {stranger} is no number of 64 bits"


def test_a_list_that_holds_itself_is_refused() -> None:
    numbers: list[Any] = []
    numbers.append(numbers)
    with pytest.raises(ContractError):
        exact_array(numbers, "float32", "x")


def test_lists_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(ContractError, match=r"x: the list is no tensor: .* inhomogeneous shape"):
        exact_array([[1, 2], [3]], "float32", "x")


def test_a_list_of_tensors_that_require_grad_is_refused() -> None:
    with pytest.raises(ContractError, match=r"x: the list is no tensor: .* requires grad"):
        exact_array([torch.ones(2, requires_grad=True)] * 2, "float32", "x")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_fraction_is_rounded_to_the_nearest(dtype: str) -> None:
    assert exact_array(0.1, dtype, "x") == np.dtype(dtype).type(0.1)
    assert np.isnan(exact_array(math.nan, dtype, "x"))


def test_bfloat16_comes_as_its_bits_rounded_to_the_nearest() -> None:
    chance = np.random.default_rng(0)
    values = chance.standard_normal(1000).astype(np.float32) * 10.0 ** chance.integers(
        -30, 30, 1000
    )
    edges = [0.0, -0.0, 1.00390625, 1.01171875, math.inf, -math.inf, 3.3895313892515355e38]
    numbers = [*values.tolist(), *edges]
    expected = torch.tensor(numbers).bfloat16().view(torch.int16).numpy()
    np.testing.assert_array_equal(exact_array(numbers, "bfloat16", "x"), expected)
    for nan in (math.nan, -math.nan):
        bits = torch.from_numpy(exact_array([nan], "bfloat16", "x"))
        assert bits.view(torch.bfloat16).isnan().all()


def test_a_number_over_the_largest_bfloat16_is_refused() -> None:
    with pytest.raises(ContractError, match=r"x: 3.4e\+38 cannot be bfloat16"):
        exact_array(3.4e38, "bfloat16", "x")


def test_a_buffer_shares_its_memory() -> None:
    memory = array.array("f", [1, 2, 3])
    shared = shared_array(memory, True, "x")
    shared[1] = 7
    assert memory.tolist() == [1, 7, 3]
    assert shared.dtype == np.float32
    assert shared_array(bytearray(b"abc"), True, "x").tolist() == [97, 98, 99]
    assert shared_array((ctypes.c_int32 * 2)(4, 5), True, "x").tolist() == [4, 5]
    assert shared_array(memoryview(b"ab"), True, "x").flags.writeable is False


class WithArray:
    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._memory


class WithDlpack:
    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    def __dlpack__(self, **how: Any) -> Any:
        return self._memory.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self._memory.__dlpack_device__()


@pytest.mark.parametrize("kind", [WithArray, WithDlpack])
def test_an_object_that_offers_an_array_shares_its_memory(kind: type) -> None:
    memory = np.arange(3)
    shared = shared_array(kind(memory), False, "x")
    assert np.shares_memory(shared, memory)


def test_only_an_object_that_shares_for_sure_may_be_written() -> None:
    memory = np.arange(3)
    assert np.shares_memory(shared_array(WithDlpack(memory), True, "x"), memory)
    with pytest.raises(ContractError, match="x: a WithArray does not share its memory, which the"):
        shared_array(WithArray(memory), True, "x")


@pytest.mark.parametrize("value", [None, "text", object(), {1: 2}, {1, 2}, print])
def test_any_other_object_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(ContractError, match=f"x: a {type(value).__name__} is no tensor"):
        shared_array(value, False, "x")


def test_a_numpy_scalar_keeps_its_dtype() -> None:
    assert shared_array(np.float64(0.1), False, "x").dtype == np.float64
