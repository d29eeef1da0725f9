"""Numbers that are read from tensors: what the program is to know of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.rules.conditions import is_read
from polystate.export.rewriting.spots import Problem, Spot, spot_of
from polystate.export.rewriting.texts import Edit, statements

# How large a tensor may be whose size is read from another one, until the user says so.
MOST = 64

# Functions whose first argument, or whose arguments, are sizes.
_OF_SIZES = ("zeros", "ones", "empty", "full", "arange", "rand", "randn", "new_zeros", "new_ones")


@dataclass
class _Numbers:
    """The numbers that a statement reads, and what has to hold of them.

    Attributes
    ----------
    read
        Names for what is read within an expression, by how it is written.
    """

    spot: Spot
    read: dict[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)

    def name(self, node: ast.expr) -> str | None:
        """How the code says a number that is read from a tensor; None where it is none."""
        if is_read(node):
            written = ast.unparse(node)
            return self.read.setdefault(written, self.spot.fresh(f"number{len(self.read) or ''}"))
        names = [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]
        if any(name in self._known() for name in names):
            return ast.unparse(node)
        if any(is_read(child) for child in ast.walk(node)):
            return ast.unparse(self.renamed(node))
        return None

    def renamed(self, node: ast.expr) -> ast.expr:
        """An expression with the names of what it reads."""
        for child in ast.walk(node):
            if is_read(child):
                self.name(child)  # type: ignore[arg-type]
        copy = _Renamed(self.read).visit(ast.parse(ast.unparse(node), mode="eval").body)
        assert isinstance(copy, ast.expr)
        return copy

    def check(self, condition: str) -> None:
        if condition not in self.checks:
            self.checks.append(condition)

    def _known(self) -> set[str]:
        """Names of numbers that the function has read before."""
        return {
            target.id
            for statement in statements(self.spot.function)
            if isinstance(statement, ast.Assign) and is_read(statement.value)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = self._names.get(ast.unparse(node))
        return self.generic_visit(node) if name is None else ast.Name(name, ast.Load())


def say_range(draft: Draft, problem: Problem) -> str:
    """Says between what limits a number is that a tensor has."""
    spot = spot_of(draft, problem.line)
    numbers = _Numbers(spot)
    for node in ast.walk(spot.statement):
        if isinstance(node, ast.Subscript):
            _of_subscript(numbers, node)
        elif isinstance(node, ast.Call):
            _of_call(numbers, node)
    if not numbers.checks:
        raise CannotRewriteError("no index and no size of the statement is read from a tensor")
    edits = [Edit.before(spot.statement, "\n".join(_lines(numbers)))]
    edits += [Edit.replace(node, numbers.read[ast.unparse(node)]) for node in _replaced(numbers)]
    draft.edit(spot.code.path, edits)
    return "torch._check says the range of the number, which the program then checks"


def limit_size(draft: Draft, problem: Problem) -> str:
    """Gives a size that is read from a tensor a maximum."""
    spot = spot_of(draft, problem.line)
    numbers = _Numbers(spot)
    reads = [node for node in ast.walk(spot.statement) if is_read(node)]
    if not reads:
        raise CannotRewriteError("the statement reads no number from a tensor")
    told = f"the size is at most {MOST}; write the number that you need"
    match spot.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_read(value):
            checks = f"torch._check({name} >= 0)\ntorch._check({name} <= {MOST})"
            draft.edit(spot.code.path, [Edit.after(spot.statement, checks)])
            return told
    for node in reads:
        name = numbers.name(node) or ""  # type: ignore[arg-type]
        numbers.check(f"{name} >= 0")
        numbers.check(f"{name} <= {MOST}")
    edits = [Edit.before(spot.statement, "\n".join(_lines(numbers)))]
    edits += [Edit.replace(node, numbers.read[ast.unparse(node)]) for node in _replaced(numbers)]
    draft.edit(spot.code.path, edits)
    return told


def _lines(numbers: _Numbers) -> list[str]:
    lines = [f"{name} = {written}" for written, name in numbers.read.items()]
    return lines + [f"torch._check({condition})" for condition in numbers.checks]


def _replaced(numbers: _Numbers) -> Iterator[ast.expr]:
    for node in ast.walk(numbers.spot.statement):
        if isinstance(node, ast.expr) and ast.unparse(node) in numbers.read:
            yield node


def _of_subscript(numbers: _Numbers, node: ast.Subscript) -> None:
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(i, ast.Constant) and i.value in (None, ...) for i in indices):
        return
    of = ast.unparse(node.value)
    for dimension, index in enumerate(indices):
        size = f"{of}.shape[{dimension}]"
        if isinstance(index, ast.Slice):
            low = numbers.name(index.lower) if index.lower is not None else None
            high = numbers.name(index.upper) if index.upper is not None else None
            if low is not None:
                numbers.check(f"{low} >= 0")
                numbers.check(f"{low} <= {size}")
            if high is not None and index.upper is not None:
                if low is None:
                    numbers.check(f"{high} >= 0")
                numbers.check(f"{high} <= {size}")
        else:
            name = numbers.name(index)
            if name is not None:
                numbers.check(f"{name} >= 0")
                numbers.check(f"{name} < {size}")


def _of_call(numbers: _Numbers, node: ast.Call) -> None:
    function = node.func
    if not isinstance(function, ast.Attribute):
        return
    if function.attr == "narrow" and len(node.args) == 3:
        dimension, start, length = node.args
        size = f"{ast.unparse(function.value)}.shape[{ast.unparse(dimension)}]"
        for part in (start, length):
            name = numbers.name(part)
            if name is not None:
                numbers.check(f"{name} >= 0")
        end = ast.unparse(numbers.renamed(ast.BinOp(start, ast.Add(), length)))
        if numbers.checks:
            numbers.check(f"{end} <= {size}")
    elif function.attr in _OF_SIZES:
        for argument in node.args:
            name = numbers.name(argument)
            if name is not None:
                numbers.check(f"{name} >= 0")
                numbers.check(f"{name} <= {MOST}")
