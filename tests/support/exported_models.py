"""Artifacts of the models in ``models/``: exported once, kept for all tests and later runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models/en-fr-tatoeba"
_KEPT = Path(os.environ.get("POLYSTATE_TEST_ARTIFACTS", ROOT / "build/test-artifacts"))


def demo_model(recipe: str = "xnnpack") -> Path:
    """The artifact of models/en-fr-tatoeba, exported if the model or the exporter has changed.

    Tests only read it. Whoever comes first exports it; other processes wait meanwhile.
    """
    artifact = _KEPT / f"{MODEL.name}-{recipe}-{_digest()[:16]}"
    _KEPT.mkdir(parents=True, exist_ok=True)
    with (_KEPT / f"{artifact.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not artifact.exists():  # an artifact appears as a whole or not at all
            import polystate as ps

            ps.export_pretrained(MODEL, artifact, recipe=recipe)
    return artifact


def _digest() -> str:
    """Of all that an artifact is made from."""
    exporter = [
        path
        for layer in ("artifact", "export", "ops", "recipes")
        for path in (ROOT / "python/polystate" / layer).rglob("*.py")
    ]
    files = [path for path in (*MODEL.iterdir(), *exporter) if path.is_file()]
    digest = hashlib.sha256()
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()
