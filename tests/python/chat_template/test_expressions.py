"""Expressions and statements, one by one: what jinja2 under transformers' settings makes of them.

They are in expressions.txt and statements.txt, one a line; those that both refuse are in
refused_expressions.txt and refused_statements.txt.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from polystate import _core
from polystate.errors import ContractError
from tests.python.chat_template.compare import difference

_HERE = Path(__file__)


def lines_of(name: str) -> list[str]:
    return _HERE.with_name(name).read_text(encoding="utf-8").splitlines()


EXPRESSIONS = lines_of("expressions.txt")
REFUSED_EXPRESSIONS = lines_of("refused_expressions.txt")
VARIABLES: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "  Hi <b>there</b> é\n"},
        {
            "role": "assistant",
            "content": "Hello",
            "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
        },
    ],
    "user": {
        "name": {"first": "Ann", "last": "Bé"},
        "tags": ["a", "b"],
        "score": 2.71828,
        "nothing": None,
        "flag": True,
        "pair": (1, 2),
    },
}

STATEMENTS = lines_of("statements.txt")
REFUSED_STATEMENTS = lines_of("refused_statements.txt")

# White space around tags, each with what stands before and behind it.
SPACES = [
    f"a{before}{tag}{behind}b"
    for tag in (
        "{% if 1 %}",
        "{%- if 1 %}",
        "{% if 1 -%}",
        "{%- if 1 -%}",
        "{%+ if 1 %}",
        "{% if 1 +%}",
    )
    for before in ("", " ", "\n", "\n  ", " \n\n \t", "x \n  y ")
    for behind in ("", " ", "\n", "\n\n", " \n", "\r\n", "\r")
]


def assert_no_differences(sources: Iterable[str], *, are_refused: bool) -> None:
    found = [difference(source, VARIABLES, is_refused=are_refused) for source in sources]
    assert not list(filter(None, found)), "\n".join(filter(None, found))


def test_expressions_give_what_jinja2_gives() -> None:
    assert_no_differences(("{{ " + text + " }}" for text in EXPRESSIONS), are_refused=False)


def test_expressions_that_jinja2_refuses_are_refused() -> None:
    refused = ("{{ " + text + " }}" for text in REFUSED_EXPRESSIONS)
    assert_no_differences(refused, are_refused=True)


def test_numbers_of_every_width_are_written_as_by_python() -> None:
    numbers = [0, 7, -1234567, -9223372036854775807, 0.5, -1234567.891, math.inf, math.nan]
    kinds = [("", ""), ("", "d"), ("", ".2f"), ("", "e"), ("", "%"), ("", "x"), ("#", "b")]
    found = []
    for number, (alternate, kind) in product(numbers, kinds):
        for sign, separator in product(("", "+", " "), ("", ",", "_")):
            fields = (f"{{0:{sign}{alternate}0{width}{separator}{kind}}}" for width in range(40))
            source = f"{{{{ '{'|'.join(fields)}'.format(number) }}}}"
            found.append(difference(source, {"number": number}))
    assert not list(filter(None, found)), "\n".join(filter(None, found))


def test_integers_are_divided_as_by_python() -> None:
    draw = random.Random(0)

    def drawn() -> int:
        return draw.randint(1 - 2**63, 2**63 - 1) >> draw.randint(0, 62)

    pairs = [(drawn(), drawn() or 1) for _ in range(2000)]
    source = " ".join(f"{{{{ ({a}) / ({b}) }}}}" for a, b in pairs)
    assert difference(source, {}, is_refused=False) is None


def test_statements_do_what_jinja2_does() -> None:
    assert_no_differences(STATEMENTS, are_refused=False)


def test_statements_that_jinja2_refuses_are_refused() -> None:
    assert_no_differences(REFUSED_STATEMENTS, are_refused=True)


def test_white_space_is_kept_and_removed_as_by_jinja2() -> None:
    sources = [f"{text}{{% endif %}}" for text in SPACES]
    sources += [text.replace("{%", "{#").replace("%}", "#}") for text in SPACES]
    sources += [text.replace("{%", "{{").replace("%}", "}}").replace("if", "") for text in SPACES]
    sources += [
        "\n  {% if 1 %}\n  a\n  {% endif %}\n",
        "",
        "\n",
        "a\n",
        "a\n\n",
        "a\r\n",
        "{{ 1 }}\n",
    ]
    # An expression does not end by a sign.
    found = [difference(each, VARIABLES, is_refused="+}}" in each) for each in sources]
    assert not list(filter(None, found)), "\n".join(filter(None, found))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("2 ** 63", "64 bits"),
        ("9223372036854775808", "64 bits"),
        ("1e20 | int", "64 bits"),
        ("'abc'.encode()", "not supported"),
        ("[1] | random", "not supported"),
        ("'abc'.upper", "address"),
        ("[1] | map('string')", "address"),
    ],
)
def test_what_is_not_supported_is_refused_and_says_so(expression: str, reason: str) -> None:
    with pytest.raises(ContractError, match=reason):
        _core.parse_chat_template("{{ " + expression + " }}").render({}, None)


def test_an_error_has_the_line_of_the_template() -> None:
    with pytest.raises(ContractError, match=r"^line 3: 'x' is undefined"):
        _core.parse_chat_template("a\nb\n{{ x.y }}").render({}, None)
    with pytest.raises(ContractError, match=r"^line 2: "):
        _core.parse_chat_template("a\n{% nope %}")
