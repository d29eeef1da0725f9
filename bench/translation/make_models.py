"""Makes the models of the translation benchmarks, for every engine.

python make_models.py FOLDER

``opus`` has the shape of Helsinki-NLP/opus-mt-en-fr and random weights; ``demo`` is the model that
ships with the project. Of each: ``transformers``, and one of float32 and one of 8 bits for both
polystate and CTranslate2.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel

import polystate as ps

DEMO = Path(__file__).resolve().parents[2] / "models/en-fr-tatoeba"
VOCABULARY = 59514
LONGEST = 64
ROWS = 128


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
        eos_token_id=0,
        decoder_start_token_id=VOCABULARY - 1,
        forced_eos_token_id=0,
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
    for name, quantization in (("float32", None), ("q8", "q8")):
        target = out / f"polystate_{name}"
        if source == DEMO:
            ps.export_pretrained(source, target, quantization=quantization, max_batch=ROWS)
        else:
            ps.export_pretrained(
                model, target, quantization=quantization, max_batch=ROWS, max_length=max_length
            )


def convert(source: Path, out: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    for name in ("int8", "float32"):
        target = out / f"ctranslate2_{name}"
        TransformersConverter(str(source)).convert(str(target), quantization=name, force=True)


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
