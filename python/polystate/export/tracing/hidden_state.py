"""Finds what a method changes that is not a buffer of one name: state that an export would lose."""

from __future__ import annotations

import collections
import contextlib
import functools
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch

from polystate.errors import ExportError
from polystate.export.tracing import attributes, caches, outer_state, reshaped_inputs, shared_memory
from polystate.export.tracing.changed_lines import line_of_change
from polystate.export.tracing.eager import (
    EagerModule,
    Entry,
    Looked,
    Outcome,
    copied,
    same_values,
    unexpanded,
)
from polystate.export.tracing.pairs import of_pairs
from polystate.export.tracing.plain_tensors import refuse_unusual_results
from polystate.export.tracing.tensor_forms import Form


def refuse_hidden_state(eager: EagerModule, entry: Entry) -> None:
    """Refuses a method that changes anything which is not a buffer of one name.

    The method is called twice as it is found, which must give the same; then once more with the
    attributes that this left, of which it must change none, but for those that each call sets
    before it reads them. What a first call alone changes in attributes may be a cache: then no
    method that was looked at so far computes otherwise for it.

    Raises
    ------
    ExportError
        With the parameter, buffer or attribute, the user's line where it is known, and a rewrite.
    """
    model = eager.model
    with torch.no_grad(), eager.restored(), _restored_values(model) as values:
        put_attributes_back = attributes.keep(model)
        before = attributes.contents(model)
        first = _checked_call(eager, entry, values)
        put_attributes_back()
        eager.reset()
        second = _checked_call(eager, entry, values)
        shared_memory.refuse_kept_elsewhere(
            entry.name, second.before, (first.after, second.after), second.set_at
        )
        outer_state.refuse_second_outcome(eager, entry, first.outcome, second.outcome)
        after = attributes.contents(model)
        filled = _changes(model, before, after, second.lines)
        if filled:
            eager.reset()
            third = _checked_call(eager, entry, values)
            now = attributes.contents(model)
            changes = _changes(model, after, now, third.lines)
            set_anew = [each for each in changes if _is_set_anew(model, each, before, third.lines)]
            if set_anew and not _are_read_first(eager, entry, set_anew, third.outcome):
                changes = {each: how for each, how in changes.items() if each not in set_anew}
            for attribute, change in changes.items():
                if not third.lines.of(model, attribute.path):
                    change += _told(_line_of_change(eager, entry, _is_other(model, attribute)))
                raise ExportError(_hidden_attribute(model, entry.name, attribute, change))
        put_attributes_back()
        eager.reset()
        looked = Looked(entry, first.outcome, first.changed, tuple(filled.values()))
        outer_state.refuse_effects(eager, looked)
        _refuse_effects(eager, looked)


def _is_set_anew(
    model: torch.nn.Module,
    attribute: attributes.Attribute,
    before: Mapping[attributes.Attribute, attributes.Contents],
    lines: _Lines,
) -> bool:
    """Whether a call assigns a tensor to an attribute that was not there, or was None."""
    was_empty = attribute not in before or before[attribute] == attributes.NONE
    is_tensor = isinstance(attributes.held(model, attribute.path), torch.Tensor)
    return was_empty and is_tensor and bool(lines.of(model, attribute.path))


def _are_read_first(
    eager: EagerModule,
    entry: Entry,
    set_anew: Iterable[attributes.Attribute],
    expected: Outcome,
) -> bool:
    """Whether a call computes otherwise where attributes hold other tensors than it will set."""
    model = eager.model
    for attribute in set_anew:
        owner, _, leaf = attribute.path.rpartition(".")
        [other] = next(caches.variants([attributes.held(model, attribute.path)]))
        vars(model.get_submodule(owner))[leaf] = other
    eager.reset()
    try:
        outcome = outer_state.call_on(eager, entry, *copied(*entry.points[0]))
    except Exception:  # whatever the module does with such a tensor
        return True
    return outcome.difference(expected) is not None


