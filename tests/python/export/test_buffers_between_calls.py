"""Buffers that calls set to other tensors, while an export calls the module again and again."""

import torch
from torch import nn

import polystate as ps
from polystate.export.program import prepare
from polystate.export.surroundings import surroundings
from polystate.export.tracing.eager import EagerModule
from polystate.export.verification.branches import Branches
from polystate.export.verification.dispatch import Operators, under
from polystate.export.verification.live_graph import LiveGraph

X = torch.ones(4)


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.arange(4.0))


def test_a_buffer_that_is_set_to_an_expanded_tensor_gets_all_its_values_back():
    model = Held()
    own = model.h
    eager = EagerModule(model)
    with eager.restored():
        before = eager.buffers()
        model.h = torch.tensor(1.5).expand(4)
        eager.set_buffers({"h": torch.full((4,), 2.0)})
        assert model.h.stride() == (0,) and torch.equal(model.h, torch.full((4,), 2.0))
        eager.set_buffers(before)
        assert torch.equal(model.h, torch.arange(4.0))
    assert model.h is own and torch.equal(own, torch.arange(4.0))


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(4))

    def step(self, x):
        y = torch.cond(self.h.sum() > 1, lambda v: v * 2, lambda v: v * 3, (x,))
        torch._assert_async((self.h < 2).all(), "too large")
        self.h = self.h + x
        return y


def test_a_graph_runs_from_the_state_that_the_module_has_now():
    model = Sums()
    methods = {"step": ps.Method("step", (X,))}
    with surroundings(model, None):
        prepared = prepare(model, methods, "portable", {}, at_corners=True)
        eager, (traced,) = prepared.eager, prepared.traced
        branches, graph = Branches(traced), LiveGraph(traced)
        with eager.restored():
            branches.see(eager, (X,), {})
            assert [each.partition(" ")[0] for each in branches.untaken()] == ["True"]
            eager.call(under(Operators(), traced.function), (X,), {})
            branches.see(eager, (X,), {})
            assert not branches.untaken()
            assert not graph.refuses(eager, (X,), {})
            eager.call(under(Operators(), traced.function), (X,), {})
            assert graph.refuses(eager, (X,), {})
            assert torch.equal(model.h, X * 2)


class Unused(nn.Module):
    def forward(self, x, i):
        (x.gather(0, i) * 8).to(torch.int64)
        return x * 2


def test_what_nothing_depends_on_refuses_nothing():
    model = Unused()
    methods = {"forward": ps.Method("forward", (X, torch.tensor([0])))}
    with surroundings(model, None):
        prepared = prepare(model, methods, "portable", {}, at_corners=True)
        (traced,) = prepared.traced
        with prepared.eager.restored():
            assert not LiveGraph(traced).refuses(prepared.eager, (X, torch.tensor([9])), {})
