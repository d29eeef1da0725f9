"""The user's own line: of an exception, of a node of a graph, of an assumption on sizes."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import sysconfig
import traceback
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

import executorch
import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import ShapeEnv

_LIBRARIES = (
    sysconfig.get_path("stdlib"),
    str(Path(torch.__file__).parent),
    str(Path(next(iter(executorch.__path__)))),
    str(Path(__file__).parent.parent.parent),
    "torch/",
    "<",
)

# How Python and PyTorch write the place of a frame.
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in ')


def is_users(path: str) -> bool:
    """Whether a file is neither a library's that an export uses, nor ours, nor generated."""
    return not path.startswith(_LIBRARIES)


def line_at(path: str, number: int) -> str:
    """A line as messages tell it: ``model.py:12: y = x + 1``, with its whole path."""
    text = linecache.getline(path, number).strip()
    return f"{path}:{number}: {text}" if text else f"{path}:{number}"


def show_text(path: str, text: str) -> None:
    """Lets lines of a text be told that is in no file, in the place of an older one."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    _statements.cache_clear()


def line_of_error(error: BaseException) -> str:
    """The innermost line that is the user's, of an exception or of what it says; empty: none."""
    place = _place(error)
    return line_at(*place) if place else ""


def statement_of_error(error: BaseException) -> ast.stmt | None:
    """The statement of that line, the innermost one that it is a part of."""
    place = _place(error)
    return _statement(*place) if place else None


def line_of_nodes(nodes: Iterable[Node]) -> str:
    """The user's line of the first node that has one."""
    for node in nodes:
        places = list(_places_in(node.meta.get("stack_trace") or ""))
        if places:
            return line_at(*places[-1])
    return ""


def lines_of_node(node: Node) -> list[str]:
    """The innermost of the user's lines that a node comes from; empty: none."""
    places = list(_places_in(node.meta.get("stack_trace") or ""))
    return [line_at(*places[-1])] if places else []


def line_of_function(function: object) -> str:
    """The line where a user's function begins, decorators included; empty: it is not the user's."""
    code = _code(function)
    return line_at(code.co_filename, code.co_firstlineno) if code is not None else ""


def line_of_return(function: object) -> str:
    """The line of a user's function that returns, if it has one alone; else where it begins."""
    code = _code(function)
    if code is None:
        return ""
    first = code.co_firstlineno
    written = next(
        (
            statement
            for statement in _statements(code.co_filename)
            if isinstance(statement, ast.FunctionDef)
            and first in (statement.lineno, *(each.lineno for each in statement.decorator_list))
        ),
        None,
    )
    returns = list(_returns(written)) if written is not None else []
    return line_at(code.co_filename, returns[0].lineno if len(returns) == 1 else first)


def _returns(function: ast.AST) -> Iterator[ast.Return]:
    """Those of a function, without those of functions in it."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield from _returns(node)


def line_of_class(kind: type) -> str:
    """The line where a user's class begins; empty: it is not the user's."""
    try:
        path, (_, number) = inspect.getsourcefile(kind), inspect.getsourcelines(kind)
    except (OSError, TypeError):  # it has no source
        return ""
    return line_at(path, number) if path is not None and is_users(path) else ""


def _code(function: object) -> types.CodeType | None:
    unwrapped = inspect.unwrap(function) if callable(function) else function
    code = getattr(unwrapped, "__code__", None)
    return code if isinstance(code, types.CodeType) and is_users(code.co_filename) else None


def _place(error: BaseException) -> tuple[str, int] | None:
    """The file and the number of the user's line, of an exception or of one that it wraps."""
    for each in _causes(error):
        for frame in reversed(traceback.extract_tb(each.__traceback__)):
            if is_users(frame.filename):
                return frame.filename, frame.lineno or 0
        places = [*_places_in(str(each)), *_assumed_at(each)]
        if places:
            return places[-1]
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _places_in(text: str) -> Iterator[tuple[str, int]]:
    for frame in _FRAME.finditer(text):
        if is_users(frame["path"]):
            yield frame["path"], int(frame["line"])


def _assumed_at(error: BaseException) -> Iterator[tuple[str, int]]:
    """Where a trace assumed something of sizes that vary, if that is what an exception is about."""
    if "Constraints violated" not in str(error):
        return
    for frame, _ in traceback.walk_tb(error.__traceback__):
        sizes = frame.f_locals.get("self")
        if isinstance(sizes, ShapeEnv):
            # The first guard comes last, where the caller looks: all others follow from it.
            for guard in reversed(sizes.guards):
                place = guard.sloc.framework_loc
                if isinstance(place, traceback.FrameSummary) and is_users(place.filename):
                    yield place.filename, place.lineno or 0
            return


@functools.lru_cache(maxsize=32)
def _statements(path: str) -> list[ast.stmt]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _statement(path: str, number: int) -> ast.stmt | None:
    around = [
        statement
        for statement in _statements(path)
        if statement.lineno <= number <= (statement.end_lineno or 0)
    ]
    return max(around, key=lambda statement: statement.lineno, default=None)
