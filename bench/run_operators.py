"""Compares kernels of PyTorch's operators with PyTorch's own, on one thread.

`taskset 1 python run_operators.py` keeps both to one processor. Each family has some operators at
about a million elements, called as a program calls them, beside eager: the faster of its forms,
the one that returns new tensors and the one that fills given ones, as our kernels do. What an
export writes by several operators is called as a whole program, by a session. The table goes to
stdout, every figure to a JSON file.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from run import Goal, tell_goals
from torch import Tensor, nn
from torch.nn import functional

import polystate as ps
from polystate import _core
from polystate.export.graph.operands import all_arguments
from polystate.export.lowering.replaced_kernels import filling_form, kernel_name

aten = torch.ops.aten

LIMIT = 1.5  # times eager's
DECOMPOSED_LIMIT = 3.0
SECONDS = 0.2  # of a measurement, at least


@dataclass(frozen=True)
class Case:
    """A call of an operator; `limit` is None where the time is only reported."""

    family: str
    operator: torch._ops.OpOverload
    arguments: tuple[Any, ...]
    note: str = ""
    limit: float | None = LIMIT
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.operator._schema.name.removeprefix('aten::')} {self.note}".strip()

    def calls(self) -> list[Callable[[], object]]:
        """Our kernel, and eager's forms."""
        return [kernel_call(self), *eager_calls(self)]


@dataclass(frozen=True)
class Function:
    """A call that an export lowers to several operators; without `limit` its time is told alone."""

    family: str
    name: str
    function: Callable[..., Any]
    arguments: tuple[Tensor, ...]
    limit: float | None = DECOMPOSED_LIMIT

    def calls(self) -> list[Callable[[], object]]:
        """The program of it, and eager."""
        return [program_call(self), lambda: self.function(*self.arguments)]


