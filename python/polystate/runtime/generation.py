"""What is given to a generation, and what comes of it."""

from __future__ import annotations

import asyncio
import json
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from polystate import _core
from polystate.errors import ContractError

# A logits processor of the user's own: takes a row's tokens and its scores [vocabulary], and
# returns new scores, or None where it changed those in place. The list of tokens is the row's own,
# which grows: copy what is kept. An exception ends the generation.
LogitsProcessor = Callable[[list[int], "np.ndarray[Any, Any]"], Any]


class RowState(Protocol):
    """What a :class:`StatefulProcessor` keeps for one row: the state of a grammar, say."""

    def advance(self, token: int) -> Any:
        """Follow the row, which has one more token."""

    def fork(self) -> RowState:
        """Give an equal state, which goes on by itself."""

    def rewind(self, count: int) -> Any:
        """Forget the last tokens that it advanced by."""


class StatefulProcessor(Protocol):
    """A logits processor that keeps a state for each row, instead of reading its tokens anew."""

    def start(self, tokens: list[int]) -> RowState:
        """Give the state of a row that has read these tokens, its prompt."""

    def __call__(self, state: Any, scores: np.ndarray[Any, Any]) -> Any:
        """Return new scores [vocabulary], or None where these were changed in place."""


# A stopping criterion of the user's own: takes a sequence's tokens, of which the last was chosen
# just now, and returns whether it ends. In a beam search it is asked about every candidate.
StoppingCriterion = Callable[[list[int]], Any]


# A sampler of the user's own: takes a row's scores [vocabulary], and returns the next token.
Sampler = Callable[["np.ndarray[Any, Any]"], int]


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


T = TypeVar("T")


async def run_async(options: _core.GenerationOptions, run: Callable[[], T]) -> T:
    """Run a generation on another thread; it ends where the waiting task is cancelled."""
    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        options.cancel()
        raise


def generation_options(
    names: Mapping[str, Any],
    logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None,
    sampler: Sampler | None,
    on_piece: Callable[[int, Any], bool] | None,
    on_progress: Callable[[int], Any] | None,
    stopping_criteria: Sequence[StoppingCriterion] | None = None,
) -> _core.GenerationOptions:
    """How a caller wants a generation, as the runtime takes it."""
    if on_progress is not None:
        _check_function("on_progress", on_progress)
    options = _core.GenerationOptions(
        settings_of(names),
        processor_calls(logits_processor),
        sampler_call(sampler),
        on_piece,
        on_progress,
    )
    options.end_by(criterion_calls(stopping_criteria))
    return options


