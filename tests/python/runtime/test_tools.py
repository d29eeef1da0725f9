"""Conversations with tools and thoughts."""

from __future__ import annotations

import asyncio
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import polystate as ps
from tests.support.altered_artifacts import change_file
from tests.support.toy_chat import TEMPLATE, toy_chat

# Shows names of tools, and writes calls as the many models do that Hermes was the first of.
CALLING = (
    "{{ bos_token }}{% for t in tools or [] %}<|system|>{{ t.function.name }}<|end|>{% endfor %}"
    "{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}"
    '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
    "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "enum": ["Brest", "Lyon"]},
                "days": {"type": "integer", "minimum": 0, "maximum": 99},
            },
            "required": ["place", "days"],
        },
    },
}
ADD = {
    "name": "add",
    "parameters": {"properties": {"exact": {"type": "boolean"}}, "required": ["exact"]},
}
TOOLS = [WEATHER, ADD]


@pytest.fixture(scope="module")
def model() -> ps.Model:
    return ps.load(toy_chat() / "toy")


def calling(model: ps.Model, template: str = CALLING, **names: Any) -> ps.Conversation:
    names.setdefault("max_new_tokens", 120)
    return ps.Conversation(model, tools=TOOLS, chat_template=template, **names)


def check_call(call: dict[str, Any], *, name: str | None = None) -> None:
    function = call["function"]
    arguments = function["arguments"]
    assert call["type"] == "function"
    assert name in (None, function["name"])
    if function["name"] == "get_weather":
        assert arguments["place"] in ("Brest", "Lyon")
        assert type(arguments["days"]) is int
        assert 0 <= arguments["days"] <= 99
        assert set(arguments) == {"place", "days"}
    else:
        assert function["name"] == "add"
        assert set(arguments) == {"exact"}
        assert type(arguments["exact"]) is bool


