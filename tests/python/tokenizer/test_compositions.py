"""The stages of well-known models' tokenizer.json, with vocabularies that are trained here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, processors
from tokenizers import pre_tokenizers as pre

from tests.python.tokenizer.compare import assert_alike, assert_encodes_pairs_alike, saved

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA_3 = (
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT_4O = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        + CONTRACTIONS
        + "?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        + CONTRACTIONS
        + "?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
DEEPSEEK_LLM = [
    r"[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
]
DEEPSEEK_V3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BYTES = pre.ByteLevel(add_prefix_space=False, use_regex=False)
SPLIT_BYTES = pre.ByteLevel(add_prefix_space=False)


def isolated(*expressions: str) -> list[pre.PreTokenizer]:
    return [pre.Split(Regex(expression), "isolated") for expression in expressions]


def bytes_after(*splits: pre.PreTokenizer) -> pre.PreTokenizer:
    return pre.Sequence([*splits, BYTES])


def starts_with(token: str, id: int) -> processors.PostProcessor:
    return processors.TemplateProcessing(f"{token} $A", f"{token} $A {token}:1 $B:1", [(token, id)])


def surrounded_by(start: str, end: str) -> processors.PostProcessor:
    tokens = [(start, 1), (end, 2)]
    single = f"{start} $A {end}"
    return processors.TemplateProcessing(single, f"{single} $B:1 {end}:1", tokens)


def special(*contents: str, **flags: bool) -> list[AddedToken]:
    return [AddedToken(content, special=True, normalized=False, **flags) for content in contents]


def spaces(most: int) -> list[AddedToken]:
    return [AddedToken(" " * i, normalized=False) for i in range(2, most)]


NEXT_TO_SPACE = normalizers.Replace(" ", "▁")
LLAMA_2_DECODER = decoders.Sequence(
    [
        decoders.Replace("▁", " "),
        decoders.ByteFallback(),
        decoders.Fuse(),
        decoders.Strip(" ", 1, 0),
    ]
)
GEMMA_DECODER = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
)

# The model, its settings, tokens to add, and the stages; byte-level decoding where none is said.
BYTE_LEVEL: dict[str, tuple[dict[str, Any], list[AddedToken], dict[str, Any]]] = {
    "GPT-2": (
        {},
        [],
        {"pre_tokenizer": SPLIT_BYTES, "post_processor": processors.ByteLevel(trim_offsets=False)},
    ),
    "RoBERTa": (
        {},
        special("<mask>", lstrip=True),
        {
            "pre_tokenizer": SPLIT_BYTES,
            "post_processor": processors.RobertaProcessing(("</s>", 1), ("<s>", 0), True, False),
        },
    ),
    "GPT-NeoX": (
        {},
        [*special("<|padding|>"), *spaces(25)],
        {"normalizer": normalizers.NFC(), "pre_tokenizer": SPLIT_BYTES},
    ),
    "ModernBERT": (
        {},
        [*spaces(25), *special("[UNK]", "[CLS]", "[SEP]"), *special("[MASK]", lstrip=True)],
        {
            "normalizer": normalizers.NFC(),
            "pre_tokenizer": SPLIT_BYTES,
            "post_processor": surrounded_by("[CLS]", "[SEP]"),
        },
    ),
    "BLOOM": (
        {},
        special("<unk>", "<pad>"),
        {
            "pre_tokenizer": bytes_after(*isolated(BLOOM)),
            "post_processor": processors.ByteLevel(trim_offsets=False),
        },
    ),
    "Falcon": (
        {},
        special(">>TITLE<<", ">>ABSTRACT<<"),
        {
            "pre_tokenizer": pre.Sequence(
                [
                    pre.Punctuation("contiguous"),
                    SPLIT_BYTES,
                    pre.Digits(individual_digits=False),
                    *isolated("[0-9][0-9][0-9]"),
                ]
            ),
            "post_processor": processors.ByteLevel(trim_offsets=True),
        },
    ),
    "StarCoder": (
        {},
        special("<fim_prefix>", "<fim_middle>"),
        {"pre_tokenizer": pre.Sequence([pre.Digits(individual_digits=True), SPLIT_BYTES])},
    ),
    "Llama 3": (
        {"ignore_merges": True},
        special("<|begin_of_text|>", "<|start_header_id|>"),
        {
            "pre_tokenizer": bytes_after(*isolated(LLAMA_3)),
            "post_processor": processors.Sequence(
                [processors.ByteLevel(trim_offsets=False), starts_with("<|begin_of_text|>", 3000)]
            ),
        },
    ),
    "Qwen 2": (
        {},
        special("<|im_start|>", "<|im_end|>"),
        {
            "normalizer": normalizers.NFC(),
            "pre_tokenizer": bytes_after(*isolated(QWEN_2)),
            "post_processor": processors.ByteLevel(trim_offsets=False),
        },
    ),
    "GPT-4o": (
        {"ignore_merges": True},
        special("<|return|>"),
        {"pre_tokenizer": bytes_after(*isolated(GPT_4O))},
    ),
    "DeepSeek LLM": (
        {},
        special("<｜begin▁of▁sentence｜>"),
        {
            "normalizer": normalizers.Sequence([]),
            "pre_tokenizer": pre.Sequence(
                [*isolated(*DEEPSEEK_LLM), pre.Digits(individual_digits=True), BYTES]
            ),
            "post_processor": starts_with("<｜begin▁of▁sentence｜>", 3000),
        },
    ),
    "DeepSeek V3": (
        {},
        special("<｜begin▁of▁sentence｜>"),
        {
            "pre_tokenizer": bytes_after(
                *isolated(r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3)
            ),
            "post_processor": processors.ByteLevel(trim_offsets=False),
        },
    ),
    "CLIP": (
        {"end_of_word_suffix": "</w>", "unk_token": "<|endoftext|>"},
        special("<|startoftext|>"),
        {
            "normalizer": normalizers.Sequence(
                [
                    normalizers.NFC(),
                    normalizers.Replace(Regex(r"\s+"), " "),
                    normalizers.Lowercase(),
                ]
            ),
            "pre_tokenizer": pre.Sequence(
                [pre.Split(Regex(CLIP), "removed", invert=True), SPLIT_BYTES]
            ),
            "post_processor": processors.RobertaProcessing(
                ("<|endoftext|>", 2), ("<|startoftext|>", 3000), False, False
            ),
        },
    ),
}
BYTE_FALLBACK: dict[str, tuple[dict[str, Any], list[AddedToken], dict[str, Any]]] = {
    "Llama 2": (
        {},
        [],
        {
            "normalizer": normalizers.Sequence([normalizers.Prepend("▁"), NEXT_TO_SPACE]),
            "pre_tokenizer": None,
            "post_processor": starts_with("<s>", 1),
            "decoder": LLAMA_2_DECODER,
        },
    ),
    "Mistral 7B": (
        {},
        special("[INST]", "[/INST]"),
        {
            "normalizer": None,
            "pre_tokenizer": pre.Metaspace("▁", "first", split=False),
            "post_processor": starts_with("<s>", 1),
            "decoder": LLAMA_2_DECODER,
        },
    ),
    "Gemma": (
        {},
        [*special("<bos>", "<start_of_turn>"), AddedToken("\n\n", normalized=False)],
        {
            "normalizer": NEXT_TO_SPACE,
            "pre_tokenizer": pre.Split(" ", "merged_with_previous"),
            "post_processor": starts_with("<bos>", 1500),
            "decoder": GEMMA_DECODER,
        },
    ),
}
WORD_PIECE: dict[str, tuple[dict[str, Any], list[AddedToken], dict[str, Any]]] = {
    "BERT": (
        {},
        [],
        {
            "normalizer": normalizers.BertNormalizer(),
            "post_processor": surrounded_by("[CLS]", "[SEP]"),
        },
    ),
    "cased BERT": (
        {},
        [],
        {
            "normalizer": normalizers.BertNormalizer(lowercase=False),
            "post_processor": processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)),
        },
    ),
    "MPNet": (
        {},
        special("<mask>", lstrip=True),
        {
            "normalizer": normalizers.BertNormalizer(),
            "post_processor": processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1)),
        },
    ),
}


def assert_composition_alike(
    content: str,
    composition: tuple[dict[str, Any], list[AddedToken], dict[str, Any]],
    folder: Path,
    lines: list[str],
) -> None:
    """Check a tokenizer with other settings, added tokens and stages, on lines and pairs."""
    settings, tokens, stages = composition
    file = json.loads(content)
    file["model"].update(settings)
    tokenizer = Tokenizer.from_str(json.dumps(file))
    for name, stage in stages.items():
        setattr(tokenizer, name, stage)
    tokenizer.add_tokens(tokens)
    contents = [token.content for token in tokens] or ["</s>", "<0x41>", "[MASK]"]
    between = [f"{line} {contents[i % len(contents)]} {line}" for i, line in enumerate(lines[::10])]
    assert_alike(tokenizer, folder, lines + between)
    assert_encodes_pairs_alike(tokenizer, saved(tokenizer, folder), lines[::5])


@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_tokens_of_bytes(name: str, byte_level: str, lines: list[str], tmp_path: Path) -> None:
    assert_composition_alike(byte_level, BYTE_LEVEL[name], tmp_path, lines)


@pytest.mark.parametrize("name", BYTE_FALLBACK)
def test_tokens_of_characters_and_bytes(
    name: str, byte_fallback: str, lines: list[str], tmp_path: Path
) -> None:
    assert_composition_alike(byte_fallback, BYTE_FALLBACK[name], tmp_path, lines)


@pytest.mark.parametrize("name", WORD_PIECE)
def test_pieces_of_words(name: str, word_piece: str, lines: list[str], tmp_path: Path) -> None:
    assert_composition_alike(word_piece, WORD_PIECE[name], tmp_path, lines)


@pytest.mark.parametrize("name", ["T5", "XLM-RoBERTa", "ALBERT"])
def test_probable_pieces(
    name: str,
    trained_sentence_piece: Callable[..., bytes],
    unigram: str,
    lines: list[str],
    tmp_path: Path,
) -> None:
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(trained_sentence_piece())
    charsmap = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
    one_space = normalizers.Replace(Regex(" {2,}"), " ")
    xlm_pair = "<s> $A </s> </s> $B </s>"
    ends = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    compositions: dict[str, tuple[list[AddedToken], dict[str, Any]]] = {
        "T5": (
            special("<extra_id_1>", "<extra_id_0>"),
            {
                "normalizer": charsmap,
                "pre_tokenizer": pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace()]),
                "post_processor": ends,
            },
        ),
        "XLM-RoBERTa": (
            special("<mask>", lstrip=True),
            {
                "normalizer": normalizers.Sequence([charsmap, one_space]),
                "pre_tokenizer": pre.Metaspace(),
                "post_processor": processors.TemplateProcessing(
                    "<s> $A </s>", xlm_pair, [("<s>", 0), ("</s>", 1)]
                ),
            },
        ),
        "ALBERT": (
            special("[MASK]", lstrip=True),
            {
                "normalizer": normalizers.Sequence(
                    [
                        normalizers.Replace("``", '"'),
                        normalizers.Replace("''", '"'),
                        normalizers.NFKD(),
                        normalizers.StripAccents(),
                        normalizers.Lowercase(),
                        charsmap,
                        one_space,
                    ]
                ),
                "pre_tokenizer": pre.Metaspace(),
                "post_processor": surrounded_by("[CLS]", "[SEP]"),
            },
        ),
    }
    tokens, stages = compositions[name]
    assert_composition_alike(unigram, ({}, tokens, stages), tmp_path, lines)
