"""Writes src/tokenizer/unicode/tables.cc and src/tokenizer/regex/newer_characters.cc.

Each operation of a tokenizer has the version of Unicode that its counterpart in the `tokenizers`
package has: Rust's standard library, the crates unicode-normalization-alignments,
unicode_categories and unicode-segmentation, and Oniguruma differ from one another. So their tables
are found by asking the package itself (tools/requirements.txt pins it; Apache-2.0) of every code
point, and `tiktoken` (MIT) for the cases of Rust's regex, which are Oniguruma's. Python's own
`unicodedata` gives the values that do not change once they are assigned, combining classes, pairs
that compose and foldings of cases, and says what PCRE2 of Debian 12 knows: both are of Unicode 14.

    python -m tools.make_unicode_tables
"""

from __future__ import annotations

import io
import re
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import sentencepiece
import tiktoken
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, normalizers
from tokenizers import pre_tokenizers as pre

ROOT = Path(__file__).parents[1] / "src/tokenizer"
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
_HANGUL = range(0xAC00, 0xD7A4)
_HIGHEST_MARK = "\u0345"  # of the largest combining class, 240
_WIDTH = 100

# Properties whose characters the regular expressions of tokenizers ask for.
_CATEGORIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cf Co"
)
_BINARY = (
    "Alphabetic Lowercase Uppercase Ideographic Emoji Emoji_Presentation Emoji_Modifier_Base "
    "Extended_Pictographic"
)

# Scripts whose characters have cases, and those of characters that many scripts have.
_CASED_SCRIPTS = (
    "Adlam Armenian Cherokee Common Coptic Cyrillic Deseret Garay Georgian Glagolitic Greek "
    "Inherited Latin Medefaidrin Old_Hungarian Osage Vithkuqi Warang_Citi"
)
_MOST_OTHERS = 8  # other cases of a property's characters that are listed

# Characters that were there, and got a property after Unicode 14.
_LATER = {
    "Alphabetic": [
        *range(0x363, 0x370),
        *(0xC04, 0xF82, 0xF83),
        *range(0x1DD3, 0x1DE7),
        *(0x11080, 0x11081),
    ],
    "Lowercase": [0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69],
}


def main() -> None:
    """Write both files."""
    assert unicodedata.unidata_version == "14.0.0", "Python 3.11 has the tables of Debian's PCRE2"
    _write(ROOT / "unicode/tables.cc", _tables())
    _write(ROOT / "regex/newer_characters.cc", _newer_characters())


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _tables() -> Iterator[str]:
    yield from _head("tokenizer/unicode/tables.h", ["array", "span"])
    yield ""
    yield "namespace polystate::tokenizer {"
    yield "namespace {"
    sets = {
        "kNumeric": _splits(pre.Digits()),
        "kPunctuation": _splits(pre.Punctuation()),
        "kMarks": _removed(normalizers.StripAccents()),
        "kBertMarks": _removed(_bert(strip_accents=True)),
        "kBertControls": _removed(_bert(clean_text=True)),
    }
    for name, members in sets.items():
        yield from _ranges(name, members)
    yield from _array("ScriptRange", "kScripts", _script_ranges())
    yield ""
    yield "using enum GraphemeClass;"
    yield from _array("GraphemeRange", "kGraphemes", _grapheme_ranges())
    lower = _changed(normalizers.Lowercase())
    lower.pop("\u0130")  # the only one that becomes two
    pairs = [f"{{{_hex(c)},{_hex(to)}}}" for c, to in lower.items()]
    yield from _array("CodePointPair", "kLowerCase", pairs)
    yield from _array("CaseFolding", "kFoldings", _case_foldings())
    classes = [(c, unicodedata.combining(c)) for c in CHARACTERS if _is_mark(c)]
    yield from _array("CombiningClass", "kClasses", [f"{{{_hex(c)},{n}}}" for c, n in classes])
    canonical, compatible = _changed(normalizers.NFD()), _changed(normalizers.NFKD())
    parts: list[str] = []
    for name, found in (("kCanonical", canonical), ("kCompatible", compatible)):
        entries = []
        for character, text in found.items():
            if ord(character) not in _HANGUL:
                entries.append(f"{{{_hex(character)},{len(parts)},{len(text)}}}")
                parts += text
        yield from _array("Decomposition", name, entries)
    yield from _array("char32_t", "kParts", [_hex(part) for part in parts])
    yield from _array("Composition", "kCompositions", _compositions(canonical))
    yield "}  // namespace"
    yield ""
    for function, name in (
        ("numeric_ranges", "kNumeric"),
        ("punctuation_ranges", "kPunctuation"),
        ("mark_ranges", "kMarks"),
        ("bert_mark_ranges", "kBertMarks"),
        ("bert_control_ranges", "kBertControls"),
    ):
        yield f"std::span<const CodePointRange> {function}() {{ return {name}; }}"
    for kind, function, name in (
        ("ScriptRange", "script_ranges", "kScripts"),
        ("GraphemeRange", "grapheme_ranges", "kGraphemes"),
        ("CodePointPair", "lower_cases", "kLowerCase"),
        ("CaseFolding", "case_foldings", "kFoldings"),
        ("CombiningClass", "combining_classes", "kClasses"),
        ("Decomposition", "canonical_decompositions", "kCanonical"),
        ("Decomposition", "compatible_decompositions", "kCompatible"),
        ("char32_t", "decomposition_parts", "kParts"),
        ("Composition", "compositions", "kCompositions"),
    ):
        yield f"std::span<const {kind}> {function}() {{ return {name}; }}"
    yield ""
    yield "}  // namespace polystate::tokenizer"


