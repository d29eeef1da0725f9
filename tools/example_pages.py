#!/usr/bin/env python3
"""Writes docs/examples from examples/database: a page for each case, and a list of them.

A case is a module: its first line is the title, what follows is why. `Program` is what is
exported, by `METHODS`; `ERROR` is what an export says of it, on the engines of `REFUSED_BY`, and
`Rewrite` what to write instead. `PAGE` is the page that the message names, if another one's.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from pathlib import Path

ENGINES = ("portable", "xnnpack", "aoti")
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Case:
    """A case as its page shows it; `error` is None where it is exported."""

    name: str
    title: str
    why: str
    program: str
    error: str | None
    refused_by: tuple[str, ...]
    rewrite: str | None


def read_case(path: Path) -> Case:
    """Reads a case without running it."""
    source = path.read_text()
    tree = ast.parse(source)
    title, _, why = (ast.get_docstring(tree) or "").partition("\n")
    constants: dict[str, ast.expr] = {}
    shown, rewrite = [], None
    for node in tree.body[1:]:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
        if isinstance(node, ast.ClassDef) and node.name == "Rewrite":
            rewrite = _segment(source, node)
        elif not (isinstance(node, ast.Assign) and _name(node) in _DATA):
            shown.append(_segment(source, node))
    methods = ast.get_source_segment(source, constants["METHODS"])
    return Case(
        name=path.stem,
        title=title,
        why=why.strip(),
        program=_joined([*shown, f"METHODS = {methods}"]),
        error=ast.literal_eval(constants["ERROR"]) if "ERROR" in constants else None,
        refused_by=tuple(ast.literal_eval(constants["REFUSED_BY"]))
        if "REFUSED_BY" in constants
        else (),
        rewrite=rewrite,
    )


_DATA = ("METHODS", "ERROR", "REFUSED_BY", "PAGE")


def _name(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _segment(source: str, node: ast.stmt) -> str:
    """The source of a statement, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return "\n".join(source.splitlines()[first - 1 : node.end_lineno])


def _joined(parts: list[str]) -> str:
    """Statements with the empty lines that PEP 8 wants between them."""
    text = parts[0]
    for pair in itertools.pairwise(parts):
        are_imports = all(part.startswith(("import", "from")) for part in pair)
        defines = any(part.startswith(("class", "def", "@")) for part in pair)
        text += ("\n" if are_imports else "\n\n\n" if defines else "\n\n") + pair[1]
    return text


def page(case: Case) -> str:
    """A case in Markdown."""
    lines = [f"# {case.name}", "", case.title, "", case.why, "", _verdict(case), ""]
    lines += ["```python", case.program, "```", ""]
    if case.error is not None:
        lines += ["The export says:", "", "```text", case.error, "```", ""]
    if case.rewrite is not None:
        lines += ["Written so, it is exported and equals eager:", "", "```python"]
        lines += [case.rewrite, "```", ""]
    return "\n".join(lines)


def _verdict(case: Case) -> str:
    if case.error is None:
        return "Exported, by every backend that has its operators."
    others = [engine for engine in ENGINES if engine not in case.refused_by]
    if not others:
        return "Refused, whatever the backend."
    return f"Refused by {' and '.join(case.refused_by)}."


def pages(root: Path) -> dict[str, str]:
    """The files of docs/examples by their names."""
    cases = [read_case(path) for path in sorted((root / "examples" / "database").glob("*.py"))]
    made = {f"{case.name}.md": page(case) for case in cases}
    return {"README.md": _list(cases), **made}


def _list(cases: list[Case]) -> str:
    lines = [
        "# Examples of what can be exported, and what cannot",
        "",
        "Errors of an export name one of these; `polystate explain NAME` shows it in a terminal.",
        "Each is a program of [examples/database](../../examples/database), exported by tests.",
        "This folder is made by `tools/example_pages.py`.",
    ]
    for heading, wanted in (("Refused, with a rewrite", True), ("Exported", False)):
        lines += ["", f"## {heading}", ""]
        for case in cases:
            if (case.error is not None) == wanted:
                lines.append(f"- [{case.name}]({case.name}.md): {case.title}")
    return "\n".join([*lines, ""])


def main() -> None:
    """Writes the pages, and removes those of cases that are gone."""
    folder = ROOT / "docs" / "examples"
    folder.mkdir(exist_ok=True)
    made = pages(ROOT)
    for file in folder.glob("*.md"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
