"""Models in GGUF files become artifacts, as transformers reads them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

import polystate as ps
from polystate.recipes import gguf as recipe
from polystate.recipes.pretrained import export_pretrained

# A vocabulary of SentencePiece: control tokens, bytes, and pieces with their scores.
PIECES = ["▁", "a", "b", "c", "▁a", "ab", "▁ab", "▁c", "bc", "▁bc"]
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES]
KINDS = [2, 3, 3, *[6] * 256, *[1] * len(PIECES)]
SHAPE = LlamaConfig(
    vocab_size=len(TOKENS),
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    tie_word_embeddings=False,
    bos_token_id=1,
    eos_token_id=2,
)
# Names of a file's tensors by what they hold; queries and keys are stored in another order.
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
AROUND = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}


def write_model(path: Path) -> None:
    """Random weights: those of linears in blocks of 8 bits, others in float32."""
    torch.manual_seed(0)
    weights = LlamaForCausalLM(SHAPE).state_dict()
    names = dict(AROUND)
    for layer in range(SHAPE.num_hidden_layers):
        of_layer = f"model.layers.{layer}"
        names |= {f"blk.{layer}.{key}": f"{of_layer}.{name}" for key, name in LAYER.items()}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(SHAPE.max_position_embeddings)
    writer.add_embedding_length(SHAPE.hidden_size)
    writer.add_block_count(SHAPE.num_hidden_layers)
    writer.add_feed_forward_length(SHAPE.intermediate_size)
    writer.add_head_count(SHAPE.num_attention_heads)
    writer.add_head_count_kv(SHAPE.num_key_value_heads)
    writer.add_layer_norm_rms_eps(SHAPE.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(SHAPE.vocab_size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * 259 + [-float(i) for i in range(len(PIECES))])
    writer.add_token_types(KINDS)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    for stored, name in names.items():
        weight = weights[f"{name}.weight"].numpy().astype(np.float32)
        if weight.ndim == 1:
            writer.add_tensor(f"{stored}.weight", weight)
        else:
            kind = GGMLQuantizationType.Q8_0
            writer.add_tensor(f"{stored}.weight", quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_model_continues_texts_as_transformers_does_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_model(path)
    with pytest.warns(UserWarning, match=r"model.gguf: weights of Q8_0 are dequantized to float32"):
        export_pretrained(path, tmp_path / "artifact", recipe="xnnpack", max_batch=2)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=path.name)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    artifact = ps.load(tmp_path / "artifact")
    ours = ps.Tokenizer.open(tmp_path / "artifact")
    for prompt in ("ab c", "a b bc", "caé"):
        inputs = tokenizer(prompt, return_tensors="pt")
        expected = model.generate(**inputs, max_new_tokens=12, do_sample=False)[0].tolist()
        count = inputs["input_ids"].shape[1]
        assert ours.encode(prompt) == expected[:count]
        found = artifact.generate([expected[:count]], max_new_tokens=12)
        assert found.padded.tolist()[0] == expected


def test_a_missing_reader_is_an_error_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(recipe, "_PACKAGES", ("no_such_reader", "torch"))
    assert importlib.util.find_spec("no_such_reader") is None
    with pytest.raises(
        ps.ExportError, match=r"\(no_such_reader\): pip install 'polystate\[gguf\]'"
    ):
        export_pretrained(tmp_path / "model.gguf", tmp_path / "artifact")


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ps.ExportError, match=r"cannot load .*model.gguf"):
        export_pretrained(tmp_path / "model.gguf", tmp_path / "artifact")
