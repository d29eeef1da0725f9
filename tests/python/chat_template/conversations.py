"""Conversations that templates of any family may be asked to render."""

from __future__ import annotations

from typing import Any

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Say what the weather is.\nIn one place.",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": 'Where, as in "Brest"'},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "days": {"type": ["integer", "null"], "default": 1},
                },
                "required": ["place"],
            },
            "return": {"type": "string"},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add numbers",
            "parameters": {
                "type": "object",
                "properties": {
                    "numbers": {"type": "array", "items": {"type": "number"}},
                    "options": {"type": "object", "properties": {"exact": {"type": "boolean"}}},
                },
            },
        },
    },
]

DOCUMENTS = [{"title": "Tides", "text": "They rise."}, {"title": "Stars", "text": "They shine."}]

_SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
_USER = {"role": "user", "content": "What is the weather in Brest?"}
_ASSISTANT = {"role": "assistant", "content": "It rains."}
_MORE = {"role": "user", "content": "  And <b>now</b>? été 日本 🚀\n\n"}
_CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "type": "function",
            "id": "call12345",
            "function": {"name": "get_weather", "arguments": {"place": "Brest", "days": 2}},
        }
    ],
}
_CALLS = {
    "role": "assistant",
    "content": "Let me see.",
    "tool_calls": [
        *_CALL["tool_calls"],
        {"type": "function", "id": "call67890", "function": {"name": "add", "arguments": {}}},
    ],
}
_TEXT_CALL = {
    "role": "assistant",
    "tool_calls": [
        {"id": "123456789", "function": {"name": "add", "arguments": '{"numbers": [1, 2.5]}'}}
    ],
}
_RESULT = {
    "role": "tool",
    "name": "get_weather",
    "tool_call_id": "call12345",
    "content": "rain, 11°",
}
_RESULT_2 = {"role": "tool", "name": "add", "tool_call_id": "call67890", "content": '{"sum": 3.5}'}
_THOUGHT = {
    "role": "assistant",
    "content": "It rains.",
    "reasoning_content": "Brest. It rains there.",
}
_INLINE_THOUGHT = {
    "role": "assistant",
    "content": "<think>\nBrest: rain.\n</think>\n\nIt rains.",
}
_PARTS = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is in this picture?"},
        {"type": "image", "image": "picture.png"},
        {"type": "text", "text": "Say it in short."},
    ],
}

CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one": [_USER],
    "system": [_SYSTEM, _USER],
    "answered": [_USER, _ASSISTANT],
    "two turns": [_SYSTEM, _USER, _ASSISTANT, _MORE],
    "long": [_SYSTEM, *[_USER, _ASSISTANT] * 3, _MORE],
    "call": [_USER, _CALL],
    "call and result": [_SYSTEM, _USER, _CALL, _RESULT],
    "calls and results": [_USER, _CALLS, _RESULT, _RESULT_2, _ASSISTANT, _MORE],
    "call as text": [_USER, _TEXT_CALL, _RESULT_2],
    "thought": [_USER, _THOUGHT, _MORE],
    "thought at the end": [_SYSTEM, _USER, _THOUGHT],
    "thought inline": [_USER, _INLINE_THOUGHT, _MORE],
    "thought and call": [_USER, {**_CALL, "reasoning_content": "I must ask."}, _RESULT],
    "parts": [_PARTS],
    "parts and answer": [_SYSTEM, _PARTS, _ASSISTANT, _MORE],
    "system in parts": [
        {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
    ],
    "only system": [_SYSTEM],
    "assistant first": [_ASSISTANT, _USER],
    "two users": [_USER, _MORE],
    "developer": [{"role": "developer", "content": "Be brief."}, _USER],
    "other role": [_USER, {"role": "critic", "content": "Hm."}],
    "empty": [{"role": "user", "content": ""}],
    "no content": [{"role": "user", "content": None}],
    "no role": [{"content": "Hello"}],
    "names": [{"role": "user", "name": "Ann", "content": "Hi"}, _ASSISTANT],
    "result without a call": [_USER, _RESULT],
    "thinking": [_USER, {"role": "assistant", "thinking": "Hm.", "content": "Yes."}, _MORE],
}

# What else is given beside a conversation.
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "prompt": {"add_generation_prompt": True},
    "tools": {"tools": TOOLS, "add_generation_prompt": True},
    "documents": {"documents": DOCUMENTS},
    "thinking": {"enable_thinking": True, "add_generation_prompt": True, "tools": TOOLS},
    "no thinking": {"enable_thinking": False, "add_generation_prompt": True},
}

SPECIAL_TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
}


def variables(messages: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Any]:
    """Give the variables that a template sees for a conversation."""
    return {
        **SPECIAL_TOKENS,
        "messages": messages,
        "tools": None,
        "documents": None,
        "add_generation_prompt": False,
        **settings,
    }
