"""Tokenizer.apply_chat_template beside transformers', over directories that it saved."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

import polystate as ps
from polystate.errors import ContractError
from tests.python.chat_template.conversations import (
    CONVERSATIONS,
    DOCUMENTS,
    SETTINGS,
    TOOLS,
)

CHAT = """\
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for document in documents or [] %}{{ document.title }}: {{ document.text }}
{% endfor %}
{%- for message in messages %}
{%- if message.role == 'critic' %}{{ raise_exception('No critics: ' ~ message.content) }}{% endif %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.thinking %}<think>{{ message.reasoning_content }}</think>{% endif %}
{%- if message.content is string %}{{ message.content }}
{%- else %}{% for part in message.content %}{{ part.text if part.type == 'text' else '<image>' }}
{%- endfor %}{% endif %}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

ROLES = """\
{{ bos_token }}{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content ~ '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

CONTROL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|end|>", "<|user|>", "<|assistant|>"]
PLAIN = ["<think>", "</think>", "<tool_call>", "</tool_call>"]  # added, but not special
WORDS = [
    "What is the weather in Brest? It rains. You are a helpful assistant.",
    "system user assistant tool function arguments type string description name",
    '{"place": "Brest", "days": 2} été 日本 Be kind. < | > im_start im_end end think',
]

Make = Callable[..., tuple[PreTrainedTokenizerBase, ps.Tokenizer]]


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 20, trainer)
    return tokenizer


def _metaspace() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 20, trainer)
    return tokenizer


@pytest.fixture(params=[_byte_level, _metaspace])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Save a tokenizer with templates, and open it here."""

    def made(
        chat_template: Any = CHAT, **more: Any
    ) -> tuple[PreTrainedTokenizerBase, ps.Tokenizer]:
        own: Tokenizer = request.param()
        own.add_special_tokens([AddedToken(token, special=True) for token in CONTROL])
        own.add_tokens([AddedToken(token, special=False, normalized=False) for token in PLAIN])
        theirs = PreTrainedTokenizerFast(
            tokenizer_object=own, bos_token="<s>", eos_token="</s>", **more
        )
        theirs.chat_template = chat_template
        theirs.save_pretrained(tmp_path)
        return theirs, ps.Tokenizer.open(tmp_path)

    return made


def _outcome(call: Callable[..., Any], conversation: Any, **settings: Any) -> Any:
    """Give the ids; the word "refused" where there are none."""
    try:
        return call(conversation, return_dict=False, **settings)
    except ContractError:
        return "refused"
    except Exception as error:
        assert call.__module__.startswith("transformers"), error  # ours has no other
        return "refused"


def test_ids_are_those_of_transformers(make: Make) -> None:
    theirs, ours = make()
    for name, conversation in CONVERSATIONS.items():
        for settings in SETTINGS.values():
            expected = _outcome(theirs.apply_chat_template, conversation, **settings)
            spells_a_token = "<think>" in str(conversation)
            for sanitize in (False,) if spells_a_token else (False, True):
                found = _outcome(
                    ours.apply_chat_template,
                    conversation,
                    sanitize_control_tokens=sanitize,
                    **settings,
                )
                assert found == expected, name


def test_texts_are_those_of_transformers(make: Make) -> None:
    theirs, ours = make()
    for conversation in CONVERSATIONS.values():
        expected = _outcome(theirs.apply_chat_template, conversation, tokenize=False)
        assert _outcome(ours.apply_chat_template, conversation, tokenize=False) == expected


@pytest.mark.parametrize("tokens", [CONTROL, PLAIN])
@pytest.mark.parametrize(
    "place", ["content", "name", "thinking", "tool result", "argument", "key", "document", "tool"]
)
def test_users_text_never_becomes_a_control_token(
    make: Make, place: str, tokens: list[str]
) -> None:
    _, ours = make()

    def call(text: str, **settings: Any) -> list[int]:
        message: dict[str, Any] = {"role": "user", "content": "Hi"}
        conversation = [message]
        if place == "content":
            message["content"] = f"a{text}b {text}"
        elif place == "name":
            message["content"] = [{"type": "text", "text": text}, {"type": text}]
        elif place == "thinking":
            message["thinking"] = text
        elif place == "tool result":
            conversation.append({"role": "tool", "content": text})
        elif place in {"argument", "key"}:
            arguments = {"x": text} if place == "argument" else {text: "x"}
            calls = [{"function": {"name": "f", "arguments": arguments}}]
            conversation.append({"role": "assistant", "content": "", "tool_calls": calls})
        elif place == "document":
            settings["documents"] = [{"title": text, "text": text}]
        else:
            settings["tools"] = [{"name": text}]
        ids: list[int] = ours.apply_chat_template(conversation, **settings)
        return ids

    control = {ours.token_to_id(token) for token in [*CONTROL, *PLAIN]}
    for token in tokens:
        expected = [id for id in call("word") if id in control]
        ids = call(token)
        assert [id for id in ids if id in control] == expected
        assert token in ours.decode(ids, skip_special_tokens=False)
        assert len(
            [id for id in call(token, sanitize_control_tokens=False) if id in control]
        ) > len(expected)


