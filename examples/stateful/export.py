"""A cache that one method writes and another reads. Usage: export.py ARTIFACT"""

import sys

import torch
from torch.export import Dim

import polystate as ps


class Stateful(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(10, 20))

    def set_cache(self, data: torch.Tensor) -> None:
        self.cache[0 : data.shape[0], 0 : data.shape[1]] = data

    def get_cache(self, data: torch.Tensor) -> None:
        data.copy_(self.cache.narrow(0, 0, data.shape[0]).narrow(1, 0, data.shape[1]))


def program() -> tuple[torch.nn.Module, dict[str, ps.Method]]:
    example = torch.ones(2, 3)  # anywhere in the range: the methods take every size from 1 up
    sizes = ({0: Dim("rows", min=1, max=10), 1: Dim("columns", min=1, max=20)},)
    return Stateful(), {
        "set_cache": ps.Method("set_cache", args=(example,), dynamic_shapes=sizes),
        "get_cache": ps.Method("get_cache", args=(example,), dynamic_shapes=sizes),
    }


if __name__ == "__main__":
    ps.export(*program()).save(sys.argv[1])
