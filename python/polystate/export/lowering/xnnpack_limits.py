"""Says which nodes XNNPACK computes as PyTorch does, for numbers of usual size.

Its own partitioner takes others, too: the results differ, or the runtime refuses the program.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS
from executorch.backends.xnnpack.partition.config.gemm_configs import (
    AddmmConfig,
    ConvolutionConfig,
)
from executorch.backends.xnnpack.partition.config.generic_node_configs import (
    AddConfig,
    AvgPoolingConfig,
    ClampConfig,
    CosConfig,
    ExpConfig,
    HardtanhConfig,
    LogConfig,
    MaximumConfig,
    MaxPool2dConfig,
    MinimumConfig,
    NegConfig,
    PermuteConfig,
    ReLUConfig,
    SinConfig,
    SliceCopyConfig,
    SoftmaxConfig,
    SquareRootConfig,
    SubConfig,
    UnsqueezeCopyConfig,
    UpsampleBilinear2dConfig,
    ViewCopyConfig,
)
from executorch.backends.xnnpack.partition.config.node_configs import (
    BatchNormConfig,
    MaxDimConfig,
    PreluConfig,
)
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram
from torch.fx import Node

from polystate.export.graph.sizes import may_be_empty

_Limit = Callable[[Node], bool]

# XNNPACK's are wrong for some numbers, without a bound: NaN that is hidden, infinities that become
# NaN, sines of large numbers, the sign of -0 (docs/engines.md). All are seldom where a network
# spends its time.
_COMPUTED_OTHERWISE = {
    CosConfig,
    ExpConfig,
    LogConfig,
    MaxDimConfig,
    MaximumConfig,
    MinimumConfig,
    NegConfig,
    SinConfig,
    SquareRootConfig,
}

# The rank of tensors that XNNPACK lays out with their channels last, and the highest of any
# (XNN_MAX_TENSOR_DIMS).
_RANK_OF_IMAGES = 4
_HIGHEST_RANK = 6


def limited_configs() -> list[Any]:
    """XNNPACK's configs, one for each operator, which take those nodes alone."""
    configs = [each for each in ALL_PARTITIONER_CONFIGS if each not in _COMPUTED_OTHERWISE]
    return [_limited(each, (*_LIMITS.get(each, ()), *_LIMITS_OF_ALL)) for each in configs]


def _limited(config: Any, limits: Sequence[_Limit]) -> Any:
    """A config that takes those nodes alone, of its own, that are within all limits."""

    class Limited(config):
        def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
            is_within = all(limit(node) for limit in limits)
            return is_within and bool(super().check_constraints(node, ep))

        def get_node_and_deps(self, node: Node, ep: ExportedProgram) -> list[Node]:
            # An activation behind a product is taken with it, and not asked for its own limits.
            taken: list[Node] = super().get_node_and_deps(node, ep)
            return [each for each in taken if each.target not in _BOUNDS or _leaves_a_range(each)]

    return Limited


def _is_of_images(node: Node) -> bool:
    """XNNPACK's pass that moves channels refuses others."""
    x = node.args[0]
    return isinstance(x, Node) and bool(x.meta["val"].dim() == _RANK_OF_IMAGES)


def _has_a_window(node: Node) -> bool:
    """Whether a pool is over more than one element; the runtime refuses others."""
    kernel: Any = node.args[1]
    return any(size != 1 for size in ([kernel] if isinstance(kernel, int) else kernel))


def _is_scaled_by_its_sizes(node: Node) -> bool:
    """Whether an interpolation is by the quotient of the sizes: XNNPACK knows no other factor."""
    given: tuple[Any, ...] = node.args
    x, _, aligns_corners, factors = given
    if factors is None or aligns_corners:
        return True
    old, new = x.meta["val"].shape[-2:], node.meta["val"].shape[-2:]
    return all(
        isinstance(a, int) and factor * a == b
        for a, b, factor in zip(old, new, factors, strict=True)
    )


def _is_not_of_float16(node: Node) -> bool:
    """XNNPACK rounds inside of a softmax of float16, and makes small results 0."""
    operand = node.args[0]
    return isinstance(operand, Node) and bool(operand.meta["val"].dtype != torch.float16)


def _has_dimensions(node: Node) -> bool:
    return bool(node.meta["val"].dim() > 0)


def _has_one_unknown_size(node: Node) -> bool:
    """XNNPACK reshapes by a shape of which one size may follow from the others."""
    return sum(isinstance(size, torch.SymInt) for size in _shape(node)) <= 1


def _is_plane_or_has_one_unknown_size(node: Node) -> bool:
    """Batch norms of signals are reshaped to those of planes."""
    return len(_shape(node)) >= _RANK_OF_IMAGES or _has_one_unknown_size(node)


def _shape(node: Node) -> torch.Size:
    value = node.meta["val"]
    shape: torch.Size = (value[0] if isinstance(value, tuple) else value).shape
    return shape


def _is_plain_sum(node: Node) -> bool:
    """Whether no part of a product counts more or less: XNNPACK adds each once."""
    bias = node.args[0]
    is_row = isinstance(bias, Node) and bool(bias.meta["val"].dim() == 1)
    return is_row and all(node.kwargs.get(name, 1) == 1 for name in ("alpha", "beta"))


