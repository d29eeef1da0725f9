"""The user's own graph passes, and what an export keeps for those who debug it."""

import json

import pytest
import torch
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import PassResult
from torch import nn

import polystate as ps

X = torch.tensor([[-1.0, 2.0]])


class Rectifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 2))

    def step(self, x):
        self.total.add_(torch.relu(x))
        return self.total.clone()

    def halve(self, x):
        return torch.relu(x) / 2


METHODS = {name: ps.Method(name, (X,)) for name in ("step", "halve")}


def replace(graph_module, old, new):
    for node in graph_module.graph.find_nodes(op="call_function", target=old):
        node.target = new
    graph_module.recompile()


def negate_before(graph_module):
    replace(graph_module, torch.ops.aten.relu.default, torch.ops.aten.neg.default)
    return PassResult(graph_module, True)


def negate_before_and_return_nothing(graph_module):
    replace(graph_module, torch.ops.aten.relu.default, torch.ops.aten.neg.default)


def negate_before_and_return_the_module(graph_module):
    negate_before_and_return_nothing(graph_module)
    return graph_module


def negate_after(graph_module):
    replace(graph_module, exir_ops.edge.aten.relu.default, exir_ops.edge.aten.neg.default)


def stumble(graph_module):
    raise ValueError("no such node")


def run(program, tmp_path):
    session = ps.load(program.save(tmp_path / "artifact")).session()
    return session.run("step", X)[0], session.run("halve", X)[0]


@pytest.mark.parametrize(
    "passes",
    [
        {"passes_before_lowering": [negate_before]},
        {"passes_before_lowering": [negate_before_and_return_nothing]},
        {"passes_before_lowering": [negate_before_and_return_the_module]},
        {"passes_after_lowering": [negate_after]},
    ],
)
def test_a_pass_changes_every_method(tmp_path, passes):
    program = ps.export(Rectifier(), METHODS, backend="portable", **passes)
    total, half = run(program, tmp_path)
    torch.testing.assert_close(total, -X)
    torch.testing.assert_close(half, -X / 2)


def test_a_program_that_passes_changed_has_no_recorded_calls():
    program = ps.export(
        Rectifier(), METHODS, backend="portable", passes_before_lowering=[negate_before]
    )
    assert program.manifest.golden is None


@pytest.mark.parametrize("where", ["passes_before_lowering", "passes_after_lowering"])
def test_a_pass_that_raises_is_named(where):
    with pytest.raises(ps.ExportError, match="method 'step': the pass 'stumble' failed") as refused:
        ps.export(Rectifier(), METHODS, backend="portable", **{where: [stumble]})
    assert "no such node" in str(refused.value)
    assert f"(at {__file__}:" in str(refused.value)


def test_debugging_files_are_kept(tmp_path):
    folder = tmp_path / "debug" / "here"
    ps.export(Rectifier(), METHODS, backend="portable", debug_dir=folder)
    for method in METHODS:
        stages = {path.name: path.read_text() for path in (folder / method).glob("*.txt")}
        assert sorted(stages) == ["1_functional.txt", "2_edge.txt", "3_planned.txt"]
        assert "torch.ops.aten.relu.default" in stages["1_functional.txt"]
        assert "%aten_relu_default" in stages["2_edge.txt"]
        assert "torch.ops.polystate_faster.relu.out" in stages["3_planned.txt"]
        assert (folder / method / "etrecord.bin").stat().st_size > 0
    plan = json.loads((folder / "memory_plan.json").read_text())
    assert plan.keys() == METHODS.keys()
    assert plan["step"]["arenas"]["state"] >= Rectifier().total.nbytes
    assert all(tensor["bytes"] > 0 for tensor in plan["step"]["tensors"])


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v.softmax(-1) + 0.5, lambda v: v * 1.5, (x,))


def test_a_graph_that_executorch_cannot_record_leaves_the_other_files(tmp_path):
    methods = {"forward": ps.Method("forward", (torch.ones(2, 3),))}
    ps.export(Branches(), methods, backend="portable", debug_dir=tmp_path)
    assert "cannot write the ETRecord" in (tmp_path / "forward/etrecord.txt").read_text()
    assert (tmp_path / "forward/3_planned.txt").exists()


def test_nothing_is_kept_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ps.export(Rectifier(), METHODS, backend="portable")
    assert list(tmp_path.iterdir()) == []