def _newer_characters() -> Iterator[str]:
    """The characters of each property that PCRE2 may not know, between its brackets."""
    yield from _head("tokenizer/regex/newer_characters.h", ["array", "span"])
    yield ""
    yield "namespace polystate::tokenizer {"
    yield "namespace {"
    yield ""
    entries = []
    for name in [*_CATEGORIES.split(), *_BINARY.split(), *_scripts()]:
        every = _matched(rf"\p{{{name}}}")
        later = _LATER.get(name, [])
        newer = [c for c in every if unicodedata.category(c) == "Cn" or ord(c) in later]
        if newer:
            kind = "true" if newer == every else "false"
            key = name.replace("_", "").lower()
            entries += [f'{{"{key}", {kind},', *_quoted(newer), "},"]
    for name in ("Cn", "C"):
        outside = set(CHARACTERS) - set(_matched(rf"\p{{{name}}}"))
        newer = sorted(c for c in outside if unicodedata.category(c) == "Cn")
        entries += [f'{{"not {name.lower()}", false,', *_quoted(newer), "},"]
    count = sum(entry.startswith("{") for entry in entries)
    yield f"constexpr std::array<NewerCharacters, {count}> kNewer = {{{{"
    yield from entries
    yield "}};"
    others = list(_other_cases())
    yield ""
    count = sum(entry.startswith("{") for entry in others)
    yield f"constexpr std::array<OtherCases, {count}> kOthers = {{{{"
    yield from others
    yield "}};"
    yield from _array("NewerCase", "kNewerCases", _newer_cases())
    yield ""
    yield "}  // namespace"
    yield ""
    yield "std::span<const NewerCharacters> newer_characters() { return kNewer; }"
    yield "std::span<const OtherCases> other_cases() { return kOthers; }"
    yield "std::span<const NewerCase> newer_cases() { return kNewerCases; }"
    yield ""
    yield "}  // namespace polystate::tokenizer"


def _head(header: str, includes: Sequence[str]) -> Iterator[str]:
    yield "// Written by tools/make_unicode_tables.py from the package `tokenizers`."
    yield "// clang-format off"
    yield f'#include "{header}"'
    yield ""
    yield from (f"#include <{name}>" for name in includes)


def _bert(**parts: bool) -> normalizers.Normalizer:
    nothing = {
        "clean_text": False,
        "handle_chinese_chars": False,
        "strip_accents": False,
        "lowercase": False,
    }
    return normalizers.BertNormalizer(**{**nothing, **parts})


def _splits(pre_tokenizer: pre.PreTokenizer) -> list[str]:
    """The characters that are not left together with a letter before them."""
    return [c for c in CHARACTERS if len(pre_tokenizer.pre_tokenize_str("a" + c)) > 1]


def _removed(normalizer: normalizers.Normalizer) -> list[str]:
    """The characters beyond ASCII that a normalizer takes away."""
    return [c for c in CHARACTERS[0x80:] if normalizer.normalize_str("a" + c) == "a"]


def _changed(normalizer: normalizers.Normalizer) -> dict[str, str]:
    texts = ((c, normalizer.normalize_str(c)) for c in CHARACTERS[0x80:])
    return {c: text for c, text in texts if text != c}


