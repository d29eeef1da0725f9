"""What a schema says of decoded values is enforced as jsonschema understands it."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import jsonschema
import pytest

import polystate as ps
from tests.python.grammar import walks
from tests.python.grammar.walks import walk
from tests.support.toy_completion import toy_completion

END = 1


@pytest.fixture(scope="module")
def tokenizer() -> ps.Tokenizer:
    return ps.Tokenizer.open(toy_completion() / "model")


def grammar_of(tokenizer: ps.Tokenizer, schema: Any) -> ps.Grammar:
    return ps.Grammar(tokenizer, {"type": "json_schema", "schema": schema}, END)


def check(tokenizer: ps.Tokenizer, schema: Any, values: list[Any]) -> None:
    """Compare values that are given, and texts that are drawn, with jsonschema's answer."""
    grammar = grammar_of(tokenizer, schema)
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        text = json.dumps(value, ensure_ascii=False)
        expected = validator.is_valid(value)
        assert walks.accepts(tokenizer, grammar, text, END) == expected, (schema, text)
    for seed in range(3):
        tokens = walk(tokenizer, grammar.start(), random.Random(seed), 4 * seed, END)
        validator.validate(json.loads(tokenizer.decode(tokens)))


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "array", "minItems": 1.0}, [[], [1], [{"a": []}]]),
        ({"prefixItems": [True], "items": False}, [[], ["a"], [1, 2]]),
        ({"type": "integer", "minimum": 0.5}, [0, 1, -1]),
        ({"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 3}, [0, 1, 2, 3]),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, [0, -1, 2**63 - 1]),
        ({"type": "number", "minimum": 1e-1, "exclusiveMaximum": 1e1}, [0.05, 0.1, 9.5, 10, 11]),
        ({"type": "number", "multipleOf": 5}, [0, 5, 7, -10]),
        ({"type": ["integer", "string"], "minimum": 3, "minLength": 2}, [2, 3, "a", "ab", None]),
        ({"type": "integer", "uniqueItems": False, "nullable": False, "x-unit": "m"}, [1]),
        ({"type": "string", "contentEncoding": "base64", "example": "eA=="}, ["eA==", "x", 1]),
        (
            {
                "type": "object",
                "patternProperties": {"^x_": {"type": "integer"}, "^y": True},
                "additionalProperties": False,
            },
            [{}, {"x_a": 1}, {"x_a": "t"}, {"y": "t"}, {"z": 1}, {'y"': 1}],
        ),
        (
            {
                "type": "object",
                "patternProperties": {"^a": {"type": "integer"}},
                "required": ["ab"],
                "additionalProperties": False,
            },
            [{"ab": 1}, {"ab": "t"}, {}, {"ab": 1, "ac": 2}],
        ),
        ({"type": "object", "propertyNames": {"maxLength": 2}}, [{"ab": 1}, {"abc": 1}, {}]),
        ({"type": "object", "propertyNames": {"enum": ["a"]}}, [{"a": 1}, {"b": 1}, {}]),
        ({"type": ["string", "null"], "enum": ["a", None, 1]}, ["a", None, 1]),
        ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 2}, ["a", "ab", "abc", ""]),
    ],
    ids=lambda each: str(each)[:60],
)
def test_words_of_published_schemas(tokenizer: ps.Tokenizer, schema: Any, values: Any) -> None:
    check(tokenizer, schema, values)


