"""Bundled programs: what ExecuTorch's own runtime runs, with recorded calls to compare with."""

from __future__ import annotations

import functools
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from flatbuffers.table import Table

from polystate.artifact import FileContent, GoldenCall
from polystate.artifact.golden import Array
from polystate.artifact.manifest import Manifest, Method
from polystate.errors import IoError, UnsupportedError
from polystate.export.lowering.replaced_kernels import executorchs_name
from polystate.export.tracing.pairs import as_pairs
from polystate.export.whole_file import write_whole_file


def write_bundled(
    path: Path,
    manifest: Manifest,
    content: bytes | FileContent,
    calls: Sequence[tuple[str, GoldenCall]],
) -> None:
    """Writes a program of ExecuTorch with calls of its methods.

    Each method has its own state there, which begins as the program says. So of the recorded calls
    those are taken whose state no other method has changed.

    Parameters
    ----------
    content
        Of the program's file.
    calls
        In the order in which they ran, from the initial state on.

    Raises
    ------
    UnsupportedError
        The program is not ExecuTorch's, or has operators that are polystate's own.
    IoError
        The file cannot be written. What stood at its path still does.
    """
    _refuse_others_operators(manifest)
    # These take seconds.
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.core import BundledProgram
    from executorch.devtools.bundled_program.serialize import (
        serialize_from_bundled_program_to_flatbuffer,
    )

    methods = {method.name: method for method in manifest.methods}
    suites: dict[str, list[MethodTestCase]] = {name: [] for name in methods}
    for name, call in _of_own_state(methods, calls):
        suites[name].append(MethodTestCase(*_case(methods[name], call)))
    try:
        with tempfile.TemporaryDirectory(prefix="polystate-") as directory:
            program = Path(directory) / "model.pte"
            chunks = [content] if isinstance(content, bytes) else content.chunks()
            program.write_bytes(_with_executorchs_names(bytearray().join(chunks)))
            bundled = BundledProgram(
                None,
                [MethodTestSuite(name, cases) for name, cases in suites.items()],
                pte_file_path=str(program),
            )
            serialized = serialize_from_bundled_program_to_flatbuffer(bundled)
        write_whole_file(path, serialized)
    except OSError as error:
        detail = f"the bundled program '{path}' cannot be written: {error.strerror or error}"
        raise IoError(error.errno, detail) from error


def _refuse_others_operators(manifest: Manifest) -> None:
    if manifest.program.engine != "executorch":
        raise UnsupportedError(
            f"a bundled program is one of ExecuTorch's, and backend "
            f"{manifest.program.backend!r} makes none: export with 'portable' or 'xnnpack'"
        )
    known = _operators_of_executorch()
    operators = manifest.program.operators
    lacking = [name for name in operators if executorchs_name(name) not in known]
    if lacking:
        raise UnsupportedError(
            f"ExecuTorch's own runtime cannot run the program: it lacks "
            f"{', '.join(lacking)}, which polystate's runtime has"
        )


@functools.cache
def _operators_of_executorch() -> frozenset[str]:
    """Those of its own runtime: in a process of its own, as in this one there may be ours, too."""
    code = (
        "from executorch.extension.pybindings import portable_lib; "
        "print('\\n'.join(portable_lib._get_operator_names()))"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return frozenset(listed.stdout.split())


# Fields of ExecuTorch's schema of programs: of a program, of a method and of an operator.
_METHODS, _OPERATORS, _NAME = 6, 16, 4


def _with_executorchs_names(content: bytearray) -> bytearray:
    """A program that calls ExecuTorch's kernels where ours compute the same, only faster.

    The names are shorter, and are written where the others lie.
    """
    root = Table(content, *struct.unpack_from("<I", content))
    for method in _tables(root, _METHODS):
        for operator in _tables(method, _OPERATORS):
            place = operator.Pos + operator.Offset(_NAME)
            name = operator.String(place)
            written = executorchs_name(name.decode()).encode()
            if written != name:
                start = operator.Indirect(place)
                struct.pack_into(f"<I{len(name)}s", content, start, len(written), written)
    return content


def _tables(table: Any, field: int) -> Iterator[Any]:
    """Those of a list in a table of a flatbuffer."""
    offset = table.Offset(field)
    for place in range(table.VectorLen(offset) if offset else 0):
        yield Table(table.Bytes, table.Indirect(table.Vector(offset) + 4 * place))


def _of_own_state(
    methods: Mapping[str, Method], calls: Sequence[tuple[str, GoldenCall]]
) -> Iterator[tuple[str, GoldenCall]]:
    """The calls before which no other method, and no call that is left out, changed the state."""
    changed_by: dict[int, set[str]] = {}
    for name, call in calls:
        method = methods[name]
        if all(changed_by.get(state, set()) <= {name} for state in method.reads):
            yield name, call
        for write in method.writes:
            changed_by.setdefault(write.state, set()).add(name)


def _case(method: Method, call: GoldenCall) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The inputs of a call, and what the program gives, in its own order."""
    inputs = [
        _tensor(array, described.dtype)
        for described, array in zip(method.inputs, call.inputs, strict=True)
    ]
    results = {
        described.program_output: _tensor(array, described.dtype)
        for described, array in zip(method.outputs, call.outputs, strict=True)
    }
    for index, array in call.written.items():
        place = method.inputs[index].written_from
        assert place is not None
        results[place] = _tensor(array, method.inputs[index].dtype)
    return inputs, [results[place] for place in sorted(results)]


def _tensor(array: Array, dtype: str) -> torch.Tensor:
    tensor = torch.from_numpy(array.copy())
    if dtype == "bfloat16":
        tensor = tensor.view(torch.bfloat16)
    return as_pairs(tensor)
