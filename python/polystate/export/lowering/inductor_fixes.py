"""Corrections of AOTInductor of torch 2.13.0 that hold while a method is compiled.

Each says what goes wrong without it.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import sympy  # type: ignore[import-untyped]
import torch
from torch import Tensor
from torch._decomp import decompositions
from torch._inductor import compile_fx, decomposition, graph, lowering
from torch._inductor.codegen.common import KernelArgs
from torch._inductor.codegen.cpp import CppVecOverrides
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.dtype_propagation import DtypePropagationOpsHandler
from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder
from torch._inductor.ir import ExpandView, IRNode, TensorBox
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._ordered_set import OrderedSet
from torch.utils._sympy.functions import Max, Min
from torchgen.aoti.fallback_ops import inductor_fallback_ops

from polystate.export.lowering import inductor_histograms, inductor_memory
from polystate.export.lowering.inductor_upsampling import (
    cubic,
    of_filtered_elements,
    of_weighted_neighbours,
    triangle,
)
from polystate.export.tracing.decompositions.precision import in_single

aten = torch.ops.aten

# By which libraries call libtorch's dispatcher (src/engine/aoti/dispatcher.h).
DISPATCHER = "polystate_call_dispatcher"

# PyTorch declares no types for these.
_SMALLER: Any = Min
_LARGER: Any = Max

_POOLS = (
    aten.adaptive_max_pool2d.default,
    aten.max_pool2d_with_indices.default,
    aten.max_pool3d_with_indices.default,
)

_ADAPTIVE_POOLS = (aten._adaptive_avg_pool2d.default, aten.adaptive_max_pool2d.default)

# PyTorch's kernels compute the recurrences of these polynomials with fused products, which
# AOTInductor rounds: results of high degrees would exceed the tolerance.
_POLYNOMIALS = (
    aten.special_hermite_polynomial_h,
    aten.special_hermite_polynomial_he,
    aten.special_laguerre_polynomial_l,
)


@contextlib.contextmanager
def applied(with_shims: Sequence[torch._ops.OpOverload]) -> Iterator[None]:
    """All corrections, for the length of the block.

    Parameters
    ----------
    with_shims
        Operators of PyTorch that libraries call by functions of ours.
    """
    upsample_linear = of_weighted_neighbours(decompositions._upsample_linear)
    pools = {pool: _with_places_of_nan(pool) for pool in _POOLS}
    call = _through_the_dispatcher(CppWrapperCpu.generate_fallback_kernel_with_runtime_lookup)
    with (
        inductor_memory.applied(),
        mock.patch.dict(inductor_fallback_ops, {str(each): {} for each in with_shims}),
        mock.patch.object(CppWrapperCpu, "generate_fallback_kernel_with_runtime_lookup", call),
        mock.patch.multiple(
            lowering,
            is_integer_type=_of_constants_too(lowering.is_integer_type),
            is_boolean_type=_of_constants_too(lowering.is_boolean_type),
            use_two_step_variance=_of_nothing_too(lowering.use_two_step_variance),
        ),
        mock.patch.object(compile_fx, "select_decomp_table", _decompositions),
        mock.patch.object(decompositions, "_upsample_linear", upsample_linear),
        mock.patch.dict(
            lowering.lowerings,
            {
                aten.expand.default: _as_tensor(lowering.lowerings[aten.expand.default]),
                aten.select_scatter.default: _of_number_too(
                    lowering.lowerings[aten.select_scatter.default]
                ),
                aten.slice.Tensor: _of_any_size(lowering.lowerings[aten.slice.Tensor]),
                **pools,
                **{pool: _of_any_windows(pool, pools) for pool in _ADAPTIVE_POOLS},
                **{each.default: _by_kernel(each.default) for each in _POLYNOMIALS},
            },
        ),
        mock.patch.object(graph, "make_fallback", _allowed_in_ci(lowering.make_fallback)),
        mock.patch.object(
            UniformValueConstantFolder, "_add_peephole_patterns", _without_products_by_zero
        ),
        mock.patch.object(IRNode, "get_stack_traces", _no_stack_traces),
        mock.patch.object(CppVecOverrides, "remainder", staticmethod(_exact_remainder())),
        mock.patch.object(CppVecOverrides, "acosh", staticmethod(_acosh_of_all)),
        mock.patch.object(KernelArgs, "cpp_argdefs", _numbers_in_64_bits(KernelArgs.cpp_argdefs)),
        # Its table of types of results is filled once: AOTInductor fills it before each operator
        # that it writes, for up to a quarter of a large method's export.
        mock.patch.object(
            DtypePropagationOpsHandler,
            "__init__",
            functools.cache(DtypePropagationOpsHandler.__init__),
        ),
    ):
        yield


def _allowed_in_ci(make_fallback: Any) -> Any:
    """Calls kernels of operators that are kept whole, although they have a decomposition.

    Where the environment has `CI`, AOTInductor refuses these.
    """
    return functools.partial(make_fallback, warn=False)


def _decompositions() -> dict[Any, Any]:
    """AOTInductor's table, without pools and samples of grids, and with operators that it lacks.

    A sample of a grid at NaN is 0, of which the decomposition makes NaN. Pools are lowered here.
    For `index_add`, histograms and images without aliasing AOTInductor would call kernels of which
    libtorch has no C function.
    """
    kept = {*_POOLS, aten.grid_sampler_2d.default}
    table = decomposition.select_decomp_table()
    others = {each: write for each, write in table.items() if each not in kept}
    return {
        **others,
        **{each: _rounded_once(table[each]) for each in (aten.lerp.Scalar, aten.lerp.Tensor)},
        **{each.n_scalar: _of_degree(each.default) for each in _POLYNOMIALS},
        **{each.x_scalar: _at_number(each.default) for each in _POLYNOMIALS},
        aten.index_add.default: decompositions.index_add,
        aten._histogramdd_from_bin_tensors.default: inductor_histograms.of_edges,
        aten._upsample_bilinear2d_aa.default: of_filtered_elements(triangle, reach=1),
        aten._upsample_bicubic2d_aa.default: of_filtered_elements(cubic, reach=2),
    }


def _rounded_once(decompose: Any) -> Any:
    """Computes 16-bit floats in float32, as PyTorch's kernels do; each step would be rounded."""

    def decomposed(x: Tensor, *operands: Any) -> Any:
        wide = [
            in_single(each.to(x.dtype)) if isinstance(each, Tensor) else each for each in operands
        ]
        return decompose(in_single(x), *wide).to(x.dtype)

    return decomposed


