"""Writes src/tokenizer/unicode/tables.cc and src/tokenizer/regex/newer_characters.cc.

Each operation of a tokenizer has the version of Unicode that its counterpart in the `tokenizers`
package has: Rust's standard library, the crates unicode-normalization-alignments and
unicode_categories, and Oniguruma differ from one another. So their tables are found by asking the
package itself (tools/requirements.txt pins it; Apache-2.0) of every code point. Python's own
`unicodedata` gives the values that do not change once they are assigned, combining classes and
pairs that compose, and says what PCRE2 of Debian 12 knows: both are of Unicode 14.

    python -m tools.make_unicode_tables
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

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
    lower = _changed(normalizers.Lowercase())
    lower.pop("\u0130")  # the only one that becomes two
    pairs = [f"{{{_hex(c)},{_hex(to)}}}" for c, to in lower.items()]
    yield from _array("CodePointPair", "kLowerCase", pairs)
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
        ("CodePointPair", "lower_cases", "kLowerCase"),
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
    yield ""
    yield "}  // namespace"
    yield ""
    yield "std::span<const NewerCharacters> newer_characters() { return kNewer; }"
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
