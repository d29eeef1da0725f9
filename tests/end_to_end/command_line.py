"""Runs the command lines, and makes the artifacts that their tests need."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export import Dim

import polystate as ps

_BIN = Path(sys.executable).parent
POLYSTATE = Path(os.environ.get("POLYSTATE_COMMAND", _BIN / "polystate"))
POLYSTATE_EXPORT = [sys.executable, "-m", "polystate.cli.export"]


def polystate(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return _run([str(POLYSTATE), *map(str, arguments)], **options)


def polystate_export(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return _run([*POLYSTATE_EXPORT, *map(str, arguments)], **options)


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command, check=False, timeout=300, **(settings | options))


class Toy(torch.nn.Module):
    """A little of everything that the commands show."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("log", torch.zeros(4, 3))
        self.register_buffer("count", torch.tensor(2))

    def step(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.log.index_copy_(0, position, x[:1])
        self.count += 1
        return x * 2, self.count.clone()

    def read(self) -> torch.Tensor:
        return self.log.clone()

    def double(self, data: torch.Tensor) -> torch.Tensor:
        data.mul_(2)
        return data.sum()

    def even(self, x: torch.Tensor) -> torch.Tensor:
        torch._check(x.shape[0] % 2 == 0)
        return x.reshape(2, -1).sum(0)

    def brain(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def odd_values(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x / 0, x > 0


def export_toy(out: Path) -> Path:
    rows = Dim("rows", min=1, max=4)
    pairs = Dim("pairs", min=1, max=8)
    methods = {
        "step": ps.Method(
            "step",
            args=(torch.ones(2, 3), torch.tensor([1])),
            dynamic_shapes=({0: rows}, None),
        ),
        "read": ps.Method("read"),
        "double": ps.Method("double", args=(torch.ones(3),)),
        "even": ps.Method("even", args=(torch.ones(4),), dynamic_shapes=({0: 2 * pairs},)),
        "brain": ps.Method("brain", args=(torch.ones(2, dtype=torch.bfloat16),)),
        "odd_values": ps.Method("odd_values", args=(torch.tensor([1.0, -1.0, 0.0]),)),
    }
    constants = {"max_length": 64, "name": "toy", "ratio": 0.5, "fast": True}
    ps.export(Toy(), methods, backend="portable", constants=constants).save(out)
    return out


def digest_of(artifact: Path) -> str:
    return hashlib.sha256((artifact / "SHA256SUMS").read_bytes()).hexdigest()


def seal(artifact: Path) -> None:
    """Make sizes and digests right again after a file was changed."""
    manifest = json.loads((artifact / "manifest.json").read_text())
    manifest["files"] = {name: (artifact / name).stat().st_size for name in manifest["files"]}
    (artifact / "manifest.json").write_text(json.dumps(manifest))
    names = sorted([*manifest["files"], "manifest.json"])
    lines = [f"{hashlib.sha256((artifact / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (artifact / "SHA256SUMS").write_text("".join(lines))


def change_manifest(artifact: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the manifest, and leave the artifact with valid digests."""
    path = artifact / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    seal(artifact)


def change_golden(artifact: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Edit the recorded calls, and leave the artifact with valid digests."""
    path = artifact / "golden.npz"
    with np.load(path) as file:
        arrays = dict(file)
    change(arrays)
    np.savez(path, **arrays)
    seal(artifact)
