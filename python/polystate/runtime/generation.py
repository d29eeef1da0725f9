"""What is given to a generation."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import functools
import json
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.callables import (
    LogitsProcessor,
    Sampler,
    StatefulProcessor,
    StoppingCriterion,
    check_function,
    criterion_calls,
    processor_calls,
    sampler_call,
)
from polystate.runtime.generation_output import Prompt

T = TypeVar("T")

_PACKAGE = str(Path(__file__).resolve().parents[1])


async def run_async(options: _core.GenerationOptions, run: Callable[[], T]) -> T:
    """Run a generation on another thread; it ends where the waiting task is cancelled.

    It has ended then when this raises, so that nothing of it is in use any more.
    """
    call: concurrent.futures.Future[T] = concurrent.futures.Future()
    work = functools.partial(_finish, call, contextvars.copy_context(), run)
    asyncio.get_running_loop().run_in_executor(None, work)
    waiting = asyncio.wrap_future(call)
    try:
        await asyncio.wait([waiting])
        return waiting.result()
    except asyncio.CancelledError:
        options.cancel()
        if not call.cancel():  # it has begun
            await _end_of(waiting)
        raise
    finally:
        del call, work, waiting  # which an exception would hold, and they the exception


def _finish(
    call: concurrent.futures.Future[T], context: contextvars.Context, run: Callable[[], T]
) -> None:
    """Run what a future stands for, unless that was cancelled before it began."""
    if not call.set_running_or_notify_cancel():
        return
    try:
        call.set_result(context.run(run))
    except BaseException as error:
        call.set_exception(error)
        del call  # which the exception would hold, and it the exception


async def _end_of(waiting: asyncio.Future[T]) -> None:
    """Wait for a future, also where the task that waits is cancelled again and again."""
    while not waiting.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([waiting])
    waiting.exception()  # which nobody waits for any more


def generation_options(
    names: Mapping[str, Any],
    logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None,
    sampler: Sampler | None,
    on_piece: Callable[[int, Any], bool] | None,
    on_progress: Callable[[int], Any] | None,
    stopping_criteria: Sequence[StoppingCriterion] | None = None,
) -> _core.GenerationOptions:
    """How a caller wants a generation, as the runtime takes it."""
    if on_progress is not None:
        check_function("on_progress", on_progress)
    options = _core.GenerationOptions(
        settings_of(names),
        processor_calls(logits_processor),
        sampler_call(sampler),
        on_piece,
        on_progress,
    )
    options.end_by(criterion_calls(stopping_criteria))
    return options


def settings_of(names: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields of transformers' GenerationConfig as the runtime takes them: names with JSON."""
    settings = []
    for name, value in names.items():
        given = value
        if isinstance(value, Mapping):  # of tuples of tokens: sequence_bias
            given = [[key, each] for key, each in value.items()]
        try:
            text = json.dumps(given, default=_numbers_of, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ContractError(f"{name} is {value!r}, which is no plain value: {error}") from error
        settings.append((checked_text("an option's name", name), text))
    return settings


def _numbers_of(value: Any) -> Any:
    """A NumPy or torch value as numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is none")


def checked_text(name: str, value: Any) -> str:
    """Text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise ContractError(f"{name} is a {type(value).__name__}; a str is needed")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ContractError(f"{name} is no valid Unicode: {error}") from error
    return value


def prompts_of(
    name: str, given: Any, attention_mask: Any = None, padding: int | None = None
) -> list[Prompt]:
    """Prompts, from a list of ids, a list of lists, or an array of one or two dimensions.

    Padding is taken away: where the mask is 0, or without one, and only of arrays, the padding
    tokens at the beginning.
    """
    ids = ids_of(name, given, attention_mask, padding, _without_beginning)
    rows = [[_id_of(name, token) for token in row] for row in _rows_of(name, given)]
    return [Prompt(*each) for each in zip(rows, ids, strict=True)]


def ids_of(
    name: str,
    given: Any,
    attention_mask: Any = None,
    padding: int | None = None,
    without: Callable[[list[int], int], list[int]] | None = None,
) -> list[list[int]]:
    """Lists of ids, from a list of ids, a list of lists, or an array of one or two dimensions.

    Padding is taken away: where the mask is 0, or without one, and only of arrays, the padding
    tokens at the end, or as ``without`` does it.
    """
    rows = _rows_of(name, given)
    if attention_mask is not None:
        masks = _rows_of("attention_mask", attention_mask)
        if [len(mask) for mask in masks] != [len(row) for row in rows]:
            raise ContractError(f"attention_mask has another shape than {name}")
        rows = [
            [token for token, seen in zip(row, mask, strict=True) if seen]
            for row, mask in zip(rows, masks, strict=True)
        ]
    elif hasattr(given, "tolist") and padding is not None:
        rows = [(without or _without_end)(row, padding) for row in rows]
    return [[_id_of(name, token) for token in row] for row in rows]


def _rows_of(name: str, given: Any) -> list[list[Any]]:
    """What is one row or several, as several."""
    rows = _list_of(given)
    if rows is None:
        raise ContractError(f"{name} is a {type(given).__name__}; ids or lists of ids are needed")
    found = [_list_of(row) for row in rows]
    if all(row is None for row in found):
        return [rows]
    if any(row is None for row in found):
        raise ContractError(f"{name} has ids beside lists of ids")
    return [row for row in found if row is not None]


def _list_of(value: Any) -> list[Any] | None:
    """A sequence or an array as a list; None for anything else."""
    items = value.tolist() if hasattr(value, "tolist") else value
    is_list = isinstance(items, Sequence) and not isinstance(items, str | bytes)
    return list(items) if is_list else None


def _id_of(name: str, token: Any) -> int:
    if isinstance(token, bool) or not hasattr(token, "__index__") or not 0 <= token < 2**32:
        raise ContractError(f"{name} has {token!r}, which is no id of a token")
    return operator.index(token)


def _without_beginning(row: list[int], padding: int) -> list[int]:
    begin = 0
    while begin < len(row) - 1 and row[begin] == padding:
        begin += 1
    return row[begin:]


def _without_end(row: list[int], padding: int) -> list[int]:
    end = len(row)
    while end > 1 and row[end - 1] == padding:
        end -= 1
    return row[:end]


def warn(sentences: Sequence[str]) -> None:
    """Tells what an artifact asks for and gets no effect, at the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=level)
