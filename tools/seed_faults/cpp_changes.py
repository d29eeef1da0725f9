"""The faults that sources of C++ may have."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tools.seed_faults.cpp_code import Code
from tools.seed_faults.faults import Change

_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_OPPOSITES = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "+=": "-=", "-=": "+=", "*=": "+="}
_LOGIC = {"&&": "||", "||": "&&"}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<="}

# What follows them in brackets changes no result: text, memory, speed, or the compiler's own.
_QUIET = re.compile(
    r"Error|to_string|string|static_assert|assert|alignas|decltype"
    r"|reserve|shrink_to_fit|__builtin_prefetch|__attribute__|relax|yield"
)
# Functions of strings that are shown to users.
_TEXT_FUNCTION = re.compile(
    r"\bstd::string (\w*(message|label|_text)\w*|suggestion|shortened|in_quotes|refusal|described)$"
)
# How much is done at once, or by one thread.
_TUNING = re.compile(r"k(Block|Chunk|Group|Together|Few|Many|Watch|Looks)\w*|k\w*AThread")
# What gives the same, or an order as good, for swapped arguments, or takes none that are alike.
_NEVER_SWAPPED = re.compile(
    r"max|min|add|multiply|swap|exchange|overlap|equal|\w*compare"
    r"|(_mm\d*|__builtin)_(add|mul|max|min|or|and|xor)_\w+"
)
_NO_CALLS = {"if", "for", "while", "switch", "return", "sizeof", "catch", "noexcept", "operator"}
_NO_TYPES = {
    "return",
    "else",
    "new",
    "delete",
    "case",
    "goto",
    "using",
    "typename",
    "const",
    "auto",
}
_FLOATS = {"float", "double"}
_INTEGERS = re.compile(r"u?int\d*_t|s?size_t|ptrdiff_t|int|unsigned|TokenId")
_REFUSAL = re.compile(r"Error\b|[eE]rror\w*\(|\bfail\w*\(|\brefuse\w*\(")
_ERROR_FUNCTION = re.compile(r"^ *(?:\[\[nodiscard\]\] )?(?:static )?Error (\w+)\(", re.MULTILINE)


def changes(texts: Mapping[str, str]) -> Iterator[tuple[str, Change]]:
    """Give the changes of sources, by file, that may be faults."""
    errors = {name for text in texts.values() for name in _ERROR_FUNCTION.findall(text)}
    codes = {file: Code(text) for file, text in texts.items()}
    types = _types(codes.values())
    for file, code in codes.items():
        known = _Known(errors, {**types, **_types([code])})
        for change in _changes(code, known):
            yield file, change


@dataclass(frozen=True)
class _Known:
    """What sources declare.

    Attributes
    ----------
    errors
        The functions that give an ``Error``.
    types
        The types of names that have one throughout the file, or else throughout all sources.
    """

    errors: set[str]
    types: dict[str, str]


def _types(codes: Iterable[Code]) -> dict[str, str]:
    """Find the types of names that have one throughout sources."""
    types: dict[str, set[str]] = defaultdict(set)
    for code in codes:
        for name, declared in _declared_names(code):
            types[name].add(declared)
    return {name: each.pop() for name, each in types.items() if len(each) == 1}


def _changes(code: Code, known: _Known) -> Iterator[Change]:
    quiet = _quiet_tokens(code)
    for i, token in enumerate(code.tokens):
        if i in quiet:
            continue
        if token.kind == "sign" and code.is_spaced(i):
            yield from _operator(code, i)
        elif token.kind == "number":
            yield from _constant(code, i)
        elif token.text in ("true", "false"):
            other = "false" if token.text == "true" else "true"
            yield _replaced(code, "constant", i, i, other)
        elif token.text == "if" and code.at(i + 1) == "(":
            yield from _negated(code, i + 1)
            yield from _dropped_check(code, i, known.errors)
        elif token.text == "(":
            yield from _swapped_arguments(code, i, known.types)
    for first, last in code.statements():
        if not quiet.intersection(range(first, last)):
            yield from _dropped_statement(code, first, last)


def _replaced(code: Code, kind: str, first: int, last: int, replacement: str) -> Change:
    """Replace the tokens from one to another by others."""
    before = " ".join(code.source(first, last).split())
    text = f"'{before}' becomes '{replacement}'" if replacement else f"'{before}' is left out"
    return Change(kind, code.tokens[first].start, code.tokens[last].end, replacement, text)


def _quiet_tokens(code: Code) -> set[int]:
    """Find what only makes text, or decides about types, memory or speed."""
    quiet = set(code.of_template)
    for i, token in enumerate(code.tokens):
        if _QUIET.fullmatch(token.text) and code.at(i + 1) in ("(", "{"):
            closing = code.match[i + 1]
            joins = token.text == "to_string" or code.at(closing + 1) == "+"
            quiet.update(_statement_around(code, i) if joins else range(i, closing + 1))
        elif (
            token.text == "cache"
            or (token.kind == "string" and "+" in (code.at(i - 1), code.at(i + 1)))
            or (_TUNING.fullmatch(token.text) and code.at(i + 1) in ("=", "/"))
        ):
            quiet.update(_statement_around(code, i))
        elif token.text == "(" and _TEXT_FUNCTION.search(code.source(max(i - 4, 0), i - 1)):
            quiet.update(range(i, _end_of_body(code, i)))
        elif token.text == "[" and code.at(i + 1) == "[":
            quiet.update(range(i, code.match[i] + 1))
    return quiet


def _end_of_body(code: Code, bracket: int) -> int:
    """Find where the body of a function ends, or its declaration."""
    last = code.match[bracket] + 1
    return code.match[last] if code.at(last) == "{" else last


def _statement_around(code: Code, i: int) -> range:
    """Find the tokens of the statement that a token is in, or of its part between brackets."""
    first, last = i, i
    while first > 0 and code.at(first - 1) not in (";", "{", "}"):
        first -= 1
    while last < len(code.tokens) and code.at(last) not in (";", "{", "}"):
        last += 1
    return range(first, last)


def _operator(code: Code, i: int) -> Iterator[Change]:
    """Give what another operator of two operands does."""
    sign = code.at(i)
    if sign in _COMPARISONS and not _ends_a_loop_of_steps(code, i):
        # At the border, equal values are chosen from, or sorted.
        reverses = sign in _OPPOSITES and (_is_choice(code, i) or _is_of_one_name(code, i))
        other = _OPPOSITES[sign] if reverses else _COMPARISONS[sign]
        if sign == ">" and code.at(i + 1) == "0":
            other = "=="  # compilers refuse '>= 0' of what is never negative
        yield _replaced(code, "comparison", i, i, other)
    elif sign in _ARITHMETIC:
        yield _replaced(code, "arithmetic", i, i, _ARITHMETIC[sign])
    elif sign in _LOGIC and not _has_more_logic(code, i):
        yield _replaced(code, "condition", i, i, _LOGIC[sign])


def _has_more_logic(code: Code, i: int) -> bool:
    """Whether a condition has several ``&&`` or ``||``: compilers want brackets where both are."""
    statement = _statement_around(code, i)
    return any(
        code.at(j) in _LOGIC and code.inside[j] == code.inside[i] and j != i for j in statement
    )


def _ends_a_loop_of_steps(code: Code, i: int) -> bool:
    """Whether it is a ``for`` by ``+=`` that a comparison ends: the last step may be empty."""
    bracket = code.inside[i]
    if code.at(bracket) != "(" or code.at(bracket - 1) != "for":
        return False
    return any(code.at(j) == "+=" for j in range(i, code.match[bracket]))


def _is_choice(code: Code, i: int) -> bool:
    """Whether a comparison is the condition of ``?``."""
    for j in range(i + 1, len(code.tokens)):
        if code.inside[j] < code.inside[i] or code.at(j) in (";", ","):
            return False
        if code.inside[j] == code.inside[i] and code.at(j) == "?":
            return True
    return False


def _is_of_one_name(code: Code, i: int) -> bool:
    """Whether a comparison is one of ``a.name`` with ``b.name``, by which things are sorted."""
    last = i + 1
    while code.tokens[last].kind == "word" or code.at(last) in (".", "->"):
        last += 1
    return code.at(i - 1) == code.at(last - 1) and code.at(last - 2) in (".", "->")


def _constant(code: Code, i: int) -> Iterator[Change]:
    """Give the next integer; the length of an array may be larger, and so is left alone."""
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)([uUlLzZ]*)", code.at(i))
    is_length = code.at(i - 1) == "[" and code.at(i + 1) == "]" and _is_declared(code, i - 2)
    if found and not is_length:
        digits, suffix = found.groups()
        value = int(digits, 0) + 1
        other = f"0x{value:X}" if digits.startswith("0x") else str(value)
        yield _replaced(code, "constant", i, i, other + suffix)


def _is_declared(code: Code, i: int) -> bool:
    return code.tokens[i].kind == "word" and code.tokens[i - 1].kind == "word"


def _negated(code: Code, bracket: int) -> Iterator[Change]:
    """Give the opposite of an ``if``'s condition, after its declaration if it has one."""
    last = code.match[bracket] - 1
    first = last
    while first - 1 != bracket and code.at(first - 1) != ";":
        first -= 1
    declares = any(code.at(i) == "=" and code.inside[i] == bracket for i in range(first, last + 1))
    if not declares and code.is_one_line(first, last):
        yield _replaced(code, "condition", first, last, f"!({code.source(first, last)})")


