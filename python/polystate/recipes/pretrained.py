"""`export_pretrained`: from a model of transformers to an artifact that generates text."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from polystate.artifact import check_destination
from polystate.errors import ContractError, Error, ExportError
from polystate.export import Program
from polystate.export.arguments import BACKENDS
from polystate.recipes.capacity import capacity_of
from polystate.recipes.deep_models import export_methods
from polystate.recipes.forms import packed_methods
from polystate.recipes.gguf import is_gguf, warn_of_requantization
from polystate.recipes.languages import Languages, config_for_languages
from polystate.recipes.modules import evaluated, experts, linears
from polystate.recipes.positions import shortened_positions
from polystate.recipes.rotary import fixed_frequencies
from polystate.recipes.sentences import first_sentence
from polystate.recipes.settings import CAUSAL_Q8, QUANTIZATIONS, RECIPES
from polystate.recipes.source import loaded
from polystate.recipes.tasks import check_task, task_named
from polystate.recipes.text_files import generation_files, tokenizer_files
from polystate.recipes.weights import consumed
from polystate.steps import begin

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def export_pretrained(
    source: str | os.PathLike[str] | PreTrainedModel,
    out: str | os.PathLike[str],
    *,
    task: str = "auto",
    backend: str | None = None,
    quantization: str | None = None,
    recipe: str | None = None,
    target: str | None = None,
    profile: bool = False,
    max_length: int | None = None,
    max_batch: int | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Program:
    """Exports a model of transformers that generates text, with its tokenizer, and saves it.

    The artifact has the methods of :class:`EncoderDecoder` or, for models without an encoder, of
    :class:`DecoderOnly`. That they compute what the model does is checked before it is saved.

    Parameters
    ----------
    source
        A model of transformers, a directory with one, a GGUF file, or a name on the hub. Without
        the files of a tokenizer it gives an artifact that takes and gives ids.
    out
        The artifact's directory; an older artifact is replaced.
    task
        ``"translation"``, ``"summarization"`` or ``"text2text-generation"``; for models without an
        encoder ``"text-generation"``. ``"auto"``: the last for those, translation for models that
        are made for it, else text2text-generation.
    backend, quantization, target, profile
        As for :func:`polystate.export`.
    recipe
        A name for a backend with a quantization, in the place of both: ``"xnnpack"``,
        ``"xnnpack_q8"``, ``"portable"``, ``"aoti"`` or ``"aoti_q8"``. The 8 bits are ``"q8"`` of
        models with an encoder, else ``"q8_0"``.
    max_length
        The most tokens of a source, and of a target with its start token, or of a prompt with
        what follows. Default: the ``max_length`` that the model generates by, at least 256 (2048
        without an encoder), as far as its positions go.
    max_batch
        The most sequences of one step: texts times beams. Default: 64 (16 without an encoder).
    tokenizer
        For a model in memory. Without one the artifact takes and gives ids.
    source_language, target_language
        For models of many languages, by the tokenizer's names (``"eng_Latn"``, ``"en_XX"``,
        ``"en"``). Refused where the tokenizer has no choice.

    Returns
    -------
    Program
        What was saved.

    Raises
    ------
    UnsupportedError
        When the model does not compute its attention through transformers' interface, or the
        runtime has no equal tokenizer, or cannot generate as the model's configuration says.
    ExportError
        When the exported methods do not compute what the model does.
    ContractError, ArtifactError, IoError
        As :func:`polystate.export` and ``Program.save``.
    """
    backend, quantization = _settings(recipe, backend, quantization)
    _check_target(backend, target)
    check_task(task)
    check_destination(Path(out))
    languages = Languages(source_language, target_language)
    begin("loading the model")
    model, tokenizer = loaded(source, tokenizer, languages)
    task = task_named(task, model, tokenizer)
    if recipe is not None and quantization == "q8" and not model.config.is_encoder_decoder:
        quantization = CAUSAL_Q8
    if not isinstance(source, torch.nn.Module) and is_gguf(source):
        warn_of_requantization(Path(source), quantization)
    with _refused_in_a_sentence(model):
        capacity = capacity_of(model, max_length, max_batch)
        files = generation_files(config_for_languages(model, tokenizer, languages))
    if tokenizer is not None:
        begin("comparing the tokenizer with its library's")
        files |= tokenizer_files(tokenizer)
    with contextlib.ExitStack() as stack:
        with _refused_in_a_sentence(model):
            stack.enter_context(evaluated(model))
            stack.enter_context(fixed_frequencies(model, capacity.max_length))
            stack.enter_context(linears(model))
            stack.enter_context(experts(model))
            if not isinstance(source, torch.nn.Module):  # nobody else has the model
                stack.enter_context(consumed(model))
            stack.enter_context(shortened_positions(model, capacity))
            begin("comparing the methods with the model")
            methods = stack.enter_context(packed_methods(model, capacity, quantization))
        program = export_methods(
            methods,
            capacity,
            backend=backend,
            quantization=quantization,
            target=target,
            profile=profile,
            constants={
                "task": task,
                "architecture": type(model).__name__,
                **methods.constants(capacity),
            },
        )
    program = program.with_files(files)
    begin("saving")
    program.save(out)
    return program


@contextlib.contextmanager
def _refused_in_a_sentence(model: PreTrainedModel) -> Iterator[None]:
    """Refuses a model that lacks what an export asks models of transformers for."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # model code may raise anything
        raise ExportError(
            f"{type(model).__name__} lacks what an export asks of models of transformers, and can "
            f"be exported with polystate.export and methods of your own alone: "
            f"{first_sentence(error)}"
        ) from error


def _settings(
    recipe: str | None, backend: str | None, quantization: str | None
) -> tuple[str, str | None]:
    """The backend and the quantization, as they or a recipe say; ContractError for other names."""
    if recipe is not None:
        if recipe not in tuple(RECIPES):
            raise ContractError(f"recipe is {recipe!r}; it may be {', '.join(map(repr, RECIPES))}")
        if (backend, quantization) != (None, None):
            raise ContractError(
                f"recipe {recipe!r} stands for a backend and a quantization: leave these out, or "
                f"the recipe"
            )
        return RECIPES[recipe]
    backend = "xnnpack" if backend is None else backend
    if backend not in BACKENDS:
        raise ContractError(f"backend is {backend!r}; it may be {' or '.join(map(repr, BACKENDS))}")
    if quantization not in (None, *QUANTIZATIONS):
        names = " or ".join(map(repr, QUANTIZATIONS))
        raise ContractError(f"quantization is {quantization!r}; it may be None, {names}")
    return backend, quantization


def _check_target(backend: str, target: str | None) -> None:
    """ContractError for processors that the backend, or its compiler, has no code for."""
    if target is None:
        return
    if backend != "aoti":
        raise ContractError(
            f"target is {target!r}; backend {backend!r} has no code that is for a processor"
        )
    from polystate.export.lowering.processor import processor_named  # takes inductor along

    processor_named(target)
