"""Faults that are drawn from sources, put in, tried and taken out (tools/seed_faults)."""

from __future__ import annotations

import ast
import functools
import io
import json
import re
import subprocess
import sys
import time
import tokenize
from collections import Counter
from pathlib import Path

import pytest

from tools.seed_faults import cpp_changes, drawing, python_changes, trials
from tools.seed_faults.drawing import Sources
from tools.seed_faults.faults import (
    KINDS,
    Fault,
    FaultError,
    apply,
    changed,
    fault_of,
    git,
    read_faults,
    revert,
)
from tools.seed_faults.trials import Commands, Trial

ROOT = Path(__file__).parents[3]
LANGUAGES = ("cpp", "python")

# Comments, directives and text of C++; a simpler reading than the tool's own.
CPP_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL | re.MULTILINE,
)


@functools.cache
def sources(language: str) -> Sources:
    assert (ROOT / ".git").exists(), "the sources are drawn from a repository"
    return drawing.read_sources(ROOT, language, drawing.PARTS[language], drawing.EXCLUDED)


@functools.cache
def drawn(language: str) -> list[Fault]:
    return drawing.draw(sources(language), seed=7, count=300)


def text_with(fault: Fault) -> str:
    lines = sources(fault.id.partition("-")[0]).texts[fault.file].split("\n")
    lines[fault.line - 1 : fault.lines.stop - 1] = fault.after.split("\n") if fault.after else []
    return "\n".join(lines)


@functools.cache
def texts_of_python(source: str) -> list[str]:
    """All strings and comments of a source."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        token.string
        for token in tokens
        if tokenize.tok_name[token.type].startswith(("STRING", "FSTRING", "COMMENT"))
    ]


def lines_after(language: str, text: str) -> list[tuple[str, str]]:
    """The kinds of all faults that a text may have, and the text after each."""
    module = cpp_changes if language == "cpp" else python_changes
    return [(each.kind, changed(text, each)) for _, each in module.changes({"source": text})]


@functools.cache
def tree_of(file: str) -> str:
    return ast.dump(ast.parse(sources("python").texts[file]))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one source."""
    root = tmp_path / "tree"
    (root / "python").mkdir(parents=True)
    (root / "python" / "sign.py").write_text(
        "def sign(x):\n    if x < 0:\n        raise ValueError(x)\n    return x > 10\n"
    )
    git(root, "init", "--quiet")
    git(root, "add", ".")
    author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    git(root, *author, "commit", "--quiet", "--message=First")
    return root


@pytest.fixture
def faults(tree: Path) -> dict[str, Fault]:
    """The faults of that source's two comparisons, by what they change."""
    file = "python/sign.py"
    text = (tree / file).read_text()
    found = [
        fault_of("python", file, text, each) for _, each in python_changes.changes({file: text})
    ]
    return {fault.before.strip(): fault for fault in found if fault.kind == "comparison"}


def test_a_seed_draws_the_same_faults_again() -> None:
    for language, part in (("cpp", "src/runner/"), ("python", "python/polystate/recipes/")):
        texts = {file: text for file, text in sources(language).texts.items() if part in file}
        few = Sources(language, texts, [part])
        found = drawing.draw(few, seed=7, count=20)
        assert drawing.draw(few, seed=7, count=30)[:20] == found
        assert drawing.draw(few, seed=8, count=20) != found


def test_faults_are_of_all_kinds_and_all_parts_evenly() -> None:
    for language in LANGUAGES:
        found = drawn(language)[:60]
        kinds = Counter(fault.kind for fault in found)
        parts = Counter(
            next(part for part in drawing.PARTS[language] if re.match(part, fault.file))
            for fault in found
        )
        assert set(kinds) == set(KINDS)
        assert max(kinds.values()) - min(kinds.values()) <= 4
        assert set(parts) == set(drawing.PARTS[language])
        assert max(parts.values()) - min(parts.values()) <= 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fault_changes_one_line_or_leaves_one_statement_out(language: str) -> None:
    for fault in drawn(language):
        text = sources(language).texts[fault.file]
        assert "\n".join(text.split("\n")[fault.line - 1 :]).startswith(fault.before)
        assert "\n" not in fault.after
        assert fault.after != fault.before
        if "\n" in fault.before:
            assert fault.kind == "dropped check"


def test_a_faulty_source_of_python_is_another_program() -> None:
    for fault in drawn("python"):
        after = ast.parse(text_with(fault))
        compile(after, fault.file, "exec")
        assert ast.dump(after) != tree_of(fault.file)


def test_strings_and_comments_of_python_stay_as_they_are() -> None:
    for fault in drawn("python"):
        if not fault.kind.startswith("dropped"):
            before = sources("python").texts[fault.file]
            assert Counter(texts_of_python(text_with(fault))) == Counter(texts_of_python(before))


