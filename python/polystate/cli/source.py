"""What ``polystate-export`` can export: the kinds of its argument SOURCE.

A source is a function of the user's, named by the file or the module that defines it, or a model
of transformers, in a directory, in a GGUF file or on the hub. A further kind is a further case of
:func:`parse_source`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from polystate.recipes.gguf import is_gguf
from polystate.recipes.hub import is_name_on_the_hub
from polystate.recipes.paths import is_directory, is_file

FORMS = """\
  path/to/file.py:function   a function that returns what to export
  package.module:function    the same, of a module
  path/to/model              a directory with a model of transformers (it has config.json)
  path/to/model.gguf         a GGUF file with one (needs the extra polystate[gguf])
  organization/model         such a model's name on the hub of Hugging Face, where no directory
                             'organization' is here"""

_FILE_MODULE = "polystate_source"  # a file's own name might hide another module

_NAME = r"[^\W\d]\w*"
_DOTTED = re.compile(rf"{_NAME}(\.{_NAME})*")


class SourceError(Exception):
    """A source that is not there, or is not what it should be."""


@dataclass(frozen=True)
class FunctionSource:
    """A function without arguments that returns what is to be exported.

    Parameters
    ----------
    origin
        The Python file or the dotted module that defines it.
    function
        Its name there; dots lead into classes.
    """

    origin: Path | str
    function: str

    def __str__(self) -> str:
        """As the user wrote it."""
        return f"{self.origin}:{self.function}"

    def load(self) -> Callable[[], Any]:
        """Import the function; what its file or module raises meanwhile passes through.

        Raises
        ------
        SourceError
            There is no such file, module or function.
        """
        found: Any = _import(self.origin)
        for name in self.function.split("."):
            if not hasattr(found, name):
                raise SourceError(f"'{self.origin}' defines no '{self.function}'")
            found = getattr(found, name)
        if not callable(found):
            raise SourceError(f"'{self.origin}:{self.function}' is no function: {found!r}")
        function: Callable[[], Any] = found
        return function


@dataclass(frozen=True)
class PretrainedSource:
    """A model of transformers.

    Parameters
    ----------
    name
        Its directory or GGUF file, or its name on the hub.
    """

    name: str

    def __str__(self) -> str:
        """As the user wrote it."""
        return self.name


Source = FunctionSource | PretrainedSource


def parse_source(text: str) -> Source:
    """Read SOURCE; SourceError says which forms there are."""
    if text and is_directory(text):
        if not is_file(Path(text) / "config.json"):
            raise SourceError(
                f"the directory '{text}' has no model of transformers: no config.json"
            )
        return PretrainedSource(text)
    if is_gguf(text):
        return PretrainedSource(text)
    origin, colon, function = text.rpartition(":")
    if colon and _DOTTED.fullmatch(function):
        if origin.endswith(".py"):
            return FunctionSource(Path(origin), function)
        if _DOTTED.fullmatch(origin):
            return FunctionSource(origin, function)
    if is_name_on_the_hub(text):
        return PretrainedSource(text)
    there_is = "is a file" if is_file(text) else "is not there"
    what = f"'{text}'" if colon else f"'{text}' {there_is}, and"
    raise SourceError(f"{what} is of none of these forms:\n{FORMS}")


def _import(origin: Path | str) -> ModuleType:
    return _import_file(origin) if isinstance(origin, Path) else _import_module(origin)


def _import_file(path: Path) -> ModuleType:
    """Import a file as ``python path`` would find it: what lies beside it can be imported too."""
    if not is_file(path):
        raise SourceError(f"there is no file '{path}'")
    spec = importlib.util.spec_from_file_location(_FILE_MODULE, path)
    if spec is None or spec.loader is None:
        raise SourceError(f"'{path}' cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[_FILE_MODULE] = module  # dataclasses and pickling look classes up there
    spec.loader.exec_module(module)
    return module


def _import_module(name: str) -> ModuleType:
    """Import a module as ``python -m name`` would find it: from the current directory first."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise SourceError(f"there is no module '{error.name}'") from error
