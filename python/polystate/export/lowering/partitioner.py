"""Decides what delegates compute: not with state of their own, nor what is free outside them.

A delegate gets state as an input and never owns it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from polystate.export.lowering.acyclic_delegates import TAG, split_cyclic_delegates
from polystate.export.lowering.xnnpack_limits import limited_configs

_COPIES = {
    exir_ops.edge.aten.clone.default,
    exir_ops.edge.dim_order_ops._clone_dim_order.default,
}


def xnnpack_partitioner() -> XnnpackPartitioner:
    """Of all operators that XNNPACK computes as PyTorch does, for numbers of usual size."""
    return XnnpackPartitioner(limited_configs())


class StateSafePartitioner(Partitioner):
    """Shows another partitioner every state buffer as if it were an input of the method.

    A partitioner takes a buffer that is the weight of a linear for a constant, and bakes its value
    at export into the delegate; an input it must leave outside.

    Parameters
    ----------
    inner
        The partitioner that decides.
    state
        Fully qualified names of the buffers that some method mutates.
    """

    def __init__(self, inner: Partitioner, state: frozenset[str]) -> None:
        super().__init__()
        self._inner = inner
        self._state = state
        self.delegation_spec = getattr(inner, "delegation_spec", None)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """The inner partitioner's operators, save where state would be their weight."""
        operators, supports = self._inner.ops_to_not_decompose(ep)
        if supports is None:
            return operators, None

        def supports_without_state(node: torch.fx.Node) -> bool:
            with self._state_as_inputs(ep):
                return bool(supports(node))

        return operators, supports_without_state

    def transform_for_pre_decomposition(self, ep: ExportedProgram) -> ExportedProgram:
        """The program as the inner partitioner wants it before it is decomposed."""
        program: ExportedProgram = self._inner.transform_for_pre_decomposition(ep)
        return program

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """The inner partitioner's partition of the program without its state."""
        with self._state_as_inputs(exported_program), _not_asked_who_calls():
            result = self._inner.partition(exported_program)
        nodes = list(result.tagged_exported_program.graph.nodes)
        while True:
            _leave_outer_views_outside(nodes)
            _leave_final_copies_outside(nodes)
            splits = split_cyclic_delegates(nodes)
            for tag, whole in splits.items():
                result.partition_tags[tag] = result.partition_tags[whole]
            if not splits:
                break
        used = {node.meta.get(TAG) for node in nodes}
        for tag in [tag for tag in result.partition_tags if tag not in used]:
            del result.partition_tags[tag]
        return result

    @contextlib.contextmanager
    def _state_as_inputs(self, ep: ExportedProgram) -> Iterator[None]:
        disguised = [
            (spec, spec.target, spec.persistent)
            for spec in ep.graph_signature.input_specs
            if spec.kind == InputKind.BUFFER and spec.target in self._state
        ]
        for spec, _, _ in disguised:
            spec.kind, spec.target, spec.persistent = InputKind.USER_INPUT, None, None
        try:
            yield
        finally:
            for spec, target, persistent in disguised:
                spec.kind, spec.target, spec.persistent = InputKind.BUFFER, target, persistent


@contextlib.contextmanager
def _not_asked_who_calls() -> Iterator[None]:
    """Spares XNNPACK's partitioner the whole stack, by which it warns of a deprecated caller."""
    with mock.patch.object(XnnpackPartitioner, "_check_if_called_from_to_backend", lambda _: False):
        yield


def _leave_final_copies_outside(nodes: list[torch.fx.Node]) -> None:
    """Takes copies that leave a delegate out of it, where what they copy leaves it too.

    A delegate drops the copy, and then has one value twice: XNNPACK refuses this as an output that
    is an input, and a copy that the user asked for must not share memory.
    """
    for node in reversed(nodes):
        tag = node.meta.get(TAG)
        if tag is None or node.target not in _COPIES:
            continue
        (source,) = node.all_input_nodes
        only_copy = source.meta.get(TAG) == tag and len(source.users) == 1
        if not only_copy and any(user.meta.get(TAG) != tag for user in node.users):
            del node.meta[TAG]


def _leave_outer_views_outside(nodes: list[torch.fx.Node]) -> None:
    """Takes views of what enters or leaves a delegate out of it: it would copy them."""
    views = [node for node in nodes if node.target == exir_ops.edge.aten.view_copy.default]
    for node in views:
        (source,) = node.all_input_nodes[:1]
        if source.meta.get(TAG) != node.meta.get(TAG):
            node.meta.pop(TAG, None)
    for node in reversed(views):
        if all(user.meta.get(TAG) != node.meta.get(TAG) for user in node.users):
            node.meta.pop(TAG, None)