def test_strings_comments_and_directives_of_cpp_stay_as_they_are() -> None:
    for fault in drawn("cpp"):
        before, after = sources("cpp").texts[fault.file], text_with(fault)
        if not fault.kind.startswith("dropped"):
            assert Counter(CPP_TEXT.findall(after)) == Counter(CPP_TEXT.findall(before))


@pytest.mark.parametrize(
    "text",
    [
        "#include <map>\n#if X > 1 && Y < 2\n#endif",
        "/* a < b; */  // if (x) return f(1, 2);",
        'std::string x = R"(a " < 1)";',
        "// if (a < b) return 1 + 2;",
        "std::array<int, 4> x;",
        "template <typename T, int N = 3> class X;",
        "const float* x;",
        "T&& move(T&& x);",
        "class X { void f(int a, int b); X(int a); };",
        "static_assert(sizeof(int) == 4);",
        "char buffer[64];",
        'Error e{ErrorCode::kIo, "line " + std::to_string(line + 1)};',
        'void f() { const std::string text = "line " + std::to_string(line + 1); }',
        'void f() { fail(std::string("line ") + what(1)); }',
        "void f() { names.reserve(count + 1); }",
        "void f() { const Foo bar(a); }",
        "std::string size_label(int a) { return f(a + 1); }",
        "constexpr int kBlock = 32;",
    ],
)
def test_what_computes_nothing_in_cpp_has_no_faults(text: str) -> None:
    assert lines_after("cpp", text) == []


@pytest.mark.parametrize(
    "text",
    [
        '"""a < 1 and 2 + 3"""',
        "x: tuple[int, Literal[3]]",
        "def f(x: Array[3]) -> Literal[True]:\n    return x",
        "@dataclass(frozen=True)\nclass X:\n    y: int",
        "import x.y",
        'raise ValueError(f"{a + 1}", b < c)',
        'text = f"{a + 1}"',
        "assert isinstance(x, int) and x > 3",
        "def f(x):\n    found = g(x + 1)\n    raise ValueError(found)",
        "x = [a] + [b]",
    ],
)
def test_what_computes_nothing_in_python_has_no_faults(text: str) -> None:
    assert lines_after("python", text) == []


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("comparison", "bool x = a < b;", "bool x = a <= b;"),
        ("comparison", "int x = a < b ? a : b;", "int x = a > b ? a : b;"),
        ("comparison", "bool x = a.size() > 0;", "bool x = a.size() == 0;"),
        ("arithmetic", "int x = a * b;", "int x = a + b;"),
        ("constant", "int x = 0xAEu;", "int x = 0xAFu;"),
        ("constant", "bool x = true;", "bool x = false;"),
        ("condition", "bool x = a && b;", "bool x = a || b;"),
        ("condition", "void f() { if (Status s = g(); !s) h; }",
         "void f() { if (Status s = g(); !(!s)) h; }"),
        ("dropped check", 'void f() { if (a) return Error{kIo, "a"}; }', "void f() {  }"),
        ("dropped check", "void f() { if (Status s = g(); !s) return s; }", "void f() {  }"),
        ("dropped statement", "void f() { if (a) b->c(d); }", "void f() { if (a) {} }"),
        ("dropped statement", "void f() { g([&] { int i; a[i].b += 2; }); }",
         "void f() { g([&] { int i;  }); }"),
        ("argument", "int f(int a, int b) { return g<int>(a, b); }",
         "int f(int a, int b) { return g<int>(b, a); }"),
    ],
)  # fmt: skip
def test_a_fault_of_cpp(kind: str, before: str, after: str) -> None:
    assert (kind, after) in lines_after("cpp", before)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("comparison", "x = a not in b", "x = a in b"),
        ("comparison", "x = a if a < b else b", "x = a if a > b else b"),
        ("arithmetic", "x = 'é', (a) // (b)", "x = 'é', (a) * (b)"),
        ("constant", "x = f(y=True)", "x = f(y=False)"),
        ("constant", "x = a[-1]", "x = a[-2]"),
        ("condition", "x = a and b", "x = a or b"),
        ("condition", "x = [a for a in b if a]", "x = [a for a in b if not (a)]"),
        ("dropped check", "if a:\n    raise B('c')\nd", "pass\nd"),
        ("dropped statement", "f(x)", "pass"),
        ("dropped statement", "def f(x):\n    x = x + 1\n    return x",
         "def f(x):\n    pass\n    return x"),
        ("argument", "x = f(a.b, c.d)", "x = f(c.d, a.b)"),
    ],
)  # fmt: skip
def test_a_fault_of_python(kind: str, before: str, after: str) -> None:
    assert (kind, after) in lines_after("python", before)


def test_the_end_of_a_loop_in_steps_stays_where_it_is() -> None:
    kinds = {kind for kind, _ in lines_after("cpp", "void f() { for (; a < b; a += c) g; }")}
    assert kinds == {"arithmetic"}