def cases() -> Iterator[Case | Function]:
    torch.manual_seed(0)
    rows = torch.randn(1000, 1000)
    positive = torch.rand(1000, 1000) + 0.01
    whole = torch.randint(0, 1000, (1_000_000,))
    edges = torch.linspace(-3, 3, 1000)
    for operator in (aten.exp, aten.log, aten.log1p, aten.tanh, aten.sigmoid, aten.rsqrt):
        yield Case("elementwise", operator.default, (positive,))
    for operator in (aten.erf, aten.expm1, aten.sin, aten.tan, aten.atan, aten.sinh, aten.round):
        yield Case("elementwise", operator.default, (rows,))
    yield Case("elementwise", aten.asin.default, (positive - 0.5,))
    yield Case("elementwise", aten.atan2.default, (rows, positive))
    for operator in (aten.relu, aten.elu, aten.gelu):
        yield Case("activations", operator.default, (rows,))
    yield from _of_numbers(rows, positive)
    yield Case("elementwise", aten.maximum.default, (rows, positive))
    yield Case("elementwise", aten.where.self, (rows > 0, rows, positive))
    yield Case("elementwise", aten.floor.default, (rows,))
    yield Case("elementwise", aten.pow.Tensor_Scalar, (rows, 2.0), "squares")
    yield Case("softmaxes", aten._softmax.default, (rows, 1, False), "of rows")
    yield Case("softmaxes", aten._softmax.default, (rows, 0, False), "of columns")
    yield Case("softmaxes", aten._log_softmax.default, (rows, 1, False), "of rows")
    yield Case("scans", aten.cumsum.default, (rows, 1), "of rows")
    yield Case("scans", aten.cumsum.default, (rows, 0), "of columns")
    yield Case("scans", aten.cumprod.default, (rows, 1))
    yield Case("scans", aten.cummax.default, (rows, 1))
    yield Case("scans", aten.logcumsumexp.default, (rows, 1))
    yield Case("sorting", aten.sort.default, (rows, 1))
    yield Case("sorting", aten.kthvalue.default, (rows, 500, 1))
    yield Case("sorting", aten.median.dim, (rows, 1))
    yield Case("sorting", aten.topk.default, (rows, 10, 1))
    yield Case("sorting", aten.mode.default, (whole.reshape(1000, 1000), 1))
    yield Case("uniques", aten._unique2.default, (whole,))
    yield Case("searching", aten.searchsorted.Tensor, (edges, rows))
    yield Case("searching", aten.bucketize.Tensor, (rows, edges))
    yield Case("searching", aten.isin.Tensor_Tensor, (whole, torch.arange(0, 1000, 7)))
    yield Case("histograms", aten.histc.default, (rows, 100, -3, 3))
    yield Case("histograms", aten.bincount.default, (whole, None, 1000))
    scattered = (torch.zeros(1000, 1000), 1, whole.reshape(1000, 1000), rows, "sum")
    yield Case("scatters", aten.scatter_reduce.two, scattered)
    lengths = {"lengths": torch.full((1000,), 1000)}
    segments = (rows.flatten(), "sum")
    yield Case("segments", aten.segment_reduce.default, segments, keywords=lengths)
    yield Case("sums", aten.sum.dim_IntList, (rows, [0]), "of columns")
    yield Case("sums", aten.sum.dim_IntList, (rows, [1]), "of rows")
    yield Case("sums", aten.mean.dim, (rows, [0, 1]), "of all")
    yield Case("extremes", aten.amax.default, (rows, [0]), "of columns")
    yield Case("extremes", aten.amax.default, (rows, [1]), "of rows")
    yield Case("copies", aten.permute_copy.default, (rows, [1, 0]), "of rows and columns")
    heads = rows.reshape(100, 1250, 8)
    yield Case("copies", aten.permute_copy.default, (heads, [2, 0, 1]), "of three dimensions")
    yield Case("variances", aten.var.correction, (rows, [1]), keywords={"correction": 1})
    vectors = torch.randn(1000, 64)
    yield Case(
        "distances", aten._cdist_forward.default, (vectors, torch.randn(1000, 64), 1.0, None)
    )
    volume = torch.randn(1, 16, 40, 40, 40)
    image = torch.randn(1, 16, 256, 256)
    yield Case("pools", aten.max_pool2d_with_indices.default, (image, [2, 2]))
    yield Case("pools", aten.max_pool3d_with_indices.default, (volume, [2, 2, 2]))
    yield Case("pools", aten.avg_pool3d.default, (volume, [2, 2, 2]))
    yield from _convolutions(image, volume)
    matrix, pairs = torch.randn(512, 512), torch.randn(64, 128, 128)
    yield Case("products", aten.mm.default, (matrix, matrix))
    yield Case("products", aten.mm.default, (rows[:1], rows), "of a row")
    yield Case("products", aten.bmm.default, (pairs, pairs))
    yield Case("resampling", aten.upsample_nearest2d.default, (image, [512, 512]))
    yield Case("resampling", aten.upsample_bilinear2d.default, (image, [384, 384], False))
    yield Case("resampling", aten.upsample_bicubic2d.default, (image, [384, 384], False))
    yield Case("resampling", aten._upsample_bilinear2d_aa.default, (image, [128, 128], False))
    yield from _rows(rows, whole.reshape(1000, 1000))
    yield from _windows(image)
    yield Case("triangles", aten.tril.default, (rows,))
    grid = torch.rand(1, 256, 256, 2) * 2 - 1
    yield Case("sampling", aten.grid_sampler_2d.default, (image, grid, 0, 0, False))
    places = torch.rand(1, 40, 40, 40, 3) * 2 - 1
    yield Case("sampling", aten.grid_sampler_3d.default, (volume, places, 0, 0, False))
    for operator in (
        aten.lgamma,
        aten.digamma,
        aten.erfinv,
        aten.special_ndtri,
        aten.special_erfcx,
    ):
        x = positive if operator is not aten.erfinv else positive - 0.5
        yield Case("special functions", operator.default, (x.clamp(max=0.99),))
    for operator in (aten.i0, aten.special_i1, aten.special_bessel_j0):
        yield Case("Bessel functions", operator.default, (rows,))
    yield Case("polynomials", aten.special_chebyshev_polynomial_t.n_scalar, (rows, 5))
    yield Case("elementwise", aten.xlogy.Tensor, (rows, positive))
    yield Case("elementwise", aten.nextafter.default, (rows, positive))
    yield Case("elementwise", aten.remainder.Tensor, (rows, positive))
    yield Case("elementwise", aten.pow.Tensor_Tensor, (positive, rows))
    yield Case("bits", aten.bitwise_left_shift.Tensor, (whole, whole % 8))
    yield from _linear_algebra()
    yield from _decompositions(rows, positive, image)
    yield from _fourier(rows)


