"""Compares the speed of polystate's tokenizers with the libraries' own, on one thread.

    python bench/text_speed.py BUILD_FOLDER

It trains tokenizers on the tests' sentences, writes them and the text, and runs each library and
`text_speed`, which BUILD_FOLDER has, in turn; the best of five is printed, in MB of text a second.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import sentencepiece
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

ROOT = Path(__file__).parent.parent
ROWS = (ROOT / "tests/data/tatoeba/sentences.tsv").read_text(encoding="utf-8").splitlines()
LINES = [text for row in ROWS for text in row.split("\t")]
BYTES = sum(len(line.encode()) for line in LINES)


def trained(tokenizer: Tokenizer, trainer: trainers.Trainer) -> Tokenizer:
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(
        tokenizer,
        trainers.BpeTrainer(vocab_size=5000, initial_alphabet=alphabet, show_progress=False),
    )


def llama() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained(
        tokenizer,
        trainers.BpeTrainer(vocab_size=5000, special_tokens=special, show_progress=False),
    )
    content = json.loads(tokenizer.to_str())
    content["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(content))


def bert() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    trained(
        tokenizer,
        trainers.WordPieceTrainer(vocab_size=5000, special_tokens=special, show_progress=False),
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def t5() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return trained(
        tokenizer,
        trainers.UnigramTrainer(
            vocab_size=4000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        ),
    )


def words() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False)
    return trained(tokenizer, trainer)


def sentence_piece(kind: str) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        model_type=kind,
        vocab_size=4000,
        minloglevel=2,
    )
    return model.getvalue()


def best(work: Callable[[], object]) -> float:
    """Return the MB of text a second of the best of five runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return BYTES / 1e6 / min(times)


def report(name: str, path: Path, program: Path, theirs: tuple[float, float]) -> None:
    out = subprocess.run([program, path], input="\n".join(LINES), capture_output=True, text=True)
    ours = json.loads(out.stdout)
    for what, mine, other in zip(
        ("encode", "decode"), (ours["encode"], ours["decode"]), theirs, strict=True
    ):
        print(f"{name:24} {what}  {mine:7.1f} MB/s   {other:7.1f} MB/s   {mine / other:5.2f} times")
    print(f"{name:24} open    {ours['open_ms']:7.1f} ms")


def main() -> None:
    program = Path(sys.argv[1]) / "bench" / "text_speed"
    with tempfile.TemporaryDirectory() as folder:
        for make in (byte_level, llama, bert, t5, words):
            tokenizer = make()
            path = Path(folder) / f"{make.__name__}.json"
            tokenizer.save(str(path))
            tokenizer = Tokenizer.from_file(str(path))
            ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(LINES)]
            theirs = (
                best(lambda t=tokenizer: t.encode_batch_fast(LINES)),
                best(lambda t=tokenizer, i=ids: t.decode_batch(i)),
            )
            report(make.__name__, path, program, theirs)
        for kind in ("unigram", "bpe"):
            path = Path(folder) / f"{kind}.model"
            path.write_bytes(sentence_piece(kind))
            processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
            ids = processor.encode(LINES, num_threads=1)
            theirs = (
                best(lambda p=processor: p.encode(LINES, num_threads=1)),
                best(lambda p=processor, i=ids: p.decode(i, num_threads=1)),
            )
            report(f"sentencepiece {kind}", path, program, theirs)


if __name__ == "__main__":
    main()
