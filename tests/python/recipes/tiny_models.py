"""Small random encoder-decoders of transformers, one of each way to add positions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)

import polystate as ps
from tests.support.exported_models import kept

VOCABULARY = 40
LONGEST = 24
ROWS = 12

# The fields of a small configuration of BART, and of its kin.
BART: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
    "init_std": 0.6,
}
MARIAN = BART | {
    "decoder_vocab_size": VOCABULARY,
    "bos_token_id": None,
    "eos_token_id": 0,
    "decoder_start_token_id": 1,
}
_T5: dict[str, Any] = {
    "d_model": 16,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 2,
    "d_kv": 8,
    "d_ff": 24,
    "vocab_size": VOCABULARY,
    "decoder_start_token_id": 0,
    "initializer_factor": 2.5,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
}

_MODELS: dict[str, Callable[[], PreTrainedModel]] = {
    "marian": lambda: MarianMTModel(MarianConfig(**MARIAN)),
    "bart": lambda: BartForConditionalGeneration(BartConfig(**BART)),
    "mbart": lambda: MBartForConditionalGeneration(MBartConfig(**BART)),
    "m2m100": lambda: M2M100ForConditionalGeneration(M2M100Config(**BART, forced_bos_token_id=7)),
    "pegasus": lambda: PegasusForConditionalGeneration(PegasusConfig(**BART)),
    "t5": lambda: T5ForConditionalGeneration(T5Config(**_T5)),
    "mt5": lambda: MT5ForConditionalGeneration(MT5Config(**_T5 | {"initializer_factor": 1.5})),
}

NAMES = tuple(_MODELS)


def tiny_model(name: str) -> PreTrainedModel:
    """The model of a name, with the same random weights each time."""
    torch.manual_seed(sum(name.encode()))
    return _MODELS[name]().eval()


def tiny_artifact(name: str, recipe: str) -> Path:
    """What the model of a name is exported to."""
    return kept(_export, name, recipe, backend=recipe) / "artifact"


def _export(out: Path, name: str, recipe: str) -> None:
    program = ps.export_pretrained(
        tiny_model(name), out / "artifact", recipe=recipe, max_length=LONGEST, max_batch=ROWS
    )
    (out / "report.txt").write_text(program.report())


def tiny_report(name: str, recipe: str) -> str:
    """What its export reported."""
    return (tiny_artifact(name, recipe).parent / "report.txt").read_text()