FORMS = {
    "tool_call": CALLING,
    "parameters": CALLING.replace(
        '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>",
        "<tool_call>\n<function={{ c.function.name }}>\n"
        "{% for k, v in c.function.arguments | items %}"
        "<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
    ),
    "keys and values": CALLING.replace(
        '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>",
        "<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments | items %}"
        "<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>",
    ),
    "list with ids": CALLING.replace(
        '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>",
        '[TOOL_CALLS][{"name": "{{ c.function.name }}", "arguments": '
        '{{ c.function.arguments | tojson }}, "id": "{{ c.id or raise_exception(\'id\') }}"}]',
    ),
    "name and parameters": CALLING.replace(
        '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>",
        '{"name": "{{ c.function.name }}", "parameters": {{ c.function.arguments | tojson }}}',
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_required_call_is_valid_whatever_the_model_would_say(model: ps.Model, form: str) -> None:
    valid = 0
    for seed in range(4):
        chat = calling(model, FORMS[form], do_sample=True, seed=seed)
        answer = chat.ask("Hi", tool_choice="required")
        assert answer.tool_calls or chat.finish_reason == "length"
        for call in answer.tool_calls:
            check_call(call)
        assert chat.messages[-1].get("tool_calls", []) == answer.tool_calls
        named = calling(model, FORMS[form], do_sample=True, seed=seed, tool_choice="add")
        (call,) = named.ask("Hi").tool_calls
        check_call(call, name="add")
        valid += len(answer.tool_calls)
    assert valid >= 2


@pytest.mark.parametrize("form", [form for form in FORMS if form != "name and parameters"])
def test_a_call_that_the_model_begins_by_itself_is_valid(model: ps.Model, form: str) -> None:
    begin = "[TOOL_CALLS]" if form == "list with ids" else "<tool_call>"
    tokenizer = ps.Tokenizer.open(toy_chat() / "toy")
    begun = list(tokenizer.encode("Well: " + begin, add_special_tokens=False))
    finished = 0
    for seed in range(3):
        chat = calling(model, FORMS[form], do_sample=True, seed=seed)
        at = iter(range(1000))

        def beginning(tokens: list[int], scores: Any, at: Any = at) -> None:
            step = next(at)
            if step < len(begun):
                scores[begun[step]] = 1e6

        answer = chat.ask("Hi", logits_processor=[beginning])
        for call in answer.tool_calls:
            check_call(call)
        assert answer.tool_calls or chat.finish_reason == "length"
        assert answer.startswith("Well:")
        finished += bool(answer.tool_calls)
    assert finished >= 1


def test_calls_stay_free_where_a_schema_cannot_be_followed(model: ps.Model) -> None:
    parameters = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
    odd = {"name": "odd", "parameters": parameters}
    chat = ps.Conversation(model, tools=[odd], chat_template=CALLING, max_new_tokens=6)
    with pytest.warns(UserWarning, match="'auto': calls are as the model writes them: .*'not'"):
        assert isinstance(chat.ask("Hi"), str)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chat.ask("Hi again")
    with pytest.raises(ps.UnsupportedError, match="'not'"):
        chat.ask("Hi", tool_choice="required")


def test_calls_are_required_after_thoughts(model: ps.Model) -> None:
    template = CALLING.replace(
        "{{ m.content }}",
        "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
        "{{ m.content }}",
    )
    tokenizer = ps.Tokenizer.open(toy_chat() / "toy")
    think, end = (tokenizer.token_to_id(text) for text in ("<think>", "</think>"))
    at = iter(range(1000))

    def thinking(tokens: list[int], scores: Any) -> None:
        step = next(at)
        if step in (0, 5):
            scores[think if step == 0 else end] = 1e6

    chat = calling(model, template)
    answer = chat.ask("Hi", tool_choice="add", logits_processor=[thinking])
    assert answer.thinking
    (call,) = answer.tool_calls
    check_call(call, name="add")


def test_results_go_back_and_the_calls_tokens_are_kept(model: ps.Model) -> None:
    chat = calling(model)
    answer = chat.ask("Hi", tool_choice="add")
    assert answer == ""
    (call,) = answer.tool_calls[:1]
    assert "id" not in call
    with pytest.raises(ps.ContractError, match="add their results first"):
        chat.answer()
    for left in reversed(range(len(answer.tool_calls))):
        assert chat.add_result({"sum": 3}) == left
    assert chat.messages[-1] == {"role": "tool", "name": "add", "content": '{"sum": 3}'}
    with pytest.raises(ps.ContractError, match="no call that waits for a result"):
        chat.add_result("4")
    before = chat.tokens
    chat.answer(tool_choice="none", max_new_tokens=4)
    assert chat.usage is not None
    assert chat.usage.answers_encoded_again + (chat.tokens[: len(before)] == before) == 1


def test_templates_that_need_ids_have_them(model: ps.Model) -> None:
    chat = calling(model, FORMS["list with ids"])
    answer = chat.ask("Hi", tool_choice="add")
    ids = [call["id"] for call in answer.tool_calls]
    assert all(len(each) == 9 for each in ids)
    chat.add_result("3")
    assert chat.messages[-1]["tool_call_id"] == ids[0]


def test_a_stream_tells_calls_from_content_and_joins_to_the_answer(model: ps.Model) -> None:
    chat = calling(model)
    pieces = list(chat.stream("Hi", tool_choice="add"))
    assert {piece.kind for piece in pieces} == {"tool_call"}
    assert chat.messages[-1]["tool_calls"]
    chat.undo()
    pieces = list(chat.stream("Hi", tool_choice="none", max_new_tokens=10))
    assert {piece.kind for piece in pieces} == {"content"}
    assert "".join(pieces) == chat.messages[-1]["content"]

    async def answers() -> ps.ChatAnswer:
        return await chat.ask_async("Hm", tool_choice="get_weather")

    (call,) = asyncio.run(answers()).tool_calls[:1]
    check_call(call, name="get_weather")


def test_thoughts_are_apart_and_saved(model: ps.Model, tmp_path: Path) -> None:
    chat = ps.Conversation(model, max_new_tokens=8)  # whose template writes thoughts
    think, end = (
        ps.Tokenizer.open(toy_chat() / "toy").token_to_id(t) for t in ("<think>", "</think>")
    )
    at = iter(range(100))

    def thinking(tokens: list[int], scores: Any) -> None:
        step = next(at)
        if step in (0, 4):
            scores[think if step == 0 else end] = 1e4

    answer = chat.ask("Hi", logits_processor=[thinking], suppress_tokens=chat.eos_token_id)
    message = chat.messages[-1]
    assert message["reasoning_content"] == answer.thinking != ""
    assert message["content"] == answer
    assert "<think>" not in answer
    tokens = chat.tokens
    chat.save(tmp_path / "talk")
    again = ps.Conversation(model, max_new_tokens=8)
    again.load(tmp_path / "talk")
    assert again.messages == chat.messages
    assert again.ask("Hm") == chat.ask("Hm")
    assert again.usage == chat.usage or again.tokens == chat.tokens
    assert chat.tokens[: len(tokens)] == tokens or chat.usage.answers_encoded_again == 1


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("get_weather", "tools are a list"),
        ([1], "a tool is a JSON schema"),
        ([{"name": "f", "parameters": {"type": "array"}}], r"tool 0 \('f'\): parameters"),
        ([{"function": {}}], "tool 0 has no name"),
        ([ADD, ADD], "which another tool has"),
        ([len], "a tool is a JSON schema, or a function"),
    ],
)
def test_tools_that_are_none_are_refused_at_once(model: ps.Model, tools: Any, message: str) -> None:
    with pytest.raises(ps.ContractError, match=message):
        ps.Conversation(model, tools=tools, chat_template=CALLING)


