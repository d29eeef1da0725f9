"""Calls of NumPy as those of PyTorch."""

from __future__ import annotations

import ast

import torch

from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.rules.conditions import call_of_torch
from polystate.export.rewriting.spots import Problem, spot_of
from polystate.export.rewriting.texts import Edit

# What NumPy's functions are called in PyTorch, where that is not the same.
_NAMES = {
    "concatenate": "cat",
    "power": "pow",
    "absolute": "abs",
    "max": "amax",
    "min": "amin",
    "amax": "amax",
    "amin": "amin",
    "asarray": "",
    "array": "",
    "ascontiguousarray": "",
}
_ARGUMENTS = {"axis": "dim", "keepdims": "keepdim", "a_min": "min", "a_max": "max"}
_TO_NUMPY = ("numpy", "cpu", "detach")
_FROM_NUMPY = ("from_numpy", "as_tensor", "tensor", "asarray")


class _AsTorch(ast.NodeTransformer):
    def __init__(self, numpy_names: set[str]) -> None:
        self._numpy = numpy_names
        self.changed = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute):
            return node
        if function.attr in _TO_NUMPY and not node.args:
            self.changed |= function.attr == "numpy"
            return function.value
        of = function.value.id if isinstance(function.value, ast.Name) else ""
        if of == "torch" and function.attr in _FROM_NUMPY and len(node.args) == 1:
            return node.args[0]
        if of not in self._numpy:
            return node
        name = _NAMES.get(function.attr, function.attr)
        self.changed = True
        if not name:
            return node.args[0]
        if not hasattr(torch, name):
            raise CannotRewriteError(f"PyTorch has no function {function.attr}")
        call = call_of_torch(name, node.args)
        call.keywords = [
            ast.keyword(_ARGUMENTS.get(each.arg or "", each.arg), each.value)
            for each in node.keywords
        ]
        return call


def write_with_torch(draft: Draft, problem: Problem) -> str:
    """Calls PyTorch's functions in the whole of the function."""
    spot = spot_of(draft, problem.line)
    known = spot.code.function.__globals__
    names = {name for name, value in known.items() if getattr(value, "__name__", "") == "numpy"}
    edits = []
    for statement in spot.function.body:
        for node in ast.walk(statement):
            value = getattr(node, "value", None)
            if isinstance(node, ast.stmt) and isinstance(value, ast.expr):
                change = _AsTorch(names)
                result = change.visit(ast.parse(ast.unparse(value), mode="eval").body)
                if change.changed:
                    edits.append(Edit.replace(value, ast.unparse(result)))
    if not edits:
        raise CannotRewriteError("the function calls nothing of NumPy's by its name")
    draft.edit(spot.code.path, edits)
    return "PyTorch's functions compute it"
