"""A process that exports keeps nothing of its graphs: each later trace would take longer."""

import gc

import pytest
import torch
from torch import nn
from torch.fx import GraphModule

import polystate as ps


class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        x = torch.cond(x.sum() > 0, lambda x: x.sin() + x, lambda x: x * 2, (x,))
        return self.linear(x).relu()


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_no_graphs_are_kept(backend):
    def graphs_after_an_export():
        ps.export(Choice(), {"forward": ps.Method("forward", (torch.ones(2, 3),))}, backend=backend)
        gc.collect()
        return sum(isinstance(each, GraphModule) for each in gc.get_objects())

    first, _, third = (graphs_after_an_export() for _ in range(3))
    assert third <= first