def _dropped_check(code: Code, i: int, errors: set[str]) -> Iterator[Change]:
    """Leave out an ``if`` that only returns an error."""
    closing = code.match[i + 1]
    has_block = code.at(closing + 1) == "{"
    first = closing + 2 if has_block else closing + 1
    if code.at(first) != "return" or code.at(i - 1) == "else":
        return
    last = first
    while code.at(last) != ";" or code.inside[last] != code.inside[first]:
        last += 1
    end = last + 1 if has_block else last
    if code.at(end) not in ("}", ";") or last == first + 1:
        return
    returned = code.source(first + 1, last - 1)
    declared = code.at(closing - 1)
    refuses = (
        _REFUSAL.search(returned)
        or returned.partition("(")[0] in errors
        or (returned == declared and code.at(closing - 2) == "!")
    )
    if refuses and code.at(end + 1) != "else":
        yield _replaced(code, "dropped check", i, end, "")


def _dropped_statement(code: Code, first: int, last: int) -> Iterator[Change]:
    """Leave out a call or an assignment."""
    end = _end_of_chain(code, first + 1 if code.at(first) == "*" else first)
    is_call = end == last and code.at(last - 1) == ")"
    if code.is_one_line(first, last) and (is_call or code.at(end) in _ASSIGNMENTS):
        replacement = "" if code.at(first - 1) in ("{", ";", "}") else "{}"
        yield _replaced(code, "dropped statement", first, last, replacement)


