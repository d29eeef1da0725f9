"""Models as GGUF files in 8 bits (Q8_0), for llama.cpp."""

from __future__ import annotations

from pathlib import Path

import gguf
import llama_cpp
import torch
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from transformers import LlamaForCausalLM

# Names of a file's tensors by those of the model's.
_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_AROUND = {"embed_tokens": "token_embd", "norm": "output_norm"}


def write_gguf(model: LlamaForCausalLM, path: Path) -> None:
    """Writes a Llama with a shared embedding, and without a tokenizer."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("no_vocab")
    for name, weight in model.model.named_parameters():
        stored = _stored_name(name)
        weight = _in_order_of_file(weight.detach(), stored, config).numpy()
        if weight.ndim == 1:
            writer.add_tensor(stored, weight)
        else:
            kind = GGMLQuantizationType.Q8_0
            writer.add_tensor(stored, quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize_gguf(source: Path, out: Path) -> None:
    """Writes a file's weights again in 8 bits."""
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    settings.allow_requantize = True
    if llama_cpp.llama_model_quantize(bytes(source), bytes(out), settings) != 0:
        raise RuntimeError(f"llama.cpp does not quantize '{source}'")


def _stored_name(name: str) -> str:
    parts = name.removesuffix(".weight").split(".")
    if parts[0] == "layers":
        return f"blk.{parts[1]}.{_LAYER['.'.join(parts[2:])]}.weight"
    return f"{_AROUND['.'.join(parts)]}.weight"


def _in_order_of_file(weight: torch.Tensor, stored: str, config: object) -> torch.Tensor:
    """Rows of queries and keys: llama.cpp turns neighbours, transformers halves of a head."""
    heads = {"attn_q": "num_attention_heads", "attn_k": "num_key_value_heads"}
    attribute = heads.get(stored.split(".")[-2])
    if attribute is None:
        return weight
    halves = weight.unflatten(0, (getattr(config, attribute), 2, -1))
    return halves.transpose(1, 2).flatten(0, 2).contiguous()
