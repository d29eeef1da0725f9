"""Calls that ExecuTorch's kernels refuse or compute otherwise are written by others."""

import torch

import polystate as ps


class Limits(torch.nn.Module):
    def forward(self, x, index, half, tall, wide):
        return (
            x.gather(0, index),
            x.scatter(0, index, x),
            torch.nn.functional.pad(x, (-1, 2, 1, -1), value=3.0),
            torch.nn.functional.pad(x, (-3, -1, 1, 1)),  # nothing is left
            tall @ wide,  # over a dimension of size 0
            torch.cat([tall, tall], 0),
            tall.log_softmax(-1),
            *torch.var_mean(x[:1, :1]),
            *torch.std_mean(x, 0),
            half.cumsum(0),
            torch.addmm(half, half, half, beta=0.2, alpha=0.6),
            x.to(torch.float64, non_blocking=True),
            torch.where(x > 0, float("nan"), x).sign(),
            torch.nn.functional.avg_pool2d(half.unsqueeze(0), 3, 1, 1),
        )

    def doubles(self, x):
        return x * 2.7 + 0.1, torch.where(x > 0.3, x, 0.7), 1.1 - x, x.log_softmax(-1)


def test_calls_past_the_limits_of_kernels(tmp_path):
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    args = (x, torch.randint(0, 4, (2, 4)).int(), x.half(), torch.randn(3, 0), torch.randn(0, 2))
    calls = {"forward": args, "doubles": (x.double(),)}
    model = Limits()
    methods = {name: ps.Method(name, given) for name, given in calls.items()}
    for backend in ("portable", "xnnpack"):
        program = ps.export(model, methods, backend=backend, draws=ps.Draws(count=8))
        session = ps.load(program.save(tmp_path / backend)).session()
        for name, given in calls.items():
            results = session.run(name, *given)
            for found, right in zip(results, getattr(model, name)(*given), strict=True):
                torch.testing.assert_close(torch.as_tensor(found), right, equal_nan=True)


class Halves(torch.nn.Module):
    def forward(self, x, weight):
        return torch.nn.functional.conv1d(x, weight, padding=1)


def test_convolutions_of_16_bits_are_rounded_once(tmp_path):
    generator = torch.Generator().manual_seed(0)
    x, weight = (
        torch.randn(*shape, generator=generator).half() for shape in ((1, 64, 40), (8, 64, 3))
    )
    methods = {"forward": ps.Method("forward", (x, weight))}
    program = ps.export(Halves(), methods, backend="portable", draws=ps.Draws(count=2))
    (found,) = ps.load(program.save(tmp_path / "a")).session().run("forward", x, weight)
    right = torch.nn.functional.conv1d(x.float(), weight.float(), padding=1).half()
    torch.testing.assert_close(torch.as_tensor(found), right)


class Functions(torch.nn.Module):
    def forward(self, x, y):
        functions = (torch.exp, torch.sqrt, torch.sin, torch.cos, torch.log)
        return [torch.maximum(x, y), torch.minimum(x, y), *(each(x) for each in functions)]


def test_xnnpack_gets_no_operator_that_it_computes_otherwise(tmp_path):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1e30, 3e38, 1e-40, 1e-45, 3e8, -1.0, 2.0])
    args = (x, x.roll(1))
    methods = {"forward": ps.Method("forward", args)}
    program = ps.export(Functions(), methods, backend="xnnpack", draws=ps.Draws(count=2))
    results = ps.load(program.save(tmp_path / "a")).session().run("forward", *args)
    for found, right in zip(results, Functions()(*args), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), right, equal_nan=True)