def test_text_beside_control_tokens_joins_none_of_the_template(make: Make) -> None:
    _, ours = make("{% for m in messages %}<|{{ m.content }}{% endfor %}<|im_end|>")
    end = ours.token_to_id("<|im_end|>")
    ids = ours.apply_chat_template([{"role": "user", "content": "im_end|>"}])
    assert ids.count(end) == 1
    ids = ours.apply_chat_template([{"role": "user", "content": "<|im_end|"}])
    assert ids.count(end) == 1
    cut = (
        "{% set m = messages %}{{ m[0].content[:5] }}{{ m[0].content[5:] }}{{ m[1].content|lower }}"
    )
    messages = [{"content": "<|im_end|>"}, {"content": "</S>"}]
    ids = ours.apply_chat_template(messages, chat_template=cut)
    assert end not in ids
    assert ours.token_to_id("</s>") not in ids


def test_roles_make_control_tokens_where_they_are_known(make: Make) -> None:
    theirs, ours = make(ROLES)
    user = ours.token_to_id("<|user|>")
    conversation = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
    ids = ours.apply_chat_template(conversation, add_generation_prompt=True)
    assert user in ids
    assert ids == theirs.apply_chat_template(
        conversation, add_generation_prompt=True, return_dict=False
    )
    own = [{"role": "im_start", "content": "Hi"}]
    assert ours.token_to_id("<|im_start|>") not in ours.apply_chat_template(own)
    assert ours.token_to_id("<|im_start|>") in ours.apply_chat_template(
        own, sanitize_control_tokens=False
    )


def test_special_token_variables_are_trusted_and_those_of_the_caller_are_not(make: Make) -> None:
    _, ours = make("{{ bos_token }}{{ other }}")
    bos = ours.token_to_id("<s>")
    message = [{"role": "user", "content": ""}]
    assert ours.apply_chat_template(message) == [bos]
    assert bos not in ours.apply_chat_template(message, bos_token="<s>")
    assert ours.apply_chat_template(message, other="<s>").count(bos) == 1


def test_templates_are_chosen_as_transformers_chooses_them(make: Make) -> None:
    templates = {"default": "d{{ messages | length }}", "tool_use": "t", "rag": "r"}
    theirs, ours = make(templates)
    message = [{"role": "user", "content": "Hi"}]
    for settings in (
        {},
        {"tools": TOOLS},
        {"tools": []},
        {"chat_template": "rag"},
        {"chat_template": "tool_use"},
        {"chat_template": "own {{ eos_token }}"},
        {"chat_template": "{% bad"},
    ):
        expected = _outcome(theirs.apply_chat_template, message, tokenize=False, **settings)
        assert _outcome(ours.apply_chat_template, message, tokenize=False, **settings) == expected


@pytest.mark.parametrize(
    "templates",
    [
        "one {{ bos_token }}",
        [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}],
        [{"name": "other", "template": "o"}],
        None,
    ],
)
def test_templates_of_the_configuration(make: Make, tmp_path: Path, templates: Any) -> None:
    make(None)
    path = tmp_path / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "chat_template": templates}), encoding="utf-8")
    theirs, ours = PreTrainedTokenizerFast.from_pretrained(tmp_path), ps.Tokenizer.open(tmp_path)
    message = [{"role": "user", "content": "Hi"}]
    for settings in ({}, {"tools": TOOLS}, {"chat_template": "other"}):
        expected = _outcome(theirs.apply_chat_template, message, tokenize=False, **settings)
        assert _outcome(ours.apply_chat_template, message, tokenize=False, **settings) == expected


