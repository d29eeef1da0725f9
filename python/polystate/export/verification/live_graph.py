"""A method's graph as PyTorch traced it, run by PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.fx import GraphModule

from polystate.export.tracing.eager import EagerModule, copied
from polystate.export.tracing.replay import flat_inputs
from polystate.export.tracing.traced import Traced
from polystate.export.verification.undefined import Undefined

_ASSERT_TYPE = torch.ops.aten._assert_tensor_metadata.default


class LiveGraph:
    """The graph without what nothing depends on, which programs do not compute."""

    def __init__(self, method: Traced) -> None:
        traced = method.exported.graph_module
        graph = copy.deepcopy(traced.graph)
        for node in graph.find_nodes(op="call_function", target=_ASSERT_TYPE):
            graph.erase_node(node)  # it would keep what it looks at
        graph.eliminate_dead_code()
        self.module = GraphModule(traced, graph)
        self._exported = method.exported

    def run(self, eager: EagerModule, args: Any, kwargs: Any, mode: Undefined) -> None:
        """Run it from the state that the module has now, which stays; operators may raise."""
        # The buffers by name: a method may have set the module's to other tensors since the trace.
        (args, kwargs), buffers = copied((args, kwargs), eager.buffers())
        with torch.no_grad(), mode:
            self.module(*flat_inputs(self._exported, args, kwargs, buffers))

    def refuses(self, eager: EagerModule, args: Any, kwargs: Any) -> bool:
        """Tell whether some operator raises."""
        try:
            self.run(eager, args, kwargs, Undefined())
        except Exception:  # operators raise anything
            return True
        return False
