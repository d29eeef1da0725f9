"""What comes of a generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polystate import _core


@dataclass(frozen=True)
class Usage:
    """What the generation for one input cost.

    Attributes
    ----------
    prompt_tokens
        Tokens of the source and of the prompt, or its start token.
    cached_tokens
        How many of these had been read before, and were not read again.
    generated_tokens
        Tokens of all its sequences.
    pages
        Pages of the decoder's caches that were set aside for it.
    """

    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    pages: int

    @classmethod
    def of(cls, counted: _core.GenerationUsage) -> Usage:
        """Copy what the runtime counted."""
        return cls(
            counted.prompt_tokens, counted.cached_tokens, counted.generated_tokens, counted.pages
        )


@dataclass(frozen=True)
class TokenLogprobs:
    """A token of a sequence among those that could have been there.

    Attributes
    ----------
    token
        The token that is there.
    logprob
        The natural logarithm of its probability by the model's own logits, before any processor.
    top
        The same of the most probable tokens, as many as were asked for, best first.
    """

    token: int
    logprob: float
    top: dict[int, float]

    @classmethod
    def of(cls, given: _core.Logprobs) -> TokenLogprobs:
        """Take what the runtime gives."""
        (token, logprob), top = given
        return cls(token, logprob, dict(top))


@dataclass(frozen=True)
class Prompt:
    """The first tokens of a sequence: what was given, and that without its padding."""

    given: list[int]
    ids: list[int]


@dataclass(frozen=True)
class GenerateOutput:
    """What ``Model.generate`` gives. Equal where all but the arrays is equal.

    Attributes
    ----------
    sequences
        The ids of each sequence, from the decoder's start token or prompt through the first end
        token, without padding; ``num_return_sequences`` for each input, best first. Where a beam
        search finds fewer, the others are what transformers has in their place, of score -1e9.
    padded
        The same as an array [sequences, tokens], as transformers gives them: with the padding that
        ``input_ids`` had before a prompt, and filled up with ``pad_token_id``.
    sequences_scores
        Of a beam search: the score of each, the sum of its log-probabilities divided by a power of
        its length; else None.
    usage
        What each input cost.
    finish_reasons
        Why each sequence has no more tokens: ``"stop"`` (an end token), ``"length"``,
        ``"stop_string"``, ``"stopping_criterion"``, ``"max_time"``, or ``"unfinished"`` (it was
        told to end, or a beam search has nothing better in its place).
    scores, logits
        With ``output_scores=True``, ``output_logits=True``: for each generated token an array
        [sequences, vocabulary], NaN for sequences that have ended before; else None. Scores are
        what tokens are chosen by, after all processors; in a beam search they are log-probabilities
        of the beam that each sequence goes on from, and so need no ``beam_indices``. Logits are as
        the model gives them.
    logprobs
        With ``logprobs=n``: for each sequence those of its generated tokens; else None.
    kept
        With ``keep=True``: for each input what was read of its sequence, all but the last token,
        from which later calls go on (``kept=``); else None.
    prompt_logprobs
        With ``prompt_logprobs=n``: for each input those of the tokens of its prompt, None for the
        first, which nothing comes before; else None.
    """

    sequences: list[list[int]]
    padded: np.ndarray[Any, Any] = field(compare=False)
    sequences_scores: list[float] | None
    usage: list[Usage]
    finish_reasons: list[str]
    scores: tuple[np.ndarray[Any, Any], ...] | None = field(compare=False)
    logits: tuple[np.ndarray[Any, Any], ...] | None = field(compare=False)
    logprobs: list[list[TokenLogprobs]] | None
    prompt_logprobs: list[list[TokenLogprobs | None]] | None
    kept: list[_core.KeptSequence | None] | None

    @classmethod
    def of(
        cls,
        results: Sequence[_core.GenerationResult],
        prompts: Sequence[Prompt],
        vocabulary: int,
        padding: int,
    ) -> GenerateOutput:
        """Take what the runtime gives for each prompt."""
        sequences = [sequence for result in results for sequence in result.sequences]
        scores = [sequence.score for sequence in sequences if sequence.score is not None]
        logprobs = [[TokenLogprobs.of(each) for each in one.logprobs] for one in sequences]
        of_prompts = [[TokenLogprobs.of(each) for each in one.prompt_logprobs] for one in results]
        kept = [sequence.kept for sequence in sequences]
        return cls(
            sequences=[sequence.ids for sequence in sequences],
            padded=_padded(results, prompts, padding),
            sequences_scores=scores if len(scores) == len(sequences) and scores else None,
            usage=[Usage.of(result.usage) for result in results],
            finish_reasons=[sequence.finish_reason for sequence in sequences],
            scores=_by_token([sequence.scores for sequence in sequences], vocabulary),
            logits=_by_token([sequence.logits for sequence in sequences], vocabulary),
            logprobs=logprobs if any(logprobs) else None,
            prompt_logprobs=[[None, *each] for each in of_prompts] if any(of_prompts) else None,
            kept=kept if any(each is not None for each in kept) else None,
        )


def _padded(
    results: Sequence[_core.GenerationResult], prompts: Sequence[Prompt], padding: int
) -> np.ndarray[Any, Any]:
    """An array [sequences, tokens] of the sequences, each with its prompt as it was given."""
    rows = [
        [*prompt.given, *sequence.ids[len(prompt.ids) :]]
        for result, prompt in zip(results, prompts, strict=True)
        for sequence in result.sequences
    ]
    array = np.full((len(rows), max(map(len, rows), default=0)), padding, np.int64)
    for i, row in enumerate(rows):
        array[i, : len(row)] = row
    return array


def _by_token(
    rows: Sequence[np.ndarray[Any, Any]], vocabulary: int
) -> tuple[np.ndarray[Any, Any], ...] | None:
    """Arrays [sequences, vocabulary] of each token, from one [tokens * vocabulary] a sequence."""
    longest = max((len(row) // vocabulary for row in rows), default=0)
    if longest == 0:
        return None
    steps = np.full((longest, len(rows), vocabulary), np.nan, np.float32)
    for i, row in enumerate(rows):
        steps[: len(row) // vocabulary, i] = row.reshape(-1, vocabulary)
    return tuple(steps)
