"""Runs methods of the user's module eagerly, and leaves the module as it was."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from polystate.export import hooks
from polystate.export.tracing import attributes
from polystate.export.tracing.bools import plain_bools
from polystate.export.tracing.closeness import Limits, deviating
from polystate.export.tracing.control_flow import uncompiled
from polystate.export.tracing.pairs import as_pairs, of_pairs
from polystate.export.tracing.tensor_forms import Form


@dataclass(frozen=True)
class Outcome:
    """What one call did: what it returned, and its inputs and every buffer afterwards.

    Complex buffers are pairs [..., 2].
    """

    outputs: list[Any]
    inputs: list[Any]
    buffers: dict[str, torch.Tensor]

    def difference(self, other: Outcome) -> str | None:
        """What differs, in words; None where a call of the same kernels gave the same.

        Results that are neither tensors nor numbers are left out.
        """
        pairs = [
            *_labelled("output", self.outputs, other.outputs),
            *_labelled("input", self.inputs, other.inputs),
        ]
        if len(self.outputs) != len(other.outputs) or self.buffers.keys() != other.buffers.keys():
            return "the number of results"
        pairs += [
            (f"buffer '{key}'", value, other.buffers[key]) for key, value in self.buffers.items()
        ]
        return next((label for label, a, b in pairs if not _same(a, b)), None)


@dataclass(frozen=True)
class Entry:
    """A method, and arguments to try it with: first its examples, then others of other sizes."""

    name: str
    function: Callable[..., Any]
    points: Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class Looked:
    """A method that was looked at for hidden state.

    Attributes
    ----------
    outcome
        What it does with its examples.
    changed
        The names of the buffers that it changes.
    filled
        The attributes that only its first call changes, in words.
    """

    entry: Entry
    outcome: Outcome
    changed: frozenset[str]
    filled: tuple[str, ...]


class EagerModule:
    """The user's module, with the values that it had when it was given to us.

    Every call starts from these values, and they are put back when it ends. Parameters are not
    copied, but for the calls that find out whether a method changes them (hidden_state). Values of
    complex buffers are given and taken as pairs [..., 2], and bools as 0 or 1, whatever their bytes
    are in the module.

    Attributes
    ----------
    complex_buffers
        The names of those buffers that are complex.
    looked
        The methods that hidden_state looked at.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self._values: dict[str, torch.Tensor] = {}
        self._values = self.buffers()
        buffers = dict(model.named_buffers(remove_duplicate=False)).values()
        self._forms = {id(buffer): Form(buffer) for buffer in buffers}
        self._bytes = {  # of bools that have others than 0 and 1
            name: buffer.detach().view(torch.uint8).clone().view(torch.bool)
            for name, buffer in model.named_buffers(remove_duplicate=False)
            if plain_bools(buffer) is not buffer
        }
        self.complex_buffers = frozenset(
            name
            for name, buffer in model.named_buffers(remove_duplicate=False)
            if buffer.is_complex()
        )
        self.looked: list[Looked] = []

    def initial(self, name: str) -> torch.Tensor:
        """The value that a buffer starts with, by its fully qualified name."""
        return self._values[name]

    def initials(self) -> dict[str, torch.Tensor]:
        """The values that all buffers start with, each under every one of its names."""
        return dict(self._values)

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """Calls `function` from the initial values; whatever it raises passes through."""
        with self.restored():
            return self.call(function, args, kwargs)

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """Calls `function` from the values that the buffers have now; what it changes stays.

        But for the arguments, which are copied.
        """
        return self.call_on(function, *copied(args, kwargs))

    def call_on(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Outcome:
        """As `call`, but on the arguments themselves."""
        with torch.no_grad(), hooks.as_set(), uncompiled():
            # torch.manual_seed notes for each other device where it was called from.
            torch.default_generator.manual_seed(0)
            outputs = function(*args, **kwargs)
        return Outcome(copied_leaves(outputs), copied_leaves((args, kwargs)), self.buffers())

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Puts every buffer, every attribute and the random state back when the block ends.

        Inside the block no buffer requires a gradient: state is a value.
        """
        put_back = attributes.keep(self.model)
        try:
            self._detach_buffers()
            with torch.random.fork_rng(devices=[]):
                yield
        finally:
            put_back()
            self.reset()

    def buffers(self) -> dict[str, torch.Tensor]:
        """The values of all buffers now: copies, or the initial values where they are the same."""
        return {
            name: self._kept(name, plain_bools(as_pairs(buffer.detach())))
            for name, buffer in self.model.named_buffers(remove_duplicate=False)
        }

    def _kept(self, name: str, buffer: torch.Tensor) -> torch.Tensor:
        initial = self._values.get(name)
        if initial is None or _form(initial) != _form(buffer) or not identical(initial, buffer):
            return buffer.clone()
        return initial

    def set_buffers(self, values: Mapping[str, torch.Tensor]) -> None:
        """Gives buffers these values, by their names.

        A buffer that a call set to an expanded tensor is replaced, where that cannot hold them.
        Those that the module had when it was given to us get their form and memory back.
        """
        replaced: dict[int, torch.Tensor] = {}  # a buffer of two names stays one tensor
        for name, buffer in list(self.model.named_buffers(remove_duplicate=False)):
            if id(buffer) in self._forms:
                self._forms[id(buffer)].put_back()
            if name not in values or _holds(buffer, values[name]):
                continue
            value = of_pairs(values[name]) if buffer.is_complex() else values[name]
            with torch.inference_mode() if buffer.is_inference() else torch.no_grad():
                part = unexpanded(value, buffer)
                if part is value or same_values(part.expand_as(value), value):
                    unexpanded(buffer).copy_(part)
                else:
                    owner, _, leaf = name.rpartition(".")
                    new = replaced.setdefault(id(buffer), value.clone())
                    self.model.get_submodule(owner)._buffers[leaf] = new

    def reset(self) -> None:
        """Gives every buffer its initial value."""
        self.set_buffers({**self._values, **self._bytes})

    def _detach_buffers(self) -> None:
        detached: dict[int, torch.Tensor] = {}  # a buffer of two names stays one tensor
        for module in self.model.modules():
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.requires_grad:
                    module._buffers[name] = detached.setdefault(id(buffer), buffer.detach())


def _holds(buffer: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a buffer has a value; a bool of any other byte than 0 and 1 is as true as 1."""
    now = as_pairs(buffer)
    return identical(now, value) or identical(plain_bools(now), value)


def unexpanded(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """A view without the dimensions along which all elements lie at one address.

    Those of the tensor, or of another one of its shape.
    """
    like = tensor if like is None else like
    if like.layout != torch.strided:
        return tensor
    for dimension, stride in enumerate(like.stride()):
        if stride == 0 and like.shape[dimension] > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def copied(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments with every tensor copied."""
    both: tuple[Any, Any] = pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    return both


def copied_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, tensors copied; bools are 0 or 1."""
    return pytree.tree_leaves(
        pytree.tree_map_only(torch.Tensor, lambda t: plain_bools(t.detach().clone()), tree)
    )


def _labelled(label: str, a: list[Any], b: list[Any]) -> list[tuple[str, Any, Any]]:
    return [(f"{label} {i}", *pair) for i, pair in enumerate(zip(a, b, strict=False))]


# As equal as sums that are divided otherwise among threads and vectors.
_SUMS = Limits(relative=1e-6, absolute=1e-6, least=0.0, equal=0.0)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return same_values(a, b) or not bool(deviating(b, a, _SUMS).any())
    if isinstance(a, bool | int | float | complex) and isinstance(b, bool | int | float | complex):
        return a == b or (a != a and b != b)
    return isinstance(a, torch.Tensor) == isinstance(b, torch.Tensor)


def same_values(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have one form and hold the same; NaN counts as equal to itself."""
    if any(map(is_traceable_wrapper_subclass, (a, b))):  # such as a quantized weight
        return type(a) is type(b) and all(same_values(x, y) for x, y in _parts(a, b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if identical(a, b) or torch.equal(a, b):
        return True
    if not (a.is_floating_point() or a.is_complex()) or not bool(a.sum().isnan()):
        return False  # a sum is NaN where a value is, and is found much sooner
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have one form, strides aside, and hold the same bits."""
    if a is b:
        return True
    if any(map(is_traceable_wrapper_subclass, (a, b))):  # such as a quantized weight
        return type(a) is type(b) and all(identical(x, y) for x, y in _parts(a, b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if _lies_plainly(a) and _lies_plainly(b):
        # PyTorch's own comparison takes more than twice as long.
        return not _memcmp(a.data_ptr(), b.data_ptr(), a.nbytes)
    return torch.equal(a, b)


def _lies_plainly(tensor: torch.Tensor) -> bool:
    """Whether the values lie row by row in the memory of this process."""
    is_dense = tensor.layout == torch.strided and tensor.is_cpu
    return is_dense and tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg())


_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def _parts(a: torch.Tensor, b: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    names, _ = a.__tensor_flatten__()  # type: ignore[attr-defined]
    return ((getattr(a, name), getattr(b, name)) for name in names)


def _form(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.shape, tensor.stride()
