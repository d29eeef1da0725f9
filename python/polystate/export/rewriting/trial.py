"""Tries rewrites: one that is exported, and equals the user's module, holds."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from polystate.export.method import Method
from polystate.export.program import Program
from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.likeness import Likeness, likeness
from polystate.export.rewriting.rules.table import RULES
from polystate.export.rewriting.spots import Problem

# How many problems of a method are mended one after another.
_MOST_PROBLEMS = 6

# An export of methods for a backend: the program, or what stops it.
Exported = Callable[[torch.nn.Module, Mapping[str, Method], str], Program | Problem]


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of a method that was tried.

    Attributes
    ----------
    changes
        What was changed, a sentence for each problem.
    diff
        The change of the user's own code, as a unified diff; empty where it is not in a file.
    holds
        Whether the result was exported, and equals the module in all calls that were compared.
    told
        What came of it.
    backend
        By which it was exported.
    seconds
        How long it took to write and to try.
    """

    changes: tuple[str, ...]
    diff: str
    holds: bool
    told: str
    backend: str
    seconds: float


def try_rewrites(
    model: torch.nn.Module,
    methods: Mapping[str, Method],
    problem: Problem,
    backend: str,
    exported: Exported,
) -> Rewrite | None:
    """Mends one problem of a method after another, as long as rules know how.

    Parameters
    ----------
    methods
        The method, by its name.
    problem
        What stops its export.

    Returns
    -------
    Rewrite | None
        None: no rule fits the first problem.
    """
    started = time.monotonic()
    try:
        draft = Draft(model, methods)
    except CannotRewriteError:
        return None
    changes: list[str] = []
    told = ""
    for _ in range(_MOST_PROBLEMS):
        step = _mended(draft, problem, backend, exported)
        if step is None:
            break
        draft, change, result = step
        changes.append(change)
        if isinstance(result, Program):
            found = _likeness(model, methods, draft, result)
            seconds = time.monotonic() - started
            is_like = _is_trained(model) == _is_trained(draft.model)
            told = found.told("your module" if is_like else "your module in eval mode")
            told = f"exports, and {told}"
            return Rewrite(tuple(changes), draft.diff(), found.holds, told, backend, seconds)
        told = f"does not export: {_first(result.message)}"
        if _is_same(problem, result):
            break
        problem = dataclasses.replace(result, called_at=problem.called_at)
    if not changes:
        return None
    seconds = time.monotonic() - started
    return Rewrite(tuple(changes), draft.diff(), False, told, backend, seconds)


def _mended(
    draft: Draft, problem: Problem, backend: str, exported: Exported
) -> tuple[Draft, str, Program | Problem] | None:
    """A draft in which a problem is mended, what was changed, and what its export gives."""
    last = None
    for rule in RULES.get(problem.example or "", ()):
        try:
            candidate = draft.copy()
            change = rule(candidate, problem)
        except CannotRewriteError:
            continue
        result = exported(candidate.model, candidate.methods, backend)
        last = candidate, change, result
        if isinstance(result, Program) or not _is_same(problem, result):
            return last
    return last


def _is_same(before: Problem, after: Problem) -> bool:
    """Whether the problem is still there."""
    text = re.compile(r":\d+: (.*)")
    lines = [text.search(each.line) for each in (before, after)]
    return before.example == after.example and [m and m[1] for m in lines[:1]] == [
        m and m[1] for m in lines[1:]
    ]


def _likeness(
    model: torch.nn.Module, methods: Mapping[str, Method], draft: Draft, program: Program
) -> Likeness:
    (name,) = draft.methods

    def as_draft(users: torch.nn.Module) -> None:
        if not _is_trained(draft.model):
            users.eval()

    return likeness(model, methods[name], draft, name, program.methods[name], as_draft)


def _is_trained(model: torch.nn.Module) -> bool:
    return any(module.training for module in model.modules())


def _first(message: str) -> str:
    return message.splitlines()[0] if message else message
