"""How well a model translates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sacrebleu
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tools.train_chat.conversations import SYSTEM, Pair, first_wording

_BATCH = 64


def bleu(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, pairs: Sequence[Pair], to: str
) -> float:
    """BLEU of greedy translations into a language, against all references of a sentence."""
    references: dict[str, list[str]] = {}
    for pair in pairs:
        source, target = (
            (pair.english, pair.french) if to == "French" else (pair.french, pair.english)
        )
        references.setdefault(source, []).append(target)
    found = translations(model, tokenizer, list(references), to)
    most = max(map(len, references.values()))
    by_number: Any = [
        [each[i] if i < len(each) else None for each in references.values()] for i in range(most)
    ]
    score: float = sacrebleu.corpus_bleu(found, by_number).score
    return score


def translations(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, sentences: Sequence[str], to: str
) -> list[str]:
    """The assistant's first answers."""
    called: Any = model
    was_training = model.training
    called.eval()
    tokenizer.padding_side = "left"
    prompts = [
        tokenizer.apply_chat_template(
            [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": first_wording(sentence, to)},
            ],
            tokenize=False,
            add_generation_prompt=True,
        )
        for sentence in sentences
    ]
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    answers = [""] * len(prompts)
    for first in range(0, len(order), _BATCH):
        chosen = order[first : first + _BATCH]
        given = tokenizer(
            [prompts[i] for i in chosen],
            return_tensors="pt",
            padding=True,
            add_special_tokens=False,
            return_token_type_ids=False,
        )
        with torch.no_grad():
            ids = called.generate(**given, max_new_tokens=64, do_sample=False)
        texts = tokenizer.batch_decode(ids[:, given.input_ids.shape[1] :], skip_special_tokens=True)
        for i, text in zip(chosen, texts, strict=True):
            answers[i] = text
    model.train(was_training)
    return answers
