"""Makes the models of the translation benchmarks, for every engine.

python make_models.py FOLDER

``opus`` has the shape of Helsinki-NLP/opus-mt-en-fr and random weights; ``demo`` is the model that
ships with the project. Of each: ``transformers``, and one of float32 and one of 8 bits for both
polystate, on either of its engines, and CTranslate2; of ``opus``, one of 8 bits for ExecuTorch
alone.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from shapes import END, LONGEST, ROWS, VOCABULARY
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel

import polystate as ps

DEMO = Path(__file__).resolve().parents[2] / "models/en-fr-tatoeba"


def opus() -> MarianMTModel:
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=VOCABULARY - 1,
        eos_token_id=END,
        decoder_start_token_id=VOCABULARY - 1,
        forced_eos_token_id=END,
    )
    return MarianMTModel(config).eval()


def save_for_transformers(model: MarianMTModel, out: Path) -> None:
    """Saves it with a tokenizer of as many tokens, which no benchmark asks for text."""
    model.save_pretrained(out)
    for name in ("source.spm", "target.spm", "tokenizer_config.json", "special_tokens_map.json"):
        if (DEMO / name).exists():
            shutil.copy(DEMO / name, out)
    tokens = ["</s>", "<unk>", *(f"token{i}" for i in range(2, VOCABULARY - 1)), "<pad>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (out / "vocab.json").write_text(json.dumps(vocabulary))


def export(source: Path, out: Path, max_length: int) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(source)
    recipes = {
        "float32": "xnnpack",
        "q8": "xnnpack_q8",
        "aoti_float32": "aoti",
        "aoti_q8": "aoti_q8",
    }
    for name, recipe in recipes.items():
        target = out / f"polystate_{name}"
        if source == DEMO:
            ps.export_pretrained(source, target, recipe=recipe, max_batch=ROWS)
        else:
            ps.export_pretrained(
                model, target, recipe=recipe, max_batch=ROWS, max_length=max_length
            )


def convert(source: Path, out: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    for name in ("int8", "float32"):
        target = out / f"ctranslate2_{name}"
        TransformersConverter(str(source)).convert(str(target), quantization=name, force=True)


def export_for_executorch(source: Path, out: Path) -> None:
    """As transformers exports a model for ExecuTorch: one program for each size of a batch."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis
    from transformers.integrations.executorch import Seq2SeqLMExportableModule

    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    )
    out.mkdir(exist_ok=True)
    for batch in (1, 32):
        # Another one each time: a quantized model that was exported cannot be again.
        model = AutoModelForSeq2SeqLM.from_pretrained(source).eval().requires_grad_(False)
        quantize_(model, config)
        module = Seq2SeqLMExportableModule(
            model, batch_size=batch, max_hidden_seq_length=LONGEST, max_cache_length=LONGEST
        )
        exported = module.export(
            encoder_input_ids=torch.ones(batch, 10, dtype=torch.long),
            decoder_input_ids=torch.zeros(batch, 1, dtype=torch.long),
            encoder_hidden_states=torch.zeros(batch, 10, model.config.d_model),
        )
        methods = {"encoder": exported.exported_encoder, "decoder": exported.exported_decoder}
        edge = to_edge_transform_and_lower(methods, partitioner=[XnnpackPartitioner()])
        (out / f"batch_{batch}.pte").write_bytes(edge.to_executorch().buffer)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_for_transformers(opus(), folder / "opus/transformers")
    if not (folder / "demo/transformers").exists():
        (folder / "demo").mkdir(exist_ok=True)
        (folder / "demo/transformers").symlink_to(DEMO)
    for name in ("opus", "demo"):
        source = folder / name / "transformers"
        convert(source, folder / name)
        export(source.resolve(), folder / name, LONGEST)
    export_for_executorch(folder / "opus/transformers", folder / "opus/executorch_int8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