def _end_of_chain(code: Code, i: int) -> int:
    """Find where ``a.b(c)->d[e]`` ends; two names are neighbours in declarations alone."""
    after_name = False
    while i < len(code.tokens):
        token = code.tokens[i]
        if token.kind == "word" and not after_name and token.text not in _NO_CALLS | _NO_TYPES:
            after_name = True
        elif token.text in (".", "->", "::"):
            after_name = False
        elif after_name and i in code.match and token.text in ("(", "[", "<"):
            i = code.match[i]
        else:
            break
        i += 1
    return i


def _swapped_arguments(code: Code, bracket: int, types: dict[str, str]) -> Iterator[Change]:
    """Swap neighbouring arguments that are names or numbers of one type."""
    last = bracket - 1
    name = code.at(code.match[last] - 1 if last in code.of_template else last)
    if not name.isidentifier() or name in _NO_CALLS or _NEVER_SWAPPED.fullmatch(name):
        return
    arguments = _arguments(code, bracket)
    for (a, b), (c, d) in pairwise(arguments):
        left, right = code.source(a, b), code.source(c, d)
        of_left, of_right = _type_of(code, a, b, types), _type_of(code, c, d, types)
        if left != right and of_left and of_left == of_right and code.is_one_line(a, d):
            between = code.text[code.tokens[b].end : code.tokens[c].start]
            yield _replaced(code, "argument", a, d, right + between + left)


def _arguments(code: Code, bracket: int) -> list[tuple[int, int]]:
    """Find the first and the last token of each argument of a call."""
    closing = code.match[bracket]
    commas = [
        i
        for i in range(bracket + 1, closing)
        if code.at(i) == "," and code.inside[i] == bracket and i not in code.of_template
    ]
    ends = [*commas, closing]
    starts = [bracket, *commas]
    return [(s + 1, e - 1) for s, e in zip(starts, ends, strict=True) if s + 1 <= e - 1]


def _declared_names(code: Code) -> Iterator[tuple[str, str]]:
    """Give the names that a source declares, and their types."""
    for i, token in enumerate(code.tokens):
        if token.kind == "word" and code.at(i + 1) in (",", ")", ";", "=", "{", ":"):
            declared = _declared_type(code, i - 1)
            if declared:
                yield token.text, declared


def _declared_type(code: Code, i: int) -> str:
    """Return the type that ends with a token, empty where there is none."""
    marks = ""
    while code.at(i) in ("*", "&", "const"):
        marks += code.at(i).replace("const", "").replace("&", "")
        i -= 1
    if code.at(i) == ">" and i in code.match:
        start = code.match[i]
        return code.source(start - 1, i) + marks
    if i < 0 or code.tokens[i].kind != "word" or code.at(i) in _NO_TYPES:
        return ""
    return _kind_of_number(code.at(i)) + marks


def _kind_of_number(type_name: str) -> str:
    if type_name in _FLOATS:
        return "float"
    return "integer" if _INTEGERS.fullmatch(type_name) else type_name


def _type_of(code: Code, first: int, last: int, types: dict[str, str]) -> str:
    """Return the type of a simple argument, empty where it is unknown."""
    if first == last and code.tokens[first].kind == "number":
        return "float" if "." in code.at(first) else "integer"
    if _end_of_chain(code, first) != last + 1 or code.at(last) in (")", "]"):
        return ""
    return types.get(code.at(last), "")
