"""Functions of matrices inside of a method equal PyTorch's, and fail where it raises."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3, 3))

    def systems(self, x, b):
        definite = x @ x.mT + torch.eye(3)
        self.sum.add_(definite)
        return (
            torch.linalg.inv(definite),
            torch.linalg.solve(definite, b),
            torch.linalg.det(x),
            torch.linalg.cholesky(definite),
            torch.logdet(definite),
            torch.linalg.lu_factor(definite).LU.mT.reshape(-1),
        )

    def spectra(self, x):
        values, vectors = torch.linalg.eigh(x @ x.mT + torch.diag(torch.tensor([1.0, 4.0, 9.0])))
        left, sizes, right = torch.linalg.svd(x)
        q, r = torch.linalg.qr(x)
        return (
            vectors @ torch.diag(values) @ vectors.mT,
            left @ torch.diag(sizes) @ right,
            vectors.mT.reshape(-1).abs(),  # the signs are a convention
            q @ r,
            torch.linalg.matrix_exp(0.1 * x),
            torch.linalg.pinv(x),
        )

    def inverse(self, x):
        self.sum.add_(x)
        return torch.linalg.inv(x)


@every_backend
def test_functions_of_matrices_equal_pytorchs(tmp_path, backend):
    chance = torch.Generator().manual_seed(0)
    x, b = torch.randn(3, 3, generator=chance), torch.randn(3, 2, generator=chance)
    methods = {
        "systems": ps.Method("systems", (x, b)),
        "spectra": ps.Method("spectra", (x,)),
    }
    twins = Twins(Matrices(), methods, tmp_path, backend, draws=ps.Draws(count=4))
    twins.call("systems", 2 * x, b)
    twins.call("spectra", x + torch.eye(3))


def test_a_singular_matrix_is_refused_and_leaves_the_state(tmp_path):
    methods = {"inverse": ps.Method("inverse", (torch.eye(3),))}
    program = ps.export(Matrices(), methods, draws=ps.Draws(count=2))
    session = ps.load(program.save(tmp_path / "artifact")).session()
    with pytest.raises(ps.ContractError, match="singular"):
        session.run("inverse", torch.ones(3, 3))
    assert not torch.as_tensor(session.state["sum"]).any()
