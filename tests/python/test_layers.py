"""The layer rule of the C++ sources, read from their #include lines (ARCHITECTURE.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LAYERS = {"core", "tokenizer", "artifact", "engine", "session", "sampler", "runner", "pipeline"}

# What each part may include, besides itself.
MAY_INCLUDE: dict[str, set[str]] = {
    "core": set(),
    "tokenizer": {"core"},
    "artifact": {"core"},
    "kernels": {"core"},
    "engine": {"core", "artifact", "kernels"},
    "session": {"core", "artifact", "engine"},
    "sampler": {"core"},
    "runner": {"core", "artifact", "engine", "session", "sampler"},
    "pipeline": {"core", "tokenizer", "artifact", "engine", "session", "sampler", "runner"},
    # All of it, for users.
    **dict.fromkeys(("polystate.h", "cli", "bindings"), LAYERS),
}

# Who may include a library's headers: folders, and endings of file names.
LIBRARIES: dict[str, tuple[str, str]] = {
    r"executorch/|c10/": (r"src/engine/executorch/", r"\.(h|cc)"),
    r"torch/": (r"src/engine/aoti/", r"\.(h|cc)"),
    r"nlohmann/": (r"", r"\.cc"),
    r"openssl/|zlib\.h|zconf\.h": (r"src/(core|artifact)/", r"\.(h|cc)"),
    r"pcre2|utf8proc": (r"src/tokenizer/", r"\.cc"),
    r"pybind11/|Python\.h": (r"bindings/", r"\.(h|cc)"),
    r"CLI/": (r"cli/", r"\.(h|cc)"),
}

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
        ("src/artifact/json.h", "#include <nlohmann/json.hpp>"),
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
