"""Tokenizers that the tests train, each once, on the sentences."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from tests.python.tokenizer import corpus

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


@pytest.fixture(
    scope="session", params=["sampled", pytest.param("all", marks=pytest.mark.exhaustive)]
)
def lines(request: pytest.FixtureRequest) -> list[str]:
    """Return a fifth of the corpus; `make test-all` runs with all of it."""
    return corpus.lines() if request.param == "all" else corpus.sampled()


@pytest.fixture(scope="session")
def trained_sentence_piece() -> Callable[..., bytes]:
    """Train a SentencePiece model with options of the trainer, each once."""

    trained: dict[str, bytes] = {}

    def train(**options: object) -> bytes:
        key = repr(sorted(options.items()))
        if key not in trained:
            model = io.BytesIO()
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(corpus.sentences()),
                model_writer=model,
                minloglevel=2,
                **{"vocab_size": 1200, **options},
            )
            trained[key] = model.getvalue()
        return trained[key]

    return train


@pytest.fixture(scope="session")
def byte_level() -> str:
    """Train byte pair encoding over bytes, as GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=3000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "</s>", "<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.sentences(), trainer)
    return tokenizer.to_str()


@pytest.fixture(scope="session")
def byte_fallback() -> str:
    """Train byte pair encoding over characters, as Llama 2's."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        limit_alphabet=60,
        special_tokens=["<unk>", "<s>", "</s>", *BYTE_TOKENS],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.sentences(), trainer)
    return tokenizer.to_str()


@pytest.fixture(scope="session")
def word_piece() -> str:
    """Train WordPiece, as BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=2000,
        special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.sentences(), trainer)
    return tokenizer.to_str()


@pytest.fixture(scope="session")
def unigram() -> str:
    """Train a unigram model, as T5's."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=1500,
        unk_token="<unk>",
        special_tokens=["<pad>", "</s>", "<unk>", *BYTE_TOKENS],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.sentences(), trainer)
    return tokenizer.to_str()


@pytest.fixture(scope="session")
def word_level() -> str:
    """Train a vocabulary of words."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        vocab_size=1500, special_tokens=["<unk>"], show_progress=False
    )
    tokenizer.train_from_iterator(corpus.sentences(), trainer)
    return tokenizer.to_str()
