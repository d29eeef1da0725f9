"""``python -m tools.train_chat TRAIN VALID OUT``: trains, scores and writes the chat model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# Before torch is imported: threads that wait for each other leave the processor to other programs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tools.train_chat.conversations import Pair, make_tokenizer, read_pairs
from tools.train_chat.scores import bleu
from tools.train_chat.training import Training

_CARD = Path(__file__).with_name("model_card.md")


def main() -> None:
    """Train, or go on."""
    options = _options()
    torch.set_num_threads(options.threads)
    options.work.mkdir(parents=True, exist_ok=True)
    pairs, valid = read_pairs(options.train), read_pairs(options.valid)
    tokenizer = _tokenizer(options.work / "tokenizer", pairs)
    training = Training(pairs, tokenizer, options.work / "checkpoint.pt", options.epochs)
    parameters = sum(each.numel() for each in training.model.parameters()) / 1e6
    print(f"{parameters:.1f} M parameters, {len(pairs)} pairs, {training.progress}", flush=True)
    for progress in training.run():
        score = bleu(training.model, tokenizer, valid[: options.scored], "French")
        print(f"after epoch {progress.epoch}: BLEU {score:.1f} into French", flush=True)
    training.model.bfloat16()  # as it is written
    french, english = (bleu(training.model, tokenizer, valid, to) for to in ("French", "English"))
    print(f"BLEU {french:.1f} into French, {english:.1f} into English", flush=True)
    _write(options.out, training.model, tokenizer)
    readme = _CARD.read_text(encoding="utf-8").format(
        parameters=parameters,
        vocabulary=len(tokenizer),
        pairs=len(pairs),
        epochs=options.epochs,
        hours=training.progress.seconds / 3600,
        count=len({pair.english for pair in valid}),
        french=french,
        english=english,
    )
    (options.out / "README.md").write_text(readme, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.train_chat", description=__doc__)
    parser.add_argument("train", type=Path, help="English TAB French, a pair a line; may be .gz")
    parser.add_argument("valid", type=Path, help="pairs whose English is not in TRAIN")
    parser.add_argument("out", type=Path, help="the model's directory")
    parser.add_argument("--work", type=Path, required=True, help="where it can go on from later")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scored", type=int, default=300, help="pairs scored after each epoch")
    return parser.parse_args()


def _tokenizer(path: Path, pairs: list[Pair]) -> PreTrainedTokenizerFast:
    """The one that a training began with, or a new one."""
    if not path.exists():
        written = path.with_suffix(".new")
        make_tokenizer(pairs).save_pretrained(written)
        written.rename(path)
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(path)
    return tokenizer


def _write(out: Path, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=[tokenizer.eos_token_id],
        pad_token_id=tokenizer.pad_token_id,
        max_length=256,
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    main()
