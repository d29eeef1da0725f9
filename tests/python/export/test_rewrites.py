"""The list of passes says what their modules say, and each is applied once to each program."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
import torch

from polystate.errors import ExportError
from polystate.export.lowering import rewrites
from polystate.export.lowering.rewrites import REWRITES, Form, Keeps, Rewrite, rewrite_program


class Norm(torch.nn.Module):
    """A program with a layer norm and a power."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.nn.functional.layer_norm(x, (4,)), n**3


def exported() -> torch.export.ExportedProgram:
    return torch.export.export(Norm(), (torch.ones(2, 4), torch.ones(3, dtype=torch.int64)))


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.run.__name__)
def test_a_pass_is_listed_as_its_module_says(rewrite: Rewrite) -> None:
    module = inspect.getmodule(rewrite.run)
    assert module is not None
    text = re.sub(r"\s+", " ", str(module.__doc__))
    assert f"Needs {rewrite.needs.value}." in text
    assert f"Keeps {rewrite.keeps.value}" in text
    assert (", to rounding" in text) == (rewrite.keeps == Keeps.ROUNDED_VALUES)


@pytest.mark.parametrize("backend", ["portable", "xnnpack", "aoti"])
def test_a_backend_s_passes_run_once_each_and_in_order(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def recorded(rewrite: Rewrite) -> Rewrite:
        def run(*arguments: Any) -> None:
            runs.append(rewrite.run.__name__)
            rewrite.run(*arguments)

        return Rewrite(run, rewrite.needs, rewrite.keeps, rewrite.backends, rewrite.takes_state)

    monkeypatch.setattr(rewrites, "REWRITES", tuple(recorded(each) for each in REWRITES))
    program = exported()
    rewrite_program("norm", program, Form.FUNCTIONAL, backend, frozenset())
    expected = [r for r in REWRITES if r.needs == Form.FUNCTIONAL and backend in r.backends]
    assert runs == [rewrite.run.__name__ for rewrite in expected]
    inputs = (torch.randn(2, 4), torch.tensor([-2, 0, 7]))
    torch.testing.assert_close(program.module()(*inputs), Norm()(*inputs))


def test_the_pass_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(program: torch.export.ExportedProgram) -> None:
        raise ValueError("no such graph")

    monkeypatch.setattr(rewrites, "REWRITES", (Rewrite(fail, Form.FUNCTIONAL),))
    with pytest.raises(ExportError, match=r"method 'norm' for portable failed in fail.*no such"):
        rewrite_program("norm", exported(), Form.FUNCTIONAL, "portable", frozenset())
