"""C++ as tokens, brackets and statements, as far as the project's format needs it.

The format is clang-format's: an operator between two operands has a space on both sides, and the
brackets of a template have not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<nothing> \s+ | //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]* )
  | (?P<string> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"
              | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*' )
  | (?P<number> \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<sign> <=> | -> | \.\.\. | \+\+ | -- | <<= | << | [-+*/%<>=!&|^]= | && | \|\| | :: | . )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
# What stands before a function's body, or a block in one.
_BEFORE_CODE = {")", "]", "}", ";", ":", "else", "do", "const", "override", "noexcept", "mutable"}
_CONTROL = {"if", "for", "while", "switch", "constexpr"}


@dataclass(frozen=True)
class Token:
    """A token of the kind ``string``, ``number``, ``word`` or ``sign``, and where it is."""

    kind: str
    text: str
    start: int
    end: int


class Code:
    """The tokens of a source, without comments and lines of the preprocessor.

    Attributes
    ----------
    match
        The other bracket of each bracket, also of templates', by index.
    inside
        The innermost open bracket around each token, -1 outside of all; a bracket is not inside
        itself. Those of templates do not count.
    of_template
        Which tokens are between the brackets of a template.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            Token(found.lastgroup or "", found.group(), *found.span())
            for found in _TOKEN.finditer(text)
            if found.lastgroup not in ("nothing", None)
        ]
        self.match: dict[int, int] = {}
        self.inside: list[int] = []
        self.of_template: set[int] = set()
        self._match_brackets()
        self._match_templates()
        self._blocks = self._find_blocks()

    def at(self, i: int) -> str:
        """Return a token's text, which is empty beyond the ends."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def source(self, first: int, last: int) -> str:
        """Return the text from one token to another, both included."""
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def is_spaced(self, i: int) -> bool:
        """Whether a sign has a space on both sides, and so is an operator of two operands."""
        token = self.tokens[i]
        before, after = self.text[token.start - 1 : token.start], self.text[token.end :][:1]
        return before in (" ", "\n") and after in (" ", "\n")

    def is_one_line(self, first: int, last: int) -> bool:
        """Whether the tokens from one to another lie on one line."""
        return "\n" not in self.source(first, last)

    def statements(self) -> Iterator[tuple[int, int]]:
        """Give the first token of each statement in a function, and the ``;`` at its end.

        An ``if`` or a loop is none itself; what it controls is.
        """
        for i in range(len(self.tokens)):
            if self.inside[i] in self._blocks and self._starts(i) and self.at(i) not in _CONTROL:
                end = self._end_of(i)
                if end is not None:
                    yield i, end

    def _end_of(self, start: int) -> int | None:
        """Find the ``;`` of a statement that is no block."""
        for i in range(start, len(self.tokens)):
            if self.inside[i] < self.inside[start]:
                return None
            if self.inside[i] == self.inside[start]:
                if self.at(i) == ";":
                    return i
                if i in self._blocks and not self._is_lambda(i):
                    return None
        return None

    def _is_lambda(self, block: int) -> bool:
        before = block - 1
        while self.at(before) in ("const", "mutable", "noexcept"):
            before -= 1
        if self.at(before) == ")":
            before = self.match[before] - 1
        return self.at(before) == "]"

    def _starts(self, i: int) -> bool:
        before = self.at(i - 1)
        if before in (";", "else", "do"):
            return True
        if before == "{":
            return i - 1 in self._blocks
        if before == "}":
            return self.match.get(i - 1) in self._blocks
        return before == ")" and self.at(self.match[i - 1] - 1) in _CONTROL

    def _match_brackets(self) -> None:
        open_brackets: list[int] = []
        for i, token in enumerate(self.tokens):
            closes = token.kind == "sign" and token.text in _CLOSING
            if closes and open_brackets:
                other = open_brackets.pop()
                self.match[i], self.match[other] = other, i
            self.inside.append(open_brackets[-1] if open_brackets else -1)
            if token.kind == "sign" and token.text in _CLOSING.values():
                open_brackets.append(i)

    def _match_templates(self) -> None:
        open_brackets: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.text in (";", "{", "}"):
                open_brackets.clear()
            elif token.text == "<" and not self.is_spaced(i):
                open_brackets.append(i)
            elif token.text == ">" and open_brackets and not self.is_spaced(i):
                other = open_brackets.pop()
                self.match[i], self.match[other] = other, i
                self.of_template.update(range(other, i + 1))

    def _find_blocks(self) -> set[int]:
        """Find each ``{`` that opens a function's body or a block in one: no list, no class."""
        blocks: set[int] = set()
        for i, token in enumerate(self.tokens):
            if token.text == "{" and (
                self.at(i - 1) in _BEFORE_CODE or i - 1 in blocks or self._ends_a_head(i - 1)
            ):
                blocks.add(i)
        return blocks

    def _ends_a_head(self, last: int) -> bool:
        """Whether a token is the last of a type that a function's head ends with: ``-> Type``."""
        while last > 0 and self.at(last) != "->":
            if self.at(last) == ">" and last in self.match:
                last = self.match[last]
            elif self.tokens[last].kind != "word" and self.at(last) not in ("::", "*", "&"):
                return False
            last -= 1
        return self.at(last) == "->" and self.at(last - 1) in (")", "mutable", "const")
