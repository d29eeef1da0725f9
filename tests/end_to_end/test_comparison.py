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


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantized") / "artifact"
    return saved(folder, backend="xnnpack", quantization="q8")


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


def test_what_quantized_layers_lose_is_sorted(quantized):
    found = ps.compare(made(), quantized, CALLS)
    assert found.agrees and found.quantization == "q8"
    lost = [loss.alone for loss in found.losses]
    assert lost == sorted(lost, reverse=True) and 1e-4 < lost[-1] <= lost[0] < 0.05
    calls = {(loss.method, loss.layer, loss.call) for loss in found.losses}
    assert ("forward", "head", 1) in calls and ("twice", "net.0", 0) in calls
    assert {loss.layer for loss in found.losses} == {"head", "net.0", "net.2"}
    assert all(0 < loss.reached < 0.1 and loss.line for loss in found.losses)
    assert "lost by quantized layers" in str(found)


def test_a_quantized_layer_whose_weights_changed_is_found(quantized):
    model = made()
    model.net[0].weight.mul_(-1)
    first = ps.compare(model, quantized, CALLS).first
    assert first is not None and (first.layer, first.beyond) == ("net.0", "finished")


@pytest.mark.exhaustive
def test_an_artifact_of_aoti_is_compared_with_its_own_weights(tmp_path):
    path = saved(tmp_path / "artifact", backend="aoti")
    with pytest.raises(ps.ArtifactError, match="trust"):
        ps.compare(made(), path, CALLS)
    model = made()
    model.net[2].bias.add_(1)
    first = ps.compare(model, path, CALLS, trust_code=True).first
    assert first is not None and (first.layer, first.beyond) == ("net.2", "finished")


def test_state_that_begins_otherwise_is_told(artifact):
    model = made()
    model.total.add_(1)
    found = ps.compare(model, artifact, CALLS)
    assert [row.value for row in found.rows if row.beyond] == [
        "state 'total' before the first call"
    ]


class Renamed(Model):
    twice = None


class Longer(Model):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(9))


class Bare(Model):
    def __init__(self):
        super().__init__()
        del self.total


class Pure(Model):
    def twice(self, x):
        return self.net(x)

    def forward(self, x):
        return self.net(x)


class Wider(Model):
    def twice(self, x):
        self.total.mul_(2)
        return (self.net(x) + self.total).to(torch.float64)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Renamed, "it has the method 'twice', and Renamed has no 'twice'"),
        (Longer, r"its state 'total' is float32 \[8\], the model's buffer float32 \[9\]"),
        (Bare, "its state 'total' is no buffer of Bare"),
        (Pure, "the artifact's methods change 'total', the model's do not"),
        (Wider, r"its method 'twice' returns \(float32\[.*\]\), the model's \(float64"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(artifact, kind, told):
    with pytest.raises(ps.ContractError, match="the artifact does not fit the model") as refused:
        ps.compare(made(kind), artifact, CALLS)
    assert refused.match(told)


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({"forward": (X,)}, "inputs has no arguments for the artifact's method 'twice'"),
        ({**CALLS, "more": (X,)}, "the artifact has no method 'more'; it has 'forward', 'twice'"),
        ({**CALLS, "forward": X}, r"the inputs of method 'forward' are a Tensor; .*: \(x,\)"),
        ({**CALLS, "forward": (X, X)}, "takes 1 tensor; inputs has 2"),
        ([X], "inputs is a list, not a mapping"),
    ],
)
def test_inputs_of_another_form_are_refused(artifact, inputs, told):
    with pytest.raises(ps.ContractError, match=told):
        ps.compare(made(), artifact, inputs)


def test_inputs_beyond_the_contract_are_refused(artifact):
    with pytest.raises(ps.ContractError, match="forward"):
        ps.compare(made(), artifact, {**CALLS, "forward": (torch.zeros(6, 8),)})
