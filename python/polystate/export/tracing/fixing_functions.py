"""Functions of PyTorch's that fix a size that varies, written so that they do not.

PyTorch reads sizes as numbers: those of the operands of `gradient`, `kron` and `take_along_dim`,
the lengths of `linspace`, `vander` and windows, and the pairs of `pdist`. `cdist` chooses another
way for many rows, and padding asks whether it is negative.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from polystate.export.graph.sizes import limits

aten = torch.ops.aten


def _kron(input: Tensor, other: Tensor) -> Tensor:
    """Multiply each element of the first operand by the whole second one."""
    rank = max(input.dim(), other.dim())
    outer, inner = ([1] * (rank - each.dim()) + list(each.shape) for each in (input, other))
    blocks = input.reshape([size for n in outer for size in (n, 1)])
    products = blocks * other.reshape([size for n in inner for size in (1, n)])
    return products.reshape([n * m for n, m in zip(outer, inner, strict=True)])


def _take_along(input: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    """Broadcast both tensors in all other dimensions first. Indices may be negative."""
    varies = any(isinstance(size, torch.SymInt) for each in (input, indices) for size in each.shape)
    if not varies or dim is None or input.dim() != indices.dim():
        return NotImplemented
    dim %= input.dim()
    shapes = [[1 if at == dim else n for at, n in enumerate(x.shape)] for x in (input, indices)]
    common = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    wide = [
        x.expand([x.shape[dim] if at == dim else n for at, n in enumerate(common)])
        for x in (input, indices)
    ]
    return wide[0].gather(dim, wide[1] % input.shape[dim])


def _gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Take differences of neighbours. NotImplemented where distances are not all equal."""
    varies = any(isinstance(size, torch.SymInt) for size in input.shape)
    if not varies or not isinstance(spacing, int | float) or edge_order != 1:
        return NotImplemented
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    found = []
    for each in dims:
        count = input.shape[each]
        first, last = input.narrow(each, 0, 2), input.narrow(each, count - 2, 2)
        # By the neighbours alone: an infinite element must not count for its own difference.
        inside = input.narrow(each, 2, count - 2) - input.narrow(each, 0, count - 2)
        ends = first.diff(dim=each) / spacing, last.diff(dim=each) / spacing
        found.append(torch.cat([ends[0], inside / spacing / 2, ends[1]], each))
    return tuple(found)


_SMALL_INTEGERS = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32}

# With more rows on a side `cdist` multiplies matrices.
_FEW_ROWS = 25


