"""Linears with int8 weights and activations."""

import numpy as np
import pytest
import torch
from torch import nn

import polystate as ps

WIDTH = 64


class Network(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.register_buffer("total", torch.zeros(1, width))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

    def accumulate(self, x):
        self.total.add_(self.forward(x))
        return self.total.clone()


class Scaled(nn.Module):
    """Two linears of which one has the doubled weights of the other: equal as int8."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.once, self.twice = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.requires_grad_(False)
        self.twice.weight.copy_(2 * self.once.weight)

    def run_single(self, x):
        return self.once(x)

    def run_double(self, x):
        return self.twice(x)

    def run_both(self, x):
        return self.once(x), self.twice(x)


def example(width=WIDTH):
    return torch.randn(1, width, generator=torch.Generator().manual_seed(1))


def exported(model, *names, x=None, quantization="q8"):
    x = example() if x is None else x
    return ps.export(model, {n: ps.Method(n, (x,)) for n in names}, quantization=quantization)


def session(program, path):
    return ps.load(program.save(path / "artifact")).session()


@pytest.mark.parametrize("quantization", ["q8", "q8_0"])
def test_results_are_near_those_of_float32(tmp_path, quantization):
    model, x = Network(), example()
    program = exported(model, "forward", "accumulate", quantization=quantization)
    quantized = session(program, tmp_path)
    with torch.no_grad():
        expected = model(x)
    error = (quantized.run("forward", x)[0] - expected).abs().max() / expected.abs().max()
    assert 0 < error < 0.03
    for calls in (1, 2):
        (total,) = quantized.run("accumulate", x)
        torch.testing.assert_close(total, calls * expected, rtol=0.1, atol=0.05)


def test_both_backends_run_it(tmp_path):
    model, x = Network(), example()
    program = ps.export(
        model, {"forward": ps.Method("forward", (x,))}, backend="portable", quantization="q8"
    )
    (portable,) = session(program, tmp_path).run("forward", x)
    with torch.no_grad():
        expected = model(x)
    torch.testing.assert_close(portable, expected, rtol=0.1, atol=0.02)


class Table(nn.Module):
    """An embedding that shares its weight with the linear that gives logits."""

    def __init__(self, vocabulary=300, width=64):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(vocabulary, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def embed(self, ids):
        return self.embedding(ids)

    def logits(self, ids):
        return self.head(self.embedding(ids))


@pytest.mark.parametrize("quantization", ["q8", "q8_0"])
def test_a_tied_table_is_stored_once_as_int8(tmp_path, quantization):
    model, ids = Table(), torch.tensor([[0, 299, 15, 16]])
    methods = {name: ps.Method(name, (ids,)) for name in ("embed", "logits")}
    path = ps.export(model, methods, quantization=quantization).save(tmp_path / "artifact")
    bytes_of_table = model.embedding.weight.numel()
    assert bytes_of_table < (path / "model.pte").stat().st_size < 1.8 * bytes_of_table
    running = ps.load(path).session()
    with torch.no_grad():
        rows, logits = model.embed(ids), model.logits(ids)
    step = model.embedding.weight.abs().amax(1)[ids][..., None] / 127
    assert ((running.run("embed", ids)[0] - rows).abs() <= step * 0.505).all()
    torch.testing.assert_close(running.run("logits", ids)[0], logits, rtol=0.05, atol=0.5)


def test_an_embedding_of_its_own_stays_as_it_is(tmp_path):
    model, ids = Table(), torch.tensor([[3, 7]])
    model.embedding.weight = nn.Parameter(model.embedding.weight.detach().clone())
    program = ps.export(model, {"embed": ps.Method("embed", (ids,))}, quantization="q8")
    assert torch.equal(session(program, tmp_path).run("embed", ids)[0], model.embed(ids))


@pytest.mark.parametrize("quantization", ["q8", "q8_0"])
def test_the_manifest_tells_the_quantization(quantization):
    program = exported(Network(), "forward", quantization=quantization)
    assert program.manifest.program.quantization == quantization


class Outliers(nn.Module):
    """Linears of rows that have one large value, as those of large language models have."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(128, 128, bias=False)
        self.requires_grad_(False)
        self.linear.weight[:, 7] = 0

    def forward(self, x):
        return self.linear(x)


def test_groups_keep_what_is_small_beside_an_outlier(tmp_path):
    model, x = Outliers(), torch.randn(4, 128, generator=torch.Generator().manual_seed(1))
    x[:, 7] = 1000
    lost = {}
    for quantization in ("q8", "q8_0"):
        program = exported(model, "forward", x=x, quantization=quantization)
        (found,) = session(program, tmp_path / quantization).run("forward", x)
        lost[quantization] = float((found - model(x)).norm() / model(x).norm())
    assert lost["q8_0"] < 0.6 * lost["q8"]


def test_int8_weights_are_in_the_file_once(tmp_path):
    width = 256
    weights = 2 * width * width  # bytes as int8
    model, x = Network(width), example(width)
    one = exported(model, "forward", x=x).save(tmp_path / "one") / "model.pte"
    two = exported(model, "forward", "accumulate", x=x).save(tmp_path / "two") / "model.pte"
    plain = exported(model, "forward", x=x, quantization=None).save(tmp_path / "plain")
    assert weights < one.stat().st_size < 1.3 * weights
    assert two.stat().st_size - one.stat().st_size < 0.2 * weights
    assert (plain / "model.pte").stat().st_size > 4 * weights


def test_the_modules_own_weights_are_back_afterwards():
    model = Network()
    weights = {name: (parameter, parameter.clone()) for name, parameter in model.named_parameters()}
    kinds = [type(module) for module in model.modules()]
    exported(model, "forward")
    assert [type(module) for module in model.modules()] == kinds
    assert dict(model.named_parameters()).keys() == weights.keys()
    for name, parameter in model.named_parameters():
        original, value = weights[name]
        assert parameter is original
        assert type(parameter) is nn.Parameter
        assert torch.equal(parameter, value)


def test_the_modules_own_weights_are_back_after_a_refusal():
    model = Network()
    weight = model.first.weight
    with pytest.raises(ps.ExportError):
        exported(model, "absent")
    assert model.first.weight is weight


def test_equal_int8_weights_of_other_scales_stay_apart(tmp_path):
    x = example()
    program = exported(Scaled(), "run_single", "run_double", "run_both")
    running = session(program, tmp_path)
    (single,), (double,) = running.run("run_single", x), running.run("run_double", x)
    np.testing.assert_allclose(double, 2 * single, rtol=1e-5, atol=1e-6)
    assert single.abs().max() > 0
    both = running.run("run_both", x)
    np.testing.assert_allclose(both[0], single, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(both[1], double, rtol=1e-5, atol=1e-6)


class Tied(nn.Module):
    """Linears with one weight: two with other biases, and one without."""

    def __init__(self, scale):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.other = nn.Linear(9, 5), nn.Linear(9, 5)
        self.plain = nn.Linear(9, 5, bias=False)
        self.requires_grad_(False)
        self.other.weight = self.plain.weight = self.one.weight
        self.one.weight.mul_(scale)
        self.other.bias.copy_(self.one.bias + 0.02)

    def run_all(self, x):
        return self.one(x), self.other(x), self.plain(x)

    def run_one(self, x):
        return self.one(x)

    def run_other(self, x):
        return self.other(x)

    def run_plain(self, x):
        return self.plain(x)


@pytest.mark.parametrize("quantization", [None, "q8", "q8_0"])
@pytest.mark.parametrize("scale", [1, 0])
@pytest.mark.parametrize("names", [("run_all",), ("run_other", "run_plain", "run_one")])
def test_linears_with_one_weight_keep_their_own_biases(tmp_path, quantization, scale, names):
    model = Tied(scale)
    x = torch.randn(3, 9, generator=torch.Generator().manual_seed(1))
    program = exported(model, *names, x=x, quantization=quantization)
    running = session(program, tmp_path)
    results = {name: running.run(name, x) for name in names}
    if names == ("run_all",):
        one, other, plain = results["run_all"]
    else:
        (one,), (other,), (plain,) = (results[n] for n in ("run_one", "run_other", "run_plain"))
    exact = {"rtol": 0, "atol": 1e-5}
    torch.testing.assert_close(other - one, torch.full((3, 5), 0.02), **exact)
    torch.testing.assert_close(one - plain, model.one.bias.expand(3, 5), **exact)
    if scale == 0:
        torch.testing.assert_close(plain, torch.zeros(3, 5), **exact)


def test_the_same_linear_in_two_methods_is_stored_once(tmp_path):
    width = 256
    model, x = Network(width), example(width)
    model.second = model.first
    one = exported(model, "forward", x=x).save(tmp_path / "one") / "model.pte"
    two = exported(model, "forward", "accumulate", x=x).save(tmp_path / "two") / "model.pte"
    assert one.stat().st_size < 1.3 * width * width
    assert two.stat().st_size - one.stat().st_size < 0.2 * width * width


class Single(nn.Module):
    def __init__(self, columns, dtype=torch.float32):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(columns, 3, dtype=dtype)

    def forward(self, x):
        return self.inner(x)


def test_a_linear_of_one_column_stays_as_it_is(tmp_path):
    model, x = Single(1), torch.tensor([[0.3], [-2.0]])
    (found,) = session(exported(model, "forward", x=x), tmp_path).run("forward", x)
    torch.testing.assert_close(found, model(x).detach())


def test_a_quantized_linear_takes_a_vector(tmp_path):
    model, x = Single(9), torch.randn(9, generator=torch.Generator().manual_seed(1))
    (found,) = session(exported(model, "forward", x=x), tmp_path).run("forward", x)
    torch.testing.assert_close(found, model(x).detach(), rtol=0.05, atol=0.05)
    assert "forward" not in model.inner.__dict__


def test_a_linear_of_another_type_is_refused_by_name():
    with pytest.raises(ps.UnsupportedError, match=r"linear 'inner' is torch\.bfloat16"):
        exported(Single(9, torch.bfloat16), "forward", x=torch.ones(2, 9, dtype=torch.bfloat16))


def test_a_module_without_linears_is_refused():
    model, ids = nn.Embedding(5, 3), torch.tensor([1])
    methods = {"forward": ps.Method("forward", (ids,))}
    with pytest.raises(ps.ContractError, match="for linears, and Embedding has none"):
        ps.export(model, methods, quantization="q8")