def _of_degree(polynomial: torch._ops.OpOverload) -> Any:
    """Passes the number that is the degree as a tensor."""
    return lambda x, degree: polynomial(x, _as_operand(degree, x))


def _at_number(polynomial: torch._ops.OpOverload) -> Any:
    """Passes the number that polynomials are computed at as a tensor."""
    return lambda x, degree: polynomial(_as_operand(x, degree), degree)


def _as_operand(number: Any, other: Tensor) -> Tensor:
    return torch.full((), number, dtype=torch.result_type(other, number), device=other.device)


def _by_kernel(operator: torch._ops.OpOverload) -> Any:
    """Calls PyTorch's kernel."""
    return lowering.fallback_handler(operator, add_to_fallback_set=False)  # type: ignore[no-untyped-call]


def _with_places_of_nan(pool: torch._ops.OpOverload) -> Any:
    """Lets PyTorch's kernel find the places of the largest elements, where a program asks for them.

    NaN is the largest, whose place AOTInductor does not keep.
    """
    lower, by_kernel = lowering.lowerings[pool], _by_kernel(pool)

    def lowered(*args: Any, **kwargs: Any) -> Any:
        uses = V.graph.current_node.users
        asks = any(use.target != operator.getitem or use.args[1] == 1 for use in uses)
        return (by_kernel if asks else lower)(*args, **kwargs)

    return lowered


