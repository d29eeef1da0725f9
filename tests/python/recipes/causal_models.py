"""Small random causal language models of transformers, of many architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel

import polystate as ps
from tests.support.exported_models import kept

VOCABULARY = 61
LONGEST = 48
ROWS = 4
WINDOW = 7

# The fields of a small configuration of Llama, and of its kin.
LLAMA: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_WINDOWED = {"sliding_window": WINDOW}
_EXPERTS = {"moe_intermediate_size": 24, "num_experts_per_tok": 2, "decoder_sparse_step": 1}
_LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 8,
    "q_lora_rank": 12,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 12,
    "n_routed_experts": 4,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 24,
    "num_experts_per_tok": 2,
}


def _rope(kind: str, **fields: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 1e4, **fields}}


_OLD = {"original_max_position_embeddings": 16}
_LONG = _rope("longrope", **_OLD, short_factor=[1.0, 1.1, 1.2, 1.3], long_factor=[2.0, 2.5, 3, 4])
_OPT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "ffn_dim": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "word_embed_proj_dim": 32,
    "pad_token_id": 1,
}
_GPT2 = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
_GEMMA_3N = {
    "intermediate_size": [48] * 4,
    "num_kv_shared_layers": 2,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
    "altup_num_inputs": 2,
    "laurel_rank": 4,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "activation_sparsity_pattern": [0.0] * 4,
}

# By a name: the class's name before "ForCausalLM" or "LMHeadModel", and the configuration's fields.
_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", LLAMA),
    "llama-biases": ("Llama", LLAMA | {"attention_bias": True, "mlp_bias": True}),
    "llama-linear": ("Llama", LLAMA | _rope("linear", factor=2.0)),
    "llama-llama3": (
        "Llama",
        LLAMA | _rope("llama3", **_OLD, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0),
    ),
    "llama-yarn": ("Llama", LLAMA | _rope("yarn", **_OLD, factor=4.0)),
    "mistral": ("Mistral", LLAMA | _WINDOWED),
    "ministral": ("Ministral", LLAMA | _WINDOWED),
    "qwen2": ("Qwen2", LLAMA),
    "qwen2-window": (
        "Qwen2",
        LLAMA | _WINDOWED | {"use_sliding_window": True, "max_window_layers": 2},
    ),
    "qwen3": ("Qwen3", LLAMA),
    "gemma": ("Gemma", LLAMA),
    "gemma2": ("Gemma2", LLAMA | _WINDOWED),
    "gemma3": ("Gemma3", LLAMA | _WINDOWED | {"sliding_window_pattern": 2}),
    "gemma3n": ("Gemma3n", LLAMA | _WINDOWED | _GEMMA_3N),
    "phi": ("Phi", LLAMA),
    "phi3": ("Phi3", LLAMA),
    "phi3-longrope": ("Phi3", LLAMA | _OLD | _LONG),
    "smollm3": ("SmolLM3", LLAMA),
    "olmo": ("Olmo", LLAMA),
    "olmo2": ("Olmo2", LLAMA),
    "olmo3": ("Olmo3", LLAMA | _WINDOWED),
    "gpt2": ("GPT2", _GPT2),
    "gpt_neox": ("GPTNeoX", LLAMA),
    "gpt_bigcode": ("GPTBigCode", _GPT2),
    "stablelm": ("StableLm", LLAMA),
    "starcoder2": ("Starcoder2", LLAMA | _WINDOWED),
    "granite": ("Granite", LLAMA | {"attention_multiplier": 0.3, "logits_scaling": 2.0}),
    "cohere": ("Cohere", LLAMA),
    "cohere2": ("Cohere2", LLAMA | _WINDOWED),
    "glm": ("Glm", LLAMA),
    "glm4": ("Glm4", LLAMA),
    "helium": ("Helium", LLAMA),
    "nemotron": ("Nemotron", LLAMA),
    "exaone4": ("Exaone4", LLAMA | _WINDOWED),
    "opt": ("OPT", _OPT),
    "biogpt": ("BioGpt", {**_OPT, "intermediate_size": 48}),
    "mixtral": ("Mixtral", LLAMA | {"num_local_experts": 4}),
    "qwen2_moe": (
        "Qwen2Moe",
        LLAMA | _EXPERTS | {"num_experts": 4, "shared_expert_intermediate_size": 24},
    ),
    "qwen3_moe": ("Qwen3Moe", LLAMA | _EXPERTS | {"num_experts": 4}),
    "granitemoe": ("GraniteMoe", LLAMA | {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "gpt_oss": (
        "GptOss",
        LLAMA
        | _WINDOWED
        | {"num_local_experts": 4, "num_experts_per_tok": 2}
        | _rope("yarn", **_OLD, factor=4.0),
    ),
    "deepseek_v2": ("DeepseekV2", LLAMA | _LATENT),
    "deepseek_v3": ("DeepseekV3", LLAMA | _LATENT),
}

NAMES = tuple(_MODELS)
# Those that have windows in some of their layers.
WINDOWED = {name for name, (_, fields) in _MODELS.items() if "sliding_window" in fields}


def causal_model(name: str, **others: Any) -> PreTrainedModel:
    """The model of a name, with the same random weights each time.

    Parameters
    ----------
    others
        Fields of its configuration in the place of its own.
    """
    prefix, fields = _MODELS[name]
    fields = fields | others
    config = getattr(transformers, _config_name(prefix))(**fields)
    kind = getattr(transformers, f"{prefix}ForCausalLM", None)
    kind = kind or getattr(transformers, f"{prefix}LMHeadModel")
    torch.manual_seed(sum(name.encode()))
    model: PreTrainedModel = kind(config).eval()
    _randomize(model)
    return model


def _config_name(prefix: str) -> str:
    """Of models that are a part of others, that of the text's."""
    text = f"{prefix}TextConfig"
    return text if hasattr(transformers, text) else f"{prefix}Config"


def _randomize(model: PreTrainedModel) -> None:
    """Weights of norms, too, whose ones hide faults."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.2)
            elif name.endswith("bias"):
                parameter.uniform_(-0.2, 0.2)
            else:
                parameter.uniform_(0.7, 1.3)


def causal_artifact(
    name: str, recipe: str, *, max_length: int = LONGEST, max_batch: int = ROWS
) -> Path:
    """What the model of a name is exported to."""
    return kept(_export, name, recipe, max_length, max_batch, backend=recipe) / "artifact"


def _export(out: Path, name: str, recipe: str, max_length: int, max_batch: int) -> None:
    program = ps.export_pretrained(
        causal_model(name),
        out / "artifact",
        recipe=recipe,
        max_length=max_length,
        max_batch=max_batch,
    )
    (out / "report.txt").write_text(program.report())


def causal_report(name: str, recipe: str) -> str:
    """What its export reported."""
    return (causal_artifact(name, recipe).parent / "report.txt").read_text()
