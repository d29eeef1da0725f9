"""The faults that sources of Python may have."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tools.seed_faults.faults import Change

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_OPPOSITES = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
}
# What has no number.
_COLLECTIONS = (ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set, ast.JoinedStr)
# What only makes text, says what types are, or is done once more elsewhere.
_QUIET_CALLS = {
    "isinstance",
    "issubclass",
    "cast",
    "warn",
    "print",
    "lint",
    "recompile",
    "manual_seed",
}
# What gives the same for swapped arguments, or takes none that are alike.
_NEVER_SWAPPED = {
    "max",
    "min",
    "equal",
    "allclose",
    "isclose",
    "gcd",
    "lcm",
    "getattr",
    "hasattr",
    "setattr",
}
_QUIET_KEYWORDS = {"strict", "indent", "stacklevel", "exist_ok", "prefix", "encoding"}

# The types of the parameters of all functions and classes of a name.
_Parameters = dict[str, list[list[str]]]


class _Source:
    """A source, its tree, and where the nodes of the tree are in its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._lines = [line.encode() for line in text.split("\n")]
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Return where a node's line and its column, which counts bytes, are in the text."""
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.text[self.start(node) : self.end(node)]

    def between(
        self, kind: str, left: ast.expr, right: ast.expr, signs: tuple[str, str]
    ) -> Iterator[Change]:
        """Give the change of the operator between two operands, in or without brackets."""
        start, end = self.end(left), self.start(right)
        sign, other = signs
        found = re.fullmatch(rf"[\s)]*({re.escape(sign)})[\s(]*", self.text[start:end])
        if found:
            text = f"'{sign}' becomes '{other}'"
            yield Change(kind, start + found.start(1), start + found.end(1), other, text)

    def replaced(
        self, kind: str, first: ast.expr | ast.stmt, last: ast.expr | ast.stmt, replacement: str
    ) -> Iterator[Change]:
        """Give the change of the text from one node to another, if it is one line."""
        start, end = self.start(first), self.end(last)
        before = self.text[start:end]
        if "\n" not in before:
            text = f"'{before}' becomes '{replacement}'"
            yield Change(kind, start, end, replacement, text)


def changes(texts: Mapping[str, str]) -> Iterator[tuple[str, Change]]:
    """Give the changes of sources, by file, that may be faults."""
    sources = {file: _Source(text) for file, text in texts.items()}
    parameters = _parameters(source.tree for source in sources.values())
    for file, source in sources.items():
        visitor = _Visitor(source, parameters)
        visitor.visit(source.tree)
        for change in visitor.found:
            yield file, change


def _parameters(trees: Iterable[ast.Module]) -> _Parameters:
    """Find the types of the parameters of functions and classes."""
    parameters: _Parameters = defaultdict(list)
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            arguments = [each for each in node.args.args if each.arg not in ("self", "cls")]
            types = [each.annotation for each in arguments]
        elif isinstance(node, ast.ClassDef):
            types = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
        else:
            continue
        parameters[node.name].append([ast.dump(each) if each else "" for each in types])
    return parameters


def differs(before: str, after: str) -> bool:
    """Whether a source still is one after a change, and another than before."""
    try:
        tree = ast.parse(after)
        compile(tree, "", "exec")
    except SyntaxError:
        return False
    return ast.dump(tree) != _dumped(before)


@functools.lru_cache
def _dumped(source: str) -> str:
    return ast.dump(ast.parse(source))


