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
from polystate.export.rewriting.texts import Edit, Function, Text, first_line

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
            text = self.text(path).edited(edits)
            self._texts[path] = text.edited(self._missing_import(text))
        except SyntaxError as error:
            raise CannotRewriteError(str(error)) from error
        self._rebuild()

    def _missing_import(self, text: Text) -> list[Edit]:
        """The import of torch, where an edited function uses it and the file does not."""
        for code in self.codes():
            if code.path == text.path and _changed(code, text):
                known = {**code.function.__globals__, **_closure(code.function)}
                if known.get("torch", torch) is not torch:
                    raise CannotRewriteError("the name torch is something else in the file")
                if (
                    "torch" not in known
                    and "torch" not in _imported(text)
                    and _uses_torch(code, text)
                ):
                    return [Edit.before(text.first_import(), "import torch")]
        return []

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
            for number, node in enumerate(_functions(path)):
                if first_line(node) == first and node.name == function.__name__:
                    yield Code(owner, name, function, path, number)


def _functions(path: str) -> tuple[Function, ...]:
    """The functions of a file; none where it is no Python any more."""
    try:
        return Text(path).functions()
    except SyntaxError:
        return ()


def _changed(code: Code, text: Text) -> bool:
    before = Text(code.path).functions()[code.number]
    after = text.functions()[code.number]
    return ast.dump(before) != ast.dump(after)


def _imported(text: Text) -> set[str]:
    """The names of modules that a file imports as a whole."""
    imports = [node for node in text.tree.body if isinstance(node, ast.Import)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _uses_torch(code: Code, text: Text) -> bool:
    function = text.functions()[code.number]
    return any(isinstance(node, ast.Name) and node.id == "torch" for node in ast.walk(function))


def _compiled(code: Code, text: Text) -> object:
    """The edited function, with the globals and the closure of the user's."""
    function = code.function
    names = _closure(function)
    if "torch" not in function.__globals__:
        names.setdefault("torch", torch)  # which the edited file imports
    names.setdefault("__class__", code.owner)
    node = text.functions()[code.number]
    result = ast.Return(ast.Name(node.name, ast.Load()))
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    maker = ast.FunctionDef("_rewritten", arguments, [node, result], [])
    file = code.path + _MARK
    show_text(file, text.now)
    made: dict[str, Any] = {}
    tree = ast.fix_missing_locations(ast.Module([maker], []))
    try:
        exec(compile(tree, file, "exec"), function.__globals__, made)
        return made["_rewritten"](*names.values())
    except Exception as error:  # decorators are the user's code
        raise CannotRewriteError(f"the edited function cannot be made: {error}") from error


def _closure(function: types.FunctionType) -> dict[str, Any]:
    """The variables of functions around a function, by their names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        return {name: cell.cell_contents for name, cell in cells}
    except ValueError as error:
        raise CannotRewriteError("a variable of the function has no value yet") from error


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
