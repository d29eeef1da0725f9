"""State that is hidden in attributes and parameters, as buffers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from polystate.export.rewriting.drafts import CannotRewriteError, Code, Draft
from polystate.export.rewriting.spots import Problem
from polystate.export.rewriting.texts import Edit, Function, Text, statements

_CHANGED = re.compile(r"changes the (?:attribute|parameter) '(?P<path>[^']+)'")

_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@dataclass(frozen=True)
class Attribute:
    """An attribute of a module, and where its classes are written."""

    draft: Draft
    owner: torch.nn.Module
    name: str

    @staticmethod
    def of(draft: Draft, problem: Problem) -> Attribute:
        """The one that an export says is changed."""
        changed = _CHANGED.search(problem.message)
        if changed is None:
            raise CannotRewriteError("the attribute is not known")
        owner, _, name = changed["path"].rpartition(".")
        return Attribute(draft, draft.model.get_submodule(owner), name)

    @property
    def written(self) -> str:
        """How the code of its module says it."""
        return f"self.{self.name}"

    def functions(self) -> Iterator[tuple[Code, Text, Function]]:
        """The functions of its module's classes, in the text as it is edited."""
        for code in self.draft.codes():
            if isinstance(self.owner, code.owner):
                text = self.draft.text(code.path)
                yield code, text, text.functions()[code.number]

    def edit(self, edits: dict[str, list[Edit]]) -> None:
        """Edits the files; CannotRewriteError where nothing sets the attribute in __init__."""
        for path, each in edits.items():
            self.draft.edit(path, each)

    def modules(self) -> list[torch.nn.Module]:
        """All modules of the class, which has this attribute in each of them."""
        kind = type(self.owner)
        return [module for module in self.draft.model.modules() if isinstance(module, kind)]

    def is_meant(self, node: ast.AST) -> bool:
        """Whether a node is the attribute."""
        return (
            isinstance(node, ast.Attribute)
            and node.attr == self.name
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )


def as_buffer(draft: Draft, problem: Problem) -> str:
    """Registers a number or a tensor as a buffer, and changes it in place."""
    attribute = Attribute.of(draft, problem)
    values = [getattr(module, attribute.name, None) for module in attribute.modules()]
    if not all(isinstance(value, bool | int | float | torch.Tensor) for value in values):
        raise CannotRewriteError("the attribute is neither a number nor a tensor")
    edits: dict[str, list[Edit]] = {}
    is_registered = False
    for code, text, function in attribute.functions():
        for statement in statements(function):
            edit = _set_in_place(attribute, text, statement, starts=code.name == "__init__")
            if edit is not None:
                edits.setdefault(code.path, []).append(edit)
                is_registered |= code.name == "__init__"
    if not is_registered:
        raise CannotRewriteError("__init__ does not set the attribute")
    for module, value in zip(attribute.modules(), values, strict=True):
        delattr(module, attribute.name)
        first = value.detach().clone() if isinstance(value, torch.Tensor) else torch.tensor(value)
        module.register_buffer(attribute.name, first)
    attribute.edit(edits)
    return f"{attribute.written} is a buffer, which is changed in place"


def _set_in_place(
    attribute: Attribute, text: Text, statement: ast.stmt, *, starts: bool
) -> Edit | None:
    """A statement that sets the attribute, as one that sets the buffer."""
    name = attribute.written
    match statement:
        case ast.Assign(targets=[target], value=value) if attribute.is_meant(target):
            pass
        case ast.AnnAssign(target=target, value=ast.expr() as value) if attribute.is_meant(target):
            pass
        case ast.AugAssign(target=target, op=op, value=value) if attribute.is_meant(target):
            function = _IN_PLACE.get(type(op))
            given = text.segment(value)
            if function is None:
                given = ast.unparse(ast.BinOp(target, op, value))
            return Edit.replace(statement, f"{name}.{function or 'copy_'}({given})")
        case _:
            return None
    given = text.segment(value)
    if starts:
        is_number = isinstance(value, ast.Constant | ast.UnaryOp)
        tensor = f"torch.tensor({given})" if is_number else given
        if not is_number and not isinstance(getattr(attribute.owner, attribute.name), torch.Tensor):
            tensor = f"torch.tensor({given})"
        return Edit.replace(statement, f'self.register_buffer("{attribute.name}", {tensor})')
    reads = any(isinstance(node, ast.Attribute | ast.Name) for node in ast.walk(value))
    return Edit.replace(statement, f"{name}.{'copy_' if reads else 'fill_'}({given})")


def parameter_as_buffer(draft: Draft, problem: Problem) -> str:
    """Registers a parameter that is changed as a buffer."""
    attribute = Attribute.of(draft, problem)
    edits: dict[str, list[Edit]] = {}
    for code, text, function in attribute.functions():
        for statement in statements(function):
            match statement:
                case ast.Assign(
                    targets=[target], value=ast.Call(func=called, args=[value, *_])
                ) if attribute.is_meant(target) and ast.unparse(called).endswith("Parameter"):
                    line = f'self.register_buffer("{attribute.name}", {text.segment(value)})'
                    edits.setdefault(code.path, []).append(Edit.replace(statement, line))
    if not edits:
        raise CannotRewriteError("no class of the user's makes the parameter")
    for module in attribute.modules():
        parameter = module._parameters.pop(attribute.name, None)
        if parameter is None:
            raise CannotRewriteError("another module of the class has no such parameter")
        module.register_buffer(attribute.name, parameter.detach().clone())
    attribute.edit(edits)
    return f"{attribute.written} is a buffer"
