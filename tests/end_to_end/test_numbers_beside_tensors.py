"""Numbers beside tensors without dimensions: what they are computed in is the tensors' type."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import BACKENDS, ENGINES, Twins


class Counters(nn.Module):
    """Counters that wrap, of small types, and what they are combined with."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bytes", torch.tensor(0, dtype=torch.uint8))
        self.register_buffer("shorts", torch.tensor(0, dtype=torch.int16))
        self.register_buffer("ints", torch.tensor(5, dtype=torch.int32))
        self.register_buffer("halves", torch.tensor(0.5, dtype=torch.float16))

    def advance(self) -> tuple[Tensor, ...]:
        self.bytes += 50
        self.shorts += 10_000
        self.ints += 1
        return self.ints.clone(), self.bytes + 300, 2 * self.halves + 0.25, self.ints * 0.5

    def read(self, x: Tensor) -> tuple[Tensor, ...]:
        late = (self.shorts + 20_000) < 0
        return x + (self.bytes + 200), x * late, x[0] + 1, self.bytes - 1 > 3

    def choose(self, wanted: Tensor) -> Tensor:
        return torch.cond(wanted, lambda c: c + 1, lambda c: c.clone(), (self.ints,))

    def put(self, x: Tensor) -> Tensor:
        return x.to(torch.int32).scatter(0, torch.tensor([0]), (self.ints + 1).view(1))


@pytest.mark.parametrize("backend", ENGINES)
def test_small_types_wrap_as_pytorchs_do(tmp_path: Path, backend: str) -> None:
    x = torch.tensor([1.0, -2.0])
    methods = {
        "advance": ps.Method("advance"),
        "read": ps.Method("read", (x,)),
        "choose": ps.Method("choose", (torch.tensor(True),)),
        "put": ps.Method("put", (x,)),
    }
    twins = Twins(Counters(), methods, tmp_path, backend)
    for call in range(12):
        twins.call("advance")
        twins.call("read", x * call)
        twins.call("choose", torch.tensor(call % 2 == 0))
        twins.call("put", x + call)


class Doubles(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        x = x.double()
        return x * 2.7, x * 1e300, x[0] + 1e-60, x[0] * 3


@pytest.mark.parametrize("backend", ENGINES)
def test_numbers_beside_doubles_are_doubles(tmp_path: Path, backend: str) -> None:
    twins = Twins(Doubles(), {"f": ps.Method("forward", (torch.zeros(2),))}, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-15, "atol": 0.0}
    for x in (torch.tensor([0.0, 1.0]), torch.tensor([3.0, -7.0])):
        twins.call("f", x)


class Read(nn.Module):
    """Numbers that the run reads from tensors, or computes of sizes, beside wide types."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor(0))

    def add(self, x: Tensor) -> tuple[Tensor, ...]:
        self.total += x.sum()
        return torch.arange(4) + self.total.item(), self.total.item() * 0.5 - x.double()

    def scale(self, x: Tensor, factor: Tensor, number: Tensor) -> tuple[Tensor, ...]:
        by = number.item()
        return x * factor.item(), x * by, by - x, x / (1.0 / x.shape[0]), x + by * x.shape[0]


@pytest.mark.parametrize("backend", ENGINES)
def test_numbers_that_the_run_reads_have_all_their_bits(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, dtype=torch.float64)
    shapes = {"x": {0: torch.export.Dim("n", min=2, max=9)}, "factor": None, "number": None}
    numbers = (torch.tensor(7), torch.tensor(0.1, dtype=torch.float64))
    methods = {
        "add": ps.Method("add", (torch.arange(3),)),
        "scale": ps.Method("scale", (x, *numbers), dynamic_shapes=shapes),
    }
    twins = Twins(Read(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-15, "atol": 0.0}
    for large in (3, 2**31, 3_000_000_001, -(2**40) - 1):
        twins.call("add", torch.tensor([large, 1, -2]))
        number = 1 / torch.tensor(large * 3.0, dtype=torch.float64)
        twins.call("scale", torch.randn(7).double(), torch.tensor(large), number)
        twins.call("scale", x, torch.tensor(large), torch.randn((), dtype=torch.float64))


class Decomposed(nn.Module):
    """Operators that ExecuTorch writes by others, with numbers of its own beside doubles."""

    def forward(self, x: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
        aten = torch.ops.aten
        return (
            aten.gelu_backward(gradient, x),
            aten.gelu_backward(gradient, x, approximate="tanh"),
            aten.elu_backward(gradient, 0.3, 1.7, 0.9, False, x),
            aten.softplus_backward(gradient, x, 1.3, 2.1),
            aten.huber_loss_backward(gradient, x, gradient, 0, 0.37),
            aten.leaky_relu_backward(gradient, x, 0.0123, False),
            x * torch.hann_window(7, dtype=torch.float64),
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_of_decompositions_are_doubles(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    x, gradient = torch.randn(2, 5, 7, dtype=torch.float64)
    methods = {"f": ps.Method("forward", (x, gradient))}
    twins = Twins(Decomposed(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-13, "atol": 1e-14}
    twins.call("f", *torch.randn(2, 5, 7, dtype=torch.float64))


class Fractions(nn.Module):
    """Operators that are written with numbers beside integers and 16-bit floats."""

    def forward(self, x: Tensor, halves: Tensor) -> tuple[Tensor, ...]:
        flipped = x.flip(0)
        return (
            functional.pairwise_distance(x, flipped),
            functional.poisson_nll_loss(x, flipped, log_input=False),
            torch.ops.aten.sub.Scalar(x, 0.5, 3),
            torch.ops.aten.mul.Scalar(x, 1.5),
            torch.ops.aten.div.Scalar(x, 4),
            torch.ops.aten.add.Scalar(x, 2, 3),
            torch.ops.aten.sub.Scalar(halves, 0.9329070713842775),
        )


@pytest.mark.parametrize("backend", ENGINES)
def test_integers_beside_numbers_with_fractions(tmp_path: Path, backend: str) -> None:
    x, halves = torch.arange(1, 13).view(3, 4), torch.rand(5).half()
    twins = Twins(Fractions(), {"f": ps.Method("forward", (x, halves))}, tmp_path, backend)
    # AOTInductor rounds the number to 16 bits.
    twins.tolerance = {"rtol": 1e-5, "atol": 5e-4 if backend == "aoti" else 0.0}
    twins.call("f", x, halves)
    twins.call("f", x * 3, halves + 0.5)


class Factors(nn.Module):
    def forward(self, halves: Tensor, shorts: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            y
            for x in (halves, shorts)
            for y in (x * 0.37, 0.1 * x + 0.3, x / 3.3, x * 0.5, 1.7 / x)
        )


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_products_of_16_bits_with_numbers_are_rounded_once(tmp_path: Path, backend: str) -> None:
    torch.manual_seed(0)
    example = (torch.randn(300).half(), torch.randn(300).bfloat16())
    twins = Twins(Factors(), {"f": ps.Method("forward", example)}, tmp_path, backend)
    twins.tolerance = {"rtol": 0.0, "atol": 0.0}
    twins.call("f", torch.randn(300).half() * 3, torch.randn(300).bfloat16() * 3)
