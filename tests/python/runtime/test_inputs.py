"""What a session takes as inputs, and what it refuses."""

from __future__ import annotations

import array
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps
from tests.python.runtime.runtime_support import DTYPES

ROWS = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])


@pytest.fixture(scope="module")
def echo_session(echo: Any) -> ps.Session:
    return ps.load(echo).session()


def values(dtype: str) -> torch.Tensor:
    return torch.tensor([[0, 1, 2], [3, 4, 5], [6, 7, 100]]).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_torch_tensor_of_each_dtype_goes_in_and_comes_out(
    echo_session: ps.Session, dtype: str
) -> None:
    x = values(dtype)
    [found] = echo_session.run(dtype, x)
    assert found.dtype == x.dtype
    assert torch.equal(found, x)


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bfloat16"])
def test_a_numpy_array_means_what_the_torch_tensor_means(
    echo_session: ps.Session, dtype: str
) -> None:
    x = values(dtype)
    assert torch.equal(*echo_session.run(dtype, x.numpy()), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_and_lists_take_the_dtype_of_the_input(
    echo_session: ps.Session, dtype: str
) -> None:
    [found] = echo_session.run(dtype, [[0, 1, 0], [1.0, 1, True]])
    assert found.dtype == getattr(torch, dtype)
    assert found.tolist() == [[0, 1, 0], [1, 1, 1]]


def test_nan_and_infinity_pass_through(echo_session: ps.Session) -> None:
    odd = torch.tensor([[float("nan"), float("inf"), -float("inf")], [-0.0, 1e-45, 0.0]])
    [found] = echo_session.run("float32", odd)
    assert torch.equal(found.view(torch.int32), odd.view(torch.int32))


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(12.0).reshape(3, 4).T[:, :3][:2],
        torch.arange(24.0).reshape(2, 12)[:, ::4],
        torch.tensor([1.0, 2.0, 3.0]).expand(2, 3),
        torch.arange(6.0).reshape(2, 3).flip(0),
        np.arange(6, dtype=np.float32).reshape(2, 3)[::-1, ::-1],
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.broadcast_to(np.float32([7, 8, 9]), (2, 3)),
        np.frombuffer(b"x" + np.arange(6, dtype=np.float32).tobytes(), np.uint8)[1:]
        .view(np.float32)
        .reshape(2, 3),
    ],
    ids=["transposed", "stepped", "expanded", "flipped", "reversed", "fortran", "broadcast", "odd"],
)
def test_memory_in_any_order_is_taken_by_its_elements(session: ps.Session, x: Any) -> None:
    [found] = session.run("subtract", x, ROWS)
    np.testing.assert_array_equal(found.numpy(), np.asarray(x) - ROWS.numpy())


def test_inputs_are_taken_by_position_and_by_name(session: ps.Session) -> None:
    expected = [[0.5, -2.5, 2.5], [3.5, 4.5, -6.5]]
    half = torch.full((2, 3), 0.5)
    for found in (
        session.run("subtract", ROWS, half),
        session.run("subtract", ROWS, y=half),
        session.run("subtract", y=half, x=ROWS),
    ):
        assert found[0].tolist() == expected


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        ((ROWS,), {}, "method 'subtract', input 1 'y' is missing"),
        ((), {"y": ROWS}, "method 'subtract', input 0 'x' is missing"),
        ((ROWS, ROWS, ROWS), {}, "method 'subtract' takes 2 inputs, 3 were given"),
        ((ROWS,), {"z": ROWS}, "method 'subtract' has no input 'z': its inputs are x, y"),
        ((ROWS,), {"x": ROWS}, "method 'subtract', input 0 'x' was given by position and by name"),
    ],
)
def test_inputs_that_do_not_fit_the_method_are_named(
    session: ps.Session, positional: Any, named: Any, message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message):
        session.run("subtract", *positional, **named)


def test_an_unknown_method_is_named(session: ps.Session) -> None:
    with pytest.raises(ps.ContractError, match="decode"):
        session.run("decode", 1)


@pytest.mark.parametrize(
    ("method", "named", "message"),
    [
        (5, {}, "a name is a str, not 5"),
        ("\udcff", {}, r"\\udcff"),
        ("count", {"\udcff": 1}, r"method 'count' has no input '\\udcff': its inputs are by"),
    ],
)
def test_a_name_that_is_none_is_refused_as_it_is(
    session: ps.Session, method: Any, named: Any, message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message):
        session.run(method, **named)


