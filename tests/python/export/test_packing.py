"""Linears with packed float32 weights."""

import pytest
import torch
from torch import nn

import polystate as ps
from polystate.export.packing import packed, quantized


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


class Linears(nn.Module):
    """Linears of some kinds and sizes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(1, 33), nn.Linear(33, 40, bias=False)
        self.of_doubles = nn.Linear(40, 5, dtype=torch.float64)
        self.attention = nn.MultiheadAttention(40, 2, batch_first=True)
        self.requires_grad_(False)

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        attended, _ = self.attention(y, y, y, need_weights=False)
        return self.of_doubles(attended.double())


def exported(model, *names, x, backend="xnnpack"):
    with packed(model):
        methods = {name: ps.Method(name, (x,)) for name in names}
        return ps.export(model, methods, backend=backend)


def session(program, path):
    return ps.load(program.save(path / "artifact")).session()


@pytest.mark.parametrize("backend", ["xnnpack", "portable"])
def test_a_tied_table_is_stored_once(tmp_path, backend):
    model, ids = Table(), torch.tensor([[0, 299, 15, 16]])
    path = exported(model, "embed", "logits", x=ids, backend=backend).save(tmp_path / "artifact")
    bytes_of_table = 4 * model.embedding.weight.numel()
    assert bytes_of_table < (path / "model.pte").stat().st_size < 1.2 * bytes_of_table
    running = ps.load(path).session()
    with torch.no_grad():
        assert torch.equal(running.run("embed", ids)[0], model.embed(ids))
        torch.testing.assert_close(running.run("logits", ids)[0], model.logits(ids))


def test_ids_beyond_the_table_are_refused(tmp_path):
    running = session(exported(Table(), "embed", x=torch.tensor([1, 2])), tmp_path)
    with pytest.raises(ps.ContractError, match=r"value 300 at .* is above 299, the largest that"):
        running.run("embed", torch.tensor([0, 300]))


def test_an_embedding_of_its_own_stays_as_it_is(tmp_path):
    model, ids = Table(), torch.tensor([[3, 7]])
    model.embedding.weight = nn.Parameter(model.embedding.weight.detach().clone())
    program = exported(model, "embed", x=ids)
    assert "polystate::packed_embedding.out" not in program.manifest.program.operators
    assert torch.equal(session(program, tmp_path).run("embed", ids)[0], model.embed(ids))


def test_linears_of_every_kind_compute_what_they_do(tmp_path):
    model, x = Linears().eval(), torch.randn(2, 3, 1, generator=torch.Generator().manual_seed(1))
    program = exported(model, "forward", x=x)
    assert "polystate::packed_linear.out" in program.manifest.program.operators
    torch.testing.assert_close(session(program, tmp_path).run("forward", x)[0], model(x))


def test_the_modules_own_weights_and_forms_are_back_afterwards():
    model = Table()
    weight, forms = model.head.weight, (nn.Linear.forward, nn.Embedding.forward)
    values = weight.detach().clone()
    exported(model, "logits", x=torch.tensor([1]))
    assert model.head.weight is weight
    assert torch.equal(weight, values)
    assert (nn.Linear.forward, nn.Embedding.forward) == forms


class Branches(nn.Module):
    """A linear within a branch, which eager PyTorch compiles and keeps."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(9, 9)
        self.requires_grad_(False)

    def forward(self, x):
        return torch.cond(x[0, 0] > 0, lambda x: self.linear(x), lambda x: -self.linear(x), (x,))


def test_nothing_compiled_meanwhile_is_left():
    model, x = Branches(), torch.randn(2, 9, generator=torch.Generator().manual_seed(1))
    before = model(x)
    with quantized(model, "q8"):
        assert not torch.equal(model(x), before)
    assert torch.equal(model(x), before)
