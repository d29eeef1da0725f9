"""Runs the finished program in the C++ runtime, and refuses it where it differs from the module."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from polystate.artifact import manifest, write_artifact
from polystate.errors import ContractError, EngineError, ExportError
from polystate.export.tracing.eager import EagerModule, Outcome
from polystate.export.tracing.trace import Traced
from polystate.runtime import Session, load


def verify(
    eager: EagerModule,
    methods: Sequence[Traced],
    described: manifest.Manifest,
    files: Mapping[str, bytes],
) -> None:
    """Calls every method at the corners of its ranges, from the initial state.

    What lowering and the kernels do is no part of torch.export's promises; this is where it is
    seen.

    Raises
    ------
    ExportError
        With the method, the sizes and the first value that differs, or what failed.
    """
    assert described.golden is not None
    tolerance = (described.golden.relative_tolerance, described.golden.absolute_tolerance)
    with tempfile.TemporaryDirectory(prefix="polystate-") as directory:
        artifact = Path(directory) / "artifact"
        write_artifact(artifact, described, files)
        session = load(artifact).session()
        for method in methods:
            for where, args, kwargs in method.points():
                try:
                    expected = eager.run(method.function, args, kwargs)
                except Exception:  # the module itself refuses these sizes
                    continue
                difference = _difference(session, method, args, kwargs, expected, tolerance)
                if difference is not None:
                    raise ExportError(
                        f"method '{method.name}' {where}: {difference}; the module itself runs "
                        f"there, so this is the backend's: try another one, or other operators"
                    )


def _difference(
    session: Session,
    method: Traced,
    args: Any,
    kwargs: Any,
    expected: Outcome,
    tolerance: tuple[float, float],
) -> str | None:
    inputs = [t.clone() for t in _tensors((args, kwargs))]
    session.reset()
    try:
        outputs = session.run(method.name, *inputs)
    except ContractError:
        return None  # the contract excludes these sizes, as the report says
    except EngineError as error:
        return f"the lowered program fails: {error}"
    pairs = [
        (f"output {i}", *pair)
        for i, pair in enumerate(zip(outputs, _tensors(expected.outputs), strict=True))
    ]
    pairs += [
        (f"input {i}", *pair)
        for i, pair in enumerate(zip(inputs, _tensors(expected.inputs), strict=True))
    ]
    pairs += [
        (f"state '{name}'", session.state[name], expected.buffers[name]) for name in session.state
    ]
    for label, found, wanted in pairs:
        if not _close(found, wanted, tolerance):
            return f"{label} of the lowered program differs from the module's by more than rounding"
    return None


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _close(found: torch.Tensor, wanted: torch.Tensor, tolerance: tuple[float, float]) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if not found.dtype.is_floating_point:
        return torch.equal(found, wanted)
    relative, absolute = tolerance
    return torch.allclose(found, wanted, relative, absolute, equal_nan=True)
