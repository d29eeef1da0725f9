"""The chat model's training: its conversations, its batches, and that it goes on as it was."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

import polystate as ps
from tools.train_chat.conversations import (
    SYSTEM,
    ConversationEncoder,
    Pair,
    make_tokenizer,
    turns_of,
)
from tools.train_chat.training import Batch, Training, batches, loss_of

WORDS = ["chat", "dog", "été", "où", "the", "le", "sea", "mer", "œuf", "Ça va", "why", "I'm"]


def drawn_pairs(count: int) -> list[Pair]:
    chance = random.Random(0)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(2, 9))).capitalize() + "."

    return [Pair(sentence(), sentence()) for _ in range(count)]


PAIRS = drawn_pairs(40)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer(PAIRS)


def test_conversations_are_those_of_the_chat_template(tokenizer: PreTrainedTokenizerFast) -> None:
    turns = turns_of(PAIRS[:2], random.Random(1))
    example = ConversationEncoder(tokenizer).encode(SYSTEM, turns)
    messages = [{"role": "system", "content": SYSTEM}]
    for turn in turns:
        messages += [
            {"role": "user", "content": turn.user},
            {"role": "assistant", "content": turn.assistant},
        ]
    assert example.ids == tokenizer.apply_chat_template(messages, return_dict=False)
    answers = [i for i, is_answer in zip(example.ids, example.is_answer, strict=True) if is_answer]
    assert tokenizer.decode(answers) == "".join(f"{turn.assistant}<|end|>" for turn in turns)


def test_turns_go_from_one_language_to_the_other_and_back() -> None:
    for seed in range(20):
        first, second = turns_of(PAIRS[:2], random.Random(seed))
        to_french = "French" in first.user
        assert first.assistant == (PAIRS[0].french if to_french else PAIRS[0].english)
        assert second.assistant == (PAIRS[1].english if to_french else PAIRS[1].french)
        assert ("English" in second.user) == to_french


def test_the_runtime_has_the_same_tokenizer(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    own = ps.Tokenizer.open(tmp_path)
    for pair in PAIRS:
        ids = tokenizer(pair.french).input_ids
        assert list(own.encode(pair.french)) == ids
        assert own.decode(ids) == tokenizer.decode(ids, skip_special_tokens=True)


def test_an_epoch_has_every_pair_in_an_order_of_its_own(tokenizer: PreTrainedTokenizerFast) -> None:
    encoder, padding = ConversationEncoder(tokenizer), tokenizer.pad_token_id

    def texts(epoch: int) -> list[str]:
        made = batches(PAIRS, encoder, padding, epoch)
        return [tokenizer.decode(ids) for batch in made for ids in batch.ids]

    assert texts(3) == texts(3) != texts(4)
    whole = "".join(texts(3))
    assert all(pair.english in whole or pair.french in whole for pair in PAIRS)


def test_padding_has_no_loss(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    model = Training(PAIRS, tokenizer, tmp_path / "checkpoint.pt", 1).model
    encoder = ConversationEncoder(tokenizer)
    examples = [encoder.encode(None, turns_of(PAIRS[i : i + 2], random.Random(i))) for i in (0, 7)]
    alone = [Batch.of([example], tokenizer.pad_token_id) for example in examples]
    counts = [int(batch.is_answer.sum()) for batch in alone]
    with torch.no_grad():
        whole = float(loss_of(model, Batch.of(examples, tokenizer.pad_token_id)))
        parts = sum(float(loss_of(model, b)) * n for b, n in zip(alone, counts, strict=True))
    assert whole == pytest.approx(parts / sum(counts), rel=1e-2)  # of products in bfloat16


def test_a_training_goes_on_as_if_it_had_not_been_interrupted(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    def training(name: str) -> Training:
        return Training(pairs, tokenizer, tmp_path / name, 2)

    def weights(of: Training) -> dict[str, Any]:
        return of.model.state_dict()

    pairs = PAIRS[:4]  # the model itself is the one that is published
    made = batches(pairs, ConversationEncoder(tokenizer), tokenizer.pad_token_id, 0) * 4
    whole, first = training("whole"), training("interrupted")
    for batch in made:
        whole.take_step(batch, 1e-3)
    for batch in made[:2]:
        first.take_step(batch, 1e-3)
    first.save()
    second = training("interrupted")
    assert second.progress == first.progress
    for batch in made[2:]:
        second.take_step(batch, 1e-3)
    for name, weight in weights(whole).items():
        assert torch.equal(weight, weights(second)[name]), name