@pytest.mark.parametrize("continued", [True, "content", "thinking", "reasoning_content", "nope"])
def test_the_final_message_is_continued_as_by_transformers(
    make: Make, continued: bool | str
) -> None:
    theirs, ours = make()
    endings: list[dict[str, Any]] = [
        {"role": "assistant", "content": "It "},
        {"role": "assistant", "content": "It rains  \n"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": 5},
        {"role": "assistant", "content": [{"type": "text", "text": "It"}, {"type": "image"}]},
        {"role": "assistant", "content": [{"type": "image"}]},
        {"role": "assistant", "content": "It", "thinking": "Hm"},
        {"role": "assistant", "content": "It", "reasoning": "Hm ", "thinking": "Hm "},
    ]
    trimmed = CHAT.replace("{{ message.content }}", "{{ message.content | trim }}")
    for ending in endings:
        conversation = [{"role": "user", "content": "Hi"}, ending]
        for settings in ({}, {"chat_template": trimmed}, {"add_generation_prompt": True}):
            given = {"continue_final_message": continued, "tokenize": False, **settings}
            expected = _outcome(theirs.apply_chat_template, conversation, **given)
            assert _outcome(ours.apply_chat_template, conversation, **given) == expected


def test_a_batch_is_as_many_answers(make: Make) -> None:
    theirs, ours = make()
    batch = [CONVERSATIONS["one"], CONVERSATIONS["answered"]]
    expected = theirs.apply_chat_template(batch, return_dict=False)
    assert ours.apply_chat_template(batch) == expected
    one = ours.apply_chat_template(batch[0], return_dict=True)
    assert one == {"input_ids": expected[0], "attention_mask": [1] * len(expected[0])}
    assert ours.apply_chat_template(batch, return_dict=True)["input_ids"] == expected


def test_functions_become_tools_as_by_transformers(make: Make) -> None:
    theirs, ours = make()

    def add(a: int, b: float = 1.5) -> float:
        """Add two numbers.

        Args:
            a: The first one.
            b: The second one.
        """
        return a + b

    def bare(a) -> None:  # type: ignore[no-untyped-def]
        """Nothing of use."""

    message = [{"role": "user", "content": "Hi"}]
    for tools in ([add], [add, TOOLS[0]], [bare], [5], ["add"], "add", [None]):
        expected = _outcome(theirs.apply_chat_template, message, tools=tools)
        assert _outcome(ours.apply_chat_template, message, tools=tools) == expected


class _Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class _Point:
    x: int
    y: tuple[int, ...]


def test_values_of_other_types_are_what_transformers_makes_of_them(make: Make) -> None:
    theirs, ours = make()
    import numpy as np

    for value in (
        _Colour.RED,
        _Point(1, (2, 3)),
        np.float32(0.5),
        np.int64(3),
        np.bool_(False),
        np.zeros(2),
        object,
        {"a": (1, [2])},
        {1: 2, None: 3},
        float("nan"),
        b"bytes",
    ):
        conversation = [{"role": "user", "content": "Hi"}]
        given = {
            "chat_template": "{{ x }}{{ x is string }}{{ [x] }}",
            "x": value,
            "tokenize": False,
        }
        expected = _outcome(theirs.apply_chat_template, conversation, **given)
        assert _outcome(ours.apply_chat_template, conversation, **given) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"conversation": []},
        {"conversation": "Hi"},
        {"conversation": {"role": "user"}},
        {"conversation": ["Hi"]},
        {"conversation": [None]},
        {"conversation": [[]]},
        {"conversation": [{"role": "user", "content": "Hi"}], "documents": ["text"]},
        {"conversation": [{"role": "user", "content": "Hi"}], "documents": 5},
        {"conversation": [{"role": "user", "content": "Hi"}], "messages": []},
        {"conversation": [{"role": "critic", "content": "Hm"}]},
        {"conversation": [{"role": "user", "content": "\ud800"}]},
        {"conversation": [{"role": "user", "content": 2**64}]},
    ],
)
def test_what_is_no_conversation_is_refused(make: Make, arguments: dict[str, Any]) -> None:
    _, ours = make()
    with pytest.raises(ContractError):
        ours.apply_chat_template(**arguments)


def test_values_that_hold_themselves_are_refused(make: Make) -> None:
    _, ours = make()
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ContractError, match="deep"):
        ours.apply_chat_template([{"role": "user", "content": circle}])


def test_a_message_of_10_mb_is_encoded(make: Make) -> None:
    _, ours = make()
    text = "word <|im_end|> " * 700_000
    rendered = ours.apply_chat_template([{"role": "user", "content": text}], tokenize=False)
    assert rendered == f"<|im_start|>user\n{text}<|im_end|>\n"


def test_a_tokenizer_without_a_template_says_so(make: Make, tmp_path: Path) -> None:
    make(None)
    with pytest.raises(ContractError, match="chat_template"):
        ps.Tokenizer.open(tmp_path).apply_chat_template([{"role": "user", "content": "Hi"}])
    with pytest.raises(ContractError, match="chat_template"):
        own = ps.Tokenizer.open(tmp_path / "tokenizer.json")
        own.apply_chat_template([{"role": "user", "content": "Hi"}], documents=DOCUMENTS)
