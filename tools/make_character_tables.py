"""Writes src/chat_template/character_tables.cc.

Templates are rendered as Python does it, so that their tables of characters are Python's own.

    python -m tools.make_character_tables
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

PATH = Path(__file__).parents[1] / "src/chat_template/character_tables.cc"
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
_WIDTH = 100

# Besides Mn, Me, Cf, Lm and Sk: Word_Break is MidLetter, MidNumLet or Single_Quote.
_IGNORED_MARKS = (
    "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
)


def main() -> None:
    """Write the file."""
    assert unicodedata.unidata_version == "14.0.0", "the tests compare with Python 3.11"
    PATH.write_text("\n".join(_lines()) + "\n", encoding="utf-8")


def _lines() -> Iterator[str]:
    yield "// Written by tools/make_character_tables.py."
    yield "// clang-format off"
    yield '#include "chat_template/character_tables.h"'
    yield ""
    yield "#include <array>"
    yield "#include <span>"
    yield ""
    yield "namespace polystate::chat_template {"
    yield "namespace {"
    sets: dict[str, Callable[[str], bool]] = {
        "alphabetic": str.isalpha,
        "decimal": str.isdecimal,
        "digit": str.isdigit,
        "numeric": str.isnumeric,
        "unprintable": lambda c: not c.isprintable(),
        "uppercase": lambda c: c.isupper(),
        "lowercase": lambda c: c.islower(),
        "case_ignorable": _is_case_ignorable,
        "identifier_start": str.isidentifier,
        "identifier_part": lambda c: f"a{c}".isidentifier(),
    }
    for name, has in sets.items():
        yield from _array("CharacterRange", _constant(name), _ranges(filter(has, CHARACTERS)))
    maps = {"upper": str.upper, "lower": str.lower, "title": str.title}
    for name, change in maps.items():
        yield from _array("CaseRange", _constant(name), _case_ranges(change))
        yield from _array("CaseExpansion", _constant(name) + "Expansions", _expansions(change))
    yield ""
    yield "}  // namespace"
    yield ""
    for name in sets:
        yield f"std::span<const CharacterRange> {name}_ranges() {{ return {_constant(name)}; }}"
    for name in maps:
        yield (
            f"CaseTable {name}_table() {{ "
            f"return {{{_constant(name)}, {_constant(name)}Expansions}}; }}"
        )
    yield ""
    yield "}  // namespace polystate::chat_template"


def _constant(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def _is_case_ignorable(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Mn", "Me", "Cf", "Lm", "Sk"}
        or character in _IGNORED_MARKS
    )


def _ranges(characters: Iterable[str]) -> list[str]:
    found: list[list[int]] = []
    for code in map(ord, characters):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return [f"{{{first:#x}, {last:#x}}}" for first, last in found]


def _case_ranges(change: Callable[[str], str]) -> list[str]:
    """Runs of characters, each or every second, that are as far from what they become."""
    found: list[list[int]] = []  # first, last, step, difference
    for character in CHARACTERS:
        changed = change(character)
        if changed == character or len(changed) > 1:
            continue
        code, difference = ord(character), ord(changed) - ord(character)
        if found:
            first, last, step, before = found[-1]
            if difference == before and code - last in ({1, 2} if first == last else {step}):
                found[-1][1:3] = [code, code - last]
                continue
        found.append([code, code, 1, difference])
    return [f"{{{f:#x}, {t:#x}, {step}, {difference}}}" for f, t, step, difference in found]


def _expansions(change: Callable[[str], str]) -> list[str]:
    return [
        f"{{{ord(c):#x}, {{{', '.join(hex(ord(part)) for part in change(c))}}}}}"
        for c in CHARACTERS
        if len(change(c)) > 1
    ]


def _array(kind: str, name: str, elements: list[str]) -> Iterator[str]:
    yield ""
    yield f"constexpr std::array<{kind}, {len(elements)}> {name} = {{{{"
    line = "   "
    for element in elements:
        if len(line) + len(element) + 2 > _WIDTH:
            yield line
            line = "   "
        line += f" {element},"
    yield line
    yield "}};"


if __name__ == "__main__":
    main()
