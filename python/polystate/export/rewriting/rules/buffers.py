"""Buffers that are set in a way that a trace does not see."""

from __future__ import annotations

import ast

from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.spots import Problem, spot_of
from polystate.export.rewriting.texts import Edit


def write_into(draft: Draft, problem: Problem) -> str:
    """Changes a buffer itself, not its ``.data``."""
    spot = spot_of(draft, problem.line)
    match spot.statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Attribute() as buffer, attr="data")]):
            value = spot.text.segment(spot.statement.value)
            text = f"{ast.unparse(buffer)}.copy_({value})"
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Attribute() as buffer, attr="set_"), args=[value]
            )
        ):
            text = f"{ast.unparse(buffer)}.copy_({spot.text.segment(value)})"
        case _:
            text = _without_data(spot.statement)
    draft.edit(spot.code.path, [Edit.replace(spot.statement, text)])
    return "the buffer itself is written into"


class _WithoutData(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node


def _without_data(statement: ast.stmt) -> str:
    before = ast.unparse(statement)
    after = ast.unparse(_WithoutData().visit(ast.parse(before)))
    if before == after:
        raise CannotRewriteError("the statement does not use .data")
    return after


def set_to_copies(draft: Draft, problem: Problem) -> str:
    """Sets buffers to copies of what they are set to."""
    spot = spot_of(draft, problem.line)
    match spot.statement:
        case ast.Assign(targets=[ast.Tuple() as targets], value=ast.Tuple() as values) if len(
            targets.elts
        ) == len(values.elts):
            copies = [f"{spot.text.segment(value)}.clone()" for value in values.elts]
            text = f"{ast.unparse(targets)[1:-1]} = {', '.join(copies)}"
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            text = f"{ast.unparse(target)}.copy_({spot.text.segment(value)})"
        case _:
            raise CannotRewriteError("the statement sets no buffer")
    draft.edit(spot.code.path, [Edit.replace(spot.statement, text)])
    return "the buffers are set to copies"


def return_copies(draft: Draft, problem: Problem) -> str:
    """Returns copies from the branches of torch.cond."""
    spot = spot_of(draft, problem.line)
    branches = [
        argument
        for node in ast.walk(spot.statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cond")
        for argument in node.args[1:3]
        if isinstance(argument, ast.Lambda)
    ]
    edits = [
        Edit.replace(branch.body, f"({spot.text.segment(branch.body)}).clone()")
        if not isinstance(branch.body, ast.Name | ast.Subscript | ast.Attribute | ast.Call)
        else Edit.replace(branch.body, f"{spot.text.segment(branch.body)}.clone()")
        for branch in branches
    ]
    if not edits:
        raise CannotRewriteError("the statement has no branches that are lambdas")
    draft.edit(spot.code.path, edits)
    return "the branches return copies"
