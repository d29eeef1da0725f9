"""Names and texts of the user's go into an artifact that can be opened, whatever they are."""

import pytest
import torch
from torch import nn

import polystate as ps
from tests.end_to_end.twins import every_backend


class Talkative(nn.Module):
    """A cache that is large enough to be updated in place, with an operator after the update."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(256, 128))

    def write(self, x, position):
        torch._check_tensor_all(x.sum() < 100, lambda: "the sum\n\tmust be\x07 small")
        self.cache.index_copy_(0, position, x)
        return {"größe": self.cache.sum(0), "rows": (x * 2, x + 1)}


WRITE = {"write": ps.Method("write", (torch.ones(1, 128) / 2, torch.tensor([0])))}
CONSTANTS = {"chat.prompt": "Hello,\n\tworld\x1b[31m", "größe": 3}


@every_backend
def test_texts_of_any_characters_are_kept_or_made_printable(tmp_path, backend):
    ps.export(Talkative(), WRITE, backend=backend, constants=CONSTANTS).save(tmp_path / "model")
    model = ps.load(tmp_path / "model", trust_code=True)
    assert model.constants == CONSTANTS
    session = model.session()
    outputs = session.run("write", torch.ones(1, 128) / 2, torch.tensor([3]))
    assert [tuple(output.shape) for output in outputs] == [(128,), (1, 128), (1, 128)]
    with pytest.raises(ps.ContractError, match="'the sum must be small' does not hold"):
        session.run("write", torch.ones(1, 128), torch.tensor([4]))


def test_a_failed_check_leaves_a_large_cache_that_is_of_use(tmp_path):
    program = ps.export(Talkative(), WRITE, backend="portable")
    assert not program.methods["write"].atomic
    session = ps.load(program.save(tmp_path / "model")).session()
    session.run("write", torch.ones(1, 128) / 2, torch.tensor([3]))
    before = session.state["cache"].clone()
    with pytest.raises(ps.ContractError):
        session.run("write", torch.ones(1, 128), torch.tensor([4]))
    torch.testing.assert_close(session.state["cache"], before)
    session.run("write", torch.ones(1, 128) / 4, torch.tensor([5]))
    assert float(session.state["cache"].sum()) == 64 + 32
