"""Regular expressions mean what they mean in Python, where these have ASCII classes."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import polystate as ps
from tests.python.grammar.walks import accepts, tokens_of, walk
from tests.support.toy_completion import toy_completion

END = 1

ATOMS = (
    "a",
    "ab",
    ".",
    "[a-c]",
    "[^a]",
    r"\d",
    r"\w",
    r"\s",
    r"\S",
    "é",
    "[é日]",
    "(a|b)",
    "(?:ab|c)",
)
ATOMS += (r"\.", "1", "\n", " ", "-", r"[\d-]", r"[\w.]", "x?", "ba*", "(?:ba+)?", "c{2,}")
QUANTIFIERS = ("*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "*?", "??")
CHARACTERS = "aabbcé日1. -\nx"


@pytest.fixture(scope="module")
def tokenizer() -> ps.Tokenizer:
    return ps.Tokenizer.open(toy_completion() / "model")


def drawn(draw: random.Random, depth: int = 0) -> str:
    kind = draw.random()
    if depth > 3 or kind < 0.4:
        return draw.choice(ATOMS)
    one = drawn(draw, depth + 1)
    if kind < 0.6:
        return one + drawn(draw, depth + 1)
    if kind < 0.75:
        return f"({one}|{drawn(draw, depth + 1)})"
    return f"(?:{one}){draw.choice(QUANTIFIERS)}"


def allowed_text(tokenizer: ps.Tokenizer, grammar: ps.Grammar, draw: random.Random) -> str | None:
    """A text of allowed tokens, mostly of one character; None where it does not end soon."""
    state, chosen = grammar.start(), list[int]()
    short = {token for c in CHARACTERS for token in tokens_of(tokenizer, c)}
    for _ in range(40):
        allowed = np.flatnonzero(state.allowed()).tolist()
        if allowed == [END] or (END in allowed and draw.random() < 0.3):
            return tokenizer.decode(chosen)
        candidates = [token for token in allowed if token in short] or allowed
        chosen.append(draw.choice([token for token in candidates if token != END] or allowed))
        state.advance(chosen[-1])
    return None


def check(tokenizer: ps.Tokenizer, pattern: str, draw: random.Random) -> None:
    """Compare texts that the expression allows, and drawn ones, with Python's answer."""
    grammar = ps.Grammar(tokenizer, {"type": "regex", "pattern": pattern}, END)
    if (text := allowed_text(tokenizer, grammar, draw)) is not None:
        assert re.fullmatch(pattern, text, re.ASCII), f"{pattern!r} allows {text!r}"
    for _ in range(12):
        text = "".join(draw.choice(CHARACTERS) for _ in range(draw.randrange(6)))
        expected = re.fullmatch(pattern, text, re.ASCII) is not None
        assert accepts(tokenizer, grammar, text, END) == expected, f"{pattern!r}, {text!r}"


@pytest.mark.parametrize("first", [0, 100])
def test_drawn_ones(tokenizer: ps.Tokenizer, first: int) -> None:
    for seed in range(first, first + 100):
        draw = random.Random(seed)
        check(tokenizer, drawn(draw), draw)


@pytest.mark.exhaustive
def test_five_thousand_drawn_ones(tokenizer: ps.Tokenizer) -> None:
    for seed in range(200, 5000):
        draw = random.Random(seed)
        check(tokenizer, drawn(draw), draw)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(ba*)?", "a"),
        (r"[0-9]+(\.[0-9]+)?Z", "1.Z"),
        ("((a*)b+)?c?", "ac"),
        ("((ba+)?){2,}", "a"),
        ("(ba*|c){2,}", "bcab"),
        ("(a{1,3}|(a|b))|c", "ba"),
        (".", "\n"),
    ],
)
def test_a_text_that_does_not_match(tokenizer: ps.Tokenizer, pattern: str, text: str) -> None:
    grammar = ps.Grammar(tokenizer, {"type": "regex", "pattern": pattern}, END)
    assert not accepts(tokenizer, grammar, text, END)
    schema = {"type": "json_schema", "schema": {"type": "string", "pattern": f"^(?:{pattern})$"}}
    assert not accepts(tokenizer, ps.Grammar(tokenizer, schema, END), f'"{text}"', END)


def test_a_time_has_its_seconds_once(tokenizer: ps.Tokenizer) -> None:
    schema = {"type": "json_schema", "schema": {"type": "string", "format": "time"}}
    grammar = ps.Grammar(tokenizer, schema, END)
    assert accepts(tokenizer, grammar, '"12:30:59.25Z"', END)
    assert not accepts(tokenizer, grammar, '"12:30:5925Z"', END)


@pytest.mark.parametrize(
    "pattern",
    [
        "[0-9]{4}-[0-9]{2}",
        r"(yes|no), [a-z]+\.",
        "a*b?c+",
        "[^abc]{3}",
        "é+|日本",
        "",
        r"\d\s\w",
    ],
)
def test_some_of_each_kind(tokenizer: ps.Tokenizer, pattern: str) -> None:
    grammar = ps.Grammar(tokenizer, {"type": "regex", "pattern": pattern}, END)
    for seed in range(5):
        text = tokenizer.decode(walk(tokenizer, grammar.start(), random.Random(seed), seed, END))
        assert re.fullmatch(pattern, text, re.ASCII)
    for text in (
        "2026-11",
        "yes, so.",
        "no,so.",
        "aac",
        "bcc",
        "xyz",
        "abx",
        "é",
        "日本",
        "",
        "1 _",
    ):
        expected = re.fullmatch(pattern, text, re.ASCII) is not None
        assert accepts(tokenizer, grammar, text, END) == expected, text