class Marked(torch.Tensor):
    """A subclass, which may mean anything by its memory."""


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (ROWS.double(), "float64"),
        (ROWS.numpy().astype(np.int64), "int64"),
        (np.float64(1.0), "float64"),
        (ROWS.numpy().astype(">f4"), "a NumPy array of dtype '>f4' is no tensor"),
        (ROWS.numpy().astype(np.complex64), "the dtype is complex64; it must be float32"),
        (ROWS.numpy().astype(np.clongdouble), "a NumPy array of dtype '<c32' is no tensor"),
        (np.array([["a", "b", "c"]] * 2), "a NumPy array of dtype '<U1' is no tensor"),
        (ROWS.to(torch.complex64), "the dtype is complex64; it must be float32"),
        (ROWS.to(torch.complex32), r"a tensor of torch.complex32 is no input"),
        (ROWS.clone().requires_grad_(), r"a tensor that requires grad; pass .detach\(\)"),
        (torch.nn.Parameter(ROWS.clone()), r"a tensor that requires grad"),
        (ROWS.to("meta"), "a tensor on the device 'meta'"),
        (ROWS.to_sparse(), "a tensor of the layout torch.sparse_coo"),
        (ROWS.as_subclass(Marked), "a tensor of the subclass 'Marked'"),
        (np.ma.masked_array(ROWS.numpy(), mask=False), "a masked array's mask would be lost"),
        (None, "a NoneType is no tensor"),
        ("text", "a str is no tensor"),
        ([[1, 2], [3]], "the list is no tensor: "),
    ],
)
def test_a_value_that_is_no_input_is_refused_by_its_kind(
    session: ps.Session, x: Any, message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message) as refusal:
        session.run("subtract", ROWS, x)
    assert str(refusal.value).startswith("method 'subtract', input 1 'y': ")


def test_a_tensor_that_is_negated_lazily_is_an_input(session: ps.Session) -> None:
    negated = torch.complex(ROWS, ROWS).conj().imag
    assert negated.is_neg()
    assert torch.equal(*session.run("subtract", ROWS, negated), 2 * ROWS)


def test_a_tensor_inside_a_transform_is_refused(session: ps.Session) -> None:
    with pytest.raises(ps.ContractError, match="input 0 'x': a tensor without memory: Cannot acc"):
        torch.vmap(lambda x: session.run("subtract", x, ROWS))(torch.ones(2, 2, 3))


@pytest.mark.parametrize("one", [1, True, np.int64(1), np.array(1), torch.tensor(1), 1.0])
def test_a_scalar_is_a_tensor_without_dimensions(session: ps.Session, one: Any) -> None:
    session.run("count", one)
    assert session.state["calls"].shape == ()
    assert session.state["calls"] == 1


def test_a_number_that_does_not_fit_exactly_is_refused(session: ps.Session) -> None:
    with pytest.raises(ps.ContractError, match=r"input 0 'by': 1\.5 cannot be int64"):
        session.run("count", 1.5)
    assert session.run("count", 2.0) == ()
    assert session.state["calls"] == 2


def test_a_parameter_without_grad_is_an_input(session: ps.Session) -> None:
    x = torch.nn.Parameter(ROWS.clone(), requires_grad=False)
    assert torch.equal(*session.run("subtract", x, torch.zeros(2, 3)), ROWS)


def test_other_buffers_are_inputs(session: ps.Session) -> None:
    flat = memoryview(array.array("f", [1, 2, 3, 4, 5, 6]))
    x = flat.cast("B").cast("f", (2, 3))
    [found] = session.run("subtract", x, np.zeros((2, 3), np.float32))
    assert found.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("kind", ["torch", "numpy"])
@pytest.mark.parametrize("view", ["dense", "transposed", "stepped", "negative"])
def test_an_input_that_the_method_mutates_is_written(
    session: ps.Session, kind: str, view: str
) -> None:
    if view == "negative" and kind == "torch":
        view = "stepped"  # torch has no negative strides
    memory = np.full((6, 6), 7, np.float32)
    data = {
        "dense": lambda: memory[:2].reshape(-1)[:6].reshape(2, 3),
        "transposed": lambda: memory.T[1:3, :3],
        "stepped": lambda: memory[::3, ::2],
        "negative": lambda: memory[1::-1, 5:2:-1],
    }[view]()
    assert np.shares_memory(data, memory)
    data[:] = ROWS.numpy()
    expected = memory.copy()
    expected[memory != 7] *= 2
    [found] = session.run("double", torch.from_numpy(data) if kind == "torch" else data)
    assert torch.equal(found, ROWS * 2 + 1)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.broadcast_to(np.float32([1, 2, 3]), (2, 3)), "and the array is read-only"),
        (np.frombuffer(bytes(24), np.float32).reshape(2, 3), "and the array is read-only"),
        (torch.zeros(3).expand(2, 3), "and several of its elements share memory"),
        (torch.zeros(6).as_strided((2, 3), (1, 1)), "and several of its elements share memory"),
        ([[1, 2, 3], [4, 5, 6]], "pass an array or a tensor, no numbers"),
        (memoryview(bytes(24)).cast("f", (2, 3)), "and the array is read-only"),
    ],
)
def test_memory_that_a_method_cannot_write_is_refused(
    session: ps.Session, data: Any, message: str
) -> None:
    with pytest.raises(ps.ContractError, match="input 0 'data': the method writes it") as refusal:
        session.run("double", data)
    assert message in str(refusal.value)


