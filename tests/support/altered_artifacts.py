"""Changes files of artifacts, and makes sizes and digests right again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


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
    change_file(artifact, "manifest.json", change)


def change_file(artifact: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit a file of JSON, and leave the artifact with valid digests."""
    path = artifact / name
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    seal(artifact)


def change_golden(artifact: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Edit the recorded calls, and leave the artifact with valid digests."""
    path = artifact / "golden.npz"
    with np.load(path) as file:
        arrays = dict(file)
    change(arrays)
    np.savez(path, **arrays)
    seal(artifact)
