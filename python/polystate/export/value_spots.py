"""All places of a method at which a trace lacks the values of a tensor, by torch's draft export.

A draft export goes on with the values of the examples where an export stops.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch._logging._internal import DTRACE_ENV_VAR
from torch.export import _draft_export

from polystate.export.diagnosis.lines import is_users, line_at, line_of_error
from polystate.export.method import Method, as_forward, resolve
from polystate.export.tracing.eager import EagerModule
from polystate.export.tracing.printed_graphs import no_printed_graphs

# By what PyTorch logs.
_TOLD = {
    "propagate_real_tensors_provenance": "depends on the values of a tensor",
    "missing_fake_kernel": "calls an operator that PyTorch cannot trace: {op}",
    "mismatched_fake_kernel": "calls an operator whose rule for shapes is wrong: {op}",
}

# The first one's records are what is read; the others' would be shown.
_LOGGERS = ("torch.__trace", _draft_export.__name__, "torch.fx.experimental.symbolic_shapes")


@dataclass(frozen=True)
class ValueSpot:
    """A line of the user's, and what a trace lacks there."""

    line: str
    told: str


def value_spots(model: torch.nn.Module, name: str, method: Method) -> tuple[ValueSpot, ...]:
    """The places of a method, in the order in which it comes to them; empty: none is found.

    Where a draft export fails, too, the place at which it does is the last one.
    """
    eager = EagerModule(model)
    args, kwargs = method.examples()
    last = ""
    with (
        _recorded() as logs,
        eager.restored(),
        as_forward(model, resolve(model, name, method)) as module,
        no_printed_graphs(),
        torch.no_grad(),
    ):
        try:
            torch.export.draft_export(
                module, args, kwargs, dynamic_shapes=method.dynamic_shapes, strict=False
            )
        except Exception as error:  # any of PyTorch's, or of the user's code
            last = line_of_error(error)
    names = {contents[1]: contents[0] for kind, contents in logs if kind == "str"}
    spots = [_spot(kind, contents, names) for kind, contents in logs]
    found = [spot for spot in spots if spot is not None]
    if last and all(spot.line != last for spot in found):
        found.append(ValueSpot(last, "stops the search, so that there may be more behind it"))
    return tuple(dict.fromkeys(found))


@contextlib.contextmanager
def _recorded() -> Iterator[list[tuple[str, Any]]]:
    """What a draft export logs, its failures among it; nothing is shown, and no file is kept."""
    found: list[tuple[str, Any]] = []

    class Recorded(_draft_export.CaptureStructuredTrace):
        def __exit__(self, *raised: Any) -> None:
            found.extend(self.log_record.logs)
            super().__exit__(*raised)

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(each.propagate, each.level) for each in loggers]
    with (
        tempfile.TemporaryDirectory(prefix="polystate-") as folder,
        mock.patch.dict(os.environ, {DTRACE_ENV_VAR: folder}),
        mock.patch.object(_draft_export, "CaptureStructuredTrace", Recorded),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for each in loggers:
            each.propagate = False
        for each in loggers[1:]:
            each.setLevel(logging.CRITICAL)
        try:
            yield found
        finally:
            for each, (propagate, level) in zip(loggers, before, strict=True):
                each.propagate = propagate
                each.setLevel(level)


def _spot(kind: str, contents: Any, names: dict[int, str]) -> ValueSpot | None:
    told = _TOLD.get(kind)
    if told is None:
        return None
    places = list(_places(contents, names))
    if not places and "op" not in contents:
        return None
    line = line_at(*places[-1]) if places else ""
    return ValueSpot(line, told.format(op=contents.get("op", "")))


def _places(data: dict[str, Any], names: dict[int, str]) -> Iterator[tuple[str, int]]:
    for frame in data.get("user_stack") or data.get("stack") or ():
        path = names.get(frame["filename"], str(frame["filename"]))
        if is_users(path) and Path(path).is_file():
            yield path, int(frame["line"])
