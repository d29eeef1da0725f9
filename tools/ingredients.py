"""Digests of what a Python program depends on: its sources, what they import, and what runs them.

The sources are found by reading imports, those inside of functions too, and never by running them.

    python -m tools.ingredients polystate.recipes.pretrained models/en-fr-tatoeba

prints the digest of modules, of files of any kind, and of what runs an export.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Where the modules of this repository are, by the folder that their names begin in.
_FOLDERS = (ROOT / "python", ROOT, ROOT / "tests/fixtures")

# What an export is made by, besides the sources: what computes, and what reads a model's files.
_PACKAGES = (
    *("torch", "torchao", "executorch", "transformers", "numpy", "sympy", "ml_dtypes"),
    *("accelerate", "gguf", "safetensors", "sentencepiece", "tiktoken", "tokenizers"),
)
_PACKAGE = "polystate"
_COMPILED = "polystate._core"


def sources(*starts: str | Path) -> frozenset[Path]:
    """The files of modules, by name or path, and of all that they import of this repository.

    With the files of JSON that lie beside them.
    """
    found = steps(*starts)
    folders = {path.parent for path in found}
    return frozenset([*found, *(file for folder in folders for file in _data(folder))])


def steps(*starts: str | Path) -> dict[Path, int]:
    """The files as `sources` gives them, each with how many imports lead to it, at the least."""
    found: dict[Path, int] = {}
    waiting = deque((path, 0) for start in starts for path in _files(start))
    while waiting:
        path, count = waiting.popleft()
        if path not in found:
            found[path] = count
            waiting += [(file, count + 1) for file in _imported(path) if file not in found]
    return found


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """The files of this repository that a file imports."""
    return tuple(dict.fromkeys(file for name in _imports(path) for file in _files(name)))


@functools.cache
def _data(folder: Path) -> tuple[Path, ...]:
    return tuple(folder.glob("*.json"))


def digest(files: Iterable[Path], *words: str) -> str:
    """The digest of files, by their places in the repository, and of words."""
    whole = hashlib.sha256()
    for path in sorted(set(files)):
        content = hashlib.sha256(_content(path)).hexdigest()
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
        whole.update(f"{name} {content}\n".encode())
    for word in words:
        whole.update(f"{len(word)} {word}\n".encode())
    return whole.hexdigest()


def _content(path: Path) -> bytes:
    """What of a file counts: of the package's own code neither comments nor docstrings."""
    is_code = path.suffix == ".py" and path.is_relative_to(_FOLDERS[0])
    return _code(path) if is_code else path.read_bytes()


@functools.cache
def _code(path: Path) -> bytes:
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree).encode()


@functools.cache
def surroundings(backend: str = "") -> str:
    """What runs an export but the extension: packages, interpreter; for "aoti" compiler and CPU."""
    versions = [f"{name} {_version(name)}" for name in _PACKAGES]
    parts = [sys.version, *versions]
    if backend == "aoti":
        parts += [_output("c++", "--version"), _instructions()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


@functools.cache
def compiled() -> tuple[Path, ...]:
    """The compiled extension, and what it loads of this project."""
    try:
        spec = importlib.util.find_spec(_COMPILED)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        return ()
    extension = Path(spec.origin)
    return (extension, *sorted(extension.parent.glob("libpolystate*.so")))


def _instructions() -> str:
    """The instructions that this processor has."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=False, text=True).stdout


@functools.cache
def _files(name: str | Path) -> tuple[Path, ...]:
    """The file of a module and those of the packages that it is in; none where it is another's."""
    if isinstance(name, Path):
        return (name,)
    for folder in _FOLDERS:
        stem = folder.joinpath(*name.split("."))
        own = [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()]
        if own:
            packages = (
                folder.joinpath(*name.split(".")[:n]) for n in range(1, name.count(".") + 1)
            )
            inits = (package / "__init__.py" for package in packages)
            return (*own, *(init for init in inits if init.is_file()))
    return ()


@functools.cache
def _imports(path: Path) -> tuple[str, ...]:
    """The names that a file may import: modules, and what is taken from them."""
    names: list[str] = []
    packages: set[str] = set()  # the names that stand for the package polystate
    for node in _run_nodes(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
            packages |= {a.asname or a.name for a in node.names if a.name == _PACKAGE}
        elif isinstance(node, ast.ImportFrom):
            module = _module(node, path)
            names += [module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names += [f"{_PACKAGE}.{node.attr}"] if node.value.id in packages else []
    lazy = _lazily_imported()
    return tuple(dict.fromkeys([*names, *(lazy[name] for name in names if name in lazy)]))


def _module(node: ast.ImportFrom, path: Path) -> str:
    """The full name of what a file imports from; points count from the file's own folder."""
    if not node.level:
        return node.module or ""
    package = path.parents[node.level - 1]
    folder = next((folder for folder in _FOLDERS if package.is_relative_to(folder)), package)
    parts = package.relative_to(folder).parts
    return ".".join([*parts, *([node.module] if node.module else [])])


@functools.cache
def _lazily_imported() -> dict[str, str]:
    """By the names that the package polystate imports when they are used, their modules."""
    tree = ast.parse((ROOT / "python" / _PACKAGE / "__init__.py").read_bytes())
    return {
        f"{_PACKAGE}.{alias.name}": node.module
        for block in tree.body
        if _is_for_types(block)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a program, a use after its import, without what is there for types alone."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        if not _is_for_types(node):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def main() -> None:
    """Print the digest of the modules and files that are the arguments."""
    paths = [Path(name).resolve() for name in sys.argv[1:] if Path(name).exists()]
    modules = [name for name in sys.argv[1:] if not Path(name).exists()]
    files = [file for path in paths for file in (path.iterdir() if path.is_dir() else [path])]
    print(digest([*sources(*modules), *files, *compiled()], surroundings()))


if __name__ == "__main__":
    main()
