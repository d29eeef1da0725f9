"""Kernels of elementwise functions give what PyTorch's do."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from polystate import _core
from polystate.errors import Error
from tests.python.aten.compared_kernels import ALL, FLOATS, ComparedKernels, compare_samples

special = torch.special

UNARY: tuple[Callable[[Tensor], Tensor], ...] = (
    special.airy_ai,
    special.bessel_j0,
    special.bessel_j1,
    special.bessel_y0,
    special.bessel_y1,
    special.digamma,
    special.entr,
    special.erfc,
    special.erfcx,
    special.erfinv,
    special.gammaln,
    special.i0,
    special.i0e,
    special.i1,
    special.i1e,
    special.log_ndtr,
    special.modified_bessel_i0,
    special.modified_bessel_i1,
    special.modified_bessel_k0,
    special.modified_bessel_k1,
    special.ndtri,
    special.scaled_modified_bessel_k0,
    special.scaled_modified_bessel_k1,
    special.sinc,
    special.spherical_bessel_j0,
)
POLYNOMIALS: tuple[Callable[[Any, Any], Tensor], ...] = (
    special.chebyshev_polynomial_t,
    special.chebyshev_polynomial_u,
    special.chebyshev_polynomial_v,
    special.chebyshev_polynomial_w,
    special.hermite_polynomial_h,
    special.hermite_polynomial_he,
    special.laguerre_polynomial_l,
    special.legendre_polynomial_p,
    special.shifted_chebyshev_polynomial_t,
    special.shifted_chebyshev_polynomial_u,
    special.shifted_chebyshev_polynomial_v,
    special.shifted_chebyshev_polynomial_w,
)
# NaN, infinities, zeros, poles, and both sides of where the functions are computed otherwise.
ODD = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-30, -1e-30, 1e-6, 0.1353, 0.25, 0.4999, 0.5),
    *(0.7, 0.75, 0.999, 1.0, -1.0, 1.5, 2.0, 2.08, 2.1, -2.0, -2.5, 4.99, 5.01, 6.5, 7.99, 8.01),
    *(-5.5, -8.5, 9.5, 10.0, 11.0, 20.0, -20.5, 26.0, -26.0, 51.0, 90.0, 104.0, 1e4, 1e30, -1e30),
)


def wide(dtype: torch.dtype) -> Tensor:
    """Numbers of all sizes, odd ones among them."""
    drawn = torch.Generator().manual_seed(0)
    parts = [torch.randn(200, generator=drawn) * size for size in (0.3, 2.0, 15.0)]
    return torch.cat([torch.tensor(ODD), torch.rand(200, generator=drawn), *parts]).to(dtype)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_number(function: Callable[[Tensor], Tensor]) -> None:
    with ComparedKernels() as compared:
        for dtype in FLOATS:
            with contextlib.suppress(NotImplementedError):  # PyTorch's of 16 bits
                function(wide(dtype))
        for dtype in ALL[4:]:
            function(torch.tensor([[0, 1, 3], [2, 7, 100]], dtype=dtype).T)
        function(torch.tensor(0.25))
        function(torch.zeros(3, 0, 2))
    assert [count >= len(ALL) for count in compared.counts.values()] == [True]


@pytest.mark.parametrize("function", POLYNOMIALS, ids=lambda f: f.__name__)
def test_orthogonal_polynomials(function: Callable[[Any, Any], Tensor]) -> None:
    degrees = torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.9, 5.0, 7.0, 9.0, 12.0])
    x = torch.cat([torch.linspace(-1.5, 1.5, 31), torch.tensor([0.3, 1e-3, 4.0])])[:, None]
    with ComparedKernels() as compared:
        for dtype in (torch.float32, torch.float64):
            function(x.to(dtype), degrees.to(dtype))
            function(x.to(dtype), 6)
            function(0.75, degrees.to(dtype))
        function(torch.tensor([1, 2]), torch.tensor([[3], [4]]))
        function(x, torch.tensor(math.inf))
    assert sorted(compared.counts.values()) == [2, 2, 4]


@pytest.mark.parametrize("function", POLYNOMIALS[4:8], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polynomials_near_their_zeros(
    function: Callable[[Any, Any], Tensor], dtype: torch.dtype
) -> None:
    """Where large terms cancel, a step that is rounded otherwise shows."""
    torch.manual_seed(0)
    x = torch.cat([torch.linspace(-1.5, 1.5, 31), torch.randn(500) * 4]).to(dtype)[:, None]
    with ComparedKernels((0.0, 0.0)) as compared:
        function(x, torch.arange(13.0).to(dtype))
    assert sum(compared.counts.values()) == 1


def test_functions_of_two_numbers() -> None:
    for dtype in (torch.float32, torch.float64):
        x = torch.cat([torch.tensor(ODD), torch.tensor([21.0, 150.0, 201.0, 250.0, 1e5])])
        x = x.to(dtype)
        with ComparedKernels() as compared:
            for scale in (1.0, 1.01, 0.8, 3.0):
                torch.igamma(x, x * scale)
                torch.igammac(x, x * scale)
            torch.igamma(x[:, None], x)
            torch.igammac(x[:, None], x)
            moderate = x[~(x < -100)]  # PyTorch adds up every term below zero
            special.zeta(moderate[:, None], moderate)
            special.zeta(moderate, 2.5)
            special.zeta(3.0, moderate)
            torch.xlogy(x[:, None], x)
            torch.xlogy(x, 2.0)
            torch.xlogy(2.0, x)
            special.xlog1py(x[:, None], x)
            special.xlog1py(x, 2)
            special.xlog1py(2, x)
            torch.heaviside(x[:, None], x)
            torch.nextafter(x[:, None], x)
            torch.nextafter(x[:, None].bfloat16(), x.bfloat16())
            torch.frexp(x[x.isfinite()])
            for order in range(5):
                torch.polygamma(order, moderate)
        assert len(compared.counts) == 17  # and abs and index


def signed(exponents: Tensor) -> Tensor:
    return torch.cat([10**exponents, -(10**exponents)])


# Functions that are computed for several numbers at once, and how many units in the last place they
# may be off.
VECTORISED: tuple[tuple[str, Callable[..., Tensor], float, tuple[Tensor, ...]], ...] = (
    ("aten::erfc.out", torch.erfc, 5, (torch.linspace(-4, 9, 9973),)),
    ("aten::erfinv.out", torch.erfinv, 5, (torch.linspace(-1, 1, 9973),)),
    ("aten::erfinv.out", torch.erfinv, 5, (signed(torch.linspace(-30, 0, 997)),)),
    ("aten::lgamma.out", torch.lgamma, 1, (signed(torch.linspace(-37, 36, 9973)),)),
    ("aten::lgamma.out", torch.lgamma, 1, (torch.linspace(-20.3, 20.4, 9973),)),
    (
        "polystate_aten::pow.Tensor_Tensor_out",
        torch.pow,
        1,
        (
            torch.linspace(-5, 9, 9973).repeat_interleave(2),
            torch.cat([torch.arange(-9973, 9973) % 41 - 20.0]) / torch.tensor([1, 3]).repeat(9973),
        ),
    ),
    (
        "polystate_aten::pow.Tensor_Tensor_out",
        torch.pow,
        1,
        (
            torch.tensor([0.0, -0.0, 1, -1, 2, -2, math.inf, -math.inf, math.nan, 1e-40]).repeat(9),
            torch.tensor([0.0, 1, -1, 3, -2, 0.5, math.inf, -math.inf, math.nan]).repeat_interleave(
                10
            ),
        ),
    ),
)


@pytest.mark.parametrize(("name", "function", "ulps", "operands"), VECTORISED)
def test_float32_is_close_to_float64(
    name: str, function: Callable[..., Tensor], ulps: float, operands: tuple[Tensor, ...]
) -> None:
    found = torch.empty_like(operands[0])
    _core.call_operator(name, [*operands, found], 1)
    exact = function(*(each.double() for each in operands))
    right = exact.float()
    unit = torch.nextafter(right.abs(), torch.tensor(math.inf)) - right.abs()
    is_right = (found == right) | (found.isnan() & right.isnan())
    # Where a logarithm of the gamma function is near 0, its terms are rounded as those of 1.
    is_near = (found.double() - exact).abs() <= (ulps * unit).clamp(min=1e-15)
    assert (is_right | (is_near & right.isfinite())).all()


# What Linux calls the instructions of a set that POLYSTATE_INSTRUCTION_SET names.
INSTRUCTIONS = {
    "neon": {"asimd"},
    "avx2": {"avx2", "fma", "f16c"},
    "avx_vnni": {"avx2", "fma", "f16c", "avx_vnni"},
    "avx512": {"avx512f", "avx512bw"},
}


@functools.cache
def machine_instructions() -> frozenset[str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return frozenset(
        word for line in lines if line.startswith(("flags", "Features")) for word in line.split()
    )


@functools.cache
def digest_with(instructions: str) -> bytes:
    """Of what kernels give in a process of their own, which takes at most these instructions."""
    program = """
