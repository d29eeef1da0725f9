"""Every character of Unicode: each operation has the version that the library's has."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public
from tokenizers import Regex, Tokenizer, models, normalizers
from tokenizers import pre_tokenizers as pre

import polystate as ps
from tests.python.tokenizer.compare import in_bytes, saved, with_parts
from tests.python.tokenizer.tokenize_lines import opened

EVERY = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
# Without planes that have no assigned characters, or private ones alone.
PLANES = [c for c in EVERY if ord(c) < 0x40000 or 0xE0000 <= ord(c) < 0xF0000]
# The ends of those planes.
ENDS = [c for c in sorted({*EVERY} - {*PLANES}) if not 256 <= ord(c) % 0x10000 < 0xFF00]
# Those of PLANES that normalization moves or replaces by Python's data, those that this data, which
# may be older, does not have, and every sixteenth of the others.
ORDERED = [
    c
    for c in PLANES
    if unicodedata.combining(c)
    or unicodedata.decomposition(c)
    or (ord(c) < 0x20000 and unicodedata.category(c) == "Cn")
    or ord(c) % 16 == 0
]
TOGETHER = 128  # characters of a text

NOTHING = {
    "clean_text": False,
    "handle_chinese_chars": False,
    "strip_accents": False,
    "lowercase": False,
}
NORMALIZERS: dict[str, normalizers.Normalizer] = {
    "NFC": normalizers.NFC(),
    "NFD": normalizers.NFD(),
    "NFKC": normalizers.NFKC(),
    "NFKD": normalizers.NFKD(),
    "Lowercase": normalizers.Lowercase(),
    "StripAccents": normalizers.StripAccents(),
    "Nmt": normalizers.Nmt(),
    "Strip": normalizers.Strip(),
    **{f"Bert, {part}": normalizers.BertNormalizer(**{**NOTHING, part: True}) for part in NOTHING},
}
PRE_TOKENIZERS: dict[str, pre.PreTokenizer] = {
    "BertPreTokenizer": pre.BertPreTokenizer(),
    "ByteLevel": pre.ByteLevel(add_prefix_space=False),
    "Digits": pre.Digits(individual_digits=True),
    "Punctuation": pre.Punctuation(),
    "UnicodeScripts": pre.UnicodeScripts(),
    "Whitespace": pre.Whitespace(),
    "WhitespaceSplit": pre.WhitespaceSplit(),
}
CATEGORIES = (
    "L Lu Ll Lt Lm Lo M Mn Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf "
    "Co Cn"
)
SCRIPTS = ["Arabic", "Common", "Cyrillic", "Devanagari", "Han", "Kawi", "Latin", "Todhri"]
PROPERTIES = [*CATEGORIES.split(), *SCRIPTS, "Alphabetic", "Lowercase", "Uppercase", "Emoji"]
EXPRESSIONS = [
    *(rf"\p{{{name}}}" for name in PROPERTIES),
    *(rf"\P{{{name}}}" for name in ("L", "C", "Cn")),
    r"[^\p{C}]",
    r"[a\p{Cn}]",
    r"[^\s\p{L}\p{N}]",
    *(r"\w", r"\W", r"\s", r"\d", r"\h"),
    *(f"[[:{name}:]]" for name in ("alpha", "alnum", "lower", "upper", "punct", "word", "space")),
]


def in_bytes_of_tokens() -> Tokenizer:
    """Give ids that are the bytes of a normalized text."""
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(256)}
    return Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))


def in_pieces(pre_tokenizer: pre.PreTokenizer) -> Tokenizer:
    """Give a token for each piece, so that offsets tell where a text is split."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


def differing(tokenizer: Tokenizer, folder: Path, texts: list[str], *, offsets: bool) -> list[str]:
    """Return the texts that become other ids, or lie elsewhere."""
    tokenizer.save(str(folder / "tokenizer.json"))
    ours = ps.Tokenizer.open(folder)
    if not offsets:
        theirs = tokenizer.encode_batch_fast(texts)
        return [t for t, their in zip(texts, theirs, strict=True) if ours.encode(t) != their.ids]
    found = ours(texts, return_offsets_mapping=True)
    pairs = zip(found["input_ids"], found["offset_mapping"], strict=True)
    theirs = tokenizer.encode_batch(texts)
    return [
        text
        for text, pair, their in zip(texts, pairs, theirs, strict=True)
        if pair != (their.ids, their.offsets)
    ]


