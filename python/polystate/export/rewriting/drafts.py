"""A copy of a module that runs an edited source; the module and its files stay as they are."""

from __future__ import annotations

import ast
import copy
import inspect
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from polystate.export.diagnosis.lines import is_users, show_text
from polystate.export.method import Method
from polystate.export.rewriting.texts import Edit, Text, first_line

# What is added to the path of a source that was edited, where messages name a line of it.
_MARK = " (rewritten)"


class CannotRewriteError(Exception):
    """A rewrite does not fit the user's code."""


@dataclass(frozen=True)
class Code:
    """A function of a class, where it is written.

    Attributes
    ----------
    owner, name
        The class, and the name that the function has in it.
    path, number
        The file, and which of its functions it is, from the top.
    """

    owner: type
    name: str
    function: types.FunctionType
    path: str
    number: int


class Draft:
    """A copy of a module, whose classes have the functions of an edited source.

    Parameters are shared with the module, buffers and attributes are copied.

    Attributes
    ----------
    model, methods
        What to export.
    """

    def __init__(self, model: torch.nn.Module, methods: Mapping[str, Method]) -> None:
        self.model, self.methods = copied(model, methods)
        self._texts: dict[str, Text] = {}
        self._classes: dict[type, type] = {}  # the user's, by those that stand for them

    def copy(self) -> Draft:
        """Another draft that goes on from here."""
        other = Draft(self.model, self.methods)
        other._texts, other._classes = dict(self._texts), dict(self._classes)
        return other

    def text(self, path: str) -> Text:
        """A file's text as it is edited so far."""
        return self._texts.setdefault(path, Text(path))

    def edit(self, path: str, edits: list[Edit]) -> None:
        """Edits a file's text, and gives the copy's modules the functions that this changes.

        Raises
        ------
        CannotRewriteError
            When the result is no Python, or a class overrides what is changed.
        """
        try:
            self._texts[path] = self.text(path).edited(edits)
        except SyntaxError as error:
            raise CannotRewriteError(str(error)) from error
        self._rebuild()

    def diff(self) -> str:
        """What is to change in the user's files."""
        diffs = [text.diff() for text in self._texts.values()]
        return "\n".join(diff for diff in diffs if diff)

    def codes(self) -> Iterator[Code]:
        """The functions of the classes of all modules that are the user's own."""
        seen: set[type] = set()
        for module in self.model.modules():
            for owner in self._users_class(module).__mro__:
                if owner not in seen:
                    seen.add(owner)
                    yield from _codes(owner)

    def modules_of(self, code: Code) -> list[torch.nn.Module]:
        """The modules that have a function."""
        return [m for m in self.model.modules() if isinstance(m, code.owner)]

    def _users_class(self, module: torch.nn.Module) -> type:
        return self._classes.get(type(module), type(module))

    def _rebuild(self) -> None:
        """Gives each module a class that has the edited functions of its own."""
        changed: dict[str, list[tuple[Code, object]]] = {}
        for code in self.codes():
            text = self._texts.get(code.path)
            if text is not None and _changed(code, text):
                changed.setdefault(code.name, []).append((code, _compiled(code, text)))
        made: dict[type, type] = {}
        for module in self.model.modules():
            users = self._users_class(module)
            if users not in made:
                made[users] = _class_with(users, changed)
                self._classes[made[users]] = users
            if made[users] is not type(module):
                module.__class__ = made[users]


def copied(
    model: torch.nn.Module, methods: Mapping[str, Method], *, shares_parameters: bool = True
) -> tuple[torch.nn.Module, dict[str, Method]]:
    """A copy of a module, and the methods of the copy.

    Parameters
    ----------
    shares_parameters
        Whether the copy has the module's own parameters, which its methods must not change then.

    Raises
    ------
    CannotRewriteError
        When it cannot be copied, or a method is a function that knows the module itself.
    """
    shared = model.parameters() if shares_parameters else ()
    memo: dict[int, Any] = {id(parameter): parameter for parameter in shared}
    try:
        other = copy.deepcopy(model, memo)
    except Exception as error:  # a user's attributes may be anything
        raise CannotRewriteError(f"the module cannot be copied: {error}") from error
    return other, {name: _method_of_copy(method, memo) for name, method in methods.items()}


def _method_of_copy(method: Method, memo: Mapping[int, Any]) -> Method:
    target = method.target
    if isinstance(target, str):
        return method
    of = memo.get(id(getattr(target, "__self__", None)))
    if of is None:
        raise CannotRewriteError("a method's target is a function that is not a method")
    function = getattr(of, target.__name__)
    return Method(function, method.args, method.kwargs, method.dynamic_shapes, method.draw)


def place_of(line: str) -> tuple[str, int] | None:
    """The file and the number of a line as messages tell it; of an edited one, the user's file."""
    path, _, rest = line.partition(".py")
    mark, _, rest = rest.partition(":")
    number = rest.partition(":")[0]
    if mark not in ("", _MARK) or not number.isdigit():
        return None
    return f"{path}.py", int(number)


def _codes(owner: type) -> Iterator[Code]:
    for name, value in vars(owner).items():
        function = inspect.unwrap(getattr(value, "__func__", value))
        if isinstance(function, types.FunctionType) and is_users(function.__code__.co_filename):
            path = function.__code__.co_filename
            first = function.__code__.co_firstlineno
            for number, node in enumerate(Text(path).functions()):
                if first_line(node) == first and node.name == function.__name__:
                    yield Code(owner, name, function, path, number)


def _changed(code: Code, text: Text) -> bool:
    before = Text(code.path).functions()[code.number]
    after = text.functions()[code.number]
    return ast.dump(before) != ast.dump(after)


def _compiled(code: Code, text: Text) -> object:
    """The edited function, with the globals and the closure of the user's."""
    function = code.function
    names: dict[str, Any] = {"torch": torch}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        names[name] = cell.cell_contents
    if "torch" in function.__globals__:
        del names["torch"]
    names.setdefault("__class__", code.owner)
    node = text.functions()[code.number]
    result = ast.Return(ast.Name(node.name, ast.Load()))
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    maker = ast.FunctionDef("_rewritten", arguments, [node, result], [])
    file = code.path + _MARK
    show_text(file, text.now)
    made: dict[str, Any] = {}
    tree = ast.fix_missing_locations(ast.Module([maker], []))
    exec(compile(tree, file, "exec"), function.__globals__, made)
    return made["_rewritten"](*names.values())


def _class_with(users: type, changed: Mapping[str, list[tuple[Code, object]]]) -> type:
    """A class like the user's, with the edited functions that its instances would call."""
    functions: dict[str, object] = {}
    for name, edited in changed.items():
        if name == "__init__":
            continue  # the copy is made already, and what this sets was changed in it
        owner = next((each for each in users.__mro__ if name in vars(each)), None)
        for code, function in edited:
            if code.owner is owner:
                functions[name] = function
            elif issubclass(users, code.owner):
                raise CannotRewriteError(f"{users.__name__} overrides {name}")
    if not functions:
        return users
    names = {"__module__": users.__module__, "__qualname__": users.__qualname__}
    return type(users)(users.__name__, (users,), {**names, **functions})
