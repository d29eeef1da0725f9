"""A translation model with random weights, for tests of all that lies around a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

import polystate as ps
from tests.support.exported_models import MODEL, kept

_TEXT_FILES = (
    "generation_config.json",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
)
_SMALLER = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "init_std": 0.6,
}


def toy_translation() -> Path:
    """The artifact of a model as models/en-fr-tatoeba, but of one layer, which learned nothing."""
    settings = [MODEL / "config.json", *(MODEL / name for name in _TEXT_FILES)]
    return kept(_export, backend="xnnpack", files=settings) / "toy"


def _export(out: Path) -> None:
    config = json.loads((MODEL / "config.json").read_text())
    torch.manual_seed(0)
    model = MarianMTModel(MarianConfig(**config | _SMALLER))
    model.save_pretrained(out / "model")
    for name in _TEXT_FILES:
        shutil.copy(MODEL / name, out / "model")
    ps.export_pretrained(out / "model", out / "toy")
