"""Finds by trying how a model is called over paged caches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import torch
from transformers import PreTrainedModel

from polystate.errors import ExportError, UnsupportedError
from polystate.export.packing import packed, quantized
from polystate.recipes.architectures.encoder_decoder import EncoderDecoder, Form
from polystate.recipes.capacity import Capacity
from polystate.recipes.paged.attention import own_attention
from polystate.recipes.parity import Example, check_parity, check_quantized_parity, examples


def methods_of(
    model: PreTrainedModel, capacity: Capacity, quantization: str | None
) -> EncoderDecoder:
    """The model's methods, in the first form that computes what the model does.

    Those that compute in 8 bits keep keys and values in float16.

    Raises
    ------
    UnsupportedError
        When the model does not let its attention be replaced.
    ExportError
        When no form does, or 8 bits leave something else.
    """
    texts = examples(model, capacity)
    failures = []
    for selects_first, as_batch, skips in itertools.product(
        (True, False), (True, False), (False, True)
    ):
        form = Form(tokens_as_batch=as_batch, skips_padding=skips, selects_first=selects_first)
        try:
            with own_attention(model):
                methods = EncoderDecoder(model, capacity, form).eval()
                with packed(methods):
                    check_parity(methods, capacity, texts)
        except UnsupportedError:
            raise
        except Exception as error:  # model code may raise anything
            failures.append(f"{form}: {error}")
        else:
            if quantization is None:
                methods.clear()
                return methods
            capacity = replace(capacity, dtype=torch.float16)
            methods = EncoderDecoder(model, capacity, form).eval()
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
