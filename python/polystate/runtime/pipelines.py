"""Text in, text out."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.callables import (
    LogitsProcessor,
    Sampler,
    StatefulProcessor,
    StoppingCriterion,
    stream_call,
)
from polystate.runtime.chat import ChatForm, conversations_of, is_chat
from polystate.runtime.generation import checked_text, generation_options, run_async, warn
from polystate.runtime.model import Model, is_int64, load
from polystate.runtime.scores import Scores
from polystate.runtime.streams import pieces_of, pieces_of_async
from polystate.runtime.text_form import TextForm

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
    """Generate the best text for one; ``names`` as for calling a :class:`Pipeline`.

    Of a model without an encoder, what follows the prompt, unless ``return_full_text=True``.
    """
    answering = pipeline(model)
    if answering.continues_texts:
        names.setdefault("return_full_text", False)
    answers = answering(checked_text("prompt", prompt), **names)
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
        """What the artifact is for: ``"translation"``, ``"text-generation"``, ..."""
        return self._core.task

    @property
    def continues_texts(self) -> bool:
        """Whether an answer goes on where its text ends: whether the model has no encoder."""
        return self._core.continues_texts

    @property
    def warnings(self) -> list[str]:
        """What the artifact's files ask for and gets no effect here, a sentence each."""
        return list(self._core.warnings)

    def __call__(
        self,
        text: Any,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
        skip_special_tokens: bool = True,
        response_format: Mapping[str, Any] | None = None,
        return_full_text: bool | None = None,
        continue_final_message: bool | None = None,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        tokenizer_encode_kwargs: Mapping[str, Any] | None = None,
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
            A text, or a list of texts; of a chat model also a conversation, which is a list of
            messages, dictionaries with ``role`` and ``content``, or a list of conversations.
        truncation
            Cut texts that are longer than the model's limit, where they are refused otherwise: at
            their ends, and prompts, which a model without an encoder continues, at their beginning.
        add_special_tokens
            Whether the model is given the tokens that its tokenizer adds around a text.
        skip_special_tokens
            Whether special tokens are left out of answers.
        response_format
            What each answer has to be: ``{"type": "json_schema", "schema": {...}}``, a regular
            expression, one of some texts, a grammar; see docs/constrained.md.
        return_full_text
            Of a model without an encoder: whether an answer begins with its text, as by default, or
            is only what follows it.
        continue_final_message, tools, documents, tokenizer_encode_kwargs
            Of conversations: whether the last message is gone on with, by default where it is an
            answer; what the template is given besides (``chat_template`` and its variables).
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
            the list of its dictionaries. Of a model without an encoder a list for each text,
            always: ``[{"generated_text": ...}]``. There, a conversation gives all its messages and
            the answer, or with ``return_full_text=False`` the answer's text. Where the model's
            files have a ``response_template``, the answer is read by it: calls and thoughts are
            apart from the content.

        Raises
        ------
        ContractError
            A text is too long, or an option is unknown or out of range.
        """
        form = TextForm(
            truncation,
            add_special_tokens,
            skip_special_tokens,
            response_format,
            return_full_text,
            return_scores,
        )
        options = generation_options(
            names,
            logits_processor,
            sampler,
            stream_call("on_text", on_text),
            on_progress,
            stopping_criteria,
        )
        chat = ChatForm(continue_final_message, tools, documents, tokenizer_encode_kwargs)
        return self._answers_of(text, chat, form, options)

    async def call_async(
        self,
        text: Any,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
        skip_special_tokens: bool = True,
        response_format: Mapping[str, Any] | None = None,
        return_full_text: bool | None = None,
        continue_final_message: bool | None = None,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        tokenizer_encode_kwargs: Mapping[str, Any] | None = None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        return_scores: bool = False,
        **names: Any,
    ) -> list[Any]:
        """As calling it, without blocking the event loop.

        Calls that wait at the same time run side by side. One whose task is cancelled ends.
        """
        form = TextForm(
            truncation,
            add_special_tokens,
            skip_special_tokens,
            response_format,
            return_full_text,
            return_scores,
        )
        options = generation_options(
            names, logits_processor, sampler, None, None, stopping_criteria
        )
        chat = ChatForm(continue_final_message, tools, documents, tokenizer_encode_kwargs)
        return await run_async(options, lambda: self._answers_of(text, chat, form, options))

    def stream(
        self,
        text: Any,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
        skip_special_tokens: bool = True,
        response_format: Mapping[str, Any] | None = None,
        continue_final_message: bool | None = None,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        tokenizer_encode_kwargs: Mapping[str, Any] | None = None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        **names: Any,
    ) -> Iterator[str]:
        """Answer one text, or one conversation, piece by piece, as it is found: an iterator.

        Options are those of calling the pipeline, and one beam. Pieces join to the answer, of a
        model without an encoder to what follows the text or the messages. The generation ends where
        the iterator is closed, as a ``for`` loop that is left does once nothing refers to it.
        """
        form = TextForm(truncation, add_special_tokens, skip_special_tokens, response_format)
        chat = ChatForm(continue_final_message, tools, documents, tokenizer_encode_kwargs)
        return pieces_of(
            lambda hear: generation_options(
                names, logits_processor, sampler, hear, None, stopping_criteria
            ),
            self._run_of(text, chat, form),
        )

    def stream_async(
        self,
        text: Any,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
        skip_special_tokens: bool = True,
        response_format: Mapping[str, Any] | None = None,
        continue_final_message: bool | None = None,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        tokenizer_encode_kwargs: Mapping[str, Any] | None = None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        **names: Any,
    ) -> AsyncIterator[str]:
        """As :meth:`stream`, without blocking the event loop: ``async for piece in ...``."""
        form = TextForm(truncation, add_special_tokens, skip_special_tokens, response_format)
        chat = ChatForm(continue_final_message, tools, documents, tokenizer_encode_kwargs)
        return pieces_of_async(
            lambda hear: generation_options(
                names, logits_processor, sampler, hear, None, stopping_criteria
            ),
            self._run_of(text, chat, form),
        )

    def score(
        self,
        text: str | Sequence[str],
        *,
        stride: int | None = None,
        add_special_tokens: bool = True,
        on_progress: Callable[[int], Any] | None = None,
    ) -> Scores:
        """Tell how probable the model finds a text, or each of several, of any length.

        Parameters
        ----------
        text
            A text, or a list of texts.
        stride
            A text with more tokens than the model has room for is read in windows that overlap:
            each begins so many tokens after the one before, and counts the tokens that are new in
            it. By default half of the room. Fewer give each token more of what comes before it.
        add_special_tokens
            Whether the model is given the tokens that its tokenizer adds around a text.
        on_progress
            Called with how many texts have their score.

        Raises
        ------
        ContractError
            ``stride`` is less than 1, or leaves windows that do not overlap.
        UnsupportedError
            The model has an encoder.
        """
        form = TextForm(add_special_tokens=add_special_tokens)
        if stride is not None and not is_int64(stride):
            raise ContractError(f"stride is {stride!r}; a number of tokens is needed")
        options = generation_options({}, None, None, None, on_progress)
        return Scores.of(
            self._core.score(_texts_of(text), stride, form.add_special_tokens, options)
        )

    def _run_of(
        self, given: Any, chat: ChatForm, form: TextForm
    ) -> Callable[[_core.GenerationOptions], Any]:
        """The call that answers one text or conversation; refuses other values before it runs."""
        if is_chat(given):
            chats, batched = conversations_of(given)
            if batched:
                raise ContractError("a stream is of one conversation; a list of them is given")
            inputs = chat.inputs(chats[0])
            return lambda options: self._core.run_chats([inputs], form.core, options)
        texts = [checked_text("the text", given)]
        return lambda options: self._core.run(texts, form.core, options)

    def _answers_of(
        self, given: Any, chat: ChatForm, form: TextForm, options: _core.GenerationOptions
    ) -> list[Any]:
        if is_chat(given):
            return self._chat_answers(given, chat, form, options)
        return self._answers(given, form, options)

    def _answers(
        self, text: str | Sequence[str], form: TextForm, options: _core.GenerationOptions
    ) -> list[Any]:
        if form.return_full_text is not None and not self.continues_texts:
            raise ContractError(
                "return_full_text is for models that continue texts; this one has an encoder"
            )
        texts = _texts_of(text)
        answers = self._core.run(texts, form.core, options)
        key = _KEYS.get(self.task, "generated_text")
        is_full = self.continues_texts and form.return_full_text is not False
        results: list[list[dict[str, Any]]] = [
            [
                {key: (given if is_full else "") + each.text}
                | ({"score": each.score} if form.return_scores else {})
                for each in answer
            ]
            for given, answer in zip(texts, answers, strict=True)
        ]
        if isinstance(text, str):
            return results[0]
        if not self.continues_texts and all(len(result) == 1 for result in results):
            return [result[0] for result in results]
        return results

    def _chat_answers(
        self, given: Any, chat: ChatForm, form: TextForm, options: _core.GenerationOptions
    ) -> list[Any]:
        chats, batched = conversations_of(given)
        answers = self._core.run_chats([chat.inputs(one) for one in chats], form.core, options)
        is_full = form.return_full_text is not False
        results = [
            [
                {"generated_text": chat.answered(messages, each) if is_full else each.text}
                | ({"score": each.score} if form.return_scores else {})
                for each in answer
            ]
            for messages, answer in zip(chats, answers, strict=True)
        ]
        return results if batched else results[0]

    def __repr__(self) -> str:
        return f"<polystate pipeline for {self.task or 'text'} over {self.model!r}>"


def _texts_of(given: Any) -> list[str]:
    if isinstance(given, str):
        return [checked_text("the text", given)]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise ContractError(f"text is a {type(given).__name__}; a str or a list of them is needed")
    return [checked_text(f"text {i}", each) for i, each in enumerate(given)]
