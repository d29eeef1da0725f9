"""Modules that order, look up, count and combine elements give what PyTorch's do, when exported."""

import pytest
import torch

import polystate as ps
from tests.end_to_end.twins import ENGINES


class Orders(torch.nn.Module):
    def forward(self, x, integers):
        return (
            *torch.sort(x, dim=0, descending=True, stable=True),
            x.argsort(dim=-1, stable=True),
            *x.kthvalue(2, 0),
            x.median(),
            *x.nanmedian(1, keepdim=True),
            integers.mode(1).values,
        )

    def counts(self, x, integers):
        boundaries = torch.tensor([-1.0, 0.0, 0.5])
        return (
            torch.searchsorted(boundaries, x, right=True),
            torch.bucketize(integers, boundaries, out_int32=True),
            torch.isin(integers, torch.tensor([1, 3])),
            torch.histc(x, 5, -1, 1),
            *torch.histogram(x, 4, range=(-1.0, 1.0)),
            torch.histogramdd(x[:, :2], [2, 3]).hist,
            torch.histogramdd(x[:, :2], [2, 3], weight=x[:, 2].abs(), density=True).hist,
            torch.histogramdd(x[:, :2], [boundaries, boundaries * 2]).hist,
            torch.nonzero_static(integers, size=4),
        )

    def scatters(self, x, integers):
        index = integers % 3
        return (
            x.scatter_reduce(0, index, x * 2, "mean", include_self=False),
            x.index_reduce(0, index[0, :4], x, "prod"),
            torch.segment_reduce(x, "max", lengths=torch.tensor([1, 2, 1])),
            torch.scatter(x, 1, index, 2.0, reduce="multiply"),
            torch.take(x, integers),
            torch.put(x, torch.arange(3), x[1, :3]),
        )


class NamedResults(torch.nn.Module):
    def forward(self, x):
        return {"largest": torch.topk(x, 2), "order": torch.sort(x), "ends": torch.aminmax(x)}


def test_orders_counts_and_scatters(tmp_path):
    torch.manual_seed(0)
    args = (torch.randn(4, 5), torch.randint(0, 5, (4, 5)))
    model = Orders()
    methods = {name: ps.Method(name, args) for name in ("forward", "counts", "scatters")}
    for backend in ("portable", "xnnpack"):
        program = ps.export(model, methods, backend=backend, draws=ps.Draws(count=4))
        session = ps.load(program.save(tmp_path / backend)).session()
        for name in methods:
            results = session.run(name, *args)
            for found, right in zip(results, getattr(model, name)(*args), strict=True):
                torch.testing.assert_close(torch.as_tensor(found), right)


def test_results_that_are_named_tuples(tmp_path):
    x = torch.tensor([[3.0, float("nan"), 1.0], [2.0, 5.0, 4.0]])
    methods = {"forward": ps.Method("forward", (x,))}
    program = ps.export(NamedResults(), methods, backend="portable", draws=ps.Draws(count=4))
    results = ps.load(program.save(tmp_path / "a")).session().run("forward", x)
    expected = torch.utils._pytree.tree_leaves(NamedResults()(x))
    for found, right in zip(results, expected, strict=True):
        torch.testing.assert_close(torch.as_tensor(found), right, equal_nan=True)


class Ranks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("order", torch.zeros(100, dtype=torch.int64))

    def forward(self, x):
        self.order.copy_(x.argsort())
        return x.sort(descending=True), torch.msort(x), x.topk(3), x.kthvalue(7), x.median(0)


@pytest.mark.parametrize("backend", ENGINES)
def test_elements_that_are_equal(tmp_path, backend):
    """PyTorch orders them by chance: ExecuTorch's programs leave them in their order."""
    zeros = torch.zeros(100)
    methods = {"forward": ps.Method("forward", (zeros,))}
    program = ps.export(Ranks(), methods, backend=backend, draws=ps.Draws(count=4))
    session = ps.load(program.save(tmp_path / "a"), trust_code=True).session()
    x = torch.arange(100) % 7 * torch.ones(100)
    results = [torch.as_tensor(each) for each in session.run("forward", x)]
    expected = torch.utils._pytree.tree_leaves(Ranks()(x))
    for values in (0, 2, 3, 5, 7):
        torch.testing.assert_close(results[values], expected[values])
    for place in (1, 4, 6, 8):
        torch.testing.assert_close(x[results[place]], expected[place - 1])
    order = torch.as_tensor(session.state["order"])
    torch.testing.assert_close(x[order], x.sort().values)
    if backend != "aoti":
        torch.testing.assert_close(order, x.argsort(stable=True))
