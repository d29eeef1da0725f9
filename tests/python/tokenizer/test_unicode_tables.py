"""Every character of Unicode: each operation has the version that the library's has."""

from __future__ import annotations

import base64
import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public
from sentencepiece import sentencepiece_model_pb2
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

# Those of PLANES without ideographs and syllables, which have a range for each class, and the last
# ones of these.
CLUSTERED = [
    c
    for c in PLANES
    if (ord(c) < 0x20000 and not unicodedata.name(c, "").startswith(("CJK UNI", "HANGUL SYLL")))
    or 0xE0000 <= ord(c) < 0xE1000
    or 0xD700 <= ord(c) < 0xD7A4
]
# Ideographs and syllables are three quarters of PLANES, and alike: every run tries a sixteenth.
SOME_OF_PLANES = sorted({*CLUSTERED, *(c for c in PLANES if ord(c) % 16 == 0)})
TRIED = [
    pytest.param(SOME_OF_PLANES, id="some ideographs"),
    pytest.param(PLANES, id="all", marks=pytest.mark.exhaustive),
]
# What shows how a character takes part in clusters: those of at most five bytes are replaced as a
# whole by what the map of `replaced` has for their beginning, so that a last mark stays or goes.
CLUSTERS = [
    "A{c}",
    *(f"{{c}}{follower}\u0301" for follower in "\u0340\u00e9\u1100\u1161\u11a8\uac00\u2600\u0915"),
    "{c}\u094d\u0915\u0301",
    "\u0915{c}\u0915\u0301",
    "\u0915\u094d{c}\u0915\u0301",
    "{c}\u200d\u2600\u0301",
    "\u2600{c}\u2600\u0301",
    "\u2600{c}\u200d\u2600\u0301",
]
# Some of each class of characters, of as many bytes as there are; the last ones are the newest.
KINDS = [
    *("\r", "\n", "\x7f", "\xad", "\u200b", "\U000e0001"),
    *("A", "\xe9", "\u4e00", "\U00020000", "\u0378"),
    *("\u0301", "\u0340", "\u200c", "\u20dd", "\U0001f3fb", "\u0897", "\u1acf", "\U00010d69"),
    *("\u094d", "\u1039", "\U00011133", "\U000113d0"),
    "\u200d",
    *("\u0903", "\u0e33", "\U0001d166", "\U000113b9"),
    *("\u0600", "\u0d4e", "\U000110bd", "\U000113d1"),
    *("\u1100", "\ua960", "\u1161", "\u11a8", "\ud7b0", "\ud7cb", "\uac00", "\uac01", "\U00016d63"),
    *("\u0915", "\u1000", "\U00011103", "\U00011380"),
    *("\xa9", "\u2600", "\U0001f600", "\U0001fae9"),
    *("\U0001f1e6", "\U0001f1ff"),
]

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
    characters: list[str],
) -> list[str]:
    """Return the characters whose text, ``form(character)``, becomes something else."""
    groups = [characters[i : i + TOGETHER] for i in range(0, len(characters), TOGETHER)]
    together = {"a\n".join(map(form, group)): group for group in groups}
    texts = differing(tokenizer, folder, list(together), offsets=offsets)
    alone = {form(c): c for text in texts for c in together[text]}
    if not alone:
        return []
    return [hex(ord(alone[t])) for t in differing(tokenizer, folder, list(alone), offsets=offsets)]


@pytest.mark.parametrize("characters", TRIED)
@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_normalizer_changes_the_same_characters(
    name: str, characters: list[str], tmp_path: Path
) -> None:
    tokenizer = in_bytes_of_tokens()
    tokenizer.normalizer = NORMALIZERS[name]
    assert sweep(tokenizer, tmp_path, "a{}b".format, offsets=False, characters=characters) == []


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


@pytest.mark.parametrize("characters", TRIED)
@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_a_pre_tokenizer_splits_at_the_same_characters(
    name: str, characters: list[str], tmp_path: Path
) -> None:
    tokenizer = in_pieces(PRE_TOKENIZERS[name])
    assert sweep(tokenizer, tmp_path, "a{}b".format, offsets=True, characters=characters) == []


def replaced(train: Callable[..., bytes], characters: str, folder: Path) -> Tokenizer:
    """Replace each of ``characters`` by an ideograph, in whole clusters."""
    rules = folder / "rules.tsv"
    rules.write_text("".join(f"{ord(c):X}\t{0x4E01 + i:X}\n" for i, c in enumerate(characters)))
    options = {"model_type": "char", "hard_vocab_limit": False}
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(train(normalization_rule_tsv=str(rules), **options))
    tokenizer = in_bytes_of_tokens()
    tokenizer.normalizer = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    return tokenizer


@pytest.mark.parametrize(
    "characters",
    [
        pytest.param(CLUSTERED, id="without ideographs"),
        pytest.param(PLANES, id="all", marks=pytest.mark.exhaustive),
    ],
)
def test_precompiled_replaces_the_same_clusters(
    characters: list[str], trained_sentence_piece: Callable[..., bytes], tmp_path: Path
) -> None:
    known = "A\u0340\u00e9\u1100\u1161\u11a8\uac00\u2600\u0915"
    tokenizer = replaced(trained_sentence_piece, known, tmp_path)
    forms = "\n".join(CLUSTERS)

    def around(c: str) -> str:
        return forms.replace("{c}", c)

    assert sweep(tokenizer, tmp_path, around, offsets=False, characters=characters) == []


