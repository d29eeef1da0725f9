"""A method's graph as PyTorch traced it, run by PyTorch."""

from __future__ import annotations

import copy
from typing import Any

from torch.fx import GraphModule

from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.trace import Traced
from polystate.export.verification.dispatch import Operators, under


class LiveGraph:
    """The graph without what nothing depends on, which programs do not compute."""

    def __init__(self, method: Traced) -> None:
        traced = method.exported.graph_module
        graph = copy.deepcopy(traced.graph)
        graph.eliminate_dead_code()
        self.module = GraphModule(traced, graph)
        self._exported = method.exported

    def run(self, eager: EagerModule, args: Any, kwargs: Any, mode: Operators) -> None:
        """Run it from the state that the module has now, which stays; operators may raise."""
        before = eager.buffers()
        try:
            inputs = self._exported._graph_module_flat_inputs(args, kwargs)
            eager.call(under(mode, self.module), inputs, {})
        finally:
            eager.set_buffers(before)

    def refuses(self, eager: EagerModule, args: Any, kwargs: Any) -> bool:
        """Tell whether some operator raises."""
        try:
            self.run(eager, args, kwargs, Operators())  # type: ignore[no-untyped-call]
        except Exception:  # operators raise anything
            return True
        return False