def _linear_algebra() -> Iterator[Case | Function]:
    for size, count, limit in ((10, 10_000, LIMIT), (1000, 1, None)):
        matrices = torch.randn(count, size, size)
        definite = matrices @ matrices.mT + torch.eye(size)
        note = f"of {count:,} x {size} x {size}"
        vectors = matrices[..., :1].contiguous()
        lower = torch.linalg.cholesky(definite)
        for operator, arguments in (
            (aten.linalg_inv_ex.default, (matrices,)),
            (aten._linalg_solve_ex.default, (matrices, vectors)),
            (aten.linalg_cholesky_ex.default, (definite,)),
            (aten.cholesky_solve.default, (vectors, lower)),
            (aten.linalg_lu_factor_ex.default, (matrices,)),
            (aten._linalg_det.default, (matrices,)),
            (aten.linalg_qr.default, (matrices,)),
            (aten._linalg_eigh.default, (definite,)),
            (aten._linalg_svd.default, (matrices,)),
            (aten.linalg_lstsq.default, (definite, vectors)),
            (aten.linalg_matrix_exp.default, (matrices / size,)),
        ):
            yield Case("linear algebra (Eigen)", operator, arguments, note, limit)
        yield Case(
            "linear algebra (Eigen)",
            aten.linalg_solve_triangular.default,
            (lower, vectors),
            note,
            limit,
            {"upper": False},
        )


