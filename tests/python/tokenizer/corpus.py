"""Lines to compare tokenizers on: sentences, and generated text of many scripts."""

from __future__ import annotations

import random
from pathlib import Path

SENTENCES = Path(__file__).parents[2] / "data" / "tatoeba" / "sentences.tsv"

# Letters that Unicode had before version 9, which every library's tables agree on.
SCRIPTS = [
    (0x61, 0x7A),
    (0x41, 0x5A),
    (0xC0, 0xFF),
    (0x100, 0x17F),
    (0x391, 0x3C9),
    (0x410, 0x44F),
    (0x531, 0x556),
    (0x5D0, 0x5EA),
    (0x620, 0x64A),
    (0x905, 0x939),
    (0xE01, 0xE30),
    (0x10D0, 0x10FA),
    (0x1100, 0x1112),
    (0x1E00, 0x1EFF),
    (0x1F00, 0x1F15),
    (0x3041, 0x3096),
    (0x30A1, 0x30FA),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFA2D),
    (0xFB00, 0xFB06),
    (0xFF01, 0xFF5E),
    (0x10400, 0x1044F),
    (0x1D400, 0x1D454),
    (0x20000, 0x20100),
]
EMOJI = [
    "😀", "🎉", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "🇩🇪🇯🇵", "❤️", "✈︎", "1️⃣", "#️⃣", "🧑🏿‍🚀", "☃", "🤷‍♀️",
]  # fmt: skip
MARKS = [chr(c) for c in (0x300, 0x301, 0x308, 0x323, 0x327, 0x345, 0x5B0, 0x64B, 0x93C, 0x20DD)]
SPACES = [*" \t\n\r\x0b\x0c\x85\xa0\u1680\u2003\u2009\u2028\u2029\u202f\u3000", "  ", "\r\n"]
CONTROLS = list("\x01\x07\x1b\x7f\x8f\x9f\xad\u200b\u200d\u200e\u2060\ufeff\ufffd\ue000\ufff9")
SNIPPETS = [
    "can't", "I'LL", "we've", "'s", "don’t", "x' y", "1234567", "3.14", "٣٤٥", "Ⅷ", "½", "²",
    "中1a文", "a_b-c", "http://a.b/c?d=e&f", "C++", "#!/bin/sh", "$€£¥", "«»„“", "...", "!!!",
    "—", "▁", "a▁b", "▁▁", "Ġ", "<0x41>", "<unk>", "<s>", "</s>", "[MASK]", "[CLS]", "ﬁ", "ǅ",
    "İ", "ı", "ß", "ẞ", "Σίσυφος", "ſ", "K", "Å", "가", "각", "한국", "ﷺ", "㍻", "㈱", "ｶﾞ",
    "か゛", "க்ஷி", "नमस्ते", "क्ष", "ประเทศ", "𝕳𝖊", "e\u0301\u0323", "\u0344", "\u0958",
]  # fmt: skip


def sentences() -> list[str]:
    """Return 5,000 sentences, English and French."""
    rows = SENTENCES.read_text(encoding="utf-8").splitlines()
    return [text for row in rows for text in row.split("\t")]


def word(draw: random.Random) -> str:
    """Return a made-up word, or something else that stands between spaces."""
    kind = draw.random()
    if kind < 0.5:
        low, high = draw.choice(SCRIPTS)
        return "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 8)))
    if kind < 0.6:
        return draw.choice(EMOJI) * draw.randint(1, 2)
    if kind < 0.7:
        letters = "".join(draw.choice("aeiouAEIOU한") for _ in range(draw.randint(1, 4)))
        return "".join(c + "".join(draw.sample(MARKS, draw.randint(0, 3))) for c in letters)
    if kind < 0.75:
        return draw.choice(CONTROLS)
    if kind < 0.8:
        return "".join(chr(draw.randint(0x20, 0x7E)) for _ in range(draw.randint(1, 12)))
    return draw.choice(SNIPPETS)


def generated(count: int, seed: int) -> list[str]:
    """Return lines of made-up words with spaces of many kinds."""
    draw = random.Random(seed)
    lines = [
        "",
        " ",
        "  ",
        "\n",
        "a",
        "é",
        "\u0301",
        "▁",
        "\u0000",
        "a" * 300,
        " " * 70,
        "ab " * 40,
    ]
    while len(lines) < count:
        line = ""
        for _ in range(draw.randint(1, 10)):
            line += word(draw)
            gap = draw.random()
            line += " " if gap < 0.6 else draw.choice(SPACES) if gap < 0.8 else ""
        lines.append(line)
    return lines[:count]


def lines() -> list[str]:
    """Return 10,000 lines: sentences, and as many generated ones."""
    return sentences() + generated(5000, seed=11)


def sampled() -> list[str]:
    """Return every fifth sentence, and the first fifth of the generated lines."""
    return sentences()[::5] + generated(1000, seed=11)
