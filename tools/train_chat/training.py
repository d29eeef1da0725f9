"""Trains a small Llama, and goes on where it was interrupted."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tools.train_chat.conversations import (
    ConversationEncoder,
    Example,
    Pair,
    system_line,
    turns_of,
)

_PEAK_RATE = 1.5e-3
_WARM_UP = 600  # steps
_FLAT = 0.3  # the part of all steps before the rate falls
_SMOOTHING = 0.1
_SAVE_EVERY = 180.0  # seconds
_TOKENS = 6000  # of a batch, padding included
_SORTED = 10_000  # conversations that are sorted by length together


@dataclass(frozen=True)
class Batch:
    """Conversations [rows, tokens], padded at the end, and which tokens are answers."""

    ids: torch.Tensor
    is_answer: torch.Tensor

    @staticmethod
    def of(examples: Sequence[Example], padding: int) -> Batch:
        """As long as the longest of them."""
        ids = [torch.tensor(each.ids) for each in examples]
        answers = [torch.tensor(each.is_answer) for each in examples]
        pad = torch.nn.utils.rnn.pad_sequence
        return Batch(
            pad(ids, batch_first=True, padding_value=padding),
            pad(answers, batch_first=True, padding_value=False),
        )


def batches(
    pairs: Sequence[Pair], encoder: ConversationEncoder, padding: int, epoch: int
) -> list[Batch]:
    """All pairs in conversations of two turns, in an order that only the epoch decides."""
    chance = random.Random(epoch)
    order = list(pairs)
    chance.shuffle(order)
    examples = [
        encoder.encode(system_line(chance), turns_of(order[first : first + 2], chance))
        for first in range(0, len(order), 2)
    ]
    made = []
    for first in range(0, len(examples), _SORTED):
        part = sorted(examples[first : first + _SORTED], key=lambda each: len(each.ids))
        made += [Batch.of(group, padding) for group in _grouped(part)]
    chance.shuffle(made)
    return made


def _grouped(examples: Sequence[Example]) -> Iterator[list[Example]]:
    """Of ascending lengths, as many as a batch takes."""
    group: list[Example] = []
    for example in examples:
        if group and len(example.ids) * (len(group) + 1) > _TOKENS:
            yield group
            group = []
        group.append(example)
    yield group


def make_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Random weights."""
    torch.manual_seed(1)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=256,
            intermediate_size=704,
            num_hidden_layers=5,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def loss_of(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """Of the answers' tokens; logits are made for them alone."""
    is_next = batch.is_answer[:, 1:]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
        logits = model.lm_head(hidden[is_next])
    return cross_entropy(logits.float(), batch.ids[:, 1:][is_next], label_smoothing=_SMOOTHING)


def rate_at(step: int, steps: int) -> float:
    """The learning rate: it rises, stays, and falls as a cosine."""
    part = max(0.0, (step / steps - _FLAT) / (1 - _FLAT))
    return (
        _PEAK_RATE
        * min(1.0, (step + 1) / _WARM_UP)
        * max(0.01, 0.5 * (1 + math.cos(math.pi * part)))
    )


@dataclass
class Progress:
    """Where a training is: the next batch is `batch` of `epoch`."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    seconds: float = 0.0


class Training:
    """A model, its optimizer and its progress, kept in a file.

    Parameters
    ----------
    checkpoint
        The file; where it is there, the training goes on from it.
    epochs
        How often every pair is seen.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizer: PreTrainedTokenizerFast,
        checkpoint: Path,
        epochs: int,
    ) -> None:
        self.model = make_model(tokenizer)
        self._pairs = pairs
        self._encoder = ConversationEncoder(tokenizer)
        self._padding = tokenizer.pad_token_id
        self._checkpoint = checkpoint
        self._epochs = epochs
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self.progress = Progress()
        if checkpoint.exists():
            self._load()

    def run(self) -> Iterator[Progress]:
        """Trains to the end; tells where it is at each epoch's."""
        self.model.train()
        while self.progress.epoch < self._epochs:
            self._run_epoch(batches(self._pairs, self._encoder, self._padding, self.progress.epoch))
            self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0
            self.save()
            yield self.progress

    def _run_epoch(self, made: Sequence[Batch]) -> None:
        steps = len(made) * self._epochs
        saved = told = began = time.monotonic()
        losses: list[float] = []
        tokens = 0
        for batch in made[self.progress.batch :]:
            losses.append(self.take_step(batch, rate_at(self.progress.step, steps)))
            tokens += batch.ids.numel()
            now = time.monotonic()
            if now - told > 30:
                rest = (steps - self.progress.step) * (now - began) / len(losses)
                print(
                    f"epoch {self.progress.epoch} step {self.progress.step} of {steps}: loss "
                    f"{sum(losses[-100:]) / len(losses[-100:]):.3f}, {tokens / (now - began):.0f} "
                    f"tokens/s, {rest / 60:.0f} min left",
                    flush=True,
                )
                told = now
            if now - saved > _SAVE_EVERY:
                self.save()
                saved = now

    def take_step(self, batch: Batch, rate: float) -> float:
        """One step of the optimizer; the loss before it."""
        began = time.monotonic()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(self.model, batch)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimizer.step()
        self.progress.batch += 1
        self.progress.step += 1
        self.progress.seconds += time.monotonic() - began
        return float(loss.detach())

    def save(self) -> None:
        """Replaces the file, as a whole."""
        written = self._checkpoint.with_suffix(".new")
        kept: dict[str, Any] = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "progress": vars(self.progress),
        }
        with written.open("wb") as file:
            torch.save(kept, file)
            file.flush()
            os.fsync(file.fileno())
        written.replace(self._checkpoint)

    def _load(self) -> None:
        kept = torch.load(self._checkpoint, weights_only=True)
        self.model.load_state_dict(kept["model"])
        self._optimizer.load_state_dict(kept["optimizer"])
        self.progress = Progress(**kept["progress"])
