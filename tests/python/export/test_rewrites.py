"""Rewrites of a user's code are exported, and compared with the module, before they are told."""

import hashlib
import importlib.util
from pathlib import Path

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.rewriting.drafts import CannotRewriteError, Draft
from polystate.export.rewriting.rules.table import RULES
from polystate.export.rewriting.spots import Problem
from polystate.export.rewriting.texts import Edit, Text
from tests.python.export.test_examples import case, made

X = torch.tensor([1.0, -2.0, 3.0, 4.0])

# Cases of the example database whose rewrite is found, and what the diff has.
FOUND = {
    "assert_on_values": '+        torch._assert_async(x.sum() > 0, "the sum must be positive")',
    "attribute_that_changes": "+        self.calls.add_(1)",
    "branch_on_values": "+        return torch.where(x.sum() > 0, x * 2, x * 3)",
    "buffer_data": "+        self.total.copy_(self.total + x)",
    "buffers_that_exchange_names": "= self.back.clone(), self.front.clone()",
    "cond_result_is_operand": "lambda x: x[:2].clone()",
    "cond_results_differ": "lambda x: x[2:].clone()",
    "dictionary_that_changes": "+        self.cache_key.copy_(self.cache_key + x)",
    "dimension_without_maximum": "",
    "dropout_in_training": "",
    "list_that_grows": "+        self.cache.index_copy_(0, self.cache_used.reshape(1), x[None])",
    "loop_count_of_tensor": "+            x = torch.where(i < n, x * 2, x)",
    "loop_on_values": "+            x = torch.where(x.norm() > 1, x / 2, x)",
    "number_of_tensor": "+        torch._check(number + 2 <= table.shape[0])",
    "numpy_inside": "+        return x + torch.sin(x)",
    "parameter_that_changes": '+        self.register_buffer("weight", torch.ones(4))',
    "raise_on_values": '(torch.logical_not(torch.isnan(x).any()), "not a number")',
    "slice_by_number": "+        torch._check(number <= x.shape[0])",
    "unbounded_size": "+        torch._check(number <= 64)",
}


def explained(model, methods):
    return ps.explain(model, methods, backends=("portable",), draws=ps.Draws(count=2))


@pytest.mark.parametrize("name", FOUND)
def test_a_rewrite_of_a_case_is_exported_and_equals_the_module(name):
    module = case(name)
    file = Path(module.__file__)
    before = hashlib.sha256(file.read_bytes()).digest()
    found = explained(made(module.Program), module.METHODS)
    (rewrite,) = found.rewrites.values()
    assert rewrite.holds and rewrite.told.startswith("exports, and equals your module in ")
    assert FOUND[name] in rewrite.diff
    assert not FOUND[name] or rewrite.diff.startswith(f"--- {file}\n+++ {file}\n@@ ")
    assert found.seconds_beside["rewrites"] == pytest.approx(rewrite.seconds, abs=0.5)
    assert hashlib.sha256(file.read_bytes()).digest() == before


def test_every_rule_has_a_case():
    assert set(RULES) <= {*FOUND} - {"slice_by_number"}


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, i):
        self.calls += 1
        if x.sum() > 0:
            self.total.add_(x)
            y = x * 2
        elif x.sum() < -1:
            y = x - 1
        else:
            y = x * 0
        assert x.min() > -100
        k = i.item()
        return (y[k:].sum() + y[k]) * self.calls, self.total * 1


def test_one_problem_after_another_is_mended():
    methods = {"forward": ps.Method("forward", (X, torch.tensor(2)))}
    rewrite = explained(Several(), methods).rewrites["forward"]
    assert rewrite.holds and len(rewrite.changes) == 3
    assert "+        new_total = torch.where(chosen, self.total + x, self.total)" in rewrite.diff
    assert "+        torch._check(k < y.shape[0])" in rewrite.diff


class Otherwise(nn.Module):
    """Of branches with results of two shapes torch.where makes one shape."""

    def forward(self, x):
        return x * 2 if x.sum() > 0 else x.sum()


