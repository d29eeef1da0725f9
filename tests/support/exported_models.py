"""Artifacts that tests only run: exported once, kept for all tests and later runs."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import polystate as ps
from tests.support.store import Store
from tests.support.warm_process import run_module
from tools import ingredients

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models/en-fr-tatoeba"
CHAT_MODEL = ROOT / "models/en-fr-chat"

_counts: Counter[str] = Counter()  # of exports, by test
_STARTED = time.time()

_EXPORTER = ("polystate.export.program", "polystate.recipes.pretrained")


def demo_model(recipe: str = "xnnpack") -> Path:
    """The artifact of models/en-fr-tatoeba, made by ``polystate-export``."""
    return kept(_export_demo, recipe, backend=recipe, files=MODEL.iterdir()) / "demo"


def chat_model(recipe: str) -> Path:
    """The artifact of models/en-fr-chat, made by ``polystate-export``."""
    return kept(_export_chat, recipe, backend=recipe, files=CHAT_MODEL.iterdir()) / "chat"


def _export_demo(out: Path, recipe: str) -> None:
    options = [] if recipe == "xnnpack" else ["--recipe", recipe]
    _export_by_command(MODEL, out / "demo", options)


def _export_chat(out: Path, recipe: str) -> None:
    _export_by_command(CHAT_MODEL, out / "chat", ["--recipe", recipe])


def _export_by_command(model: Path, out: Path, options: list[str]) -> None:
    source = model.relative_to(ROOT)
    done = run_module("polystate.cli.export", source, out, *options, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def kept(
    make: Callable[..., object],
    *arguments: Any,
    backend: str = "portable",
    files: Iterable[Path] = (),
) -> Path:
    """The folder that ``make(out, *arguments)`` fills, where ``make`` is a module's function.

    What it makes must follow from its module, what that imports, the arguments' representation, and
    the files.
    """
    sources = ingredients.sources(*_EXPORTER, make.__module__)
    words = (make.__module__, make.__qualname__, _text(arguments))
    everything = [*sources, *files]
    digest = ingredients.digest(everything, _surroundings(backend), *words, *_edited(everything))
    return _store().get(digest, lambda out: make(out, *arguments))


def exported(
    model: torch.nn.Module, methods: Mapping[str, ps.Method], backend: str, **options: Any
) -> ps.Program:
    """What ``ps.export`` gives for a module that the running test makes.

    It is kept by the test's name and file, the files of the module's classes, what these import,
    and the tensors of the module and of the examples, so that a module with other weights is
    exported anew.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    files = ingredients.sources(*_EXPORTER, ROOT / test.partition("::")[0], *_files(model))
    _counts[test] += 1
    examples = {name: (method.args, method.kwargs) for name, method in methods.items()}
    words = (test, str(_counts[test]), _text(sorted(options.items())), _values(model, examples))
    digest = ingredients.digest(files, _surroundings(backend), backend, *words, *_edited(files))

    def make(out: Path) -> None:
        program = ps.export(model, methods, backend=backend, **options)
        (out / "program").write_bytes(pickle.dumps(program))

    program: ps.Program = pickle.loads((_store().get(digest, make) / "program").read_bytes())
    return program


def _edited(files: Iterable[Path]) -> list[str]:
    """A word of this process alone, if a file changed since it started: it may run the old one."""
    edited = any(path.stat().st_mtime >= _STARTED for path in files)
    return [f"{os.getpid()} {_STARTED}"] if edited else []


def _files(model: torch.nn.Module) -> set[Path]:
    """The files of this repository that have functions of a module's classes and their bases.

    Those of examples are not imported by name, so that no reading of imports finds them.
    """
    classes = {base for module in model.modules() for base in type(module).__mro__}
    functions = (
        inspect.unwrap(getattr(each, "__func__", each))
        for base in classes
        for each in vars(base).values()
        if callable(each) or isinstance(each, staticmethod | classmethod)
    )
    names = {f.__code__.co_filename for f in functions if inspect.isfunction(f)}
    return {path for path in map(Path, names) if path.is_file() and _is_own(path.resolve())}


def _is_own(path: Path) -> bool:
    return path.is_relative_to(ROOT) and "site-packages" not in path.parts


def _values(model: torch.nn.Module, examples: Any) -> str:
    leaves = [*model.named_parameters(), *model.named_buffers()]
    leaves += [item for module in model.modules() for item in vars(module).items()]
    leaves += [("", leaf) for leaf in pytree.tree_leaves(examples)]
    digest = hashlib.sha256(_text(model).encode())
    for name, leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            digest.update(f"{name} {leaf.dtype} {list(leaf.shape)} {leaf.stride()}".encode())
            digest.update(pickle.dumps(leaf.detach().flatten().tolist()))
    return digest.hexdigest()


def _text(value: object) -> str:
    """What an object shows of itself, which must be the same in every process."""
    text = repr(value)
    assert " at 0x" not in text, f"{text} shows where it lies in memory, and is never found again"
    return text


def _surroundings(backend: str) -> str:
    return ingredients.surroundings("aoti" if backend.startswith("aoti") else "")


@functools.cache
def _store() -> Store:
    return Store.of_user(ingredients.digest(ingredients.compiled()))
