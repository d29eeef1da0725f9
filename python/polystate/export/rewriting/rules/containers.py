"""Lists and dictionaries of tensors that a method changes, as buffers."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator

import torch

from polystate.export.method import resolve
from polystate.export.rewriting.drafts import CannotRewriteError, Draft, copied
from polystate.export.rewriting.rules.attributes import Attribute
from polystate.export.rewriting.spots import Problem
from polystate.export.rewriting.texts import Edit, Function, Text, statements

# How many rows a buffer has that stands for a list, until the user says so.
MOST_ROWS = 64

_IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


def list_as_buffer(draft: Draft, problem: Problem) -> str:
    """Makes a list of tensors one buffer, and a buffer for how much of it is used."""
    attribute = Attribute.of(draft, problem)
    lists = [getattr(module, attribute.name, None) for module in attribute.modules()]
    if not all(isinstance(each, list) and not each for each in lists):
        raise CannotRewriteError("the attribute is no list that is empty at first")
    row = _row(draft, problem)
    edits: dict[str, list[Edit]] = {}
    for code, text, function in attribute.functions():
        changes = _list_edits(attribute, text, function, row)
        if changes:
            edits.setdefault(code.path, []).extend(changes)
    for module in attribute.modules():
        delattr(module, attribute.name)
        rows = torch.zeros(MOST_ROWS, *row.shape, dtype=row.dtype)
        module.register_buffer(attribute.name, rows)
        module.register_buffer(_used(attribute), torch.tensor(0))
    attribute.edit(edits)
    return (
        f"{attribute.written} is one buffer of {MOST_ROWS} rows, and {_used(attribute)} says how "
        f"many are used; write the number that you need"
    )


def _used(attribute: Attribute) -> str:
    return f"{attribute.name}_used"


def _row(draft: Draft, problem: Problem) -> torch.Tensor:
    """What the list gets, found by a call of a copy."""
    model, methods = copied(draft.model, draft.methods, shares_parameters=False)
    for name, method in methods.items():
        args, kwargs = method.examples()
        with torch.no_grad(), contextlib.suppress(Exception):
            resolve(model, name, method)(*args, **kwargs)
    attribute = Attribute.of(draft, problem)
    path = next(name for name, each in draft.model.named_modules() if each is attribute.owner)
    rows = getattr(model.get_submodule(path), attribute.name)
    tensors = [row for row in rows if isinstance(row, torch.Tensor)]
    if not tensors or len(tensors) != len(rows) or len({row.shape for row in tensors}) > 1:
        raise CannotRewriteError("the list does not get tensors of one shape")
    return tensors[0]


def _list_edits(
    attribute: Attribute, text: Text, function: Function, row: torch.Tensor
) -> list[Edit]:
    edits = []
    for statement in statements(function):
        if not any(attribute.is_meant(node) for node in _own_expressions(statement)):
            continue
        match statement:
            case ast.Assign(targets=[target], value=ast.List(elts=[])) if attribute.is_meant(
                target
            ):
                edits.append(Edit.replace(statement, _registered(attribute, row)))
            case ast.AnnAssign(target=target, value=ast.List(elts=[])) if attribute.is_meant(
                target
            ):
                edits.append(Edit.replace(statement, _registered(attribute, row)))
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=of, attr="append"), args=[value])
            ) if attribute.is_meant(of):
                edits.append(Edit.replace(statement, _appended(attribute, text, value)))
            case _:
                edits += _read_edits(attribute, statement)
    return edits


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of statements inside of it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]


def _registered(attribute: Attribute, row: torch.Tensor) -> str:
    sizes = ", ".join(str(size) for size in (MOST_ROWS, *row.shape))
    dtype = "" if row.dtype == torch.float32 else f", dtype={row.dtype}"
    return (
        f'self.register_buffer("{attribute.name}", torch.zeros({sizes}{dtype}))\n'
        f'self.register_buffer("{_used(attribute)}", torch.tensor(0))'
    )


def _appended(attribute: Attribute, text: Text, value: ast.expr) -> str:
    used = f"self.{_used(attribute)}"
    given = text.segment(value)
    if not isinstance(value, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
        given = f"({given})"
    return f"{attribute.written}.index_copy_(0, {used}.reshape(1), {given}[None])\n{used}.add_(1)"


class _ReadRows(ast.NodeTransformer):
    """Reads of a list as reads of the rows that are used."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self.slices = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if len(node.args) >= 1 and self._attribute.is_meant(node.args[0]):
            called, others = ast.unparse(node.func), [*node.args[1:], *node.keywords]
            is_first = all(ast.unparse(each) in ("0", "dim=0") for each in others)
            if called == "len":
                return _parsed(f"self.{_used(self._attribute)}")
            if called == "sum":
                return _parsed(f"{self._attribute.written}.sum(0)")
            if called in ("torch.stack", "torch.cat") and is_first:
                self.slices = True
                rows = f"{self._attribute.written}[:used]"
                return _parsed(rows if called == "torch.stack" else f"{rows}.flatten(0, 1)")
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if self._attribute.is_meant(node.value) and ast.unparse(node.slice) == "-1":
            last = f"(self.{_used(self._attribute)} - 1).reshape(1)"
            return _parsed(f"{self._attribute.written}.index_select(0, {last})[0]")
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self._attribute.is_meant(node):
            raise CannotRewriteError("the list is used in a way that a buffer cannot be")
        return self.generic_visit(node)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _read_edits(attribute: Attribute, statement: ast.stmt) -> list[Edit]:
    if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
        raise CannotRewriteError("the list is read in a test or a loop")
    value = statement.value
    assert value is not None
    change = _ReadRows(attribute)
    result = change.visit(_parsed(ast.unparse(value)))
    edits = [Edit.replace(value, ast.unparse(result))]
    if change.slices:
        lines = f"used = self.{_used(attribute)}.item()\ntorch._check(used >= 0)\n"
        edits.append(Edit.before(statement, f"{lines}torch._check(used <= {MOST_ROWS})"))
    return edits


