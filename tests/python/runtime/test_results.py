"""What a session gives back."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.python.runtime.runtime_support import RunPython


def test_a_method_gives_a_tuple_of_torch_tensors(session: ps.Session) -> None:
    outputs = session.run("work", 1.0)
    assert isinstance(outputs, tuple)
    assert [type(output) for output in outputs] == [torch.Tensor, torch.Tensor]
    assert [output.shape for output in outputs] == [(), (192,)]


def test_a_method_that_returns_nothing_gives_an_empty_tuple(session: ps.Session) -> None:
    assert session.run("count", 1) == ()


def test_results_are_the_callers_own(toy: Path) -> None:
    model = ps.load(toy)
    session = model.session()
    [first] = session.run("add", [[1, 1, 1, 1]])
    first += 100
    [second] = session.run("add", [[1, 1, 1, 1]])
    del session, model
    gc.collect()
    assert first.tolist() == [102, 103, 104, 105]
    assert second.tolist() == [3, 4, 5, 6]


def test_bfloat16_comes_as_torchs(session: ps.Session) -> None:
    [scaled] = session.run("rescale", torch.tensor([2.0, 0.5], dtype=torch.bfloat16))
    assert scaled.dtype == torch.bfloat16
    assert scaled.tolist() == [4, 1.5]


WITHOUT_TORCH = """
import sys
import polystate as ps
assert "numpy" not in sys.modules
session = ps.load(sys.argv[1]).session()
import numpy as np
rows = np.ones((3, 4), np.float32)
[total] = session.run("add", rows)
assert type(total) is np.ndarray and total.dtype == np.float32, total
assert total.flags.writeable and total.flags.c_contiguous
assert session.run("count", 3) == ()
assert type(session.state["calls"]) is np.ndarray and session.state["calls"] == 3
data = np.arange(6, dtype=np.float32).reshape(2, 3)
session.run("double", data)
assert data.tolist() == [[0, 2, 4], [6, 8, 10]]
print(total.tolist())
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"torch", "transformers", "executorch", "torchao"}, loaded
"""


def test_without_torch_numpy_arrays_come_out_and_nothing_imports_torch(
    toy: Path, run_python: RunPython
) -> None:
    assert run_python(WITHOUT_TORCH, toy) == "[4.0, 5.0, 6.0, 7.0]\n"


WITHOUT_BFLOAT16 = """
import sys
sys.modules["ml_dtypes"] = None
import polystate as ps
session = ps.load(sys.argv[1]).session()
for attempt in (lambda: session.run("rescale", [2, 2]), lambda: session.state["scale"]):
    try:
        attempt()
        raise SystemExit("not refused")
    except ps.UnsupportedError as error:
        print(error)
import torch
print(session.state["scale"].tolist(), session.run("rescale", [2, 2])[0].tolist())
"""


def test_bfloat16_that_nothing_can_hold_is_refused_before_the_call(
    toy: Path, run_python: RunPython
) -> None:
    refusals = "NumPy has no bfloat16: import torch before the call, or install ml_dtypes\n" * 2
    assert run_python(WITHOUT_BFLOAT16, toy) == refusals + "[2.0, 3.0] [4.0, 6.0]\n"


WITH_ML_DTYPES = """
import sys
import polystate as ps
session = ps.load(sys.argv[1]).session()
[scaled] = session.run("rescale", [2, 0.5])
import ml_dtypes
assert scaled.dtype == ml_dtypes.bfloat16
[again] = session.run("rescale", scaled)
assert "torch" not in sys.modules
print(scaled.tolist(), again.tolist())
"""


def test_bfloat16_goes_through_ml_dtypes_where_torch_is_not(
    toy: Path, run_python: RunPython
) -> None:
    pytest.importorskip("ml_dtypes")
    assert run_python(WITH_ML_DTYPES, toy) == "[4.0, 1.5] [16.0, 2.25]\n"


@pytest.mark.parametrize("forbidden", ["None", "types.ModuleType('torch')"])
def test_a_torch_that_is_not_there_in_truth_is_not_used(
    toy: Path, run_python: RunPython, forbidden: str
) -> None:
    program = f"""
import sys, types
sys.modules["torch"] = {forbidden}
import polystate as ps
print(type(ps.load(sys.argv[1]).session().run("get")[0]).__module__)
"""
    assert run_python(program, toy) == "numpy\n"
