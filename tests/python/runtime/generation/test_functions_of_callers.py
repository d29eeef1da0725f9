"""Functions of a caller that generation calls: processors, samplers, streams, progress."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import polystate as ps
from tests.python.runtime.generation.texts import TEXT, greedy


def test_a_processor_changes_scores_in_place_or_returns_new_ones(translate: ps.Pipeline) -> None:
    seen: list[int] = []

    def forbid_end(tokens: list[int], scores: np.ndarray[Any, Any]) -> None:
        seen.append(len(tokens))
        scores[0] = -np.inf

    def forbid_end_anew(_: list[int], scores: np.ndarray[Any, Any]) -> Any:
        return torch.from_numpy(np.where(np.arange(len(scores)) == 0, -np.inf, scores))

    options: dict[str, Any] = {"max_new_tokens": 12, "forced_eos_token_id": None}
    longer = greedy(translate, TEXT, logits_processor=[forbid_end], **options)
    assert seen == list(range(1, 13))
    assert longer != greedy(translate, TEXT)
    anew = greedy(translate, TEXT, logits_processor=[forbid_end_anew], **options)
    assert anew == longer
    assert translate(TEXT, logits_processor=None) == translate(TEXT)


class _EveryThirdIs:
    """Forces a token at every third place, counted in a state of each row."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.forks = 0

    @dataclass
    class Row:
        """How many tokens a row has."""

        owner: _EveryThirdIs
        tokens: int

        def advance(self, _: int) -> None:
            """Counts."""
            self.tokens += 1

        def fork(self) -> _EveryThirdIs.Row:
            """Copies the count."""
            self.owner.forks += 1
            return dataclasses.replace(self)

        def rewind(self, count: int) -> None:
            """Counts back."""
            self.tokens -= count

    def start(self, tokens: list[int]) -> Row:
        """Begins after the prompt."""
        return self.Row(self, len(tokens))

    def __call__(self, row: Row, scores: np.ndarray[Any, Any]) -> None:
        """Forces the token."""
        if row.tokens % 3 == 0:
            scores[self.token] = scores.max() + 100


@pytest.mark.parametrize("options", [{"num_beams": 1}, {"num_beams": 3}])
def test_a_processor_may_keep_a_state_for_each_row(
    model: ps.Model, ids: list[int], options: dict[str, Any]
) -> None:
    def stateless(tokens: list[int], scores: np.ndarray[Any, Any]) -> None:
        if len(tokens) % 3 == 0:
            scores[9] = scores.max() + 100

    processor = _EveryThirdIs(9)
    found = model.generate(
        ids, logits_processor=[processor], max_new_tokens=12, eos_token_id=None, **options
    ).sequences
    assert found[0][3::3] == [9] * 4
    assert processor.forks == 0 or options["num_beams"] > 1
    again = model.generate(
        ids, logits_processor=[stateless], max_new_tokens=12, eos_token_id=None, **options
    ).sequences
    assert found == again


def test_the_tokens_of_a_row_are_not_copied_at_each_step(model: ps.Model, ids: list[int]) -> None:
    lists: list[int] = []
    model.generate(ids, num_beams=1, logits_processor=[lambda tokens, _: lists.append(id(tokens))])
    assert len(lists) > 3
    assert len(set(lists)) == 1


def test_scores_may_be_kept(translate: ps.Pipeline) -> None:
    kept: list[np.ndarray[Any, Any]] = []
    greedy(translate, TEXT, logits_processor=[lambda _, scores: kept.append(scores)])
    copies = [scores.copy() for scores in kept]
    greedy(translate, "Where is the station?")
    for scores, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(scores, copy)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda scores: scores[:3], r"scores of shape \[3\]"),
        (lambda _: "x", "could not convert"),
        (lambda scores: scores * np.nan, "NaN"),
        (lambda scores: scores - np.inf, "no token is left"),
    ],
)
def test_scores_of_another_kind_are_refused(
    translate: ps.Pipeline, answer: Callable[[Any], Any], message: str
) -> None:
    before = translate(TEXT)
    with pytest.raises(ps.ContractError, match=message):
        translate(TEXT, num_beams=1, logits_processor=[lambda _, scores: answer(scores)])
    assert translate(TEXT) == before


def test_a_sampler_chooses_each_token(translate: ps.Pipeline) -> None:
    assert greedy(translate, TEXT, sampler=np.argmax) == greedy(translate, TEXT)
    assert greedy(translate, TEXT, sampler=lambda scores: torch.tensor(0)) == ""


@pytest.mark.parametrize("token", [10**9, -1, 10**30, None, 1.5])
def test_a_token_that_is_none_is_refused(translate: ps.Pipeline, token: Any) -> None:
    with pytest.raises(ps.ContractError, match="the sampler chose"):
        translate(TEXT, num_beams=1, sampler=lambda _: token)


@pytest.mark.parametrize("raised", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("where", ["logits_processor", "sampler", "on_text"])
def test_an_exception_of_the_user_s_comes_back(
    translate: ps.Pipeline, where: str, raised: BaseException
) -> None:
    def fail(*_: Any) -> Any:
        raise raised

    given: Any = [fail] if where == "logits_processor" else fail
    before = greedy(translate, TEXT)
    with pytest.raises(type(raised)) as caught:
        translate(TEXT, num_beams=1, **{where: given})
    assert caught.value is raised
    assert greedy(translate, TEXT) == before


def test_a_stream_joins_to_the_text(translate: ps.Pipeline) -> None:
    pieces: dict[int, str] = {0: "", 1: ""}

    def add(number: int, piece: str) -> None:
        pieces[number] += piece

    answers = translate([TEXT, "Hello."], num_beams=1, on_text=add)
    assert list(pieces.values()) == [answer["translation_text"] for answer in answers]


@pytest.mark.parametrize("false", [False, np.False_])
def test_a_stream_ends_where_it_is_told_to(translate: ps.Pipeline, false: Any) -> None:
    pieces = []

    def end(number: int, piece: str) -> Any:
        pieces.append(piece)
        return false

    assert greedy(translate, TEXT, on_text=end) == pieces[0]
    assert len(pieces) == 1


def test_tokens_are_given_as_they_are_chosen(model: ps.Model, ids: list[int]) -> None:
    tokens: list[int] = []
    (found,) = model.generate(
        ids, num_beams=1, on_token=lambda _, token: tokens.append(token)
    ).sequences
    assert found[1:] == tokens


def test_progress_counts_the_finished(translate: ps.Pipeline, model: ps.Model) -> None:
    counts: list[int] = []
    texts = [TEXT, "Hello.", "Where is the station?"]
    translate(texts, num_beams=1, on_progress=counts.append)
    assert counts == [1, 2, 3]
    counts.clear()
    model.generate([[5, 0], [6, 0]], num_beams=2, on_progress=counts.append)
    assert counts == [1, 2]

    def fail(_: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        translate(texts, num_beams=1, on_progress=fail)
    with pytest.raises(ps.ContractError, match="on_progress is a int"):
        translate(texts, on_progress=3)  # type: ignore[arg-type]
