"""The weights of models that are loaded for an export alone, which no one else uses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import torch
from torch import nn
from transformers import PreTrainedModel

from polystate.export.packing import as_stored
from polystate.recipes.parity import model_inputs


@contextlib.contextmanager
def loaded_as_stored() -> Iterator[None]:
    """Lets ``from_pretrained`` load the weights of linears in the type of the checkpoint.

    What else it loads gets the type that it is asked for.
    """

    def plan(model: PreTrainedModel, dtype: torch.dtype) -> dict[str, torch.dtype | None]:
        del dtype
        names = {
            f"{name}.weight" for name, part in model.named_modules() if isinstance(part, nn.Linear)
        }
        tied = getattr(model, "all_tied_weights_keys", None) or {}
        shared = {tied[name] for name in names if name in tied}
        return dict.fromkeys(sorted(names | shared))  # None: as it is

    with mock.patch.object(PreTrainedModel, "_get_dtype_plan", plan):
        yield


@contextlib.contextmanager
def consumed(model: PreTrainedModel) -> Iterator[None]:
    """Lets a model compute in float32, and what packs its weights drop the originals, for a block.

    Weights of linears stay in the type that they were loaded in until they are packed. A model that
    reads them otherwise than by calling linears, which is found by trying, is converted as a whole.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(as_stored(model))
        _convert(model)
        if not _is_finite(model):
            stack.close()
            _convert(model)
        yield


def _convert(model: PreTrainedModel) -> None:
    """Gives all parameters that are floats the type float32."""
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.data = parameter.data.float()


def _is_finite(model: PreTrainedModel) -> bool:
    """Whether a model gives numbers, for a few tokens."""
    tokens = torch.arange(3)
    source = tokens if model.config.is_encoder_decoder else tokens[:0]
    try:
        with torch.no_grad():
            logits = model(**model_inputs(source, tokens)).logits
    except Exception:  # model code may raise anything; what it cannot compute is refused later
        return False
    return bool(logits.isfinite().all())
