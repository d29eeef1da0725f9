from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from polystate.artifact import GoldenCall, golden_npz

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


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


@pytest.mark.parametrize("value", [np.array(["text"]), np.array([None]), np.array([1j])])
def test_an_array_that_is_not_of_numbers_is_refused(value: np.ndarray) -> None:
    with pytest.raises(TypeError, match=r"'call_000/output_0\.npy' cannot be recorded: its"):
        golden_npz([GoldenCall([], [value])])
