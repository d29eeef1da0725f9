"""tokenizer.json: ids, offsets and text equal those of the `tokenizers` library."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from compare import assert_alike, assert_encodes_alike, changed, described, in_bytes, saved
from tokenize_lines import opened, run
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, processors
from tokenizers import pre_tokenizers as pre

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT_4O = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
DEEPSEEK = r"[\r\n]|\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓ]+|\s?[!-/:-~！-／：-～‘-‟　-。]+|\s+$|[一-龥ࠀ-一가-퟿]+|\p{N}+"


def with_parts(content: str, **parts: Any) -> Tokenizer:
    tokenizer = Tokenizer.from_str(content)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def split_bytes(pattern: str) -> pre.PreTokenizer:
    return pre.Sequence(
        [
            pre.Split(Regex(pattern), "isolated"),
            pre.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def template() -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 1), ("[SEP]", 2)]
    )


@pytest.mark.parametrize("pattern", [LLAMA_3, QWEN_2, GPT_4O, DEEPSEEK])
def test_byte_level_splits_by_the_expression(
    pattern: str, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(byte_level, pre_tokenizer=split_bytes(pattern))
    assert_alike(tokenizer, tmp_path, lines)


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("trim", [False, True])
def test_byte_level_trims_offsets_and_adds_a_space(
    prefix: bool, trim: bool, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_level,
        pre_tokenizer=pre.ByteLevel(add_prefix_space=prefix),
        post_processor=processors.RobertaProcessing(
            ("</s>", 1), ("<s>", 0), trim_offsets=trim, add_prefix_space=prefix
        ),
    )
    assert_alike(tokenizer, tmp_path, lines)


def test_a_piece_that_is_a_token_ignores_merges(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    assert_alike(changed(Tokenizer.from_str(byte_level), ignore_merges=True), tmp_path, lines)


def test_bytes_may_be_written_by_the_normalizer(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_level,
        normalizer=normalizers.ByteLevel(),
        pre_tokenizer=pre.Split(Regex("Ġ"), "isolated"),
    )
    assert_alike(tokenizer, tmp_path, lines)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"byte_fallback": False},
        {"byte_fallback": False, "fuse_unk": False},
        {"unk_token": None, "byte_fallback": False},
        {"ignore_merges": True},
    ],
)
def test_byte_fallback_without_a_pre_tokenizer(
    model: dict[str, Any], byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    content = json.loads(byte_fallback)
    content["pre_tokenizer"] = None
    content["model"].update(model)
    assert_alike(Tokenizer.from_str(json.dumps(content)), tmp_path, lines)


def test_affixes_mark_the_parts_of_words(
    byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_fallback,
        normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()]),
        pre_tokenizer=pre.WhitespaceSplit(),
        decoder=decoders.BPEDecoder("</w>"),
    )
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    for letter in "abcdefghijklmnopqrstuvwxyz":
        for token in (letter, f"##{letter}", f"##{letter}</w>", f"{letter}</w>"):
            vocabulary.setdefault(token, len(vocabulary))
    for pair in ("he", "in", "on"):
        vocabulary.setdefault(pair, len(vocabulary))
    content["model"]["merges"] = [[a, f"##{b}"] for a, b in ("he", "in", "on")]
    content["model"].update(
        continuing_subword_prefix="##", end_of_word_suffix="</w>", byte_fallback=False
    )
    assert_alike(Tokenizer.from_str(json.dumps(content)), tmp_path, lines)


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.BertNormalizer(),
        normalizers.BertNormalizer(clean_text=False, lowercase=False, strip_accents=True),
        normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False),
        normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()]),
        normalizers.NFC(),
        normalizers.NFKC(),
        normalizers.NFKD(),
        normalizers.Sequence([normalizers.Nmt(), normalizers.Strip()]),
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
        normalizers.Strip(left=False),
        normalizers.Replace(Regex(r"\s{2,}|\d"), "x y"),
        normalizers.Replace(Regex(r"e(?=s)|^a|b$"), ""),
        normalizers.Prepend("un"),
    ],
    ids=str,
)
def test_word_piece_after_every_normalizer(
    normalizer: normalizers.Normalizer, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    post = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer = with_parts(word_piece, normalizer=normalizer, post_processor=post)
    assert_alike(tokenizer, tmp_path, lines)


def test_word_piece_gives_up_on_long_words(
    word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = changed(Tokenizer.from_str(word_piece), max_input_chars_per_word=6)
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    assert_alike(tokenizer, tmp_path, lines)


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
def test_unigram_after_metaspace(
    scheme: str, split: bool, unigram: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        unigram,
        normalizer=normalizers.NFKC(),
        pre_tokenizer=pre.Metaspace(prepend_scheme=scheme, split=split),
        decoder=decoders.Metaspace(prepend_scheme=scheme),
        post_processor=template(),
    )
    assert_alike(changed(tokenizer, byte_fallback=split), tmp_path, lines)


def test_unigram_with_a_precompiled_charsmap(
    trained_sentence_piece: Callable[..., bytes], unigram: str, lines: list[str], tmp_path: Path
) -> None:
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(trained_sentence_piece(normalization_rule_name="nmt_nfkc_cf"))
    charsmap = model.normalizer_spec.precompiled_charsmap
    tokenizer = with_parts(
        unigram,
        normalizer=normalizers.Sequence(
            [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
        ),
        pre_tokenizer=pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace(prepend_scheme="first")]),
    )
    assert_alike(tokenizer, tmp_path, lines)


BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        *(pre.Punctuation(behavior) for behavior in BEHAVIORS),
        *(pre.Split(" ", behavior, invert) for behavior in BEHAVIORS for invert in (False, True)),
        *(pre.Split(Regex(r"\w+|[^\w\s]+"), behavior, True) for behavior in BEHAVIORS),
        pre.Split(Regex(r"\b|\d"), "isolated"),
        pre.Split(Regex(r"[^\S\r\n]+"), "removed"),
        pre.Split(Regex(r"(?<=[a-z])(?=[A-Z])|^.|.$|\h{2}+"), "isolated"),
        pre.Split(Regex(r"[[:alpha:]]+|[[:digit:]]{2}|\p{Han}|\p{Greek}+|\p{^L}"), "isolated"),
        pre.Digits(individual_digits=True),
        pre.Digits(individual_digits=False),
        pre.Whitespace(),
        pre.WhitespaceSplit(),
        pre.BertPreTokenizer(),
        pre.CharDelimiterSplit("e"),
        pre.FixedLength(length=3),
    ],
    ids=repr,
)
def test_word_level_after_every_pre_tokenizer(
    pre_tokenizer: pre.PreTokenizer, word_level: str, lines: list[str], tmp_path: Path
) -> None:
    assert_alike(with_parts(word_level, pre_tokenizer=pre_tokenizer), tmp_path, lines)


@pytest.mark.parametrize("parts", [[], [pre.Digits(True), pre.Whitespace()]], ids=len)
def test_word_level_after_unicode_scripts(
    parts: list[pre.PreTokenizer], word_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_level, pre_tokenizer=pre.Sequence([pre.UnicodeScripts(), *parts]))
    # The library's scripts are those of Unicode 9, which lacks this character.
    old = [line for line in lines if "\U0001f9d1" not in line]
    assert_alike(tokenizer, tmp_path, old)


@pytest.mark.parametrize(
    "decoder",
    [
        None,
        decoders.BPEDecoder("e"),
        decoders.ByteFallback(),
        decoders.ByteLevel(),
        decoders.CTC("<pad>", "e", True),
        decoders.CTC("a", "|", False),
        decoders.Fuse(),
        decoders.Metaspace(prepend_scheme="never"),
        decoders.Replace(Regex(r"[aeiou]+"), "_"),
        decoders.Strip("▁", 1, 0),
        decoders.WordPiece("▁", cleanup=True),
        decoders.Sequence([decoders.Fuse(), decoders.Replace("▁", " "), decoders.Strip(" ", 2, 0)]),
        decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()]),
    ],
    ids=str,
)
def test_every_decoder(
    decoder: decoders.Decoder | None, byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    content = json.loads(byte_fallback)
    content["decoder"] = None
    tokenizer = Tokenizer.from_str(json.dumps(content))
    if decoder is not None:
        tokenizer.decoder = decoder
    assert_alike(tokenizer, tmp_path, [line for line in lines if tokenizer.encode(line).ids])


def added_tokens() -> list[AddedToken]:
    return [
        AddedToken("<mask>", lstrip=True, special=True, normalized=False),
        AddedToken("</s>", rstrip=True, special=True, normalized=False),
        AddedToken("<s>", special=True, normalized=True),
        AddedToken("the", single_word=True),
        AddedToken("THE END", normalized=True),
        AddedToken("é", normalized=True),
        AddedToken("  ", normalized=False),
        AddedToken("est", normalized=False, single_word=True, lstrip=True, rstrip=True),
        AddedToken("<0x41>", normalized=False),
        AddedToken("[MASK]", normalized=False, special=True, lstrip=True, rstrip=True),
    ]


@pytest.mark.parametrize("kind", ["byte_level", "byte_fallback", "word_piece", "unigram"])
def test_added_tokens_are_found_in_text(
    kind: str, lines: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tokenizer = Tokenizer.from_str(request.getfixturevalue(kind))
    tokenizer.add_tokens(added_tokens())
    tokenizer.add_special_tokens([AddedToken("🎉", special=True, normalized=False)])
    extra = [f"{a}<mask> {b}</s> the\u3000THE ENDthe {a}" for a, b in pairwise(lines[:2000])]
    assert_alike(tokenizer, tmp_path, lines + extra)


@pytest.mark.parametrize("kind", ["byte_level", "byte_fallback", "word_piece"])
def test_special_tokens_in_text_may_be_plain_text(
    kind: str, lines: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tokenizer = Tokenizer.from_str(request.getfixturevalue(kind))
    tokenizer.add_tokens(added_tokens())
    path = saved(tokenizer, tmp_path)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    texts = [f"{line} <mask> </s>[MASK] the <s>" for line in lines]
    answers = opened(path, ({"text": text, "special_tokens": "plain_text"} for text in texts))
    assert [answer["ids"] for answer in answers] == [tokenizer.encode(text).ids for text in texts]


def test_special_tokens_in_text_may_be_refused(byte_level: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    path = saved(tokenizer, tmp_path)
    refuse = {"special_tokens": "refuse"}
    found = opened(path, [{"text": "é</s>", **refuse}, {"text": "é", **refuse}])
    assert found[0]["error"] == "the text has the special token '</s>', at byte 2"
    assert found[1]["ids"] == tokenizer.encode("é").ids


@pytest.mark.parametrize(
    "post_processor",
    [
        None,
        template(),
        processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)),
        processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1)),
        processors.Sequence([processors.ByteLevel(trim_offsets=True), template()]),
        processors.TemplateProcessing(
            "$A:3 [SEP]:4 $A", "$B:1 [CLS] $A:2", [("[CLS]", 1), ("[SEP]", 2)]
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("settings", [{}, {"truncation": 12}, {"truncation": 12, "padding": 16}])
def test_pairs(
    post_processor: processors.PostProcessor | None,
    settings: dict[str, int],
    word_piece: str,
    lines: list[str],
    tmp_path: Path,
) -> None:
    tokenizer = Tokenizer.from_str(word_piece)
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    if "truncation" in settings:
        tokenizer.enable_truncation(settings["truncation"], stride=2)
    if "padding" in settings:
        tokenizer.enable_padding(
            direction="left", pad_id=4, pad_type_id=9, length=settings["padding"]
        )
    path = saved(tokenizer, tmp_path)
    texts = list(pairwise(lines[::2]))
    for special in (True, False):
        answers = opened(
            path,
            ({"text": a, "pair": b, "add_special_tokens": special} for a, b in texts),
        )
        for (a, b), answer in zip(texts, answers, strict=True):
            wanted = tokenizer.encode(a, b, add_special_tokens=special)
            assert answer["ids"] == wanted.ids, (a, b)
            assert answer["type_ids"] == wanted.type_ids, (a, b)
            assert answer["special_tokens_mask"] == wanted.special_tokens_mask, (a, b)
            assert answer["attention_mask"] == wanted.attention_mask, (a, b)
            assert [part["ids"] for part in answer["overflowing"]] == [
                part.ids for part in wanted.overflowing
            ], (a, b)


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("stride", [0, 3])
def test_truncation(
    direction: str, stride: int, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(
        byte_level, post_processor=processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    )
    tokenizer.enable_truncation(10, stride=stride, direction=direction)
    path = saved(tokenizer, tmp_path)
    assert_encodes_alike(tokenizer, path, lines)


@pytest.mark.parametrize("strategy", ["only_first", "only_second"])
def test_truncation_of_one_text_of_a_pair_fails_where_that_is_too_short(
    strategy: str, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(word_piece)
    tokenizer.enable_truncation(12, strategy=strategy)
    path = saved(tokenizer, tmp_path)
    texts = list(pairwise(lines[::4]))
    answers = opened(path, ({"text": a, "pair": b} for a, b in texts))
    failures = 0
    for (a, b), answer in zip(texts, answers, strict=True):
        try:
            wanted = tokenizer.encode(a, b).ids
        except Exception:
            assert "too many" in answer["error"]
            failures += 1
        else:
            assert answer["ids"] == wanted
    assert failures


@pytest.mark.parametrize("threads", [1, 4])
def test_batches_are_padded_together(
    threads: int, word_piece: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = with_parts(word_piece, post_processor=template())
    tokenizer.enable_padding(pad_id=4, pad_to_multiple_of=8)
    path = saved(tokenizer, tmp_path)
    batches = [lines[i : i + 100] for i in range(0, len(lines), 100)]
    requests = ({"batch": batch, "threads": threads, "offsets": True} for batch in batches)
    for batch, answers in zip(batches, opened(path, requests), strict=True):
        wanted = tokenizer.encode_batch(batch)
        for line, encoding, answer in zip(batch, wanted, answers, strict=True):
            assert answer == described(encoding, line)


def test_every_code_point_alone(word_piece: str, tmp_path: Path) -> None:
    """Where the libraries' Unicode tables differ, and nowhere else, results may."""
    tokenizer = with_parts(
        word_piece, normalizer=normalizers.NFKC(), pre_tokenizer=pre.Whitespace()
    )
    path = saved(tokenizer, tmp_path)
    lines = [f"a{chr(c)}b" for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    answers = opened(path, ({"text": line, "offsets": True} for line in lines))
    different = [
        ord(line[1])
        for line, encoding, answer in zip(
            lines, tokenizer.encode_batch(lines), answers, strict=True
        )
        if answer["ids"] != encoding.ids or answer["offsets"] != in_bytes(line, encoding.offsets)
    ]
    import unicodedata

    new = [c for c in different if unicodedata.ucd_3_2_0.category(chr(c)) == "Cn"]
    assert different == new


@pytest.mark.parametrize(
    ("part", "value", "name"),
    [
        ("normalizer", {"type": "Reverse"}, "normalizer: the normalizer 'Reverse' is not known"),
        ("pre_tokenizer", {"type": "Split9"}, "pre_tokenizer: the pre-tokenizer 'Split9'"),
        ("post_processor", {"type": "X"}, "post_processor: the post-processor 'X'"),
        ("decoder", {"type": "Y"}, "decoder: the decoder 'Y'"),
        (
            "decoder",
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Z"}]},
            "decoder.decoders[1]: the decoder 'Z'",
        ),
        ("version", "2.0", "the version '2.0'"),
        (
            "pre_tokenizer",
            {
                "type": "Split",
                "pattern": {"Regex": r"(a)\1"},
                "behavior": "Isolated",
                "invert": False,
            },
            r"uses '\1', which is not supported",
        ),
        (
            "pre_tokenizer",
            {
                "type": "Split",
                "pattern": {"Regex": "[a-z&&[^e]]"},
                "behavior": "Isolated",
                "invert": False,
            },
            "uses '&&', which is not supported",
        ),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    part: str, value: Any, name: str, word_piece: str, tmp_path: Path
) -> None:
    content = json.loads(word_piece)
    content[part] = value
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    (answer,) = run(path, [])
    assert name in answer["error"]
    assert answer["code"] == 2


def test_dropout_is_ignored_with_a_warning(
    byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_fallback)
    wanted = [tokenizer.encode(line).ids for line in lines[:100]]
    path = saved(changed(tokenizer, dropout=0.5), tmp_path)
    first, *answers = run(path, ({"text": line} for line in lines[:100]))
    assert "dropout" in first["warnings"][0]
    assert [answer["ids"] for answer in answers] == wanted
