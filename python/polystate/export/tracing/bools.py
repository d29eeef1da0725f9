"""Bools whose bytes are 0 and 1.

Memory that is read as bools, by ``view(torch.bool)`` and ``torch.frombuffer``, may have other
bytes. PyTorch takes each of them for true; programs have none such.
"""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram


def plain_bools(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with 1 for each byte that is neither 0 nor 1; a tensor without such as it is."""
    if tensor.dtype != torch.bool or tensor.layout != torch.strided:
        return tensor
    if tensor.is_nested or not tensor.is_cpu or isinstance(tensor, FakeTensor):
        return tensor
    elements = tensor.detach().view(torch.uint8)
    return elements != 0 if bool((elements > 1).any()) else tensor


def hold_plain_bools(program: ExportedProgram) -> None:
    """Has a program hold plain bools in place of others; the module keeps its own."""
    for held in (program.state_dict, program.constants):
        for name, value in list(held.items()):
            plain = plain_bools(value) if isinstance(value, torch.Tensor) else value
            if plain is not value:
                is_parameter = isinstance(value, torch.nn.Parameter)
                held[name] = torch.nn.Parameter(plain, False) if is_parameter else plain
