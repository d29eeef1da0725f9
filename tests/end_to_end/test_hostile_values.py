"""Values that no caller should pass: what eager raises is refused, and nothing ends the process."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.support.exported_models import exported

SMALLEST, LARGEST = torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max
INTEGERS = [0, -1, 1, 2, 3, 4, 7, -4, -5, 100, SMALLEST, SMALLEST + 1, LARGEST, 2**31, -(2**31)]
FLOATS = [0.0, -0.0, 1.0, 0.1, -2.0, 3e38, -3e38, 1e-45, float("inf"), float("-inf"), float("nan")]
DRAWS = 20  # for each operator


def _bounded(number: Tensor) -> int:
    k: int = number.item()
    torch._check(k >= 0)
    torch._check(k < 4)
    return k


def _gradient(x: Tensor, index: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        return torch.autograd.grad(leaf.index_select(0, index).sum(), leaf)[0]


def _matrix(x: Tensor) -> Tensor:
    """A symmetric one, of three rows."""
    return x[torch.tensor([[3, 1, 0], [1, 0, 2], [0, 2, 3]])] + 2 * torch.eye(3)


def _without_infinities(x: Tensor) -> Tensor:
    """Of which PyTorch's own results depend on the type."""
    return _matrix(x.clamp(-1e3, 1e3))


