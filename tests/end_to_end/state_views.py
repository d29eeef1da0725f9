"""Statements that change state in place through chains of views, drawn from a seed.

``python -m tests.end_to_end.state_views --backend portable --count 100 --results FILE`` tries that
many groups of statements, each a module, and goes on where it ended; ``--first 50`` begins with
that one. operator_samples.py tries PyTorch's own samples of operators in place, through views.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tests.end_to_end.trials import EQUAL, Trial, outcome, run_resumable, trial_parser

ROWS, COLUMNS = 6, 4

# How many statements are one module: an export takes longer than what each adds to it.
_GROUP = 20

_VIEWS = """
    v[1:]; v[:-1]; v[::2]; v[1::2]; v[-3:]; v[..., 1:3]; v[..., ::2]; v[None]; v[..., None]
    v.t(); v.mT; v.transpose(0, -1); v.swapaxes(0, 1); v.movedim(0, -1); v.permute(1, 0)
    v.permute(1, 2, 0); v.diagonal(); v.diagonal(1); v.diagonal(-1); v.unbind(0)[1]
    v.unbind(-1)[-1]; v.select(0, 2); v.select(-1, 0); v.select(1, -1); v[2]; v[:, 1]
    v.narrow(0, 1, 2); v.narrow(-1, 1, 2); v.flatten(); v.view(-1); v.view(2, -1); v.view(3, 2, -1)
    v.unflatten(0, (2, -1)); v.unflatten(-1, (2, -1)); v.chunk(2)[1]; v.chunk(2, -1)[0]
    v.split(2)[0]; v.split([1, 2], -1)[1]; v.tensor_split(3)[1]; v.hsplit(2)[0]; v.vsplit(2)[1]
    v.unsqueeze(1); v.squeeze(); v.squeeze(0); v.unfold(0, 2, 2); v.unfold(-1, 2, 2); v.detach()
    v.view_as(v); v.alias(); v.reshape(-1); v.reshape(2, -1); v.ravel()
    v.as_strided((2, 3), (4, 1), 1); v.as_strided((3, 2), (8, 2)); v.as_strided((4,), (5,))
"""

# `o` has the values of the input in the form of the view, `m` where they are large, `i` one index
# along the first dimension.
_CHANGES_OF_ALL = """
    v.add_(o); v.add_(1); v.sub_(o, alpha=2); v.mul_(o); v.mul_(2); v.copy_(o); v.zero_()
    v.fill_(2); v.clamp_(-1, 1); v.clamp_(min=0); v.clamp_max_(1); v.neg_(); v.abs_(); v.square_()
    v.masked_fill_(m, 2); v.masked_scatter_(m, o); v.cumsum_(0); v.cumsum_(-1); v.cumprod_(-1)
    v.index_copy_(0, i, o[:1]); v.index_add_(0, i, o[:1]); v.index_fill_(0, i, 2)
    v.index_put_((i,), o[:1]); v.index_put_((i,), o[:1], accumulate=True); v[i] = o[:1]
    v.scatter_(0, torch.zeros_like(o[:1], dtype=torch.int64) + i, o[:1])
    v.scatter_add_(0, torch.zeros_like(o[:1], dtype=torch.int64) + i, o[:1])
    v.scatter_(0, torch.zeros_like(o[:1], dtype=torch.int64) + i, 2); v.put_(i, o.flatten()[:1])
    v[...] = o; v[...] = 1; v[0] = o[-1]; v[-1] += o[0]; v[m] = 2; v[1:] = v[:-1].clone()
    v += o; v -= 1; v *= o; v.copy_(v.flip(0)); v.copy_(v.roll(1, 0)); v.copy_(o[:1]); v.tril_()
    v.triu_(1); v.fill_diagonal_(1); v.diagonal().add_(1); v.addcmul_(o, o); v.maximum(o, out=v)
    v.t_().add_(1); v.transpose_(0, -1).mul_(2); v.unsqueeze_(0).add_(1); v.squeeze_().sub_(1)
    v.remainder_(3); v.fmod_(3); v.floor_divide_(2); v.relu_(); v.sign_(); v.swapaxes_(0, -1).neg_()
    torch.add(v, o, out=v); torch.mul(v, 2, out=v); torch.cumsum(v.clone(), 0, out=v)
    v.copy_(torch.where(m, o, v)); v.copy_(v.sort(0).values)
    v.unbind(0)[-1].copy_(v.unbind(0)[0]); v.eq_(o); v.gt_(o); v.ne_(1)
"""
_CHANGES_OF_FLOATS = """
    v.lerp_(o, 0.25); v.tanh_(); v.sigmoid_(); v.sin_(); v.round_(); v.floor_(); v.div_(2)
    v.addcdiv_(o, o.abs() + 1); v.nan_to_num_(); v.pow_(2); v.trunc_(); v.frac_(); v.atan_()
    nn.functional.relu(v, inplace=True); nn.functional.leaky_relu(v, 0.1, inplace=True)
    nn.functional.hardtanh(v, inplace=True); nn.functional.elu(v, inplace=True); v.hypot_(o)
    v.copysign_(o); v.erf_(); v.expm1_(); v.logit_(0.1); v.renorm_(2, 0, 1.0)
"""
_CHANGES_OF_INTEGERS = """
    v.bitwise_and_(3); v.bitwise_or_(o); v.bitwise_xor_(o); v.bitwise_not_(); v <<= 1; v >>= 1
    v //= 2; v %= 3; v.gcd_(o); v.bitwise_left_shift_(1)
