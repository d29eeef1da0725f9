from __future__ import annotations

import dataclasses
import json

from polystate.artifact.manifest import Manifest


def test_a_manifest_comes_back_from_its_json(manifest: Manifest) -> None:
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest
    bare = dataclasses.replace(manifest, golden=None, methods=[])
    assert Manifest.from_json(bare.to_json()) == bare


def test_a_method_reads_as_a_signature(manifest: Manifest) -> None:
    assert str(manifest.methods[0]) == (
        "set_cache(data: float32[batch, 2 * batch, 20], row: int64[], out: float32[batch])"
        " -> (float32[batch, ?])"
    )
