"""Operators without kernels, written by others before anything else reads the graph.

Each computes what PyTorch's operator of its name does.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._decomp import decompositions as resampling
from torch._prims_common import is_contiguous_or_false, make_contiguous_strides_for

from polystate.export.graph.operands import number_as
from polystate.export.graph.sizes import may_be_zero
from polystate.export.tracing.network_decompositions import NETWORK_OPERATORS

aten = torch.ops.aten


def _diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    places = torch.arange(source.shape[-1], device=x.device)
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    moved = x.movedim((dim1, dim2), (0, 1))
    changed = torch.index_put(moved, (rows, columns), source.movedim(-1, 0))
    return changed.movedim((0, 1), (dim1, dim2)).contiguous()


def _as_strided_scatter(
    x: Tensor,
    source: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Of elements that lie in their order: strides are those of memory."""
    if not is_contiguous_or_false(x):
        return NotImplemented
    places = torch.full([1] * len(size), storage_offset or 0, dtype=torch.int64)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        steps = torch.arange(count, device=x.device) * step
        places = places + steps.view([-1 if at == dim else 1 for at in range(len(size))])
    return torch.index_put(x.flatten(), (places,), source.to(x.dtype)).view(x.shape)


def _narrow_copy(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    return x.narrow(dim, start, length).clone(memory_format=torch.contiguous_format)


def _empty(size: Sequence[int], dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    """Returns zeros, as any values may be: ExecuTorch fixes the sizes of what is empty."""
    return torch.zeros(size, dtype=dtype)


def _new_empty(
    x: Tensor, size: Sequence[int], dtype: torch.dtype | None = None, **_: Any
) -> Tensor:
    return torch.zeros(size, dtype=x.dtype if dtype is None else dtype)


def _empty_permuted(size: Sequence[int], _: Sequence[int], **options: Any) -> Tensor:
    return _empty(size, **options)


def _new_empty_strided(x: Tensor, size: Sequence[int], _: Sequence[int], **options: Any) -> Tensor:
    return _new_empty(x, size, **options)


def _round(x: Tensor, *, decimals: int) -> Tensor:
    """Of 16 bits in single precision, as PyTorch does."""
    power, wide = 10.0 ** abs(decimals), _in_single(x)
    found = (
        torch.round(wide * power) / power if decimals >= 0 else torch.round(wide / power) * power
    )
    return found.to(x.dtype)


def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Returns the result, the mean and the inverse deviation of a batch, and the new averages."""
    over = [dim for dim in range(x.dim()) if dim != 1]
    mean, var, wide = running_mean, running_var, _in_single(x)
    if training:
        mean, var = wide.mean(over), wide.var(over, correction=0)
        unbiased = wide.var(over, correction=1)
        running_mean, running_var = (
            (momentum * new + (1 - momentum) * old).to(old.dtype)
            for old, new in ((running_mean, mean), (running_var, unbiased))
        )
    inverse = torch.rsqrt(_in_single(var) + eps)
    scale = inverse if weight is None else inverse * weight
    per_channel = [1, -1, *[1] * (x.dim() - 2)]
    result = (wide - mean.view(per_channel)) * scale.view(per_channel)
    if bias is not None:
        result = result + bias.view(per_channel)
    kept = x.dtype if weight is None else weight.dtype
    mean, inverse = (
        each.to(kept) if training else torch.zeros(0, dtype=kept) for each in (mean, inverse)
    )
    return result.to(x.dtype), mean, inverse, running_mean, running_var


def _in_single(x: Tensor) -> Tensor:
    """What 16-bit floats are computed in."""
    return x.float() if x.is_floating_point() and x.dtype.itemsize == 2 else x


def _batch_norm_with_update(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """The same in training, with a place for what some devices keep for a gradient."""
    averages = (running_mean, running_var)
    *found, mean, var = _batch_norm(x, weight, bias, *averages, True, momentum, eps)
    return (*found, torch.zeros(0, dtype=torch.uint8), mean, var)


def _batch_norm_of_itself(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """As above, where nothing keeps averages."""
    none = torch.zeros(1)
    return _batch_norm(x, weight, bias, none, none, True, momentum, eps)[:3]


def _rrelu(
    x: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, _: Any = None
) -> Any:
    """Of which only training draws."""
    return NotImplemented if training else aten.leaky_relu(x, (lower + upper) / 2)


def _split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """Returns parts as operators of one result each: ExecuTorch plans lists of fixed sizes only."""
    ends = list(itertools.accumulate(sizes))
    return [aten.slice.Tensor(x, dim, end - n, end) for n, end in zip(sizes, ends, strict=True)]


def _split(x: Tensor, size: int, dim: int = 0) -> list[Tensor]:
    whole = x.shape[dim]
    if whole == 0:
        return [aten.slice.Tensor(x, dim, 0, 0)]
    starts = range(0, whole, size)
    return _split_with_sizes(x, [min(size, whole - start) for start in starts], dim)


def _unbind(x: Tensor, dim: int = 0) -> list[Tensor]:
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]


def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Returns windows by strides, which programs have for elements in their order only."""
    if not is_contiguous_or_false(x):
        x = x.clone(memory_format=torch.contiguous_format)
    strides = make_contiguous_strides_for(x.shape)  # those of a tensor are no values of a program
    with_windows = torch._refs._get_unfold_shape_stride(x.shape, strides, dim, size, step)
    return x.as_strided(*with_windows)


def _glu(x: Tensor, dim: int = -1) -> Tensor:
    half = x.shape[dim] // 2
    values, gates = _split_with_sizes(x, [half, half], dim)
    return values * torch.sigmoid(gates)


def _exp2(x: Tensor) -> Tensor:
    """A power of tensors: that of a number is written as `exp2`."""
    x = x * 1.0  # of integers, too, the result is a float
    return torch.pow(torch.full_like(x, 2.0), x)


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    more = _exp2(-(x - y).abs()).log1p() / math.log(2)
    return torch.where(x.isinf() & (x == y), x, torch.maximum(x, y) + more)


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """A product with powers of two, none of which is out of range where the product is not."""
    if exponent.is_floating_point() or not x.is_floating_point():
        return x * _exp2(exponent)
    computed, largest = (x.dtype, 2200) if x.dtype == torch.float64 else (torch.float32, 300)
    exponent = exponent.to(torch.int32).clamp(-largest, largest).to(computed)
    third = torch.trunc(exponent / 3)
    power = _exp2(third)
    return (x.to(computed) * power * power * _exp2(exponent - 2 * third)).to(x.dtype)


def _signbit(x: Tensor) -> Tensor:
    """Whether numbers are negative, -0.0 included; no NaN is."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    if not x.is_floating_point():
        return x < 0
    return torch.where(x == 0, 1 / x, x) < 0


def _truth_of_bytes(operator: Any) -> Callable[..., Any]:
    """Of uint8 the result has that type; AOTInductor gives it others."""

    def is_true(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dtype != torch.uint8:
            return NotImplemented
        return operator(x.to(torch.bool), *args, **kwargs).to(torch.uint8)

    return is_true


def _composite(operator: Any) -> Callable[..., Any]:
    """An operator as PyTorch writes it by others, but here, where those are decomposed, too."""
    return functools.partial(operator._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)


def _of_doubles(write: Callable[..., Any]) -> Callable[..., Any]:
    """Writes an operator by others where it is of float64; its kernels have float32's numbers."""

    def written(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return write(x, *args, **kwargs) if x.dtype == torch.float64 else NotImplemented

    return written


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if attn_mask is not None:
        return NotImplemented
    products = _composite(aten._scaled_dot_product_attention_math.default)
    options = {"scale": scale, "enable_gqa": enable_gqa}
    return products(query, key, value, attn_mask, dropout_p, is_causal, **options)[0]


def _sign(x: Tensor) -> Any:
    """Of NaN it is zero, which ExecuTorch's is not."""
    if not x.is_floating_point():
        return NotImplemented
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    """Of 16 bits as PyTorch computes it, rounded at each step."""
    if not x.is_floating_point():
        x = x.to(torch.get_default_dtype())
    clamped = x if eps is None else x.clamp(eps, 1 - eps)
    return torch.log(clamped / (1 - clamped))


def _copysign(x: Tensor, sign: Tensor) -> Tensor:
    dtype = torch.result_type(x, sign)
    size = x.to(dtype if dtype.is_floating_point else torch.get_default_dtype()).abs()
    return torch.where(_signbit(sign), -size, size)


def _copysign_of_number(x: Tensor, sign: float) -> Tensor:
    size = torch.abs(x * 1.0)  # of integers and bools, too, the result is a float
    return -size if math.copysign(1.0, sign) < 0 else size


def _fmax(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.maximum(x, y)))


def _fmin(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x.isnan(), y, torch.where(y.isnan(), x, torch.minimum(x, y)))


def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Any:
    """Joins tensors of several types as those of the widest, also where some have no elements."""
    dtype = functools.reduce(torch.promote_types, (each.dtype for each in tensors))
    if all(each.dtype == dtype for each in tensors):
        return NotImplemented
    return aten.cat([each.to(dtype) for each in tensors], dim)


def _huber_loss(input: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    """Has the type of the first tensor; PyTorch's own decomposition has the wider one of both."""
    loss = decomposition_table[aten.huber_loss.default](input, target, reduction, delta)
    return loss.to(input.dtype)


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """As a product with the larger one, whose square may be too large."""
    large, small = torch.maximum(x.abs(), y.abs()), torch.minimum(x.abs(), y.abs())
    ratio = torch.where(large == 0, large, small / large)
    result = large * (1 + ratio * ratio).sqrt()
    result = torch.where(x.isnan() | y.isnan(), math.nan, result)  # not every engine's maximum is
    return torch.where(x.isinf() | y.isinf(), math.inf, result)


def _angle(x: Tensor) -> Any:
    if x.is_complex():
        return NotImplemented
    return torch.where(x.isnan(), x, torch.where(x < 0, math.pi, 0.0).to(x.dtype))


def _max(x: Tensor) -> Tensor:
    return x.reshape(-1).amax(0)


def _min(x: Tensor) -> Tensor:
    return x.reshape(-1).amin(0)


def _matrix_exp(x: Tensor) -> Any:
    """Of 16 bits in single precision: the kernel has no shorter one."""
    if x.dtype.itemsize > 2:
        return NotImplemented
    return aten.linalg_matrix_exp.default(x.float()).to(x.dtype)


def _nll_loss(x: Tensor, target: Tensor, *args: Any) -> Any:
    """Of one sample, whose target may be a vector of one element."""
    if x.dim() == 1 and target.dim() == 1:
        target = target.reshape(())
    return decomposition_table[aten.nll_loss_forward.default](x, target, *args)


def _logsumexp(x: Tensor, dims: Sequence[int], keepdim: bool = False) -> Any:
    """Of what may be nothing, beside the logarithm of 0: of no elements none is the largest."""
    chosen = {dim % x.dim() for dim in dims} or set(range(x.dim())) if x.dim() else set()
    if x.is_floating_point() and any(may_be_zero(x.shape[dim]) for dim in chosen):
        for dim in chosen:
            nothing = x.new_full([1 if at == dim else n for at, n in enumerate(x.shape)], -math.inf)
            x = torch.cat([x, nothing], dim)
    return decomposition_table[aten.logsumexp.default](x, list(dims), keepdim)


def _searchsorted(boundaries: Tensor, values: Tensor, **options: Any) -> Any:
    """Converts boundaries and values to one type, of which the kernel has both."""
    dtype = torch.result_type(boundaries, values)
    if boundaries.dtype == values.dtype:
        return NotImplemented
    return aten.searchsorted.Tensor(boundaries.to(dtype), values.to(dtype), **options)


def _searchsorted_number(boundaries: Tensor, value: Any, **options: Any) -> Any:
    dtype = torch.result_type(boundaries, value)
    number = torch.full((), value, dtype=dtype)
    return aten.searchsorted.Tensor(boundaries.to(dtype), number, **options)


def _bucketize(values: Tensor, boundaries: Tensor, **options: Any) -> Any:
    dtype = torch.result_type(values, boundaries)
    if boundaries.dtype == values.dtype:
        return NotImplemented
    return aten.bucketize.Tensor(values.to(dtype), boundaries.to(dtype), **options)


def _bucketize_number(value: Any, boundaries: Tensor, **options: Any) -> Any:
    return _searchsorted_number(boundaries, value, **options)


def _isin(x: Tensor, among: Tensor, **options: Any) -> Any:
    dtype = torch.result_type(x, among)
    if x.dtype == among.dtype:
        return NotImplemented
    return aten.isin.Tensor_Tensor(x.to(dtype), among.to(dtype), **options)


def _isin_of_number(x: Tensor, number: Any, invert: bool = False, **_: Any) -> Any:
    return x != number if invert else x == number


def _number_isin(number: Any, among: Tensor, invert: bool = False, **_: Any) -> Any:
    found = (among == number).any()
    return found.logical_not() if invert else found


_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def _scatter_reduce(x: Tensor, dim: int, index: Tensor, source: Tensor, *, reduce: str) -> Any:
    return aten.scatter_reduce.two(x, dim, index, source, _REDUCTIONS[reduce])


def _scatter_reduce_number(x: Tensor, dim: int, index: Tensor, number: Any, *, reduce: str) -> Any:
    source = torch.full(index.shape, number, dtype=x.dtype)
    return aten.scatter_reduce.two(x, dim, index, source, _REDUCTIONS[reduce])


def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Any:
    flat = aten.index_put(x.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _take(x: Tensor, index: Tensor) -> Any:
    return aten.index.Tensor(x.reshape(-1), (index.reshape(-1),)).reshape(index.shape)


def _histogramdd_bin_edges(
    x: Tensor, bins: Sequence[int], *, range: Sequence[float] | None = None, **_: Any
) -> list[Tensor]:
    columns = x.reshape(-1, x.shape[-1])
    if range is None and columns.shape[0] == 0:
        range = [0.0, 1.0] * len(bins)
    return [
        _edges_of_values(columns[:, i], count)
        if range is None
        else _edges(range[2 * i], range[2 * i + 1], count, x.dtype)
        for i, count in enumerate(bins)
    ]


def _histogramdd(
    x: Tensor, bins: int | Sequence[int], range: Sequence[float] | None = None, **options: Any
) -> tuple[Tensor, list[Tensor]]:
    if isinstance(bins, int):
        bins = [bins] * x.shape[-1]
    edges = _histogramdd_bin_edges(x, bins, range=range)
    return aten._histogramdd_from_bin_cts.default(x, bins, range=range, **options), edges


def _histogramdd_of_edges(
    x: Tensor, bins: Sequence[Tensor], range: Any = None, **options: Any
) -> tuple[Tensor, list[Tensor]]:
    counts = aten._histogramdd_from_bin_tensors.default(x, bins, **options)
    return counts, [each.clone() for each in bins]


def _edges(low: float, high: float, bins: int, dtype: torch.dtype) -> Tensor:
    around = 0.5 if low == high else 0.0
    return torch.linspace(low - around, high + around, bins + 1, dtype=dtype)


def _edges_of_values(values: Tensor, bins: int) -> Tensor:
    low, high = values.amin(), values.amax()
    around = torch.where(low == high, 0.5, 0.0).to(values.dtype)
    low, high = low - around, high + around
    step = (high - low) / bins
    places = torch.arange(bins + 1, dtype=values.dtype)
    from_low, from_high = low + step * places, high - step * (bins - places)
    return torch.where(places < (bins + 1) // 2, from_low, from_high)


def _repeat_interleave(
    x: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """As a choice of places, of which one operator says how often each is repeated."""
    if dim is None:
        x, dim = x.flatten(), 0
    if repeats.dim() == 0 or (isinstance(repeats.shape[0], int) and repeats.shape[0] == 1):
        repeats = repeats.reshape(1).expand(x.shape[dim])
    places = aten.repeat_interleave.Tensor(repeats, output_size=output_size)
    return x.index_select(dim, places)


def _bilinear(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As a linear of all products of an element of each."""
    products = _in_single(x).unsqueeze(-1) * _in_single(y).unsqueeze(-2)
    weight = weight.to(products.dtype)
    bias = None if bias is None else bias.to(products.dtype)
    result = torch.nn.functional.linear(products.flatten(-2), weight.flatten(1), bias)
    return result.to(x.dtype)


def _var_mean(
    x: Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    """One by one: where ExecuTorch's variance is NaN, as of one element, its mean is so as well."""
    dims = dim if dim else list(range(x.dim()))
    mean = aten.mean.dim(x, dims, keepdim)
    return aten.var.correction(x, dim, correction=correction, keepdim=keepdim), mean


def _std_mean(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    var, mean = _var_mean(*args, **kwargs)
    return var.sqrt(), mean


@contextlib.contextmanager
def corrected() -> Iterator[None]:
    """Corrects what torch.export itself writes by others over sizes that vary, within the block.

    Its ``meshgrid`` lacks the default of an argument, and its resampling divides by one less than a
    size that may be 1.
    """
    default = aten.meshgrid.default
    meshgrid = functools.partial(decomposition_table[default], indexing="ij")
    scale = _of_any_results(resampling._compute_scale)
    with (
        mock.patch.dict(decomposition_table, {default: meshgrid}),
        mock.patch.object(resampling, "_compute_scale", scale),
    ):
        yield


def _of_any_results(scale_of: Callable[..., Any]) -> Callable[..., Any]:
    """The distance of results that a dimension is resampled to, also where there is one."""

    def scale(size: Any, results: Any, align_corners: bool, scale: float | None = None) -> Any:
        if not align_corners or not isinstance(results, torch.SymInt):
            return scale_of(size, results, align_corners, scale)
        larger: Any = torch.sym_max
        return (size - 1.0) / larger(results - 1, 1)

    return scale


def _view_of_any_order(x: Tensor, shape: Sequence[int]) -> Any:
    """Copies what lies in another order than the eager operator's result, of which it is a view."""
    if is_contiguous_or_false(x):
        return NotImplemented
    return aten.view.default(x.clone(memory_format=torch.contiguous_format), shape)


def _of_number(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Tensor], Tensor]:
    """An operator of integers whose first operand is a number."""

    def of_tensor(number: Any, x: Tensor) -> Tensor:
        dtype = torch.result_type(x, number)
        return operator(torch.full((), number_as(number, dtype), dtype=dtype), x)

    return of_tensor


def _add_number(x: Tensor, number: Any, alpha: Any = 1) -> Any:
    """ExecuTorch's kernel of numbers rounds them to the tensor's type, or refuses them."""
    return aten.add.Tensor(x, number, alpha=alpha)


def _sub_number(x: Tensor, number: Any, alpha: Any = 1) -> Any:
    return aten.sub.Tensor(x, number, alpha=alpha)


# Of other types they are left to what comes after.
OF_ONE_TYPE: dict[Any, Callable[..., Any]] = {
    **{
        operator: _of_doubles(decomposition_table[operator])
        for operator in (
            aten.addcdiv.default,
            aten.addcmul.default,
            aten.baddbmm.default,
            aten.celu.default,
            aten.renorm.default,
            aten.softplus.default,
        )
    },
    aten.scaled_dot_product_attention.default: _of_doubles(_attention),
    **{
        operator: _truth_of_bytes(operator)
        for operator in (
            aten.all.default,
            aten.all.dim,
            aten.all.dims,
            aten.any.default,
            aten.any.dim,
            aten.any.dims,
        )
    },
}

DECOMPOSED: dict[Any, Callable[..., Any]] = {
    aten._is_all_true.default: torch.all,  # of torch._check_tensor_all
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Scalar_Tensor: _of_number(aten.bitwise_left_shift.Tensor),
    aten.bitwise_right_shift.Scalar_Tensor: _of_number(aten.bitwise_right_shift.Tensor),
    aten.add.Scalar: _add_number,
    aten.div.Scalar: aten.div.Tensor,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.sub.Scalar: _sub_number,
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten._histogramdd_bin_edges.default: _histogramdd_bin_edges,
    aten._batch_norm_with_update_functional.default: _batch_norm_with_update,
    aten._native_batch_norm_legit.no_stats: _batch_norm_of_itself,
    aten._native_batch_norm_legit_functional.default: _batch_norm,
    aten.angle.default: _angle,
    aten.bilinear.default: _bilinear,
    aten.bucketize.Scalar: _bucketize_number,
    aten.bucketize.Tensor: _bucketize,
    aten.cat.default: _cat,
    aten.copysign.Scalar: _copysign_of_number,
    aten.copysign.Tensor: _copysign,
    aten.cross_entropy_loss.default: _composite(aten.cross_entropy_loss.default),
    aten.as_strided_scatter.default: _as_strided_scatter,
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.empty.memory_format: _empty,
    aten.empty_permuted.default: _empty_permuted,
    aten.exp2.default: _exp2,
    aten.fmax.default: _fmax,
    aten.fmin.default: _fmin,
    aten.glu.default: _glu,
    aten.histogramdd.TensorList_bins: _histogramdd_of_edges,
    aten.histogramdd.default: _histogramdd,
    aten.histogramdd.int_bins: _histogramdd,
    aten.huber_loss.default: _huber_loss,
    aten.hypot.default: _hypot,
    aten.isin.Scalar_Tensor: _number_isin,
    aten.isin.Tensor_Scalar: _isin_of_number,
    aten.isin.Tensor_Tensor: _isin,
    aten.ldexp.Tensor: _ldexp,
    aten.linalg_matrix_exp.default: _matrix_exp,
    aten.logaddexp2.default: _logaddexp2,
    aten.logsumexp.default: _logsumexp,
    aten.logit.default: _logit,
    aten.max.default: _max,
    aten.min.default: _min,
    aten.narrow_copy.default: _narrow_copy,
    aten.new_empty.default: _new_empty,
    aten.new_empty_strided.default: _new_empty_strided,
    aten.nll_loss_forward.default: _nll_loss,
    aten.put.default: _put,
    aten.repeat_interleave.self_Tensor: _repeat_interleave,
    aten.round.decimals: _round,
    aten.rrelu.default: _rrelu,
    aten.scatter.reduce: _scatter_reduce,
    aten.scatter.value_reduce: _scatter_reduce_number,
    aten.searchsorted.Scalar: _searchsorted_number,
    aten.searchsorted.Tensor: _searchsorted,
    aten.sign.default: _sign,
    aten.signbit.default: _signbit,
    aten.split.Tensor: _split,
    aten.split_copy.Tensor: _split,
    aten.split_with_sizes.default: _split_with_sizes,
    aten.split_with_sizes_copy.default: _split_with_sizes,
    aten.std_mean.correction: _std_mean,
    aten.take.default: _take,
    aten.unbind.int: _unbind,
    aten.unbind_copy.int: _unbind,
    aten.unfold.default: _unfold,
    aten.unsafe_split.Tensor: _split,
    aten.unsafe_split_with_sizes.default: _split_with_sizes,
    aten.var_mean.correction: _var_mean,
    aten.view.default: _view_of_any_order,
    **NETWORK_OPERATORS,
    **OF_ONE_TYPE,
    # As PyTorch itself writes them.
    **{
        operator: decomposition_table[operator]
        for operator in (
            aten.as_strided_copy.default,
            aten.col2im.default,
            aten.dist.default,
            aten.linspace.default,
            aten.logspace.default,
            aten.permute_copy.default,
            aten.view_copy.default,
        )
    },
}
