"""Loads what is exported: a model of transformers with its tokenizer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from polystate.errors import ContractError, Error, ExportError
from polystate.recipes.gguf import is_gguf, require_reader
from polystate.recipes.hub import is_name_on_the_hub
from polystate.recipes.languages import Languages, with_languages
from polystate.recipes.text_files import are_of_tokenizer, has_tokenizer
from polystate.recipes.weights import loaded_as_stored

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def loaded(
    source: str | os.PathLike[str] | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    languages: Languages,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    """A model, in ``eval`` mode, and its tokenizer for texts of the languages that are given.

    What is not in memory yet has weights of linears in the type of its files.

    Raises
    ------
    ExportError
        When the model cannot be loaded, generates no text, or has an attention of its own.
    ContractError
        When it is in memory with weights not of float32; as :func:`with_languages`.
    """
    from transformers import PreTrainedModel

    if isinstance(source, PreTrainedModel):
        model = source
        _check_weights(model)
    else:
        if not (Path(source).is_dir() or is_gguf(source) or is_name_on_the_hub(source)):
            raise ExportError(
                f"cannot load {os.fspath(source)}: there is no such directory or GGUF file, and it "
                f"is no name that the hub is asked for (organization/model, where no "
                f"'organization' is here)"
            )
        if is_gguf(source):
            require_reader()
        try:
            model = _loaded_model(source)
            if tokenizer is None:
                tokenizer = _loaded_tokenizer(source)
        except Error:
            raise
        except Exception as error:  # a damaged file may raise anything
            where = "" if Path(source).exists() else ", which is no directory here, from the hub"
            sentence = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ExportError(f"cannot load {os.fspath(source)}{where}: {sentence}") from error
    model.eval()  # type: ignore[no-untyped-call]
    return model, with_languages(tokenizer, languages)


def _check_weights(model: PreTrainedModel) -> None:
    dtype = next(model.parameters()).dtype
    if dtype != torch.float32:
        raise ContractError(
            f"the model's weights are {dtype}; export takes float32: model.float(), or the path of "
            f"a checkpoint, which may be of any type"
        )


def _loaded_model(source: str | os.PathLike[str]) -> PreTrainedModel:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    place = _place(source)
    config = AutoConfig.from_pretrained(**place)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    if type(config) not in kind._model_mapping:
        raise ExportError(
            f"{os.fspath(source)} is a {config.model_type}, which generates no text: transformers "
            f"has no {kind.__name__} for it"
        )
    _refuse_own_attention(source, kind._model_mapping[type(config)])
    with loaded_as_stored():
        model: PreTrainedModel = kind.from_pretrained(**place, dtype=torch.float32)
    return model


def _refuse_own_attention(source: str | os.PathLike[str], classes: Any) -> None:
    """Refuses a model whose attention cannot be replaced before its weights are read.

    Parameters
    ----------
    classes
        The model's class, or several of which one is taken.
    """
    known = classes if isinstance(classes, tuple | list) else (classes,)
    if not any(each._can_set_attn_implementation() for each in known):
        raise ExportError(
            f"{os.fspath(source)}: {known[0].__name__} does not compute attention through "
            f"transformers' interface, by which an export puts its caches in the place of the "
            f"model's; polystate.export takes methods of your own over it"
        )


def _loaded_tokenizer(source: str | os.PathLike[str]) -> PreTrainedTokenizerBase | None:
    """None where the model has no files of one."""
    from transformers import AutoTokenizer

    if _lacks_tokenizer(source):
        return None
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(**_place(source))
    return tokenizer


def _place(source: str | os.PathLike[str]) -> dict[str, str]:
    """The arguments of ``from_pretrained`` that say where something is."""
    name = "pretrained_model_name_or_path"
    if not is_gguf(source):
        return {name: os.fspath(source)}
    return {name: str(Path(source).resolve().parent), "gguf_file": Path(source).name}


def _lacks_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Whether a directory, or a name on the hub as far as it answers, has no files of one."""
    from huggingface_hub import list_repo_files

    if is_gguf(source):
        return False
    if Path(source).is_dir():
        return not has_tokenizer(Path(source))
    try:
        return not are_of_tokenizer(list_repo_files(os.fspath(source)))
    except Exception:  # offline, or not allowed; what was fetched before may do
        return False
