"""Draws templates, and values for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

_NAMES = ("messages", "tools", "user", "flag", "count", "text", "nothing", "missing")
_TEXTS = ("", "a", "Hello", "héllo wörld", " x ", "<b>", "1", "a,b", "UP", "\\n", "日本")
_KEYS = ("role", "content", "name", "tags", "score", "deep")


class Drawn:
    """One template, written as it is drawn; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._locals: list[str] = []
        self._macros: list[tuple[str, bool]] = []  # names, and whether they take a caller
        self._loops = 0
        self._inside = 0  # of statements in one another
        self._room = 40  # constructs

    def template(self) -> str:
        """Give the template."""
        return "".join(self._statement(3) for _ in range(self._random.randint(2, 6)))

    def _pick(self, *options: Any) -> Any:
        return self._random.choice(options)

    def _tag(self, code: str) -> str:
        before, after = self._pick(("", ""), ("-", ""), ("", "-"), ("-", "-"), ("+", ""))
        space = self._pick(" ", " ", "\n  ")
        return f"{{%{before} {code}{space}{after}%}}{self._pick('', chr(10), '  ')}"

    def _output(self, depth: int) -> str:
        before, after = self._pick(("", ""), ("-", ""), ("", "-"))
        return f"{{{{{before} {self.expression(depth)} {after}}}}}"

    def _statement(self, depth: int) -> str:
        self._room -= 1
        if depth == 0 or self._room < 0:
            return self._pick(self._data, lambda: self._output(2))()
        kinds: list[Callable[[int], str]] = [
            lambda _: self._data(),
            self._output,
            self._output,
            self._for,
            self._if,
            self._set,
            self._set_block,
            self._call,
            self._filter_block,
            self._with,
            self._comment,
        ]
        if self._inside == 0:  # what is set elsewhere is soon forgotten
            kinds += [self._macro, self._macro, self._namespace]
        if self._loops:
            kinds.append(self._jump)
        return self._pick(*kinds)(depth)

    def _data(self) -> str:
        return self._pick("text", "\n", "  ", "line\n  ", "a b", "\n\n  - ", "é", "{ }", "% }")

    def _body(self, depth: int) -> str:
        self._inside += 1
        body = "".join(self._statement(depth - 1) for _ in range(self._random.randint(1, 3)))
        self._inside -= 1
        return body

    def _name(self) -> str:
        return self._pick("v", "w", "item", "text", "count")

    def _for(self, depth: int) -> str:
        kept = list(self._locals)
        target = self._pick("v", "w", "item")
        iterable = self._pick(
            "messages",
            "user.tags",
            "range(3)",
            "[1, 2, 3]",
            "'abc'",
            "messages[1:]",
            "[]",
            f"({self.list_expression(1)})",
            "user",
            "missing",
            "user.items()",
        )
        if iterable == "user.items()":
            target = "k, v"
        test = self._pick("", "", "", f" if {self.expression(1)}")
        head = self._tag(f"for {target} in {iterable}{test}")
        self._locals += [*target.split(", "), "loop.index", "loop.first", "loop.last"]
        self._loops += 1
        body = self._body(depth)
        self._loops -= 1
        self._locals = kept
        other = self._tag("else") + self._body(1) if self._random.random() < 0.2 else ""
        return head + body + other + self._tag("endfor")

    def _if(self, depth: int) -> str:
        parts = [self._tag(f"if {self.expression(2)}"), self._body(depth)]
        if self._random.random() < 0.3:
            parts += [self._tag(f"elif {self.expression(1)}"), self._body(1)]
        if self._random.random() < 0.4:
            parts += [self._tag("else"), self._body(1)]
        return "".join([*parts, self._tag("endif")])

    def _set(self, depth: int) -> str:
        name, value = self._name(), self.expression(depth)
        code = self._tag(self._pick(f"set {name} = {value}", f"set {name}, k = [{value}, 1]"))
        self._locals.append(name)
        return code

    def _set_block(self, depth: int) -> str:
        name = self._name()
        filters = self._pick("", " | upper", " | trim | length", " | replace('a', 'b')")
        loops, self._loops = self._loops, 0
        code = self._tag(f"set {name}{filters}") + self._body(depth) + self._tag("endset")
        self._loops = loops
        self._locals.append(name)
        return code

    def _macro(self, depth: int) -> str:
        name = f"m{len(self._macros)}"
        kept, loops = list(self._locals), self._loops
        self._locals, self._loops = [*self._locals, "p", "q"], 0
        parameters = self._pick("p, q=1", "p, q=text", "p=none, q='d'", "p='a', q=p")
        special = self._pick("", "{{ caller() if caller }}", "{{ varargs | length }}{{ kwargs }}")
        code = self._tag(f"macro {name}({parameters})") + self._body(depth) + special
        self._locals, self._loops = kept, loops
        self._macros.append((name, "caller" in special))
        return code + self._tag("endmacro")

    def _call(self, depth: int) -> str:
        if not self._macros:
            return self._output(depth)
        name, takes_caller = self._pick(*self._macros)
        call = f"{name}({self.expression(1)}{self._pick('', ', 2', ', q=3')})"
        if not takes_caller:
            return "{{ " + call + self._pick("", " | upper", " ~ 1") + " }}"
        loops, self._loops = self._loops, 0
        code = self._tag(f"call {call}") + self._body(1) + self._tag("endcall")
        self._loops = loops
        return code

    def _filter_block(self, depth: int) -> str:
        chosen = self._pick("upper", "trim", "replace('a', 'b')", "indent(2)", "title")
        loops, self._loops = self._loops, 0
        code = self._tag(f"filter {chosen}") + self._body(depth) + self._tag("endfilter")
        self._loops = loops
        return code

    def _with(self, depth: int) -> str:
        kept = list(self._locals)
        value = self.expression(2)
        self._locals.append("v")
        code = self._tag(f"with v = {value}, w = text") + self._body(depth) + self._tag("endwith")
        self._locals = kept
        return code

    def _namespace(self, depth: int) -> str:
        code = self._tag(f"set ns = namespace(n={self.expression(1)}, t=0)")
        if self._random.random() < 0.5:
            code += self._tag("for v in messages") + self._tag("set ns.t = ns.t + 1")
            code += self._body(1) + self._tag("endfor")
        self._locals += ["ns.n", "ns.t"]
        return code

    def _comment(self, depth: int) -> str:
        return self._pick(
            "{# a #}",
            "{#- b\n c -#}",
            "{% raw %}{{ x }}{% endraw %}",
            "  {#+ d #}\n",
            "{%- raw -%}\n {% a %} \n{%- endraw +%}\n",
        )

    def _jump(self, depth: int) -> str:
        test = self._pick("loop.index > 1", "loop.first", self.expression(1))
        return (
            self._tag(f"if {test}")
            + self._tag(self._pick("break", "continue"))
            + self._tag("endif")
        )

    def expression(self, depth: int) -> str:
        """Draw an expression of any kind."""
        if depth <= 0:
            return self._atom()
        inner = depth - 1
        return self._pick(
            self._atom,
            lambda: self.text_expression(depth),
            lambda: self.text_expression(depth),
            lambda: self.number_expression(depth),
            lambda: self.list_expression(depth),
            lambda: self.test_expression(depth),
            lambda: (
                f"({self.expression(inner)} {self._pick('and', 'or')} {self.expression(inner)})"
            ),
            lambda: f"(not {self.expression(inner)})",
            lambda: (
                f"({self.expression(inner)} if {self.expression(inner)}"
                f" else {self.expression(inner)})"
            ),
            lambda: f"({self.expression(inner)} | default({self._text()}, true))",
            lambda: f"({self.expression(inner)} {self._pick('==', '!=')} {self.expression(inner)})",
            lambda: f"(({self.expression(inner)}) | default(none) | tojson)",
            lambda: "{" + f"{self._text()}: {self.expression(inner)}, 'k': 1" + "}",
            lambda: f"(({self.expression(inner)}) | string)",
        )()

    def _text(self) -> str:
        return repr(self._pick(*_TEXTS)).replace("\\\\n", "\\n")

    def _atom(self) -> str:
        return self._pick(
            self._text,
            lambda: self._pick("0", "1", "-2", "3", "1.5", "true", "false", "none", "10", "1e3"),
            lambda: self._pick(*_NAMES),
            lambda: self._pick(*(self._locals or ["text"])),
            lambda: f"user.{self._pick(*_KEYS)}",
            lambda: f"messages[{self._pick('0', '-1', '1')}]",
            lambda: f"messages[0].{self._pick(*_KEYS)}",
        )()

    def text_expression(self, depth: int) -> str:
        """Draw an expression that gives a text."""
        if depth <= 0:
            return self._pick(self._text(), "text", "messages[0].content", "user.name")
        of = self.text_expression(depth - 1)
        method = self._pick(
            "upper()",
            "lower()",
            "strip()",
            "title()",
            "capitalize()",
            "replace('a', 'xy')",
            "lstrip()",
            "rstrip()",
            "strip('a ')",
            "zfill(4)",
            "center(9)",
            "ljust(4, '-')",
            "swapcase()",
            "removeprefix('a')",
            "replace('l', text, 1)",
        )
        chosen = self._pick(
            "upper",
            "lower",
            "trim",
            "title",
            "capitalize",
            "replace('a', 'b')",
            "indent(2)",
            "truncate(7)",
            "reverse",
            "center(7)",
            "string",
            "join('-')",
            "first",
            "last",
            "escape",
        )
        return self._pick(
            lambda: f"({of}).{method}",
            lambda: f"(({of}) | {chosen})",
            lambda: f"({of} ~ {self.expression(depth - 1)})",
            lambda: f"({of} + {self.text_expression(depth - 1)})",
            lambda: f"({of})[{self._pick('1:', ':-1', '::-1', '0', '-2:', ':3', '1:9:2')}]",
            lambda: f"({of}).split({self._pick('', repr(','), repr('l'))})[0]",
            lambda: f"'%s|%5s' % ({of}, {self.expression(depth - 1)})",
            lambda: f"'{{}}:{{:>6}}'.format({self.expression(depth - 1)}, {of})",
            lambda: f"(({self.list_expression(depth - 1)}) | join({self._text()}))",
            lambda: f"(({of}) * {self._pick('2', '0', '3')})",
        )()

    def number_expression(self, depth: int) -> str:
        """Draw an expression that gives a number."""
        if depth <= 0:
            return self._pick("1", "2", "-3", "0", "count", "1.5", "user.score", "7")
        a, b = self.number_expression(depth - 1), self.number_expression(depth - 1)
        return self._pick(
            lambda: f"({a} {self._pick('+', '-', '*')} {b})",
            lambda: f"({a} {self._pick('//', '%', '/')} {self._pick('2', '-3', '0.5', b)})",
            lambda: f"(({self.text_expression(depth - 1)}) | length)",
            lambda: f"(({self.list_expression(depth - 1)}) | length)",
            lambda: f"(({a}) | {self._pick('abs', 'int', 'float', 'round', 'round(1)')})",
            lambda: f"(({self.text_expression(depth - 1)}) | int)",
            lambda: f"({self.text_expression(depth - 1)}).find('l')",
            lambda: f"({a} if {self.test_expression(depth - 1)} else {b})",
            lambda: f"(-({a}))",
        )()

    def list_expression(self, depth: int) -> str:
        """Draw an expression that gives a list."""
        if depth <= 0:
            return self._pick("messages", "user.tags", "[1, 2]", "[]", "['b', 'A']", "range(3)")
        of = self.list_expression(depth - 1)
        return self._pick(
            lambda: f"[{self.expression(depth - 1)}, {self.expression(depth - 1)}]",
            lambda: f"({self.text_expression(depth - 1)}).split('a')",
            lambda: f"({of} | list)[{self._pick('1:', ':1', '::-1', '::2')}]",
            lambda: f"({of} | {self._pick('list', 'reverse | list', 'map(repr) | list')})".replace(
                "map(repr)", "map('string')"
            ),
            lambda: f"(messages | map(attribute={self._pick(*map(repr, _KEYS))}) | list)",
            lambda: f"(messages | selectattr({self._pick(*map(repr, _KEYS))}) | list)",
            lambda: f"(messages | rejectattr('role', 'equalto', {self._text()}) | list)",
            lambda: f"({of} | select({self._pick(repr('string'), repr('defined'))}) | list)",
            lambda: f"(({of} | list) + [{self.expression(0)}])",
            lambda: f"({of} | batch(2) | list)",
            lambda: f"(user.tags | sort{self._pick('', '(reverse=true)')})",
            lambda: "(user | dictsort | list)",
            lambda: "(user.tags | unique | list)",
        )()

    def test_expression(self, depth: int) -> str:
        """Draw an expression that gives true or false."""
        of = self.expression(depth - 1)
        return self._pick(
            lambda: f"({self._atom()} is {self._pick('', 'not ')}{self._test()})",
            lambda: f"({of} is {self._test()})",
            lambda: (
                f"({self.number_expression(depth - 1)} {self._pick('<', '>=', '>', '<=')}"
                f" {self.number_expression(depth - 1)})"
            ),
            lambda: (
                f"({self.text_expression(depth - 1)} {self._pick('in', 'not in')}"
                f" {self.text_expression(depth - 1)})"
            ),
            lambda: f"({self._atom()} in {self.list_expression(depth - 1)})",
            lambda: f"({self.text_expression(depth - 1)}).startswith({self._text()})",
            lambda: f"({self.number_expression(0)} is divisibleby 2)",
        )()

    def _test(self) -> str:
        return self._pick(
            "defined",
            "undefined",
            "none",
            "string",
            "number",
            "mapping",
            "sequence",
            "iterable",
            "true",
            "false",
            "boolean",
            "integer",
            "float",
            "eq 1",
            "callable",
            "lower",
            "sameas none",
        )

    def values(self) -> dict[str, Any]:
        """Draw values for the variables that templates name; some are missing."""
        draw = self._random
        texts = ("Hi there", "a long line\nand another", "", "été <|end|>", "x" * 20, "l,l,l")

        def message() -> dict[str, Any]:
            drawn = {"role": draw.choice(("user", "system", "tool")), "content": draw.choice(texts)}
            if draw.random() < 0.3:
                drawn["name"] = draw.choice(_TEXTS)
            return drawn

        everything: dict[str, Any] = {
            "messages": [message() for _ in range(draw.randint(1, 4))],
            "tools": draw.choice((None, [], [{"name": "f", "parameters": {"type": "object"}}])),
            "user": {
                "name": draw.choice(_TEXTS),
                "tags": draw.sample(["b", "a", "C", "d"], draw.randint(0, 4)),
                "score": draw.choice((0, 1, 2.5, -3, 1e15, 0.1)),
                "deep": {"role": {"x": [1, None, True]}},
            },
            "flag": draw.choice((True, False)),
            "count": draw.randint(-2, 5),
            "text": draw.choice(texts),
            "nothing": None,
        }
        if draw.random() < 0.1:
            del everything[draw.choice(("tools", "flag", "nothing", "count"))]
        return everything
