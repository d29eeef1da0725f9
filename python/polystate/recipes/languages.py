"""The languages of a model that translates between several, which its tokenizer names."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polystate.errors import ContractError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Languages:
    """What a model translates from and to; None: what its tokenizer says."""

    source: str | None = None
    target: str | None = None


def with_languages(
    tokenizer: PreTrainedTokenizerBase | None, languages: Languages
) -> PreTrainedTokenizerBase | None:
    """The tokenizer, or a copy of it for texts of the languages that are given.

    Raises
    ------
    ContractError
        A language is given, and the tokenizer does not know it, has no choice of languages, or is
        not there.
    """
    given = {"source_language": languages.source, "target_language": languages.target}
    given = {name: language for name, language in given.items() if language is not None}
    if not given:
        return tokenizer
    name, language = next(iter(given.items()))
    if tokenizer is None:
        raise ContractError(f"{name} needs a tokenizer")
    if not hasattr(type(tokenizer), "src_lang"):
        raise ContractError(
            f"{name} is {language!r}, and {type(tokenizer).__name__} has no choice of languages: "
            f"leave it out"
        )
    return _copy(tokenizer, languages)


def _copy(tokenizer: Any, languages: Languages) -> PreTrainedTokenizerBase:
    own = copy.deepcopy(tokenizer)
    if languages.source is not None:
        try:
            own.src_lang = languages.source
        except KeyError:
            token = None
        else:
            token = language_token(own, own.src_lang)
        if token is None or token == own.unk_token_id:
            raise ContractError(
                f"source_language is {languages.source!r}, which the tokenizer does not know"
            )
    if languages.target is not None:
        own.tgt_lang = languages.target
    chosen: PreTrainedTokenizerBase = own
    return chosen


def language_token(tokenizer: PreTrainedTokenizerBase, language: str) -> int | None:
    """The id of a language's token, which some tokenizers write in another way than its name."""
    if hasattr(tokenizer, "get_lang_id"):
        try:
            found: int = tokenizer.get_lang_id(language)
        except KeyError:
            return None
        return found
    token = tokenizer.convert_tokens_to_ids(language)
    return token if isinstance(token, int) else None


def config_for_languages(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, languages: Languages
) -> Any:
    """The model's generation config, with the target language's token as the first to generate.

    Raises
    ------
    ContractError
        The target language is no token.
    """
    config = model.generation_config
    if languages.target is None:
        return config
    assert tokenizer is not None  # or with_languages refused it
    token = language_token(tokenizer, languages.target)
    if token is None or token == tokenizer.unk_token_id:
        raise ContractError(f"target_language is {languages.target!r}, which is no token")
    chosen = type(config).from_dict(config.to_dict())
    chosen.forced_bos_token_id = token
    return chosen
