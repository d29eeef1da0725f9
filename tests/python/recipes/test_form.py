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
    """What the runner gives, or reads of, artifacts of an architecture with one kind of layers."""
    others = {"with window_table"}
    if architecture is DecoderOnly:
        others |= {"with sources"}
    return {name: presence for name, presence in presences.items() if presence not in others}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_recipes_methods_have_the_inputs_that_the_runner_gives(architecture: type) -> None:
    for name, inputs in FORM["methods"].items():
        if name == "encode" and architecture is DecoderOnly:
            continue
        parameters = inspect.signature(getattr(architecture, name)).parameters
        given = given_to(architecture, inputs)
        assert list(parameters) == ["self", *(key for key in given if key in parameters)]
        assert {key for key in given if key not in parameters} <= {"counted", "window_table"}
        optional = {key for key, value in parameters.items() if value.default is None}
        assert optional == {key for key in parameters if given.get(key) == "optional"}


def test_the_constants_of_windows_are_those_that_the_runner_reads() -> None:
    capacity = Capacity(3, None, 300)
    constants = {}
    for name in ("llama", "mistral", "gemma3"):
        model = causal_model(name, max_position_embeddings=320)
        with own_attention(model):
            methods = DecoderOnly(model, capacity, DecoderOnly.forms[0])
        constants[name] = methods.constants(capacity)
        has_table = name == "gemma3"
        names = methods.entry_points(capacity).keys()
        assert names == FORM["methods"].keys() - {"encode"} - (
            set() if has_table else {"copy_window_pages"}
        )
    assert constants["mistral"].keys() - constants["llama"].keys() == {"window"}
    assert constants["gemma3"].keys() - constants["mistral"].keys() == {"window_pages"}
    assert constants["mistral"]["pages"] == constants["gemma3"]["window_pages"] == 3 * 6
    assert constants["llama"]["pages"] == constants["gemma3"]["pages"] == 3 * 19


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_recipe_writes_the_constants_that_the_runner_reads(
    architecture: type[EncoderDecoder | DecoderOnly],
) -> None:
    has_sources = architecture is EncoderDecoder
    model = tiny_model("marian") if has_sources else causal_model("llama")
    capacity = Capacity(3, 20 if has_sources else None, 30)
    with own_attention(model):
        written = architecture(model, capacity, architecture.forms[0]).constants(capacity)
    given = given_to(architecture, FORM["constants"])
    assert written.keys() - {"runner"} == given.keys() - {"window"}
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
