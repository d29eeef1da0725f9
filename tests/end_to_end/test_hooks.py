"""A method runs the hooks that it runs in eager PyTorch, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import every_backend
from tests.support.exported_models import exported

pytestmark = every_backend


class Doubling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1

    def raw(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2

    def both(self, x: Tensor) -> Tensor:
        result: Tensor = self(x) * 3
        return result


class Halving(Doubling):
    def __call__(self, x: Tensor) -> Any:
        return super().__call__(x) / 2


X = torch.tensor([-3.0, 0.25, 5.0])


def compare(model: nn.Module, folder: Path, backend: str) -> None:
    """Of the targets only "forward" is the call of the module."""
    methods = {name: ps.Method(name, (torch.zeros(3),)) for name in ("forward", "raw", "both")}
    session = ps.load(
        exported(model, methods, backend).save(folder / "artifact"), trust_code=True
    ).session()
    with torch.no_grad():
        expected = {"forward": model(X), "raw": model.raw(X), "both": model.both(X)}
    for name, value in expected.items():
        torch.testing.assert_close(session.run(name, X)[0], value)


def test_hooks_of_the_root_belong_to_its_call(tmp_path: Path, backend: str) -> None:
    model = Doubling()
    model.register_forward_hook(lambda module, args, out: out.clamp(-1, 1))
    model.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    model.register_forward_hook(
        lambda module, args, kwargs, out: out + 0.5, with_kwargs=True, always_call=True
    )
    compare(model, tmp_path, backend)
    assert len(model._forward_hooks) == 2


def test_a_call_of_the_class_s_own_belongs_to_its_call(tmp_path: Path, backend: str) -> None:
    model = Halving()
    compare(model, tmp_path, backend)
    assert type(model) is Halving


@pytest.fixture
def of_all_modules() -> Iterator[None]:
    hooks = [
        nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 3),
        nn.modules.module.register_module_forward_pre_hook(lambda module, args: (args[0] - 1,)),
    ]
    yield
    for hook in hooks:
        hook.remove()


@pytest.mark.usefixtures("of_all_modules")
def test_hooks_of_all_modules_run_for_those_that_are_called(tmp_path: Path, backend: str) -> None:
    compare(Doubling(), tmp_path, backend)


def test_hooks_of_submodules_run_in_every_method(tmp_path: Path, backend: str) -> None:
    model = Doubling()
    model.inner.register_forward_hook(lambda module, args, out: out - 7)
    compare(model, tmp_path, backend)
