"""Graph modules whose code is written late are what they are with code from the beginning."""

from __future__ import annotations

import contextlib
import copy
import inspect
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.fx import Graph, GraphModule, symbolic_trace

import polystate as ps
from polystate.export.graph import late_code


def three_times() -> GraphModule:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.mul, (x, 3)))
    return GraphModule(nn.Module(), graph)


def written(module: GraphModule) -> bool:
    return "_code" in vars(module)


@pytest.fixture
def module() -> GraphModule:
    with late_code.written_when_asked_for():
        return three_times()


def test_code_is_written_at_the_first_call(module: GraphModule) -> None:
    assert not written(module)
    assert module(torch.tensor(2.5)) == 7.5
    assert written(module)
    assert type(module).forward is type(module).forward


def test_a_call_computes_what_the_graph_is_by_then() -> None:
    with late_code.written_when_asked_for():
        module = three_times()
        assert module(torch.tensor(2.5)) == 7.5
        (product,) = module.graph.find_nodes(op="call_function", target=torch.mul)
        product.args = (product.args[0], 5)
        assert module(torch.tensor(2.5)) == 7.5
        module.recompile()
        assert not written(module)
        assert module(torch.tensor(2.5)) == 12.5


def test_whatever_asks_for_code_gets_it(module: GraphModule) -> None:
    eager = three_times()
    assert inspect.signature(module.forward) == inspect.signature(eager.forward)
    assert inspect.signature(type(copy.copy(module)).forward) == inspect.signature(
        type(eager).forward
    )
    for late in (module, copy.deepcopy(module)):
        assert late.code == eager.code
        assert str(late) == str(eager)
        assert late._lineno_map == eager._lineno_map
    assert symbolic_trace(module).code == eager.code


@pytest.mark.parametrize("is_within", [False, True])
def test_a_module_is_pickled_with_its_code(module: GraphModule, *, is_within: bool) -> None:
    with late_code.written_when_asked_for() if is_within else contextlib.nullcontext():
        again = pickle.loads(pickle.dumps(module))
    assert again(torch.tensor(2.5)) == 7.5


def test_modules_in_a_module_are_written_with_it() -> None:
    with late_code.written_when_asked_for():
        inner = three_times()
        graph = Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_module("inner", (x,)))
        outer = GraphModule({"inner": inner}, graph)
        result = outer.recompile()
    assert outer(torch.tensor(2.0)) == 6
    assert "inner" in result.src
    assert written(inner)


class Counter(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        more = torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))
        self.total.add_(self.linear(more).sum(0))
        return self.total / x.shape[0]


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_a_program_is_the_same(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = Counter()
    batch = torch.export.Dim("batch", max=8)
    method = ps.Method("forward", (torch.randn(2, 3),), dynamic_shapes={"x": {0: batch}})

    def program(name: str) -> bytes:
        exported = ps.export(model, {"forward": method}, backend=backend)
        return (exported.save(tmp_path / name) / exported.manifest.program.file).read_bytes()

    late = program("late")
    monkeypatch.setattr(late_code, "written_when_asked_for", contextlib.nullcontext)
    assert program("early") == late
