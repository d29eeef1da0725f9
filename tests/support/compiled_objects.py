"""Keeps what AOTInductor's C++ compiler makes, for later runs and other clones.

The compiler takes half of the time of an export for AOTInductor, and a test that is about exports
exports the same methods in every run.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

from tests.support.store import Store
from tools import ingredients, user_cache

_OBJECT = "object.o"
_PATHS = re.compile(r"(?<=\s)(?:-I|-include )?/\S*")  # of a command, which say where, and not what


def keep() -> None:
    """Has this process take each object from the store that it was kept in, once it was compiled.

    An object is made from a source that Inductor writes, the options, and torch's headers.
    """
    from torch._inductor.cpp_builder import CppBuilder

    if getattr(CppBuilder.build, "keeps_objects", False):
        return
    compile_anew = CppBuilder.build

    @functools.wraps(compile_anew)
    def build(self: Any) -> None:
        target, sources = Path(self.get_target_file_path()), shlex.split(self._sources_args)
        if target.suffix != ".o" or len(sources) != 1:
            compile_anew(self)
            return

        def make(out: Path) -> None:
            compile_anew(self)
            shutil.copyfile(target, out / _OBJECT)

        source = hashlib.sha256(Path(sources[0]).read_bytes()).hexdigest()
        words = (_PATHS.sub("", self.get_command_line()), source)
        kept = _store().get(ingredients.digest([], ingredients.surroundings("aoti"), *words), make)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept / _OBJECT, target)

    build.keeps_objects = True  # type: ignore[attr-defined]
    CppBuilder.build = build


@functools.cache
def _store() -> Store:
    return Store(user_cache.folder("objects"), limit=1 << 30, content="object")
