"""Norms of numbers that are far from zero, beside how far they are from one another."""

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import Twins


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm1d(4, affine=True)
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def layers(self, x):
        return functional.layer_norm(x, (6,)), functional.layer_norm(x, (4, 6), eps=1e-6)

    def groups(self, x):
        return self.group(x), functional.group_norm(x.mT.reshape(-1, 6, 4), 3)

    def instances(self, x):
        return self.instance(x), functional.instance_norm(x, eps=1e-4)

    def batches(self, x):
        return functional.batch_norm(x, None, None, training=True)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_norms_keep_their_precision_where_the_mean_is_large(tmp_path, backend):
    generator = torch.Generator().manual_seed(0)
    names = ["layers", "groups", "instances", "batches"]
    batch = ({0: Dim("batch", min=1, max=5)},)
    example = (torch.randn(3, 4, 6, generator=generator),)
    methods = {name: ps.Method(name, example, dynamic_shapes=batch) for name in names}
    twins = Twins(Norms().eval(), methods, tmp_path, backend)
    for size in (2, 5):
        x = torch.randn(size, 4, 6, generator=generator)
        for name in names:
            twins.call(name, x)
            # Rounding of single precision alone moves these by some thousandths.
            twins.tolerance = {"rtol": 0.02, "atol": 0.02}
            twins.call(name, x + 1000)
            twins.tolerance = {"rtol": 1e-4, "atol": 1e-5}


class After(nn.Module):
    """Norms of what has other sizes than the input."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.same, self.less = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(2, 4, 3)
        self.group = nn.GroupNorm(2, 4)
        nn.init.normal_(self.group.weight)

    def planes(self, x):
        return self.group(self.same(x)), functional.instance_norm(self.less(x))

    def batches(self, x):
        return self.group(x), functional.layer_norm(x, (4, 3, 3))

    def rows(self, x):
        twice = torch.cat([x, x], 1)
        return (
            functional.group_norm(x[:, :, 1:], 1),
            functional.group_norm(twice, 2),
            functional.layer_norm(x[:, :, 1:].mT, (2,)),
        )


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_norms_of_sizes_that_are_computed(tmp_path, backend):
    height, width = (Dim(name, min=4, max=12) for name in ("height", "width"))
    methods = {
        "planes": ps.Method(
            "planes", (torch.randn(1, 2, 6, 5),), dynamic_shapes=({2: height, 3: width},)
        ),
        "batches": ps.Method(
            "batches",
            (torch.randn(2, 4, 3, 3),),
            dynamic_shapes=({0: Dim("batch", min=0, max=8)},),
        ),
        "rows": ps.Method("rows", (torch.randn(3, 2, 6),), dynamic_shapes=({2: height},)),
    }
    twins = Twins(After().eval(), methods, tmp_path, backend)
    twins.call("batches", torch.randn(0, 4, 3, 3))
    twins.call("batches", torch.randn(5, 4, 3, 3))
    for size in (4, 12, 7):
        twins.call("planes", torch.randn(1, 2, size, 16 - size))
        twins.call("rows", torch.randn(3, 2, size))


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_norms_of_doubles(tmp_path, backend):
    names = ["layers", "groups", "instances"]
    batch = ({0: Dim("batch", min=1, max=5)},)
    example = (torch.randn(3, 4, 6).double(),)
    methods = {name: ps.Method(name, example, dynamic_shapes=batch) for name in names}
    twins = Twins(Norms().eval().double(), methods, tmp_path, backend)
    twins.tolerance = {"rtol": 1e-6, "atol": 1e-7}
    for size in (2, 5):
        x = torch.randn(size, 4, 6).double()
        for name in names:
            twins.call(name, x)
            twins.call(name, x + 1e6)