def _convolutions(image: Tensor, volume: Tensor) -> Iterator[Case]:
    for x, kernel, stride, groups, note in (
        (image, 3, 1, 1, "of planes"),
        (image, 3, 2, 1, "of planes, every other place"),
        (image, 3, 1, 16, "of planes, each by itself"),
        (image, 1, 1, 1, "of channels alone"),
        (image.reshape(1, 16, -1), 5, 1, 1, "of signals"),
        (volume, 3, 1, 1, "of volumes"),
    ):
        rank = x.dim() - 2
        weight = torch.randn(16, 16 // groups, *[kernel] * rank)
        places = ([stride] * rank, [kernel // 2] * rank, [1] * rank)
        arguments = (x, weight, None, *places, False, [0] * rank, groups)
        yield Case("convolutions", aten.convolution.default, arguments, note)
    small, weight = image[..., :128, :128].contiguous(), torch.randn(16, 16, 2, 2)
    arguments = (small, weight, None, [2, 2], [0, 0], [1, 1], True, [0, 0], 1)
    yield Case("convolutions", aten.convolution.default, arguments, "transposed")


def _decompositions(rows: Tensor, positive: Tensor, image: Tensor) -> Iterator[Function]:
    places = torch.randint(0, 1000, (1000,))
    vectors = rows.flatten()[:999_999].reshape(-1, 3)
    for family, name, function, arguments in (
        ("elementwise", "logaddexp2", torch.logaddexp2, (rows, positive)),
        ("elementwise", "hypot", torch.hypot, (rows, positive)),
        ("elementwise", "softplus", functional.softplus, (rows,)),
        ("losses", "huber_loss", _huber_loss, (rows, positive)),
        ("losses", "gaussian_nll_loss", functional.gaussian_nll_loss, (rows, positive, positive)),
        ("losses", "cross_entropy", functional.cross_entropy, (rows, places)),
        ("reductions", "logsumexp", lambda x: torch.logsumexp(x, 1), (rows,)),
        ("reductions", "std_mean", lambda x: torch.std_mean(x, 1), (rows,)),
        ("matrices", "cov", torch.cov, (rows,)),
        ("matrices", "cross", torch.linalg.cross, (vectors, vectors.flip(0))),
        ("distances", "pairwise_distance", functional.pairwise_distance, (rows, positive)),
        ("distances", "cosine_similarity", functional.cosine_similarity, (rows, positive)),
        ("normalisation", "rms_norm", lambda x: functional.rms_norm(x, (1000,)), (rows,)),
        ("normalisation", "local_response_norm", _local_response_norm, (image,)),
        ("layout", "unfold", lambda x: functional.unfold(x, 2), (image[:, :4],)),
        ("places", "take", torch.take, (rows, torch.randperm(1_000_000))),
    ):
        yield Function(f"decompositions, {family}", name, function, arguments)


def _huber_loss(x: Tensor, target: Tensor) -> Tensor:
    return functional.huber_loss(x, target, reduction="none")


def _local_response_norm(x: Tensor) -> Tensor:
    return functional.local_response_norm(x, 5)


def _fourier(rows: Tensor) -> Iterator[Function]:
    """Transforms, which src/kernels/fourier computes here; eager's library depends on its build."""
    library = "MKL" if torch.backends.mkl.is_available() else "PocketFFT"
    half, whole = torch.fft.rfft(rows), torch.fft.fft(rows)
    for name, function, argument in (
        ("rfft of 1,000 x 1,000", torch.fft.rfft, rows),
        ("irfft of 1,000 x 501", torch.fft.irfft, half),
        ("fft of 1,000 x 1,000", torch.fft.fft, whole),
        ("rfft2 of 1,000 x 1,000", torch.fft.rfft2, rows),
        ("rfft of 1,000,000", torch.fft.rfft, rows.flatten()),
    ):
        yield Function(f"FFT (ours; eager's is {library})", name, function, (argument,), None)


def _of_numbers(rows: Tensor, positive: Tensor) -> Iterator[Case]:
    """Arithmetic, bounds and comparisons, which are limited by memory more than by computing."""
    for operator in (aten.add.Tensor, aten.mul.Tensor, aten.div.Tensor):
        yield Case("arithmetic", operator, (rows, positive))
    yield Case("arithmetic", aten.add.Tensor, (rows, rows[0]), "of a row")
    yield Case("arithmetic", aten.mul.Tensor, (rows, rows[:, :1].contiguous()), "by a column")
    yield Case("bounds", aten.clamp.default, (rows, -1, 1))
    yield Case("bounds", aten.clamp.Tensor, (rows, -positive, positive))
    halves = rows.half(), positive.half()
    yield Case("arithmetic", aten.add.Tensor, halves, "of float16")
    yield Case("arithmetic", aten.mul.Tensor, tuple(map(Tensor.bfloat16, halves)), "of bfloat16")
    yield Case("comparisons", aten.lt.Scalar, (rows, 0.5))
    yield Case("comparisons", aten.eq.Tensor, (rows, positive))
    yield Case("comparisons", aten.logical_and.default, (rows > 0, positive > 0.5))
    yield Case("comparisons", aten.bitwise_and.Tensor, (rows > 0, positive > 0.5))


def _rows(rows: Tensor, places: Tensor) -> Iterator[Case]:
    """Copies of rows and of single elements in another order."""
    chosen = places[0].contiguous()
    yield Case("rows", aten.index_select.default, (rows, 0, chosen))
    yield Case("rows", aten.index_select.default, (rows, 1, chosen), "of columns")
    yield Case("rows", aten.index.Tensor, (rows, [chosen]))
    yield Case("rows", aten.index.Tensor, (rows, [places, places]), "of elements")
    yield Case("rows", aten.index_put.default, (rows, [torch.randperm(1000)], rows))
    yield Case("rows", aten.index_put.default, (rows, [chosen], rows, True), "that adds")
    yield Case("rows", aten.gather.default, (rows, 0, places), "along columns")
    yield Case("rows", aten.gather.default, (rows, 1, places), "along rows")
    yield Case("rows", aten.flip.default, (rows, [0]), "of rows")
    yield Case("rows", aten.flip.default, (rows, [0, 1]), "of both")
    yield Case("rows", aten.roll.default, (rows, [300], [1]))
    yield Case("rows", aten.repeat.default, (rows[:500], [2, 1]))
    spread = rows[:, :500].contiguous().unsqueeze(2)
    yield Case("rows", aten.expand_copy.default, (spread, [1000, 500, 2]), "of elements")


def _windows(image: Tensor) -> Iterator[Case]:
    """Means of windows, copies of them, and paddings."""
    line = image.reshape(1, 16, 65536)
    yield Case("windows", aten.avg_pool2d.default, (image, [2, 2]))
    yield Case("windows", aten.avg_pool2d.default, (image, [3, 3], [2, 2], [1, 1]), "that overlap")
    yield Case("windows", aten.avg_pool2d.default, (line, [1, 2]), "of a line")
    line_windows = (line, [1, 16, 65534, 3], [1048576, 65536, 1, 1])
    yield Case("windows", aten.as_strided_copy.default, line_windows)
    yield Case("windows", aten.reflection_pad1d.default, (line, [8, 8]))
    yield Case("windows", aten.reflection_pad2d.default, (image, [2, 2, 2, 2]))
    yield Case("windows", aten.replication_pad2d.default, (image, [2, 2, 2, 2]))


def new_results(case: Case) -> list[Tensor]:
    results = case.operator(*case.arguments, **case.keywords)
    expected = torch.utils._pytree.tree_leaves(results)
    return [torch.empty(each.shape, dtype=each.dtype) for each in expected]


def kernel_call(case: Case) -> Callable[[], object]:
    """A call of the runtime's kernel, with the results in memory that is there."""
    given = all_arguments(case.operator, case.arguments, case.keywords)
    results = new_results(case)
    filling = filling_form(case.operator)._schema.arguments
    arguments = [_plain(given[a.name], a) for a in filling if not a.is_out]
    name = kernel_name(case.operator)
    return lambda: _core.call_operator(name, [*arguments, *results], len(results))


def eager_calls(case: Case) -> list[Callable[[], object]]:
    """Eager's forms: some that fill given tensors compute new ones and copy them."""
    given = all_arguments(case.operator, case.arguments, case.keywords)
    filling = filling_form(case.operator)
    inputs = [a for a in filling._schema.arguments if not a.is_out]
    positional = [given[a.name] for a in inputs if not a.kwarg_only]
    named = {a.name: given[a.name] for a in inputs if a.kwarg_only}
    outs = [a.name for a in filling._schema.arguments if a.is_out]
    named |= dict(zip(outs, new_results(case), strict=True))
    return [
        lambda: case.operator(*case.arguments, **case.keywords),
        lambda: filling(*positional, **named),
    ]


def program_call(case: Function) -> Callable[[], object]:
    """A call of an exported program of a function, by a session of one thread."""
    method = ps.Method(lambda *tensors: case.function(*tensors), case.arguments)
    program = ps.export(nn.Module(), {"run": method}, backend="portable", draws=ps.Draws(count=0))
    with tempfile.TemporaryDirectory() as folder:
        session = ps.load(program.save(Path(folder) / "artifact"), threads=1).session()
    return lambda: session.run("run", *case.arguments)


def _plain(value: Any, argument: Any) -> Any:
    """An argument as a program has it: tensors that may be None in a list, others in a tuple."""
    if isinstance(value, Tensor):
        return value.contiguous()
    is_tuple = isinstance(value, list) and str(argument.type) != "List[Optional[Tensor]]"
    return tuple(value) if is_tuple else value


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    count = 0
    while count == 0 or time.perf_counter() - start < SECONDS:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def measured(case: Case | Function, rounds: int) -> dict[str, Any]:
    """All in turns, so that a noisy moment of the machine does not fall on one of them.

    Each round goes the other way than the one before, as the first call of a round may find the
    processor's caches and clock otherwise than the last.
    """
    calls = case.calls()
    for call in calls:
        call()
    pairs = []
    for number in range(rounds):
        places = range(len(calls)) if number % 2 == 0 else reversed(range(len(calls)))
        taken = {place: seconds(calls[place]) for place in places}
        pairs.append((taken[0], min(taken[place] for place in range(1, len(calls)))))
    return {
        "family": case.family,
        "operator": case.name,
        "polystate": [ours for ours, _ in pairs],
        "eager": [eager for _, eager in pairs],
        "ratio": statistics.median(ours / eager for ours, eager in pairs),
        "limit": case.limit,
    }


# Prints how much longer the first call of a kernel takes, which registers all, than the next one.
_FIRST_CALL = """
import time, torch
from polystate import _core
arguments = [torch.ones(4), torch.empty(4)]
times = [time.perf_counter()]
for _ in range(2):
    _core.call_operator("polystate_aten::abs.out", arguments, 1)
    times.append(time.perf_counter())
print(times[1] - times[0] - (times[2] - times[1]))
"""


def registration_seconds() -> float:
    """What it takes a process to register all operators, which it does when it opens a program."""
    command = [sys.executable, "-c", _FIRST_CALL]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(5)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = []
    print(f"{'operator':<60}{'polystate':>12}{'eager':>12}{'times':>8}")
    for case in cases():
        line = measured(case, options.rounds)
        found.append(line)
        ours, eager = min(line["polystate"]) * 1e3, min(line["eager"]) * 1e3
        print(f"{line['operator']:<60}{ours:>9.2f} ms{eager:>9.2f} ms{line['ratio']:>8.2f}")
    goals = [
        Goal(f"{line['family']}: {line['operator']}", line["ratio"], line["limit"], "x")
        for line in found
        if line["limit"] is not None
    ]
    goals.append(Goal("registering all operators", registration_seconds() * 1e3, 1, "ms"))
    tell_goals(goals, options.out, operators=found)


if __name__ == "__main__":
    main()
