"""Branches and loops on values, and what is checked of values."""

from __future__ import annotations

import ast

from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.rules.conditions import as_tensor, is_read
from polystate.export.rewriting.rules.straight import Straight
from polystate.export.rewriting.spots import Problem, Spot, spot_of
from polystate.export.rewriting.texts import Edit

# How often a loop on values runs at most, until the user says so.
MOST_ROUNDS = 16


def choose_by_where(draft: Draft, problem: Problem) -> str:
    """Computes both branches, and chooses."""
    spot = spot_of(draft, problem.line)
    if isinstance(spot.statement, ast.If):
        edits = _straightened(spot)
    else:
        edits = [Edit.replace(node, _where(node)) for node in _outermost_choices(spot.statement)]
    if not edits:
        raise CannotRewriteError("the statement has no branches")
    draft.edit(spot.code.path, edits)
    return "both paths are computed, and torch.where chooses"


def _straightened(spot: Spot) -> list[Edit]:
    block, statement = spot.block(), spot.statement
    rest = block[block.index(statement) :]
    returns = any(isinstance(node, ast.Return) for node in ast.walk(statement))
    if not returns:
        rest = [statement]
    written = Straight(spot).of(rest, may_return=block is spot.function.body)
    return [Edit.to_end_of(rest[0], rest[-1], written)]


def _outermost_choices(node: ast.AST) -> list[ast.IfExp]:
    if isinstance(node, ast.IfExp):
        return [node]
    return [found for child in ast.iter_child_nodes(node) for found in _outermost_choices(child)]


def _where(node: ast.expr) -> str:
    if not isinstance(node, ast.IfExp):
        return ast.unparse(node)
    test = ast.unparse(as_tensor(node.test))
    return f"torch.where({test}, {_where(node.body)}, {_where(node.orelse)})"


def bound_loop(draft: Draft, problem: Problem) -> str:
    """Runs a loop as often as it may be needed, and keeps what is done."""
    spot = spot_of(draft, problem.line)
    loop = spot.statement
    if isinstance(loop, ast.While):
        index, test = "_", loop.test
        check = ast.unparse(ast.UnaryOp(ast.Not(), test))
        check = ast.unparse(as_tensor(ast.parse(check, mode="eval").body))
    elif isinstance(loop, ast.For):
        index, count = _counted(spot, loop)
        test = ast.parse(f"{index} < {count}", mode="eval").body
        check = f"{count} <= {MOST_ROUNDS}"
    else:
        raise CannotRewriteError("the statement is no loop")
    if loop.orelse:
        raise CannotRewriteError("the loop has an else")
    body = Straight(spot).of([ast.If(test, loop.body, [])], may_return=False)
    lines = [f"for {index} in range({MOST_ROUNDS}):"]
    lines += [f"    {line}" for line in body.splitlines()]
    lines += [f'torch._assert_async({check}, "more than {MOST_ROUNDS} rounds")']
    draft.edit(spot.code.path, [Edit.replace(loop, "\n".join(lines))])
    return (
        f"the loop runs {MOST_ROUNDS} times, torch.where keeps what is done, and the program "
        f"refuses what takes more; write the number that you need"
    )


def _counted(spot: Spot, loop: ast.For) -> tuple[str, str]:
    """The name of a loop's index, and the tensor that says how often it runs."""
    match loop:
        case ast.For(
            target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count])
        ):
            if isinstance(count, ast.Name):
                count = _read_before(spot, count.id)
            index = spot.fresh("i") if index == "_" else index
            return index, ast.unparse(as_tensor(count))
    raise CannotRewriteError("the loop is not over range(n)")


def _read_before(spot: Spot, name: str) -> ast.expr:
    """What a name was set to, where that reads a number from a tensor."""
    for node in ast.walk(spot.function):
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == name
            and any(is_read(each) for each in ast.walk(node.value))
        ):
            return node.value
    raise CannotRewriteError(f"{name} is not read from a tensor here")


def check_inside(draft: Draft, problem: Problem) -> str:
    """Makes an assertion, or an exception that is raised, one that the program checks."""
    spot = spot_of(draft, problem.line)
    match spot.statement:
        case ast.Assert(test=test, msg=message):
            wanted = as_tensor(test)
        case ast.If(test=test, body=[ast.Raise(exc=ast.Call(args=[message, *_]))], orelse=[]):
            wanted = as_tensor(ast.UnaryOp(ast.Not(), test))
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            wanted, message = as_tensor(ast.UnaryOp(ast.Not(), test)), None
        case _:
            raise CannotRewriteError("the statement checks nothing")
    told = message if isinstance(message, ast.Constant) else ast.Constant(ast.unparse(test))
    text = f"torch._assert_async({ast.unparse(wanted)}, {_quoted(str(told.value))})"
    draft.edit(spot.code.path, [Edit.replace(spot.statement, text)])
    return "the program checks it"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', "'").replace("\n", " ") + '"'
