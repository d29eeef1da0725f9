"""PyTorch's operators, each with a type, as cases of several calls: its own samples and odd values.

The samples are those of PyTorch's ``op_db``. Odd are NaN and infinities, tensors without elements,
without dimensions, of one element, and such that do not lie row by row, where PyTorch takes them.

A call whose result depends on the memory layout of its tensors is left out. Right is what PyTorch
gives for a call, or for the same call in float64: it rounds 16-bit floats between steps in some
kernels, and its vectors lose some infinities. Where it sorts in any order, equal elements may stay
in theirs.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from polystate.export.verification.stable_order import StableOrder
from tests.support.operator_entries import operator_entries

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32,
        torch.float64,
        torch.int64,
        torch.bool,
        torch.float16,
        torch.bfloat16,
    )
}

SAMPLES = 5

# Of which PyTorch itself ends the process.
_ENDS_PYTORCH = {("_chunk_cat", "no dimensions")}

_ODD = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0)


@dataclass(frozen=True)
class Tolerance:
    """How far a float may be off: op_db's own limits for the operator, or PyTorch's."""

    relative: float
    absolute: float


@dataclass(frozen=True)
class Sample:
    """The arguments of one call, and what is odd about them."""

    kind: str
    leaves: tuple[Any, ...]
    structure: Any
    # What op_db makes of results that are not unique, such as eigenvectors.
    made_unique: Callable[[Any], Any]

    @staticmethod
    def of(kind: str, sample: Any) -> Sample:
        """One of op_db's samples."""
        leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        detached = (x.detach() if isinstance(x, Tensor) else x for x in leaves)
        return Sample(kind, tuple(detached), structure, sample.output_process_fn_grad)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, Tensor))

    def changed(self, kind: str, change: Callable[[Tensor], Tensor]) -> Sample:
        """The same call with other tensors."""
        leaves = tuple(change(x) if isinstance(x, Tensor) else x for x in self.leaves)
        return dataclasses.replace(self, kind=kind, leaves=leaves)

    def run(
        self, function: Callable[..., Any], tensors: Sequence[Tensor] | None = None
    ) -> list[Tensor | float]:
        """What an operator returns for these arguments, or for others like them."""
        given = self.tensors if tensors is None else tensors
        results = pytree.tree_leaves(self._called(function, given))
        return [each for each in results if isinstance(each, Tensor | _NUMBERS)]

    def unique(self, function: Callable[..., Any], results: Sequence[Tensor]) -> list[Tensor]:
        """What is unique of results that an operator, `function`, may have."""
        structure = pytree.tree_structure(self._called(function, self.tensors))
        if structure.num_leaves != len(results):
            return list(results)
        unique = pytree.tree_leaves(self.made_unique(pytree.tree_unflatten(results, structure)))
        return [_as_tensor(each) for each in unique]

    def _called(self, function: Callable[..., Any], tensors: Sequence[Tensor]) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(x, Tensor) else x for x in self.leaves]
        first, args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return function(first, *args, **kwargs)


# Of Python's, and those that a trace has in their place.
_NUMBERS = bool | int | float | torch.SymBool | torch.SymInt | torch.SymFloat


