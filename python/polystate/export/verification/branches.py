"""Which branches of a method's ``cond`` operators were taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from polystate.export.graph.sources import source_of
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.traced import Traced
from polystate.export.verification.live_graph import LiveGraph
from polystate.export.verification.undefined import Undefined

_COND = torch.ops.higher_order.cond


class Branches:
    """The branches of one method; each is a graph of its own in the method's."""

    def __init__(self, method: Traced) -> None:
        self._graph = LiveGraph(method)
        self._all = dict(_branches(self._graph.module))
        self._taken: set[Any] = set()

    def see(self, eager: EagerModule, args: Any, kwargs: Any) -> None:
        """Find out which ones a call takes, in the state that the module has now."""
        if self.untaken():
            self._graph.run(eager, args, kwargs, _Watch(self._taken))

    def untaken(self) -> list[str]:
        """Where the others are: ``true at model.py:12 in step``."""
        return [where for branch, where in self._all.items() if branch not in self._taken]


class _Watch(Undefined):  # type: ignore[no-untyped-call]
    def __init__(self, taken: set[Any]) -> None:
        super().__init__()
        self._taken = taken

    def entered(self, branch: Any) -> None:
        self._taken.add(branch)


def _branches(graph: GraphModule) -> Iterator[tuple[Any, str]]:
    for node in graph.graph.nodes:
        for number, given in enumerate(node.args):
            if not isinstance(given, Node) or given.op != "get_attr":
                continue
            inner = getattr(graph, str(given.target), None)
            if not isinstance(inner, GraphModule):
                continue
            if node.target is _COND:
                source = source_of([node, *inner.graph.nodes])
                yield inner, f"{(number == 1)} of the cond" + (f" at {source}" if source else "")
            yield from _branches(inner)
