"""Reads answers as messages."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polystate import _core
from polystate.errors import ContractError
from polystate.runtime.chat import template_value, tool_schemas


def template_of(response_template: Mapping[str, Any]) -> _core.ResponseTemplate:
    """A response template as the runtime takes it.

    Raises
    ------
    ContractError
        It is no JSON object, or not what ``transformers`` takes.
    """
    if not isinstance(response_template, Mapping):
        raise ContractError(f"a response_template is a dictionary, not {response_template!r}")
    try:
        text = json.dumps(dict(response_template), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"the response_template is no JSON: {error}") from None
    return _core.ResponseTemplate(text)


class ResponseParser:
    """Reads an answer piece by piece, as the class of ``transformers`` does.

    Made by :meth:`polystate.Tokenizer.get_response_parser`. Events are dictionaries with ``type``
    (``"region_open"``, ``"region_chunk"``, ``"region_close"``) and ``field``; chunks have ``text``,
    and ``dirty`` where the value is not that text but read from all of it; what closes has its
    ``value``.
    """

    def __init__(self, template: _core.ResponseTemplate, prefix: str, tools: Any) -> None:
        self._core = _core.ResponseParser(template, prefix, tools)

    @property
    def initial_events(self) -> list[dict[str, Any]]:
        """What the prompt had of the answer."""
        return _read(self._core.initial_events)

    def feed(self, text: str) -> list[dict[str, Any]]:
        """Read more of the answer; ContractError where a part cannot be read."""
        return _read(self._core.feed(text))

    def finalize(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """End the answer: the message, and the last events. Errors as :meth:`feed`."""
        message, events = self._core.finalize()
        return json.loads(message), _read(events)


def _read(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**event, "value": json.loads(event["value"])} if "value" in event else event
        for event in events
    ]


class ReadsResponses(ABC):
    """What a tokenizer knows of answers, by its directory's files."""

    @abstractmethod
    def decode(self, ids: Iterable[int] | int, skip_special_tokens: bool = True) -> str:
        """Give the text of ids."""

    @abstractmethod
    def _chat_templates(self) -> _core.ChatTemplates:
        """Read the templates of the directory."""

    @property
    def response_template(self) -> dict[str, Any] | None:
        """How answers are read as messages, as the directory says; None where it does not."""
        given = self._chat_templates().response_template
        return None if given is None else json.loads(given)

    def response_forms(
        self, chat_template: str | None = None, **variables: Any
    ) -> dict[str, str | bool | None]:
        """Tell how the model writes thoughts and calls, as its chat template shows.

        The template is given conversations with a known thought and a known call; the forms are
        those that find them in what it writes.

        Parameters
        ----------
        chat_template, variables
            As for :meth:`apply_chat_template`.

        Returns
        -------
        dict
            ``thinking`` and ``tool_calls``, names of forms, None where no known one suits; and
            ``shows_tools``, whether the template shows tools to the model.
        """
        inputs: dict[str, Any] = {
            "messages": [],
            "tools": None,
            "documents": None,
            "chat_template": chat_template,
            "add_generation_prompt": False,
            "continue_final_message": "",
        }
        thinking, calls, shows_tools = _core.find_response_forms(
            self._chat_templates(), inputs, template_value(variables)
        )
        return {
            "thinking": thinking or None,
            "tool_calls": calls or None,
            "shows_tools": shows_tools,
        }

    def parse_response(
        self,
        response: Any,
        schema: Mapping[str, Any] | None = None,
        *,
        prefix: Any = None,
        tools: Sequence[Any] | None = None,
    ) -> Any:
        """Read an answer as a message, as ``transformers`` does: thoughts, calls and content.

        Parameters
        ----------
        response
            The answer's text or ids, special tokens included; or a list of answers.
        schema
            A response template; None: that of the directory.
        prefix
            The prompt, text or ids, since templates may write the beginning of an answer: one, or
            one for each answer. ``""`` where there is none.
        tools
            As for :meth:`apply_chat_template`: arguments of calls that are text become what their
            schemas say.

        Returns
        -------
        dict or list of dict
            The message, of a list of answers all of them.

        Raises
        ------
        ContractError
            There is no response template, or it is malformed; ``prefix`` is missing; or an answer
            has a part that cannot be read.
        """
        if prefix is None:
            raise ContractError(
                "prefix is missing: the prompt, whose template may have written the beginning of "
                'the answer; give "" where the answer is whole'
            )
        answers, batched = self._texts_of(response)
        prefixes, has_many = self._texts_of(prefix) if len(prefix) else ([""], False)
        if has_many and len(prefixes) != len(answers):
            raise ContractError(f"there are {len(answers)} answers and {len(prefixes)} prefixes")
        if not has_many:
            prefixes = prefixes * len(answers)
        messages = []
        for answer, before in zip(answers, prefixes, strict=True):
            parser = self.get_response_parser(schema, prefix=before, tools=tools)
            parser.feed(answer)
            messages.append(parser.finalize()[0])
        return messages if batched else messages[0]

    def get_response_parser(
        self,
        response_template: Mapping[str, Any] | None = None,
        *,
        prefix: Any,
        tools: Sequence[Any] | None = None,
    ) -> ResponseParser:
        """Read an answer piece by piece, as :meth:`parse_response` reads a whole one.

        ``prefix`` is one prompt. Other parameters and errors as :meth:`parse_response`.
        """
        template = self.response_template if response_template is None else response_template
        if template is None:
            raise ContractError(
                "the tokenizer has no response_template, which says how answers are read: give one"
            )
        (before,), _ = self._texts_of(prefix) if len(prefix) else ([""], False)
        return ResponseParser(template_of(template), before, template_value(tool_schemas(tools)))

    def _texts_of(self, given: Any) -> tuple[list[str], bool]:
        """The texts of a text, of ids, or of a list of either, and whether it is a list of them."""
        if isinstance(given, str):
            return [given], False
        many = given.tolist() if hasattr(given, "tolist") else given
        if not isinstance(many, list | tuple):
            raise ContractError(f"a text or ids are needed, not a {type(given).__name__}")
        if not many or isinstance(many[0], str | list | tuple):
            texts = [each if isinstance(each, str) else self.decode(each, False) for each in many]
            return texts, True
        return [self.decode(many, skip_special_tokens=False)], False
