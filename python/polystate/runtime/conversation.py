"""Conversations with a chat model."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from polystate import _core
from polystate.errors import ContractError, UnsupportedError
from polystate.runtime.answers import (
    ChatAnswer,
    ChatPiece,
    choice_of,
    content_alone,
    json_of,
    told_pieces,
)
from polystate.runtime.callables import (
    LogitsProcessor,
    Sampler,
    StatefulProcessor,
    StoppingCriterion,
    stream_call,
)
from polystate.runtime.chat import template_value, tool_schemas
from polystate.runtime.generation import checked_text, generation_options, run_async, warn
from polystate.runtime.generation_output import Usage
from polystate.runtime.grammars import optional_json
from polystate.runtime.model import Model, is_int64, load
from polystate.runtime.paths import checked_path
from polystate.runtime.pipelines import Pipeline
from polystate.runtime.streams import pieces_of, pieces_of_async


@dataclass(frozen=True)
class ChatUsage(Usage):
    """What an answer cost.

    Attributes
    ----------
    answers_encoded_again
        Answers in the prompt whose tokens could not be kept, because the template renders them
        otherwise than the model generated them: their text was encoded again.
    messages_left_out
        Messages that the model did not see any more (``context="slide"``).
    """

    answers_encoded_again: int
    messages_left_out: int


class Conversation:
    """A conversation with a chat model: messages in, answers out.

    Parameters
    ----------
    model
        An artifact's directory, an open model, or a pipeline. Conversations over one model share
        its memory, and run side by side.
    system
        The message of the system, which the conversation begins with.
    messages
        Messages to begin with, dictionaries with ``role`` and ``content``.
    tools
        What the model may call: JSON schemas as OpenAI has them, or functions with type hints and a
        docstring, which ``transformers`` makes into schemas.
    tool_choice
        ``"auto"``: the model calls tools as it likes; what it begins as a call becomes a valid one
        (docs/chat.md says where it does not). ``"none"``: it is not shown them. ``"required"``:
        each answer is calls, one or more. A tool's name: each answer is a call of this one. The
        tool's schema finds the arguments valid. Calls of :meth:`ask` may have another choice.
    documents, chat_template, sanitize_control_tokens, template_variables
        For the template: see :meth:`polystate.Tokenizer.apply_chat_template`.
    seed
        Answers are drawn by this and their number, unless a call has a seed of its own. None: a
        random one.
    **names
        Fields of transformers' ``GenerationConfig`` for all answers: ``max_new_tokens=200``.
        Calls may have others. With ``context="slide"`` the oldest turns are left out where there is
        no room for an answer; else a conversation that is too long is refused.

    Raises
    ------
    UnsupportedError
        The model has no chat template, or an encoder.
    ContractError
        A message or a tool is malformed, or an option unknown; or the template does not show tools
        to the model, or writes calls in an unknown form.

    Notes
    -----
    What the model has read is not read again, also after messages were changed or taken back. The
    tokens of an answer are kept where the template renders it as it was generated. After an error
    the conversation is as it was before the call. One thread at a time uses it; another one gets a
    ``BusyError``.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Model | Pipeline,
        system: str = "",
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        tools: Sequence[Any] | None = None,
        tool_choice: str | Mapping[str, Any] = "auto",
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template: str | None = None,
        sanitize_control_tokens: bool = True,
        template_variables: Mapping[str, Any] | None = None,
        seed: int | None = None,
        **names: Any,
    ) -> None:
        if isinstance(model, Pipeline):
            model = model.model
        self.model = model if isinstance(model, Model) else load(model)
        if seed is not None and not (is_int64(seed) and seed >= 0):
            raise ContractError(f"seed is {seed!r}; a whole number from 0 is needed")
        generation_options(names, None, None, None, None).check()  # or they are refused
        self._names = dict(names)
        core = self.model._shared(_core.Pipeline)
        inputs = {
            "messages": [],
            "tools": template_value(tool_schemas(tools)),
            "documents": template_value(documents),
            "chat_template": chat_template,
            "add_generation_prompt": False,
            "continue_final_message": "",
            "tool_choice": choice_of(tool_choice),
        }
        variables = template_value(template_variables or {})
        self._core = _core.Chat(core, inputs, variables, bool(sanitize_control_tokens), seed)
        warn(core.warnings)
        self._last: _core.ChatAnswer | None = None
        self.messages = list(messages)
        if system:
            self.system = system

    @property
    def messages(self) -> list[dict[str, Any]]:
        """All messages; a copy. Set, those that stay where they were keep their tokens."""
        messages: list[dict[str, Any]] = json.loads(self._core.messages)
        return messages

    @messages.setter
    def messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence):
            raise ContractError(f"messages are a list, not a {type(messages).__name__}")
        self._core.set_messages([template_value(message) for message in messages])

    def add_result(self, result: Any) -> int:
        """Append what the first call of the last answer gave that has no result yet.

        Parameters
        ----------
        result
            A text, or what JSON can hold.

        Returns
        -------
        int
            How many calls have no result. Without any, :meth:`answer` goes on.

        Raises
        ------
        ContractError
            There is no such call.
        """
        return self._core.add_result(result if isinstance(result, str) else json_of(result))

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Append a message, which is not answered yet."""
        if not isinstance(message, Mapping):
            raise ContractError(f"a message is a dictionary, not a {type(message).__name__}")
        self._core.add_message(template_value(message))

    @property
    def system(self) -> str:
        """The text of the first message if its role is "system"; otherwise empty."""
        messages = self.messages
        if not messages or messages[0]["role"] not in ("system", "developer"):
            return ""
        content = messages[0].get("content")
        return content if isinstance(content, str) else ""

    @system.setter
    def system(self, text: str) -> None:
        self._core.set_system(checked_text("system", text))

    def ask(
        self,
        text: str,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        on_text: Callable[[int, str], Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> ChatAnswer:
        """Append a message of the user, and what the model answers; give its content.

        Parameters
        ----------
        text
            What the user says.
        logits_processor, sampler, stopping_criteria
            The user's own: see :mod:`polystate.runtime.generation`.
        on_text
            Called with 0 and each piece of the answer's content as it is found; False ends the
            answer, which is kept so far.
        response_format
            What the answer has to be: see docs/constrained.md.
        tool_choice
            In place of the conversation's.
        **names
            Fields of transformers' ``GenerationConfig``, before those of the conversation.

        Raises
        ------
        ContractError
            The conversation is too long, the template refuses it, or an option is unknown or out of
            range.
        BusyError
            Another thread uses the conversation.
        """
        options = self._options(
            content_alone(stream_call("on_text", on_text)),
            logits_processor,
            sampler,
            stopping_criteria,
            names,
        )
        form, choice = optional_json(response_format), choice_of(tool_choice)
        return self._take(self._core.ask(checked_text("the text", text), options, form, choice))

    def answer(
        self,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        on_text: Callable[[int, str], Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> ChatAnswer:
        """Append what the model answers to the messages as they are; give its content.

        Where the last message is an answer, it goes on. Options and errors as :meth:`ask`;
        ContractError where the last message calls tools, whose results are not there.
        """
        options = self._options(
            content_alone(stream_call("on_text", on_text)),
            logits_processor,
            sampler,
            stopping_criteria,
            names,
        )
        form, choice = optional_json(response_format), choice_of(tool_choice)
        return self._take(self._core.answer(options, form, choice))

    def retry(
        self,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        on_text: Callable[[int, str], Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> ChatAnswer:
        """Answer the last message of the user again. Options and errors as :meth:`ask`."""
        options = self._options(
            content_alone(stream_call("on_text", on_text)),
            logits_processor,
            sampler,
            stopping_criteria,
            names,
        )
        form, choice = optional_json(response_format), choice_of(tool_choice)
        return self._take(self._core.retry(options, form, choice))

    def stream(
        self,
        text: str | None = None,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> Iterator[ChatPiece]:
        """Answer piece by piece, as it is found: an iterator.

        Pieces are texts, whose ``kind`` says what they are of: ``"content"``, ``"thinking"``, or
        ``"tool_call"``, a call as the model writes it. Where that turns out to be no call, its text
        follows as content. Without a text, the messages are answered as they are. Options as
        :meth:`ask`. Where the iterator is closed, the answer ends, and is kept so far.
        """
        run = self._run(text, optional_json(response_format), choice_of(tool_choice))
        return pieces_of(
            lambda hear: self._options(
                told_pieces(hear), logits_processor, sampler, stopping_criteria, names
            ),
            run,
            keeps_begun=True,
        )

    def stream_async(
        self,
        text: str | None = None,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> AsyncIterator[ChatPiece]:
        """As :meth:`stream`, without blocking the event loop: ``async for piece in ...``."""
        run = self._run(text, optional_json(response_format), choice_of(tool_choice))
        return pieces_of_async(
            lambda hear: self._options(
                told_pieces(hear), logits_processor, sampler, stopping_criteria, names
            ),
            run,
            keeps_begun=True,
        )

    async def ask_async(
        self,
        text: str,
        *,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None = None,
        sampler: Sampler | None = None,
        stopping_criteria: Sequence[StoppingCriterion] | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        **names: Any,
    ) -> ChatAnswer:
        """As :meth:`ask`, without blocking the event loop.

        Conversations that wait at the same time run side by side. Where the task is cancelled, the
        conversation is as it was, and free. Pieces are told by :meth:`stream_async`.
        """
        run = self._run(text, optional_json(response_format), choice_of(tool_choice))
        options = self._options(None, logits_processor, sampler, stopping_criteria, names)
        return await run_async(options, lambda: run(options))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save messages, tokens and the state of random numbers, for :meth:`load`.

        The file appears whole or not at all. Options of the conversation are not in it.

        Raises
        ------
        ContractError
            A message is none that JSON can hold.
        IoError
            The file cannot be written.
        """
        self._core.save(checked_path(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on with a saved conversation in place of this one, as if it had never ended.

        Raises
        ------
        ArtifactError
            The file is damaged.
        ContractError
            It is of another model.
        UnsupportedError
            It was saved by a newer polystate.
        IoError
            It cannot be read.
        """
        self._core.load(self.model._shared(_core.Pipeline), checked_path(path))
        self._last = None

    def undo(self) -> bool:
        """Take back the last message of the user and all after it; False where there is none."""
        return self._core.undo()

    def reset(self) -> None:
        """Take back all but leading messages of the system."""
        self._core.reset()

    @property
    def tokens(self) -> list[int]:
        """What the model saw at the last answer, and that."""
        return self._core.tokens

    def count_tokens(self) -> int:
        """Tell how many tokens the messages have, as the model would see them."""
        return self._core.count_tokens()

    @property
    def max_tokens(self) -> int:
        """The most tokens that the model has room for, answers included."""
        return self._core.max_tokens

    @property
    def eos_token_id(self) -> list[int]:
        """The tokens that end an answer: those of the configuration, and the template's own."""
        return self._core.eos_token_id

    @property
    def usage(self) -> ChatUsage | None:
        """What the last answer cost; None before the first."""
        if self._last is None:
            return None
        usage = self._last.usage
        return ChatUsage(
            usage.prompt_tokens,
            usage.cached_tokens,
            usage.generated_tokens,
            usage.pages,
            usage.answers_encoded_again,
            usage.messages_left_out,
        )

    @property
    def finish_reason(self) -> str | None:
        """Why the last answer ended, as :attr:`GenerateOutput.finish_reasons` has it."""
        return None if self._last is None else self._last.finish_reason

    def _run(
        self, text: str | None, form: str | None, choice: str | None
    ) -> Callable[[_core.GenerationOptions], ChatAnswer]:
        """What answers a text, or the messages as they are."""
        if text is None:
            return lambda options: self._take(self._core.answer(options, form, choice))
        given = checked_text("the text", text)
        return lambda options: self._take(self._core.ask(given, options, form, choice))

    def _take(self, answer: _core.ChatAnswer) -> ChatAnswer:
        self._last = answer
        warn(answer.warnings)
        return ChatAnswer.of(answer)

    def _options(
        self,
        on_piece: Callable[[int, Any], bool] | None,
        logits_processor: Sequence[LogitsProcessor | StatefulProcessor] | None,
        sampler: Sampler | None,
        stopping_criteria: Sequence[StoppingCriterion] | None,
        names: Mapping[str, Any],
    ) -> _core.GenerationOptions:
        given = {**self._names, **names}
        return generation_options(
            given, logits_processor, sampler, on_piece, None, stopping_criteria
        )

    def __repr__(self) -> str:
        return f"<polystate conversation of {len(self.messages)} messages over {self.model!r}>"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a Conversation cannot be pickled or copied: write it with save, and load that into "
            "another one; or make one of the same messages"
        )
