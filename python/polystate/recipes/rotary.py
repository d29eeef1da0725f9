"""Rotary embeddings whose frequencies depend on how long a text is."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from transformers import PreTrainedModel

from polystate.errors import UnsupportedError

# transformers' names of rotary embeddings that change as a text grows.
_LONG = "longrope"
_DYNAMIC = "dynamic"


@contextlib.contextmanager
def fixed_frequencies(model: PreTrainedModel, length: int) -> Iterator[None]:
    """Lets "longrope" compute every text as one of an artifact's whole length, for a block.

    transformers chooses between two sets of frequencies by the longest text of a batch, so that a
    token's result would depend on what is beside it, and what was cached before would be wrong once
    the text is long. A warning says from which length on the two differ.

    Raises
    ------
    UnsupportedError
        For embeddings that are computed anew at every length.
    """
    with contextlib.ExitStack() as stack:
        for module in model.modules():
            kinds = _kinds_of(module)
            if any(_DYNAMIC in str(kind) for kind in kinds.values()):
                raise UnsupportedError(
                    f"{type(model).__name__} has rotary embeddings of rope_type 'dynamic', which "
                    f"are computed anew as a text grows, so that cached keys become wrong; up to "
                    f"max_position_embeddings 'default' computes the same: set "
                    f"config.rope_parameters['rope_type'] before the model is made"
                )
            if _LONG in kinds.values():
                _warn_of_short_texts(module, length)
                stack.enter_context(_fixed(module, length))
        yield


def _kinds_of(module: Any) -> dict[str | None, Any]:
    """The kinds of a module's embeddings by the kind of layer; by None where all have one."""
    kinds = getattr(module, "rope_type", None)
    return kinds if isinstance(kinds, dict) else {None: kinds}


def _warn_of_short_texts(module: Any, length: int) -> None:
    """Says which texts transformers computes with other frequencies than those of a length."""
    parameters = module.config.rope_parameters
    for layer, kind in _kinds_of(module).items():
        of_layer = parameters if layer is None else parameters[layer]
        short = of_layer.get("original_max_position_embeddings", length)
        if kind == _LONG and short < length:
            warnings.warn(
                f"rope_type 'longrope': every text is computed with the frequencies of long ones, "
                f"also those of at most {short} tokens, which transformers computes with others; "
                f"for an artifact of short texts give max_length={short}",
                stacklevel=2,
            )


@contextlib.contextmanager
def _fixed(module: Any, length: int) -> Iterator[None]:
    """One module, with the frequencies of a text of a length."""
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    kinds = _kinds_of(module)
    for layer, kind in kinds.items():
        if kind == _LONG:
            of_layer = {} if layer is None else {"layer_type": layer}
            module(torch.zeros(1), torch.tensor([[length - 1]]), **of_layer)
    fixed = "default" if None in kinds else dict.fromkeys(kinds, "default")
    with mock.patch.object(module, "rope_type", fixed):
        try:
            yield
        finally:
            for name, buffer in module.named_buffers():
                buffer.copy_(before[name])