def sweep(
    tokenizer: Tokenizer,
    folder: Path,
    form: Callable[[str], str],
    *,
    offsets: bool,
    characters: list[str] = PLANES,
) -> list[str]:
    """Return the characters whose text, ``form(character)``, becomes something else."""
    groups = [characters[i : i + TOGETHER] for i in range(0, len(characters), TOGETHER)]
    together = {"a\n".join(map(form, group)): group for group in groups}
    texts = differing(tokenizer, folder, list(together), offsets=offsets)
    alone = {form(c): c for text in texts for c in together[text]}
    if not alone:
        return []
    return [hex(ord(alone[t])) for t in differing(tokenizer, folder, list(alone), offsets=offsets)]


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_normalizer_changes_the_same_characters(name: str, tmp_path: Path) -> None:
    tokenizer = in_bytes_of_tokens()
    tokenizer.normalizer = NORMALIZERS[name]
    assert sweep(tokenizer, tmp_path, lambda c: f"a{c}b", offsets=False) == []


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
@pytest.mark.parametrize("mark", ["\u0301", "\u0327", "\u0345"])
@pytest.mark.parametrize(
    "characters",
    [
        pytest.param(ORDERED, id="ordered"),
        pytest.param(PLANES, id="all", marks=pytest.mark.exhaustive),
    ],
)
def test_marks_are_put_into_the_same_order(
    form: str, mark: str, characters: list[str], tmp_path: Path
) -> None:
    tokenizer = in_bytes_of_tokens()
    tokenizer.normalizer = NORMALIZERS[form]

    def between(c: str) -> str:
        return f"a{mark}{c}{mark}b{c}"

    assert sweep(tokenizer, tmp_path, between, offsets=False, characters=characters) == []


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_a_pre_tokenizer_splits_at_the_same_characters(name: str, tmp_path: Path) -> None:
    tokenizer = in_pieces(PRE_TOKENIZERS[name])
    assert sweep(tokenizer, tmp_path, lambda c: f"a{c}b", offsets=True) == []


def test_scripts_change_between_the_same_characters(tmp_path: Path) -> None:
    tokenizer = in_pieces(pre.UnicodeScripts())
    texts = ["".join(PLANES[i : i + TOGETHER]) for i in range(0, len(PLANES), TOGETHER)]
    assert differing(tokenizer, tmp_path, texts, offsets=True) == []


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_matches_the_same_characters(expression: str, tmp_path: Path) -> None:
    tokenizer = in_pieces(pre.Split(Regex(expression), "isolated"))
    texts = ["".join(PLANES[i : i + 4096]) for i in range(0, len(PLANES), 4096)]
    assert differing(tokenizer, tmp_path, texts, offsets=True) == []


def ranks_of_neighbours() -> dict[bytes, int]:
    """Give tokens that join a character's bytes with those around it, in one piece."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [b"%c%c" % (before, lead) for lead in range(0xC2, 0xF5) for before in b"a1! "]
    tokens += [b"%c%c" % (last, after) for last in range(0x80, 0xC0) for after in b"b2?\n"]
    return {token: i for i, token in enumerate(tokens)}


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_tik_token_splits_at_the_same_characters(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = ranks_of_neighbours()
    for load in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(tiktoken_ext.openai_public, load, lambda *_, **__: ranks)
    pattern = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
    theirs = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    path = tmp_path / f"{name}.tiktoken"
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())
    path.write_bytes(b"".join(lines))
    ours = ps.Tokenizer.open(path, pattern=pattern)
    for i in range(0, len(PLANES), 4096):
        text = "".join(f"a{c}b 1{c}2 !{c}?\n {c}\n" for c in PLANES[i : i + 4096])
        assert ours.encode(text) == theirs.encode_ordinary(text), hex(ord(PLANES[i]))


def different(tokenizer: Tokenizer, path: Path, texts: list[str]) -> list[str]:
    """Return the texts that become other tokens."""
    answers = opened(path, ({"text": text, "offsets": True} for text in texts))
    encodings = tokenizer.encode_batch(texts)
    return [
        text
        for text, encoding, answer in zip(texts, encodings, answers, strict=True)
        if answer["ids"] != encoding.ids or answer["offsets"] != in_bytes(text, encoding.offsets)
    ]


@pytest.mark.parametrize(
    "characters",
    [
        pytest.param([*PLANES, *ENDS], id="planes with characters, ends of others"),
        pytest.param(EVERY, id="all", marks=pytest.mark.exhaustive),
    ],
)
def test_every_code_point(word_piece: str, tmp_path: Path, characters: list[str]) -> None:
    tokenizer = with_parts(
        word_piece, normalizer=normalizers.NFKC(), pre_tokenizer=pre.Whitespace()
    )
    path = saved(tokenizer, tmp_path)
    groups = [characters[i : i + 64] for i in range(0, len(characters), 64)]
    texts = [" ".join(f"a{character}b" for character in group) for group in groups]
    assert different(tokenizer, path, texts) == []
