"""Conversations about sentence pairs, and the tokenizer of their texts."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

BEGIN, PAD, END = "<|begin_of_text|>", "<|pad|>", "<|end|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
VOCABULARY = 10_000

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

SYSTEM = "You translate between English and French."
_SYSTEMS = (SYSTEM, "You are a translator.", "Translate what the user writes.")
_WORDINGS = ("Translate to {}: ", "In {}: ", "{}: ", "Say in {}: ")
_NEXT_WORDINGS = ("Now to {}: ", "And in {}: ", *_WORDINGS)
_FINAL_MARK = re.compile(r"\s*[.!?]+$")
_LANGUAGES = ("English", "French")


@dataclass(frozen=True)
class Pair:
    """A sentence in English and in French."""

    english: str
    french: str


@dataclass(frozen=True)
class Turn:
    """What the user says, and the assistant's answer."""

    user: str
    assistant: str


@dataclass(frozen=True)
class Example:
    """The tokens of a conversation, and which of them are the assistant's."""

    ids: list[int]
    is_answer: list[bool]


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file with English TAB French a line, of which ``.gz`` is compressed."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [Pair(*line.rstrip("\n").split("\t")) for line in lines]


def first_wording(sentence: str, to: str) -> str:
    """What the user says first, in the plainest way."""
    return _WORDINGS[0].format(to) + sentence


def turns_of(pairs: Sequence[Pair], chance: random.Random) -> list[Turn]:
    """A turn for each pair, from one language to the other and back; hasty typing now and then."""
    to_french = chance.random() < 0.5
    turns: list[Turn] = []
    for pair in pairs:
        source, target = (pair.english, pair.french) if to_french else (pair.french, pair.english)
        wordings = _NEXT_WORDINGS if turns else _WORDINGS
        wording = chance.choice(wordings).format(_LANGUAGES[to_french])
        turns.append(Turn(wording + _typed(source, chance), target))
        to_french = not to_french
    return turns


def _typed(sentence: str, chance: random.Random) -> str:
    """A sentence, sometimes in lower case or without its final mark."""
    kind = chance.random()
    if kind < 0.08:
        sentence = sentence.lower()
    if kind < 0.04 or kind > 0.94:
        sentence = _FINAL_MARK.sub("", sentence)
    return sentence


def system_line(chance: random.Random) -> str | None:
    """Most often the same; sometimes another or none."""
    kind = chance.random()
    return None if kind < 0.1 else chance.choice(_SYSTEMS) if kind < 0.3 else SYSTEM


class ConversationEncoder:
    """Turns conversations into tokens, as the chat template of the tokenizer does."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        self._begin, self._end = vocabulary[BEGIN], vocabulary[END]
        self._roles = {role: vocabulary[role] for role in ROLES}

    def encode(self, system: str | None, turns: Sequence[Turn]) -> Example:
        """A whole conversation, of which answers are the assistant's texts with their ends."""
        parts = [] if system is None else [("<|system|>", system)]
        for turn in turns:
            parts += [("<|user|>", turn.user), ("<|assistant|>", turn.assistant)]
        texts = self._tokenizer([text for _, text in parts], add_special_tokens=False).input_ids
        ids, is_answer = [self._begin], [False]
        for (role, _), text in zip(parts, texts, strict=True):
            ids += [self._roles[role], *text, self._end]
            is_answer += [False, *[role == "<|assistant|>"] * (len(text) + 1)]
        return Example(ids, is_answer)


def make_tokenizer(pairs: Sequence[Pair]) -> PreTrainedTokenizerFast:
    """A byte-level BPE of the pairs' texts, and of what is said around them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(t, special=True) for t in (BEGIN, PAD, END, *ROLES)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(pairs), trainer)
    begin = tokenizer.token_to_id(BEGIN)
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single=f"{BEGIN} $A", pair=f"{BEGIN} $A {BEGIN} $B", special_tokens=[(BEGIN, begin)]
            ),
        ]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=list(ROLES),
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def _texts(pairs: Sequence[Pair]) -> Iterator[str]:
    chance = random.Random(0)
    for pair in pairs:
        yield from (turns_of([pair], chance)[0].user, pair.english, pair.french)
    yield from _SYSTEMS * 1000
