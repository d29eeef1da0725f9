"""Text in, text out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.generation import (
    LogitsProcessor,
    Sampler,
    StatefulProcessor,
    StoppingCriterion,
    checked_text,
    generation_options,
    run_async,
    stream_call,
    warn,
)
from polystate.runtime.model import Model, load

# The keys of answers by task, as transformers' pipelines name them.
_KEYS = {"translation": "translation_text", "summarization": "summary_text"}


def pipeline(model: str | os.PathLike[str] | Model, **options: Any) -> Pipeline:
    """Make what turns text into text by an artifact.

    Parameters
    ----------
    model
        An artifact's directory, or an open model.
    **options
        As for :func:`polystate.load` (``threads=2``); an open model has them already.

    Raises
    ------
    UnsupportedError
        The artifact is of no kind that generates text, or has no tokenizer.
    ArtifactError, ContractError, EngineError, IoError
        As :func:`polystate.load`.
    """
    if not isinstance(model, Model):
        return Pipeline(load(model, **options))
    if options:
        raise ContractError(
            f"{' and '.join(options)} are given to polystate.load, which opened the model"
        )
    return Pipeline(model)


def generate(model: str | os.PathLike[str] | Model, prompt: str, **names: Any) -> str:
    """Generate the best text for one; ``names`` as for calling a :class:`Pipeline`."""
    answers = pipeline(model)(checked_text("prompt", prompt), **names)
    text: str = next(iter(answers[0].values()))
    return text


class Pipeline:
    """A tokenizer and a runner over one artifact; made by :func:`pipeline`.

    Many threads may call it, and others over the same model: their texts run side by side.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._core = model._shared(_core.Pipeline)
        warn(self._core.warnings)

    @property
    def task(self) -> str:
        """What the artifact is for: ``"translation"``, ``"summarization"``, ..."""
        return self._core.task

    @property
    def warnings(self) -> list[str]:
        """What the artifact's files ask for and gets no effect here, a sentence each."""
        return list(self._core.warnings)

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        truncation: bool = False,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        on_text: Callable[[int, str], Any] | None = None,
        on_progress: Callable[[int], Any] | None = None,
        return_scores: bool = False,
        **names: Any,
    ) -> list[Any]:
        """Answer one text, or many side by side.

        Parameters
        ----------
        text
            A text, or a list of texts.
        truncation
            Cut texts that are longer than the model's limit, where they are refused otherwise.
        logits_processor, sampler, stopping_criteria
            The user's own: see :mod:`polystate.runtime.generation`.
        on_text
            Called with the number of a text and each piece of its answer as it is found; False ends
            that answer. Of one beam only.
        on_progress
            Called when an answer is complete, with how many of all are.
        return_scores
            Whether each dictionary has a ``"score"`` too: of a beam search the sum of its tokens'
            log-probabilities divided by a power of its length; else None.
        **names
            Fields of transformers' ``GenerationConfig``: ``num_beams=4``; others are as the
            artifact's ``generation_config.json`` says.

        Returns
        -------
        list
            As transformers' pipelines: for each text a dictionary, ``{"translation_text": ...}``,
            or a list of them where ``num_return_sequences`` asks for several; for a single text
            the list of its dictionaries.

        Raises
        ------
        ContractError
            A text is too long, or an option is unknown or out of range.
        """
        options = generation_options(
            names,
            logits_processor,
            sampler,
            stream_call("on_text", on_text),
            on_progress,
            stopping_criteria,
        )
        return self._answers(text, truncation, return_scores, options)

    async def call_async(
        self,
        text: str | Sequence[str],
        *,
        truncation: bool = False,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        return_scores: bool = False,
        **names: Any,
    ) -> list[Any]:
        """As calling it, without blocking the event loop.

        Calls that wait at the same time run side by side. One whose task is cancelled ends.
        """
        options = generation_options(names, logits_processor, sampler, None, None)
        return await run_async(
            options, lambda: self._answers(text, truncation, return_scores, options)
        )

    def _answers(
        self,
        text: str | Sequence[str],
        truncation: bool,
        return_scores: bool,
        options: _core.GenerationOptions,
    ) -> list[Any]:
        if not isinstance(truncation, bool):
            raise ContractError(f"truncation is {truncation!r}; True or False is needed")
        answers = self._core.run(_texts_of(text), truncation, options)
        key = _KEYS.get(self.task, "generated_text")
        results: list[list[dict[str, Any]]] = [
            [{key: each.text} | ({"score": each.score} if return_scores else {}) for each in answer]
            for answer in answers
        ]
        if isinstance(text, str):
            return results[0]
        if all(len(result) == 1 for result in results):
            return [result[0] for result in results]
        return results

    def __repr__(self) -> str:
        return f"<polystate pipeline for {self.task or 'text'} over {self.model!r}>"


def _texts_of(given: Any) -> list[str]:
    if isinstance(given, str):
        return [checked_text("the text", given)]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise ContractError(f"text is a {type(given).__name__}; a str or a list of them is needed")
    return [checked_text(f"text {i}", each) for i, each in enumerate(given)]
