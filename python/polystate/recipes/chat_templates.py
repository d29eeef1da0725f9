"""Compares how the runtime renders a tokenizer's chat templates with how transformers does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from polystate.errors import ContractError, UnsupportedError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Say what the weather is.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string", "description": "Where"}},
            "required": ["place"],
        },
    },
}
_SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
_QUESTION = {"role": "user", "content": "  What is the weather in Brest? \n"}
_ANSWER = {"role": "assistant", "content": "It rains: 11 °C."}
_THOUGHT = {**_ANSWER, "reasoning_content": "Brest. It rains there."}
_CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "type": "function",
            "id": "call12345",
            "function": {"name": "get_weather", "arguments": {"place": "Brest"}},
        }
    ],
}
_RESULT = {
    "role": "tool",
    "name": "get_weather",
    "tool_call_id": "call12345",
    "content": '{"rain": true}',
}
_PARTS = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}

# Conversations by which the templates of the runtime are compared with their originals. A template
# may refuse some: then both do.
_CONVERSATIONS: tuple[list[dict[str, Any]], ...] = (
    [_QUESTION],
    [_SYSTEM, _QUESTION],
    [_SYSTEM, _QUESTION, _ANSWER, _QUESTION],
    [_QUESTION, _THOUGHT, _QUESTION],
    [_SYSTEM, _QUESTION, _CALL, _RESULT],
    [_QUESTION, _CALL, _RESULT, _ANSWER, _QUESTION],
    [_PARTS],
)
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"add_generation_prompt": True},
    {"add_generation_prompt": True, "tools": [_TOOL]},
)
_REFUSED = "an error"


def compare_templates(folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
    """Compare the templates of a saved tokenizer with the tokenizer's own.

    Raises
    ------
    UnsupportedError
        A conversation becomes another text or other ids in the runtime, or only one of both
        refuses it.
    """
    from polystate.runtime import Tokenizer

    templates = tokenizer.chat_template
    own = Tokenizer.open(folder)
    for name in templates if isinstance(templates, dict) else [None]:
        for conversation in _CONVERSATIONS:
            for settings in _SETTINGS:
                given = {**settings, "chat_template": name}
                for form in ({"tokenize": False}, {"sanitize_control_tokens": False}):
                    _compare(tokenizer, own, conversation, {**given, **form})


def _compare(
    tokenizer: PreTrainedTokenizerBase,
    own: Any,
    conversation: list[dict[str, Any]],
    settings: dict[str, Any],
) -> None:
    for _ in range(2):  # what shows the time may differ once
        expected = _theirs(tokenizer, conversation, settings)
        found = _ours(own, conversation, settings)
        if found == expected:
            return
    raise UnsupportedError(
        f"by the chat template, a conversation becomes {found!r:.300} in the runtime, and "
        f"{expected!r:.300} in {type(tokenizer).__name__}; with tokenizer.chat_template = None the "
        f"artifact has no template. The conversation: {conversation}"
    )


def _theirs(tokenizer: Any, conversation: list[dict[str, Any]], settings: dict[str, Any]) -> Any:
    try:
        return tokenizer.apply_chat_template(conversation, return_dict=False, **settings)
    except Exception:  # a template's errors are Python's, of any kind
        return _REFUSED


def _ours(own: Any, conversation: list[dict[str, Any]], settings: dict[str, Any]) -> Any:
    try:
        return own.apply_chat_template(conversation, **settings)
    except ContractError:
        return _REFUSED
