"""What an exported step gives of a token depends on the tokens before it alone, bit for bit."""

from __future__ import annotations

import pytest

from tests.python.recipes.tiny_models import tiny_artifact
from tests.support.warm_process import run_module

CASES = [
    ("t5", "xnnpack"),  # its attention has biases
    ("m2m100", "xnnpack"),  # its positions are counted
    ("bart", "xnnpack"),  # the tokens are one sequence
    ("t5", "aoti"),
    pytest.param("marian", "portable", marks=pytest.mark.exhaustive),
    pytest.param("m2m100", "xnnpack_q8", marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_tokens_give_the_same_however_they_are_put_into_steps(name: str, recipe: str) -> None:
    done = run_module("tests.python.recipes.read_steps", tiny_artifact(name, recipe))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "True different tokens",
        "True 1 threads",
        "True 2 threads",
        "True 8 threads",
    ]
