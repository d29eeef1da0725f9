"""Renders a template here and by transformers, which has jinja2 do it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest
from transformers.utils import chat_template_utils

from polystate import _core
from polystate.errors import ContractError

NOW = datetime.datetime(2026, 3, 7, 9, 5, 3)

# What a template is that is refused.
REFUSED = object()


class _FixedDate(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return NOW


@pytest.fixture(autouse=True)
def fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have transformers see the same time each time."""
    monkeypatch.setattr(chat_template_utils, "datetime", _FixedDate)


def theirs(source: str, variables: Mapping[str, Any]) -> Any:
    """Give what transformers renders, or REFUSED."""
    try:
        return chat_template_utils._compile_jinja_template(source).render(**variables)
    except Exception:  # jinja2 lets every error of Python through
        return REFUSED


def ours(source: str, variables: Mapping[str, Any]) -> Any:
    """Give what is rendered here, or REFUSED."""
    try:
        template = _core.parse_chat_template(source)
        return template.render(dict(variables), list(NOW.timetuple())[:8])
    except ContractError:
        return REFUSED


def difference(
    source: str, variables: Mapping[str, Any], *, is_refused: bool | None = None
) -> str | None:
    """Say how the two differ; None where they are equal.

    Where it is known whether both should refuse the template, also say that they do otherwise.
    """
    expected, found = theirs(source, variables), ours(source, variables)
    if expected != found:
        return f"{source!r}\n    is {_shown(found)}, not {_shown(expected)}"
    if is_refused is not None and is_refused != (expected is REFUSED):
        return f"{source!r}\n    is {_shown(found)}, by both"
    return None


def _shown(result: Any) -> str:
    return "refused" if result is REFUSED else repr(result)
