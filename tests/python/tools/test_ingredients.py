"""Digests of what an export depends on change with each ingredient, and with nothing else."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import ingredients


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Let nothing be remembered from other tests, nor for them."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for remembered in (
        ingredients.surroundings,
        ingredients.compiled,
        ingredients._code,
        ingredients._files,
        ingredients._imports,
        ingredients._lazily_imported,
    ):
        remembered.cache_clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repository: a.py imports b in a function, which imports the package c."""
    files = {
        "python/polystate/__init__.py": (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from c.lazy import Lazy\n"
        ),
        "a.py": "def f():\n    import b\n",
        "b.py": "from c import one\nimport os\n",
        "c/__init__.py": "",
        "c/one.py": "",
        "c/lazy.py": "",
        "c/types.py": "",
        "c/schema.json": "{}",
        "uses.py": "import polystate as p\n\ndef f():\n    return p.Lazy\n",
        "c/near.py": "from . import one\nfrom ..a import f\nfrom .lazy import Lazy\n",
        "typed.py": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c.types\n"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(ingredients, "ROOT", tmp_path)
    monkeypatch.setattr(ingredients, "_FOLDERS", (tmp_path / "python", tmp_path))
    return tmp_path


def names(tree: Path, start: str) -> set[str]:
    return {str(path.relative_to(tree)) for path in ingredients.sources(start)}


def test_what_is_imported_belongs_to_it_in_functions_too(tree: Path) -> None:
    assert names(tree, "a") == {"a.py", "b.py", "c/__init__.py", "c/one.py", "c/schema.json"}


def test_what_is_imported_from_the_file_s_own_folder_does_too(tree: Path) -> None:
    found = names(tree, "c.near")
    assert found >= {"c/near.py", "c/one.py", "c/lazy.py", "a.py", "b.py", "c/__init__.py"}
    assert "c/types.py" not in found


def test_what_is_imported_for_types_alone_does_not(tree: Path) -> None:
    assert names(tree, "typed") == {"typed.py"}


def test_a_name_that_the_package_imports_when_it_is_used_does(tree: Path) -> None:
    assert "c/lazy.py" in names(tree, "uses")


@pytest.mark.parametrize("changed", ["a.py", "b.py", "c/one.py", "c/schema.json"])
def test_a_change_of_any_of_these_files_changes_the_digest(tree: Path, changed: str) -> None:
    before = ingredients.digest(ingredients.sources("a"))
    (tree / changed).write_text((tree / changed).read_text() + "\n")
    assert ingredients.digest(ingredients.sources("a")) != before


def test_of_the_package_its_code_counts_and_no_words_about_it(tree: Path) -> None:
    file = tree / "python/polystate/export.py"

    def digest_with(text: str) -> str:
        file.write_text(text)
        _forget()
        return ingredients.digest([file])

    before = digest_with("def f(x):\n    return x + 1\n")
    documented = '"""Adds."""\n\n\ndef f(x):\n    """Adds 1."""\n    return x + 1  # one\n'
    assert digest_with(documented) == before
    for changed in ("return x + 2", "return (x, 1)", "return 'x + 1'"):
        assert digest_with(f"def f(x):\n    {changed}\n") != before


def test_a_change_of_another_file_and_another_place_do_not(tree: Path, tmp_path: Path) -> None:
    before = ingredients.digest(ingredients.sources("a"))
    (tree / "uses.py").write_text("x = 1\n")
    assert ingredients.digest(ingredients.sources("a")) == before


def test_words_and_their_limits_change_the_digest() -> None:
    digests = {ingredients.digest([], *words) for words in (("a", "b"), ("ab",), ("b", "a"), ())}
    assert len(digests) == 4


@pytest.mark.parametrize(
    "package", ["torch", "torchao", "executorch", "transformers", "tokenizers", "gguf"]
)
def test_another_version_of_a_package_changes_the_surroundings(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ingredients.surroundings()
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: version(name) + "1" * (name == package)
    )
    _forget()
    assert ingredients.surroundings() != before


@pytest.mark.parametrize("what", ["_instructions", "_output"])
def test_another_processor_and_another_compiler_count_for_aoti_alone(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, before = ingredients.surroundings(), ingredients.surroundings("aoti")
    monkeypatch.setattr(ingredients, what, lambda *_: "another")
    ingredients.surroundings.cache_clear()
    assert ingredients.surroundings() == others
    assert ingredients.surroundings("aoti") != before