def _script_ranges() -> list[str]:
    """Which characters the library puts into one script, by numbers of our own."""
    pre_tokenizer = pre.UnicodeScripts()

    def are_one(first: str, second: str) -> bool:
        return len(pre_tokenizer.pre_tokenize_str(first + second)) == 1

    members: list[str] = []  # one of each script
    ranges: list[tuple[int, int, int]] = []
    for character in CHARACTERS:
        if are_one("a", character) and are_one("\u03b1", character):
            continue  # of no script
        code = ord(character)
        if ranges and are_one(members[ranges[-1][2]], character):
            script = ranges[-1][2]
        else:
            same = (i for i, member in enumerate(members) if are_one(member, character))
            script = next(same, len(members))
        if script == len(members):
            members.append(character)
        if ranges and ranges[-1][1:] == (code - 1, script):
            ranges[-1] = (ranges[-1][0], code, script)
        else:
            ranges.append((code, code, script))
    return [f"{{0x{first:X},0x{last:X},{script + 1}}}" for first, last, script in ranges]


# What the map of _charsmap replaces: letters of one and of two bytes, a mark, and one character of
# each class that begins a cluster in some places alone.
_REPLACED = "A\u00e9\u0340\u0915\u1100\u1161\u11a8\u2600"


def _charsmap() -> Callable[[str], str]:
    """Return Precompiled with a map of _REPLACED to letters, as SentencePiece compiles it."""
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.tsv")
        lines = (f"{ord(c):X}\t{ord('a') + i:X}\n" for i, c in enumerate(_REPLACED))
        rules.write_text("".join(lines), encoding="ascii")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a few letters"]),
            model_writer=model,
            model_type="char",
            vocab_size=15,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(rules),
            minloglevel=2,
        )
    proto = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    proto.ParseFromString(model.getvalue())
    return normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap).normalize_str


def _grapheme_class() -> Callable[[str], str]:
    """Return what finds the class of a character, but of those of ASCII that are printed.

    A cluster of fewer than six bytes becomes what its first character does, and loses the rest. So
    a mark that stays shows that the character before it did not begin a cluster.
    """
    normalize = _charsmap()

    def joins(text: str, character: str) -> bool:
        return normalize(f"{text}{character}\u0301").endswith("\u0301")

    def after_letter(c: str) -> str:
        """Return that of one that begins no cluster after a letter."""
        if joins(f"\u2600{c}", "\u2600"):
            return "kJoiner"
        if joins(f"\u0915{c}", "\u0915"):
            return "kConjunctLinker"
        if joins(f"\u0915\u094d{c}", "\u0915"):
            return "kConjunctExtend"
        return "kExtend" if joins(f"\u2600{c}\u200d", "\u2600") else "kSpacingMark"

    def class_of(c: str) -> str:
        if normalize(f"A{c}") == "a":
            return after_letter(c)
        followers = "".join(f for f in "\u0340\u00e9\u1100\u1161\u11a8" if joins(c, f))
        found = {
            "": "kControl",
            "\u0340\u00e9\u1100\u1161\u11a8": "kPrepend",
            "\u0340\u1100\u1161": "kHangulL",
            "\u0340\u1161\u11a8": "kHangulV",
            "\u0340\u11a8": "kHangulT",
        }.get(followers)
        if found:
            return found
        assert followers == "\u0340", f"U+{ord(c):04X} is of a class that is not known"
        if joins(f"{c}\u094d", "\u0915"):
            return "kConjunctConsonant"
        return "kPictographic" if joins(f"{c}\u200d", "\u2600") else "kOther"

    return class_of


def _grapheme_ranges() -> list[str]:
    """Which characters clusters are made of, but those that the rules compute."""
    class_of = _grapheme_class()
    members: dict[str, list[str]] = {}
    for character in CHARACTERS:
        if not " " <= character <= "~" and ord(character) not in _HANGUL:
            members.setdefault(class_of(character), []).append(character)
    ranges = sorted(
        (first, last, kind)
        for kind, characters in members.items()
        if kind != "kOther"
        for first, last in _runs(characters)
    )
    return [f"{{0x{first:X},0x{last:X},{kind}}}" for first, last, kind in ranges]


def _is_mark(character: str) -> bool:
    """Whether the library's forms put a character into the order of its combining class."""
    if character == _HIGHEST_MARK:
        return True
    if unicodedata.combining(character) == 0:
        return False
    return (
        not normalizers.NFD()
        .normalize_str(f"a{_HIGHEST_MARK}{character}")
        .startswith(f"a{_HIGHEST_MARK}")
    )


def _compositions(canonical: Iterable[str]) -> list[str]:
    """The pairs that the library composes, in order."""
    compose: Callable[[str], str] = normalizers.NFC().normalize_str
    pairs = []
    for character in canonical:
        codes = unicodedata.decomposition(character).split()
        if ord(character) in _HANGUL or len(codes) != 2:
            continue
        first, second = (chr(int(code, 16)) for code in codes)
        if compose(first + second) == character:
            pairs.append((first, second, character))
    return [f"{{{_hex(a)},{_hex(b)},{_hex(c)}}}" for a, b, c in sorted(pairs)]