def _of_any_windows(pool: torch._ops.OpOverload, corrected: Mapping[Any, Any]) -> Any:
    """Lets PyTorch's kernel compute a pool whose windows depend on a size that varies.

    AOTInductor would take the windows of the example's sizes for those of all.
    """
    lower, by_kernel = corrected.get(pool, lowering.lowerings[pool]), _by_kernel(pool)

    def lowered(x: Any, *rest: Any) -> Any:
        is_known = all(isinstance(size, int | sympy.Integer) for size in x.get_size()[-2:])
        return (lower if is_known else by_kernel)(x, *rest)

    return lowered


def _numbers_in_64_bits(declared: Any) -> Any:
    """Gives loops numbers that were read from tensors as they are, which would be float32."""

    def in_64_bits(arguments: KernelArgs, *rest: Any) -> Any:
        names, called, types = declared(arguments, *rest)
        return (
            [re.sub(r"^const float (?=\w)", "const double ", each) for each in names],
            called,
            ["const double" if each == "const float" else each for each in types],
        )

    return in_64_bits


def _of_nothing_too(is_by_two_steps: Any) -> Any:
    """Divides sums of no elements: their mean is NaN, which would be 0."""

    def of_nothing(x: Any, axis: Any, *rest: Any, **more: Any) -> bool:
        sizes = x.get_size()
        reduced = lowering._validate_reduction_axis(x, axis)  # type: ignore[no-untyped-call]
        return any(sizes[dim] == 0 for dim in reduced) or is_by_two_steps(x, axis, *rest, **more)

    return of_nothing


def _without_products_by_zero(_: UniformValueConstantFolder) -> None:
    """Keeps ``x * 0``, which AOTInductor takes for 0: of infinities and NaN it is NaN."""


def _exact_remainder() -> Any:
    """Writes the remainders of several floats as PyTorch computes them, without a rounding error.

    AOTInductor subtracts a product, which is rounded: 5 % 1e-4 has three right digits then.
    """
    of_integers: Any = CppVecOverrides.remainder

    def remainder(a: Any, b: Any) -> Any:
        if not a.dtype.is_floating_point:
            return of_integers(a, b)
        return (
            "([](const auto& x, const auto& y) { const auto r = x.fmod(y); "
            "const auto zero = decltype(x * y)(0); "
            "return decltype(x * y)::blendv(r, r + y, (r != zero) & ((y < zero) ^ (r < zero))); "
            f"}})({a}, {b})"
        )

    return remainder


def _acosh_of_all(x: Any) -> str:
    """Writes the inverse hyperbolic cosines of several floats, of large ones by their logarithm.

    That of Sleef is infinite above the root of the largest float.
    """
    return (
        "([](const auto& x) { using Floats = decltype(x + x); "
        "const auto doubled = x.log() + Floats(0.6931471805599453); "
        f"return Floats::blendv(x.acosh(), doubled, x > Floats(0x1p28)); }})({x})"
    )


def _of_constants_too(is_type: Any) -> Any:
    """Tells the type of a constant without dimensions, too.

    It counts as no integer there: 17 divided by -18 and rounded down is 0 then, not -1.
    """
    return lambda x: bool(is_type(_as_box(x)))


def _as_box(x: Any) -> Any:
    """A constant without dimensions in the box that other tensors have; anything else as it is."""
    is_bare = isinstance(x, IRNode) and not isinstance(x, TensorBox)
    return TensorBox(x) if is_bare else x


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


def _as_tensor(expand: Any) -> Any:
    """Lets an expanded constant be a tensor, as operators behind it take it for one."""

    def expanded(*args: Any, **kwargs: Any) -> Any:
        result = expand(*args, **kwargs)
        return TensorBox(result) if isinstance(result, ExpandView) else result

    return expanded


def _of_number_too(scatter: Any) -> Any:
    """Lets what is scattered be a constant without dimensions, which would have no view."""
    return lambda x, source, *rest, **more: scatter(x, _as_box(source), *rest, **more)


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
