"""Checkpoints of any float type, in several files, are read layer by layer, and dropped so."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from transformers import PreTrainedModel

import polystate as ps
from polystate.ops import groupwise
from polystate.ops.quantized import PackedWeights
from polystate.recipes.weights import consumed
from tests.python.recipes.causal_models import VOCABULARY, causal_model


def checkpoint(path: Path, dtype: torch.dtype) -> PreTrainedModel:
    """Writes a model in some type to several files; returns what transformers loads in float32."""
    model = causal_model("llama-llama3")
    model.to(dtype).save_pretrained(path, max_shard_size="20KB")
    assert len(list(path.glob("*.safetensors"))) > 1
    return type(model).from_pretrained(path, dtype=torch.float32)


class Storages:
    """What is alive of the memory that tensors of a type have now."""

    def __init__(self, dtype: torch.dtype) -> None:
        tensors = [each for each in gc.get_objects() if type(each) in (torch.Tensor, nn.Parameter)]
        storages = [each.untyped_storage() for each in tensors if each.dtype == dtype]
        unique = {each.data_ptr(): each for each in storages}.values()
        self._storages = [(StorageWeakRef(each), each.nbytes()) for each in unique]

    def alive(self) -> int:
        """Bytes."""
        return sum(size for storage, size in self._storages if not storage.expired())


def logits(artifact: Path, tokens: torch.Tensor) -> np.ndarray:
    """Of all positions of one sequence, read in one step."""
    session = ps.load(artifact).session()
    places = np.arange(len(tokens))
    table = np.arange(2)[None]
    given = (tokens.numpy(), places, np.zeros_like(places), table)
    found = [session.run("forward", *given, places[i : i + 1])[0] for i in places]
    return np.concatenate([np.asarray(each) for each in found])


def expected_logits(model: PreTrainedModel, tokens: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return model(tokens[None]).logits[0].numpy()


def test_weights_of_bfloat16_are_dropped_one_by_one_as_they_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = checkpoint(tmp_path / "model", torch.bfloat16)
    storages, alive, pack = list[Storages](), list[int](), groupwise.pack

    def recorded(weight: torch.Tensor) -> PackedWeights:
        assert weight.dtype == torch.bfloat16
        if not storages:
            storages.append(Storages(torch.bfloat16))
        alive.append(storages[0].alive())
        return pack(weight)

    monkeypatch.setattr(groupwise, "pack", recorded)
    out = tmp_path / "artifact"
    ps.export_pretrained(tmp_path / "model", out, recipe="xnnpack_q8", max_length=32, max_batch=1)
    linears = [each.weight for each in model.modules() if isinstance(each, nn.Linear)]
    sizes = [2 * weight.numel() for weight in linears]
    left = [sum(sizes[number:]) for number in range(len(sizes))]
    others = alive[0] - left[0]
    assert [each - others for each in alive] == left
    tokens = torch.arange(3, 23) % VOCABULARY
    found, expected = logits(out, tokens), expected_logits(model, tokens)
    assert np.linalg.norm(found - expected) < 0.2 * np.linalg.norm(expected)


def test_a_model_of_float16_computes_what_it_does_in_float32(tmp_path: Path) -> None:
    model = checkpoint(tmp_path / "model", torch.float16)
    ps.export_pretrained(tmp_path / "model", tmp_path / "artifact", max_length=32, max_batch=1)
    tokens = torch.arange(3, 23) % VOCABULARY
    expected = expected_logits(model, tokens)
    off = np.abs(logits(tmp_path / "artifact", tokens) - expected).max()
    assert off <= 1e-3 * np.abs(expected).max()


class _OfItsOwn(nn.Linear):
    """Reads its weight without asking ``nn.Linear``."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return input @ self.weight.T


def test_weights_that_are_read_by_something_else_are_converted() -> None:
    model = causal_model("llama-llama3")
    head = _OfItsOwn(model.lm_head.in_features, model.lm_head.out_features, bias=False)
    head.weight = model.lm_head.weight
    model.lm_head = head
    tokens = torch.arange(3, 9)
    expected = expected_logits(model.to(torch.bfloat16).float(), tokens)
    model.to(torch.bfloat16)
    with consumed(model):
        assert np.array_equal(expected_logits(model, tokens), expected)
