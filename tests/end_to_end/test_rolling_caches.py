"""Caches that drop their oldest entries, up to all of them in one call."""

import pytest
import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins, every_backend

CAPACITY = 16


class RollingCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, CAPACITY, 4))

    def concatenate(self, x):
        self.cache = torch.cat([self.cache[:, x.shape[1] :], x], 1)
        return self.cache.mean(1)

    def assign_slices(self, x):
        kept = CAPACITY - x.shape[1]
        self.cache[:, :kept] = self.cache[:, x.shape[1] :].clone()
        self.cache[:, kept:] = x
        return self.cache.mean(1)

    def read_rest(self, x):
        return self.cache[:, x.shape[1] :].sum(1) + x.sum(1)


@every_backend
@pytest.mark.parametrize("name", ["concatenate", "assign_slices", "read_rest"])
def test_a_call_may_replace_one_entry_or_all(tmp_path, backend, name):
    generator = torch.Generator().manual_seed(0)
    method = ps.Method(
        name,
        (torch.ones(2, 3, 4),),
        dynamic_shapes=({1: Dim("T", min=1, max=CAPACITY)},),
    )
    twins = Twins(RollingCache(), {name: method}, tmp_path, backend)
    for length in (1, 7, CAPACITY - 1, CAPACITY, 1, CAPACITY):
        twins.call(name, torch.randn(2, length, 4, generator=generator))
