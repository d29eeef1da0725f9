"""`ps.compare` finds the layer at which an artifact and its model part."""

import json

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from polystate.export.lowering import rewrites


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.head = nn.Linear(8, 8)
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x):
        hidden = self.head(x) + 1
        hidden = self.net(hidden)
        self.total.add_(hidden.sum(0))
        return self.head(hidden) + self.total

    def twice(self, x):
        self.total.mul_(2)
        return self.net(x) + self.total


def made(kind=Model):
    torch.manual_seed(0)
    return kind().eval().requires_grad_(False)


X = torch.linspace(-2, 2, 24).reshape(3, 8)
CALLS = {"forward": (X,), "twice": (X[:2],)}


def saved(folder, **options):
    ranges = ({0: Dim("rows", min=1, max=5)},)
    methods = {name: ps.Method(name, (X,), dynamic_shapes=ranges) for name in CALLS}
    return ps.export(made(), methods, draws=ps.Draws(count=2), **options).save(folder)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("portable") / "artifact", backend="portable")


def test_a_sound_artifact_agrees_at_each_stage(artifact):
    found = ps.compare(made(), artifact, CALLS)
    assert found.agrees and found.first is None and found.notes == ()
    assert (found.backend, found.quantization) == ("portable", None)
    layers = [row.layer for row in found.rows if row.method == "forward"]
    assert layers == ["head", "", "net.0", "net.1", "net.2", "", "head", ""]
    assert {row.value for row in found.rows} == {"layer", "output 0", "state 'total'"}
    head = found.rows[0]
    assert head.reference == "eager" and set(head.stages) == {"exported", "lowered", "finished"}
    assert head.line.startswith(__file__) and head.line.endswith("hidden = self.head(x) + 1")
    assert "no value is beyond rounding" in str(found)
    assert json.loads(found.to_json())["agrees"] is True


@pytest.mark.parametrize("layer", ["net.2", pytest.param("head", marks=pytest.mark.exhaustive)])
def test_the_layer_whose_weights_changed_is_the_first_that_differs(artifact, layer):
    model = made()
    model.get_submodule(layer).weight[1] *= 1.5
    found = ps.compare(model, artifact, CALLS)
    first = found.first
    assert first is not None and (first.layer, first.beyond) == (layer, "finished")
    assert first.method == "forward" and first.stages["finished"].absolute > 0.01
    assert not first.stages["lowered"].beyond
    assert found.notes == ("1 constant of the artifact differs from what the model gives now",)
    told = json.loads(found.to_json())
    assert told["rows"][told["first"]]["layer"] == layer
    assert f"layer of '{layer}' (Linear) in 'forward', finished" in str(found)
    assert first.line in str(found)


def test_a_pass_that_changes_a_value_is_seen_at_the_lowered_stage(artifact, monkeypatch):
    def negate(program):
        for node in program.graph.nodes:
            if node.target == torch.ops.aten.relu.default:
                node.target = torch.ops.aten.neg.default
        program.graph_module.recompile()

    fault = rewrites.Rewrite(negate, rewrites.Form.FUNCTIONAL)
    monkeypatch.setattr(rewrites, "REWRITES", (fault, *rewrites.REWRITES))
    found = ps.compare(made(), artifact, CALLS)
    first = found.first
    assert first is not None and (first.layer, first.beyond) == ("net.1", "lowered")
    assert any("another program" in note for note in found.notes)
