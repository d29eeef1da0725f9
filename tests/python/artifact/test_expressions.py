"""Expressions over sizes in words."""

import pytest

from polystate.artifact.expressions import Expression, to_text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (7, "7"),
        ("batch", "batch"),
        (["*", ["+", "a", 1], ["+", "b", 1]], "(a + 1) * (b + 1)"),
        (["//", ["min", "a", ["*", "b", 2], 4], 2], "min(a, b * 2, 4) // 2"),
        (["not", ["==", ["%", "n", 2], 0]], "not n % 2 == 0"),
        (["==", ["%", "batch", 2], 0], "batch % 2 == 0"),
        (["+", -1, "batch"], "batch - 1"),
        (["+", ["*", -2, "length"], "batch"], "batch - 2 * length"),
        (["+", -3, ["*", -1, "batch"]], "-3 - batch"),
        (["*", 2, ["+", "batch", 1]], "2 * (batch + 1)"),
        (["//", "batch", ["//", "length", 2]], "batch // (length // 2)"),
        (["not", ["and", ["<", "batch", 2], ["<", "length", 2]]], "not (batch < 2 and length < 2)"),
        (["max", "batch", ["+", "length", 1]], "max(batch, length + 1)"),
        (["**", ["*", -1, "batch"], 2], "(-1 * batch) ** 2"),
    ],
)
def test_text_reads_as_a_person_writes_it(expression: Expression, text: str) -> None:
    assert to_text(expression) == text
