"""Gives a program the weights of an artifact that was exported before.

ExecuTorch's files do not name weights. But an export gives the same for the same: the constants of
two programs of one form stand in the same order, so that what the module's weights are now says
which of the artifact's they were.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from executorch.exir._serialize._program import (
    PTEFile,
    deserialize_pte_binary,
    serialize_pte_binary,
)

_KEY = re.compile(rb"[0-9a-f]{64}")  # how delegates name constants (lowering/weight_keys.py)


@dataclass(frozen=True)
class Replaced:
    """A program with other constants.

    Attributes
    ----------
    content
        The program's file.
    changed
        How many constants of the artifact differ from what the module gives now.
    is_whole
        Whether each of them could be put into the program.
    """

    content: bytes
    changed: int
    is_whole: bool


def with_constants_of(artifact: bytes, now: bytes, program: bytes) -> Replaced | None:
    """A program with an artifact's constants.

    Parameters
    ----------
    artifact
        Its file, for ExecuTorch.
    now
        What the module is exported to now, in the same way.
    program
        What else was made of the module as it is now.

    Returns
    -------
    Replaced | None
        None where `artifact` and `now` are not of one form.
    """
    if artifact == now:
        return Replaced(program, 0, True)
    old, new, target = map(deserialize_pte_binary, (artifact, now, program))
    before, after = list(_constants(old)), list(_constants(new))
    if _instructions(old) != _instructions(new):
        return None
    if [len(each) for each in before] != [len(each) for each in after]:
        return None
    pairs = list(zip(before, after, strict=True))
    changed = len({pair for pair in pairs if pair[0] != pair[1]})
    by_content: dict[bytes, bytes] = {}
    ambiguous = set()
    for theirs, ours in pairs:
        if by_content.setdefault(ours, theirs) != theirs:
            ambiguous.add(ours)
    kept = {k: v for k, v in by_content.items() if k not in ambiguous and k != v}
    used = _replace(target, kept)
    is_whole = not ambiguous and used == kept.keys()
    content = bytes(serialize_pte_binary(target, extract_delegate_segments=True))
    return Replaced(content, changed, is_whole)


def _instructions(file: PTEFile) -> list[Any]:
    """What a program does, whatever its constants are."""
    plans = [(plan.name, plan.operators, plan.chains) for plan in file.program.execution_plan]
    delegates = [_KEY.sub(b"", bytes(d.data)) for d in file.program.backend_delegate_data]
    return [*plans, *delegates]


def _constants(file: PTEFile) -> Iterator[bytes]:
    for buffer in file.program.constant_buffer:
        yield bytes(buffer.storage)
    named = _named(file)
    for delegate in file.program.backend_delegate_data:
        for key in _KEY.findall(bytes(delegate.data)):
            data = named.get(key.decode())
            if data is not None:
                yield data


def _named(file: PTEFile) -> dict[str, bytes]:
    store = file.named_data
    if store is None:
        return {}
    return {key: bytes(store.buffers[e.buffer_index]) for key, e in store.pte_data.items()}


def _replace(file: PTEFile, contents: Mapping[bytes, bytes]) -> set[bytes]:
    """Replaces constants by their contents; gives those that were found."""
    used = set()

    def other(data: Any) -> Any:
        found = contents.get(bytes(data))
        if found is None:
            return data
        used.add(bytes(data))
        return found

    for buffer in file.program.constant_buffer:
        buffer.storage = other(buffer.storage)
    if file.named_data is not None:
        buffers = [other(data) for data in file.named_data.buffers]
        file.named_data = dataclasses.replace(file.named_data, buffers=buffers)
    return used
