"""Functions of the user's own that a generation calls, as the runtime calls them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

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
    check_function("a logits processor", processor)
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
    check_function("a stopping criterion", criterion)
    return lambda tokens: bool(criterion(tokens))


def sampler_call(sampler: Sampler | None) -> Callable[..., int] | None:
    """The user's sampler as the runtime calls it."""
    if sampler is None:
        return None
    check_function("sampler", sampler)

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
    check_function(name, function)

    def call(number: int, piece: Any) -> bool:
        answer = function(number, piece)
        return bool(answer) if isinstance(answer, bool | np.bool_) else True

    return call


def check_function(name: str, value: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ContractError(f"{name} is a {type(value).__name__}; a function is needed")
