"""The runner, the recipe and docs/artifact.md say the same of an artifact's methods."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from polystate import _core
from polystate.recipes.architectures.encoder_decoder import EncoderDecoder, Form, constants
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.attention import own_attention
from tests.python.recipes.tiny_models import tiny_model

FORM = _core.token_model_form()
DOCUMENT = (Path(__file__).parents[3] / "docs/artifact.md").read_text()
# What is for people, or for what opens a runner.
OTHER_CONSTANTS = {"runner", "task", "architecture"}


def test_the_recipes_methods_have_the_inputs_that_the_runner_gives() -> None:
    for name, inputs in FORM["methods"].items():
        parameters = inspect.signature(getattr(EncoderDecoder, name)).parameters
        assert list(parameters) == ["self", *inputs]
        optional = {key for key, value in parameters.items() if value.default is None}
        assert optional == {key for key, presence in inputs.items() if presence == "optional"}


def test_the_recipe_writes_the_constants_that_the_runner_reads() -> None:
    model, capacity = tiny_model("marian"), Capacity(3, 20, 30)
    with own_attention(model):
        written = constants(EncoderDecoder(model, capacity, Form(tokens_as_batch=True)), capacity)
    assert written.keys() - {"runner"} == FORM["constants"].keys()
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
