"""What is to change where the user asks for the export, not in the module."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import torch
from torch.export import Dim
from torch.export.dynamic_shapes import _DimHint
from torch.utils import _pytree as pytree

from polystate.export.rewriting.drafts import CannotRewriteError, Draft, place_of
from polystate.export.rewriting.spots import Problem
from polystate.export.rewriting.texts import Edit, Text

_EXPORTS = ("explain", "export")

# What an unbounded dimension gets at least, until the user says so.
_LEAST_MAXIMUM = 64


def in_eval_mode(draft: Draft, problem: Problem) -> str:
    """Exports the module in the mode in which it does not draw random numbers."""
    if not any(module.training for module in draft.model.modules()):
        raise CannotRewriteError("the module is in eval mode")
    draft.model.eval()
    found = _calling(draft, problem)
    if found is not None:
        text, node = found
        given = _model_of(node)
        if given is not None:
            draft.edit(text.path, [Edit.replace(given, f"{text.segment(given)}.eval()")])
    return "model.eval() is called before the export, and nothing is dropped then"


def _calling(draft: Draft, problem: Problem) -> tuple[Text, ast.AST] | None:
    """The call of an export, or the function that returns the module, with its file's text."""
    place = place_of(problem.called_at)
    if place is None:
        return None
    text = draft.text(place[0])
    around = [
        node
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Call | ast.FunctionDef)
        and node.lineno <= place[1] <= (node.end_lineno or 0)
        and _model_of(node) is not None
    ]
    return (text, around[-1]) if around else None


def _model_of(node: ast.AST) -> ast.expr | None:
    """The expression that gives the module."""
    match node:
        case ast.Call(func=called) if ast.unparse(called).rpartition(".")[2] in _EXPORTS:
            named = [each.value for each in node.keywords if each.arg == "model"]
            return next(iter([*node.args, *named]), None)
        case ast.FunctionDef(body=[*_, ast.Return(value=ast.Tuple(elts=[module, _]))]):
            return module
    return None


def give_maximum(draft: Draft, problem: Problem) -> str:
    """Gives dimensions without a maximum one."""
    maximum = _LEAST_MAXIMUM
    for name, method in draft.methods.items():
        for leaf in pytree.tree_leaves((tuple(method.args), dict(method.kwargs))):
            if isinstance(leaf, torch.Tensor):
                while maximum < 2 * max(leaf.shape, default=0):
                    maximum *= 2
        shapes = _bounded(method.dynamic_shapes, maximum, {})
        draft.methods[name] = dataclasses.replace(method, dynamic_shapes=shapes)
    place = place_of(problem.called_at)
    if place is not None:
        edits = _maximum_edits(draft.text(place[0]), maximum)
        if edits:
            draft.edit(place[0], edits)
    return f"dimensions without a maximum get {maximum}; write the number that you need"


def _bounded(value: Any, maximum: int, known: dict[str, Any]) -> Any:
    """Dynamic shapes whose dimensions all have a maximum."""
    if isinstance(value, dict):
        return {key: _bounded(each, maximum, known) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_bounded(each, maximum, known) for each in value)
    if isinstance(value, _DimHint) and value.max is None:
        return dataclasses.replace(value, max=maximum)
    if type(value) is Dim and not isinstance(value.max, int):
        return known.setdefault(value.__name__, Dim(value.__name__, min=value.min, max=maximum))
    return value


def _maximum_edits(text: Text, maximum: int) -> list[Edit]:
    called = {id(node.func) for node in ast.walk(text.tree) if isinstance(node, ast.Call)}
    edits = []
    for node in ast.walk(text.tree):
        match node:
            case ast.Attribute(attr="AUTO" | "DYNAMIC") if id(node) not in called:
                edits.append(Edit.replace(node, f"{text.segment(node)}(max={maximum})"))
            case ast.Call(func=function) if ast.unparse(function).rpartition(".")[2] == "Dim":
                if all(each.arg != "max" for each in node.keywords):
                    written = text.segment(node).removesuffix(")")
                    edits.append(Edit.replace(node, f"{written}, max={maximum})"))
    return edits
