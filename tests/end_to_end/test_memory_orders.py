"""Constants, weights and state may lie in memory in any order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from transformers import GPT2Config, GPT2LMHeadModel

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


class SomeTables(Tables):
    """Of which a method uses one or none."""

    def forward(self, x: Tensor) -> Tensor:
        return self.tables["transposed"] + self.get_buffer("held_1")[:, :2] * x

    def other(self, x: Tensor) -> Tensor:
        return x + 1


def test_tables_that_a_method_does_not_use_may_lie_in_any_order(
    tmp_path: Path, backend: str
) -> None:
    methods = {name: ps.Method(name, (torch.tensor(2.0),)) for name in ("forward", "other")}
    twins = Twins(SomeTables(), methods, tmp_path, backend)
    for name in methods:
        twins.call(name, torch.tensor(-3.0))


class Planes(nn.Module):
    """A state that lies with its channels last."""

    def __init__(self) -> None:
        super().__init__()
        planes = torch.arange(24.0).view(1, 2, 3, 4)
        self.register_buffer("planes", planes.contiguous(memory_format=torch.channels_last))

    def double(self) -> Tensor:
        planes = self.get_buffer("planes")
        planes.mul_(2)
        return planes[:, 1] + 1

    def other(self, x: Tensor) -> Tensor:
        return x + 1


def test_a_state_that_a_method_does_not_use_may_lie_in_any_order(
    tmp_path: Path, backend: str
) -> None:
    methods = {"double": ps.Method("double"), "other": ps.Method("other", (torch.tensor(2.0),))}
    twins = Twins(Planes(), methods, tmp_path, backend)
    twins.call("double")
    twins.call("other", torch.tensor(-3.0))
    twins.call("double")


class Attention(nn.Module):
    """A block of GPT-2, which takes a view of what attention returns."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2)
        self.model = GPT2LMHeadModel(config).eval()

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=ids, use_cache=False).logits
        return logits


def test_a_view_is_of_what_an_operator_is_written_by(tmp_path: Path, backend: str) -> None:
    sizes = ({0: Dim("batch", min=1, max=3), 1: Dim("length", min=1, max=9)},)
    example = torch.zeros(2, 5, dtype=torch.int64)
    methods = {"forward": ps.Method("forward", (example,), dynamic_shapes=sizes)}
    twins = Twins(Attention(), methods, tmp_path, backend)
    for shape in ((1, 1), (3, 9), (2, 4)):
        twins.call("forward", torch.randint(0, 20, shape))


class Shapes(nn.Module):
    """Views that hold for the order in which a tensor lies in PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(3, 4).t())
        self.weight = nn.Parameter(torch.randn(3, 4).t())
        planes = torch.randn(1, 2, 3, 3).to(memory_format=torch.channels_last)
        self.register_buffer("planes", planes)
        self.register_buffer("mean", torch.zeros(1, 2, 3, 3).to(memory_format=torch.channels_last))

    def read(self, x: Tensor) -> tuple[Tensor, ...]:
        last = self.planes.permute(0, 2, 3, 1)
        return (
            self.table.T.reshape(-1) * x,
            self.weight.T.reshape(-1) * x,
            last.reshape(-1) + 1,
            last.contiguous().view(9, 2) + 1,
        )

    def write(self, x: Tensor) -> Tensor:
        self.table.T.view(-1).add_(x)
        self.planes.permute(0, 2, 3, 1).view(-1, 2).mul_(x[:2])
        return self.table * 1

    def average(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + x.contiguous(memory_format=torch.channels_last)
        return self.mean.permute(0, 2, 3, 1).reshape(-1)


def test_views_hold_in_every_order(tmp_path: Path, backend: str) -> None:
    methods = {
        "read": ps.Method("read", (torch.randn(12),)),
        "write": ps.Method("write", (torch.randn(12),)),
        "average": ps.Method("average", (torch.randn(1, 2, 3, 3),)),
    }
    twins = Twins(Shapes(), methods, tmp_path, backend)
    for _ in range(2):
        twins.call("read", torch.randn(12))
        twins.call("write", torch.randn(12))
        twins.call("average", torch.randn(1, 2, 3, 3))


class SlimConvolutions(nn.Module):
    """Weights of which a convolution takes a part, and others take all."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernel", torch.randn(2, 3, 3, 3))
        self.layer = nn.Conv2d(3, 2, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        convolve = nn.functional.conv2d
        return (
            convolve(x, self.kernel),
            convolve(x[:, :1], self.kernel[:, :1]),
            convolve(x, self.kernel[:1]),
            self.kernel * 2,
            self.layer(x),
            self.layer.weight.sum(0) * x[0, 0, 0, 0],
            convolve(x, self.layer.weight.flip(0)),
        )


def test_a_weight_is_read_in_the_order_of_its_reader(tmp_path: Path, backend: str) -> None:
    x = torch.randn(1, 3, 6, 6)
    twins = Twins(SlimConvolutions(), {"forward": ps.Method("forward", (x,))}, tmp_path, backend)
    twins.call("forward", torch.randn(1, 3, 6, 6))


def test_a_batch_of_no_images_is_normalised(tmp_path: Path, backend: str) -> None:
    class Normalised(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.normalize(x).flatten(1)

    none = torch.zeros(0, 3, 4, 5, dtype=torch.float16)
    twins = Twins(Normalised(), {"forward": ps.Method("forward", (none,))}, tmp_path, backend)
    twins.call("forward", none)
