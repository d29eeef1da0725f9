"""Forms of calls that are usual in PyTorch's code, at sizes that vary and in branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.twins import Twins


class Calls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4, momentum=None)
        self.untracked = nn.BatchNorm1d(4, momentum=None)
        self.untracked.track_running_stats = False
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.layer, self.attention = layer.eval(), nn.MultiheadAttention(8, 2, batch_first=True)

    def made(self, x: Tensor) -> tuple[Tensor, ...]:
        """Of as many elements as there are rows."""
        count, device = x.shape[0], x.device
        lines = [
            torch.linspace(0, 1, count, device=device, layout=torch.strided, requires_grad=False),
            torch.linspace(start=-2, end=3, steps=count, device="cpu", pin_memory=False),
            torch.hann_window(count, device=device),
            torch.hamming_window(count, False, 0.6, 0.3, device=device, requires_grad=False),
            torch.hamming_window(count, True, 0.6),
            torch.blackman_window(count, periodic=False, layout=torch.strided, pin_memory=None),
        ]
        return torch.stack(lines), *torch.gradient(x, spacing=0.3, dim=0)

    def divided(self, x: Tensor) -> list[Tensor]:
        """Along a dimension of which there is an even number."""
        cube = x.reshape(2, 2, -1)
        return [
            *torch.vsplit(x, 2), *x.T.hsplit(sections=2), *torch.hsplit(x[:, 0], 2),
            *cube.dsplit(2), *x.tensor_split(sections=3), *torch.tensor_split(x, indices=[1, 2]),
            *torch.tensor_split(x.T, sections=2, dim=1), *torch.vsplit(x, indices=[1]),
        ]  # fmt: skip

    def fixed(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = list(x.clone())
        torch._foreach_maximum_(rows, -0.5)
        halves = [0.5] * len(rows)
        places = torch.tril_indices(3, 4, 1, device=x.device, layout=torch.strided)
        return (
            *torch._foreach_pow(2.0, rows),
            *torch._foreach_maximum(rows, 0.5),
            *torch._foreach_minimum(rows, halves),
            *torch._foreach_minimum(rows, list(x.flip(0))),
            *torch._foreach_addcmul(rows, rows, rows, 0.5),
            *torch._foreach_add(rows, scalar=2),
            *torch._foreach_norm(rows, ord=1),
            torch.combinations(x[0], r=0),
            places + torch.triu_indices(row=4, col=3, offset=-1, device="cpu", dtype=torch.int64),
            self.norm(x),
            self.untracked(x),
        )

    def windows(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.unfold(0, 3, 1), x.unfold(1, 2, 1).sum(-1)

    def parts(self, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        z = torch.complex(real=a, imag=b)
        row = z[0]
        row.mul_(2 - 1j)
        z.real.add_(1)
        z.conj()[1].mul_(0.5j)
        z = z * 1 if hasattr(z, "cov_of_rows") else z + 0.25j
        empty = z.new_zeros(a.shape[0], 2)
        turned = torch.polar(abs=a, angle=b) + torch.view_as_complex(input=torch.stack([a, b], -1))
        return z.real, z.imag, torch.view_as_real(turned), empty.real, a * 1

    def chosen(self, x: Tensor) -> Tensor:
        """In branches, whose code PyTorch reads."""

        def attended(x: Tensor) -> Tensor:
            x = self.layer(x)
            first, second = x.chunk(2, dim=-1)
            x = x + torch.cat([second, first], -1)
            return x + self.attention(x, x, x, need_weights=False)[0]

        def doubled(x: Tensor) -> Tensor:
            return x * 2 if torch.compiler.is_compiling() else x + x

        return torch.cond(x.sum() > 0, attended, doubled, (x,))


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_usual_forms_of_calls_are_pytorchs(tmp_path: Path) -> None:
    torch.manual_seed(4)
    model = Calls()
    model.attention.eval()
    rows, pairs = {0: Dim("rows", min=2, max=9)}, {0: 2 * Dim("pairs", min=2, max=6)}
    methods = {
        "made": ps.Method("made", (drawn(5, 3, seed=0),), dynamic_shapes=(rows,)),
        "divided": ps.Method("divided", (drawn(8, 4, seed=1),), dynamic_shapes=(pairs,)),
        "fixed": ps.Method("fixed", (drawn(3, 4, seed=2),)),
        # These lie column by column.
        "windows": ps.Method("windows", (drawn(3, 5, seed=3).T,)),
        "parts": ps.Method("parts", (drawn(3, 4, seed=4), drawn(3, 4, seed=5))),
    }
    twins = Twins(model, methods, tmp_path)
    for count in (2, 3, 9):
        twins.call("made", drawn(count, 3, seed=count))
    odd = torch.tensor([1.0, torch.inf, 1e8, 3.0, torch.nan, 1.0, 2.0, 1e8, 1.0])
    twins.call("made", odd.unsqueeze(1).expand(9, 3).contiguous())
    for count in (4, 6, 12):
        twins.call("divided", drawn(count, 4, seed=count))
    for seed in (6, 7):
        twins.call("fixed", drawn(3, 4, seed=seed))
        twins.call("windows", drawn(5, 3, seed=seed))
        twins.call("parts", drawn(3, 4, seed=seed), drawn(3, 4, seed=seed + 10))
    assert all(name.startswith("norm.") for name in twins.program.state)


def test_modules_of_pytorch_and_questions_may_be_in_branches(tmp_path: Path) -> None:
    torch.manual_seed(4)
    model = Calls().eval()
    methods = {"chosen": ps.Method("chosen", (drawn(2, 4, 8, seed=0),))}
    twins = Twins(model, methods, tmp_path)
    x = drawn(2, 4, 8, seed=1)
    for sign in (1, -1):
        twins.call("chosen", x * sign)


class Holding(nn.Module):
    """Holds what TorchScript traced, and derives along a direction."""

    held: Tensor

    def __init__(self) -> None:
        super().__init__()
        linear = nn.Linear(4, 4).requires_grad_(False)
        self.traced = torch.jit.trace(linear, (torch.randn(2, 4),))
        self.register_buffer("held", torch.randn(3, 4))

    def forward(self, x: Tensor) -> Tensor:
        self.held = self.held * 0.5 + x
        return self.traced(x) + self.held

    def along(self, x: Tensor, direction: Tensor) -> tuple[Tensor, ...]:
        def summed(z: Tensor) -> Tensor:
            return z * self.held + self.held[0]

        return torch.func.jvp(summed, (x,), (direction,))


def test_a_traced_submodule_and_a_derivative_along_a_direction(tmp_path: Path) -> None:
    x = torch.randn(3, 4)
    methods = {"forward": ps.Method("forward", (x,)), "along": ps.Method("along", (x, x))}
    twins = Twins(Holding(), methods, tmp_path)
    for _ in range(3):
        twins.call("forward", torch.randn(3, 4))
        twins.call("along", torch.randn(3, 4), torch.randn(3, 4))


def test_no_subclass_of_the_user_s_class_is_made(tmp_path: Path) -> None:
    made = []

    class Registry(type):
        def __init__(cls, *args: Any) -> None:
            made.append(cls)
            super().__init__(*args)

    class Listed(nn.Module, metaclass=Registry):
        def __init_subclass__(cls, **options: Any) -> None:
            made.append(cls)
            super().__init_subclass__(**options)

        def __call__(self, x: Tensor) -> Any:
            return super().__call__(x) / 2

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

        def raw(self, x: Tensor) -> Tensor:
            return x * 3

    x = torch.tensor([1.0, -2.0])
    methods = {name: ps.Method(name, (x,)) for name in ("forward", "raw")}
    model = Listed()
    session = ps.load(ps.export(model, methods).save(tmp_path / "artifact")).session()
    torch.testing.assert_close(session.run("forward", x)[0], (x + 1) / 2)
    torch.testing.assert_close(session.run("raw", x)[0], x * 3)
    assert made == [Listed] and type(model) is Listed
