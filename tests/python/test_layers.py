"""The layer rule of the C++ sources, read from their #include lines (ARCHITECTURE.md).

And that of the tests in Python, read from their import statements.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LAYERS = {
    *("core", "chat_template", "tokenizer", "artifact", "engine", "session", "sampler", "runner"),
    *("grammar", "program", "profile", "report", "response", "pipeline"),
}

# What each part may include, besides itself.
MAY_INCLUDE: dict[str, set[str]] = {
    "core": set(),
    "chat_template": {"core"},
    "tokenizer": {"core"},
    "artifact": {"core"},
    "kernels": {"core"},
    "engine": {"core", "artifact", "kernels"},
    "session": {"core", "artifact", "engine"},
    "report": {"core"},
    "program": {"core", "report"},
    "profile": {"core", "report", "program"},
    "sampler": {"core"},
    "grammar": {"core", "sampler", "tokenizer"},
    "response": {"core", "tokenizer", "chat_template"},
    "runner": {"core", "artifact", "engine", "session", "sampler"},
    "pipeline": LAYERS,
    # All of it, for users.
    **dict.fromkeys(("polystate.h", "cli", "bindings"), LAYERS),
}

# Who may include a library's headers: folders, and endings of file names.
LIBRARIES: dict[str, tuple[str, str]] = {
    r"executorch/|c10/": (r"src/engine/executorch/", r"\.(h|cc)"),
    r"torch/|ATen/": (r"src/engine/aoti/", r"\.(h|cc)"),
    r"nlohmann/": (r"", r"(\.cc|src/core/json_text\.h)"),
    r"openssl/|zlib\.h|zconf\.h": (r"src/(core|artifact)/", r"\.(h|cc)"),
    r"pcre2": (r"src/tokenizer/", r"\.cc"),
    r"pybind11/|Python\.h": (r"bindings/", r"\.(h|cc)"),
    r"xgrammar/|dlpack/": (r"src/grammar/", r"\.(h|cc)"),
    r"CLI/": (r"cli/", r"\.(h|cc)"),
}

# What every folder of tests may import, besides itself.
SHARED = "tests/support"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def part_of(path: str) -> str:
    """Return the part that a source belongs to: its layer, or cli, or bindings."""
    parts = path.split("/")
    if path.startswith("include/polystate/"):
        return parts[2]
    return parts[1] if parts[0] == "src" else parts[0]


def violations(path: str, text: str) -> list[str]:
    """Return what the source at ``path`` (from the root) includes against the rule."""
    found = []
    own = part_of(path)
    for included in INCLUDE.findall(text):
        part = included.removeprefix("polystate/").split("/")[0]
        if "/" in included and part in MAY_INCLUDE and part not in MAY_INCLUDE[own] | {own}:
            found.append(f"{path}: {own} may not include {included}")
        if (
            path.startswith("include/")
            and "/" in included
            and not included.startswith("polystate/")
        ):
            found.append(f"{path}: a public header may not include {included}")
        for library, (folder, ending) in LIBRARIES.items():
            if re.match(library, included) and not re.match(f"{folder}.*{ending}$", path):
                found.append(f"{path}: {included} belongs into {folder or 'sources'}*{ending}")
    return found


def sources() -> list[Path]:
    """Return every C++ file that the rule is about."""
    folders = ("include", "src", "cli", "bindings")
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".h", ".cc"}
    )


def test_every_part_has_a_rule() -> None:
    parts = {part_of(path.relative_to(ROOT).as_posix()) for path in sources()}
    assert parts
    assert parts <= MAY_INCLUDE.keys()


def test_no_source_includes_a_layer_above_it_or_a_library_that_is_not_its_own() -> None:
    found = [
        violation
        for path in sources()
        for violation in violations(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/core/tensor.cc", '#include "polystate/artifact/manifest.h"'),
        ("src/artifact/npz.cc", '#include "polystate/session/session.h"'),
        ("src/artifact/npz.cc", '#include "session/state_file.h"'),
        ("src/kernels/check.cc", '#include "polystate/engine/engine.h"'),
        ("src/session/model.cc", "#include <executorch/runtime/core/error.h>"),
        ("src/engine/engine.cc", "#include <executorch/runtime/core/error.h>"),
        ("src/kernels/kernel.cc", "#include <executorch/runtime/core/error.h>"),
        ("include/polystate/engine/engine.h", "#include <executorch/runtime/core/error.h>"),
        ("src/engine/executorch/engine.cc", "#include <torch/csrc/stable/c/shim.h>"),
        ("src/core/json.h", "#include <nlohmann/json.hpp>"),
        ("include/polystate/core/result.h", "#  include <nlohmann/json_fwd.hpp>"),
        ("cli/main.cc", "#include <pybind11/pybind11.h>"),
        ("bindings/module.cc", "#include <CLI/CLI.hpp>"),
        ("bindings/module.cc", '#include "cli/output.h"'),
        ("src/core/tensor.cc", '#include "polystate/polystate.h"'),
    ],
)
def test_an_include_against_the_rule_is_found(path: str, line: str) -> None:
    assert violations(path, f"#pragma once\n\n{line}\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/core/tensor.cc", '#include "polystate/core/tensor.h"'),
        ("src/artifact/manifest.cc", "#include <nlohmann/json.hpp>"),
        ("src/engine/executorch/engine.cc", "#include <executorch/runtime/core/error.h>"),
        ("src/engine/executorch/engine.cc", '#include "kernels/operators.h"'),
        ("src/engine/aoti/engine.cc", "#include <torch/csrc/stable/c/shim.h>"),
        ("src/session/model.cc", '#include "polystate/engine/engine.h"'),
        ("cli/main.cc", '#include "polystate/session/model.h"'),
        ("cli/main.cc", "#include <filesystem>"),
    ],
)
def test_an_include_within_the_rule_is_not_reported(path: str, line: str) -> None:
    assert violations(path, line) == []


def imports(path: str, text: str) -> list[str]:
    """Return the full names that the module at ``path`` imports: ``from a import b`` is ``a.b``."""
    package = ".".join(Path(path).parent.parts)
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names += [f"{module}.{alias.name}" for alias in node.names]
    return names


def folder_of(name: str) -> str:
    """Return the folder that has what is imported by a full name of the tests."""
    folder = ROOT.joinpath(*name.split("."))
    while not folder.is_dir():
        folder = folder.parent
    return folder.relative_to(ROOT).as_posix()


def foreign_imports(path: str, text: str) -> list[str]:
    """Return what the test or helper at ``path`` (from the root) imports against the rule."""
    own = Path(path).parent.as_posix()
    return [
        f"{path}: {own} may not import {name}: what folders share is in {SHARED}"
        for name in imports(path, text)
        if name.split(".")[0] == "tests" and folder_of(name) not in {own, SHARED}
    ]


def test_no_folder_of_tests_imports_from_another() -> None:
    modules = sorted((ROOT / "tests").rglob("*.py"))
    assert modules
    found = [
        foreign
        for path in modules
        for foreign in foreign_imports(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/python/runtime/test_load.py", "from tests.end_to_end.twins import Twins"),
        ("tests/python/runtime/test_load.py", "import tests.end_to_end.twins as twins"),
        ("tests/python/runtime/test_load.py", "from tests.end_to_end import twins"),
        ("tests/python/runtime/test_load.py", "from tests import end_to_end"),
        ("tests/python/runtime/test_load.py", "from tests.python.export.programs import trace"),
        ("tests/python/runtime/test_load.py", "from ..export.programs import trace"),
        ("tests/python/runtime/test_load.py", "def f():\n    import tests.end_to_end.twins"),
        ("tests/end_to_end/twins.py", "from tests.python.export.programs import trace"),
        ("tests/python/test_layers.py", "from tests.python.export.programs import trace"),
        ("tests/support/executables.py", "from tests.end_to_end.twins import Twins"),
        ("tests/conftest.py", "from tests.end_to_end.twins import Twins"),
    ],
)
def test_an_import_from_another_folder_of_tests_is_found(path: str, line: str) -> None:
    assert foreign_imports(path, f"import torch\n\n{line}\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/python/export/test_checks.py", "from tests.python.export.programs import trace"),
        ("tests/python/export/test_checks.py", "from tests.python.export import programs"),
        ("tests/python/export/test_checks.py", "from .programs import trace"),
        ("tests/python/export/test_checks.py", "from tests.support import executables"),
        ("tests/python/export/test_checks.py", "import tests.support.executables"),
        ("tests/python/export/test_checks.py", "from polystate.export import verify"),
        ("tests/end_to_end/test_aoti.py", "from tests.end_to_end.twins import Twins"),
        ("tests/support/executables.py", "from tests.support.altered_artifacts import seal"),
    ],
)
def test_an_import_from_the_own_folder_or_of_what_all_share_is_not_reported(
    path: str, line: str
) -> None:
    assert foreign_imports(path, line) == []
