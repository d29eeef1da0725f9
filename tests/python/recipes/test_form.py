"""The runner, the recipe and docs/artifact.md say the same of an artifact's methods."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from polystate import _core
from polystate.recipes.architectures.decoder_only import DecoderOnly
from polystate.recipes.architectures.encoder_decoder import EncoderDecoder
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.attention import own_attention
from tests.python.recipes.causal_models import causal_model
from tests.python.recipes.tiny_models import tiny_model

FORM = _core.token_model_form()
DOCUMENT = (Path(__file__).parents[3] / "docs/artifact.md").read_text()
# What is for people, or for what opens a runner.
OTHER_CONSTANTS = {"runner", "task", "architecture"}


ARCHITECTURES: list[type[EncoderDecoder | DecoderOnly]] = [EncoderDecoder, DecoderOnly]


def given_to(architecture: type, presences: dict[str, str]) -> dict[str, str]:
    """What the runner gives, or reads of, artifacts of an architecture."""
    if architecture is EncoderDecoder:
        return presences
    return {name: presence for name, presence in presences.items() if presence != "with sources"}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_recipes_methods_have_the_inputs_that_the_runner_gives(architecture: type) -> None:
    for name, inputs in FORM["methods"].items():
        if name == "encode" and architecture is DecoderOnly:
            continue
        parameters = inspect.signature(getattr(architecture, name)).parameters
        given = given_to(architecture, inputs)
        assert list(parameters) == ["self", *(key for key in given if key in parameters)]
        assert {key for key in given if key not in parameters} <= {"counted"}
        optional = {key for key, value in parameters.items() if value.default is None}
        assert optional == {key for key in parameters if given.get(key) == "optional"}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_recipe_writes_the_constants_that_the_runner_reads(
    architecture: type[EncoderDecoder | DecoderOnly],
) -> None:
    has_sources = architecture is EncoderDecoder
    model = tiny_model("marian") if has_sources else causal_model("llama")
    capacity = Capacity(3, 20 if has_sources else None, 30)
    with own_attention(model):
        written = architecture(model, capacity, architecture.forms[0]).constants(capacity)
    assert written.keys() - {"runner"} == given_to(architecture, FORM["constants"]).keys()
    assert written["max_step_tokens"] == 64
    assert written["max_wanted"] == written["max_sequences"] == 3


def test_the_documentation_lists_the_same() -> None:
    section = DOCUMENT.partition("## Artifacts that generate")[2]
    listed = re.findall(r"^\| `(\w+)` \| (?:all|with)", section, re.MULTILINE)
    assert set(listed) - OTHER_CONSTANTS == FORM["constants"].keys()
    methods: dict[str, list[str]] = {}
    table = section.partition("| method | input |")[2]
    for method, inputs in re.findall(r"^\| (`\w+`)? ?\| (`[^|]+`) \|", table, re.MULTILINE):
        name = method.strip("`") or list(methods)[-1]
        methods.setdefault(name, []).extend(re.findall(r"\w+", inputs))
    assert methods == {name: list(inputs) for name, inputs in FORM["methods"].items()}
