"""Exports models of many layers, which would take long to run with drawn values."""

from __future__ import annotations

from typing import Any

from polystate.export import Draws, Program, export
from polystate.recipes.architectures.decoder_only import DecoderOnly
from polystate.recipes.architectures.token_model import TokenModel
from polystate.recipes.capacity import Capacity
from polystate.recipes.layer_kinds import first_of_each_kind, only_first
from polystate.steps import begin

# Where a model has so many times the layers, exporting its first ones as well takes less time than
# all the calls of the whole.
_TIMES = 3
# Parameters of a model that runs in no time.
_SMALL = 2**20


def export_methods(methods: TokenModel, capacity: Capacity, **settings: Any) -> Program:
    """Exports the methods of a model.

    If the model is large and has several layers of each kind, its first layers, among which there
    is one of each kind, are exported before it. The drawn calls, and those at the corners of
    ranges, are of them; the whole is called at its examples.

    Parameters
    ----------
    settings
        Others of :func:`polystate.export`.
    """
    count = _enough_layers(methods)
    if count is None:
        return _exported(methods, capacity, **settings)
    of_all = methods.model.config.get_text_config().num_hidden_layers
    part = f"the first {count} of {of_all} layers"
    begin(f"exporting {part} to run them with drawn values")
    with only_first(methods.model, count):
        first = _exported(methods.again(), capacity, **settings)
    begin("exporting the whole model")
    whole = _exported(methods, capacity, draws=Draws(count=0), **settings)
    return whole.with_drawn_calls(first, part)


def _exported(methods: TokenModel, capacity: Capacity, **settings: Any) -> Program:
    entry_points, pages = methods.entry_points(capacity), methods.pages(capacity)
    return export(methods, entry_points, pages=pages, **settings)


def _enough_layers(methods: TokenModel) -> int | None:
    """How many of the first layers compute all that the model does; None: too many."""
    if not isinstance(methods, DecoderOnly) or methods.model.num_parameters() < _SMALL:
        return None
    count = first_of_each_kind(methods.model)
    if count is None or len(methods.layers) < _TIMES * count:
        return None
    with only_first(methods.model, count):
        layers = methods.again().layers
    is_beginning = layers == methods.layers[: len(layers)]
    kinds = [{layer.kind for layer in each} for each in (layers, methods.layers)]
    return count if is_beginning and kinds[0] == kinds[1] else None
