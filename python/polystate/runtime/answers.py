"""Answers of chat models, and what they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

from polystate import _core
from polystate.errors import ContractError

Kind = Literal["content", "thinking", "tool_call"]
_KINDS: tuple[Kind, ...] = ("content", "thinking", "tool_call")


class ChatPiece(str):
    """A piece of an answer, a text that says what it is of.

    Attributes
    ----------
    kind
        ``"content"``, ``"thinking"`` or ``"tool_call"``.
    """

    kind: Kind

    def __new__(cls, text: str, kind: Kind = "content") -> ChatPiece:
        """Make a text a piece of a kind."""
        piece = super().__new__(cls, text)
        piece.kind = kind
        return piece


class ChatAnswer(str):
    """An answer: its content, a text, and what is apart from that.

    Attributes
    ----------
    thinking
        The text of thoughts; empty where there are none.
    tool_calls
        Calls, dictionaries with ``type`` and ``function``, which has a ``name`` and ``arguments``;
        with ``id`` where the model or its template has ids.
    """

    thinking: str
    tool_calls: list[dict[str, Any]]

    def __new__(cls, text: str, thinking: str = "", tool_calls: Any = None) -> ChatAnswer:
        """Make a text an answer."""
        answer = super().__new__(cls, text)
        answer.thinking = thinking
        answer.tool_calls = tool_calls or []
        return answer

    @classmethod
    def of(cls, answer: _core.ChatAnswer) -> ChatAnswer:
        """What the runtime gives."""
        return cls(answer.text, answer.thinking, json.loads(answer.tool_calls))


@overload
def choice_of(tool_choice: str | Mapping[str, Any]) -> str: ...
@overload
def choice_of(tool_choice: str | Mapping[str, Any] | None) -> str | None: ...
def choice_of(tool_choice: str | Mapping[str, Any] | None) -> str | None:
    """A choice as the runtime takes it: a word, or a tool's name, which OpenAI wraps.

    Raises
    ------
    ContractError
        It is neither.
    """
    if tool_choice is None or isinstance(tool_choice, str):
        return tool_choice
    function = tool_choice.get("function") if isinstance(tool_choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if isinstance(name, str):
        return name
    raise ContractError(
        f"tool_choice is {tool_choice!r:.200}; 'auto', 'none', 'required' or the name of a tool is "
        f"needed"
    )


def json_of(value: Any) -> str:
    """A result as JSON text; ContractError for a value that JSON does not have."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"the result is neither a text nor JSON: {error}") from None


def content_alone(
    call: Callable[[int, Any], bool] | None,
) -> Callable[[int, Any], bool] | None:
    """What is called with pieces of every kind, of a function that wants those of the content."""
    if call is None:
        return None
    return lambda kind, piece: call(0, piece) if kind == 0 else True


def told_pieces(hear: Callable[[int, Any], bool]) -> Callable[[int, Any], bool]:
    """What is called with pieces of every kind, of a function that wants them all."""
    return lambda kind, piece: hear(0, ChatPiece(piece, _KINDS[kind]))