# As pydantic makes them of unions that `kind` tells apart, one of them of two.
PETS = {
    "type": "object",
    "properties": {
        "pet": {
            "discriminator": {
                "mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"},
                "propertyName": "kind",
            },
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "title": "Pet",
        },
        "box": {"anyOf": [{"$ref": "#/$defs/Box_Pet~1int_"}, {"type": "null"}], "default": None},
    },
    "required": ["pet"],
    "title": "Owner",
    "$defs": {
        "Box_Pet/int_": {
            "type": "object",
            "properties": {"content": {"$ref": "#/properties/pet", "description": "d"}},
            "required": ["content"],
        },
        "Cat": {
            "discriminator": {"propertyName": "color"},
            "oneOf": [{"$ref": "#/$defs/Black"}, {"$ref": "#/$defs/White"}],
        },
        "Black": {
            "type": "object",
            "properties": {
                "kind": {"const": "cat", "title": "Kind", "type": "string"},
                "color": {"const": "black", "type": "string"},
            },
            "required": ["kind", "color"],
        },
        "White": {
            "type": "object",
            "properties": {
                "kind": {"const": "cat", "title": "Kind", "type": "string"},
                "color": {"const": "white", "type": "string"},
            },
            "required": ["kind", "color"],
        },
        "Dog": {
            "type": "object",
            "properties": {"kind": {"enum": ["dog", "wolf"], "type": "string"}},
            "required": ["kind"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, [1, "a"]),
        ({"$ref": "#/$defs/A%3Cb%3E", "$defs": {"A<b>": {"type": "null"}}}, [None, 1]),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "null"}}},
            [None, 1],
        ),
        (
            PETS,
            [
                {"pet": {"kind": "cat", "color": "white"}},
                {"pet": {"kind": "cat", "color": "red"}},
                {"pet": {"kind": "dog"}, "box": None},
                {"pet": {"kind": "dog"}, "box": {"content": {"kind": "wolf"}}},
                {"pet": {"kind": "dog"}, "box": {"content": {"kind": "cat"}}},
            ],
        ),
        (
            {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}], "type": "string"},
            ["a", "b", "c"],
        ),
        (
            {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": []},
            [{}, {"next": {}}, {"next": 1}],
        ),
    ],
    ids=lambda each: str(each)[:60],
)
def test_references_and_cases(tokenizer: ps.Tokenizer, schema: Any, values: list[Any]) -> None:
    check(tokenizer, schema, values)


def test_numbers_may_have_many_decimals_and_an_exponent(tokenizer: ps.Tokenizer) -> None:
    grammar = grammar_of(tokenizer, {"type": "number"})
    for text in ("3.14159265", "1e-7", "1.5E+10", "-0.1", repr(0.1 + 0.2), repr(1e22)):
        assert walks.accepts(tokenizer, grammar, text, END), text
    for text in ("01", "1.", ".5", "1e", "1e400", '"1"'):
        assert not walks.accepts(tokenizer, grammar, text, END), text


def test_expressions_that_would_take_long_are_refused(tokenizer: ps.Tokenizer) -> None:
    pattern = "(([a-z]{1,9}){1,9}){1,9}"
    regex = {"type": "regex", "pattern": pattern}
    tag = {"type": "structural_tag", "format": regex}
    schema = {"type": "json_schema", "schema": {"type": "string", "pattern": pattern}}
    for response_format in (regex, tag, schema):
        with pytest.raises(ps.ContractError, match="729 times"):
            ps.Grammar(tokenizer, response_format, END)


NAMES = {f"name{i}": {"type": ["string", "null"]} for i in range(400)}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 500},
        {"type": "string", "maxLength": 4000},
        {"type": "string", "minLength": 100_000},
        {"type": "string", "pattern": "^[a-z]{0,1000}$"},
        {"type": "string", "pattern": "^([a-z]{1,20} ){1,20}$"},
        {"type": "string", "pattern": "^([a-z]{1,8}){1,4}$"},
        {"type": "string", "pattern": "^.{0,60}a.{0,60}$"},
        {"type": "object", "properties": NAMES},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 5000},
    ],
    ids=lambda each: str(each)[:50],
)
def test_large_limits_compile_at_once(tokenizer: ps.Tokenizer, schema: Any) -> None:
    start = time.monotonic()
    grammar_of(tokenizer, schema)
    assert time.monotonic() - start < 3


def test_a_text_among_arguments_with_tags_is_plain(tokenizer: ps.Tokenizer) -> None:
    schema = {
        "type": "object",
        "properties": {
            "old": {"type": "string", "pattern": '^a"b'},
            "new": {"type": "string", "minLength": 1},
            "list": {"type": "array", "items": {"$ref": "#/$defs/q"}, "minItems": 1},
            "one": {"$ref": "#/$defs/q"},
        },
        "required": ["old", "new", "list", "one"],
        "$defs": {"q": {"type": "string", "pattern": '^"$'}},
    }
    content = {"type": "json_schema", "json_schema": schema, "style": "qwen_xml"}
    grammar = ps.Grammar(tokenizer, {"type": "structural_tag", "format": content}, END)

    def written(old: str, new: str = 'say "x"\nif a < b', one: str = '"') -> str:
        values = {"old": old, "new": new, "list": r'["\""]', "one": one}
        return "".join(f"<parameter={name}>{v}</parameter>" for name, v in values.items())

    assert walks.accepts(tokenizer, grammar, written('a"b\\'), END)
    assert not walks.accepts(tokenizer, grammar, written(r"a\"b"), END)
    assert not walks.accepts(tokenizer, grammar, written('a"b', new=""), END)
    assert not walks.accepts(tokenizer, grammar, written('a"b', one=r"\""), END)
