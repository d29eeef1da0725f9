"""Models with 8-bit weights for OpenVINO, whose keys and values are its states."""

from __future__ import annotations

from pathlib import Path

import nncf
import openvino as ov
import torch
from openvino._offline_transformations import apply_make_stateful_transformation
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer


class _WithCaches(torch.nn.Module):
    """A model that takes keys and values of tokens before, and gives them with its own tokens'."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, ids: torch.Tensor, positions: torch.Tensor, rows: torch.Tensor, *caches: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        cache = DynamicCache()
        for keys, values in zip(caches[::2], caches[1::2], strict=True):
            layer = DynamicLayer()
            layer.lazy_initialization(keys, values)
            # OpenVINO computes attention over its states where their rows are chosen like this.
            layer.keys = keys.index_select(0, rows)
            layer.values = values.index_select(0, rows)
            cache.layers.append(layer)
        places = torch.arange(caches[0].shape[2] + ids.shape[1])[None, None, None]
        distance = positions[:, None, :, None] - places
        mask = distance >= 0
        window = getattr(self.model.config, "sliding_window", None)
        if window is not None:
            mask = {"full_attention": mask, "sliding_attention": mask & (distance < window)}
        logits = self.model(
            input_ids=ids,
            position_ids=positions,
            past_key_values=cache,
            attention_mask=mask,
            logits_to_keep=1,
        ).logits
        after = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return logits, *after


def convert(model: PreTrainedModel, path: Path) -> None:
    """Writes a program with the inputs `ids`, `positions`, `rows`, and the last token's logits."""
    config = model.config
    shape = (1, config.num_key_value_heads, 3, config.head_dim)
    names = [
        f"{kind}.{layer}" for layer in range(config.num_hidden_layers) for kind in ("key", "value")
    ]
    caches = [torch.randn(shape) for _ in names]
    rows = torch.zeros(1, dtype=torch.long)
    example = (torch.ones(1, 2, dtype=torch.long), torch.tensor([[3, 4]]), rows, *caches)
    with torch.no_grad():
        program = ov.convert_model(_WithCaches(model.eval()), example_input=example)
    tokens = ov.PartialShape([1, -1])
    shapes = {0: tokens, 1: tokens, 2: ov.PartialShape([1])}
    for number, name in enumerate(names, 3):
        shapes[number] = ov.PartialShape([1, shape[1], -1, shape[3]])
        program.inputs[number].set_names({f"past.{name}"})
        program.outputs[number - 2].set_names({f"present.{name}"})
    program.inputs[0].set_names({"ids"})
    program.inputs[1].set_names({"positions"})
    program.inputs[2].set_names({"rows"})
    program.reshape({program.inputs[number]: each for number, each in shapes.items()})
    states = {f"past.{name}": f"present.{name}" for name in names}
    apply_make_stateful_transformation(program, states)
    ov.save_model(nncf.compress_weights(program, mode=nncf.CompressWeightsMode.INT8_SYM), path)