def _matched(expression: str) -> list[str]:
    """The characters that an expression of Oniguruma matches."""
    text = "".join(CHARACTERS)
    rest = pre.Split(Regex(expression), "removed").pre_tokenize_str(text)
    left = {place for _, (begin, end) in rest for place in range(begin, end)}
    return [c for place, c in enumerate(CHARACTERS) if place not in left]


_CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.casefold)


def _cased() -> list[str]:
    """The characters that have another case."""
    lowered = normalizers.Lowercase().normalize_str
    found = set()
    for character in CHARACTERS:
        for case in (*_CASES, lowered):
            other = case(character)
            if other != character:
                found |= {character, *other}
    return sorted(found)


def _matched_by_rust(expression: str, characters: list[str]) -> list[str]:
    """Those that an expression of Rust's regex matches."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    return list(bytes(encoding.encode_ordinary("".join(characters))).decode())


def _newer_cases() -> list[str]:
    """The pairs that are equal without regard to case for Rust's regex, and not for PCRE2."""

    def were_equal(a: str, b: str) -> bool:
        return any(len(case(a)) == 1 and case(a) == case(b) for case in _CASES)

    cased = _cased()
    return [
        f"{{{_hex(c)},{_hex(other)}}}"
        for c in cased
        for other in _matched_by_rust(f"(?i:{re.escape(c)})", cased)
        if other != c and not were_equal(c, other)
    ]


def _other_cases() -> Iterator[str]:
    """What Rust's regex takes for characters of each property when it ignores case."""
    cased = _cased()
    for name in ["LC", *_CATEGORIES.split(), *_BINARY.split(), *_CASED_SCRIPTS.split()]:
        strictly = {*_matched_by_rust(rf"\p{{{name}}}", cased)}
        others = [c for c in _matched_by_rust(rf"(?i:\p{{{name}}})", cased) if c not in strictly]
        if others:
            key = name.replace("_", "").lower()
            yield f'{{"{key}",'
            yield from _quoted(others) if len(others) <= _MOST_OTHERS else ['""']
            yield "},"


def _case_foldings() -> list[str]:
    """Foldings of several characters, and of one that is in them."""
    folded = {c: c.casefold() for c in CHARACTERS if c.casefold() != c}
    several = {part for text in folded.values() if len(text) > 1 for part in text}
    return [
        f"{{{_hex(c)},{{{','.join(map(_hex, text))}}}}}"
        for c, text in folded.items()
        if len(text) > 1 or text in several
    ]


def _scripts() -> list[str]:
    """The scripts that have new characters, as Oniguruma knows them."""
    found = []
    for name in _SCRIPTS.split():
        try:
            Regex(rf"\p{{{name}}}")
        except Exception:  # Oniguruma has no such script
            continue
        found.append(name)
    return found


_SCRIPTS = (
    "Arabic Armenian Balinese Bengali Bopomofo Common Cyrillic Devanagari Duployan "
    "Egyptian_Hieroglyphs Ethiopic Garay Georgian Glagolitic Grantha Greek Gujarati Gurmukhi "
    "Gurung_Khema Han Hangul Hebrew Hiragana Inherited Kaithi Kannada Katakana Kawi Khmer Khojki "
    "Kirat_Rai Lao Latin Malayalam Meetei_Mayek Mongolian Myanmar Nag_Mundari Ol_Onal Oriya "
    "Sinhala Sunuwar Syriac Tamil Telugu Thai Tibetan Todhri Tulu_Tigalari"
)


def _runs(characters: Iterable[str]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in map(ord, characters):
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _ranges(name: str, characters: Iterable[str]) -> Iterator[str]:
    entries = [f"{{0x{first:X},0x{last:X}}}" for first, last in _runs(characters)]
    return _array("CodePointRange", name, entries)


def _array(kind: str, name: str, entries: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"constexpr std::array<{kind}, {len(entries)}> {name} = {{{{"
    yield from _filled(entries, ",", 0)
    yield "}};"


def _quoted(characters: Iterable[str]) -> Iterator[str]:
    escapes = [
        rf"\x{{{first:X}}}" + (rf"-\x{{{last:X}}}" if last > first else "")
        for first, last in _runs(characters)
    ]
    for line in _filled(escapes, "", 6):
        yield f'R"({line})"'


def _filled(entries: Sequence[str], end: str, margin: int) -> Iterator[str]:
    """Entries in lines."""
    line = ""
    for entry in entries:
        if len(line) + len(entry) + len(end) > _WIDTH - margin:
            yield line
            line = ""
        line += entry + end
    if line:
        yield line


def _hex(character: str) -> str:
    return "".join(f"0x{ord(c):X}" for c in character)


if __name__ == "__main__":
    main()
