"""Operators that the exporter writes by others, or keeps although they are not of the core set."""

import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

pytestmark = every_backend


class Operators(nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.register_buffer("square", torch.randn(4, 4, generator=generator))
        self.register_buffer("wide", torch.randn(2, 3, 5, generator=generator))
        self.register_buffer("whole", torch.tensor([1, -5, 7, 9]))

    def clear_diagonal(self, x):
        self.square.diagonal().zero_()
        return self.square + x

    def change_diagonals(self, x):
        self.wide.diagonal(1, 2, 1).add_(x[:2])
        self.square.diagonal(-1).copy_(x[:3])
        return self.wide.diagonal(0, 0, 2) * 1

    def shift(self, x):
        self.whole.copy_(self.whole << torch.arange(4))
        whole = x.long()
        places = torch.arange(4)
        return self.whole >> 1, whole << 2, whole >> places, 1 << whole, 64 >> places

    def round_decimals(self, x):
        short = x.sin().half(), x.sin().bfloat16()
        return x.round(decimals=1), x.round(decimals=-1), *(y.round(decimals=2) for y in short)

    def odds(self, x):
        part = x.sigmoid()
        return torch.logit(part), torch.logit(x, 1e-3), torch.gcd(x.long(), self.whole)

    def variances(self, x):
        return torch.var_mean(x), torch.std_mean(self.wide, 1, keepdim=True)

    def filled(self, x):
        new, other = x.new_empty((x.shape[0], 2)), torch.empty(2, x.shape[0], dtype=torch.int64)
        new[:, 0], new[:, 1] = x, -x
        return new, other.fill_(3)


def test_operators_equal_those_of_pytorch(tmp_path, backend):
    x = torch.tensor([1.26, -3.14, 25.0, 0.55])
    names = [
        "clear_diagonal",
        "change_diagonals",
        "shift",
        "round_decimals",
        "odds",
        "variances",
    ]
    methods = {n: ps.Method(n, (x,)) for n in names}
    methods["filled"] = ps.Method("filled", (x,), dynamic_shapes=({0: Dim("n", min=1, max=8)},))
    twins = Twins(Operators(), methods, tmp_path, backend)
    for name in names:
        twins.call(name, x)
        twins.call(name, -2 * x)
    for length in (1, 3, 8):
        twins.call("filled", torch.arange(float(length)))


class Elements(nn.Module):
    """Functions of each element, and of all."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def signs(self, x, y):
        self.calls += 1
        return x.signbit(), torch.copysign(x, y), torch.copysign(y, -0.0), x.angle()

    def pairs(self, x, y):
        return torch.fmax(x, y), torch.fmin(x, y), torch.hypot(x, y), torch.dist(x[:3], y[:3], 3)

    def powers(self, x, y):
        whole = y.nan_to_num(0, 3, -3).clamp(-9, 9).int()
        return x.exp2(), torch.ldexp(x, whole), torch.logaddexp2(x, y), whole.exp2()

    def special(self, x, y):
        functions = torch.special
        of_one = [
            functions.entr(x),
            functions.i0e(x),
            functions.erfcx(x),
            torch.sinc(x.clamp(-9, 9)),
        ]
        size, other = x.abs().clamp(0.1, 9), y.abs().clamp(0.1, 9)
        of_two = [functions.xlog1py(x, y), torch.xlogy(2.0, y), torch.igamma(size, other)]
        degree = y.nan_to_num(0, 3, -3).clamp(0, 5).int()
        return *of_one, *of_two, functions.chebyshev_polynomial_t(size, degree), x.sign()

    def extremes(self, x, y):
        return x.max(), y[3:].min(), (x > 0).max(), y[3].max(), (y[:3] * 5).int().min()


def test_functions_of_elements_equal_pytorchs_for_all_numbers(tmp_path, backend):
    generator = torch.Generator().manual_seed(0)
    odd = torch.tensor([0.0, -0.0, 1.5, -2.5, 3e30, -1e-30, torch.inf, -torch.inf, torch.nan])
    drawn = torch.randn(2, 90, generator=generator)
    names = ["signs", "pairs", "powers", "special", "extremes"]
    methods = {name: ps.Method(name, (drawn[0, :81], drawn[1, :81])) for name in names}
    twins = Twins(Elements(), methods, tmp_path, backend)
    for name in names:
        twins.call(name, drawn[0, :81], 3 * drawn[1, :81])
        twins.call(name, odd.repeat(9), odd.repeat_interleave(9))


class Windows(nn.Module):
    """Copies of views, and sums of products."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.bilinear = nn.Bilinear(3, 4, 5)
        self.register_buffer("last", torch.zeros(4, 5))

    def windows(self, x):
        self.last.copy_(x)
        return x.unfold(1, 3, 1), x.unfold(0, 2, 2).sum(-1)

    def copies(self, x):
        return (
            torch.permute_copy(x, (1, 0)),
            torch.view_copy(x, (2, -1)),
            torch.as_strided_copy(x, (3, 2), (1, 4), 2),
        )

    def products(self, x):
        return self.bilinear(x[:, :3], x[:, 1:])


def test_windows_copies_and_bilinear_layers_equal_pytorchs(tmp_path, backend):
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    names = ["windows", "copies", "products"]
    twins = Twins(Windows(), {name: ps.Method(name, (x,)) for name in names}, tmp_path, backend)
    for name in names:
        twins.call(name, x)
        twins.call(name, -3 * x)


class Normalized(nn.Module):
    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.of_images = nn.BatchNorm2d(3, **options)
        self.of_features = nn.BatchNorm1d(4, momentum=0.3, **options)
        self.convolution, self.linear = nn.Conv2d(2, 3, 3), nn.Linear(4, 4)

    def images(self, x):
        return self.of_images(self.convolution(x))

    def features(self, x):
        return self.of_features(self.linear(x))


def test_batch_norms_in_training_mode_keep_their_statistics(tmp_path, backend):
    generator = torch.Generator().manual_seed(0)
    batch = ({0: Dim("B", min=2, max=8)},)
    shapes = {"images": (2, 6, 5), "features": (4,)}
    methods = {
        name: ps.Method(name, (torch.randn(3, *shape),), dynamic_shapes=batch)
        for name, shape in shapes.items()
    }
    twins = Twins(Normalized().train(), methods, tmp_path, backend)
    assert len(twins.program.state) == 6  # mean, variance and number of batches of each
    for size in (2, 5, 8, 2):
        for name, shape in shapes.items():
            twins.call(name, 3 * torch.randn(size, *shape, generator=generator) + 1)


def test_batch_norms_in_training_mode_may_have_neither_weights_nor_statistics(tmp_path, backend):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    for options in ({"affine": False}, {"track_running_stats": False}):
        model = Normalized(**options).train()
        twins = Twins(model, {"features": ps.Method("features", (x,))}, tmp_path, backend)
        twins.call("features", x)
        twins.call("features", 2 * x)


class Averaged(nn.Module):
    """Batch norms that average over all batches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.of_features = nn.BatchNorm1d(4, momentum=None)
        self.of_images = nn.BatchNorm2d(2, momentum=None, affine=False)

    def forward(self, x, images):
        return self.of_features(x), self.of_images(images)


def test_batch_norms_may_average_over_all_batches(tmp_path, backend):
    generator = torch.Generator().manual_seed(0)
    sizes = ({0: Dim("B", min=2, max=8)}, None)
    example = (torch.randn(3, 4), torch.randn(2, 2, 3, 3))
    methods = {"forward": ps.Method("forward", example, dynamic_shapes=sizes)}
    twins = Twins(Averaged().train(), methods, tmp_path, backend)
    for size in (2, 5, 8, 2):
        x = 3 * torch.randn(size, 4, generator=generator) + 1
        twins.call("forward", x, torch.randn(2, 2, 3, 3, generator=generator))


class Halves(nn.Module):
    """Operators that PyTorch computes in float32, and rounds once."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.norm = nn.BatchNorm1d(4).eval()
        self.norm.running_mean.copy_(torch.randn(4, generator=generator))
        self.norm.running_var.copy_(torch.rand(4, generator=generator) + 0.1)
        self.norm.bfloat16()
        self.register_buffer("table", torch.randn(7, 5, generator=generator).bfloat16())
        self.register_buffer("calls", torch.tensor(0))

    def norms(self, x):
        self.calls += 1
        return self.norm(x), x.half().renorm(2, 0, 1.5), x.renorm(1, 1, 0.5)

    def bags(self, x):
        rows, offsets = torch.arange(12) % 7, torch.tensor([0, 1, 9])
        return nn.functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=x.flatten()[:12]
        )

    def losses(self, x):
        target = torch.tensor([1.0, -1.0, 1.0])
        return nn.functional.cosine_embedding_loss(
            x, 2 - x * x, target, margin=0.3
        ), nn.functional.cosine_embedding_loss(x[0], x[1], target[0], reduction="none")

    def numbers(self, x):
        return x * x[0, 0].item() + x.half().amax().item()


