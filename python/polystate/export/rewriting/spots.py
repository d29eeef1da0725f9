"""Where in a source a problem lies."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import torch

from polystate.export.rewriting.drafts import CannotRewriteError, Code, Draft, place_of
from polystate.export.rewriting.texts import Function, Text, first_line, statements


@dataclass(frozen=True)
class Problem:
    """What an export said, and of which line.

    Attributes
    ----------
    example
        The page of the example database; None where no page shows it.
    called_at
        The user's line that asks for the export; empty where it is not known.
    """

    message: str
    line: str
    example: str | None
    called_at: str = ""


@dataclass(frozen=True)
class Spot:
    """A statement within a function of the user's class."""

    draft: Draft
    code: Code
    text: Text
    function: Function
    statement: ast.stmt

    @property
    def modules(self) -> list[torch.nn.Module]:
        """The modules that have the function."""
        return self.draft.modules_of(self.code)

    def block(self) -> list[ast.stmt]:
        """The statements among which the statement is."""
        for node in ast.walk(self.function):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and self.statement in block:
                    return block
        return [self.statement]

    def fresh(self, name: str) -> str:
        """A name that the function does not have yet."""
        taken = {node.id for node in ast.walk(self.function) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in ast.walk(self.function) if isinstance(node, ast.arg)}
        number = 2
        result = name
        while result in taken:
            result, number = f"{name}_{number}", number + 1
        return result


def spot_of(draft: Draft, line: str) -> Spot:
    """The innermost statement at a line; CannotRewriteError where it is of no class of a module."""
    place = place_of(line)
    if place is None:
        raise CannotRewriteError("the line is not known")
    path, number = place
    text = draft.text(path)
    for code in draft.codes():
        if code.path == path:
            function = text.functions()[code.number]
            if first_line(function) <= number <= (function.end_lineno or 0):
                return Spot(draft, code, text, function, _innermost(function, number))
    raise CannotRewriteError("the line is not in a class of a module")


def _innermost(function: Function, number: int) -> ast.stmt:
    around = [s for s in statements(function) if s.lineno <= number <= (s.end_lineno or 0)]
    if not around:
        raise CannotRewriteError("the line is not in a statement of a function")
    return max(around, key=lambda statement: statement.lineno)