def test_a_rewrite_that_exports_and_does_something_else_does_not_hold():
    methods = {"forward": ps.Method("forward", (X,))}
    rewrite = explained(Otherwise(), methods).rewrites["forward"]
    assert not rewrite.holds
    assert rewrite.told == "exports, and differs from your module: float32[4] instead of float32[]"


class Base(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Derived(Base):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return super().forward(x) + self.kind


class Paths(nn.Module):
    def nested(self, x):
        if x.sum() > 0:
            y = x + 1
            z = y * 2
            if z.max() > 3:
                return z, y
            return y, z
        return x, -x

    def after(self, x):
        scale = 2
        if not x.sum() > 0 or x.max() > 5:
            scale = scale + 1
            x = x * scale
        return x - scale

    def unchosen(self, x):
        if x.sum() > 0:
            x.mul_(2)
        return x


def rewritten(model, name, example, mark, start=None):
    """The model after the rule of an example, at the first line with a mark behind a start."""
    lines = Path(__file__).read_text().splitlines()
    start = start or f"def {name}(self, x):"
    first = next(i for i, line in enumerate(lines) if line.strip() == start)
    number = next(i for i, line in enumerate(lines) if i > first and mark in line) + 1
    draft = Draft(model, {"m": ps.Method(name, (X,))})
    RULES[example][0](draft, Problem("", f"{__file__}:{number}: {lines[number - 1]}", example))
    return draft


@pytest.mark.parametrize("name", ["nested", "after"])
@pytest.mark.parametrize("scale", [1.0, -1.0, 0.01, 10.0])
def test_both_paths_are_computed_as_each_is_by_itself(name, scale):
    draft = rewritten(Paths(), name, "branch_on_values", "if ")
    found, wanted = (getattr(each, name)(X * scale) for each in (draft.model, Paths()))
    torch.testing.assert_close(found, wanted, check_dtype=False)
    assert "torch.where(" in draft.diff()


def test_a_branch_that_changes_something_else_is_not_rewritten():
    with pytest.raises(CannotRewriteError, match="no value that"):
        rewritten(Paths(), "unchosen", "branch_on_values", "if ")


def test_a_class_that_overrides_the_function_is_not_rewritten():
    with pytest.raises(CannotRewriteError, match="Derived overrides forward"):
        rewritten(Derived(1), "forward", "branch_on_values", "if ", "class Base(nn.Module):")


def test_a_class_of_a_closure_keeps_its_names_and_its_super():
    two = 2

    class Inner(nn.Module):
        def inner(self, x):
            assert isinstance(super(), super)
            return x * two if x.sum() > 0 else x + two

    draft = rewritten(Inner(), "inner", "branch_on_values", "if x.sum() > 0")
    assert type(draft.model).__name__ == "Inner" and isinstance(draft.model, Inner)
    for x in (X, -X):
        torch.testing.assert_close(draft.model.inner(x), Inner().inner(x))


def test_edits_are_made_from_the_end_and_count_bytes():
    text = Text("nowhere.py", "a = 'ü' if b else c\nd = 1\n")
    first, second = text.tree.body
    edited = text.edited(
        [Edit.replace(first.value, "torch.where(b, 'ü', c)"), Edit.after(second, "e")]
    )
    assert edited.now == "a = torch.where(b, 'ü', c)\nd = 1\ne\n"


def test_a_file_that_knows_torch_by_another_name_imports_it(tmp_path):
    file = tmp_path / "other_name.py"
    file.write_text(
        "from __future__ import annotations\n\nimport torch as t\n\n\nclass Model(t.nn.Module):\n"
        "    def forward(self, x):\n        return x * 2 if x.sum() > 0 else x\n"
    )
    spec = importlib.util.spec_from_file_location("other_name", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    draft = Draft(module.Model(), {"m": ps.Method("forward", (X,))})
    RULES["branch_on_values"][0](draft, Problem("", f"{file}:8: return x", "branch_on_values"))
    assert "+import torch\n import torch as t\n" in draft.diff()
    assert "+        return torch.where(x.sum() > 0, x * 2, x)" in draft.diff()
    torch.testing.assert_close(draft.model(-X), -X)