"""
_CHANGES_OF_BOOLS = """
    v.logical_not_(); v.logical_and_(o); v.logical_or_(o); v.logical_xor_(o); v.copy_(o); v ^= o
    v |= o; v &= m; v.masked_fill_(m, True); v[0] = o[-1]; v.zero_(); v.fill_(True); v[i] = o[:1]
    v.index_fill_(0, i, True); v.copy_(v.flip(0)); v[1:] = v[:-1].clone(); v.bitwise_not_()
"""


def _listed(text: str) -> list[str]:
    return [each.strip() for line in text.split("\n") for each in line.split(";") if each.strip()]


_CHANGES = {
    torch.float32: _listed(_CHANGES_OF_ALL) + _listed(_CHANGES_OF_FLOATS),
    torch.int64: _listed(_CHANGES_OF_ALL) + _listed(_CHANGES_OF_INTEGERS),
    torch.bool: _listed(_CHANGES_OF_BOOLS),
}


@dataclass(frozen=True)
class Change:
    """A statement on `v`, which is a view of a buffer of a type by a chain of views."""

    dtype: torch.dtype
    views: tuple[str, ...]
    statement: str

    @classmethod
    def drawn(cls, pick: random.Random) -> Change:
        """One that PyTorch takes."""
        while True:
            dtype = pick.choice([torch.float32, torch.float32, torch.int64, torch.bool])
            views = tuple(pick.choice(_listed(_VIEWS)) for _ in range(pick.randint(1, 3)))
            change = cls(dtype, views, pick.choice(_CHANGES[dtype]))
            if change._is_valid():
                return change

    def run(self, buffer: Tensor, x: Tensor, index: Tensor) -> None:
        """Change a buffer [ROWS, COLUMNS] by inputs of its size, and a number [1]."""
        names: dict[str, Any] = {"torch": torch, "nn": nn, "v": buffer}
        for view in self.views:
            names["v"] = eval(view, names)
        v = names["v"]
        values = x.flatten()[: v.numel()].reshape(v.shape)
        names["m"] = values > 0.5
        names["o"] = values > 0 if self.dtype == torch.bool else (values * 2).to(self.dtype)
        names["i"] = index % v.shape[0] if v.dim() else index
        exec(self.statement, names)

    def initial(self) -> Tensor:
        """What the buffer starts with."""
        numbers = torch.arange(float(ROWS * COLUMNS)).reshape(ROWS, COLUMNS)
        if self.dtype == torch.bool:
            return numbers % 3 == 0
        return (numbers.sin() * 3).to(self.dtype)

    def _is_valid(self) -> bool:
        """Whether PyTorch takes it, it changes the buffer, and its numbers stay small.

        PyTorch traces `as_strided` of no other view, and no view of it.
        """
        if len(self.views) > 1 and any("as_strided" in view for view in self.views):
            return False
        buffer = self.initial()
        before = buffer.clone()
        try:
            for x, index in inputs(4):
                self.run(buffer, x, index)
        except Exception:  # of any kind: shapes that do not fit, memory that overlaps
            return False
        is_small = self.dtype == torch.bool or bool((buffer.abs() < 1e3).all())
        return is_small and not torch.equal(buffer, before)


def inputs(count: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Arguments for some calls."""
    generator = torch.Generator().manual_seed(0)
    for number in range(count):
        yield torch.randn(ROWS, COLUMNS, generator=generator), torch.tensor([number % 3])


class Changes(nn.Module):
    """Statements, each on a buffer of its own."""

    def __init__(self, changes: list[Change]) -> None:
        super().__init__()
        self.changes = changes
        for number, change in enumerate(changes):
            self.register_buffer(f"s{number}", change.initial())

    def _states(self) -> list[Tensor]:
        return [getattr(self, f"s{number}") for number in range(len(self.changes))]

    def write(self, x: Tensor, index: Tensor) -> list[Tensor]:
        """Run them; give the sums, which read the buffers after that."""
        for change, state in zip(self.changes, self._states(), strict=True):
            change.run(state, x, index)
        return [state.sum() for state in self._states()]

    def read(self) -> list[Tensor]:
        """The buffers as another method sees them, in another order of elements."""
        return [state.t().clone() for state in self._states()]


@dataclass(frozen=True)
class Group:
    """Statements that are tried together; where not all are equal, each by itself."""

    name: str
    changes: list[Change]

    def outcome(self, backend: str) -> tuple[str, str]:
        """What came of them; of the first that is not equal, where it can be told."""
        together, told = outcome(trial(self.name, self.changes), backend)
        if together == EQUAL or len(self.changes) == 1:
            return together, told
        for change in self.changes:
            alone, what = outcome(trial(self.name, [change]), backend)
            if alone != EQUAL:
                return alone, f"{change}: {what}"
        return together, told


def trial(name: str, changes: list[Change]) -> Trial:
    """The statements, run twice, and then read by another method."""
    return Trial(name, Changes(changes), {"write": [*inputs(2)], "read": [()]})


def drawn(seed: int, count: int = _GROUP) -> Group:
    """The group of a seed."""
    pick = random.Random(seed)
    return Group(str(seed), [Change.drawn(pick) for _ in range(count)])


def trials(first: int, count: int) -> Iterator[tuple[str, Callable[[], Group]]]:
    """The groups of some seeds."""
    for seed in range(first, first + count):
        yield str(seed), functools.partial(drawn, seed)


def main() -> None:
    parser = trial_parser(__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    run_resumable(
        "tests.end_to_end.state_views",
        lambda: trials(options.first, options.count),
        options,
    )


if __name__ == "__main__":
    main()
