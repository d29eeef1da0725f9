from __future__ import annotations

import dataclasses
import json

import pytest

from polystate.artifact.manifest import Expression, Manifest, expression_text


def test_a_manifest_comes_back_from_its_json(manifest: Manifest) -> None:
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest
    bare = dataclasses.replace(manifest, golden=None, methods=[])
    assert Manifest.from_json(bare.to_json()) == bare


def test_a_method_reads_as_a_signature(manifest: Manifest) -> None:
    assert str(manifest.methods[0]) == (
        "set_cache(data: float32[batch, 2 * batch, 20], row: int64[], out: float32[batch])"
        " -> (float32[batch, ?])"
    )


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (7, "7"),
        ("batch", "batch"),
        (["*", 2, ["+", "batch", 1]], "2 * (batch + 1)"),
        (["*", ["+", "a", 1], ["+", "b", 1]], "(a + 1) * (b + 1)"),
        (["//", ["min", "a", ["*", "b", 2], 4], 2], "min(a, b * 2, 4) // 2"),
        (["not", ["==", ["%", "n", 2], 0]], "not ((n % 2) == 0)"),
        (["and", ["<", "a", 4], ["or", ["<=", 1, "a"], ["!=", "b", 0]]],
         "(a < 4) and ((1 <= a) or (b != 0))"),
    ],
)  # fmt: skip
def test_an_expression_reads_as_python(expression: Expression, text: str) -> None:
    assert expression_text(expression) == text
