"""The program in Python of docs/chat.md works as it is printed."""

from __future__ import annotations

import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from tests.end_to_end.printed_programs import run, write_programs

CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_the_python_program_prints_the_text_and_how_many_ids_it_has(tmp_path: Path) -> None:
    write_programs("docs/chat.md", "chat", tmp_path)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<|assistant|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["Where is Brest?"], trainer)
    theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    theirs.chat_template = CHAT
    theirs.save_pretrained(tmp_path / "model")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is Brest?"},
    ]
    ids = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    text = theirs.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert run(tmp_path, sys.executable, "example.py") == f"{text}\n{len(ids)}\n"
