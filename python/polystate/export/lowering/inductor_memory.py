"""Corrections of AOTInductor where values share memory; they hold while a method is compiled.

Each says what goes wrong without it. AOTInductor computes what it can in the memory of a value that
is read for the last time, and forgets some of the reads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch._inductor import lowering
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.dependencies import MemoryDep, WeakDep, extract_read_writes
from torch._inductor.fx_passes import reinplace
from torch._inductor.ir import BaseView, FlexibleLayout, MutationOutput, TensorBox
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.fx import Graph, Node
from torch.utils._ordered_set import OrderedSet
from torch.utils._pytree import tree_leaves

from polystate.export.graph.changes import is_view

aten = torch.ops.aten


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """All corrections, for the length of the block."""
    fusable = _with_every_name(Scheduler.fusable_weak_dep)
    loop = _of_copies_of_first_values(CppWrapperCpu.codegen_while_loop)
    reuse = _of_memory_of_its_own(PythonWrapperCodegen.can_reuse)
    in_place = _with_copies_of_parts(reinplace.reinplace_inplaceable_ops_core)
    in_place = _with_copies_for_later(in_place)
    with (
        mock.patch.object(Scheduler, "fusable_weak_dep", fusable),
        mock.patch.object(CppWrapperCpu, "codegen_while_loop", loop),
        mock.patch.object(PythonWrapperCodegen, "can_reuse", reuse),
        mock.patch.object(lowering, "mutate_to", _of_known_values(lowering.mutate_to)),
        mock.patch.object(lowering, "index_put_impl_", _of_values_apart(lowering.index_put_impl_)),
        mock.patch.object(reinplace, "reinplace_inplaceable_ops_core", in_place),
    ):
        yield


def _with_every_name(fusable: Any) -> Any:
    """Looks at every read of the memory that a loop writes before another joins that loop.

    What reads a buffer may join the loop that changes it where both are at the same element.
    Inductor finds the reads by the buffer's first name, and misses all after an earlier change,
    which gave it another: ``line.index_copy_(0, i, v); line[1:] = line[:-1].clone()`` would read
    what the same loop has written.
    """

    def fusable_with_every_name(
        scheduler: Scheduler, dep: WeakDep, reader: Any, writer: Any
    ) -> bool:
        if not fusable(scheduler, dep, reader, writer):
            return False
        names = scheduler.mutation_real_name
        memory = names[dep.mutating_buf]
        (write,) = (w for w in writer.read_writes.writes if w.name == dep.mutating_buf)
        reads = [r for r in reader.read_writes.reads if names.get(r.name, r.name) == memory]
        return all(
            isinstance(read, MemoryDep) and (read.index, read.size) == (write.index, write.size)
            for read in reads
            if not isinstance(read, WeakDep)
        )

    return fusable_with_every_name


def _of_memory_of_its_own(can_reuse: Any) -> Any:
    """Has no result computed in place of what a loop has changed.

    Inductor would allocate that once more, under the name that the loop gave it, which C++ refuses.
    """

    def can_reuse_memory(wrapper: Any, buffer: Any, *rest: Any) -> bool:
        is_changed = isinstance(getattr(buffer, "node", buffer), MutationOutput)
        return not is_changed and can_reuse(wrapper, buffer, *rest)

    return can_reuse_memory


def _of_copies_of_first_values(generate: Any) -> Any:
    """Begins a loop with copies of its first values, as eager calls do.

    A loop that takes no step would return these values' own memory, which may get other values,
    and in which what the loop returns may be changed.
    """

    def generate_loop(wrapper: Any, loop: Any, *rest: Any, **options: Any) -> None:
        write = wrapper.writeline
        # Among them is nothing that the loop changes in place, as a ``scan`` does its results.
        read = [output.get_name() for output in loop.outputs]
        read = [name for name in read if name not in V.graph.removed_buffers]
        ends = tuple(f", &{name}_handle));" for name in read)

        def write_with_copies(line: Any) -> None:
            if isinstance(line, str) and line.endswith(ends):
                line = line.replace("_assign_tensors_out(", "_clone_preserve_strides(")
            write(line)

        with mock.patch.object(wrapper, "writeline", write_with_copies):
            generate(wrapper, loop, *rest, **options)

    return generate_loop


def _of_known_values(mutate_to: Any) -> Any:
    """Computes what a view shows before the view is copied into a buffer.

    Inductor would compute it in the loop that writes the buffer, of which it may read other
    elements: ``table.t().copy_(table.t().flip(1))``, ``line[1:] = line[:-1].clone()``.
    """

    def mutate_to_known(changed: Any, value: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(value, TensorBox) and isinstance(value.data, BaseView):
            value.realize()
            value = _apart_from(changed, value)
        return mutate_to(changed, value, *rest, **options)

    return mutate_to_known


def _of_values_apart(index_put: Any) -> Any:
    """Lets elements be put into a tensor that their values, or indices, are read from.

    Inductor would read them in the loop that writes the tensor: ``v.index_add(0, i, v[:2])``.
    """

    def put(changed: Any, indices: Any, values: Any, *rest: Any, **options: Any) -> Any:
        indices = [None if index is None else _apart_from(changed, index) for index in indices]
        return index_put(changed, indices, _apart_from(changed, values), *rest, **options)

    return put


def _apart_from(changed: TensorBox, value: TensorBox) -> TensorBox:
    """A value in memory of its own where it would be read from what is about to change."""
    changed.realize()
    with mock.patch.object(FlexibleLayout, "allow_indexing", True):
        reads = extract_read_writes(value.make_loader(), value.get_size()).reads
    if changed.get_name() not in {read.name for read in reads}:
        return value
    value = lowering.clone(value)
    value.realize()
    return value


def _with_copies_for_later(reinplace_operators: Any) -> Any:
    """Copies values that are read when the state they are made from has got another value.

    Inductor computes ``new = state.index_copy(0, i, v)`` where the state lies, and lets no read of
    ``new`` prevent it that comes after ``state.copy_(other)``. By then it has taken a copy of the
    program's, ``new.clone()``, for ``new`` itself. Nor does it mind that elements share a place, as
    in ``x.sum(1, keepdim=True).expand(4, 3).index_add(0, i, v)``.
    """

    def reinplace_with_copies(graph: Graph) -> None:
        for node in graph.nodes:
            for value in _changed_by(node):
                if _may_share_places(value):
                    node.replace_input_with(value, _copied_before(node, value))
        copies: list[Any] = [
            node
            for node in graph.find_nodes(op="call_function", target=aten.copy_.default)
            if node.args[0].op == "placeholder"
        ]
        now: dict[Node, Node] = {}  # what each state holds, of those that were copied into
        for reader in (*copies, graph.output_node()):
            read = reader.args[1:] if reader in copies else reader.args
            for value in tree_leaves(read):
                if isinstance(value, Node) and any(
                    now.get(state, value) is not value for state in _states_below(value)
                ):
                    reader.replace_input_with(value, _copied_before(copies[0], value))
            if reader in copies:
                now[reader.args[0]] = reader.args[1]
        reinplace_operators(graph)

    return reinplace_with_copies


def _with_copies_of_parts(reinplace_operators: Any) -> Any:
    """Joins copies of parts that are read, or changed, after an element has changed in place.

    Inductor computes a part where the whole is to lie, and takes them for two values yet: what
    changes one would change the other in ``whole = torch.cat([part, x]); part[i] = v``.
    """

    def reinplace_with_copies(graph: Graph) -> None:
        changed_last = {
            below: node
            for node in graph.nodes
            for value in _changed_by(node)
            for below in _values_below(value)
        }
        for whole in graph.find_nodes(op="call_function", target=aten.cat.default):
            for part in whole.all_input_nodes:
                memory = [whole, *_values_below(part)]
                is_read_elsewhere = len(part.users) > 1 or is_view(part.target)
                if is_read_elsewhere and any(
                    whole < changed_last.get(value, whole) for value in memory
                ):
                    whole.replace_input_with(part, _copied_before(whole, part))
        reinplace_operators(graph)

    return reinplace_with_copies


def _states_below(value: Any) -> list[Node]:
    """The states in whose memory a value may lie."""
    return [below for below in _values_below(value) if below.op == "placeholder"]


def _values_below(value: Any) -> OrderedSet[Node]:
    """A value and those in whose memory it may lie, where all is computed in place that can be."""
    found, left = OrderedSet[Node](), [value]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += [node.args[0]] if is_view(node.target) else _changed_by(node)
    return found


def _changed_by(node: Any) -> list[Any]:
    """The values in whose memory a node may be computed."""
    if node.target in reinplace.inplaceable_ops:
        return [node.args[place] for place in reinplace.inplaceable_ops[node.target].mutated_args]
    if node.target == torch.ops.higher_order.auto_functionalized_v2:
        return list(node.kwargs["_all_bases"])
    return []


def _may_share_places(value: Any) -> bool:
    """Whether it is a view some of whose elements may lie at one place."""
    shared = (aten.as_strided.default, aten.expand.default, aten.unfold.default)
    return is_view(value.target) and (value.target in shared or _may_share_places(value.args[0]))


def _copied_before(node: Node, value: Node) -> Node:
    with node.graph.inserting_before(node):
        copy: Node = reinplace.graph_call_function(node.graph, aten.clone.default, value)
    return copy