class _Visitor(ast.NodeVisitor):
    """Collects the changes of a source, but for what only makes text or says what types are."""

    def __init__(self, source: _Source, parameters: _Parameters) -> None:
        self.source = source
        self.found: list[Change] = []
        self._function: _Function | None = None
        self._choices: set[ast.expr] = set()
        self._parameters = parameters

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, _Function(node)
        for child in [*node.args.defaults, *node.args.kw_defaults, *node.body]:
            if child is not None:
                self.visit(child)
        self._function = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for child in node.body:
            self.visit(child)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            super().generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and _name(node.value.func) not in _QUIET_CALLS:
            self._drop(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._function is None or not self._function.is_message(node.targets):
            if self._function is not None and self._function.is_set_before(node.targets):
                self._drop(node)
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        signs = _ARITHMETIC.get(type(node.op))
        if signs and not _is_collection(node.value):
            assigning = (f"{signs[0]}=", f"{signs[1]}=")
            self.found += self.source.between("arithmetic", node.target, node.value, assigning)
        self._drop(node)
        self.generic_visit(node)

    def _drop(self, node: ast.stmt) -> None:
        self.found += self.source.replaced("dropped statement", node, node, "pass")

    def visit_If(self, node: ast.If) -> None:
        if _name(node.test) == "TYPE_CHECKING":
            return
        self._negate(node.test)
        source, start = self.source, self.source.start(node)
        raises = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
        if raises and not source.text.startswith("elif", start):
            text = f"'if {source.of(node.test)}' and what it raises is left out"
            self.found.append(Change("dropped check", start, source.end(node), "pass", text))
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._negate(condition)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        self.found += self.source.replaced("condition", test, test, f"not ({self.source.of(test)})")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._choices.add(node.test)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        signs = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self.found += self.source.between("condition", left, right, signs)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = pairwise([node.left, *node.comparators])
        for op, (left, right) in zip(node.ops, operands, strict=True):
            sign, other = _COMPARISONS[type(op)]
            # At the border, a choice between two equal values is none.
            other = _OPPOSITES.get(sign, other) if node in self._choices else other
            self.found += self.source.between("comparison", left, right, (sign, other))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        signs = _ARITHMETIC.get(type(node.op))
        if signs and not _is_collection(node):
            self.found += self.source.between("arithmetic", node.left, node.right, signs)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.found += self.source.replaced("constant", node, node, str(not node.value))
        elif isinstance(node.value, int):
            self.found += self.source.replaced("constant", node, node, str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name in _QUIET_CALLS:
            return
        if name not in _NEVER_SWAPPED:
            for i, (left, right) in enumerate(pairwise(node.args)):
                if self._has_one_type(name, i) and _may_swap(left, right):
                    self._swap(left, right)
        for child in [node.func, *node.args]:
            self.visit(child)
        for keyword in node.keywords:
            if keyword.arg not in _QUIET_KEYWORDS:
                self.visit(keyword.value)

    def _has_one_type(self, function: str, i: int) -> bool:
        """Whether a parameter may have the type of the next one, as far as that is known."""
        functions = self._parameters.get(function, [])
        return all(types[i : i + 1] == types[i + 1 : i + 2] for types in functions)

    def _swap(self, left: ast.expr, right: ast.expr) -> None:
        source = self.source
        between = source.text[source.end(left) : source.start(right)]
        swapped = source.of(right) + between + source.of(left)
        self.found += source.replaced("argument", left, right, swapped)


class _Function:
    """What a function's names are for."""

    def __init__(self, function: ast.FunctionDef) -> None:
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        arguments = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
        messages = [
            node for node in ast.walk(function) if isinstance(node, ast.Raise | ast.JoinedStr)
        ]
        in_messages = {id(node) for message in messages for node in ast.walk(message)}
        self._used = {
            name.id
            for name in names
            if isinstance(name.ctx, ast.Load) and id(name) not in in_messages
        }
        stored = [name.id for name in names if isinstance(name.ctx, ast.Store)] + arguments
        self._set_twice = {name for name in stored if stored.count(name) > 1}

    def is_message(self, targets: list[ast.expr]) -> bool:
        """Whether what is assigned is only used in messages."""
        return all(isinstance(each, ast.Name) and each.id not in self._used for each in targets)

    def is_set_before(self, targets: list[ast.expr]) -> bool:
        """Whether the targets may have a value without an assignment."""
        return all(
            isinstance(each, ast.Attribute | ast.Subscript)
            or (isinstance(each, ast.Name) and each.id in self._set_twice)
            for each in targets
        )


def _name(node: ast.expr) -> str:
    """Return a name, or the last one of a chain; empty for all else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _may_swap(left: ast.expr, right: ast.expr) -> bool:
    """Whether two arguments are different chains of names, or different numbers."""
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Attribute):
        return ast.dump(left) != ast.dump(right)
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        return left.value != right.value and isinstance(left.value, int)
    return isinstance(left, ast.Name) and isinstance(right, ast.Name) and left.id != right.id


def _is_collection(node: ast.expr) -> bool:
    """Whether a sum is one of lists or of text."""
    if isinstance(node, ast.BinOp):
        return _is_collection(node.left) or _is_collection(node.right)
    return isinstance(node, _COLLECTIONS) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
