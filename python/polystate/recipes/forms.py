"""Finds by trying how a model is called over paged caches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from transformers import PreTrainedModel

from polystate.errors import ExportError, UnsupportedError
from polystate.export.packing import packed, quantized
from polystate.recipes.architectures.decoder_only import DecoderOnly
from polystate.recipes.architectures.encoder_decoder import EncoderDecoder
from polystate.recipes.architectures.token_model import Form, TokenModel
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.attention import own_attention
from polystate.recipes.paged.layers import check_caches
from polystate.recipes.parity import (
    Example,
    check_parity,
    check_positions,
    check_quantized_parity,
    examples,
)
from polystate.recipes.sentences import first_sentence


@contextlib.contextmanager
def packed_methods(
    model: PreTrainedModel, capacity: Capacity, quantization: str | None
) -> Iterator[TokenModel]:
    """The model's methods, in the first form that computes what the model does, for a block.

    Their linears read packed weights. Those that compute in 8 bits keep keys and values in float16.

    Raises
    ------
    UnsupportedError
        When the model does not let its attention be replaced.
    ExportError
        When no form does, or 8 bits leave something else.
    """
    if not model.config.is_encoder_decoder:
        check_caches(model)
    texts = examples(model, capacity)
    form = _suitable_form(model, capacity, texts)
    if quantization is not None:
        capacity = replace(capacity, dtype=torch.float16)
    with own_attention(model):
        methods: TokenModel = _architecture(model)(model, capacity, form).eval()
        if quantization is None:
            with packed(methods):
                yield methods
        else:
            with quantized(methods, quantization):
                _check_quantized(methods, capacity, texts, quantization)
                yield methods


def _architecture(model: PreTrainedModel) -> type[EncoderDecoder] | type[DecoderOnly]:
    return EncoderDecoder if model.config.is_encoder_decoder else DecoderOnly


def _suitable_form(model: PreTrainedModel, capacity: Capacity, texts: Sequence[Example]) -> Form:
    """The first form in which the methods compute what the model does in float32."""
    failures = []
    for form in _architecture(model).forms:
        try:
            with own_attention(model):
                methods: TokenModel = _architecture(model)(model, capacity, form).eval()
                with packed(methods, takes_stored=False):
                    check_parity(methods, capacity, texts)
                    if capacity.max_length > 2:
                        check_positions(model, methods, capacity)
        except UnsupportedError:
            raise
        except Exception as error:  # model code may raise anything
            failures.append(first_sentence(error))
        else:
            return form
    raise ExportError(
        f"{type(model).__name__} does not compute over paged caches what it computes without: "
        + "; ".join(dict.fromkeys(failures))
    )


def _check_quantized(
    methods: TokenModel, capacity: Capacity, texts: Sequence[Example], quantization: str
) -> None:
    """Refuses a model of which 8 bits leave something else."""
    try:
        check_quantized_parity(methods, capacity, texts)
    except ExportError as error:
        raise ExportError(
            f"quantization {quantization!r} does not suit {type(methods.model).__name__}: {error}"
        ) from error
    methods.clear()