def settings_of(names: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Fields of transformers' GenerationConfig as the runtime takes them: names with JSON."""
    settings = []
    for name, value in names.items():
        given = value
        if isinstance(value, Mapping):  # of tuples of tokens: sequence_bias
            given = [[key, each] for key, each in value.items()]
        try:
            text = json.dumps(given, default=_plain, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ContractError(f"{name} is {value!r}, which is no plain value: {error}") from error
        settings.append((checked_text("an option's name", name), text))
    return settings


def _plain(value: Any) -> Any:
    """A NumPy or torch value as numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is none")


def checked_text(name: str, value: Any) -> str:
    """Text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise ContractError(f"{name} is a {type(value).__name__}; a str is needed")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ContractError(f"{name} is no valid Unicode: {error}") from error
    return value


def prompts_of(
    name: str, given: Any, attention_mask: Any = None, padding: int | None = None
) -> list[Prompt]:
    """Prompts, from a list of ids, a list of lists, or an array of one or two dimensions.

    Padding is taken away: where the mask is 0, or without one, and only of arrays, the padding
    tokens at the beginning.
    """
    ids = ids_of(name, given, attention_mask, padding, _without_beginning)
    rows = [[_id_of(name, token) for token in row] for row in _rows_of(name, given)]
    return [Prompt(*each) for each in zip(rows, ids, strict=True)]


def ids_of(
    name: str,
    given: Any,
    attention_mask: Any = None,
    padding: int | None = None,
    without: Callable[[list[int], int], list[int]] | None = None,
) -> list[list[int]]:
    """Lists of ids, from a list of ids, a list of lists, or an array of one or two dimensions.

    Padding is taken away: where the mask is 0, or without one, and only of arrays, the padding
    tokens at the end, or as ``without`` does it.
    """
    rows = _rows_of(name, given)
    if attention_mask is not None:
        masks = _rows_of("attention_mask", attention_mask)
        if [len(mask) for mask in masks] != [len(row) for row in rows]:
            raise ContractError(f"attention_mask has another shape than {name}")
        rows = [
            [token for token, seen in zip(row, mask, strict=True) if seen]
            for row, mask in zip(rows, masks, strict=True)
        ]
    elif hasattr(given, "tolist") and padding is not None:
        rows = [(without or _without_end)(row, padding) for row in rows]
    return [[_id_of(name, token) for token in row] for row in rows]


def _rows_of(name: str, given: Any) -> list[list[Any]]:
    """What is one row or several, as several."""
    rows = _plain_list(given)
    if rows is None:
        raise ContractError(f"{name} is a {type(given).__name__}; ids or lists of ids are needed")
    found = [_plain_list(row) for row in rows]
    if all(row is None for row in found):
        return [rows]
    if any(row is None for row in found):
        raise ContractError(f"{name} has ids beside lists of ids")
    return [row for row in found if row is not None]


def _plain_list(value: Any) -> list[Any] | None:
    """A sequence or an array as a list; None for anything else."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    is_list = isinstance(plain, Sequence) and not isinstance(plain, str | bytes)
    return list(plain) if is_list else None


def _id_of(name: str, token: Any) -> int:
    if isinstance(token, bool) or not hasattr(token, "__index__") or not 0 <= token < 2**32:
        raise ContractError(f"{name} has {token!r}, which is no id of a token")
    return operator.index(token)


def _without_beginning(row: list[int], padding: int) -> list[int]:
    begin = 0
    while begin < len(row) - 1 and row[begin] == padding:
        begin += 1
    return row[begin:]


def _without_end(row: list[int], padding: int) -> list[int]:
    end = len(row)
    while end > 1 and row[end - 1] == padding:
        end -= 1
    return row[:end]


def processor_calls(
    processors: Sequence[LogitsProcessor | StatefulProcessor] | None,
) -> list[tuple[Callable[..., None], Callable[[list[int]], RowState] | None]]:
    """The user's processors as the runtime calls them, each with what starts its state."""
    if processors is None:
        return []
    if not isinstance(processors, Sequence):
        raise ContractError(
            f"logits_processor is a {type(processors).__name__}; a list of functions is needed"
        )
    return [(_processor_call(each), getattr(each, "start", None)) for each in processors]


# The runtime lends its scores for one call. The user's functions get copies, which may be kept.


def _processor_call(processor: LogitsProcessor | StatefulProcessor) -> Callable[..., None]:
    _check_function("a logits processor", processor)
    has_state = hasattr(processor, "start")

    def call(tokens: list[int], state: Any, buffer: memoryview) -> None:
        with buffer:
            scores = np.array(buffer)
            changed = processor(state if has_state else tokens, scores)
            if changed is None:
                changed = scores
            np.frombuffer(buffer, np.float32)[:] = _scores_of(changed, len(buffer))

    return call


def _scores_of(changed: Any, count: int) -> np.ndarray[Any, Any]:
    """What a processor returned, as scores [vocabulary]."""
    try:
        scores = np.ascontiguousarray(changed, np.float32)
    except (TypeError, ValueError) as error:
        raise ContractError(f"a logits processor returned {changed!r}: {error}") from error
    if scores.size != count:
        raise ContractError(
            f"a logits processor returned scores of shape {list(scores.shape)}; {count} are needed"
        )
    return scores.reshape(count)


def criterion_calls(
    criteria: Sequence[StoppingCriterion] | None,
) -> list[Callable[[list[int]], bool]]:
    """The user's stopping criteria as the runtime calls them."""
    if criteria is None:
        return []
    if not isinstance(criteria, Sequence):
        raise ContractError(
            f"stopping_criteria is a {type(criteria).__name__}; a list of functions is needed"
        )
    return [_criterion_call(each) for each in criteria]


def _criterion_call(criterion: StoppingCriterion) -> Callable[[list[int]], bool]:
    _check_function("a stopping criterion", criterion)
    return lambda tokens: bool(criterion(tokens))


def sampler_call(sampler: Sampler | None) -> Callable[..., int] | None:
    """The user's sampler as the runtime calls it."""
    if sampler is None:
        return None
    _check_function("sampler", sampler)

    def call(buffer: memoryview, _seed: int, _sequence: int, _step: int) -> int:
        with buffer:
            scores = np.array(buffer)
        chosen = sampler(scores)
        try:
            token = operator.index(chosen)
        except TypeError:
            raise ContractError(f"the sampler chose {chosen!r}, which is no token") from None
        if not 0 <= token < len(scores):
            raise ContractError(
                f"the sampler chose the token {token}, and the vocabulary has {len(scores)}"
            )
        return token

    return call


def stream_call(
    name: str, function: Callable[[int, Any], Any] | None
) -> Callable[[int, Any], bool] | None:
    """What is called with each piece of an answer, as the runtime calls it: False ends it."""
    if function is None:
        return None
    _check_function(name, function)

    def call(number: int, piece: Any) -> bool:
        answer = function(number, piece)
        return bool(answer) if isinstance(answer, bool | np.bool_) else True

    return call


def _check_function(name: str, value: Any) -> None:
    if not callable(value):
        raise ContractError(f"{name} is a {type(value).__name__}; a function is needed")


def warn(sentences: Sequence[str]) -> None:
    """Tells what an artifact asks for and gets no effect."""
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=4)
