"""What callers give to chat templates, as values that templates have."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polystate import _core
from polystate.errors import ContractError

_MAX_DEPTH = 300  # of values in one another, as the templates' own values have it


def template_value(value: Any, depth: int = 0) -> Any:
    """Give a value made of what JSON has, and of tuples, as transformers makes it for templates.

    Subclasses become their bases, data classes and Pydantic's models dictionaries, and anything
    else the name of its type.

    Raises
    ------
    ContractError
        Values are too deep in one another.
    """
    if depth > _MAX_DEPTH:
        raise ContractError(f"values are more than {_MAX_DEPTH} deep in one another")
    if value is None or type(value) in (str, int, float, bool):
        return value
    for base in (str, int, float):
        if isinstance(value, base):
            return str.__str__(value) if base is str else base(value)
    if isinstance(value, Mapping):
        return {
            template_value(key, depth + 1): template_value(item, depth + 1)
            for key, item in value.items()
        }
    for container in (list, tuple):
        if isinstance(value, container):
            return container(template_value(item, depth + 1) for item in value)
    return _value_of_object(value, depth)


def _value_of_object(value: Any, depth: int) -> Any:
    if isinstance(value, np.generic):
        return template_value(value.item(), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return template_value(fields, depth + 1)
    if callable(getattr(value, "model_dump", None)):
        return template_value(value.model_dump(), depth + 1)
    return f"<{type(value).__name__}>"


def conversations_of(conversation: Any) -> tuple[list[list[Any]], bool]:
    """Give the conversations of a call, and whether they are a batch.

    Raises
    ------
    ContractError
        It is no list of messages, and no list of such lists, or one of them is empty.
    """
    conversation = getattr(conversation, "messages", conversation)
    if isinstance(conversation, (str, Mapping)) or not isinstance(conversation, Sequence):
        raise ContractError(
            f"a conversation is a list of messages, not a {type(conversation).__name__}"
        )
    if not conversation:
        raise ContractError("a conversation has no message: give one at least")
    first = conversation[0]
    batched = isinstance(first, (list, tuple)) or hasattr(first, "messages")
    given = conversation if batched else [conversation]
    many: list[Any] = [getattr(one, "messages", one) for one in given]
    for number, one in enumerate(many):
        if not isinstance(one, (list, tuple)):
            raise ContractError(f"a conversation is a list of messages, not a {type(one).__name__}")
        if not one:
            raise ContractError(f"conversation {number} has no message: give one at least")
    return [list(one) for one in many], batched


def tool_schemas(tools: Sequence[Any] | None) -> list[Any] | None:
    """Give JSON schemas of tools; of functions as transformers makes them of their docstrings.

    Raises
    ------
    ContractError
        A tool is neither, or a function's docstring or type hints do not make a schema.
    """
    if tools is None:
        return None
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Sequence):
        raise ContractError(f"tools are a list, not a {type(tools).__name__}")
    return [_schema_of(tool) for tool in tools]


def _schema_of(tool: Any) -> Any:
    if isinstance(tool, dict):
        return tool
    if inspect.isfunction(tool) or inspect.ismethod(tool):
        return _function_schema(tool)
    raise ContractError(
        f"a tool is a JSON schema, or a function with type hints and a docstring, not a "
        f"{type(tool).__name__}"
    )


def _function_schema(function: Callable[..., Any]) -> Any:
    try:
        transformers = importlib.import_module("transformers.utils")
    except ImportError as error:
        raise ContractError(
            "a function becomes a tool by transformers, which is not there: give a JSON schema"
        ) from error
    try:
        return transformers.get_json_schema(function)
    except Exception as error:  # transformers has exceptions of its own, and lets others through
        raise ContractError(f"the function {function.__name__!r} is no tool: {error}") from error


def is_chat(given: Any) -> bool:
    """Whether a pipeline is given a conversation, or several, and no texts."""
    if hasattr(given, "messages"):
        return True
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence) or not given:
        return False
    first = given[0]
    is_list = isinstance(first, (list, tuple)) and bool(first) and isinstance(first[0], Mapping)
    return isinstance(first, Mapping) or hasattr(first, "messages") or is_list


@dataclasses.dataclass(frozen=True)
class ChatForm:
    """What a pipeline's templates are given besides messages, by transformers' names.

    ``tokenizer_encode_kwargs`` has ``chat_template`` and variables of the template's own.
    """

    continue_final_message: bool | None = None
    tools: Sequence[Any] | None = None
    documents: Sequence[Mapping[str, Any]] | None = None
    tokenizer_encode_kwargs: Mapping[str, Any] | None = None

    def continues(self, messages: Sequence[Any]) -> bool:
        """Whether a conversation's last message is gone on with: by default where it answers."""
        if self.continue_final_message is not None:
            return self.continue_final_message
        return bool(messages[-1]["role"] == "assistant")

    def inputs(self, messages: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A conversation as the runtime takes it, and the template's variables.

        Raises
        ------
        ContractError
            A message has no role or no content.
        """
        for message in messages:
            if not isinstance(message, Mapping) or not {"role", "content"} <= set(message):
                raise ContractError(
                    f"a message has a 'role' and a 'content'; this one is {message!r}"
                )
        variables = dict(self.tokenizer_encode_kwargs or {})
        continues = self.continues(messages)
        inputs = {
            "messages": template_value(messages),
            "tools": template_value(tool_schemas(self.tools)),
            "documents": template_value(self.documents),
            "chat_template": variables.pop("chat_template", None),
            "add_generation_prompt": not continues,
            "continue_final_message": "content" if continues else "",
        }
        return inputs, template_value(variables)

    def answered(self, messages: Sequence[Any], answer: _core.GeneratedText) -> list[Any]:
        """The messages with an answer, appended or at the end of the last one."""
        if not self.continues(messages):
            message = json.loads(answer.message)
            return [*messages, message or {"role": "assistant", "content": answer.text}]
        *others, last = messages
        content = _continued(template_value(last["content"]), answer.text)
        return [*others, {"role": last["role"], "content": content}]


def _continued(content: Any, text: str) -> Any:
    """What a message says with more text at its end: of parts, at the end of the last text."""
    if isinstance(content, str):
        return content + text
    place = max(i for i, part in enumerate(content) if isinstance(part, dict) and "text" in part)
    part = {**content[place], "text": content[place]["text"] + text}
    return [*content[:place], part, *content[place + 1 :]]
