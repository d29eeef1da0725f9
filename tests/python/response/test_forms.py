"""Which forms of thoughts and calls are found for chat templates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from polystate import _core

ROOT = Path(__file__).parents[3]
OURS = ROOT / "tests/python/chat_template/templates"
REAL = ROOT / "build/chat_templates"
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def forms_of(path: Path) -> tuple[str, str, bool]:
    """The forms of a template: of thoughts and of calls, and whether it shows tools."""
    inputs: dict[str, Any] = {
        "messages": [],
        "tools": None,
        "documents": None,
        "chat_template": path.read_bytes().decode(),
        "add_generation_prompt": False,
        "continue_final_message": "",
    }
    return _core.find_response_forms(_core.ChatTemplates(), inputs, SPECIAL_TOKENS)


EXPECTED_CALLS = {
    "brackets_tools": "TOOL_CALLS with a list that has ids",
    "channels": "channels",
    "headers_tools_and_date": "name and parameters",
    "thinking_stripped": "tool_call with JSON",
    "xml_calls": "tool_call with parameters",
}
EXPECTED_THOUGHTS = {"channels": "channels", "old_thinking": "think", "thinking_stripped": "think"}
# Templates that show tools and whose calls are read, by form: 49 of 70.
REAL_CALLS = {
    "tool_call with JSON": 10,
    "tool_call with keys and values": 7,
    "tool_call with parameters": 4,
    "DSML tool_calls": 2,
    "DSML function_calls": 1,
    "name and parameters": 3,
    "TOOL_CALLS with name": 2,
    "actions": 2,
    "call:name": 2,
    "tool_calls with a list": 2,
    "TOOLCALL": 1,
    "TOOL_CALLS with a list that has ids": 1,
    "TOOL_CALLS with name and id": 1,
    "channels": 1,
    "fenced actions": 1,
    "function call": 1,
    "function tag": 1,
    "function tag with parameters": 1,
    "minimax:tool_call": 1,
    "recipients": 1,
    "seed:tool_call": 1,
    "tool_call:begin": 1,
    "tool_calls with JSON": 1,
    "tool_calls_section": 1,
}
REAL_THOUGHTS = {"think": 23, "thought channel": 2, "actions": 1, "channels": 1, "seed:think": 1}


def test_forms_of_templates_in_the_manner_of_the_big_families() -> None:
    found = {path.stem: forms_of(path) for path in sorted(OURS.glob("*.jinja"))}
    calls = {name: forms[1] for name, forms in found.items() if forms[1]}
    assert calls == EXPECTED_CALLS
    thoughts = {name: forms[0] for name, forms in found.items() if forms[0]}
    assert thoughts == EXPECTED_THOUGHTS


@pytest.mark.exhaustive
def test_forms_of_real_templates() -> None:
    paths = sorted(REAL.glob("*.jinja"))
    assert len(paths) >= 60, "`make test-all` unpacks them"
    found = {path.name: forms_of(path) for path in paths}
    calls = Counter(calls for _, calls, shows_tools in found.values() if calls and shows_tools)
    thoughts = Counter(thoughts for thoughts, _, _ in found.values() if thoughts)
    assert calls == REAL_CALLS
    assert thoughts == REAL_THOUGHTS
