from __future__ import annotations

import copy
import importlib.resources
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from polystate.artifact.manifest import Manifest


@pytest.fixture
def validator() -> jsonschema.Draft202012Validator:
    text = importlib.resources.files("polystate.artifact").joinpath("schema.json").read_text()
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_takes_a_manifest_that_uses_every_key(
    validator: jsonschema.Draft202012Validator, manifest: Manifest
) -> None:
    value = manifest.to_json()
    value["files"] = {"model.pte": 7, "golden.npz": 5}
    validator.validate(value)


@pytest.mark.parametrize("name", ["keys", "decoder.layers.0.keys", "a-b.c_d", "état.0"])
def test_names_of_buffers_are_names_of_states(
    validator: jsonschema.Draft202012Validator, manifest: Manifest, name: str
) -> None:
    value = manifest.to_json()
    value["files"] = {"model.pte": 7}
    value["state"][0]["name"] = name
    validator.validate(value)


def every_object(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects inside a JSON value whose keys the format fixes."""
    found = []
    if isinstance(value, dict):
        if not path or path[-1] not in ("versions", "constants", "files"):
            found.append(path)
        for key, item in value.items():
            found += every_object(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += every_object(item, (*path, index))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def test_an_unknown_key_is_refused_at_every_level(
    validator: jsonschema.Draft202012Validator, manifest: Manifest
) -> None:
    value = manifest.to_json()
    value["files"] = {"model.pte": 7}
    paths = every_object(value)
    kinds = {tuple(key for key in path if isinstance(key, str)) for path in paths}
    assert len(kinds) == 12  # those that docs/artifact.md shows
    for path in paths:
        changed = copy.deepcopy(value)
        at(changed, path)["surprise"] = 1
        assert not validator.is_valid(changed), path


def test_a_missing_key_is_refused_at_every_level(
    validator: jsonschema.Draft202012Validator, manifest: Manifest
) -> None:
    value = manifest.to_json()
    value["files"] = {"model.pte": 7}
    for path in every_object(value):
        for key in at(value, path):
            changed = copy.deepcopy(value)
            del at(changed, path)[key]
            assert not validator.is_valid(changed), (*path, key)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(format="pickle"),
        lambda m: m.update(format_version=2),
        lambda m: m.update(methods=[]),
        lambda m: m.update(files={"../model.pte": 1}),
        lambda m: m.update(files={".hidden": 1}),
        lambda m: m.update(files={"manifest.json": 1}),
        lambda m: m.update(files={"model.pte": -1}),
        lambda m: m.update(constants={"shape": [1, 2]}),
        lambda m: m["program"].update(engine="pickle"),
        lambda m: m["state"][0].update(name="cache..keys"),
        lambda m: m["state"][0].update(name="../cache"),
        lambda m: m["methods"][0].update(name="set-cache"),
        lambda m: m["methods"][0].update(name="2nd"),
        lambda m: m["methods"][0]["guards"][0].update(text=""),
        lambda m: m["state"][0].update(dtype="complex32"),
        lambda m: m["state"][0].update(shape=[-1]),
        lambda m: m["state"][0].update(initial="ones"),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[["/", 4, 2]]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[["+", 4]]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[["//", 4, 2, 1]]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[["not", 1, 2]]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[2**63]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[1.5]),
        lambda m: m["methods"][0]["inputs"][0].update(shape=[None]),
        lambda m: m["methods"][0]["symbols"][0].update(scale=0),
        lambda m: m["methods"][0]["writes"][0].update(update="sometimes"),
        lambda m: m["golden"].update(relative_tolerance=-1),
    ],
)
def test_a_value_outside_the_format_is_refused(
    validator: jsonschema.Draft202012Validator,
    manifest: Manifest,
    change: Callable[[dict[str, Any]], None],
) -> None:
    value = manifest.to_json()
    value["files"] = {"model.pte": 7}
    assert validator.is_valid(value)
    change(value)
    assert not validator.is_valid(value)
