"""Texts become what a format asks for, whichever allowed tokens are chosen."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import jsonschema
import numpy as np
import pytest

import polystate as ps
from tests.python.grammar import walks
from tests.python.grammar.schemas import draw_schema
from tests.python.grammar.walks import walk
from tests.support.toy_completion import toy_completion

END = 1


@pytest.fixture(scope="module")
def tokenizer() -> ps.Tokenizer:
    return ps.Tokenizer.open(toy_completion() / "model")


def accepts(tokenizer: ps.Tokenizer, response_format: dict[str, Any], text: str) -> bool:
    return walks.accepts(tokenizer, ps.Grammar(tokenizer, response_format, END), text, END)


def check_schema(tokenizer: ps.Tokenizer, schema: dict[str, Any], seed: int) -> None:
    grammar = ps.Grammar(tokenizer, {"type": "json_schema", "schema": schema}, END)
    draw = random.Random(seed)
    for steps in (0, 8, 60):
        text = tokenizer.decode(walk(tokenizer, grammar.start(), draw, steps, END))
        jsonschema.validate(json.loads(text), schema)


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_what_a_schema_allows_is_valid(tokenizer: ps.Tokenizer, first: int) -> None:
    for seed in range(first, first + 10):
        check_schema(tokenizer, draw_schema(seed), seed)


@pytest.mark.exhaustive
def test_what_a_thousand_schemas_allow_is_valid(tokenizer: ps.Tokenizer) -> None:
    for seed in range(50, 1000):
        check_schema(tokenizer, draw_schema(seed), seed)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "object"}, ["{}", '{"a": [1, {"b": null}]}'], ["[]", "1", '{"a" 1}']),
        ({"required": ["a"]}, ['{"a": 1}', '{"a": [2]}'], ["{}", '{"b": 1}']),
        ({"enum": ["a", 1], "type": "string"}, ['"a"'], ["1", '"b"']),
        ({"const": {"a": [1]}}, ['{"a":[1]}'], ['{"a":[2]}']),
        ({"type": "integer", "multipleOf": 3}, ["3", "12", "-9"], ["4", "-10"]),
        ({"type": "string", "format": "date"}, ['"2026-02-28"'], ['"2026"', '"x"']),
        ({"type": "string", "format": "int32"}, ['"x"'], ["1"]),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, ["null", "true"], ["1"]),
        ({"propertyNames": {"pattern": "^a+$"}, "type": "object"}, ['{"aa": 1}'], ['{"b": 1}']),
        ({"minProperties": 1, "type": "object"}, ['{"b": 1}'], ["{}"]),
        (True, ["1", "[]"], ["x"]),
    ],
)
def test_words_of_schemas(
    tokenizer: ps.Tokenizer, schema: Any, valid: list[str], invalid: list[str]
) -> None:
    response_format = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    for text in valid:
        jsonschema.validate(json.loads(text), schema)
        assert accepts(tokenizer, response_format, text), text
    for text in invalid:
        assert not accepts(tokenizer, response_format, text), text


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"not": {"type": "null"}}, "'not'"),
        ({"if": {"const": 1}, "then": False}, "'if'"),
        ({"type": "array", "uniqueItems": True}, "'uniqueItems'"),
        ({"type": "array", "contains": {"const": 1}}, "'contains'"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, "'dependentRequired'"),
        ({"type": "integer", "minimal": 3}, "'minimal'"),
        ({"type": "number", "multipleOf": 0.5}, "multipleOf"),
        ({"minLength": 2, "minimum": 1}, "without 'type'"),
        ({"anyOf": [{"type": "null"}], "minLength": 2}, "'minLength' is not enforced beside"),
        ({"$ref": "#/$defs/a", "type": "object", "$defs": {"a": {}}}, "'type' is not enforced"),
        ({"$dynamicRef": "#a"}, "dynamicRef"),
        ({"properties": {"a": {"items": {"not": {}}}}}, "#/properties/a/items: 'not'"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"),
        ({"type": "string", "minLength": 2, "pattern": "a"}, "minLength"),
    ],
)
def test_words_that_would_not_be_enforced_are_refused_by_name(
    tokenizer: ps.Tokenizer, schema: dict[str, Any], word: str
) -> None:
    with pytest.raises(ps.UnsupportedError, match=word.replace("$", r"\$")):
        ps.Grammar(tokenizer, {"type": "json_schema", "schema": schema}, END)


def test_one_of_some_texts(tokenizer: ps.Tokenizer) -> None:
    choices = ["yes", 'no "x"', "a\\b\n", "Où ?", "yesterday"]
    response_format = {"type": "choice", "choices": choices}
    for text in [*choices, "y", "no", "Où", ""]:
        assert accepts(tokenizer, response_format, text) == (text in choices)


def test_grammars(tokenizer: ps.Tokenizer) -> None:
    gbnf = """
    # An expression of sums.
    root ::= term ("+" term)*
    term ::= [0-9]+ | "(" root ")"
    """
    lark = 'start: term ("+" term)*\nterm: /[0-9]+/ | "(" start ")"\n'
    for given in ({"grammar": gbnf}, {"grammar": lark, "syntax": "lark"}):
        for text, expected in {"1+(2+3)": True, "12": True, "1+": False, "(1": False}.items():
            assert accepts(tokenizer, {"type": "grammar", **given}, text) == expected


def test_free_text_with_constrained_parts(tokenizer: ps.Tokenizer) -> None:
    call = {"type": "json_schema", "json_schema": {"type": "object", "required": ["x"]}}
    tag = {"type": "tag", "begin": "<call>", "content": call, "end": "</call>"}
    response_format = {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": ["<call>"], "tags": [tag]},
    }
    assert accepts(tokenizer, response_format, 'I ask: <call>{"x": 1}</call>')
    assert accepts(tokenizer, response_format, "I know.")
    assert not accepts(tokenizer, response_format, "I ask: <call>{}</call>")


@pytest.mark.parametrize(
    ("response_format", "message"),
    [
        ({"type": "yaml"}, 'must be "json_object", "json_schema"'),
        ({}, "type"),
        ({"type": "regex"}, "pattern"),
        ({"type": "regex", "pattern": "(a"}, "response_format: "),
        ({"type": "choice", "choices": []}, "name at least one"),
        ({"type": "choice", "choices": [1]}, "must be a string, is 1"),
        ({"type": "grammar", "grammar": "root ::="}, "response_format: "),
        ({"type": "grammar", "grammar": "x", "syntax": "bnf"}, '"gbnf" or "lark"'),
        ({"type": "json_schema"}, "json_schema"),
        ({"type": "json_schema", "schema": []}, "must be a schema"),
        ({"type": "json_schema", "schema": False}, "cannot accept any value"),
        ({"type": "json_schema", "schema": {"type": "text"}}, "type"),
        ({"type": "json_schema", "schema": {"$ref": "#/$defs/no"}}, "response_format: "),
        ({"type": "structural_tag", "format": {}}, "response_format: "),
        ({"type": "regex", "pattern": "a" * 2**21}, "may have 1048576"),
        ({"type": "regex", "pattern": object()}, "is no JSON"),
    ],
)
def test_malformed_formats_are_refused(
    tokenizer: ps.Tokenizer, response_format: dict[str, Any], message: str
) -> None:
    with pytest.raises(ps.ContractError, match=re.escape(message)):
        ps.Grammar(tokenizer, response_format, END)


def nested_arrays(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "null"}}
    for _ in range(depth - 1):
        schema = {"type": "array", "items": schema}
    return {"type": "json_schema", "schema": schema}


def nested_groups(depth: int) -> dict[str, Any]:
    return {"type": "grammar", "grammar": f'root ::= {"(" * depth}"a"{")" * depth}'}


def nested_expressions(depth: int) -> dict[str, Any]:
    return {"type": "regex", "pattern": "(" * depth + "aa" + ")" * depth}


@pytest.mark.parametrize(
    ("format_of", "most", "text", "message"),
    [
        (nested_arrays, 126, "[" * 126 + "null" + "]" * 126, "values are nested deeper than 128"),
        (nested_groups, 1000, "a", "Nest layer exceeded"),
        (nested_expressions, 2047, "aa", "has 4098 bytes, and may have 4096"),
    ],
)
def test_nesting_is_taken_up_to_its_limit_and_no_deeper(
    tokenizer: ps.Tokenizer,
    format_of: Callable[[int], dict[str, Any]],
    most: int,
    text: str,
    message: str,
) -> None:
    assert accepts(tokenizer, format_of(most), text)
    with pytest.raises(ps.ContractError, match=message):
        ps.Grammar(tokenizer, format_of(most + 1), END)


@pytest.mark.parametrize(
    ("response_format", "message"),
    [
        (nested_arrays(200), "values are nested deeper than 128"),
        (nested_groups(50_000), "Nest layer exceeded"),
        (nested_expressions(50_000), "has 100002 bytes, and may have 4096"),
    ],
    ids=["arrays", "groups", "expressions"],
)
def test_nesting_that_would_take_all_of_a_stack_is_refused(
    tokenizer: ps.Tokenizer, response_format: dict[str, Any], message: str
) -> None:
    with pytest.raises(ps.ContractError, match=message):
        ps.Grammar(tokenizer, response_format, END)


@pytest.mark.parametrize("pattern", ["(" * 3000, "[" * 4000, "a?" * 5000])
def test_long_expressions_that_are_none_are_refused(tokenizer: ps.Tokenizer, pattern: str) -> None:
    message = "may have 4096" if len(pattern) > 4096 else "response_format: "
    for response_format in (
        {"type": "regex", "pattern": pattern},
        {"type": "json_schema", "schema": {"type": "string", "pattern": pattern}},
        {"type": "grammar", "grammar": f'root ::= Regex("{pattern}")'},
    ):
        with pytest.raises(ps.ContractError, match=message):
            ps.Grammar(tokenizer, response_format, END)


LONG_EXPRESSION = "(a|b)?" * 1000
DEEP_EXPRESSION = "([)]" * 100_000 + "a" + ")" * 100_000  # each "[)]" seems to close a group


@pytest.mark.parametrize("pattern", [LONG_EXPRESSION, DEEP_EXPRESSION], ids=["long", "deep"])
@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "regex", "pattern": "PATTERN"},
        {"type": "grammar", "grammar": 'root ::= Regex("PATTERN")'},
        {"type": "grammar", "grammar": 'root ::= Regex( "PATTERN" , flags="i")'},
        {"type": "grammar", "grammar": 'root ::= "a" Regex # an expression\n ("PATTERN")'},
        {"type": "json_schema", "schema": {"type": "string", "pattern": "PATTERN"}},
        {"type": "json_schema", "schema": {"patternProperties": {"PATTERN": {"type": "null"}}}},
        {
            "type": "structural_tag",
            "format": {"type": "grammar", "grammar": 'root ::= Regex("PATTERN")'},
        },
    ],
    ids=lambda each: str(each)[:90],
)
def test_a_long_expression_is_refused_wherever_it_is(
    tokenizer: ps.Tokenizer, response_format: dict[str, Any], pattern: str
) -> None:
    found = json.loads(json.dumps(response_format).replace("PATTERN", pattern))
    with pytest.raises(ps.ContractError) as raised:
        ps.Grammar(tokenizer, found, END)
    assert re.search(r"has \d+ bytes, and may have 4096", str(raised.value))
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "grammar", "grammar": f"start: /{DEEP_EXPRESSION}/", "syntax": "lark"},
        {"type": "structural_tag", "format": {"type": "regex", "pattern": DEEP_EXPRESSION}},
        {"type": "grammar", "grammar": "root ::= " + '(")" ' * 50_000 + ")" * 50_000},
    ],
    ids=lambda each: str(each)[:60],
)
def test_deep_groups_are_refused_wherever_they_are(
    tokenizer: ps.Tokenizer, response_format: dict[str, Any]
) -> None:
    with pytest.raises(ps.ContractError, match="Nest layer exceeded") as raised:
        ps.Grammar(tokenizer, response_format, END)
    assert len(str(raised.value)) < 2000


def test_a_schema_of_many_names_is_read_in_time(tokenizer: ps.Tokenizer) -> None:
    names = {f"a{i}": {} for i in range(500_000)}
    with pytest.raises(ps.ContractError, match="may have 1048576"):
        ps.Grammar(tokenizer, {"type": "json_schema", "schema": {"properties": names}}, END)


def test_names_that_are_required_alone_have_the_schema_of_others(tokenizer: ps.Tokenizer) -> None:
    schema = {"type": "object", "required": ["n"], "additionalProperties": {"type": "integer"}}
    response_format = {"type": "json_schema", "schema": schema}
    assert accepts(tokenizer, response_format, '{"n": 1}')
    assert not accepts(tokenizer, response_format, '{"n": "text"}')
    for word, error in (
        ({"additionalProperties": False}, ps.ContractError),
        ({"propertyNames": {"pattern": "^[a-z]$"}}, ps.UnsupportedError),
    ):
        with pytest.raises(error, match="'n'"):
            ps.Grammar(
                tokenizer,
                {"type": "json_schema", "schema": {"type": "object", "required": ["n"], **word}},
                END,
            )


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"type": "integer", "minimum": 10**16}, "10000000000000001", "9999999999999999"),
        ({"type": "integer", "maximum": -(10**16)}, "-10000000000000001", "-9999999999999999"),
    ],
)
def test_limits_may_be_beyond_what_a_double_keeps(
    tokenizer: ps.Tokenizer, schema: dict[str, Any], inside: str, outside: str
) -> None:
    response_format = {"type": "json_schema", "schema": schema}
    assert accepts(tokenizer, response_format, inside)
    assert not accepts(tokenizer, response_format, outside)


def test_states_fork_and_rewind(tokenizer: ps.Tokenizer) -> None:
    grammar = ps.Grammar(tokenizer, {"type": "json_schema", "schema": draw_schema(3)}, END)
    draw = random.Random(0)
    chosen = walk(tokenizer, grammar.start(), draw, 30, END)
    state = grammar.start()
    masks = []
    for token in chosen:
        masks.append(state.allowed())
        state.advance(token)
    state.advance(END)
    for back in (1, 2, len(chosen) // 2):
        state.rewind(back)
        at = len(chosen) + 1 - back
        twin = state.fork()
        for token, expected in zip(chosen[at:], masks[at:], strict=True):
            assert np.array_equal(state.allowed(), expected)
            assert np.array_equal(twin.allowed(), expected)
            state.advance(token)
            twin.advance(token)
        state.advance(END)


def test_no_more_tokens_are_taken_back_than_there_are(tokenizer: ps.Tokenizer) -> None:
    state = ps.Grammar(tokenizer, {"type": "regex", "pattern": "a*"}, END).start()
    before = state.allowed()
    with pytest.raises(ps.ContractError, match="cannot rewind 1 tokens: the text has 0"):
        state.rewind(1)
    state.advance(END)
    twin = state.fork()
    for each in (state, twin):
        with pytest.raises(ps.ContractError, match="cannot rewind 2 tokens: the text has 1"):
            each.rewind(2)
        each.rewind(1)
        assert np.array_equal(each.allowed(), before)


def test_a_token_that_may_not_follow_is_refused(tokenizer: ps.Tokenizer) -> None:
    state = ps.Grammar(tokenizer, {"type": "regex", "pattern": "ab"}, END).start()
    before = state.allowed()
    with pytest.raises(ps.ContractError, match="response_format does not allow"):
        state.advance(END)
    assert np.array_equal(state.allowed(), before)


def test_numbers_without_limits_end(tokenizer: ps.Tokenizer) -> None:
    for kind in ("integer", "number"):
        response_format = {"type": "json_schema", "schema": {"type": kind}}
        for text in ("0", "-1", "9007199254740991", "-9007199254740991"):
            assert accepts(tokenizer, response_format, text), (kind, text)
        for text in ("90071992547409910", "1" * 40):
            assert not accepts(tokenizer, response_format, text), (kind, text)
    for text in ("0.25", "-12.5"):
        assert accepts(tokenizer, response_format, text)
