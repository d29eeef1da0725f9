"""Compares kernels of PyTorch's operators with PyTorch's own, on one thread.

`taskset 1 python run_operators.py` keeps both to one processor. Each family has some operators at
about a million elements, called as a program calls them, beside eager: the faster of its forms,
the one that returns new tensors and the one that fills given ones, as our kernels do. The table
goes to stdout, every figure to a JSON file.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from run import Goal, tell_goals
from torch import Tensor

from polystate import _core
from polystate.export.graph.operands import all_arguments
from polystate.export.lowering.replaced_kernels import filling_form, kernel_name

aten = torch.ops.aten

LIMIT = 1.5  # times eager's
SECONDS = 0.2  # of a measurement, at least


@dataclass(frozen=True)
class Case:
    """A call of an operator; `limit` is None where the time is only reported."""

    family: str
    operator: torch._ops.OpOverload
    arguments: tuple[Any, ...]
    note: str = ""
    limit: float | None = LIMIT

    @property
    def name(self) -> str:
        return f"{self.operator._schema.name.removeprefix('aten::')} {self.note}".strip()


def cases() -> Iterator[Case]:
    torch.manual_seed(0)
    rows = torch.randn(1000, 1000)
    positive = torch.rand(1000, 1000) + 0.01
    whole = torch.randint(0, 1000, (1_000_000,))
    edges = torch.linspace(-3, 3, 1000)
    yield Case("scans", aten.cumprod.default, (rows, 1))
    yield Case("scans", aten.cummax.default, (rows, 1))
    yield Case("scans", aten.logcumsumexp.default, (rows, 1))
    yield Case("sorting", aten.sort.default, (rows, 1))
    yield Case("sorting", aten.kthvalue.default, (rows, 500, 1))
    yield Case("sorting", aten.median.dim, (rows, 1))
    yield Case("searching", aten.searchsorted.Tensor, (edges, rows))
    yield Case("searching", aten.bucketize.Tensor, (rows, edges))
    yield Case("searching", aten.isin.Tensor_Tensor, (whole, torch.arange(0, 1000, 7)))
    yield Case("histograms", aten.histc.default, (rows, 100, -3, 3))
    yield Case("histograms", aten.bincount.default, (whole, None, 1000))
    scattered = (torch.zeros(1000, 1000), 1, whole.reshape(1000, 1000), rows, "sum")
    yield Case("scatters", aten.scatter_reduce.two, scattered)
    yield Case("sums", aten.sum.dim_IntList, (rows, [0]), "of columns")
    yield Case("sums", aten.sum.dim_IntList, (rows, [1]), "of rows")
    yield Case("sums", aten.mean.dim, (rows, [0, 1]), "of all")
    vectors = torch.randn(1000, 64)
    yield Case(
        "distances", aten._cdist_forward.default, (vectors, torch.randn(1000, 64), 1.0, None)
    )
    volume = torch.randn(1, 16, 40, 40, 40)
    image = torch.randn(1, 16, 256, 256)
    yield Case("pools", aten.max_pool2d_with_indices.default, (image, [2, 2]))
    yield Case("pools", aten.max_pool3d_with_indices.default, (volume, [2, 2, 2]))
    yield Case("pools", aten.avg_pool3d.default, (volume, [2, 2, 2]))
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
    for size, count, limit in ((10, 10_000, LIMIT), (1000, 1, None)):
        matrices = torch.randn(count, size, size)
        definite = matrices @ matrices.mT + torch.eye(size)
        note = f"of {count:,} x {size} x {size}"
        for operator, arguments in (
            (aten.linalg_inv_ex.default, (matrices,)),
            (aten._linalg_solve_ex.default, (matrices, matrices[..., :1].contiguous())),
            (aten.linalg_cholesky_ex.default, (definite,)),
            (aten._linalg_det.default, (matrices,)),
            (aten.linalg_qr.default, (matrices,)),
            (aten._linalg_eigh.default, (definite,)),
        ):
            yield Case("linear algebra (Eigen)", operator, arguments, note, limit)


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
    expected = torch.utils._pytree.tree_leaves(case.operator(*case.arguments))
    return [torch.empty(each.shape, dtype=each.dtype) for each in expected]


def kernel_call(case: Case) -> Callable[[], object]:
    """A call of the runtime's kernel, with the results in memory that is there."""
    given, results = all_arguments(case.operator, case.arguments, {}), new_results(case)
    filling = filling_form(case.operator)._schema.arguments
    arguments = [_plain(given[a.name], a) for a in filling if not a.is_out]
    name = kernel_name(case.operator)
    return lambda: _core.call_operator(name, [*arguments, *results], len(results))


def eager_calls(case: Case) -> list[Callable[[], object]]:
    """Eager's forms: some that fill given tensors compute new ones and copy them."""
    given = all_arguments(case.operator, case.arguments, {})
    filling = filling_form(case.operator)
    inputs = [a for a in filling._schema.arguments if not a.is_out]
    positional = [given[a.name] for a in inputs if not a.kwarg_only]
    named = {a.name: given[a.name] for a in inputs if a.kwarg_only}
    outs = [a.name for a in filling._schema.arguments if a.is_out]
    named |= dict(zip(outs, new_results(case), strict=True))
    return [lambda: case.operator(*case.arguments), lambda: filling(*positional, **named)]


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


def measured(case: Case, rounds: int) -> dict[str, Any]:
    """All in turns, so that a noisy moment of the machine does not fall on one of them.

    Each round goes the other way than the one before, as the first call of a round may find the
    processor's caches and clock otherwise than the last.
    """
    calls = [kernel_call(case), *eager_calls(case)]
    for call in calls:
        call()
    pairs = []
    for number in range(rounds):
        places = range(len(calls)) if number % 2 == 0 else reversed(range(len(calls)))
        taken = {place: seconds(calls[place]) for place in places}
        pairs.append((taken[0], min(taken[1], taken[2])))
    return {
        "family": case.family,
        "operator": case.name,
        "kernel": [ours for ours, _ in pairs],
        "eager": [eager for _, eager in pairs],
        "ratio": statistics.median(ours / eager for ours, eager in pairs),
        "limit": case.limit,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file for every figure")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = [measured(case, options.rounds) for case in cases()]
    print(f"{'operator':<60}{'kernel':>12}{'eager':>12}{'times':>8}")
    for line in found:
        ours, eager = min(line["kernel"]) * 1e3, min(line["eager"]) * 1e3
        print(f"{line['operator']:<60}{ours:>9.2f} ms{eager:>9.2f} ms{line['ratio']:>8.2f}")
    goals = [
        Goal(f"{line['family']}: {line['operator']}", line["ratio"], line["limit"], "x")
        for line in found
        if line["limit"] is not None
    ]
    tell_goals(goals, options.out, operators=found)


if __name__ == "__main__":
    main()
