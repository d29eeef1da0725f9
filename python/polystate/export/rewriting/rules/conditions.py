"""Tests of values as tensors: what Python's own operators would need a number or a truth for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_NUMBERS = ("bool", "int", "float")


class _AsTensor(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("item", "tolist"):
            return function.value if not node.args else node
        if isinstance(function, ast.Name) and function.id in _NUMBERS and len(node.args) == 1:
            return node.args[0]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        result, *others = node.values
        for other in others:
            result = call_of_torch(name, [result, other])
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return call_of_torch("logical_not", [node.operand])
        return node


def call_of_torch(name: str, arguments: Iterable[ast.expr]) -> ast.Call:
    """A call of a function of torch."""
    function = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


def as_tensor(node: ast.expr) -> ast.expr:
    """An expression without what makes numbers and truths of tensors."""
    copy = ast.parse(ast.unparse(node), mode="eval").body
    result = _AsTensor().visit(copy)
    assert isinstance(result, ast.expr)
    return ast.fix_missing_locations(result)


def is_read(node: ast.AST) -> bool:
    """Whether a number is read from a tensor here."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "item"
        and not node.args
    )
