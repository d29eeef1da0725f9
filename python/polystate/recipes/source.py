"""Loads what is exported: a model of transformers with its tokenizer."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from polystate.errors import ContractError, Error, ExportError
from polystate.recipes.gguf import is_gguf, require_reader
from polystate.recipes.hub import is_name_on_the_hub
from polystate.recipes.languages import Languages, with_languages
from polystate.recipes.paths import is_directory, is_file
from polystate.recipes.sentences import first_sentence
from polystate.recipes.text_files import are_of_tokenizer, has_tokenizer
from polystate.recipes.weights import loaded_as_stored

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def loaded(
    source: str | os.PathLike[str] | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    languages: Languages,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    """A model, and its tokenizer for texts of the languages that are given.

    What is not in memory yet has weights of linears in the type of its files.

    Raises
    ------
    ExportError
        When the model cannot be loaded, generates no text, or has an attention of its own.
    ContractError
        When it is no model of transformers, or is in memory with weights not of float32, or
        elsewhere than on the CPU; as :func:`with_languages`.
    """
    from transformers import PreTrainedModel

    if isinstance(source, PreTrainedModel):
        model = source
        _check_weights(model)
    elif not isinstance(source, str | os.PathLike):
        _refuse_kind(source)
    else:
        if not (is_directory(source) or is_gguf(source) or is_name_on_the_hub(source)):
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
            is_here = is_directory(source) or is_file(source)
            where = "" if is_here else ", which is no directory here, from the hub"
            raise ExportError(
                f"cannot load {os.fspath(source)}{where}: {first_sentence(error)}"
            ) from error
    return model, with_languages(tokenizer, languages)


def _check_weights(model: PreTrainedModel) -> None:
    """Refuses weights that are not of float32, or not on the CPU."""
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        if tensor.device.type != "cpu":
            raise ContractError(
                f"the model's '{name}' is on {tensor.device}; export takes models on the CPU: "
                f"model.cpu()"
            )
    for name, parameter in model.named_parameters():
        if parameter.is_floating_point() and parameter.dtype != torch.float32:
            raise ContractError(
                f"the model's '{name}' is {parameter.dtype}; export takes float32: model.float(), "
                f"or the path of a checkpoint, which may be of any type"
            )


# What wraps a model has it under one of these names.
_WRAPPED = {
    "_orig_mod": "model._orig_mod",
    "merge_and_unload": "model.merge_and_unload()",
    "module": "model.module",
}


def _refuse_kind(source: object) -> NoReturn:
    """Refuses what is neither a model of transformers nor a path or a name."""
    what = f"source is a {type(source).__name__}"
    if not isinstance(source, torch.nn.Module):
        raise ContractError(f"{what}; a model of transformers, its path or its name is needed")
    for name, model in _WRAPPED.items():
        if hasattr(source, name):
            raise ContractError(f"{what} around a model of transformers: give {model}")
    raise ContractError(
        f"{what}, which is no model of transformers: polystate.export takes it, with methods of "
        f"your own"
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
    if is_directory(source):
        return not has_tokenizer(Path(source))
    try:
        return not are_of_tokenizer(list_repo_files(os.fspath(source)))
    except Exception:  # offline, or not allowed; what was fetched before may do
        return False
