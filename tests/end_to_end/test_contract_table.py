"""What ExecuTorch alone accepts silently is an error, named in full, that leaves the state."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import every_backend

pytestmark = every_backend

batch = Dim("batch", min=2, max=4)
length = Dim("length", min=1, max=8)


class Programs(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor([5.0]))
        self.register_buffer("cache", torch.zeros(4, 6))
        self.linear = nn.Linear(4, 4)
        self.requires_grad_(False)

    def ranges(self, x):
        self.calls.add_(1)
        return x * 2

    def static_size(self, x):
        self.calls.add_(1)
        return x / x.shape[1]

    def branch(self, x):
        self.calls.add_(1)
        return x + 1 if x.shape[0] > 4 else x - 1

    def even(self, x):
        self.calls.add_(1)
        return x.reshape(x.shape[0] // 2, 2, -1).sum(1)

    def equal(self, x, y):
        self.calls.add_(1)
        return x + y

    def derived(self, x, y):
        self.calls.add_(1)
        return torch.cat([x, y])

    def checked_value(self, x, k):
        self.calls.add_(1)
        i = k.item()
        torch._check(i >= 0)
        torch._check(i < 4)
        return x[:, i] + self.calls

    def checked_inside(self, x):
        self.calls.add_(1)
        h = self.linear(x)
        torch._assert_async((h.abs().sum() < 100).squeeze(), "the activations are too large")
        return h + self.calls

    def write_at(self, x, position):
        self.calls.add_(1)
        self.cache.index_copy_(1, position, x)

    def look_up(self, ids):
        self.calls.add_(1)
        return self.cache[ids]


def x(*shape):
    return torch.ones(*shape)


def index(*values):
    return torch.tensor(values)


# method, its export, inputs that break the contract, and what the message must name.
TABLE = {
    "below a dimension's minimum": (
        ps.Method("ranges", (x(3, 5),), dynamic_shapes=({0: batch, 1: length},)),
        (x(1, 5),),
        ["ranges", "'x'", "batch", "is 1", "2..4"],
    ),
    "few rows too long, fewer elements than the maximum": (
        ps.Method("ranges", (x(3, 5),), dynamic_shapes=({0: batch, 1: length},)),
        (x(2, 16),),
        ["ranges", "'x'", "length", "16", "1..8"],
    ),
    "more rows than the maximum with the same number of elements": (
        ps.Method("ranges", (x(3, 5),), dynamic_shapes=({0: batch, 1: length},)),
        (x(32, 1),),
        ["ranges", "'x'", "batch", "32", "2..4"],
    ),
    "a static dimension of an otherwise dynamic input": (
        ps.Method("static_size", (x(3, 5),), dynamic_shapes=({0: batch},)),
        (x(3, 4),),
        ["static_size", "'x'", "dimension 1", "4", "5"],
    ),
    "a branch on a shape": (
        ps.Method("branch", (x(6),), dynamic_shapes=({0: Dim.DYNAMIC(min=2, max=8)},)),
        (x(3),),
        ["branch", "'x'", "3", "5..8"],
    ),
    "divisibility": (
        ps.Method("even", (x(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC(min=2, max=8)},)),
        (x(5, 3),),
        ["even", "5", "2"],
    ),
    "equal dimensions": (
        ps.Method("equal", (x(3), x(3)), dynamic_shapes=({0: batch}, {0: batch})),
        (x(3), x(4)),
        ["equal", "'y'", "3", "4"],
    ),
    "derived dimensions": (
        ps.Method("derived", (x(3), x(7)), dynamic_shapes=({0: batch}, {0: 2 * batch + 1})),
        (x(3), x(6)),
        ["derived", "'y'", "6", "7"],
    ),
    "torch._check on a value, too large": (
        ps.Method("checked_value", (x(2, 8), torch.tensor(1))),
        (x(2, 8), torch.tensor(6)),
        ["checked_value", "'k'", "6", "3"],
    ),
    "torch._check on a value, negative": (
        ps.Method("checked_value", (x(2, 8), torch.tensor(1))),
        (x(2, 8), torch.tensor(-1)),
        ["checked_value", "'k'", "-1", "0"],
    ),
    "an assertion on a value inside the graph": (
        ps.Method("checked_inside", (x(2, 4),)),
        (x(2, 4) * 1e6,),
        ["checked_inside", "the activations are too large"],
    ),
    "an assertion on a value that is not a number": (
        ps.Method("checked_inside", (x(2, 4),)),
        (x(2, 4) * float("nan"),),
        ["checked_inside", "the activations are too large"],
    ),
    "an index past the end": (
        ps.Method("write_at", (x(4, 1), index(2))),
        (x(4, 1), index(6)),
        ["write_at", "'position'", "6", "5", "cache"],
    ),
    "a negative index": (
        ps.Method("write_at", (x(4, 1), index(2))),
        (x(4, 1), index(-1)),
        ["write_at", "'position'", "-1", "0", "cache"],
    ),
    "an index past the end when reading": (
        ps.Method("look_up", (index(1, 2),)),
        (index(0, 4),),
        ["look_up", "'ids'", "4", "3", "cache"],
    ),
    "another type": (
        ps.Method("ranges", (x(3, 5),)),
        (x(3, 5).double(),),
        ["ranges", "'x'", "float64", "float32"],
    ),
    "another rank": (
        ps.Method("ranges", (x(3, 5),)),
        (x(15),),
        ["ranges", "'x'", "1", "2"],
    ),
}


@pytest.mark.parametrize("row", TABLE)
def test_a_broken_assumption_is_an_error_and_leaves_the_state(tmp_path, backend, row):
    method, broken, named = TABLE[row]
    torch.manual_seed(0)
    name = str(method.target)
    ps.export(Programs(), {name: method}, backend=backend).save(tmp_path / "artifact")
    session = ps.load(tmp_path / "artifact", trust_code=True).session()
    good = session.run(name, *method.args)
    before = {state: session.state[state] for state in session.state}
    with pytest.raises(ps.ContractError) as refusal:
        session.run(name, *broken)
    for part in named:
        assert part in str(refusal.value), str(refusal.value)
    for state, value in before.items():
        torch.testing.assert_close(session.state[state], value)
    session.reset()
    for a, b in zip(session.run(name, *method.args), good, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_a_path_for_one_row_only_is_refused_at_export(backend):
    class OneRow(nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] == 1 else x * 3

    shapes = ({0: Dim("rows", min=1, max=8)},)
    with pytest.raises(ps.ExportError, match="rows"):
        ps.export(
            OneRow(),
            {"forward": ps.Method("forward", (x(4, 2),), dynamic_shapes=shapes)},
            backend=backend,
        )
