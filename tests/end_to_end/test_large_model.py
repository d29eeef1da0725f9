"""A model of a billion parameters is exported in bounded memory and time."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig

from tests.support.process_memory import peak_memory

# Llama-3.2-1B: 1.236 G parameters.
SHAPE = LlamaConfig(
    architectures=["LlamaForCausalLM"],
    vocab_size=128256,
    hidden_size=2048,
    intermediate_size=8192,
    num_hidden_layers=16,
    num_attention_heads=32,
    num_key_value_heads=8,
    head_dim=64,
    max_position_embeddings=131072,
    tie_word_embeddings=True,
    rope_parameters={
        "rope_type": "llama3",
        "rope_theta": 500000.0,
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    dtype="bfloat16",
)
BYTES = 8e9
SECONDS = 600  # on two cores that have nothing else to do


def write_checkpoint(path: Path, config: LlamaConfig) -> None:
    """Random weights in bfloat16, a file for each layer and one for what is around them."""
    path.mkdir()
    config.save_pretrained(path)
    places: dict[str, str] = {}
    for number in range(-1, config.num_hidden_layers):
        weights = _layer(config, number) if number >= 0 else _around(config)
        file = f"model-{number + 2:05d}-of-{config.num_hidden_layers + 1:05d}.safetensors"
        save_file(weights, path / file, {"format": "pt"})
        places |= dict.fromkeys(weights, file)
    index = {"metadata": {}, "weight_map": places}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def _around(config: LlamaConfig) -> dict[str, torch.Tensor]:
    return {
        "model.embed_tokens.weight": _weight(config.vocab_size, config.hidden_size),
        "model.norm.weight": _norm(config.hidden_size),
    }


def _layer(config: LlamaConfig, number: int) -> dict[str, torch.Tensor]:
    width, inner = config.hidden_size, config.intermediate_size
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    weights = {
        "self_attn.q_proj": _weight(queries, width),
        "self_attn.k_proj": _weight(keys, width),
        "self_attn.v_proj": _weight(keys, width),
        "self_attn.o_proj": _weight(width, queries),
        "mlp.gate_proj": _weight(inner, width),
        "mlp.up_proj": _weight(inner, width),
        "mlp.down_proj": _weight(width, inner),
        "input_layernorm": _norm(width),
        "post_attention_layernorm": _norm(width),
    }
    return {f"model.layers.{number}.{name}.weight": value for name, value in weights.items()}


def _weight(rows: int, columns: int) -> torch.Tensor:
    return torch.empty(rows, columns, dtype=torch.bfloat16).normal_(0, 0.02)


def _norm(width: int) -> torch.Tensor:
    return torch.empty(width, dtype=torch.bfloat16).uniform_(0.7, 1.3)


@pytest.mark.exhaustive
def test_a_billion_parameters_are_exported_in_eight_gigabytes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    write_checkpoint(tmp_path / "model", SHAPE)
    began = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "polystate.cli.export",
        tmp_path / "model",
        tmp_path / "artifact",
    ]
    status, peak = peak_memory([*command, "--recipe", "xnnpack_q8"])
    seconds = time.monotonic() - began
    assert status == 0
    assert peak <= BYTES, f"{peak / 1e9:.2f} GB"
    assert seconds <= SECONDS, f"{seconds:.0f} s"