def test_a_refused_call_writes_nothing(session: ps.Session) -> None:
    data = torch.ones(4, 6)[::2]
    with pytest.raises(ps.ContractError):
        session.run("double", data)
    assert torch.equal(data, torch.ones(2, 6))


def test_autograd_learns_that_a_tensor_was_written(session: ps.Session) -> None:
    data = torch.ones(2, 3)
    weight = torch.ones(2, 3, requires_grad=True)
    loss = (weight * data).sum()  # saves data for the gradient of weight
    session.run("double", data)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_tensor_of_inference_mode_is_written_too(session: ps.Session) -> None:
    with torch.inference_mode():
        data = torch.ones(4, 3)
    session.run("double", data[::2])
    assert data.tolist() == [[2, 2, 2], [1, 1, 1], [2, 2, 2], [1, 1, 1]]


class Sums(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("flag", torch.tensor([True, False]))

    def add_into(self, a: torch.Tensor, b: torch.Tensor) -> None:
        a.add_(b)

    def exclude(self, mask: torch.Tensor) -> torch.Tensor:
        self.flag.logical_and_(mask.logical_not())
        return self.flag * 1


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> ps.Session:
    methods = {
        "add_into": ps.Method("add_into", (torch.ones(4), torch.ones(4))),
        "exclude": ps.Method("exclude", (torch.tensor([True, False]),)),
    }
    program = ps.export(Sums(), methods, backend="portable")
    return ps.load(program.save(tmp_path_factory.mktemp("artifacts") / "sums")).session()


def test_a_written_input_that_shares_elements_with_another_is_refused(sums: ps.Session) -> None:
    x = np.arange(8, dtype=np.float32)
    for a, b in ((x[::2], x[:4]), (x[:4], x[::2]), (x[::2], x[6::-2]), (x[4::-1][:4], x[:4])):
        with pytest.raises(ps.ContractError, match="input 0 'a': the method writes this tensor"):
            sums.run("add_into", a, b)
        np.testing.assert_array_equal(x, np.arange(8))
    sums.run("add_into", x[::2], x[1::2])  # they interleave, and share nothing
    np.testing.assert_array_equal(x, [1, 1, 5, 3, 9, 5, 13, 7])


@pytest.mark.parametrize("tensor", [torch.ones(8, 2).t()[:, :2], torch.ones(2, 2)])
def test_a_tensor_whose_storage_was_cut_is_refused(tensor: torch.Tensor, sums: ps.Session) -> None:
    tensor.untyped_storage().resize_(4)
    with pytest.raises(ps.ContractError, match=r"input 0 'a': a tensor that needs .* bytes"):
        sums.run("add_into", tensor, torch.ones(4))


def test_a_nested_tensor_is_refused(sums: ps.Session) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(ps.ContractError, match="input 0 'a': a nested tensor"):
        sums.run("add_into", nested, torch.ones(4))


def test_a_bool_that_is_neither_0_nor_1_is_refused(sums: ps.Session) -> None:
    bad = np.array([2, 0], np.uint8).view(bool)
    with pytest.raises(ps.ContractError, match="input 0 'mask': a bool of the tensor is neither"):
        sums.run("exclude", bad)
    with pytest.raises(ps.ContractError, match="state 'flag': a bool of the value is neither"):
        sums.state["flag"] = bad
    assert sums.run("exclude", np.array([False, True]))[0].tolist() == [1, 0]


def test_a_saved_bool_that_is_neither_0_nor_1_is_refused(sums: ps.Session, tmp_path: Path) -> None:
    saved = []
    for flag in ([True, False], [False, False]):
        sums.state["flag"] = np.array(flag)
        sums.save(tmp_path / "state")
        saved.append((tmp_path / "state").read_bytes()[:-32])  # without its digest
    (place,) = [i for i, (a, b) in enumerate(zip(*saved, strict=True)) if a != b]
    changed = saved[0][:place] + b"\x02" + saved[0][place + 1 :]
    (tmp_path / "state").write_bytes(changed + hashlib.sha256(changed).digest())
    with pytest.raises(ps.ArtifactError, match="a bool of state 'flag' is neither 0 nor 1"):
        sums.load(tmp_path / "state")
    assert sums.state["flag"].tolist() == [False, False]
