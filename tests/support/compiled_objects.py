"""Keeps what AOTInductor's C++ compiler makes, for later runs and other clones.

The compiler takes half of the time of an export for AOTInductor, and a test that is about exports
exports the same methods in every run.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.abc
import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.store import Store
from tools import ingredients, user_cache

_COMPILES = "torch._inductor.cpp_builder"
_OBJECT = "object.o"
_PATHS = re.compile(r"(?<=\s)(?:-I|-include )?/\S*")  # of a command, which say where, and not what
_COMMENT = re.compile(rb"^//.*$", re.M)  # one of them says where as well


def keep() -> None:
    """Has this process take each object from the store that it was kept in, once it was compiled.

    Inductor's module that compiles may be imported later; most tests never do.
    """
    if _COMPILES in sys.modules:
        _keep_of(sys.modules[_COMPILES])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module that compiles where it is, to be changed as soon as it is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name == _COMPILES else None
        if found is None or found.origin is None:
            return None
        loader = _Loader(name, found.origin)
        return importlib.util.spec_from_file_location(name, found.origin, loader=loader)


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _keep_of(module)


def _keep_of(module: ModuleType) -> None:
    """Has the module's builder keep objects.

    An object is made from a source that Inductor writes, the options, and torch's headers.
    """
    builder: Any = module.CppBuilder
    compile_anew = builder.build
    if getattr(compile_anew, "keeps_objects", False):
        return

    @functools.wraps(compile_anew)
    def build(self: Any) -> None:
        target, sources = Path(self.get_target_file_path()), shlex.split(self._sources_args)
        if target.suffix != ".o" or len(sources) != 1:
            compile_anew(self)
            return

        def make(out: Path) -> None:
            compile_anew(self)
            shutil.copyfile(target, out / _OBJECT)

        text = _COMMENT.sub(b"", Path(sources[0]).read_bytes())
        source = hashlib.sha256(text).hexdigest()
        words = (_PATHS.sub("", self.get_command_line()), source)
        kept = _store().get(ingredients.digest([], ingredients.surroundings("aoti"), *words), make)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept / _OBJECT, target)

    build.keeps_objects = True  # type: ignore[attr-defined]
    builder.build = build


@functools.cache
def _store() -> Store:
    return Store(user_cache.folder("objects"), limit=1 << 30, content="object")
