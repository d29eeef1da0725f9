"""Turns text into ids and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

from polystate import _core
from polystate.errors import ContractError, UnsupportedError
from polystate.runtime.chat import conversations_of, template_value, tool_schemas
from polystate.runtime.paths import checked_path
from polystate.runtime.responses import ReadsResponses

SpecialTokens = Literal["accept", "plain_text", "refuse"]
_MAX_THREADS = 1024


class Tokenizer(ReadsResponses):
    """A tokenizer in C++: the ids and the text are those of the library that its file is from.

    Immutable; any number of threads may use it at once. Made by :meth:`open`.
    """

    def __init__(
        self, core: _core.Tokenizer, path: str, templates: _core.ChatTemplates | None = None
    ) -> None:
        self._core = core
        self._path = path
        self._templates = templates  # None: those of the path, when they are asked for

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        target_language: bool = False,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> Tokenizer:
        """Open a tokenizer's file, or a directory that has one.

        Parameters
        ----------
        path
            ``tokenizer.json`` of Hugging Face, a SentencePiece model or a TikToken file; or a
            directory with ``tokenizer.json``, with Marian's ``source.spm``, ``target.spm`` and
            ``vocab.json``, with M2M100's ``sentencepiece.bpe.model`` and ``vocab.json``, or with
            another of them under its usual name: a model's directory, or an artifact.
        target_language
            Of Marian's and M2M100's: encode texts in the target language.
        pattern
            How a TikToken file splits text, in the syntax that ``tiktoken`` takes. None: that of
            the known encoding that the file is named for, such as ``cl100k_base.tiktoken``.
        special_tokens
            With ``pattern``: the special tokens and their ids.

        Raises
        ------
        ArtifactError
            The file is damaged.
        ContractError
            The file needs options that were not given, or is given options that are for others; or
            ``special_tokens`` has an id that a token of the file has.
        UnsupportedError
            The file asks for something that is not implemented; the message names it.
        IoError
            The file cannot be read.
        """
        if special_tokens and pattern is None:
            raise ContractError("special_tokens are given without a pattern")
        for token, number in (special_tokens or {}).items():
            if not 0 <= number < 2**32:
                raise ContractError(f"the special token {token!r} has the id {number}")
        name = checked_path(path)
        core = _core.open_tokenizer(name, pattern, dict(special_tokens or {}), target_language)
        return cls(core, name)

    def encode(
        self,
        text: str,
        text_pair: str | None = None,
        add_special_tokens: bool = True,
        *,
        special_tokens: SpecialTokens = "accept",
    ) -> list[int]:
        """Give the ids of a text, or of a pair of texts.

        Parameters
        ----------
        text, text_pair
            Without lone surrogates.
        add_special_tokens
            Whether to add those that the file's post-processor adds.
        special_tokens
            What the text of a special token inside ``text`` becomes: that token (``"accept"``),
            text like any other (``"plain_text"``), or an error (``"refuse"``).

        Raises
        ------
        ContractError
            The text is too long (128 MiB), holds what ``special_tokens`` refuses, or has a
            character that the vocabulary lacks where it has no token for unknown ones.
        """
        options = _core.EncodeOptions(add_special_tokens, special_tokens, False, False, False, 1)
        return self._core.encode(text, text_pair, options).ids

    def __call__(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        special_tokens: SpecialTokens = "accept",
        truncation: bool = False,
        padding: bool = False,
        return_offsets_mapping: bool = False,
        return_special_tokens_mask: bool = False,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """Encode a text, or many at once, into the dictionary that ``transformers`` gives.

        Parameters
        ----------
        text, text_pair
            A text, or a list of texts, and as many second texts where they are pairs.
        add_special_tokens, special_tokens
            As for :meth:`encode`.
        truncation, padding
            Whether to cut texts and to pad them, a batch together, where the file says so, as it
            says.
        return_offsets_mapping
            Whether to give ``offset_mapping``: for each token the characters of its text that it
            stands for, from and up to; ``(0, 0)`` for tokens that were added.
        return_special_tokens_mask
            Whether to give ``special_tokens_mask``: 1 for tokens that were added.
        threads
            How many threads encode a batch. None: one a core.

        Returns
        -------
        dict
            ``input_ids``, ``token_type_ids`` and ``attention_mask``, always all three: lists of
            numbers, or for a batch lists of lists.

        Raises
        ------
        ContractError
            As :meth:`encode`; of a batch, for the first text that has an error.
        """
        if threads is not None and not 1 <= threads <= _MAX_THREADS:
            raise ContractError(f"threads is {threads}: 1 to {_MAX_THREADS} is needed")
        options = _core.EncodeOptions(
            add_special_tokens,
            special_tokens,
            truncation,
            padding,
            return_offsets_mapping,
            threads or 0,
        )
        if isinstance(text, str):
            one = self._core.encode(text, text_pair, options)
            return {
                name: values[0]
                for name, values in _columns(
                    [one], return_offsets_mapping, return_special_tokens_mask
                ).items()
            }
        if not isinstance(text, Sequence):
            raise ContractError(f"a text or a list of texts is needed, not a {type(text).__name__}")
        texts, pairs = list(text), _second_texts(text_pair, len(text))
        many = self._core.encode_batch(texts, pairs, options)
        return _columns(many, return_offsets_mapping, return_special_tokens_mask)

    def decode(self, ids: Iterable[int] | int, skip_special_tokens: bool = True) -> str:
        """Give the text of ids; of a tensor, an array or one id too.

        Raises
        ------
        ContractError
            An id is not in the vocabulary.
        """
        return self._core.decode(_numbers_of(ids), skip_special_tokens)

    def batch_decode(
        self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Give the text of each sequence of ids. Errors as :meth:`decode`."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def decode_stream(self, skip_special_tokens: bool = True) -> DecodeStream:
        """Decode token by token: the parts that the stream gives, joined, are ``decode``'s text."""
        return DecodeStream(self._core.decode_stream(skip_special_tokens))

    def apply_chat_template(
        self,
        conversation: Any,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        return_dict: bool = False,
        sanitize_control_tokens: bool = True,
        **variables: Any,
    ) -> Any:
        """Give the ids of a conversation as its model expects it, as ``transformers`` does.

        The templates are those of the directory that was opened: ``chat_template.jinja``,
        ``additional_chat_templates``, or those in ``tokenizer_config.json``.

        Parameters
        ----------
        conversation
            A list of messages, dictionaries with ``role`` and ``content``; or a list of such lists.
            Keys of messages that are None are left out.
        tools
            JSON schemas of what the model may call; or functions with type hints and a docstring,
            which ``transformers`` makes into schemas.
        documents
            Dictionaries with ``title`` and ``text``.
        chat_template
            The name of one of the templates, or a template. None: ``"tool_use"`` where there are
            tools and such a template, else ``"default"``.
        add_generation_prompt
            Whether the text ends with the begin of an answer.
        continue_final_message
            Whether the text ends with the last message's, for the model to go on with; or the field
            of the message that is gone on with.
        tokenize
            Whether to give ids; else the text.
        return_dict
            Whether to give a dictionary with ``input_ids`` and ``attention_mask``.
        sanitize_control_tokens
            Whether the text of a control token in messages, tools, documents and variables is text
            like any other; else it becomes that token. Roles of messages that are known are trusted
            to be parts of control tokens.
        variables
            What the template sees besides.

        Raises
        ------
        ContractError
            ``transformers`` refuses the call, too; the template fails, as by ``raise_exception``;
            or it takes too many steps, too long, or makes too long a text.
        ArtifactError
            ``tokenizer_config.json`` is damaged.
        IoError
            A template's file cannot be read.
        """
        many, batched = conversations_of(conversation)
        inputs = {
            "tools": template_value(tool_schemas(tools)),
            "documents": template_value(documents),
            "chat_template": chat_template,
            "add_generation_prompt": bool(add_generation_prompt),
            "continue_final_message": _continued_field(continue_final_message),
        }
        templates = self._chat_templates()
        given = template_value(variables)
        chats = [
            templates.render({**inputs, "messages": template_value(messages)}, given, None)
            for messages in many
        ]
        if not tokenize:
            texts = [chat.text for chat in chats]
            return texts if batched else texts[0]
        ids = [
            _core.encode_chat(self._core, templates, chat, bool(sanitize_control_tokens)).ids
            for chat in chats
        ]
        if not return_dict:
            return ids if batched else ids[0]
        masks = [[1] * len(one) for one in ids]
        if batched:
            return {"input_ids": ids, "attention_mask": masks}
        return {"input_ids": ids[0], "attention_mask": masks[0]}

    def _chat_templates(self) -> _core.ChatTemplates:
        """Read the templates of the directory, once; a file has none."""
        if self._templates is None:
            is_folder = Path(self._path).is_dir()
            self._templates = (
                _core.open_chat_templates(self._path) if is_folder else _core.ChatTemplates()
            )
        return self._templates

    def token_to_id(self, token: str) -> int | None:
        """Give the id of a token as the vocabulary writes it; None where it has none."""
        return self._core.token_to_id(token)

    def id_to_token(self, id: int) -> str | bytes | None:
        """Give a token as the vocabulary writes it; bytes where it is no text (TikToken)."""
        return self._core.id_to_token(id)

    def is_special(self, id: int) -> bool:
        """Tell whether decoding leaves the token out."""
        return self._core.is_special(id)

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id."""
        return self._core.vocabulary_size

    @property
    def warnings(self) -> list[str]:
        """What the file asks for and gets no effect here, such as dropout, a sentence each."""
        return self._core.warnings

    def __len__(self) -> int:
        return self.vocabulary_size

    def __repr__(self) -> str:
        return f"<polystate tokenizer '{self._path}': {self.vocabulary_size} ids>"

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"a Tokenizer cannot be pickled or copied: open '{self._path}' in the other process"
        )


class DecodeStream:
    """Decodes ids one at a time; what may still change waits for later ids. For one thread."""

    def __init__(self, core: _core.DecodeStream) -> None:
        self._core = core

    def push(self, id: int) -> str:
        """Give the text that an id completes, often none.

        Raises
        ------
        ContractError
            The id is not in the vocabulary; the stream is as before.
        """
        return self._core.push(id)

    def finish(self) -> str:
        """Give what is left; the stream then starts anew."""
        return self._core.finish()


def _numbers_of(ids: Any) -> Any:
    """Give the numbers of a tensor or an array; anything else as it is."""
    return ids.tolist() if hasattr(ids, "tolist") else ids


def _continued_field(continue_final_message: bool | str) -> str:
    """Give the field of the last message that is gone on with; an empty name: none."""
    if isinstance(continue_final_message, str):
        return continue_final_message
    return "content" if continue_final_message else ""


def _second_texts(text_pair: str | Sequence[str] | None, count: int) -> list[str] | None:
    """Give the second texts of a batch of pairs; None where it has none."""
    if text_pair is None:
        return None
    if isinstance(text_pair, str):
        raise ContractError(f"text_pair is one text for a batch of {count}")
    if len(text_pair) != count:
        raise ContractError(f"text_pair has {len(text_pair)} texts for a batch of {count}")
    return list(text_pair)


def _columns(
    encodings: Sequence[_core.Encoding], offsets: bool, special_tokens_mask: bool
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "input_ids": [encoding.ids for encoding in encodings],
        "token_type_ids": [encoding.type_ids for encoding in encodings],
        "attention_mask": [encoding.attention_mask for encoding in encodings],
    }
    if offsets:
        columns["offset_mapping"] = [encoding.offsets for encoding in encodings]
    if special_tokens_mask:
        columns["special_tokens_mask"] = [encoding.special_tokens_mask for encoding in encodings]
    return columns
