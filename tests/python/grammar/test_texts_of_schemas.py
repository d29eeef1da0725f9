"""Words about texts speak of the text that JSON decodes to, and search in it."""

from __future__ import annotations

import concurrent.futures
import json
from typing import Any

import jsonschema
import pytest

import polystate as ps
from tests.python.grammar import walks
from tests.support.toy_completion import toy_completion

END = 1

TEXTS = [
    "",
    "a",
    "ab",
    "ba",
    "b",
    "x",
    'a"b',
    "a\nb",
    "a\tb",
    "a\\b",
    "C:\\abc",
    "a b",
    "é",
    "日本",
]
TEXTS += ["😀", "https://a.b", "foo-bar", "\x01", "a" * 200, "\r", "aXb"]


@pytest.fixture(scope="module")
def tokenizer() -> ps.Tokenizer:
    return ps.Tokenizer.open(toy_completion() / "model")


def check(tokenizer: ps.Tokenizer, schema: dict[str, Any], values: list[Any]) -> None:
    grammar = ps.Grammar(tokenizer, {"type": "json_schema", "schema": schema}, END)
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        text = json.dumps(value, ensure_ascii=False)
        expected = validator.is_valid(value)
        assert walks.accepts(tokenizer, grammar, text, END) == expected, (schema, text)


@pytest.mark.parametrize(
    "pattern",
    [
        '^a"b$',
        r"^C:\\[a-z]+$",
        r"^a\nb$",
        r"^a[\s\S]*b$",
        "^a.*b$",
        "^[^/]+$",
        r"^\S+$",
        r"\S",
        "^https://",
        "",
        "^a",
        "b$",
        "^a|^b",
        "^$|^x$",
        "(^a$)|(^b$)",
        "^(a|b)$",
        r"\\",
        "^.$",
        "^[^a]{2,}$",
        r"^[\d.]*$",
        "foo|bar",
    ],
)
def test_patterns_search_in_the_text(tokenizer: ps.Tokenizer, pattern: str) -> None:
    check(tokenizer, {"type": "string", "pattern": pattern}, TEXTS)
    names = [{text: 1} for text in TEXTS]
    check(tokenizer, {"type": "object", "propertyNames": {"pattern": pattern}}, names)
    patterns = {"patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}
    if pattern:  # which jsonschema forgets where it is empty
        check(tokenizer, {"type": "object", **patterns}, names)


@pytest.mark.parametrize("text", ['"a"b"', '"C:\\abc"', '"a\nb"', '"a\tb"', '"\x01"'])
def test_what_is_no_json_is_not_allowed(tokenizer: ps.Tokenizer, text: str) -> None:
    words: list[dict[str, Any]] = [{"pattern": r"^[\s\S]*$"}, {"minLength": 1}, {"maxLength": 99}]
    for word in [*words, {"format": "json-pointer"}]:
        for kind in ("string", ["string", "null"]):
            schema = {"type": "json_schema", "schema": {"type": kind, **word}}
            assert not walks.accepts(tokenizer, ps.Grammar(tokenizer, schema, END), text, END)


@pytest.mark.parametrize("kind", ["string", ["string", "null"], ["integer", "string"]])
def test_lengths_count_characters(tokenizer: ps.Tokenizer, kind: Any) -> None:
    words: list[dict[str, Any]] = [{"minLength": 1}, {"maxLength": 3}]
    for word in [*words, {"minLength": 2, "maxLength": 5}]:
        check(tokenizer, {"type": kind, **word}, [*TEXTS, None, 7])


def test_a_pair_of_escapes_is_one_character(tokenizer: ps.Tokenizer) -> None:
    schema = {"type": "json_schema", "schema": {"type": "string", "maxLength": 1}}
    grammar = ps.Grammar(tokenizer, schema, END)
    for text, expected in {
        r'"\ud83d\ude00"': True,
        r'"\u00e9"': True,
        r'"\/"': True,
        r'"\ud83d"': False,
        r'"\n\n"': False,
    }.items():
        assert walks.accepts(tokenizer, grammar, text, END) == expected, text


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "array", "maxItems": 2},
        {"type": "array", "minItems": 1},
        {"maxItems": 2, "type": ["array", "null"]},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"type": "array", "prefixItems": [{"type": "integer"}], "maxItems": 1},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
    ],
)
def test_arrays_have_any_items_where_nothing_is_said(
    tokenizer: ps.Tokenizer, schema: dict[str, Any]
) -> None:
    check(tokenizer, schema, [[], [1], [1, "a"], ["a"], [1, None, {"a": []}], None])


@pytest.mark.parametrize("pattern", ["^(?=a)a$", r"^(a)\1$", r"\bfoo", "a^b", r"^\p{L}$"])
def test_expressions_that_are_not_regular_are_refused(
    tokenizer: ps.Tokenizer, pattern: str
) -> None:
    schema = {"type": "json_schema", "schema": {"type": "string", "pattern": pattern}}
    with pytest.raises(ps.UnsupportedError, match=r"'pattern': .* is not enforced"):
        ps.Grammar(tokenizer, schema, END)


def test_threads_compile_formats_at_once(tokenizer: ps.Tokenizer) -> None:
    """Some the same, some of their own; one that is refused is refused for all."""

    def found(number: int) -> list[bool | str]:
        texts = ['"a1"', '"b2"', "3"]
        schema = {"type": "string", "pattern": f"^[ab]{number % 3}$"}
        if number % 4 == 3:
            schema = {"type": "string", "pattern": "(?=a)"}
        try:
            grammar = ps.Grammar(tokenizer, {"type": "json_schema", "schema": schema}, END)
        except ps.Error as error:
            return [str(error)]
        return [walks.accepts(tokenizer, grammar, text, END) for text in texts]

    alone = [found(number) for number in range(12)]
    assert any(len(each) == 1 for each in alone)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            assert list(threads.map(found, range(12))) == alone
