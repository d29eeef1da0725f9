"""The package as a user imports it."""

from __future__ import annotations

import importlib
import inspect

import pytest

import polystate as ps
from tests.python.runtime.runtime_support import RunPython
from tests.support.toy_translation import toy_translation


def test_every_public_name_is_there() -> None:
    for name in ps.__all__:
        assert getattr(ps, name) is not None
    assert set(ps.__all__) <= set(dir(ps))
    with pytest.raises(AttributeError, match="no attribute 'exprot'"):
        ps.exprot  # type: ignore[attr-defined]  # noqa: B018


def test_export_is_the_function_also_after_its_package_was_imported() -> None:
    importlib.import_module("polystate.export")
    assert inspect.isfunction(ps.export)


def test_importing_the_package_imports_nothing_heavy(run_python: RunPython) -> None:
    program = "import polystate, sys; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    assert run_python(program) == "[]\n"


@pytest.mark.parametrize(
    "generate",
    ["ps.pipeline(artifact)('Hello.')", "ps.load(artifact).generate([5, 0])"],
    ids=["pipeline", "generate"],
)
def test_generating_imports_neither_torch_nor_transformers(
    run_python: RunPython, generate: str
) -> None:
    program = f"import sys, polystate as ps; artifact = sys.argv[1]; assert {generate}; "
    program += "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    assert run_python(program, toy_translation()) == "[]\n"


@pytest.mark.parametrize("name", ["ContractError", "BusyError", "IoError", "ExportError"])
def test_every_exception_is_an_error_of_polystate(name: str) -> None:
    assert issubclass(getattr(ps, name), ps.Error)
