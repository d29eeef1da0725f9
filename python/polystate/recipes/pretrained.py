"""`export_pretrained`: from a model of transformers to an artifact that generates text."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim

from polystate.artifact import check_destination
from polystate.errors import ContractError, ExportError, UnsupportedError
from polystate.export import Method, Program, export
from polystate.export.packing import packed, quantized
from polystate.recipes.drawn_pages import drawn_by_method
from polystate.recipes.encoder_decoder import Capacity, EncoderDecoder
from polystate.recipes.hub import is_name_on_the_hub
from polystate.recipes.languages import Languages, language_token, with_languages
from polystate.recipes.paged_attention import own_attention
from polystate.recipes.parity import Example, check_parity, check_quantized_parity, examples
from polystate.recipes.positions import shortened_positions
from polystate.recipes.settings import DEFAULT_MAX_BATCH, DEFAULT_MAX_LENGTH, RECIPES, TASKS
from polystate.recipes.text_files import (
    are_of_tokenizer,
    generation_files,
    has_tokenizer,
    tokenizer_files,
)
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
    max_length: int | None = None,
    max_batch: int = DEFAULT_MAX_BATCH,
    tokenizer: PreTrainedTokenizerBase | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Program:
    """Exports an encoder-decoder model of transformers, with its tokenizer, and saves it.

    The artifact has the methods ``encode``, ``decode`` and ``copy_pages`` of
    :class:`EncoderDecoder`. That they compute what the model does is checked before it is saved.

    Parameters
    ----------
    source
        A model of transformers, a directory with one, or its name on the hub. Without the files of
        a tokenizer it gives an artifact that takes and gives ids.
    out
        The artifact's directory; an older artifact is replaced.
    task
        ``"translation"``, ``"summarization"`` or ``"text2text-generation"``; ``"auto"``:
        translation for models that are made for it, else text2text-generation.
    backend, quantization, target
        As for :func:`polystate.export`.
    recipe
        A name for both: ``"xnnpack"``, ``"xnnpack_q8"``, ``"portable"``, ``"aoti"`` or
        ``"aoti_q8"``.
    max_length
        The most tokens of a source, and of a target with its start token. Default: the
        ``max_length`` that the model generates by, at least 256, as far as its positions go.
    max_batch
        The most rows of one decoder step: sentences times beams.
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
        runtime has no equal tokenizer.
    ExportError
        When the exported methods do not compute what the model does.
    ContractError, ArtifactError, IoError
        As :func:`polystate.export` and ``Program.save``.
    """
    backend, quantization = _settings(recipe, backend, quantization)
    check_destination(Path(out))
    languages = Languages(source_language, target_language)
    begin("loading the model")
    model, tokenizer = _loaded(source, tokenizer, languages)
    capacity = _capacity(model, max_length, max_batch)
    files = generation_files(_generation_config(model, tokenizer, languages))
    if tokenizer is not None:
        begin("comparing the tokenizer with its library's")
        files |= tokenizer_files(tokenizer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(shortened_positions(model, capacity))
        begin("comparing the methods with the model")
        methods = _methods(model, capacity, quantization)
        stack.enter_context(own_attention(model))
        if quantization is None:  # what computes in 8 bits is packed by the export itself
            stack.enter_context(packed(methods))
        program = export(
            methods,
            _entry_points(methods, capacity),
            backend=backend,
            quantization=quantization,
            target=target,
            constants={
                "task": _task(task, model, tokenizer),
                "runner": "encoder_decoder",
                "architecture": type(model).__name__,
                "padding_id": methods.padding,
                "vocabulary_size": methods.vocabulary_size,
                "page_size": capacity.page_size,
                "pages": capacity.pages,
                "cross_pages": capacity.cross_pages,
                "max_batch": capacity.max_batch,
                "max_source_length": capacity.max_source_length,
                "max_length": capacity.max_length,
            },
        )
    program = program.with_files(files)
    begin("saving")
    program.save(out)
    return program


def _settings(
    recipe: str | None, backend: str | None, quantization: str | None
) -> tuple[str, str | None]:
    """The backend and the quantization, as they or a recipe say."""
    if recipe is None:
        return backend or "xnnpack", quantization
    if recipe not in RECIPES:
        raise ContractError(f"recipe is {recipe!r}; it may be {', '.join(map(repr, RECIPES))}")
    of_recipe = RECIPES[recipe]
    if (backend or of_recipe[0], quantization or of_recipe[1]) != of_recipe:
        raise ContractError(
            f"recipe {recipe!r} means backend {of_recipe[0]!r} and quantization {of_recipe[1]!r}; "
            f"leave out backend and quantization, or the recipe"
        )
    return of_recipe


def _loaded(
    source: str | os.PathLike[str] | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None,
    languages: Languages,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    from transformers import PreTrainedModel

    if isinstance(source, PreTrainedModel):
        model = source
    else:
        if not (Path(source).is_dir() or is_name_on_the_hub(source)):
            raise ExportError(
                f"cannot load {os.fspath(source)}: there is no such directory, and it is no name "
                f"that the hub is asked for (organization/model, where no 'organization' is here)"
            )
        try:
            model = _loaded_model(source)
            if tokenizer is None:
                tokenizer = _loaded_tokenizer(source)
        except (UnsupportedError, ContractError):
            raise
        except Exception as error:  # a damaged file may raise anything
            where = "" if Path(source).is_dir() else ", which is no directory here, from the hub"
            sentence = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ExportError(f"cannot load {os.fspath(source)}{where}: {sentence}") from error
    if not model.config.is_encoder_decoder:
        raise UnsupportedError(f"{type(model).__name__} is no encoder-decoder")
    if next(model.parameters()).dtype != torch.float32:
        raise ContractError(
            f"the model's weights are {next(model.parameters()).dtype}; export takes float32: "
            f"model.float()"
        )
    model.eval()  # type: ignore[no-untyped-call]
    return model, with_languages(tokenizer, languages)


def _loaded_model(source: str | os.PathLike[str]) -> PreTrainedModel:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    config = AutoConfig.from_pretrained(source)
    if not config.is_encoder_decoder:
        raise UnsupportedError(
            f"{os.fspath(source)} is a {config.model_type}, which is no encoder-decoder"
        )
    model: PreTrainedModel = AutoModelForSeq2SeqLM.from_pretrained(source, dtype=torch.float32)
    return model


def _loaded_tokenizer(source: str | os.PathLike[str]) -> PreTrainedTokenizerBase | None:
    """None where the model has no files of one."""
    from transformers import AutoTokenizer

    if _lacks_tokenizer(source):
        return None
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(source)
    return tokenizer


def _lacks_tokenizer(source: str | os.PathLike[str]) -> bool:
    """Whether a directory, or a name on the hub as far as it answers, has no files of one."""
    from huggingface_hub import list_repo_files

    if Path(source).is_dir():
        return not has_tokenizer(Path(source))
    try:
        return not are_of_tokenizer(list_repo_files(os.fspath(source)))
    except Exception:  # offline, or not allowed; what was fetched before may do
        return False


def _capacity(model: PreTrainedModel, max_length: int | None, max_batch: int) -> Capacity:
    positions: int | None = getattr(model.config, "max_position_embeddings", None)
    generated = model.generation_config.max_length or 0
    wanted = max(DEFAULT_MAX_LENGTH, generated) if max_length is None else max_length
    if max_length is None and positions is not None:
        wanted = min(wanted, positions)
    for name, value in (("max_length", wanted), ("max_batch", max_batch)):
        if not isinstance(value, int) or value < 1:
            raise ContractError(f"{name} is {value}; it must be an integer of 1 or more")
    if positions is not None and wanted > positions:
        raise ContractError(f"max_length is {wanted}, and the model has {positions} positions")
    return Capacity(max_batch, wanted, wanted)


def _methods(
    model: PreTrainedModel, capacity: Capacity, quantization: str | None
) -> EncoderDecoder:
    """The model's methods, in the first form that computes what the model does.

    Those that compute in 8 bits keep keys and values in float16.
    """
    texts = examples(model, capacity)
    failures = []
    for rows_as_batch, skips_padding in itertools.product((True, False), (False, True)):
        form = {"rows_as_batch": rows_as_batch, "skips_padding": skips_padding}
        try:
            with own_attention(model):
                methods = EncoderDecoder(model, capacity, **form).eval()
                with packed(methods):
                    check_parity(methods, capacity, texts)
        except UnsupportedError:
            raise
        except Exception as error:  # model code may raise anything
            rows = "a batch" if rows_as_batch else "one sequence"
            padding = "padding not counted" if skips_padding else "padding counted"
            failures.append(f"rows as {rows}, {padding}: {error}")
        else:
            if quantization is None:
                methods.clear()
                return methods
            capacity = replace(capacity, dtype=torch.float16)
            methods = EncoderDecoder(model, capacity, **form).eval()
            _check_quantized(methods, capacity, texts, quantization)
            return methods
    raise ExportError(
        f"{type(model).__name__} does not compute over paged caches what it computes without: "
        + "; ".join(failures)
    )


def _check_quantized(
    methods: EncoderDecoder, capacity: Capacity, texts: Sequence[Example], quantization: str
) -> None:
    """Refuses a model of which 8 bits leave something else."""
    try:
        with own_attention(methods.model), quantized(methods, quantization):
            check_quantized_parity(methods, capacity, texts)
    except ExportError as error:
        raise ExportError(
            f"quantization {quantization!r} does not suit {type(methods.model).__name__}: {error}"
        ) from error
    methods.clear()


def _entry_points(methods: EncoderDecoder, capacity: Capacity) -> dict[str, Method]:
    """The methods with their examples: two texts, of one page each."""
    batch, rows, copies = (_count(name, capacity.max_batch) for name in ("batch", "rows", "copies"))
    source = _size("source", capacity.max_source_length)
    cross_pages = _size("cross_pages", capacity.source_pages)
    pages = _size("pages", capacity.target_pages)
    count = min(2, capacity.max_batch)
    ids = torch.full((count, 1), 3)
    draws = drawn_by_method(capacity, methods.padding)
    ones, table = torch.ones(count, dtype=torch.int64), torch.arange(count)[:, None]
    counted = (0 * ones,) if methods.skips_padding else ()
    return {
        "encode": Method(
            "encode",
            (ids, ones, table),
            dynamic_shapes=({0: batch, 1: source}, {0: batch}, {0: batch, 1: cross_pages}),
            draw=draws["encode"],
        ),
        "decode": Method(
            "decode",
            (ids, 0 * ones, table, table, ones, *counted),
            dynamic_shapes=(
                {0: rows},
                {0: rows},
                {0: rows, 1: pages},
                {0: rows, 1: cross_pages},
                {0: rows},
                *({0: rows} for _ in counted),
            ),
            draw=draws["decode"],
        ),
        "copy_pages": Method(
            "copy_pages",
            (torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)),
            dynamic_shapes=({0: copies}, {0: copies}),
            draw=draws["copy_pages"],
        ),
    }


def _count(name: str, most: int) -> Dim | None:
    """As ``_size``. PyTorch takes what is 1 or 2 for 2: it gets a third, which no runner uses."""
    return _size(name, 3 if most == 2 else most)


def _size(name: str, most: int) -> Dim | None:
    """A size of at least 1; None, which is torch's for a fixed size, where it is at most 1."""
    return Dim(name, min=1, max=most) if most > 1 else None


def _generation_config(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, languages: Languages
) -> Any:
    """The model's, with the target language's token as the first one to generate."""
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


def _task(task: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    if task not in TASKS:
        raise ContractError(f"task is {task!r}; it may be {', '.join(map(repr, TASKS))}")
    return _task_of(model, tokenizer) if task == "auto" else task


def _task_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """What the model is for, as far as its own files say so."""
    if any(hasattr(tokenizer, name) for name in ("source_lang", "src_lang")):
        return "translation"
    tasks = getattr(model.config, "task_specific_params", None) or {}
    if len(tasks) == 1 and "summarization" in tasks:
        return "summarization"
    return "text2text-generation"
