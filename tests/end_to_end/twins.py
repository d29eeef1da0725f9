"""A module and its exported form, called side by side."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import polystate as ps
from tests.support.exported_models import exported

BACKENDS = ["portable", "xnnpack"]
ENGINES = [*BACKENDS, "aoti"]


def changed_buffers(initial: torch.nn.Module, module: torch.nn.Module) -> set[str]:
    """The names of buffers that have other values than in another copy of a module."""
    before = dict(initial.named_buffers())
    return {
        name
        for name, buffer in module.named_buffers()
        if name not in before or not _is_same(before[name], buffer)
    }


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(((a == b) | ((a != a) & (b != b))).all())


class Twins:
    """Calls methods on the module in eager PyTorch and on a session, and compares all of it.

    Parameters
    ----------
    model
        Is not changed: the eager twin is a copy.
    methods
        As for ``ps.export``; targets must be names of methods.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        methods: Mapping[str, ps.Method],
        directory: Path,
        backend: str = "portable",
        **options: Any,
    ) -> None:
        self.initial = model
        self.methods = dict(methods)
        self.program = exported(model, methods, backend, **options)
        self.path = self.program.save(directory / "artifact")
        self.model = ps.load(self.path, trust_code=True)
        self.tolerance = {"rtol": 1e-4, "atol": 1e-5}
        self.start()

    def start(self) -> None:
        """Begins anew: a new session, and the module as it was exported."""
        self.eager = copy.deepcopy(self.initial)
        self.session = self.model.session()

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """Calls one method on both; compares outputs, mutated inputs and all state.

        Returns the session's outputs.
        """
        theirs_args, theirs_kwargs = copy.deepcopy((args, kwargs))
        with torch.no_grad():
            method = getattr(self.eager, str(self.methods[name].target))
            expected = method(*theirs_args, **theirs_kwargs)
        flat_args, _ = torch.utils._pytree.tree_flatten((args, kwargs))
        found = self.session.run(name, *[a for a in flat_args if isinstance(a, torch.Tensor)])
        leaves = [x for x in torch.utils._pytree.tree_leaves(expected) if x is not None]
        self._equal(found, leaves, f"{name} returns")
        self._equal(
            [a for a in flat_args if isinstance(a, torch.Tensor)],
            [
                a
                for a in torch.utils._pytree.tree_leaves((theirs_args, theirs_kwargs))
                if isinstance(a, torch.Tensor)
            ],
            f"{name} leaves its inputs as",
        )
        self.compare_state()
        return found

    def compare_state(self) -> None:
        """Compares every state with the buffer of its name; no other buffer has changed."""
        buffers = dict(self.eager.named_buffers())
        for name in self.session.state:
            self._equal([self.session.state[name]], [buffers[name]], f"state '{name}'")
        others = changed_buffers(self.initial, self.eager) - set(self.session.state)
        assert not others, f"the module has changed {sorted(others)}, which are no state"

    def _equal(self, found: Any, expected: Any, what: str) -> None:
        assert len(found) == len(expected), what
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(
                a, b, **self.tolerance, equal_nan=True, msg=lambda m: f"{what}: {m}"
            )


# For what AOTInductor alone gets wrong.
aoti_first = pytest.mark.parametrize(
    "backend",
    ["aoti", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in BACKENDS)],
)

# Every case is exported anew, which takes seconds: on the default backend, and on all in
# `make test-all`. test_differential.py samples "portable", test_aoti.py "aoti".
every_backend = pytest.mark.parametrize(
    "backend",
    [
        "xnnpack",
        pytest.param("portable", marks=pytest.mark.exhaustive),
        pytest.param("aoti", marks=pytest.mark.exhaustive),
    ],
)