def test_precompiled_replaces_the_same_clusters_of_drawn_characters(
    trained_sentence_piece: Callable[..., bytes], tmp_path: Path
) -> None:
    rng = random.Random(1)
    known = "".join(rng.sample([c for c in KINDS if c not in "\r\n"], 30))
    tokenizer = replaced(trained_sentence_piece, known, tmp_path)
    texts = ["".join(rng.choices(KINDS, k=rng.randint(2, 9))) for _ in range(20_000)]
    assert differing(tokenizer, tmp_path, texts, offsets=False) == []


def test_scripts_change_between_the_same_characters(tmp_path: Path) -> None:
    tokenizer = in_pieces(pre.UnicodeScripts())
    texts = ["".join(PLANES[i : i + TOGETHER]) for i in range(0, len(PLANES), TOGETHER)]
    assert differing(tokenizer, tmp_path, texts, offsets=True) == []


@pytest.mark.parametrize("characters", TRIED)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_matches_the_same_characters(
    expression: str, characters: list[str], tmp_path: Path
) -> None:
    tokenizer = in_pieces(pre.Split(Regex(expression), "isolated"))
    texts = ["".join(characters[i : i + 4096]) for i in range(0, len(characters), 4096)]
    assert differing(tokenizer, tmp_path, texts, offsets=True) == []


CASES: tuple[Callable[[str], str], ...] = (
    *(str.lower, str.upper, str.casefold),
    normalizers.Lowercase().normalize_str,
)
# The characters that have another case, and of these the ones that Unicode 14 did not pair.
CASED = sorted({x for c in PLANES for case in CASES if case(c) != c for x in (c, *case(c))})
NEWLY_CASED = [
    c
    for c in CASED
    if unicodedata.category(c) == "Cn"
    or all(case(c) == c for case in CASES)
    or c in "\u0390\u03b0\u1fd3\u1fe3\ufb05\ufb06"
]
BYTES = {bytes([byte]): byte for byte in range(256)}
# Properties whose characters may have other cases without them: too many to be listed.
OPEN = {"Lu", "Ll", "Lt", "Lowercase", "Uppercase"}
CASES_TO_TRY = [
    pytest.param([*NEWLY_CASED, *CASED[::16]], id="new, and some others"),
    pytest.param(CASED, id="all", marks=pytest.mark.exhaustive),
]


def removed(expression: str) -> Tokenizer:
    """Give the offsets of what an expression does not match."""
    return in_pieces(pre.Split(Regex(expression), "removed"))


def matched_by_rust(expression: str, folder: Path) -> tuple[set[str], set[str]]:
    """Return which of CASED an expression of a TikToken file matches: ours, and theirs."""
    path = folder / "bytes.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(t), i) for t, i in BYTES.items()))
    theirs = tiktoken.Encoding("", pat_str=expression, mergeable_ranks=BYTES, special_tokens={})
    text = "".join(CASED)
    ids = (ps.Tokenizer.open(path, pattern=expression).encode(text), theirs.encode_ordinary(text))
    ours, their = ({*bytes(each).decode()} for each in ids)
    return ours, their


@pytest.mark.parametrize("characters", CASES_TO_TRY)
def test_oniguruma_pairs_the_same_cases(characters: list[str], tmp_path: Path) -> None:
    text = "\n".join(CASED)
    for c in characters:
        forms = [f"(?i:[^{re.escape(c)}])"]
        if len(c.casefold()) == 1:  # others are refused
            forms.append(f"(?i:{re.escape(c)})")
        for form in forms:
            assert differing(removed(form), tmp_path, [text], offsets=True) == [], form


@pytest.mark.parametrize("characters", CASES_TO_TRY)
def test_rust_pairs_the_same_cases(characters: list[str], tmp_path: Path) -> None:
    for c in map(re.escape, characters):
        for form in (f"(?i:{c})", f"(?i:[{c}])", f"(?i:[^{c}])"):
            ours, theirs = matched_by_rust(form, tmp_path)
            assert ours == theirs, form


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_has_the_same_characters_without_regard_to_case(
    name: str, tmp_path: Path
) -> None:
    for form in (rf"\p{{{name}}}", rf"\P{{{name}}}", rf"[^\p{{{name}}}]", rf"[\P{{{name}}}\r]"):
        if name in OPEN:
            with pytest.raises(ps.UnsupportedError, match="not all cases"):
                matched_by_rust(f"(?i:{form})", tmp_path)
            continue
        ours, theirs = matched_by_rust(f"(?i:{form})", tmp_path)
        assert ours == theirs, form
    bracketed = removed(rf"(?i:[^\p{{{name}}}\n])")
    if name in OPEN:
        with pytest.raises(ps.UnsupportedError, match="not all cases"):
            differing(bracketed, tmp_path, [""], offsets=True)
    else:
        assert differing(bracketed, tmp_path, ["\n".join(CASED)], offsets=True) == []
    bare = removed(rf"(?i:\p{{{name}}})")
    assert differing(bare, tmp_path, ["\n".join(CASED)], offsets=True) == []


def ranks_of_neighbours() -> dict[bytes, int]:
    """Give tokens that join a character's bytes with those around it, in one piece."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [b"%c%c" % (before, lead) for lead in range(0xC2, 0xF5) for before in b"a1! "]
    tokens += [b"%c%c" % (last, after) for last in range(0x80, 0xC0) for after in b"b2?\n"]
    return {token: i for i, token in enumerate(tokens)}


@pytest.mark.parametrize("characters", TRIED)
@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_tik_token_splits_at_the_same_characters(
    name: str, characters: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    for i in range(0, len(characters), 4096):
        text = "".join(f"a{c}b 1{c}2 !{c}?\n {c}\n" for c in characters[i : i + 4096])
        assert ours.encode(text) == theirs.encode_ordinary(text), hex(ord(characters[i]))


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