@dataclass(frozen=True)
class Case:
    """An operator with a type."""

    operator: str
    dtype: str
    entry: Any

    @property
    def name(self) -> str:
        return f"{self.operator} {self.dtype}"

    def tolerance(self, result: torch.dtype) -> Tolerance:
        """The widest that op_db has on CPUs for the case's type, or PyTorch's for the result's."""
        default = torch.testing._comparison.get_tolerances(result, rtol=None, atol=None)
        found = [default, *_overrides(self.entry, DTYPES[self.dtype])]
        return Tolerance(max(each[0] for each in found), max(each[1] for each in found))

    def deviation(self, found: Tensor, right: Tensor, others: Sequence[Tensor] = ()) -> str | None:
        """Where a result is not what PyTorch gives; None: nowhere.

        Parameters
        ----------
        others
            What is right as well, element by element.
        """
        if found.dtype != right.dtype or found.shape != right.shape:
            return f"{_form(found)} in place of {_form(right)}"
        limits = (0.0, 0.0)
        if right.is_floating_point():
            tolerance = self.tolerance(right.dtype)
            limits = (tolerance.relative, tolerance.absolute)
        is_off = ~torch.isclose(found, right, *limits, equal_nan=True)
        for other in others:
            if other.shape == right.shape:
                is_off &= ~torch.isclose(found, other.to(right.dtype), *limits, equal_nan=True)
        if not is_off.any():
            return None
        values = f"{found[is_off].flatten()[0]} in place of {right[is_off].flatten()[0]}"
        return f"{values} ({int(is_off.sum())} of {is_off.numel()})"

    def first_deviation(self, sample: Sample, results: Iterable[Any]) -> str | None:
        """Where the results of a call are not right; None: nowhere."""
        expected = self.expected(sample)
        values = [_as_tensor(each) for each in results]
        deviation = self._first_deviation(sample, values, expected)
        if deviation is not None:
            unique = [sample.unique(self.entry.op, each) for each in (values, expected)]
            if all(self.deviation(*each) is None for each in zip(*unique, strict=True)):
                return None
        return deviation

    def _first_deviation(
        self, sample: Sample, values: Sequence[Tensor], expected: Sequence[Tensor]
    ) -> str | None:
        variants: list[Sequence[Tensor]] | None = None
        for place, (value, right) in enumerate(zip(values, expected, strict=True)):
            if self.deviation(value, right) is None:
                continue
            if variants is None:
                call = functools.partial(self.expected, sample)
                variants = list(as_right(call, sample.tensors))
            others = [each[place] for each in variants]
            deviation = self.deviation(value, right, others)
            if deviation is not None:
                return deviation
        return None

    def samples(self) -> list[Sample]:
        """Those that PyTorch takes, and for which it gives the same results each time.

        None where there is no plain one: of NaN, PyTorch's own `eigvals` may not come back.
        """
        plain = self.plain_samples()
        odd = _odd(self._drawn()) if plain else ()
        tried = [each for each in odd if (self.operator, each.kind) not in _ENDS_PYTORCH]
        stable = [*plain, *filter(self._is_stable, tried)]
        return [each for each in stable if self.is_of_values(each)]

    def plain_samples(self) -> list[Sample]:
        """Of these the ones that PyTorch has itself; none of an operator that draws numbers."""
        drawn = self._drawn()
        if drawn and self._draws_numbers(drawn[0]):
            return []
        return [each for each in drawn if self._is_stable(each)]

    def _drawn(self) -> list[Sample]:
        torch.manual_seed(0)
        drawn = self.entry.sample_inputs("cpu", DTYPES[self.dtype], requires_grad=False)
        every = (Sample.of("sample", each) for each in drawn)
        dense = (each for each in every if all(map(_is_dense, each.tensors)))
        return list(itertools.islice(dense, SAMPLES))

    def expected(self, sample: Sample, tensors: Sequence[Tensor] | None = None) -> list[Tensor]:
        """What PyTorch gives for a call, or for the same call of other tensors."""
        given = sample.tensors if tensors is None else tensors
        with torch.no_grad():
            results = sample.run(self.entry.op, [each.clone() for each in given])
        return [_as_tensor(each) for each in results]

    def _is_stable(self, sample: Sample) -> bool:
        if self._draws_numbers(sample):
            return False
        try:
            results = [self.expected(sample) for _ in range(2)]
        except Exception:  # of any kind
            return False
        return bool(results[0] and sample.tensors) and all(map(_is_same, *results))

    def is_of_values(self, sample: Sample) -> bool:
        """Whether equal tensors that lie row by row give the same: a program gets their values.

        `as_strided` and `resize_` depend on where in memory a tensor's elements lie.
        """
        if all(each.is_contiguous() for each in sample.tensors):
            return True
        try:
            with torch.no_grad():
                found = sample.run(self.entry.op, copy.deepcopy(sample.tensors))  # where they lie
        except Exception:  # of any kind
            return False
        rows = sample.changed(sample.kind, torch.Tensor.contiguous)
        return self.first_deviation(rows, found) is None

    def _draws_numbers(self, sample: Sample) -> bool:
        before = torch.get_rng_state()
        with contextlib.suppress(Exception):  # of any kind
            self.expected(sample)
        return not torch.equal(torch.get_rng_state(), before)