# Each takes four floats and two times three integers.
OPERATORS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "floored": lambda x, a, b: (a // b) % (b - 7),
    "truncated": lambda x, a, b: torch.div(a, b, rounding_mode="trunc"),
    "remainder": lambda x, a, b: a % b,
    "int32": lambda x, a, b: a.to(torch.int32) // b.to(torch.int32),
    "int8": lambda x, a, b: torch.fmod(a.to(torch.int8), b.to(torch.int8)),
    "numbers": lambda x, a, b: torch.full((), a[0].item() // b[0].item()),
    "remainder_of_numbers": lambda x, a, b: torch.full((), a[0].item() % b[0].item()),
    "quotient_of_numbers": lambda x, a, b: torch.full((), a[0].item() / b[0].item()),
    "number_by_minus_one": lambda x, a, b: torch.full((), a[0].item() // -1),
    "signs": lambda x, a, b: a.abs().neg() + b.sign() * a,
    "sums": lambda x, a, b: (a + b).cumsum(0) * 2,
    "probabilities": lambda x, a, b: nn.functional.binary_cross_entropy(x, x.square()),
    "index": lambda x, a, b: x[a],
    "difference": lambda x, a, b: x[a - b],
    "gather": lambda x, a, b: x.gather(0, a),
    "scatter_add": lambda x, a, b: torch.zeros(4).scatter_add(0, a, x[:3]),
    "index_add": lambda x, a, b: torch.zeros(4).index_add(0, a, x[:3]),
    "embedding": lambda x, a, b: nn.functional.embedding(a, torch.eye(4)),
    "one_hot": lambda x, a, b: nn.functional.one_hot(a, 4),
    "targets": lambda x, a, b: nn.functional.cross_entropy(x.expand(3, 4), a),
    "weighted_targets": lambda x, a, b: nn.functional.nll_loss(
        x.expand(3, 4), a, torch.ones(4), ignore_index=100
    ),
    "margins_of_targets": lambda x, a, b: nn.functional.multi_margin_loss(x.expand(3, 4), a),
    "margins": lambda x, a, b: nn.functional.multilabel_margin_loss(x, torch.cat([a, b[:1]])),
    "unpooled": lambda x, a, b: nn.functional.max_unpool1d(x[None, :2], a[None, :2], 2),
    "segments": lambda x, a, b: torch.segment_reduce(x.repeat(2)[:6], "sum", lengths=a),
    "taken_along": lambda x, a, b: torch.take_along_dim(x, a),
    "quantiles": lambda x, a, b: torch.quantile(torch.arange(4.0), x),
    "gathered_of_one": lambda x, a, b: x[0].gather(0, a[0] - 2),
    "selected_of_one": lambda x, a, b: x[0].index_select(0, a[:1] - 2),
    "added_to_one": lambda x, a, b: torch.zeros(()).scatter_add(0, a[0] - 2, x[0]),
    "filled_one": lambda x, a, b: x[0].index_fill(0, a[:1] - 2, 5.0),
    "gradient_of_targets": lambda x, a, b: torch.ops.aten.nll_loss_backward(
        x[0], x.expand(3, 4), a, None, 1, 100, x[1]
    ),
    "gradient_of_gathered": lambda x, a, b: torch.ops.aten.gather_backward(x[:3], x, 0, a, False),
    "gradient_of_selected": lambda x, a, b: _gradient(x, a * 1),
    "repeated": lambda x, a, b: x[:3].repeat_interleave(a % 5, output_size=6),
    "slice": lambda x, a, b: x[: _bounded(a[0])].sum(),
    "logarithms": lambda x, a, b: x.log() + x.sqrt() + x.exp(),
    "floats_floored": lambda x, a, b: x // x.flip(0),
    "remainder_of_floats": lambda x, a, b: torch.remainder(x, x.flip(0)),
    "fmod": lambda x, a, b: torch.fmod(x, x.flip(0)),
    "limited": lambda x, a, b: x.clamp(-1, 1).round() + x.softmax(0),
    "largest": lambda x, a, b: torch.where(x > 0, x, a[:1].float()).amax(0),
    "power": lambda x, a, b: x**2 + a[:1] ** 3,
    "histogram": lambda x, a, b: torch.histc(x.clamp(-1e6, 1e6), 5),
    "histogram_of_a_range": lambda x, a, b: torch.histc(x, 5, -2, 3),
    "replaced": lambda x, a, b: torch.zeros(4).masked_scatter(x > 1, x[:2]),
    "spectrum": lambda x, a, b: torch.linalg.eigvalsh(_matrix(x)),
    "largest_stretch": lambda x, a, b: torch.linalg.svdvals(_matrix(x)).amax(),
    "factors": lambda x, a, b: torch.linalg.cholesky(_without_infinities(x)),
    "inverse": lambda x, a, b: torch.linalg.inv(_without_infinities(x)),
    "inverse_of_factors": lambda x, a, b: torch.cholesky_inverse(_without_infinities(x)),
    "solution": lambda x, a, b: torch.linalg.solve(_without_infinities(x), x[:3]),
    "triangles": lambda x, a, b: torch.lu_unpack(_matrix(x), a.clamp(-9, 9).int())[0],
}


# No two libraries round these alike where numbers are nearly as large as their type allows.
OF_MATRICES = {
    "factors", "inverse", "inverse_of_factors", "largest_stretch", "solution", "spectrum",
}  # fmt: skip


# Of others PyTorch's own kernels refuse some, and may end the process.
OF_FINITE_MATRICES = {"largest_stretch", "spectrum"}


class Operators(nn.Module):
    calls: Tensor
    last: Tensor
    marks: Tensor  # so large that they are written where they lie

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("last", torch.zeros(3, dtype=torch.int64))
        self.register_buffer("marks", torch.zeros(128, 128))

    def forward(self, operands: dict[str, tuple[Tensor, Tensor, Tensor]]) -> list[Tensor]:
        self.calls.add_(1)
        self.marks[self.calls % 128] += 1
        self.last[1:] = operands["index"][1][1:]
        return [operator(*operands[name]) for name, operator in OPERATORS.items()]


def draw(chosen: random.Random) -> tuple[Tensor, Tensor, Tensor]:
    floats = torch.tensor(chosen.choices(FLOATS, k=4))
    first, second = (torch.tensor(chosen.choices(INTEGERS, k=3)) for _ in range(2))
    return floats, first, second


def defined(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Operands of the same quotients, for which PyTorch itself does not end the process."""
    if name != "truncated":
        return a, b
    return a, b.masked_fill((a == SMALLEST) & (b == -1), 1)


def are_moderate(*tensors: Tensor) -> bool:
    """Whether no number is NaN, infinite, or nearly as large or as small as its type allows."""
    sizes = torch.cat([tensor.double().abs().flatten() for tensor in tensors])
    return bool(((sizes == 0) | ((sizes > 1e-6) & (sizes < 1e6))).all())


def usual() -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    one = (torch.ones(4), torch.tensor([2, 1, 3]), torch.tensor([2, 1, 3]))
    return dict.fromkeys(OPERATORS, one)


# The kernels of these operators are the same on the backend that is left to `make test-all`.
@pytest.mark.parametrize(
    "backend", ["aoti", "xnnpack", pytest.param("portable", marks=pytest.mark.exhaustive)]
)
def test_no_value_ends_the_process(tmp_path: Path, backend: str) -> None:
    model = Operators()
    methods = {"forward": ps.Method("forward", (usual(),))}
    program = exported(model, methods, backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    chosen = random.Random(4)
    equal = dict.fromkeys(OPERATORS, 0)
    for number, (name, operator) in enumerate(OPERATORS.items()):
        for operands in (usual()[name], *(draw(chosen) for _ in range(DRAWS))):
            given = [each for used in {**usual(), name: operands}.values() for each in used]
            before = {key: session.state[key] for key in session.state}
            what = f"{name}{operands}"
            try:
                expected = None
                if name not in OF_FINITE_MATRICES or operands[0].isfinite().all():
                    expected = operator(operands[0], *defined(name, *operands[1:]))
            except (RuntimeError, IndexError, ZeroDivisionError):
                expected = None
            try:
                found = session.run("forward", *given)[number]
            except ps.Error:
                for key, value in before.items():
                    assert torch.equal(session.state[key], value), what
                continue
            assert expected is not None, f"{what} gives {found}"
            # XNNPACK's kernels are not exact for NaN, infinities and the smallest floats.
            is_exact = not expected.is_floating_point() or (
                backend != "xnnpack" and name not in OF_MATRICES
            )
            if not (is_exact or are_moderate(operands[0], expected)):
                continue
            torch.testing.assert_close(
                found, expected, equal_nan=True, msg=lambda text, of=what: f"{of}: {text}"
            )
            equal[name] += 1
    assert not [name for name, count in equal.items() if count == 0]
