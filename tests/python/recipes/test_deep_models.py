"""Models of many layers, of which the first ones stand for all while drawn values are tried."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import (
    DeepseekV3Config,
    DeepseekV3ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
)

from polystate.recipes.layer_kinds import first_of_each_kind, only_first
from polystate.recipes.pretrained import export_pretrained
from tests.python.recipes.causal_models import causal_model

SIZES = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}


def test_layers_of_one_kind_are_told_by_all_but_their_weights_and_numbers() -> None:
    llama = LlamaForCausalLM(LlamaConfig(**SIZES, num_hidden_layers=6))
    assert first_of_each_kind(llama) == 1
    pattern = (["sliding_attention"] * 3 + ["full_attention"]) * 2
    gemma = Gemma3TextConfig(
        **SIZES, num_hidden_layers=8, layer_types=pattern, pad_token_id=0, sliding_window=7
    )
    assert first_of_each_kind(Gemma3ForCausalLM(gemma)) == 4
    dense_first = DeepseekV3Config(
        **{**SIZES, "num_key_value_heads": 4},
        num_hidden_layers=5,
        first_k_dense_replace=2,
        n_routed_experts=4,
        n_group=2,
        topk_group=1,
        moe_intermediate_size=24,
        num_experts_per_tok=2,
        kv_lora_rank=8,
        q_lora_rank=12,
    )
    assert first_of_each_kind(DeepseekV3ForCausalLM(dense_first)) == 3
    llama.model.layers[4].mlp.act_fn = torch.nn.GELU()
    assert first_of_each_kind(llama) == 5
    llama.model.layers[2].self_attn.scaling = 0.5
    assert first_of_each_kind(llama) == 5
    llama.model.layers[5].self_attn.scaling = 0.5
    assert first_of_each_kind(llama) == 5


@pytest.mark.parametrize("name", ["llama-llama3", "gemma3", "gpt2"])
def test_a_model_is_as_it_was_after_its_first_layers_have_run_alone(name: str) -> None:
    model, ids = causal_model(name), torch.arange(3, 12)[None]
    with torch.no_grad():
        before = model(ids).logits
        with only_first(model, 1):
            assert not torch.equal(model(ids).logits, before)
        assert torch.equal(model(ids).logits, before)


def test_the_report_says_which_layers_were_run_with_drawn_values(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**{**SIZES, "vocab_size": 17_000}, num_hidden_layers=3))
    assert model.num_parameters() > 2**20
    program = export_pretrained(model, tmp_path / "artifact", max_batch=2, max_length=32)
    assert "drawn calls of the first 1 of 3 layers of seed 0" in program.report()
    assert program.verification is not None
    assert all(tally.agreed > 0 for tally in program.verification.tallies.values())
    assert len(program.methods["forward"].writes) == 6
    assert len(model.model.layers) == model.config.num_hidden_layers == 3
