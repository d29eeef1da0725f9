"""Operators over a dimension whose size varies give what PyTorch gives at each size."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

LARGEST = 6


class Operators(nn.Module):
    """Those whose rules for shapes read the size in ways of their own."""

    def matrices(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        definite = x @ x.mT + 6 * torch.eye(x.shape[0])
        factors, pivots = torch.linalg.lu_factor(definite)
        lower = torch.linalg.cholesky(definite)
        return (
            torch.linalg.solve(definite, y),
            torch.linalg.slogdet(definite).logabsdet,
            factors.mT.flatten(),
            pivots,
            torch.cholesky_solve(y, lower),
            torch.linalg.solve_triangular(lower, y, upper=False),
            torch.linalg.inv(definite).mT.flatten(),
            *torch.linalg.lstsq(definite, y),
            torch.linalg.lstsq(definite[:, :2], y[:, 0]).solution.sin(),
        )

    def norms(self, x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        channels = x[None].expand(2, -1, -1, -1)
        return (
            nn.functional.layer_norm(x, x.shape[1:]),
            nn.functional.layer_norm(x.mT, (x.shape[1],), weight, weight * 2),
            nn.functional.group_norm(channels, 3),
            nn.functional.instance_norm(channels),
        )

    def columns(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        lower = torch.linalg.cholesky(x @ x.mT + 6 * torch.eye(x.shape[0]))
        return (
            torch.linalg.solve_triangular(lower, y, upper=False),
            torch.cholesky_solve(y, lower),
            torch.cholesky_inverse(lower),
        )

    def losses(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        classes = (y[:, 0] > 0).to(torch.int64)
        found = []
        for reduction in ("none", "sum", "mean"):
            found += [
                nn.functional.cross_entropy(x, classes, reduction=reduction),
                nn.functional.nll_loss(x, classes, torch.ones(3), reduction=reduction),
                nn.functional.hinge_embedding_loss(x, y.sign(), reduction=reduction),
                nn.functional.margin_ranking_loss(x, y, y.sign(), reduction=reduction),
                nn.functional.gaussian_nll_loss(x, y, y.abs() + 1, True, reduction=reduction),
            ]
        return tuple(found)

    def elements(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return (
            *torch.var_mean(x, dim=[0]),
            *torch.std_mean(x.flatten(), unbiased=True),
            torch.linalg.cross(x, y),
            *torch.histogram(x, 4, range=(-2.0, 2.0)),
            torch.histogramdd(x, [2, 3, 2], range=[-1, 1, -2.0, 2.0, -3, 3]).hist,
            torch.geqrf(x)[0].triu().abs(),
            torch.kron(x, torch.ones(2, 1)),
            torch.pdist(x),
            torch.vander(x[:, 0], 3),
            torch.take_along_dim(x, y.argsort(dim=0, stable=True)[:, :1], 0),
            torch.gradient(x, spacing=0.5, dim=1)[0],
            torch.linalg.vander(x[:, :2].T, N=3),
            torch.linalg.vander(x[0, 0], N=3),
            x[x[:, 0].argsort(dim=0, stable=True)][:2] * 2,
            nn.functional.pdist(y, p=1.0),
            x.unfold(-1, 2, 1),
            torch.empty_like(x).copy_(y),
            *x.unsafe_chunk(2, -1),
        )


@every_backend
def test_each_size_gives_what_pytorch_gives(tmp_path: Path, backend: str) -> None:
    least = {"matrices": 2, "columns": 2, "norms": 2, "elements": 1, "losses": 1}
    sizes = {name: torch.export.Dim("size", min=least[name], max=LARGEST) for name in least}
    torch.manual_seed(0)
    inputs = {
        "matrices": lambda count: (torch.randn(count, count), torch.randn(count, 2)),
        "norms": lambda count: (torch.randn(3, count, 4), torch.randn(count)),
        "columns": lambda count: (torch.randn(count, count), torch.randn(count, 1)),
        "elements": lambda count: (torch.randn(count, 3), torch.randn(count, 3)),
        "losses": lambda count: (torch.randn(count, 3), torch.randn(count, 3)),
    }
    of_matrices, of_rows = ((0, 1), (0,)), ((0,), (0,))
    dimensions = {
        "matrices": of_matrices,
        "columns": of_matrices,
        "norms": ((1,), (0,)),
        "elements": of_rows,
        "losses": of_rows,
    }
    varying = {
        name: tuple(dict.fromkeys(each, sizes[name]) for each in dimensions[name])
        for name in inputs
    }
    methods = {
        name: ps.Method(name, inputs[name](4), dynamic_shapes=varying[name]) for name in inputs
    }
    program = ps.export(Operators(), methods, backend=backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    for name, make in inputs.items():
        for count in range(least[name], LARGEST + 1):
            arguments = make(count)
            expected = getattr(Operators(), name)(*arguments)
            for found, right in zip(session.run(name, *arguments), expected, strict=True):
                torch.testing.assert_close(
                    torch.as_tensor(found), right, rtol=1e-4, atol=1e-5, equal_nan=True
                )


class Distances(nn.Module):
    def between(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cdist(x, y)

    def within(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cdist(x, x).topk(2, largest=False).values


@every_backend
def test_distances_of_few_rows_and_of_many(tmp_path: Path, backend: str) -> None:
    rows = Dim("rows", min=2, max=50)
    methods = {
        "between": ps.Method(
            "between", (torch.randn(8, 4), torch.randn(7, 4)), dynamic_shapes=({0: rows}, None)
        ),
        "within": ps.Method("within", (torch.randn(8, 4),), dynamic_shapes=({0: rows},)),
    }
    program = ps.export(Distances(), methods, backend=backend)
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    for count in (2, 25, 26, 50):
        x, y = torch.randn(count, 4), torch.randn(7, 4)
        torch.testing.assert_close(session.run("between", x, y)[0], torch.cdist(x, y))
        # Of more rows the distance to itself is the root of what rounding leaves.
        torch.testing.assert_close(
            session.run("within", x)[0],
            torch.cdist(x, x).topk(2, largest=False).values,
            rtol=1e-4,
            atol=3e-3,
        )


class Lengths(nn.Module):
    """Functions whose length is a size, numbers made of it, and rows of a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(9, 2))

    def grids(self, x: Tensor) -> tuple[Tensor, ...]:
        n = x.shape[0]
        return (
            torch.linspace(-1, 2, n),
            torch.linspace(0.5, 0.25, steps=n + 3, dtype=torch.float64),
            torch.hann_window(n) * x,
            torch.hamming_window(n, periodic=False),
            torch.blackman_window(n + 1),
            torch.kaiser_window(n) * x,
            torch.kaiser_window(n + 1, periodic=False, beta=5.5, dtype=torch.float64),
            torch.kaiser_window(7),
        )

    def numbers(self, x: Tensor) -> tuple[Tensor, ...]:
        n = x.shape[0]
        powers = x / n**0.5, x * n**2, x * 0.9**n, x.sum() * 2**n, x * n**-1
        half, rest = divmod(n, 2)
        most, left = divmod(40, n)
        divided = x * half + rest, x * most - left, x[: divmod(n + 1, 2)[0]]
        roots = x / math.sqrt(n), x * (2 * n**0.5 + 1), x - 3 * math.sqrt(n + 1)
        return *powers, *divided, *roots, x - math.isqrt(n)

    def pools(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = x[None]
        return (
            nn.functional.max_pool1d(rows, 2, 1, 1),
            nn.functional.max_pool1d(rows, (3,), stride=2, padding=1),
        )

    def rounded_up(self, x: Tensor) -> tuple[Tensor, ...]:
        """Pools whose last window may be smaller; padding to a multiple."""
        n, plane = x.shape[0], torch.outer(x, torch.arange(1.0, 6.0))[None]
        pool = nn.functional
        return (
            nn.functional.pad(x, (0, -n % 4)).view(-1, 4).sum(1),
            x * (1 / n**0.5),
            pool.max_pool1d(x[None], 2, 3, ceil_mode=True),
            pool.max_pool2d(plane, 3, 2, 1, ceil_mode=True),
            pool.max_pool2d(plane.to(torch.int32), 2, dilation=(1, 2), ceil_mode=True),
            pool.max_pool3d(plane[None], (1, 2, 2), ceil_mode=True),
            pool.avg_pool1d(x[None], 2, ceil_mode=True),
            pool.avg_pool2d(plane, 3, 2, 1, ceil_mode=True, count_include_pad=False),
            pool.avg_pool2d(plane.half(), 3, 2, 1, ceil_mode=True),
            pool.avg_pool3d(
                plane[None], (1, 2, 2), 3, (0, 1, 1), ceil_mode=True, divisor_override=3
            ),
        )

    def parts(self, x: Tensor) -> tuple[Tensor, ...]:
        """Parts that end where the dimension does, or hold nothing, at some sizes alone."""
        rows = x[:, None] * torch.ones(2)
        rest = rows[rows.shape[0] - rows.shape[0] % 4 :]
        return (
            rest[:3] * 2,
            rows[:-2],
            rows[:3],
            rows[4:] * 2,
            rows[4:].T @ rows[4:],
            torch.cat([rows[3:], rows[:3]]),
            rows[-3:].sum(0) + rows[2:-2:2].sum(0),
            nn.functional.pad(x, (0, -x.shape[0] % 8))[x.shape[0] :][:3] + 1,
            nn.functional.pad(x, (1, 4 - x.shape[0])),
            nn.functional.pad(rows, (0, 1, 3 - x.shape[0], 0), value=2.0),
        )

    def write(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        self.cache[torch.arange(n)] = x[:, None]
        self.cache[torch.arange(n), torch.arange(n) % 2] = x * 2
        return self.cache[n:] * 2

    def convolve(self, x: Tensor) -> Tensor:
        smooth = nn.functional.conv1d(x[None, None], torch.ones(1, 1, 3), padding=1)
        return self.cache[x.shape[0] :] - smooth.sum()


@every_backend
def test_lengths_that_are_sizes(tmp_path: Path, backend: str) -> None:
    least = {
        "grids": 1,
        "numbers": 1,
        "pools": 2,
        "rounded_up": 3,
        "parts": 1,
        "write": 0,
        "convolve": 1,
    }
    methods = {
        name: ps.Method(name, (torch.randn(5),), dynamic_shapes=({0: Dim("n", min=low, max=9)},))
        for name, low in least.items()
    }
    twins = Twins(Lengths(), methods, tmp_path, backend)
    for name, low in least.items():
        for count in range(low, 10):
            twins.call(name, torch.randn(count))


def test_a_size_that_only_a_smaller_trace_covers_is_in_the_contract() -> None:
    varying = ({0: Dim("n", min=0, max=9)},)
    methods = {
        name: ps.Method(name, (torch.randn(5),), dynamic_shapes=varying)
        for name in ("write", "convolve")
    }
    program = ps.export(Lengths(), methods, backend="portable")
    smallest = {name: method.symbols[0].min for name, method in program.methods.items()}
    assert smallest == {"write": 0, "convolve": 1}  # PyTorch convolves no empty signal


class Frames(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.unfold(-1, 8, 3) * torch.arange(8.0)


@every_backend
def test_frames_of_which_the_smallest_size_has_one(tmp_path: Path, backend: str) -> None:
    method = ps.Method(
        "forward", (torch.ones(2, 9),), dynamic_shapes=({1: Dim("n", min=8, max=30)},)
    )
    twins = Twins(Frames(), {"forward": method}, tmp_path, backend)
    for count in (8, 10, 11, 14, 30):
        twins.call("forward", torch.randn(2, count))


class WholeNumbers(nn.Module):
    """Results that are numbers made of a size."""

    def forward(self, x: Tensor) -> tuple[int, ...]:
        n = x.shape[0]
        powers = n**2, n**5, 3**n, 91**n, (n - 4) ** n
        rest = n % 3, -n % 4, n & 3, (n - 4) & 7, n << 2, n >> 1, abs(n - 4)
        return *powers, *rest, math.floor(n / 3), math.floor((3 - n) / 2), math.ceil(n / 2)

    def added(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        return x.sum().long() + 91**n + x.long() * (n * 10**12)


@every_backend
def test_numbers_made_of_sizes_are_exact(tmp_path: Path, backend: str) -> None:
    shapes = ({0: Dim("n", min=1, max=9)},)
    methods = {
        name: ps.Method(name, (torch.ones(5),), dynamic_shapes=shapes)
        for name in ("forward", "added")
    }
    twins = Twins(WholeNumbers(), methods, tmp_path, backend)
    for count in (1, 3, 4, 8, 9):
        found = twins.session.run("forward", torch.ones(count))
        assert [int(each) for each in found] == list(WholeNumbers()(torch.ones(count)))
        twins.call("added", torch.ones(count))


class Windows(nn.Module):
    """As vision transformers divide images, of which a window may be the whole."""

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        x = nn.functional.pad(x, (0, 0, 0, -width % 4, 0, -height % 4))
        rows, columns = x.shape[1] // 4, x.shape[2] // 4
        windows = x.view(batch, rows, 4, columns, 4, channels).permute(0, 1, 3, 2, 4, 5)
        means = windows.reshape(-1, 16, channels).softmax(1)
        image = means.view(batch, rows, columns, 4, 4, channels).permute(0, 1, 3, 2, 4, 5)
        return image.reshape(batch, 4 * rows, 4 * columns, channels)[:, :height, :width]


@every_backend
def test_windows_of_images_whose_height_and_width_vary(tmp_path: Path, backend: str) -> None:
    shapes = ({1: Dim("height", min=1, max=13), 2: Dim("width", min=1, max=16)},)
    method = ps.Method("forward", (torch.randn(2, 8, 8, 3),), dynamic_shapes=shapes)
    twins = Twins(Windows(), {"forward": method}, tmp_path, backend)
    for height, width in ((1, 1), (4, 4), (4, 9), (8, 3), (13, 16), (5, 4)):
        twins.call("forward", torch.randn(2, height, width, 3))


class Attention(nn.Module):
    """Relative positions, the last frames of texts, and what is joined or summed of nothing."""

    def shifted(self, x: Tensor) -> Tensor:
        """As Transformer-XL and Conformers shift rows by viewing them otherwise."""
        scores = x @ torch.ones(8, 2 * x.shape[1] - 1)
        batch, rows, columns = scores.shape
        padded = nn.functional.pad(scores, (1, 0)).view(batch, columns + 1, rows)
        return padded[:, 1:].view(batch, rows, columns)[..., :rows]

    def last(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        frames = x[torch.arange(x.shape[0]), lengths - 1]
        return frames, torch.einsum("bld,bmd->blm", x, x)

    def of_nothing(self, x: Tensor) -> tuple[Tensor, ...]:
        joined = torch.cat([x, x[:, :0], x[:, :2]], 1), torch.cat([x, x], 1)
        return *joined, x.logsumexp(1), x.logsumexp((0, -1), keepdim=True)

    def resampled(self, x: Tensor) -> tuple[Tensor, ...]:
        resize = nn.functional.interpolate
        return (
            resize(x[..., 0], size=x.shape[2] + 1, mode="linear", align_corners=True),
            resize(x, size=x.shape[2:], mode="bicubic", align_corners=True),
            resize(x[:, :1], size=(x.shape[2], 1), mode="bilinear", align_corners=True),
            resize(x[:, None], size=(2, *x.shape[2:]), mode="trilinear", align_corners=True),
        )


@every_backend
def test_sizes_of_attention_and_of_nothing(tmp_path: Path, backend: str) -> None:
    batch, length = Dim("batch", min=0, max=4), Dim("length", min=1, max=12)
    some = Dim("some", min=1, max=4)
    methods = {
        "shifted": ps.Method(
            "shifted", (torch.randn(2, 9, 8),), dynamic_shapes=({0: some, 1: length},)
        ),
        "last": ps.Method(
            "last",
            (torch.randn(2, 5, 3), torch.tensor([3, 5])),
            dynamic_shapes=({0: some, 1: length}, {0: some}),
        ),
        "of_nothing": ps.Method(
            "of_nothing",
            (torch.randn(2, 5, 3),),
            dynamic_shapes=({0: batch, 1: Dim("rows", min=0, max=9)},),
        ),
        "resampled": ps.Method(
            "resampled", (torch.randn(1, 2, 5, 3),), dynamic_shapes=({2: Dim("height", max=7)},)
        ),
    }
    twins = Twins(Attention(), methods, tmp_path, backend)
    least = [twins.program.methods[name].symbols[-1].min for name in methods]
    assert least == [1, 1, 0, 1]
    for count in (1, 2, 12):
        twins.call("shifted", torch.randn(3, count, 8))
        twins.call("last", torch.randn(2, count, 3), torch.tensor([1, count]))
    for shape in ((0, 9, 3), (2, 0, 3), (4, 1, 3), (0, 0, 3)):
        twins.call("of_nothing", torch.randn(shape))
    for height in (1, 2, 7):
        twins.call("resampled", torch.randn(1, 2, height, 3))


class LeftToPyTorch(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.linalg.multi_dot([x, y]), x * 2


def test_a_size_that_pytorch_fixes_is_the_examples(tmp_path: Path) -> None:
    free = {0: Dim.AUTO(min=1, max=9), 1: Dim.AUTO(min=1, max=9)}
    example = (torch.randn(2, 5), torch.randn(5, 3))
    method = ps.Method("forward", example, dynamic_shapes=(free, free))
    twins = Twins(LeftToPyTorch(), {"forward": method}, tmp_path)
    twins.call("forward", *example)
