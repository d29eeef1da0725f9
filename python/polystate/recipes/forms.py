"""Finds by trying how a model is called over paged caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from transformers import PreTrainedModel

from polystate.errors import ExportError, UnsupportedError
from polystate.export.packing import packed, quantized
from polystate.recipes.architectures.decoder_only import DecoderOnly
from polystate.recipes.architectures.encoder_decoder import EncoderDecoder
from polystate.recipes.architectures.token_model import TokenModel
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


def methods_of(model: PreTrainedModel, capacity: Capacity, quantization: str | None) -> TokenModel:
    """The model's methods, in the first form that computes what the model does.

    Those that compute in 8 bits keep keys and values in float16.

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
    failures = []
    architecture = EncoderDecoder if model.config.is_encoder_decoder else DecoderOnly
    for form in architecture.forms:
        try:
            with own_attention(model):
                methods: TokenModel = architecture(model, capacity, form).eval()
                with packed(methods):
                    check_parity(methods, capacity, texts)
                    if capacity.max_length > 2:
                        check_positions(model, methods, capacity)
        except UnsupportedError:
            raise
        except Exception as error:  # model code may raise anything
            failures.append(f"{form}: {error}")
        else:
            if quantization is None:
                methods.clear()
                return methods
            capacity = replace(capacity, dtype=torch.float16)
            with own_attention(model):
                methods = architecture(model, capacity, form).eval()
            _check_quantized(methods, capacity, texts, quantization)
            return methods
    raise ExportError(
        f"{type(model).__name__} does not compute over paged caches what it computes without: "
        + "; ".join(failures)
    )


def _check_quantized(
    methods: TokenModel, capacity: Capacity, texts: Sequence[Example], quantization: str
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