def as_right(call: Callable[[Any], Sequence[Tensor]], arguments: Any) -> Iterator[Sequence[Tensor]]:
    """Other results of a call that are as right as what PyTorch gives (see above)."""
    with StableOrder():
        yield call(arguments)
    wide = pytree.tree_map_only(Tensor, _widened, arguments)
    with contextlib.suppress(Exception):  # of any kind: some kernels are not of all types
        yield call(wide)


# PyTorch does not say what their results are.
_UNFILLED = frozenset(
    f"{prefix}empty{suffix}"
    for prefix in ("", "new_")
    for suffix in ("", "_like", "_permuted", "_strided")
)


def cases(dtypes: Sequence[str]) -> Iterator[Case]:
    """All of them, in the order of their names."""
    for entry in sorted(operator_entries(), key=lambda entry: str(entry.formatted_name)):
        for dtype in dtypes if entry.formatted_name not in _UNFILLED else ():
            if DTYPES[dtype] in entry.dtypes:
                yield Case(entry.formatted_name, dtype, entry)


def _odd(plain: Sequence[Sample]) -> Iterator[Sample]:
    for sample in plain[:1]:
        yield sample.changed("not row by row", _scattered)
    for sample in plain:
        if any(each.is_floating_point() and each.numel() > 0 for each in sample.tensors):
            yield sample.changed("NaN and infinities", _with_odd_values)
            break
    for sample in plain:
        if any(each.dim() > 0 for each in sample.tensors):
            yield sample.changed("empty", lambda x: x[:0] if x.dim() > 0 else x)
            yield sample.changed("one element", lambda x: x.reshape(-1)[:1])
            yield sample.changed("no dimensions", lambda x: x.reshape(-1)[0] if x.numel() else x)
            break


def _as_tensor(value: Any) -> Tensor:
    """A result; Python's floats have 64 bits."""
    return torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def _widened(x: Tensor) -> Tensor:
    return x.double() if x.is_floating_point() else x


def _is_dense(x: Tensor) -> bool:
    return x.layout == torch.strided


def _scattered(x: Tensor) -> Tensor:
    """Equal, in memory that has its last dimension outermost and gaps."""
    if x.dim() == 0:
        return x
    if x.dim() == 1:
        return torch.stack([x, x], -1)[:, 0]
    return x.transpose(0, -1).contiguous().transpose(0, -1)


def _with_odd_values(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        return x
    x = x.clone().contiguous()
    limits = torch.finfo(x.dtype)
    flat = x.view(-1)
    odd = [*_ODD, limits.max, limits.tiny]
    for i in range(0, flat.numel(), 2):
        flat[i] = odd[i // 2 % len(odd)]
    return x


def _is_same(a: Tensor, b: Tensor) -> bool:
    if not _is_dense(a) or a.is_quantized or a.is_complex():
        return False
    return a.shape == b.shape and torch.equal(a.nan_to_num(), b.nan_to_num())


def _overrides(entry: Any, dtype: torch.dtype) -> Iterator[tuple[float, float]]:
    for decorator in entry.decorators:
        if getattr(decorator, "device_type", None) not in (None, "cpu"):
            continue
        for each in getattr(decorator, "decorators", [decorator]):
            limits = getattr(each, "d", {}).get(dtype)
            if isinstance(limits, float):
                yield 0.0, limits
            elif limits is not None:
                yield limits.rtol, limits.atol


def _form(x: Tensor) -> str:
    return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"
