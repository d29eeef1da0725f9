"""Constants, weights and state may lie in memory in any order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import polystate as ps
from tests.end_to_end.twins import ENGINES, Twins

pytestmark = pytest.mark.parametrize("backend", ENGINES)

ORDERS: dict[str, Callable[[], Tensor]] = {
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "sliced": lambda: torch.arange(24.0).reshape(4, 6)[1:4, 2:4],
    "expanded": lambda: torch.arange(3.0).reshape(3, 1).expand(3, 2),
    "strided": lambda: torch.arange(12.0).reshape(6, 2)[::2],
    "flipped view": lambda: torch.arange(12.0).as_strided((3, 2), (1, 4), 2),
    "channels last": lambda: (
        torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    ),
    "transposed float16": lambda: torch.arange(6.0).half().reshape(2, 3).t(),
    "transposed integers": lambda: torch.arange(6).reshape(2, 3).t(),
}


class Tables(nn.Module):
    """Tables as attributes, as buffers that are not saved, and as state."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = {name: make() for name, make in ORDERS.items()}
        for i, make in enumerate(ORDERS.values()):
            self.register_buffer(f"held_{i}", make(), persistent=False)
            if make is not ORDERS["expanded"]:  # several elements at one address cannot be state
                self.register_buffer(f"state_{i}", make())

    def forward(self, x: Tensor) -> list[Tensor]:
        results = [table * x.to(table.dtype) for table in self.tables.values()]
        for name, buffer in self.named_buffers():
            if name.startswith("state"):
                buffer.copy_(buffer + x.to(buffer.dtype))
            results.append(buffer.flatten() + 1)
        return results


def test_tables_are_read_in_their_order(tmp_path: Path, backend: str) -> None:
    methods = {"forward": ps.Method("forward", (torch.tensor(2.0),))}
    twins = Twins(Tables(), methods, tmp_path, backend)
    for x in (3.0, -1.0):
        twins.call("forward", torch.tensor(x))