@dataclass(frozen=True)
class _Values:
    """What tensors held, unexpanded; by their identity, so that they must be kept alive."""

    tensors: list[torch.Tensor]
    values: dict[int, torch.Tensor]
    forms: list[Form]

    def differ(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is none of these or holds something else by now."""
        value = self.values.get(id(tensor))
        return value is None or not same_values(unexpanded(tensor), value)

    def put_back(self) -> None:
        for tensor, form in zip(self.tensors, self.forms, strict=True):
            form.put_back()
            if self.differ(tensor):
                unexpanded(tensor).copy_(self.values[id(tensor)])


@contextlib.contextmanager
def _restored_values(model: torch.nn.Module) -> Iterator[_Values]:
    """Gives parameters and tensors of attributes their values back when the block ends."""
    tensors = [*model.parameters(), *attributes.tensors(model)]
    copies = {id(tensor): unexpanded(tensor.detach()).clone() for tensor in tensors}
    values = _Values(tensors, copies, [Form(tensor) for tensor in tensors])
    try:
        yield values
    finally:
        values.put_back()


@dataclass(frozen=True)
class _Lines:
    """Where modules assigned and deleted what they hold, and registered buffers.

    By the module and the name.
    """

    assigned: dict[tuple[int, str], str]

    def of(self, model: torch.nn.Module, path: str) -> str:
        """The user's line, empty where what is at a path was neither assigned nor deleted."""
        owner, _, leaf = path.rpartition(".")
        try:
            return self.assigned.get((id(model.get_submodule(owner)), leaf), "")
        except AttributeError:  # there is no such module now
            return ""


@dataclass(frozen=True)
class _Call:
    """What one call did.

    Attributes
    ----------
    changed
        The names of the buffers that it changed.
    set_at
        The lines where it set buffers to other tensors, by their names.
    before, after
        Where all tensors lie.
    """

    outcome: Outcome
    changed: frozenset[str]
    set_at: dict[str, str]
    before: list[shared_memory.Place]
    after: list[shared_memory.Place]
    lines: _Lines


def _checked_call(eager: EagerModule, entry: Entry, values: _Values) -> _Call:
    """Calls a method with its examples; refuses what one call alone shows to be unsound."""
    model, name = eager.model, entry.name
    args, kwargs = copied(*entry.points[0])
    before, held = shared_memory.places(model), attributes.named_tensors(model)
    buffers = dict(model.named_buffers(remove_duplicate=False))
    forms = {key: (buffer, Form(buffer)) for key, buffer in buffers.items()}
    versions = {key: attributes.version(tensor) for key, tensor in _registered(model)}
    kinds = _kinds(model)
    arguments = reshaped_inputs.forms(args, kwargs)
    with _recorded_assignments() as lines, _overlaps_told(name, buffers):
        outcome = outer_state.call_on(eager, entry, args, kwargs)
    refuse_unusual_results(name, outcome.outputs)
    reshaped_inputs.refuse(eager, entry, arguments)
    _refuse_removed(model, name, kinds, lines)
    _refuse_reshaped_buffers(eager, name, lines)
    _refuse_replaced_memory(eager, entry, forms)
    set_at = _set_buffers(model, name, buffers, lines)
    changed = {
        key
        for key, tensor in _registered(model)
        if key in set_at or attributes.version(tensor) != versions.get(key)
    }
    initials = eager.initials()
    changed |= {key for key in buffers if not same_values(outcome.buffers[key], initials[key])}
    for key in sorted(changed & buffers.keys()):
        if _is_expanded(buffers[key]):
            raise ExportError(_expanded_buffer(name, repr(key)))
    shared_memory.refuse_changed_twice(model, name, before, changed)
    after = shared_memory.places(model)
    inputs = shared_memory.input_places(entry.function, args, kwargs)
    shared_memory.refuse_set_to_another(name, [*after, *inputs], changed, set_at)
    shared_memory.refuse_moved(name, before, after, set_at)
    _refuse_changed_constants(eager, entry, held, values, lines)
    return _Call(outcome, frozenset(changed & buffers.keys()), set_at, before, after, lines)


def _set_buffers(
    model: torch.nn.Module, method: str, before: Mapping[str, torch.Tensor], lines: _Lines
) -> dict[str, str]:
    """The buffers that are other tensors than before, each with the line where it was set."""
    set_at = {}
    for key, buffer in model.named_buffers(remove_duplicate=False):
        if before[key] is not buffer:
            set_at[key] = lines.of(model, key)
            if not set_at[key]:
                leaf = key.rpartition(".")[2]
                raise ExportError(
                    f"method '{method}' sets the buffer '{key}' in a module's _buffers, which "
                    f"torch.export does not see; assign it as an attribute: self.{leaf} = ..."
                )
    return set_at


def _refuse_changed_constants(
    eager: EagerModule,
    entry: Entry,
    held: Iterable[tuple[attributes.Attribute, torch.Tensor]],
    values: _Values,
    lines: _Lines,
) -> None:
    """Refuses changed parameters, and tensors of attributes that were changed in place."""
    model, method = eager.model, entry.name

    def changed_at(tensor: torch.Tensor) -> str:
        values.put_back()
        return _line_of_change(eager, entry, functools.partial(values.differ, tensor))

    for key, parameter in model.named_parameters(remove_duplicate=False):
        if values.differ(parameter):
            leaf = key.rpartition(".")[2]
            raise ExportError(
                f"method '{method}' changes the parameter '{key}'{_told(changed_at(parameter))}: "
                f"parameters are constants of the program; register it as a buffer instead of an "
                f"nn.Parameter: self.register_buffer('{leaf}', ...)"
            )
    for attribute, tensor in held:
        if id(tensor) in values.values and values.differ(tensor):
            line = lines.of(model, attribute.path) or changed_at(tensor)
            change = _described(attribute, "", line)
            raise ExportError(_hidden_attribute(model, method, attribute, change))


def _line_of_change(eager: EagerModule, entry: Entry, is_changed: Callable[[], bool]) -> str:
    """The user's line that makes a change, found in one more call."""
    eager.reset()
    call = functools.partial(eager.call_on, entry.function, *copied(*entry.points[0]))
    return line_of_change(call, is_changed)


def _is_other(model: torch.nn.Module, attribute: attributes.Attribute) -> Callable[[], bool]:
    """Tells whether an attribute holds something else than now."""
    before = attributes.contents(model).get(attribute)
    return lambda: attributes.contents(model).get(attribute) != before


@contextlib.contextmanager
def _overlaps_told(method: str, buffers: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Names the expanded buffers where PyTorch refuses to change an expanded tensor."""
    try:
        yield
    except RuntimeError as error:
        expanded = [repr(key) for key, buffer in buffers.items() if _is_expanded(buffer)]
        if not expanded or "refers to a single memory location" not in str(error):
            raise
        raise ExportError(_expanded_buffer(method, " or ".join(expanded))) from error


def _registered(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


def _kinds(model: torch.nn.Module) -> dict[str, str]:
    """What kind each of the things is that modules have registered, a module before its own."""
    named: list[tuple[str, Iterable[tuple[str, Any]]]] = [
        ("submodule", model.named_modules(remove_duplicate=False)),
        ("parameter", model.named_parameters(remove_duplicate=False)),
        ("buffer", model.named_buffers(remove_duplicate=False)),
    ]
    return {name: kind for kind, each in named for name, _ in each}


def _refuse_removed(
    model: torch.nn.Module, method: str, before: Mapping[str, str], lines: _Lines
) -> None:
    """Refuses a method that sets what was registered to None, or deletes it."""
    now = _kinds(model)
    for name, kind in before.items():
        if now.get(name) != kind:
            raise ExportError(
                f"method '{method}' removes the {kind} '{name}'{_told(lines.of(model, name))}: an "
                f"exported program has it in every call; keep it, and choose by the value of a "
                f"buffer whether it counts: torch.where(self.is_set, ..., ...)"
            )


def _is_expanded(tensor: torch.Tensor) -> bool:
    """Whether several elements lie at one address."""
    dimensions = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.numel() > 1 and any(size > 1 and stride == 0 for size, stride in dimensions)


@contextlib.contextmanager
def _recorded_assignments() -> Iterator[_Lines]:
    """The lines inside the block where modules assign or delete, and register buffers."""
    lines = _Lines({})
    assign, delete = torch.nn.Module.__setattr__, torch.nn.Module.__delattr__
    register = torch.nn.Module.register_buffer

    def record(module: torch.nn.Module, name: str) -> None:
        frame = traceback.extract_stack(limit=3)[0]
        lines.assigned[id(module), name] = f"{frame.filename}:{frame.lineno}: {frame.line}"

    def assigning(module: torch.nn.Module, name: str, value: Any) -> None:
        assign(module, name, value)  # registers buffers
        record(module, name)

    def deleting(module: torch.nn.Module, name: str) -> None:
        delete(module, name)
        record(module, name)

    def registering(module: torch.nn.Module, name: str, *args: Any, **kwargs: Any) -> None:
        record(module, name)
        register(module, name, *args, **kwargs)

    with (
        mock.patch.object(torch.nn.Module, "__setattr__", assigning),
        mock.patch.object(torch.nn.Module, "__delattr__", deleting),
        mock.patch.object(torch.nn.Module, "register_buffer", registering),
    ):
        yield lines


def _refuse_reshaped_buffers(eager: EagerModule, method: str, lines: _Lines) -> None:
    initials = eager.initials()
    for key, buffer in eager.model.named_buffers(remove_duplicate=False):
        where = _told(lines.of(eager.model, key))
        if key not in initials:
            raise ExportError(
                f"method '{method}' registers the buffer '{key}'{where}: register it before the "
                f"export, with the value that it starts with: self.register_buffer("
                f"'{key.rpartition('.')[2]}', torch.zeros({list(buffer.shape)}))"
            )
        is_complex = key in eager.complex_buffers
        initial = of_pairs(initials[key]) if is_complex else initials[key]
        old, new = _form(initial), _form(buffer)
        if old != new:
            raise ExportError(
                f"method '{method}' changes the buffer '{key}' from {old} to {new}{where}: state "
                f"keeps its type and shape; register it as large as it gets, and change a part "
                f"of it in place"
            )


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _refuse_replaced_memory(
    eager: EagerModule, entry: Entry, before: Mapping[str, tuple[torch.Tensor, Form]]
) -> None:
    """Refuses a buffer that is the same tensor over other memory than before the call."""
    for key, buffer in eager.model.named_buffers(remove_duplicate=False):
        tensor, form = before.get(key, (None, None))
        if buffer is tensor and form is not None and form.is_elsewhere():
            leaf = key.rpartition(".")[2]
            form.put_back()
            raise ExportError(
                f"method '{entry.name}' gives the buffer '{key}' other memory"
                f"{_told(_line_of_change(eager, entry, form.is_elsewhere))}, by .data or set_, "
                f"which a trace does not see; write into it instead: self.{leaf}.copy_(...)"
            )


def _changes(
    model: torch.nn.Module,
    before: dict[attributes.Attribute, attributes.Contents],
    after: dict[attributes.Attribute, attributes.Contents],
    lines: _Lines,
) -> dict[attributes.Attribute, str]:
    """The attributes that hold something else, each with its change in words."""
    changes = {}
    for attribute in dict.fromkeys([*before, *after]):
        old, new = before.get(attribute, ()), after.get(attribute, ())
        if old != new:
            line = lines.of(model, attribute.path)
            changes[attribute] = _described(attribute, attributes.change(old, new), line)
    return changes


def _described(attribute: attributes.Attribute, change: str, line: str) -> str:
    return f"'{attribute.path}' of {attribute.owner}{change}{_told(line)}"


def _refuse_effects(eager: EagerModule, looked: Looked) -> None:
    """Refuses what a first call leaves in attributes if some method computes otherwise for it."""
    is_new_state = any(looked.changed - other.changed for other in eager.looked)
    eager.looked.append(looked)
    state = {key for each in eager.looked for key in each.changed}
    for filling in eager.looked:
        for reader in eager.looked:
            if filling.filled and (is_new_state or looked in (filling, reader)):
                effect = caches.effect(eager, filling.entry, reader.entry, state)
                if effect is not None:
                    raise ExportError(_effective_attribute(filling, reader.entry.name, effect))


def _effective_attribute(filling: Looked, reader: str, effect: str) -> str:
    return (
        f"the first call of method '{filling.entry.name}' changes the attribute "
        f"{' and the attribute '.join(filling.filled)}, and afterwards {effect} of method "
        f"'{reader}' is another: only buffers are state, and an exported program would do each "
        f"time what a first call does; make it a buffer that is set in place, and choose by its "
        f"value (torch.where), or set the attribute before the export"
    )


def _hidden_attribute(
    model: torch.nn.Module, method: str, attribute: attributes.Attribute, change: str
) -> str:
    return (
        f"method '{method}' changes the attribute {change}: only buffers are state, and an "
        f"exported program would keep the value of the trace; "
        f"{_as_buffer(attribute.path, attributes.held(model, attribute.path))}"
    )


def _as_buffer(path: str, value: object) -> str:
    """What to write instead of an attribute that changes."""
    leaf = path.rpartition(".")[2]
    if attributes.is_cache_of_transformers(value):
        return attributes.CACHE_ADVICE
    if isinstance(value, list | tuple | set | collections.deque):
        return (
            f"make it one buffer that is as large as it gets, and a buffer for how much of it is "
            f"used: self.register_buffer('{leaf}', torch.zeros(64, 4)); "
            f"self.{leaf}.index_copy_(0, self.used.reshape(1), x[None]); self.used.add_(1)"
        )
    if isinstance(value, dict):
        return (
            f"make each of its values a buffer, which is changed in place: "
            f"self.register_buffer('{leaf}_k', torch.zeros(4)); self.{leaf}_k.add_(x)"
        )
    given = "torch.tensor(...)"
    if isinstance(value, bool | int | float):
        given = "torch.tensor(0)" if isinstance(value, int) else "torch.tensor(0.0)"
    return (
        f"make it a buffer: self.register_buffer('{leaf}', {given}), and change it in place: "
        f"self.{leaf}.copy_(...)"
    )


def _expanded_buffer(method: str, names: str) -> str:
    return (
        f"method '{method}' changes the buffer {names}, which is expanded: several of its elements "
        f"lie at one address; register it with memory of its own: tensor.expand(...).clone()"
    )


def _told(line: str) -> str:
    return f" ({line})" if line else ""
