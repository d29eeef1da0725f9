"""Draws JSON schemas of all that is enforced. Each limits how long a text can be."""

from __future__ import annotations

import random
from typing import Any

Schema = dict[str, Any]

_NAMES = ["name", "kind", "größe", "a b", "x", 'q"', "$ref", ""]
_TEXTS = ["home", "work", "é", "a\\b", 'say "so"', "", " ", "1"]
_PATTERNS = [
    "^[a-z]{2,5}$",
    "^(up|down)-[0-9]+$",
    "^[A-Z][a-z]*( [A-Z][a-z]*)?$",
    "^[^a]{0,4}$",
    "^.{2}$",
]
_NOTES: Schema = {"title": "t", "description": "d", "default": 0, "examples": [1], "$comment": "c"}


def draw_schema(seed: int) -> Schema:
    """A schema of an object; the same one for the same seed."""
    draw = random.Random(seed)
    schema = _object(draw, 3)
    if draw.random() < 0.3:
        schema["$defs"] = {"node": _tree()}
        schema["properties"]["tree"] = {"$ref": "#/$defs/node"}
        schema["required"].append("tree")
    return schema


def _tree() -> Schema:
    return {
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
        },
        "required": ["value", "next"],
    }


def _any(draw: random.Random, depth: int) -> Schema:
    kinds = [_string, _integer, _number, _choice, _constant, _plain, _several_types]
    if depth > 0:
        kinds += [_object, _object, _array, _array, _tuple, _one_of_some]
    schema = draw.choice(kinds)(draw, depth - 1)
    return {**_NOTES, **schema} if draw.random() < 0.1 else schema


def _object(draw: random.Random, depth: int) -> Schema:
    names = draw.sample(_NAMES, draw.randint(1, 4))
    schema: Schema = {
        "type": "object",
        "properties": {name: _any(draw, depth) for name in names},
        "required": [name for name in names if draw.random() < 0.7],
    }
    if draw.random() < 0.3:
        schema["additionalProperties"] = draw.choice([False, {"type": "integer"}])
        schema["maxProperties"] = len(names) + 2
        if schema["additionalProperties"] is not False and draw.random() < 0.5:
            schema["required"].append("other")
    return schema


def _array(draw: random.Random, depth: int) -> Schema:
    schema: Schema = {"type": "array", "items": _any(draw, depth)}
    schema["maxItems"] = draw.randint(0, 3)
    if draw.random() < 0.7:
        schema["minItems"] = draw.randint(0, schema["maxItems"])
    return schema


def _tuple(draw: random.Random, depth: int) -> Schema:
    items = [_any(draw, depth) for _ in range(draw.randint(1, 3))]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _string(draw: random.Random, _: int) -> Schema:
    if draw.random() < 0.4:
        return {"type": "string", "pattern": draw.choice(_PATTERNS)}
    least = draw.randint(0, 3)
    return {"type": "string", "minLength": least, "maxLength": least + draw.randint(0, 6)}


def _integer(draw: random.Random, _: int) -> Schema:
    least = draw.randint(-1000, 1000)
    bounds = {"minimum": least, "maximum": least + draw.randint(0, 500)}
    return {"type": "integer", **(bounds if draw.random() < 0.7 else {})}


def _number(draw: random.Random, _: int) -> Schema:
    least = draw.randint(-50, 50) / 4
    names = draw.choice([("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum")])
    bounds = dict(zip(names, (least, least + draw.randint(1, 40) / 8), strict=True))
    return {"type": "number", **(bounds if draw.random() < 0.5 else {})}


def _choice(draw: random.Random, _: int) -> Schema:
    values: list[Any] = [*draw.sample(_TEXTS, 3), 12, -0.5, None, True]
    return {"enum": draw.sample(values, draw.randint(1, 4))}


def _constant(draw: random.Random, _: int) -> Schema:
    return {"const": draw.choice([*_TEXTS, 7, False, None])}


def _plain(draw: random.Random, _: int) -> Schema:
    return {"type": draw.choice(["boolean", "null"])}


def _several_types(draw: random.Random, _: int) -> Schema:
    return {"type": draw.sample(["boolean", "null", "integer"], 2)}


def _one_of_some(draw: random.Random, depth: int) -> Schema:
    return {"anyOf": [_any(draw, depth) for _ in range(draw.randint(2, 3))]}
