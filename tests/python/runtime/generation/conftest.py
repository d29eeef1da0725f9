"""A small model that translates, its pipeline, and the tokens of a text."""

from __future__ import annotations

import pytest

import polystate as ps
from tests.python.runtime.generation.texts import TEXT
from tests.support.toy_translation import toy_translation


@pytest.fixture(scope="module")
def model() -> ps.Model:
    return ps.load(toy_translation())


@pytest.fixture(scope="module")
def translate(model: ps.Model) -> ps.Pipeline:
    return ps.pipeline(model)


@pytest.fixture(scope="module")
def ids() -> list[int]:
    return list(ps.Tokenizer.open(toy_translation()).encode(TEXT))
