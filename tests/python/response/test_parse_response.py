"""``Tokenizer.parse_response`` and its streams, beside transformers."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_parsing import ResponseParser, parse_response
from transformers.utils.chat_parsing.response_templates import load_response_template

import polystate as ps
from polystate.runtime.responses import template_of
from tests.python.response.templates import PIECES, PROMPTS, TEMPLATES, TOOLS

REFUSED = "refused"
QWEN = TEMPLATES["qwen2"]
CALL = (
    "I must ask.</think>\n\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"place": "Brest", "days": 3}}\n</tool_call><|im_end|>'
)


def _parser_of_ours(template: dict[str, Any], prompt: str, tools: Any) -> Any:
    return ps.ResponseParser(template_of(template), prompt, tools)


def _parser_of_theirs(template: dict[str, Any], prompt: str, tools: Any) -> Any:
    return ResponseParser(load_response_template(template), prefix=prompt, tools=tools)


def events_of(
    make: Callable[[dict[str, Any], str, Any], Any],
    template: dict[str, Any],
    prompt: str,
    pieces: Sequence[str],
    tools: Any = None,
) -> Any:
    """All events of an answer that comes in pieces, and its message; or what was there before."""
    events: list[Any] = []
    try:
        parser = make(template, prompt, copy.deepcopy(tools))
        events.append(copy.deepcopy(parser.initial_events))
        events.extend(copy.deepcopy(parser.feed(piece)) for piece in pieces)
        message, last = parser.finalize()
        events += [last, message]
    except Exception:  # theirs are of several kinds
        events.append(REFUSED)
    return json.dumps(events)  # which tells 1 from 1.0 and from True


def cut(text: str, draw: random.Random) -> list[str]:
    """The text in pieces that are drawn."""
    pieces = []
    while text:
        size = draw.choice((1, 1, 2, 3, 5, 8, 40))
        pieces.append(text[:size])
        text = text[size:]
    return pieces


@pytest.mark.parametrize("name", TEMPLATES)
def test_drawn_answers_have_the_events_and_messages_of_transformers(name: str) -> None:
    draw = random.Random(name)
    template = TEMPLATES[name]
    read = 0
    for _ in range(400):
        answer = "".join(draw.choices(PIECES, k=draw.randrange(12)))
        prompt = draw.choice(PROMPTS)
        tools = draw.choice((None, TOOLS))
        for pieces in ([answer], cut(answer, draw)):
            given = (template, prompt, pieces, tools)
            expected = events_of(_parser_of_theirs, *given)
            assert events_of(_parser_of_ours, *given) == expected, (prompt, pieces)
            read += REFUSED not in expected
    assert read > 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with a response template, as transformers saves it."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocabulary = {each: i for i, each in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer.model = models.BPE(vocabulary, [])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.response_template = QWEN
    made.save_pretrained(folder)
    return folder


def test_a_tokenizer_reads_texts_ids_and_batches_as_transformers_does(folder: Path) -> None:
    theirs = PreTrainedTokenizerFast.from_pretrained(folder)
    ours = ps.Tokenizer.open(folder)
    prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"
    other = "</think>Good day<|im_end|>"
    for response, prefix in (
        (CALL, prompt),
        (CALL, ""),
        ([CALL, other], prompt),
        ([CALL, other], [prompt, ""]),
        ([other], ""),
        (theirs(CALL).input_ids, theirs(prompt).input_ids),
        ([theirs(CALL).input_ids, theirs(other).input_ids], []),
        (
            theirs(CALL, return_tensors="pt").input_ids,
            theirs(prompt, return_tensors="np").input_ids,
        ),
    ):
        expected = theirs.parse_response(response, prefix=prefix, tools=TOOLS)
        assert ours.parse_response(response, prefix=prefix, tools=TOOLS) == expected
    assert ours.parse_response(CALL, prefix=prompt) == {
        "role": "assistant",
        "reasoning_content": "I must ask.",
        "tool_calls": [
            {
                "type": "function",
                "function": {"name": "get_weather", "arguments": {"place": "Brest", "days": 3}},
            }
        ],
    }
    assert ours.response_template == QWEN


def test_threads_that_share_a_parser_feed_it_one_after_the_other() -> None:
    parser = _parser_of_ours(QWEN, "", None)
    pieces = ["word ", "text"] * 500

    def feed(_: int) -> str:
        events = [event for piece in pieces for event in parser.feed(piece)]
        return "".join(event["text"] for event in events if event["type"] == "region_chunk")

    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(feed, range(4)))
    message, events = parser.finalize()
    told += [event["text"] for event in events if event["type"] == "region_chunk"]
    assert sum(map(len, told)) == 4 * sum(map(len, pieces))
    assert len(message["content"]) == 4 * sum(map(len, pieces))


def test_what_cannot_be_read_is_refused_with_the_part(folder: Path) -> None:
    tokenizer = ps.Tokenizer.open(folder)
    with pytest.raises(ps.ContractError, match="prefix is missing"):
        tokenizer.parse_response(CALL)
    with pytest.raises(ps.ContractError, match=r"'tool_calls' cannot be read.*not JSON"):
        tokenizer.parse_response("<tool_call>{</tool_call>", prefix="")
    with pytest.raises(ps.ContractError, match="1 answers and 2 prefixes"):
        tokenizer.parse_response([CALL], prefix=["", ""])
    with pytest.raises(ps.ContractError, match="no response_template"):
        ps.Tokenizer.open(folder / "tokenizer.json").parse_response(CALL, prefix="")
    deep = "<tool_call>" + "[" * 100_000 + "]" * 100_000 + "</tool_call>"
    with pytest.raises(ps.ContractError, match="deep"):
        tokenizer.parse_response(deep, prefix="")
    parser = tokenizer.get_response_parser(prefix="")
    parser.finalize()
    with pytest.raises(ps.ContractError, match="the answer is over"):
        parser.feed("x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version is 2"),
        ({"field": {}}, "no key 'field'"),
        ({"start_anchor": ""}, "start_anchor must be a text that is not empty"),
        ({"start_anchor_pattern": "x"}, "both 'start_anchor' and 'start_anchor_pattern'"),
        ({"defaults": []}, "'defaults' must be an object"),
        ({"fields": {}}, "'fields' must be an object that is not empty"),
        ({"fields": {"a": {}, "b": {}}}, "'a' and 'b' have no opening"),
        ({"fields": {"a": {"opens": "x"}}}, "field 'a': there is no key 'opens'"),
        ({"fields": {"a": {"content": "yaml"}}}, "no content parser 'yaml'"),
        ({"fields": {"a": {"open_pattern": "("}}}, "not well-formed"),
        ({"fields": {"a": {"open_pattern": "(?P<b>x)"}}}, "group 'b' has a name"),
        ({"fields": {"a": {"join": ", "}}}, "'join' needs 'repeats'"),
        ({"fields": {"a": {"transform_each": True}}}, "'transform_each' needs a 'transform'"),
        ({"fields": {"a": {"transform": "a {content}"}}}, "text around a placeholder"),
        ({"fields": {"a": {"content": "xml-inline"}}}, "needs a tag_pattern"),
    ],
)
def test_a_template_that_transformers_refuses_is_refused(
    change: dict[str, Any], message: str
) -> None:
    template = {**QWEN, **change}
    with pytest.raises(ps.ContractError, match=message):
        template_of(template)
    if "xml-inline" not in str(change):  # which transformers refuses where it reads an answer
        with pytest.raises(ValueError, match=r"."):
            load_response_template(template)


@pytest.mark.parametrize("hostile", [" \n" * 50_000, "<think>" * 20_000, "<tool_call>\n" * 20_000])
def test_long_answers_of_half_markers_take_no_time_to_speak_of(hostile: str) -> None:
    parser = ps.ResponseParser(template_of(QWEN), "", None)
    start = time.process_time()
    for begin in range(0, len(hostile), 5000):
        parser.feed(hostile[begin : begin + 5000])
    try:
        message, _ = parser.finalize()
    except ps.ContractError as error:
        assert "cannot be read" in str(error)
    else:
        assert message["role"] == "assistant"
    assert time.process_time() - start < 5
    assert parse_response("x", QWEN, prefix="") == {"role": "assistant", "content": "x"}
