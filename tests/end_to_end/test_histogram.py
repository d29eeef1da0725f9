"""A histogram of a stream has the stream's quantiles, to the width of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.support.examples import example

EXAMPLE = example("histogram")
WIDTH = (EXAMPLE.HIGH - EXAMPLE.LOW) / EXAMPLE.BINS


@pytest.mark.parametrize("backend", ["portable", "xnnpack", "aoti"])
def test_quantiles_of_a_stream(backend: str, tmp_path: Path) -> None:
    program = ps.export(*EXAMPLE.program(), backend=backend, draws=ps.Draws(count=4))
    session = ps.load(program.save(tmp_path / "histogram"), trust_code=True).session()
    torch.manual_seed(0)
    stream = 50 + 15 * torch.randn(20_000)
    stream[::500] = 0.25  # a part with many
    for piece in stream.split(4096):
        (count,) = session.run("add", piece)
    assert count == 20_000
    shares = torch.linspace(0.01, 0.99, 50)
    (found,) = session.run("quantiles", shares)
    right = stream.quantile(shares)
    assert (torch.as_tensor(found) - right).abs().max() <= WIDTH * 1.01


def test_an_empty_histogram_and_values_outside(tmp_path: Path) -> None:
    program = ps.export(*EXAMPLE.program(), draws=ps.Draws(count=4))
    session = ps.load(program.save(tmp_path / "histogram")).session()
    eager, _ = EXAMPLE.program()
    shares = torch.tensor([0.0, 0.3, 1.0])
    for values in ([], [-5.0, 1e9, 0.0, 100.0], [float("inf"), 50.0]):
        if values:
            session.run("add", torch.tensor(values))
            eager.add(torch.tensor(values))
        (found,) = session.run("quantiles", shares)
        torch.testing.assert_close(torch.as_tensor(found), eager.quantiles(shares))
