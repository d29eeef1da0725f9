"""Pools of pages that are larger in the program than in the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import polystate as ps


class Pools(nn.Module):
    """Pages of keys and values, which one method copies and another one reads."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("keys", torch.full((4, 1, 2, 16), value))
        self.register_buffer("values", torch.full((4, 1, 16, 2), value))

    def copy(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        torch.ops.polystate.copy_pages(self.keys, self.values, source, target)
        return source + target

    def total(self) -> torch.Tensor:
        return self.keys.sum()


def drawn(generator: torch.Generator, args: Any, kwargs: Any) -> Any:
    """Pages that the module has."""
    source, target = torch.randperm(4, generator=generator)[:2].split(1)
    return (source, target), kwargs


def exported(model: nn.Module, pages: dict[str, int], *others: str) -> ps.Program:
    copy = ps.Method("copy", (torch.tensor([0]), torch.tensor([1])), draw=drawn)
    methods = {"copy": copy} | {name: ps.Method(name) for name in others}
    return ps.export(model, methods, backend="portable", pages=pages)


def test_a_program_has_the_pages_that_it_is_given(tmp_path):
    model = Pools()
    program = exported(model, {"keys": 100, "values": 100})
    assert len(model.keys) == 4
    session = ps.load(program.save(tmp_path / "artifact")).session()
    keys = np.random.default_rng(0).random((100, 1, 2, 16), np.float32)
    session.state["keys"] = keys
    session.run("copy", torch.tensor([7]), torch.tensor([99]))
    keys[99] = keys[7]
    assert np.array_equal(np.asarray(session.state["keys"]), keys)
    with pytest.raises(ps.ContractError, match="value 100 is above 99"):
        session.run("copy", torch.tensor([100]), torch.tensor([0]))


def test_what_depends_on_the_number_of_pages_is_refused():
    with pytest.raises(ps.ExportError, match="uses a pool, and may depend on its number of pages"):
        exported(Pools(), {"keys": 100, "values": 100}, "total")


@pytest.mark.parametrize(
    ("model", "pages", "told"),
    [
        (Pools(), {"kes": 100}, "'kes', which is no state that a method changes"),
        (Pools(), {"keys": 3}, "pages of 'keys' is 3; the module has 4 already"),
        (Pools(1.0), {"keys": 100}, "the pool 'keys' is not zero"),
    ],
)
def test_pages_that_a_pool_cannot_have_are_refused(model, pages, told):
    with pytest.raises(ps.ContractError, match=told):
        exported(model, pages)
