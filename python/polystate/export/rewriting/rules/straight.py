"""Makes one path of several: statements with branches become values that torch.where chooses."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from polystate.export.rewriting.drafts import CannotRewriteError
from polystate.export.rewriting.rules.conditions import as_tensor, call_of_torch
from polystate.export.rewriting.spots import Spot

# In-place functions of tensors, and what they compute of the old value and an argument.
_IN_PLACE: dict[str, ast.operator] = {
    "add_": ast.Add(),
    "sub_": ast.Sub(),
    "mul_": ast.Mult(),
    "div_": ast.Div(),
}

# Values of names and of the module's tensors, as expressions, by how they are written.
_Values = dict[str, ast.expr]


class _Known(ast.NodeTransformer):
    """Puts the values that are known in the place of names and of the module's tensors."""

    def __init__(self, values: _Values) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._values.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        known = self._values.get(ast.unparse(node))
        return self.generic_visit(node) if known is None else known


class Straight:
    """Statements without branches that do what statements with branches do.

    Every value has a name of its own; one that is used once is written where it is used.
    """

    def __init__(self, spot: Spot) -> None:
        self._spot = spot
        self._computed: dict[str, ast.expr] = {}

    def of(self, block: list[ast.stmt], *, may_return: bool) -> str:
        """Convert the statements of a block; CannotRewriteError where they are not simple."""
        values, result = self._run(block, {})
        if result is not None and not may_return:
            raise CannotRewriteError("a branch inside of another block returns")
        if not values and result is None:
            raise CannotRewriteError("the branches do nothing")
        if result is not None:  # then names are not read any more
            values = {target: value for target, value in values.items() if "." in target}
        return "\n".join(self._written(values, result))

    def _run(self, block: list[ast.stmt], values: _Values) -> tuple[_Values, ast.expr | None]:
        """What is known after a block, and what it returns."""
        values = dict(values)
        for place, statement in enumerate(block):
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    raise CannotRewriteError("a branch returns nothing")
                return values, self._known(statement.value, values)
            if isinstance(statement, ast.If):
                merged, result = self._choose(statement, block[place + 1 :], values)
                values.update(merged)
                if result is not None:
                    return values, result
            elif not isinstance(statement, ast.Pass):
                target, value = _assigned(statement)
                values[target] = self._named(target, self._known(value, values))
        return values, None

    def _choose(
        self, statement: ast.If, rest: list[ast.stmt], values: _Values
    ) -> tuple[_Values, ast.expr | None]:
        test = self._named("chosen", self._known(as_tensor(statement.test), values))
        first, result = self._run(statement.body, values)
        if result is None:
            second, other = self._run(statement.orelse, values)
            if other is not None:
                raise CannotRewriteError("one branch returns, the other does not")
        else:
            second, other = self._run([*statement.orelse, *rest], values)
            if other is None:
                raise CannotRewriteError("one path returns, the other does not")
        merged = {}
        for target in dict.fromkeys([*first, *second]):
            if result is not None and "." not in target:
                continue  # a name, which is not read any more
            before = values.get(target, ast.parse(target, mode="eval").body)
            a, b = first.get(target, before), second.get(target, before)
            if ast.dump(a) != ast.dump(b):
                merged[target] = self._named(target, call_of_torch("where", [test, a, b]))
        if result is None or other is None:
            return merged, None
        return merged, _where(test, result, other)

    def _known(self, value: ast.expr, values: _Values) -> ast.expr:
        _refuse_effects(value)
        known = _Known(values).visit(ast.parse(ast.unparse(value), mode="eval").body)
        assert isinstance(known, ast.expr)
        return known

    def _named(self, target: str, value: ast.expr) -> ast.expr:
        """A name for a value, until it is written."""
        if isinstance(value, ast.Name | ast.Constant):
            return value
        stem = target.rpartition(".")[2]
        name = f"{stem if stem == 'chosen' else f'new_{stem}'} {len(self._computed)}"
        self._computed[name] = value
        return ast.Name(name, ast.Load())

    def _written(self, values: _Values, result: ast.expr | None) -> list[str]:
        ends = [*values.values(), *([] if result is None else [result])]
        keeps_names = len(ends) > 1  # what is set first may be read by what is set next
        reads = _reads([*self._computed.values(), *ends])
        kept = {_name(value) for value in ends} if keeps_names else set()
        known: _Values = {}
        written: dict[str, str] = {}  # by the names that it gets
        for name, value in self._computed.items():
            if reads.get(name, 0) == 1 and name not in kept:
                known[name] = _Known(known).visit(value)
            elif reads.get(name, 0):
                chosen = self._free(name.partition(" ")[0], written)
                written[chosen] = _text(value, known)
                known[name] = ast.Name(chosen, ast.Load())
        if result is not None and keeps_names:
            chosen = self._free("result", written)
            written[chosen] = _text(result, known)
            result = ast.Name(chosen, ast.Load())
        lines = [f"{name} = {text}" for name, text in written.items()]
        for target, value in values.items():
            text = _text(value, known)
            lines.append(f"{target}.copy_({text})" if "." in target else f"{target} = {text}")
        return lines if result is None else [*lines, f"return {_text(result, known)}"]

    def _free(self, name: str, taken: dict[str, str]) -> str:
        """A name that neither the function nor what is written has."""
        result, number = self._spot.fresh(name), 2
        while result in taken:
            result, number = self._spot.fresh(f"{name}_{number}"), number + 1
        return result


def _text(value: ast.expr, known: _Values) -> str:
    written = _Known(known).visit(copy.deepcopy(value))
    if isinstance(written, ast.Tuple):
        return ", ".join(map(ast.unparse, written.elts))
    return ast.unparse(written)


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr]:
    """What a statement sets, a name or a tensor of the module, and to what."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            return _target(target), value
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            return target.id, value
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
            return _target(target), ast.BinOp(_loaded(target), op, value)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Attribute() as target, attr=name),
                args=[value],
                keywords=[],
            )
        ):
            if name == "copy_":
                return _target(target), value
            if name in _IN_PLACE:
                return _target(target), ast.BinOp(_loaded(target), _IN_PLACE[name], value)
    raise CannotRewriteError(f"no value that torch.where could choose: {ast.unparse(statement)}")


def _target(node: ast.Name | ast.Attribute) -> str:
    text = ast.unparse(node)
    if isinstance(node, ast.Attribute) and not text.startswith("self."):
        raise CannotRewriteError(f"{text} is set, which is not the module's own")
    return text


def _loaded(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body


def _refuse_effects(value: ast.expr) -> None:
    """Both paths are computed, so that neither may change anything by the way."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name.endswith("_") and not name.startswith("_"):
                raise CannotRewriteError(f"a branch changes something: {ast.unparse(node)}")
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            raise CannotRewriteError(f"a branch sets something: {ast.unparse(node)}")


def _where(test: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    """The choice between two results, element by element where they are tuples."""
    if isinstance(a, ast.Tuple) and isinstance(b, ast.Tuple) and len(a.elts) == len(b.elts):
        pairs = zip(a.elts, b.elts, strict=True)
        return ast.Tuple([call_of_torch("where", [test, x, y]) for x, y in pairs], ast.Load())
    return call_of_torch("where", [test, a, b])


def _reads(values: Iterable[ast.expr]) -> dict[str, int]:
    reads: dict[str, int] = {}
    for value in values:
        for node in ast.walk(value):
            if isinstance(node, ast.Name):
                reads[node.id] = reads.get(node.id, 0) + 1
    return reads


def _name(value: ast.expr) -> str:
    return value.id if isinstance(value, ast.Name) else ""