def test_arguments_of_different_types_are_not_swapped() -> None:
    after = lines_after("cpp", "int f(int a, float b, Foo c, float d) { return g(a, b, c, d); }")
    assert not [kind for kind, _ in after if kind == "argument"]
    after = lines_after("python", "def f(a: int, b: str): ...\nf(x, y)")
    assert not [kind for kind, _ in after if kind == "argument"]


def test_a_fault_that_is_reverted_leaves_the_same_bytes(
    tree: Path, faults: dict[str, Fault]
) -> None:
    path = tree / "python" / "sign.py"
    before = path.read_bytes()
    for fault in faults.values():
        apply(fault, tree)
        assert path.read_bytes() == before.replace(fault.before.encode(), fault.after.encode())
        revert(fault, tree)
        assert path.read_bytes() == before


def test_a_fault_is_not_applied_to_another_line(tree: Path, faults: dict[str, Fault]) -> None:
    path = tree / "python" / "sign.py"
    path.write_text("\n" + path.read_text())
    with pytest.raises(FaultError, match=r"sign\.py:4 is not as recorded"):
        apply(faults["return x > 10"], tree)


def try_all(tree: Path, faults: dict[str, Fault], commands: Commands) -> dict[str, Trial]:
    out = tree.parent / "results.jsonl"
    trials.try_faults(faults.values(), tree, commands, out, lambda *_: None)
    found = trials.read_trials(out)
    return {line: found[fault.id] for line, fault in faults.items() if fault.id in found}


def test_a_fault_is_caught_or_survives_or_does_not_compile(
    tree: Path, faults: dict[str, Fault]
) -> None:
    sees_one = Commands("echo looked; grep -q '> 10' python/sign.py", timeout=60)
    found = try_all(tree, faults, sees_one)
    caught, survived = found["return x > 10"], found["if x < 0:"]
    assert (caught.caught, caught.how, caught.tail) == (True, "exit status", "looked")
    assert (survived.caught, survived.how) == (False, "survived")
    assert git(tree, "status", "--porcelain") == b""

    (tree.parent / "results.jsonl").unlink()
    found = try_all(tree, faults, Commands("false", compiles="grep '> 10' python/sign.py"))
    assert (found["return x > 10"].caught, found["return x > 10"].how) == (
        False,
        "does not compile",
    )
    table = trials.summary(list(faults.values()), {each.id: each for each in found.values()})
    assert re.search(r"all +1 +0 +1\b", table)


def test_the_summary_lists_the_survivors(tree: Path, faults: dict[str, Fault]) -> None:
    found = try_all(tree, faults, Commands("true"))
    table = trials.summary(list(faults.values()), {each.id: each for each in found.values()})
    assert "python/sign.py:4" in table
    assert "  -     return x > 10\n  +     return x >= 10\n" in table


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(
    tree: Path, faults: dict[str, Fault]
) -> None:
    late = tree.parent / "late"
    command = Commands(f"(sleep 0.6; touch {late}) & echo begun; sleep 60", timeout=0.2)
    (trial,) = try_all(tree, {"return x > 10": faults["return x > 10"]}, command).values()
    assert (trial.caught, trial.how, trial.tail) == (True, "timeout", "begun")
    time.sleep(0.6)
    assert not late.exists()


def test_a_run_goes_on_where_an_earlier_one_ended(tree: Path, faults: dict[str, Fault]) -> None:
    first = {"if x < 0:": faults["if x < 0:"]}
    assert [trial.how for trial in try_all(tree, first, Commands("false")).values()] == [
        "exit status"
    ]
    found = try_all(tree, faults, Commands("true"))
    assert found["if x < 0:"].how == "exit status"
    assert found["return x > 10"].how == "survived"


def test_a_run_that_is_interrupted_takes_its_fault_out(
    tree: Path, faults: dict[str, Fault], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        assert git(tree, "status", "--porcelain") != b""
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "_run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        try_all(tree, faults, Commands("true"))
    assert git(tree, "status", "--porcelain") == b""


def test_a_tree_with_changes_is_refused(tree: Path, faults: dict[str, Fault]) -> None:
    (tree / "python" / "sign.py").write_text("x = 1\n")
    with pytest.raises(FaultError, match="changes that are not committed"):
        try_all(tree, faults, Commands("true"))


def test_the_command_line_applies_what_it_draws(tree: Path) -> None:
    tool = [sys.executable, "-m", "tools.seed_faults"]
    drawing_all = ["draw", "--seed=1", "--count=100", "--language=python", "--paths", "python/"]
    lines = subprocess.check_output([*tool, *drawing_all, f"--root={tree}"], text=True)
    recorded = tree.parent / "faults.jsonl"
    recorded.write_text(lines)
    fault = read_faults(recorded)[json.loads(lines.partition("\n")[0])["id"]]
    command = [*tool, "apply", str(recorded), fault.id, f"--root={tree}"]
    assert subprocess.run(command, check=False).returncode == 0
    assert fault.after in (tree / fault.file).read_text()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "is not as recorded" in again.stderr
