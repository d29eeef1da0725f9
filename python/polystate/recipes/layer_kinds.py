"""Layers of a model that differ in their weights alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

# What of a module may tell it from others of its class.
_SCALARS = (bool, int, float, str, tuple, type(None))


def first_of_each_kind(model: PreTrainedModel) -> int | None:
    """How many of the first layers have one of each kind among them; None: there are no layers."""
    layers = _layers(model)
    if not layers:
        return None
    features = [_features(layer) for layer in layers]
    own_numbers = list(range(len(features)))
    numbers = {name for name in features[0] if [each.get(name) for each in features] == own_numbers}
    kinds = [{name: each[name] for name in each if name not in numbers} for each in features]
    return 1 + max(kinds.index(kind) for kind in kinds)


@contextlib.contextmanager
def only_first(model: PreTrainedModel, count: int) -> Iterator[None]:
    """Leaves a model its first layers, for a block."""
    layers, config = _layers(model), model.config.get_text_config()
    assert layers is not None
    others, before = list(layers[count:]), config.num_hidden_layers
    del layers[count:]
    config.num_hidden_layers = count
    try:
        yield
    finally:
        config.num_hidden_layers = before
        layers.extend(others)


def _layers(model: PreTrainedModel) -> nn.ModuleList | None:
    count = model.config.get_text_config().num_hidden_layers
    lists = (part for part in model.modules() if isinstance(part, nn.ModuleList))
    return next((each for each in lists if len(each) == count), None)


def _features(layer: nn.Module) -> dict[str, Any]:
    """Types, shapes and scalar attributes of a layer's modules, by their names."""
    found: dict[str, Any] = {}
    for name, tensor in [*layer.named_parameters(), *layer.named_buffers()]:
        found[name] = tensor.shape, tensor.dtype
    for name, part in layer.named_modules():
        found[f"{name}()"] = type(part)
        scalars = {key: value for key, value in vars(part).items() if isinstance(value, _SCALARS)}
        found |= {f"{name}.{key}": value for key, value in scalars.items()}
    return found
