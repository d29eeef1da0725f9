"""Added tokens of tokenizer.json: every flag, and what special ones in a text become."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, normalizers

from tests.python.tokenizer.compare import assert_alike, saved
from tests.python.tokenizer.tokenize_lines import opened

# In the vocabularies or not, in the sentences or in the generated lines.
CONTENTS = [
    "the", "est", "you", "à", "THE END", "  ", "<mask>", "é", "e\u0301", "中", "de ", " I", "▁",
    "ing", "\u0301", "<0x41>",
]  # fmt: skip
FLAGS = [*product((False, True), repeat=4)]


def token_of_every_kind(special: bool) -> list[AddedToken]:
    """Return a token for each combination of flags."""
    return [
        AddedToken(
            content,
            lstrip=lstrip,
            rstrip=rstrip,
            single_word=single_word,
            normalized=normalized,
            special=special,
        )
        for content, (lstrip, rstrip, single_word, normalized) in zip(CONTENTS, FLAGS, strict=True)
    ]


def usual_tokens() -> list[AddedToken]:
    return [
        AddedToken("<mask>", lstrip=True, special=True, normalized=False),
        AddedToken("</s>", rstrip=True, special=True, normalized=False),
        AddedToken("<s>", special=True, normalized=True),
        AddedToken("the", single_word=True),
        AddedToken("THE END", normalized=True),
        AddedToken("[MASK]", normalized=False, special=True, lstrip=True, rstrip=True),
    ]


def with_tokens_between(lines: list[str]) -> list[str]:
    """Return the lines, and some of them with added tokens among them."""
    between = [f"{a}<mask> {b}</s> the\u3000THE ENDthe {a}" for a, b in pairwise(lines[:1000])]
    return lines + between


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("kind", ["byte_level", "byte_fallback", "word_piece", "unigram"])
def test_tokens_with_every_flag_are_found(
    kind: str, special: bool, lines: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tokenizer = Tokenizer.from_str(request.getfixturevalue(kind))
    tokenizer.add_tokens(token_of_every_kind(special))
    assert_alike(tokenizer, tmp_path, with_tokens_between(lines))


@pytest.mark.parametrize(
    "normalizer",
    [normalizers.Lowercase(), normalizers.NFD(), normalizers.Prepend("▁"), normalizers.NFKC()],
    ids=repr,
)
def test_normalized_tokens_are_found_in_normalized_text(
    normalizer: normalizers.Normalizer, byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    tokenizer.normalizer = normalizer
    tokenizer.add_tokens([*token_of_every_kind(False)[1::2], *usual_tokens()])
    assert_alike(tokenizer, tmp_path, with_tokens_between(lines))


def test_of_tokens_that_normalize_to_one_text_the_first_is_found(
    byte_level: str, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_tokens(
        [
            AddedToken("covid", normalized=True),
            AddedToken("COVID", normalized=True, single_word=True),
            AddedToken("Rhône", normalized=True, single_word=True),
            AddedToken("rhône", normalized=True),
        ]
    )
    covid, rhone = (tokenizer.token_to_id(content) for content in ("covid", "Rhône"))
    drawn = {covid, tokenizer.token_to_id("COVID")}  # as its map of hashes has it
    texts = ["covid", "COVID", "xcovidx", "rhône", "xrhône"]
    answers = opened(saved(tokenizer, tmp_path), ({"text": text} for text in texts))
    ids = [set(answer["ids"]) for answer in answers]
    assert all(covid in each for each in ids[:3])
    assert rhone in ids[3]
    assert rhone not in ids[4], "it is no single word, and another token is not tried"
    assert drawn & set(tokenizer.encode("covid").ids)


@pytest.mark.parametrize("space", [" ", "  ", "\n", "\u3000"])
def test_white_space_that_a_token_has_taken_is_no_other_token(
    space: str, byte_level: str, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    tokenizer.add_tokens(
        [
            AddedToken("<m>", rstrip=True, normalized=False),
            AddedToken(space, lstrip=True, rstrip=True, normalized=False),
        ]
    )
    texts = [
        f"{before}{token}{between}{after}"
        for before in ("", "a", " \n ", "  ")
        for token in ("<m>", "<m> <m>", "b")
        for between in (space, 2 * space, 3 * space, f" {space} \n", "")
        for after in ("", "a", "<m>", f"x{space}{space}")
    ]
    assert_alike(tokenizer, tmp_path, texts)


@pytest.mark.parametrize("kind", ["byte_level", "byte_fallback", "word_piece"])
def test_special_tokens_in_text_may_be_plain_text(
    kind: str, lines: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tokenizer = Tokenizer.from_str(request.getfixturevalue(kind))
    tokenizer.add_tokens(usual_tokens())
    path = saved(tokenizer, tmp_path)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    texts = [f"{line} <mask> </s>[MASK] the <s>" for line in lines]
    answers = opened(path, ({"text": text, "special_tokens": "plain_text"} for text in texts))
    assert [a["ids"] for a in answers] == [e.ids for e in tokenizer.encode_batch(texts)]


def test_special_tokens_in_text_may_be_refused(
    byte_level: str, lines: list[str], tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_str(byte_level)
    path = saved(tokenizer, tmp_path)
    special = {id for id, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    texts = [*lines, *(f"{line}</s>{line}" for line in lines[:1000])]
    answers = opened(path, ({"text": text, "special_tokens": "refuse"} for text in texts))
    for text, answer, encoding in zip(texts, answers, tokenizer.encode_batch(texts), strict=True):
        if special.isdisjoint(encoding.ids):
            assert answer["ids"] == encoding.ids
        else:
            assert "the text has the special token" in answer["error"], text
    (answer,) = opened(path, [{"text": "é</s>", "special_tokens": "refuse"}])
    assert answer["error"] == "the text has the special token '</s>', at byte 2"
