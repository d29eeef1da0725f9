"""Corrections of AOTInductor of torch 2.13.0 that hold while a method is compiled.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch._inductor import lowering
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.codegen.wrapper import PythonWrapperCodegen
from torch._inductor.dependencies import MemoryDep, WeakDep, extract_read_writes
from torch._inductor.fx_passes import reinplace
from torch._inductor.ir import (
    BaseView,
    ExpandView,
    FlexibleLayout,
    IRNode,
    MutationOutput,
    TensorBox,
)
from torch._inductor.scheduler import Scheduler
from torch._inductor.virtualized import V
from torch.fx import Graph, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._ordered_set import OrderedSet
from torch.utils._pytree import tree_leaves
from torch.utils._sympy.functions import Max, Min
from torchgen.aoti.fallback_ops import inductor_fallback_ops

from polystate.export.graph.changes import is_view

aten = torch.ops.aten

# By which libraries call libtorch's dispatcher (src/engine/aoti/dispatcher.h).
DISPATCHER = "polystate_call_dispatcher"

# PyTorch declares no types for these.
_SMALLER: Any = Min
_LARGER: Any = Max


@contextlib.contextmanager
def applied(with_shims: Sequence[torch._ops.OpOverload]) -> Iterator[None]:
    """All corrections, for the length of the block.

    Parameters
    ----------
    with_shims
        Operators of PyTorch that libraries call by functions of ours.
    """
    fusable = _with_every_name(Scheduler.fusable_weak_dep)
    reuse = _of_memory_of_its_own(PythonWrapperCodegen.can_reuse)
    call = _through_the_dispatcher(CppWrapperCpu.generate_fallback_kernel_with_runtime_lookup)
    with (
        mock.patch.object(Scheduler, "fusable_weak_dep", fusable),
        mock.patch.dict(inductor_fallback_ops, {str(each): {} for each in with_shims}),
        mock.patch.object(CppWrapperCpu, "generate_fallback_kernel_with_runtime_lookup", call),
        mock.patch.object(PythonWrapperCodegen, "can_reuse", reuse),
        mock.patch.object(lowering, "mutate_to", _of_known_values(lowering.mutate_to)),
        mock.patch.object(lowering, "index_put_impl_", _of_values_apart(lowering.index_put_impl_)),
        mock.patch.object(
            reinplace,
            "reinplace_inplaceable_ops_core",
            _with_copies_for_later(reinplace.reinplace_inplaceable_ops_core),
        ),
        mock.patch.multiple(
            lowering,
            is_integer_type=_of_constants_too(lowering.is_integer_type),
            is_boolean_type=_of_constants_too(lowering.is_boolean_type),
        ),
        mock.patch.dict(
            lowering.lowerings,
            {
                aten.expand.default: _as_tensor(lowering.lowerings[aten.expand.default]),
                aten.slice.Tensor: _of_any_size(lowering.lowerings[aten.slice.Tensor]),
            },
        ),
        mock.patch.object(IRNode, "get_stack_traces", _no_stack_traces),
    ):
        yield


def _of_constants_too(is_type: Any) -> Any:
    """Tells the type of a constant without dimensions, too.

    It counts as no integer there: 17 divided by -18 and rounded down is 0 then, not -1.
    """

    def of_node(x: Any) -> bool:
        is_bare = isinstance(x, IRNode) and not isinstance(x, TensorBox)
        return bool(is_type(TensorBox(x) if is_bare else x))

    return of_node


def _no_stack_traces(_: IRNode) -> OrderedSet[str]:
    """Keep lines of the user's out of the source of a library that says when its kernels begin.

    It would have them in raw strings, which a line with `)"` ends, and would read them anew before
    each kernel.
    """
    return OrderedSet()


def _through_the_dispatcher(generate: Any) -> Any:
    """Calls operators of PyTorch that have no C form by libtorch's dispatcher.

    AOTInductor would call what it calls a proxy, which there is not. It calls the dispatcher, which
    takes tensors and single numbers, where it does not compile ahead of time.
    """

    def generate_call(
        wrapper: Any, buffer: str, kernel: str, arguments: Any, operator: Any, *rest: Any
    ) -> None:
        if not wrapper._compatible_with_stableivalue(operator):
            generate(wrapper, buffer, kernel, arguments, operator, *rest)
            return
        V.extern_kernel_nodes.pop()  # the proxy's
        write = wrapper.writelines

        def without_device() -> list[str]:
            """AOTInductor writes a device as two arguments; there is one."""
            types = [str(argument.type) for argument in operator._schema.arguments]
            given = zip(arguments(), types, strict=False)
            return ["nullptr" if "Device" in kind else value for value, kind in given]

        def write_with_our_function(lines: Sequence[str]) -> None:
            write([line.replace("aoti_torch_call_dispatcher(", f"{DISPATCHER}(") for line in lines])

        wrapper.include_extra_header("torch/csrc/stable/stableivalue_conversions.h")
        with (
            mock.patch.object(V.graph, "aot_mode", False),
            mock.patch.object(wrapper, "writelines", write_with_our_function),
        ):
            generate(wrapper, buffer, kernel, without_device, operator, *rest)

    return generate_call


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


def _states_below(value: Any) -> Iterator[Node]:
    """The states in whose memory a value may lie, where all is computed in place that can be."""
    if value.op == "placeholder":
        yield value
    elif is_view(value.target):
        yield from _states_below(value.args[0])
    for changed in _changed_by(value):
        yield from _states_below(changed)


def _changed_by(node: Any) -> Sequence[Node]:
    """What an operator changes if it is computed in place."""
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


def _as_tensor(expand: Any) -> Any:
    """Lets an expanded constant be a tensor, as operators behind it take it for one."""

    def expanded(*args: Any, **kwargs: Any) -> Any:
        result = expand(*args, **kwargs)
        return TensorBox(result) if isinstance(result, ExpandView) else result

    return expanded


def _of_any_size(slice_: Any) -> Any:
    """Lets no example decide whether a part such as ``x[:5]`` ends where its dimension does.

    It would have five elements where there are less, and read what lies behind them.
    """

    def slice_of_any_size(
        x: TensorBox, dim: int = 0, start: Any = 0, end: Any = sys.maxsize, *rest: Any, **more: Any
    ) -> Any:
        size = x.get_size()[dim]
        first, last = _place(0 if start is None else start, size), _place(end, size)
        if _is_before(last, first):
            last = _LARGER(first, last)
        return slice_(x, dim, first, last, *rest, **more)

    return slice_of_any_size


def _is_before(last: Any, first: Any) -> bool:
    """Whether a part of a dimension may end before it starts, and hold nothing."""
    if last in (None, sys.maxsize) or first == 0:
        return False
    expressions = [sympy.sympify(each) for each in (first, last)]
    is_known = not set().union(*(each.free_symbols for each in expressions))
    if is_known or free_unbacked_symbols(expressions):
        return False
    return not V.graph.sizevars.statically_known_leq(first, last)


def _place(index: Any, size: Any) -> Any:
    """An index of a slice, within its dimension where the size varies."""
    expressions = [sympy.sympify(each) for each in (index, size) if each is not None]
    symbols = set().union(*(each.free_symbols for each in expressions))
    if index in (None, 0, sys.maxsize) or not symbols or free_unbacked_symbols(expressions):
        return index
    sizes = V.graph.sizevars
    if sizes.statically_known_geq(index, 0):
        return index if sizes.statically_known_leq(index, size) else _SMALLER(index, size)
    if sizes.statically_known_lt(index, 0):
        return index if sizes.statically_known_geq(index, -size) else _LARGER(index + size, 0)
    return index
