"""Bools whose bytes are 0 and 1.

Memory that is read as bools, by ``view(torch.bool)`` and ``torch.frombuffer``, may have other
bytes. PyTorch takes each of them for true; programs know 0 and 1 alone.
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram


def plain_bools(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in which every byte but 0 is 1; the tensor itself where that changes nothing."""
    if tensor.dtype != torch.bool or tensor.layout != torch.strided:
        return tensor
    if tensor.is_nested or not tensor.is_cpu or isinstance(tensor, FakeTensor):
        return tensor
    elements = tensor.detach().view(torch.uint8)
    return elements != 0 if bool((elements > 1).any()) else tensor


def hold_plain_bools(program: ExportedProgram) -> None:
    """Makes the bools that a program holds plain; the module keeps its own."""
    for held in (program.state_dict, program.constants):
        for name, value in list(held.items()):
            plain = plain_bools(value) if isinstance(value, torch.Tensor) else value
            if plain is not value:
                is_parameter = isinstance(value, torch.nn.Parameter)
                held[name] = torch.nn.Parameter(plain, False) if is_parameter else plain