def _has_a_known_factor(node: Node) -> bool:
    """Whether `alpha` is a number, which XNNPACK's config compares with 1, and not a size."""
    return not isinstance(node.kwargs.get("alpha"), Node)


def _starts_within(node: Node) -> bool:
    """Whether a slice is not from before the beginning, where PyTorch begins at 0."""
    given: tuple[Any, ...] = node.args
    x, dimension, start = (*given, *(None, 0, None)[len(given) :])[:3]
    size = x.meta["val"].shape[dimension]
    least = -size if isinstance(size, int) else 0
    return not isinstance(start, int) or bool(start >= least)


def _reads_a_weight_in_one_form(node: Node) -> bool:
    """Whether all that read a convolution's weight read it in the same order of its dimensions.

    A delegate stores a constant once, as the first of its readers needs it.
    """
    weight: Any = node.args[1]
    return all(
        user.target == node.target and user.args[1] is weight and _form(user) == _form(node)
        for user in weight.users
    )


def _form(convolution: Node) -> Any:
    """The groups that a transposed convolution takes its weight apart by; None of others."""
    is_transposed, groups = convolution.args[6], convolution.args[8]
    return groups if is_transposed else None


def _pads_less_than_a_stride(node: Node) -> bool:
    """Whether a transposed convolution adds fewer rows than a stride; others are refused.

    PyTorch adds up to a dilation.
    """
    stride, padding = (_of_all_dimensions(node, node.args[place]) for place in (3, 7))
    is_transposed = node.args[6]
    return not is_transposed or all(a < b for a, b in zip(padding, stride, strict=True))


def _of_all_dimensions(convolution: Node, numbers: Any) -> list[Any]:
    weight: Any = convolution.args[1]
    rank = weight.meta["val"].dim() - 2
    return list(numbers) * rank if len(numbers) == 1 else list(numbers)


# The operators that let through what is within a range, and their bounds where none are given.
_BOUNDS: dict[Any, tuple[float | None, float | None]] = {
    exir_ops.edge.aten.relu.default: (0.0, None),
    exir_ops.edge.aten.hardtanh.default: (-1.0, 1.0),
    exir_ops.edge.aten.clamp.default: (None, None),
}
_LARGEST = torch.finfo(torch.float32).max


def _leaves_a_range(node: Node) -> bool:
    """Whether the bounds of an activation and of those before it leave more than one number.

    XNNPACK makes one of them all, from the highest of the lower bounds to the lowest of the upper
    ones, and refuses bounds in the wrong order. PyTorch gives the upper bound then.
    """
    low, high = -math.inf, math.inf
    at: Any = node
    while isinstance(at, Node) and at.target in _BOUNDS:
        given = at.args[1:]
        bounds: Any = (*given, *_BOUNDS[at.target][len(given) :])
        if not all(bound is None or _is_single(bound) for bound in bounds):
            return False
        least, most = bounds
        low = low if least is None else max(low, least)
        high = high if most is None else min(high, most)
        at = at.args[0]
    return low < high


def _is_single(bound: Any) -> bool:
    """Whether a bound is a number that float32 has, to rounding."""
    is_number = isinstance(bound, int | float)
    return is_number and (math.isinf(bound) or abs(bound) <= _LARGEST)


def _has_elements(node: Node) -> bool:
    """Whether no computed size may be 0: XNNPACK refuses some such tensors.

    Those that are sizes of inputs are tried by every export.
    """
    is_empty = functools.partial(may_be_empty, computed=True)
    return not any(map(is_empty, [node, *node.all_input_nodes]))


def _has_few_dimensions(node: Node) -> bool:
    """Whether XNNPACK has tensors of as many dimensions as those of the operands and results."""
    return all(_rank(each) <= _HIGHEST_RANK for each in [node, *node.all_input_nodes])


def _rank(node: Node) -> int:
    value = node.meta.get("val")
    tensors = value if isinstance(value, list | tuple) else [value]
    return max((each.dim() for each in tensors if isinstance(each, torch.Tensor)), default=0)


_LIMITS: dict[Any, tuple[_Limit, ...]] = {
    AddConfig: (_has_a_known_factor,),
    AddmmConfig: (_is_plain_sum,),
    AvgPoolingConfig: (_is_of_images, _has_a_window),
    BatchNormConfig: (_is_plane_or_has_one_unknown_size,),
    ClampConfig: (_leaves_a_range,),
    ConvolutionConfig: (_reads_a_weight_in_one_form, _pads_less_than_a_stride),
    HardtanhConfig: (_leaves_a_range,),
    MaxPool2dConfig: (_is_of_images, _has_a_window),
    PermuteConfig: (_has_dimensions,),
    PreluConfig: (_is_of_images,),
    ReLUConfig: (_leaves_a_range,),
    SliceCopyConfig: (_starts_within,),
    SoftmaxConfig: (_is_not_of_float16,),
    SubConfig: (_has_a_known_factor,),
    UnsqueezeCopyConfig: (_has_one_unknown_size,),
    UpsampleBilinear2dConfig: (_is_scaled_by_its_sizes,),
    ViewCopyConfig: (_has_one_unknown_size,),
}
_LIMITS_OF_ALL: tuple[_Limit, ...] = (_has_elements, _has_few_dimensions)