import hashlib, numpy
from polystate import _core
x = numpy.linspace(-0.999, 0.999, 5003, dtype=numpy.float32)
digest = hashlib.sha256()
for name, operands in (
    ("aten::erfc.out", [x]), ("aten::erfinv.out", [x]), ("aten::lgamma.out", [x * 9]),
    ("polystate_aten::pow.Tensor_Tensor_out", [x + 1, x * 30]),
    ("polystate_aten::remainder.Tensor_out", [x * 40, x[::-1].copy()]),
    ("aten::nextafter.out", [x, x * 2]),
    ("aten::special_legendre_polynomial_p.out", [x, (x[::-1].copy() + 1) * 20]),
    ("aten::special_hermite_polynomial_he.out", [x * 5, (x[::-1].copy() + 1) * 10]),
    ("aten::special_laguerre_polynomial_l.out", [x * 5, (x[::-1].copy() + 1) * 10]),
    ("aten::hypot.out", [x, x[::-1].copy()]),
    ("polystate_faster::atan2.out", [x, x[::-1].copy()]),
    ("polystate_faster::gelu.out", [x * 9, "none"]), ("polystate_faster::gelu.out", [x, "tanh"]),
    ("aten::logaddexp2.out", [x * 90, x[::-1].copy()]),
    *((f"aten::{name}.out", [x * 20]) for name in
      "i0 special_i0e special_i1 special_i1e special_bessel_j0 special_bessel_j1".split()),
    ("polystate_faster::clamp.out", [x, -0.3, 0.4]),
    ("polystate_faster::add.Scalar_out", [x, 0.1, 1]),
    *((f"polystate_faster::{name}.Scalar_out", [x, 0.7]) for name in ("mul", "div")),
    *((f"polystate_faster::{name}.out", [x * 9]) for name in
      "exp expm1 sigmoid tanh erf sin cos tan atan sinh cosh round neg sign".split()),
    *((f"polystate_faster::{name}.out", [x]) for name in "asin acos log1p".split()),
    *((f"polystate_faster::{name}.out", [x + 1]) for name in "log log2 log10 sqrt rsqrt".split()),
):
    result = numpy.empty_like(x)
    _core.call_operator(name, [*operands, result], 1)
    digest.update(result.tobytes())
