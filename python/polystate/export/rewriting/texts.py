"""The text of a source file while it is edited in memory."""

from __future__ import annotations

import ast
import difflib
import functools
import linecache
from collections.abc import Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """A part of a text, from a line and a column in bytes to another, and what replaces it."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    @staticmethod
    def replace(node: ast.expr | ast.stmt, text: str) -> Edit:
        """Puts `text` in the place of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        end = (node.end_lineno, node.end_col_offset)
        return Edit((node.lineno, node.col_offset), end, _indented(text, node.col_offset))

    @staticmethod
    def before(statement: ast.stmt, text: str) -> Edit:
        """Puts lines before a statement."""
        place = (statement.lineno, statement.col_offset)
        text = _indented(text, statement.col_offset)
        return Edit(place, place, text + "\n" + " " * statement.col_offset)

    @staticmethod
    def after(statement: ast.stmt, text: str) -> Edit:
        """Puts lines after a statement."""
        assert statement.end_lineno is not None and statement.end_col_offset is not None
        place = (statement.end_lineno, statement.end_col_offset)
        indent = "\n" + " " * statement.col_offset
        return Edit(place, place, indent + _indented(text, statement.col_offset))

    @staticmethod
    def to_end_of(first: ast.stmt, last: ast.stmt, text: str) -> Edit:
        """Puts `text` in the place of statements that follow one another."""
        assert last.end_lineno is not None and last.end_col_offset is not None
        end = (last.end_lineno, last.end_col_offset)
        return Edit((first.lineno, first.col_offset), end, _indented(text, first.col_offset))


class Text:
    """A file's text: as it is on the disk, and as it is edited."""

    def __init__(self, path: str, now: str | None = None) -> None:
        self.path = path
        self.original = "".join(linecache.getlines(path))
        self.now = self.original if now is None else now

    def edited(self, edits: list[Edit]) -> Text:
        """The text with edits that do not overlap; SyntaxError when it is no Python then."""
        lines = [line.encode() for line in self.now.splitlines(keepends=True)]
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
            (first, left), (last, right) = edit.start, edit.end
            joined = lines[first - 1][:left] + edit.text.encode() + lines[last - 1][right:]
            lines[first - 1 : last] = joined.splitlines(keepends=True)
        text = Text(self.path, b"".join(lines).decode())
        text.tree  # noqa: B018 - parses it
        return text

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the text as it is edited, which nobody changes."""
        return _tree(self.now)

    def functions(self) -> tuple[Function, ...]:
        """All functions in the order of the text."""
        return _functions(self.now)

    def first_import(self) -> ast.stmt:
        """The first import, those of ``__future__`` left out; without one the last statement."""
        imports = [node for node in self.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        others = [node for node in imports if getattr(node, "module", "") != "__future__"]
        return next(iter(others), self.tree.body[-1])

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """A node as it is written; in parentheses where it takes several lines."""
        found = ast.get_source_segment(self.now, node) or ast.unparse(node)
        return ast.unparse(node) if "\n" in found else found

    def diff(self) -> str:
        """A unified diff from the file to the text; empty where nothing was edited."""
        before, after = self.original.splitlines(), self.now.splitlines()
        lines = difflib.unified_diff(before, after, self.path, self.path, n=2, lineterm="")
        return "\n".join(lines)


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> tuple[Function, ...]:
    found = [node for node in ast.walk(_tree(text)) if isinstance(node, Function)]
    return tuple(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def first_line(function: Function) -> int:
    """The line at which Python lets a function begin: its first decorator's."""
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def statements(function: Function) -> Iterator[ast.stmt]:
    """All statements inside a function, those of functions inside of it too."""
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function:
            yield node


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
