"""Trains the benchmarks' tokenizers on the tests' sentences, and writes them with the text.

One file for each kind, as the models have it that are named for it, with small vocabularies; and
``bpe_128k.json``, whose vocabulary and merges are of Llama 3's size and drawn at random.
"""

import base64
import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import sentencepiece
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

SENTENCES = Path(__file__).parents[1] / "tests/data/tatoeba/sentences.tsv"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def lines() -> list[str]:
    rows = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [text for row in rows for text in row.split("\t")]


def trained(tokenizer: Tokenizer, trainer: trainers.Trainer) -> Tokenizer:
    tokenizer.train_from_iterator(lines(), trainer)
    return tokenizer


def byte_level_bpe(pre_tokenizer: pre_tokenizers.PreTokenizer, **options: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(
        tokenizer,
        trainers.BpeTrainer(vocab_size=5000, initial_alphabet=alphabet, show_progress=False),
    )


def gpt2() -> Tokenizer:
    return byte_level_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))


def llama3() -> Tokenizer:
    split = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return byte_level_bpe(pre_tokenizers.Sequence([split, byte_level]), ignore_merges=True)


def llama2() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained(
        tokenizer,
        trainers.BpeTrainer(vocab_size=5000, special_tokens=special, show_progress=False),
    )
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    content = json.loads(tokenizer.to_str())
    content["pre_tokenizer"] = None  # a whole text is one piece, once it was trained on words
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.normalizer = normalizer
    return tokenizer


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


def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return trained(
        tokenizer, trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False)
    )


def sentence_piece(algorithm: str) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()),
        model_writer=model,
        model_type=algorithm,
        vocab_size=4000,
        minloglevel=2,
    )
    return model.getvalue()


def tik_token(tokenizer: Tokenizer) -> str:
    """Give the vocabulary of a byte-level tokenizer as lines of base64 and a rank."""
    byte_of = {character: byte for byte, character in enumerate(byte_alphabet())}
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    tokens = [bytes(byte_of[character] for character in token) for token, _ in vocabulary]
    ordered = sorted(tokens, key=lambda token: len(token) > 1)  # bytes first
    return "".join(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(ordered))


def byte_alphabet() -> list[str]:
    """Give the character by which byte-level vocabularies write each byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = iter(range(0x100, 0x200))
    return [chr(byte) if byte in shown else chr(next(hidden)) for byte in range(256)]


def bpe_128k() -> str:
    """Give a file of Llama 3's size: 128,000 tokens, each joined from two earlier ones."""
    draw = random.Random(1)
    tokens = sorted(byte_alphabet())
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = []
    while len(tokens) < 128_000:
        left, right = (tokens[min(draw.randrange(len(tokens)) for _ in range(2))] for _ in "ab")
        joined = left + right
        if joined in vocabulary or len(joined) > 16:
            continue
        merges.append([left, right])
        vocabulary[joined] = len(tokens)
        tokens.append(joined)
    tokenizer = json.loads(llama3().to_str())
    tokenizer["model"] |= {"vocab": vocabulary, "merges": merges}
    return json.dumps(tokenizer, ensure_ascii=False, indent=2)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    kinds: list[Callable[[], Tokenizer]] = [gpt2, llama3, llama2, bert, t5, word_level]
    for kind in kinds:
        kind().save(str(folder / f"{kind.__name__}.json"))
    for algorithm in ("unigram", "bpe"):
        (folder / f"sentencepiece_{algorithm}.model").write_bytes(sentence_piece(algorithm))
    (folder / "tiktoken.tiktoken").write_text(tik_token(gpt2()))
    (folder / "bpe_128k.json").write_text(bpe_128k(), encoding="utf-8")
    (folder / "text.txt").write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