print(digest.hexdigest())
"""
    environment = {**os.environ, "POLYSTATE_INSTRUCTION_SET": instructions}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_every_instruction_set_gives_the_same(instructions: str) -> None:
    lacking = INSTRUCTIONS[instructions] - machine_instructions()
    if lacking:
        pytest.skip(f"{instructions}: this machine has no {', '.join(sorted(lacking))}")
    assert digest_with(instructions) == digest_with("scalar")


def test_every_instruction_set_that_can_be_named_is_compared() -> None:
    source = Path(__file__).parents[3] / "src/core/instruction_set.cc"
    names = re.findall(r'\{"(\w+)", InstructionSet::', source.read_text())
    assert {*INSTRUCTIONS, "scalar"} == set(names)


def test_functions_of_integers() -> None:
    for dtype in ALL[4:9]:
        lowest = torch.iinfo(dtype).min + 1
        x = torch.tensor([0, 1, 2, 6, 12, 35, 100, lowest], dtype=dtype)
        with ComparedKernels() as compared:
            torch.gcd(x[:, None], x)
            torch.lcm(x[:7, None], x[:7])
            torch.heaviside(x[:, None], x)
    assert len(compared.counts) == 3


def test_samples_of_pytorch() -> None:
    names = ("frexp", "gcd", "heaviside", "igamma", "lcm", "nextafter", "polygamma", "xlogy")
    assert len(compare_samples(names, most=2)) == len(names)


def test_operands_are_broadcast() -> None:
    with ComparedKernels() as compared:
        for left, right in itertools.product(
            ((3, 1, 2), (1,), (3, 4, 1), (1, 1, 1, 1), (), (2, 1, 1, 2), (4, 2)), repeat=2
        ):
            try:
                torch.gcd(torch.arange(math.prod(left)).view(left), torch.ones(right).long() * 6)
            except RuntimeError:
                continue
        torch.gcd(torch.ones(2, 0, dtype=torch.int64), torch.tensor([3]))
        torch.gcd(torch.arange(3000)[:, None], torch.arange(1, 8))
        for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
            x = torch.tensor([torch.iinfo(dtype).min, -6, -3, -1, 0, 2, 9, 64]).to(dtype)
            torch.gcd(x[:, None], x)
    assert compared.counts["aten.gcd.default"] > 20


def test_a_zeta_function_far_below_zero_takes_no_time() -> None:
    result = torch.empty(2, dtype=torch.float64)
    given = torch.tensor([-1000.5, -4503599627370495.5], dtype=torch.float64)
    _core.call_operator("aten::special_zeta.self_scalar_out", [2.0, given, result], 1)
    nearly = special.zeta(torch.tensor(2.0).double(), given[:1])
    torch.testing.assert_close(result[:1], nearly)
    assert result[1].item() == pytest.approx(math.pi**2)


def test_a_call_without_arguments_for_its_results_is_refused() -> None:
    for arguments, results in (([], 0), ([], 1), ([torch.ones(2)], 2)):
        with pytest.raises(Error, match=rf"called with {len(arguments)} arguments, {results} of"):
            _core.call_operator("aten::erfc.out", arguments, results)


def test_a_call_that_is_not_possible_is_refused() -> None:
    x, out = torch.ones(2, 3), torch.zeros(2, 3)
    for name, arguments in (
        ("aten::igamma.out", [x, torch.ones(2), out]),
        ("aten::igamma.out", [x, torch.ones(4, 3), torch.zeros(2, 3)]),
        ("aten::erfc.out", [x, torch.zeros(2, 2)]),
        ("aten::erfc.out", [x, torch.zeros(2, 3, dtype=torch.int64)]),
        ("aten::gcd.out", [x, x, torch.zeros(2, 3, dtype=torch.int64)]),
        ("aten::polygamma.out", [-1, x, out]),
        ("aten::frexp.Tensor_out", [x, out, out]),
    ):
        results = 2 if "frexp" in name else 1
        with pytest.raises(Error):
            _core.call_operator(name, arguments, results)
        assert not out.any()
