from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from polystate.artifact import GoldenCall, golden_npz

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]


def test_calls_come_back_under_their_names() -> None:
    calls = [
        GoldenCall(
            inputs=[np.float32([[1, 2], [3, 4]]), np.array(7)],
            outputs=[np.uint16([0x3F80])],
            written={1: np.array(8)},
        ),
        GoldenCall(inputs=[], outputs=[np.zeros((0, 3), np.int8)]),
    ]
    with np.load(io.BytesIO(golden_npz(calls)), allow_pickle=False) as found:
        arrays = dict(found)
    assert list(arrays) == [
        "call_000/input_0",
        "call_000/input_1",
        "call_000/output_0",
        "call_000/written_1",
        "call_001/output_0",
    ]
    np.testing.assert_array_equal(arrays["call_000/input_0"], np.float32([[1, 2], [3, 4]]))
    assert arrays["call_000/input_1"].shape == ()
    assert arrays["call_000/written_1"] == 8
    assert arrays["call_001/output_0"].shape == (0, 3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_is_kept(dtype: str) -> None:
    value = np.arange(4).astype(dtype)
    with np.load(io.BytesIO(golden_npz([GoldenCall([value], [])]))) as found:
        assert found["call_000/input_0"].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found["call_000/input_0"], value)


def test_the_memory_layout_of_an_array_leaves_no_trace() -> None:
    value = np.arange(12, dtype=np.int32).reshape(3, 4)
    plain = golden_npz([GoldenCall([value], [])])
    assert golden_npz([GoldenCall([np.asfortranarray(value)], [])]) == plain
    assert golden_npz([GoldenCall([value.astype(">i4")], [])]) == plain
    assert golden_npz([GoldenCall([np.repeat(value, 2, axis=0)[::2]], [])]) == plain


def test_nothing_of_the_time_or_the_machine_is_in_the_file() -> None:
    packed = golden_npz([GoldenCall([np.float32([1])], [])])
    [entry] = zipfile.ZipFile(io.BytesIO(packed)).infolist()
    assert entry.date_time == (1980, 1, 1, 0, 0, 0)
    assert entry.create_system == 3
    assert entry.compress_type == zipfile.ZIP_STORED
    assert entry.extra == b""


@pytest.mark.parametrize("value", [np.array(["text"]), np.array([None])])
def test_an_array_that_is_not_of_numbers_is_refused(value: np.ndarray) -> None:
    with pytest.raises(TypeError, match=r"'call_000/output_0\.npy' cannot be recorded: its"):
        golden_npz([GoldenCall([], [value])])


def test_of_large_results_some_values_are_recorded_the_largest_among_them() -> None:
    value = np.random.default_rng(0).normal(size=(3, 50_000)).astype(np.float32)
    value[1, 4321] = 99
    value[2, 1] = np.finfo(np.float32).min  # masks nothing
    with np.load(io.BytesIO(golden_npz([GoldenCall([value], [value], {0: value})]))) as file:
        found = dict(file)
    np.testing.assert_array_equal(found["call_000/input_0"], value)
    for name in ("call_000/output_0", "call_000/written_0"):
        places = found[f"{name}_places"]
        assert places.dtype == np.int64
        assert 2048 <= len(places) < 2200
        assert (np.diff(places) > 0).all()
        assert set(places % 16) == set(range(16))
        assert 50_000 + 4321 in places
        np.testing.assert_array_equal(found[name], value.reshape(-1)[places])
        np.testing.assert_array_equal(found[f"{name}_shape"], value.shape)


def test_large_whole_numbers_are_recorded_in_part_too() -> None:
    value = np.arange(10_000)
    with np.load(io.BytesIO(golden_npz([GoldenCall([], [value])]))) as file:
        np.testing.assert_array_equal(file["call_000/output_0"], file["call_000/output_0_places"])
