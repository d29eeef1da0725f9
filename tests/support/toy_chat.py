"""A chat model with random weights, for tests of conversations."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import AddedToken
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import polystate as ps
from tests.support.exported_models import ROOT, kept
from tests.support.toy_completion import byte_pair_tokenizer, small_llama

_TEXT = ROOT / "tests/data/tatoeba-en-fr/valid.tsv"
CONTROL = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
PLAIN = ["<think>", "</think>"]  # added tokens that are not special
LENGTH = 192

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role not in ['system', 'user', 'assistant'] %}{{ raise_exception('No ' ~ m.role) }}"
    "{% endif %}<|{{ m.role }}|>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def toy_chat() -> Path:
    """A folder with a small Llama and its tokenizer as ``model``, and their artifact as ``toy``.

    Its answers end by ``<|end|>``, which is no end token of its configuration.
    """
    return kept(_export, backend="xnnpack", files=[_TEXT])


def _export(out: Path) -> None:
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(out / "model")
    _model(tokenizer).save_pretrained(out / "model")
    ps.export_pretrained(out / "model", out / "toy", max_length=LENGTH, max_batch=4)


def _tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = byte_pair_tokenizer()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in CONTROL])
    tokenizer.add_tokens([AddedToken(text) for text in PLAIN])
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    made.chat_template = TEMPLATE
    return made


def _model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Of which the end of an answer is more probable than other control tokens."""
    model = small_llama(len(tokenizer), LENGTH)
    with torch.no_grad():
        model.lm_head.weight[tokenizer.convert_tokens_to_ids("<|end|>")] *= 2.2
        model.lm_head.weight[tokenizer.convert_tokens_to_ids(["<s>", *CONTROL[:3]])] *= 0.2
    return model
