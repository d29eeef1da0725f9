"""Complex numbers inside of a method: rotations, arithmetic, polar forms."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("turned", torch.zeros(4, 6))

    def rotate(self, x, positions):
        """As models do that write their rotary embeddings with complex numbers."""
        angles = positions[:, None].float() * torch.tensor([1.0, 0.1, 0.01])
        turns = torch.polar(torch.ones_like(angles), angles) * 1.5
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns.unsqueeze(1).to(pairs.device)).flatten(2).type_as(x)

    def arithmetic(self, x, y):
        z, w = torch.complex(x, y), torch.complex(y, 1 + x * x)
        results = [z + w, 2 - z, z * w, z / w, -z / 3, 1 / w, z * 1j, z.conj() - y, (z / 9).exp()]
        joined = torch.cat(results, 0)
        self.turned.copy_(joined[:4].imag)
        return joined.real, joined.imag, z.abs(), (z * w).angle(), torch.view_as_real(z[1:].flip(0))

    def functions(self, x, y):
        """Of what other classes of functions are made of."""
        z = torch.exp(1j * x) * y
        z[0] = z[1].sqrt() - torch.log(z[2])
        z += torch.tensor(0.5 - 1j)
        whole = torch.where(x > 0, z.tanh() ** 3, z.conj() / torch.linalg.vector_norm(z))
        return (
            whole.real,
            whole.imag,
            z.var(0),
            z.cumprod(1).abs(),
            z.sgn().sum().real,
            z == z.conj(),
        )

    def products(self, x, y):
        z = torch.complex(x, y)
        squares = torch.matmul(z.t(), z)
        return torch.view_as_real(squares), torch.stack([z, z.conj()], 1).real


@every_backend
def test_complex_numbers_equal_pytorchs(tmp_path, backend):
    def near_positions(generator, args, kwargs):
        return (args[0], torch.randint(99, (3,), generator=generator)), kwargs

    x, y = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    rotated = (torch.randn(3, 2, 6), torch.tensor([0, 5, 2]))
    methods = {
        "rotate": ps.Method("rotate", rotated, draw=near_positions),
        "arithmetic": ps.Method("arithmetic", (x, y)),
        "functions": ps.Method("functions", (x, y)),
        "products": ps.Method(
            "products",
            (x, y),
            dynamic_shapes=({0: Dim("n", min=1, max=8)}, {0: Dim("n", min=1, max=8)}),
        ),
    }
    twins = Twins(Complex(), methods, tmp_path, backend)
    twins.call("rotate", -rotated[0], torch.tensor([7, 0, 98]))
    twins.call("arithmetic", y, 3 * x)
    twins.call("functions", 2 * y, x)
    for size in (1, 2, 8):
        twins.call(
            "products", *torch.randn(2, size, 6, generator=torch.Generator().manual_seed(size))
        )


class Unknown(nn.Module):
    def forward(self, x):
        return torch.complex(x, x).cov().real


def test_what_is_not_written_by_parts_is_refused_by_its_name():
    methods = {"forward": ps.Method("forward", (torch.randn(3),))}
    with pytest.raises(ps.ExportError, match=r"has not learned 'cov' of them.*cov\(\)\.real"):
        ps.export(Unknown(), methods, backend="portable")
