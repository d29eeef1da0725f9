"""The user's own graph passes, and how they are run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_base import PassResult

from polystate.errors import ExportError
from polystate.export.diagnosis.explain import explain

Pass = Callable[[torch.fx.GraphModule], Any]


@dataclass(frozen=True)
class Passes:
    """The user's own graph passes.

    They are callables that take a GraphModule, and change it in place and return None, or return a
    GraphModule or a PassResult.
    """

    before_lowering: Sequence[Pass] = ()  # on the functional aten graph
    after_lowering: Sequence[Pass] = ()  # on the edge graph, with its delegates

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return bool(self.before_lowering or self.after_lowering)


def transformed(name: str, program: ExportedProgram, passes: Sequence[Pass]) -> ExportedProgram:
    """Runs passes on a method's functional graph."""
    for user_pass in passes:
        with valid_after_passes(f"method '{name}'"):
            program = program._transform_do_not_use(as_pass(name, user_pass))
    return program


@contextlib.contextmanager
def valid_after_passes(where: str) -> Iterator[None]:
    """Says where a pass left a graph that is none."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ExportError):
            cause = cause.__cause__
        if cause is not None:  # a pass failed, and says so itself
            raise cause from cause.__cause__
        raise ExportError(f"{where}: a pass left an invalid graph: {explain(error)}") from error


def as_pass(name: str, user_pass: Pass) -> Callable[[torch.fx.GraphModule], PassResult]:
    """A pass in the form that ExportedProgram takes; ExportError with its name when it fails."""

    def run(graph_module: torch.fx.GraphModule) -> PassResult:
        try:
            result = user_pass(graph_module)
        except Exception as error:
            label = getattr(user_pass, "__name__", type(user_pass).__name__)
            raise ExportError(
                f"method '{name}': the pass '{label}' failed: {explain(error)}"
            ) from error
        if result is None:
            graph_module.recompile()
            return PassResult(graph_module, True)
        return PassResult(result, True) if isinstance(result, torch.fx.GraphModule) else result

    return run