def test_16_bit_floats_are_rounded_once(tmp_path, backend):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).bfloat16()
    names = ["norms", "bags", "losses", "numbers"]
    twins = Twins(Halves(), {name: ps.Method(name, (x,)) for name in names}, tmp_path, backend)
    twins.tolerance = {"rtol": 2**-8, "atol": 2**-10}  # two roundings of which the last differs
    for name in names:
        twins.call(name, x)
        twins.call(name, 3 - 2 * x)


class Rare(nn.Module):
    """What PyTorch calls by a name of its own, or in chunks."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.register_buffer("held", torch.zeros(12))

    def resized(self, x):
        y = (x + 1).resize_as_(self.held[:3])
        self.held[:3] += y
        return y, self.held * 2

    def normed(self, x):
        one = torch.ones(4, dtype=torch.float64)
        return torch.native_group_norm(x.double().reshape(3, 4, 1), one, one / 3, 3, 4, 1, 2, 1e-5)[
            0
        ]

    def chunked(self, x):
        options = nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        target = torch.tensor([5, 0, 2])
        weight, bias = self.linear.weight, self.linear.bias
        return [
            nn.functional.linear_cross_entropy(
                x, weight, target, linear_bias=bias, reduction=reduction, options=options
            )
            for reduction in ("none", "mean", "sum")
        ]


def test_rare_operators_equal_those_of_pytorch(tmp_path, backend):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    names = ["resized", "normed", "chunked"]
    twins = Twins(Rare(), {name: ps.Method(name, (x,)) for name in names}, tmp_path, backend)
    for name in names:
        twins.call(name, x)
        twins.call(name, 3 - 2 * x)


class Means(nn.Module):
    def forward(self, x):
        half = nn.functional.mse_loss(x.half(), x.half() * 2)
        return x.mean(), x[0, 0].mean(), x.mean(dtype=torch.float64), half


def test_a_mean_of_many_elements_is_as_exact_as_pytorchs(tmp_path, backend):
    methods = {"forward": ps.Method("forward", (torch.randn(1000, 300),))}
    twins = Twins(Means(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-6, "atol": 0}
    twins.call("forward", torch.rand(1000, 300) + 1)