def test_choices_that_are_none_are_refused_and_nothing_changes(model: ps.Model) -> None:
    chat = calling(model)
    with pytest.raises(ps.ContractError, match="'get_weather', 'add'"):
        chat.ask("Hi", tool_choice="subtract")
    with pytest.raises(ps.ContractError, match=r"tool_choice is {}"):
        chat.ask("Hi", tool_choice={})
    with pytest.raises(ps.ContractError, match=r"cannot be a call.*response_format"):
        chat.ask("Hi", tool_choice="required", response_format={"type": "json_object"})
    with pytest.raises(ps.ContractError, match="does not show tools"):
        ps.Conversation(model, tools=TOOLS, chat_template=TEMPLATE)
    assert chat.messages == []
    chosen = {"type": "function", "function": {"name": "add"}}
    check_call(chat.ask("Hi", tool_choice=chosen).tool_calls[0], name="add")


def test_functions_are_tools_as_transformers_makes_them(model: ps.Model) -> None:
    def double(number: int, exact: bool | None = None) -> int:
        """Double a number.

        Args:
            number: Which.
            exact: Whether to.
        """
        return 2 * number

    chat = ps.Conversation(model, tools=[double], chat_template=CALLING, max_new_tokens=140)
    answer = chat.ask("Hi", tool_choice="double", do_sample=True, seed=3)
    if chat.finish_reason != "length":
        assert type(answer.tool_calls[0]["function"]["arguments"]["number"]) is int


def test_answers_are_read_by_the_models_own_response_template(
    tmp_path: Path, model: ps.Model
) -> None:
    import shutil

    from tests.support.toy_chat import toy_chat as toy

    shutil.copytree(toy() / "toy", tmp_path / "toy")
    template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|assistant|>",
        "fields": {
            "thinking": {"open": "<think>", "close": "</think>"},
            "content": {"close": "<|end|>"},
        },
    }
    change_file(
        tmp_path / "toy",
        "tokenizer_config.json",
        lambda config: config.update(response_template=template),
    )
    own = ps.load(tmp_path / "toy")
    think = ps.Tokenizer.open(tmp_path / "toy").token_to_id("<think>")

    def thinking(tokens: list[int], scores: Any) -> None:
        scores[think] += 1e4 if random.Random(len(tokens)).random() < 0.3 else 0

    chat = ps.Conversation(own, max_new_tokens=12)
    answer = chat.ask("Hi", logits_processor=[thinking])
    raw = ps.Tokenizer.open(tmp_path / "toy")
    prompt = raw.apply_chat_template(chat.messages[:1], add_generation_prompt=True)
    expected = raw.parse_response(chat.tokens[len(prompt) :], prefix=prompt)
    assert answer == expected.get("content", "")
    assert answer.thinking == expected.get("thinking", "")
    (record,) = ps.pipeline(own)([chat.messages[0]], max_new_tokens=12)
    text = ps.pipeline(own)([chat.messages[0]], max_new_tokens=12, return_full_text=False)
    message = raw.parse_response(text[0]["generated_text"], prefix=raw.decode(prompt, False))
    assert record["generated_text"] == [chat.messages[0], message]
    assert json.dumps(message)


def test_long_and_odd_messages_are_refused_or_read(model: ps.Model) -> None:
    chat = calling(model)
    with pytest.raises(ps.ContractError, match="tokens too many"):
        chat.ask("<tool_call>{" * 900_000)
    with pytest.raises(ps.ContractError, match=r"surrogates|UTF-8"):
        chat.ask("\ud800")
    deep = json.loads("[" * 280 + "]" * 280)
    with pytest.raises(ps.ContractError, match=r"tokens too many|deep"):
        chat.messages = [{"role": "user", "content": deep}]
        chat.answer()
    chat.messages = []
    assert chat.ask("<tool_call>{</tool_call>", max_new_tokens=3, tool_choice="none") is not None
