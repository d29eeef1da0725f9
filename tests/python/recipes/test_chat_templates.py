"""Chat templates go into artifacts with their tokenizers, compared with transformers before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import polystate as ps
from polystate.errors import UnsupportedError
from polystate.recipes.text_files import tokenizer_files

CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content | string | trim }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{{ strftime_now('%Y') }}{% endif %}"
)


def with_template(chat_template: Any) -> PreTrainedTokenizerFast:
    """Make a tokenizer with chat templates."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=280,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["</s>", "<|user|>", "<|assistant|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["What is the weather in Brest?"], trainer)
    theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    theirs.chat_template = chat_template
    return theirs


@pytest.mark.parametrize("templates", [CHAT, {"default": CHAT, "tool_use": f"tools{CHAT}"}])
def test_templates_go_with_the_files_of_a_tokenizer(templates: Any, tmp_path: Path) -> None:
    theirs = with_template(templates)
    for name, content in tokenizer_files(theirs).items():
        (tmp_path / name).write_bytes(content)
    own = ps.Tokenizer.open(tmp_path)
    messages = [{"role": "user", "content": "Hi"}]
    tool = {"type": "function", "function": {"name": "f"}}
    for settings in ({}, {"tools": [tool]}, {"add_generation_prompt": True}):
        expected = theirs.apply_chat_template(messages, return_dict=False, **settings)
        assert own.apply_chat_template(messages, **settings) == expected


def test_a_template_that_is_rendered_otherwise_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"chat_template = None"):
        tokenizer_files(with_template("{{ 2 ** 64 }}"))
    tokenizer_files(with_template(None))
    tokenizer_files(with_template("{% bad"))  # transformers refuses it, too
