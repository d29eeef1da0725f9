"""The example database: what is called supported equals eager, the rest is refused as it says."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
import torch
from torch.utils import _pytree as pytree

import polystate as ps
from polystate.export.diagnosis.pages import PAGES
from polystate.export.diagnosis.problems import EXAMPLES
from tools import example_pages

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "examples" / "database").glob("*.py"))
NAMES = [file.stem for file in FILES]


def case(name):
    """The module of a case, executed anew."""
    path = ROOT / "examples" / "database" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where torch.cond looks for a branch's globals
    spec.loader.exec_module(module)
    return module


def made(kind):
    torch.manual_seed(0)
    return kind()


def copied(value):
    return pytree.tree_map_only(torch.Tensor, torch.clone, value)


def as_tensor(result):
    """A number as the program's result is one."""
    is_tensor = torch.is_tensor(result)
    dtype = torch.float64 if isinstance(result, float) else None
    return result if is_tensor else torch.tensor(result, dtype=dtype)


def assert_equals_eager(kind, methods, backend, directory):
    """The program's results are the module's, over two calls of each method."""
    program = ps.export(made(kind), methods, backend=backend, draws=ps.Draws(count=4))
    session = ps.load(program.save(directory / "artifact"), trust_code=True).session()
    model = made(kind)
    for name, method in [*methods.items()] * 2:
        args, kwargs = copied((tuple(method.args), dict(method.kwargs)))
        with torch.no_grad():
            expected = getattr(model, method.target)(*copied(args), **copied(kwargs))
        leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if torch.is_tensor(leaf)]
        found = session.run(name, *leaves)
        wanted = [as_tensor(leaf) for leaf in pytree.tree_leaves(expected) if leaf is not None]
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(torch.as_tensor(a), b, rtol=1e-4, atol=1e-5)


def assert_is_refused(name, backend):
    module = case(name)
    with pytest.raises(ps.Error, match=re.escape(module.ERROR)) as refused:
        ps.export(made(module.Program), module.METHODS, backend=backend)
    assert re.search(r"\.py:\d+: ", str(refused.value))  # a line of the user's
    shown = refused.value.example
    assert shown == getattr(module, "PAGE", name)
    assert str(refused.value).endswith(f"\n  example: {shown}")


def sampled(names):
    """Every eighth in every run: each takes seconds."""
    return [
        pytest.param(name, marks=[] if i % 8 == 0 else pytest.mark.exhaustive)
        for i, name in enumerate(names)
    ]


REFUSED = [name for name in NAMES if hasattr(case(name), "ERROR")]
REWRITTEN = [name for name in NAMES if hasattr(case(name), "Rewrite")]


@pytest.mark.parametrize("name", [*REFUSED, *sampled(n for n in NAMES if n not in REFUSED)])
def test_a_program_does_what_its_page_says(name, tmp_path):
    module = case(name)
    if hasattr(module, "ERROR"):
        assert_is_refused(name, "portable")
    else:
        assert_equals_eager(module.Program, module.METHODS, "portable", tmp_path)


@pytest.mark.parametrize("name", sampled(REWRITTEN))
def test_a_rewrite_is_exported_and_equals_eager(name, tmp_path):
    module = case(name)
    assert_equals_eager(module.Rewrite, module.METHODS, "portable", tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["xnnpack", "aoti"])
def test_other_engines_do_what_a_page_says(name, backend, tmp_path):
    module = case(name)
    if backend in getattr(module, "REFUSED_BY", ()):
        assert_is_refused(name, backend)
    else:
        assert_equals_eager(module.Program, module.METHODS, backend, tmp_path)
    if hasattr(module, "Rewrite"):
        assert_equals_eager(module.Rewrite, module.METHODS, backend, tmp_path / "rewrite")


# A tenth of the cases on the other engines: those that are refused before anything is compiled.
@pytest.mark.parametrize("name", ["branch_on_values", "attribute_that_changes", "numpy_inside"])
@pytest.mark.parametrize("backend", ["xnnpack", "aoti"])
def test_what_the_trace_refuses_every_engine_refuses(name, backend):
    assert backend in case(name).REFUSED_BY
    assert_is_refused(name, backend)


def test_most_kinds_of_refusals_are_shown():
    assert len(REFUSED) >= 40


def test_every_name_of_a_message_has_a_page():
    assert {*EXAMPLES, *(name for _, name in PAGES)} <= set(NAMES)


def test_the_pages_are_those_of_the_cases():
    wanted = example_pages.pages(ROOT)
    folder = ROOT / "docs" / "examples"
    assert {file.name: file.read_text() for file in folder.glob("*.md")} == wanted