def dictionary_as_buffers(draft: Draft, problem: Problem) -> str:
    """Makes each value of a dictionary a buffer."""
    attribute = Attribute.of(draft, problem)
    dictionaries = [getattr(module, attribute.name, None) for module in attribute.modules()]
    if not all(_is_plain(each) for each in dictionaries):
        raise CannotRewriteError("the attribute is no dictionary of tensors by names")
    edits: dict[str, list[Edit]] = {}
    for code, text, function in attribute.functions():
        for statement in statements(function):
            if any(attribute.is_meant(node) for node in _own_expressions(statement)):
                edits.setdefault(code.path, []).append(_by_key(attribute, text, statement))
    for module in attribute.modules():
        dictionary: dict[str, torch.Tensor] = getattr(module, attribute.name)
        delattr(module, attribute.name)
        for key, value in dictionary.items():
            module.register_buffer(f"{attribute.name}_{key}", value.detach().clone())
    attribute.edit(edits)
    return f"each value of {attribute.written} is a buffer"


def _is_plain(value: object) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(key, str) and key.isidentifier() for key in value)
        and all(isinstance(each, torch.Tensor) for each in value.values())
    )


def _by_key(attribute: Attribute, text: Text, statement: ast.stmt) -> Edit:
    match statement:
        case ast.Assign(targets=[target], value=ast.Dict(keys=keys, values=values)) if (
            attribute.is_meant(target)
        ):
            lines = [
                f'self.register_buffer("{attribute.name}_{_key(key)}", {text.segment(value)})'
                for key, value in zip(keys, values, strict=True)
            ]
            return Edit.replace(statement, "\n".join(lines))
        case ast.Assign(targets=[ast.Subscript() as target], value=value) if attribute.is_meant(
            target.value
        ):
            read = ast.unparse(_ByKey(attribute).visit(_parsed(ast.unparse(value))))
            return Edit.replace(statement, f"{_buffer(attribute, target)}.copy_({read})")
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value) if (
            attribute.is_meant(target.value) and type(op) in _IN_PLACE
        ):
            read = ast.unparse(_ByKey(attribute).visit(_parsed(ast.unparse(value))))
            function = _IN_PLACE[type(op)]
            return Edit.replace(statement, f"{_buffer(attribute, target)}.{function}({read})")
        case ast.Assign() | ast.Return() | ast.Expr() | ast.AugAssign():
            changed = _ByKey(attribute).visit(ast.parse(ast.unparse(statement)))
            return Edit.replace(statement, ast.unparse(changed))
    raise CannotRewriteError("the dictionary is read in a test or a loop")


def _key(key: ast.expr | None) -> str:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise CannotRewriteError("keys of the dictionary are computed")
    return key.value


def _buffer(attribute: Attribute, node: ast.Subscript) -> str:
    return f"{attribute.written}_{_key(node.slice)}"


class _ByKey(ast.NodeTransformer):
    """Values of a dictionary as buffers."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if self._attribute.is_meant(node.value):
            return _parsed(_buffer(self._attribute, node))
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self._attribute.is_meant(node):
            raise CannotRewriteError("the dictionary is used as a whole")
        return self.generic_visit(node)