def _distances(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Any:
    """Compute it in both of PyTorch's ways, which round differently; the number of rows chooses.

    NotImplemented where the choice is known, or does not matter.
    """
    sizes: list[Any] = [x1.shape[-2], x2.shape[-2]]
    rows = [size for size in sizes if isinstance(size, torch.SymInt)]
    if p != 2 or not compute_mode.endswith("if_necessary") or not any(map(_may_be_few, rows)):
        return NotImplemented
    if any(isinstance(size, int) and size > _FEW_ROWS for size in sizes):
        return NotImplemented
    few = torch.cdist(x1, x2, p, "donot_use_mm_for_euclid_dist")
    norms = [each.square().sum(-1, keepdim=True) for each in (x1, x2)]
    left = torch.cat([-2 * x1, norms[0], torch.ones_like(norms[0])], -1)
    right = torch.cat([x2, torch.ones_like(norms[1]), norms[1]], -1)
    many = (left @ right.mT).clamp(min=0).sqrt()
    counts = torch.stack([_number(each) for each in rows])
    return torch.where((counts > _FEW_ROWS).any(), many, few)


def _pair_distances(input: Tensor, p: float = 2.0) -> Any:
    """Compute distances of all pairs of rows; triangular numbers tell the rows of the nth pair."""
    rows = input.shape[0]
    if not isinstance(rows, torch.SymInt):
        return NotImplemented
    pairs = torch.arange(rows * (rows - 1) // 2)
    half = _number(rows) - 0.5
    first = (half - (half * half - 2 * pairs - 1).sqrt()).long()
    second = pairs - rows * first + first * (first + 1) // 2 + first + 1
    return torch.linalg.vector_norm(input[first] - input[second], p, dim=-1)


def _vander(x: Tensor, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803 (PyTorch's)
    """Compute powers as cumulative products. NotImplemented where the size is known."""
    if not (x.shape and isinstance(x.shape[-1], torch.SymInt)):
        return NotImplemented
    count: Any = x.shape[-1] if N is None else N
    base = x.to(torch.int64) if x.dtype in _SMALL_INTEGERS else x
    first = torch.arange(count) == 0
    powers = torch.where(first, 1, base.unsqueeze(-1)).to(base.dtype).cumprod(-1)
    return powers if increasing else powers.flip(-1)


def _increasing_vander(x: Tensor, *, N: Any = None) -> Any:  # noqa: N803
    return _vander(x, N, increasing=True)


def _may_be_few(rows: torch.SymInt) -> bool:
    """Whether a number of rows may be on either side of the limit."""
    found = limits(rows)
    return bool(found.lower <= _FEW_ROWS < found.upper)


def _pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Elements before and behind, or fewer of them where a number may be negative.

    NotImplemented where none may: the runtime's kernel takes no negative ones.
    """
    numbers = list(pad)
    if mode != "constant" or not any(map(_may_be_negative, numbers)):
        return NotImplemented
    larger: Any = torch.sym_max
    for dim in range(len(numbers) // 2):
        before, behind = (larger(-each, 0) for each in numbers[2 * dim : 2 * dim + 2])
        size = input.shape[-1 - dim]
        input = aten.slice.Tensor(input, -1 - dim, before, size - behind)
    return torch.nn.functional.pad(input, [larger(each, 0) for each in numbers], value=value)


def _may_be_negative(number: Any) -> bool:
    if not isinstance(number, torch.SymInt):
        return False
    return bool(limits(number).lower < 0)


def _linspace(start: Any, end: Any, steps: Any, *, dtype: torch.dtype | None = None) -> Any:
    """From both ends to the middle, as PyTorch goes. NotImplemented where the length is known."""
    if not isinstance(steps, torch.SymInt):
        return NotImplemented
    if any(isinstance(each, Tensor | complex) for each in (start, end)):
        return NotImplemented
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        return NotImplemented
    places = _places(steps)
    last = _number(steps - 1)
    step = (end - start) / last.clamp(min=1)
    up, down = start + step * places, end - step * (last - places)
    return torch.where(places < _number(steps // 2).clamp(min=1), up, down).to(dtype)


def _places(count: Any) -> Tensor:
    places: Tensor = torch.arange(count)
    return places


def _number(value: Any) -> Tensor:
    """A size or another number as a tensor, in double precision."""
    full: Any = torch.full
    number: Tensor = full((), value, dtype=torch.float64)
    return number


def _window(*terms: float) -> Callable[..., Any]:
    """The window that is a sum of cosines. NotImplemented where its length is known."""

    def window(
        window_length: Any, periodic: bool = True, *, dtype: torch.dtype | None = None
    ) -> Any:
        return _cosines(window_length, periodic, terms, dtype)

    return window


def _hamming(
    window_length: Any,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    return _cosines(window_length, periodic, (alpha, -beta), dtype)


def _cosines(length: Any, periodic: bool, terms: Sequence[float], dtype: torch.dtype | None) -> Any:
    if not isinstance(length, torch.SymInt):
        return NotImplemented
    dtype = torch.get_default_dtype() if dtype is None else dtype
    last = _number(length if periodic else length - 1).clamp(min=1)
    angles = _places(length) * (2 * math.pi) / last
    waves = [term * torch.cos(angles * at) for at, term in enumerate(terms)]
    one = _number(length) == 1
    return torch.where(one, 1.0, torch.stack(waves).sum(0)).to(dtype)


def _kaiser(
    window_length: Any,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Compute it of any length: runtimes have no kernel of it."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    last = _number(window_length if periodic else window_length - 1).clamp(min=1)
    height = (1 - (2 * _places(window_length) / last - 1).square()).clamp(min=0).sqrt()
    window = torch.special.i0(beta * height) / torch.special.i0(_number(beta))
    return torch.where(_number(window_length) == 1, 1.0, window).to(dtype)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.blackman_window: _window(0.42, -0.5, 0.08),
    torch.cdist: _distances,
    torch.gradient: _gradient,
    torch.hamming_window: _hamming,
    torch.hann_window: _window(0.5, -0.5),
    torch.kaiser_window: _kaiser,
    torch.kron: _kron,
    torch.linalg.vander: _increasing_vander,
    torch.linspace: _linspace,
    torch.nn.functional.pad: _pad,
    torch.nn.functional.pdist: _pair_distances,
    torch.pdist: _pair_distances,
    torch.take_along_dim: _take_along,
    torch.vander: _vander,
    Tensor.kron: _kron,
    Tensor.take_along_dim: _take_along,
}


@contextlib.contextmanager
def functions_of_sizes() -> Iterator[None]:
    """Let Python's roots and `divmod` of a size that varies give what varies with it."""
    root, whole_root = math.sqrt, math.isqrt

    def sqrt(x: Any, /) -> Any:
        return x**0.5 if isinstance(x, torch.SymInt | torch.SymFloat) else root(x)

    def isqrt(n: Any, /) -> Any:
        return math.floor(n**0.5) if isinstance(n, torch.SymInt) else whole_root(n)

    def divided(a: Any, b: Any) -> Any:
        return a // b, a % b

    def dividing(b: Any, a: Any) -> Any:
        return divided(a, b)

    with (
        mock.patch.object(math, "sqrt", sqrt),
        mock.patch.object(math, "isqrt", isqrt),
        mock.patch.object(torch.SymInt, "__divmod__", divided, create=True),
        mock.patch.object(torch.SymInt, "__rdivmod__", dividing, create=True),
    ):
        yield
