"""State that statements change in parts and read shifted, in other orders and in each other."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

import polystate as ps
from tests.end_to_end import state_views
from tests.end_to_end.state_statements import Sequence, Sequences, Statement, drawn_inputs
from tests.end_to_end.trials import EQUAL
from tests.end_to_end.twins import aoti_first
from tests.support.exported_models import exported

# A part is written, and what follows reads all of it at other places than it writes.
DELAY_LINES = [
    ["a.index_copy_(0, i, v)", "a[1:] = a[:-1].clone()"],
    ["a[i] = v", "a.copy_(a.flip(0))"],
    ["a.scatter_(0, i[:, None].expand(v.shape), v)", "a.copy_(a.roll(1, 0))"],
    ["a.index_add_(0, i, v)", "a[p] = w", "a[:-1] = a[1:].clone()"],
    ["a[:2] = v", "a.copy_(a.gather(0, g))"],
    ["a[i] = v", "a.copy_(a.as_strided(a.shape, (1, 1)).clone())"],
    ["a[i] = v", "a.copy_(b)", "b.copy_(a.flip(0))"],
    ["a[i] = v", "a.zero_()", "a[4 - i] = v"],
    ["a.t().copy_(a.t().flip(1))"],
    ["a[1:] = a[:-1].clone()"],
    ["a[:-1] = a[1:].clone()"],
    ["a[:4].copy_(a.unfold(0, 2, 1)[..., 1].clone())"],
    ["a[i] = a.flip(0)[:2]", "a.view(-1).copy_(a.view(-1).flip(0))"],
]

# A value that a part was written of is read when its state, or another, has got another value.
READ_LATER = [
    ["a[i] = v", "exchange(a, b)"],
    ["a[1:] = a[:-1].clone()", "out.append(a * 2)", "exchange(a, b)"],
    ["a[i] = v", "exchange(a, b)", "exchange(b, a)", "b[i] = v", "exchange(a, b)"],
    ["out.append(a.index_copy(0, i, v))", "a.copy_(b)"],
    ["out.append(a.index_copy(0, i, v).clone())", "a.zero_()"],
    ["out.append(added_to_itself(v.repeat(2, 1), i // 2))", "a.mul_(2)"],
    ["out.append(added_to_itself(a @ m, i))", "b.mul_(2)"],
    ["out.append(a.sum(1, keepdim=True).expand(b.shape).index_add(0, i, v))"],
    ["out.append((b @ m)[:1].expand(b.shape).index_copy(0, i, v))"],
    ["out += whole_changed(a @ m, i, v)", "b.mul_(0.5)"],
]

# A loop that takes a step or none; what it began with has another value then, or what it returns.
LOOPS = [
    ["out.append(looped(a, w))", "a[i] = v"],
    ["out.append(looped(a @ m, w))", "out.append(b @ m)"],
    ["old = a @ m", "new = looped(old, w)", "new[i] = v", "out += [old, new]"],
    ["old = looped(a, w)", "a.copy_(looped(b, w))", "b.copy_(old)"],
]


@aoti_first
@pytest.mark.parametrize("drawn", [False, True])
def test_statements_over_state_do_what_eager_does(
    tmp_path: Path, backend: str, drawn: bool
) -> None:
    listed = [
        Sequence([Statement(text, "s", "t") for text in each]) for each in DELAY_LINES + READ_LATER
    ]
    sequences = [Sequence.drawn(seed) for seed in range(8)] if drawn else listed
    check(sequences, tmp_path, backend)


@pytest.mark.parametrize("backend", ["aoti"])  # ExecuTorch has no such loops
def test_loops_over_state_do_what_eager_does(tmp_path: Path, backend: str) -> None:
    check([Sequence([Statement("; ".join(each), "s", "t")]) for each in LOOPS], tmp_path, backend)


def check(sequences: list[Sequence], folder: Path, backend: str) -> None:
    """Compare a program of all sequences with them, over some calls."""
    model, generator = Sequences(sequences), torch.Generator().manual_seed(1)
    eager = copy.deepcopy(model)
    inputs = drawn_inputs(generator)
    methods = {"run": ps.Method(model.forward, (inputs,))}
    program = exported(model, methods, backend)
    session = ps.load(program.save(folder / "artifact"), trust_code=True).session()
    for _ in range(4):
        inputs = drawn_inputs(generator)
        torch.testing.assert_close([*session.run("run", *inputs.values())], eager(inputs))
        for name in session.state:
            statements = eager.get_submodule(name.rpartition(".")[0]).statements
            torch.testing.assert_close(
                session.state[name],
                eager.get_buffer(name),
                rtol=1e-4,
                atol=1e-5,
                msg=lambda text, of=statements: f"{of}: {text}",
            )


@pytest.mark.parametrize(
    ("backend", "seed"),
    [
        ("portable", 0),
        *(pytest.param("portable", seed, marks=pytest.mark.exhaustive) for seed in (1, 2)),
        *(pytest.param("xnnpack", seed, marks=pytest.mark.exhaustive) for seed in (3, 4, 5)),
        *(pytest.param("aoti", seed, marks=pytest.mark.exhaustive) for seed in (6, 7)),
    ],
)
def test_state_that_is_changed_through_views_is_what_eager_makes_of_it(
    backend: str, seed: int
) -> None:
    assert state_views.drawn(seed).outcome(backend) == (EQUAL, "")


def test_windows_that_leave_elements_out_are_written_through() -> None:
    changes = [
        state_views.Change(torch.float32, views, statement)
        for views in (
            ("v.unfold(0, 2, 3)",),
            ("v.unfold(-1, 3, 4)",),
            ("v[:5]", "v.unfold(0, 2, 2)"),
            ("v.hsplit(2)[0]", "v.unfold(-1, 1, 1)"),
        )
        for statement in ("v.mul_(o)", "v[0] = 3")
    ]
    assert state_views.Group("windows", changes).outcome("portable") == (EQUAL, "")


def test_a_view_with_elements_at_one_place_is_refused_as_by_pytorch() -> None:
    class Expanded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("s", torch.zeros(1, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.s.expand(2, 3).add_(x)
            return self.s * 1

    method = ps.Method("forward", (torch.ones(2, 3),))
    with pytest.raises(ps.ExportError, match="single memory location"):
        ps.export(Expanded(), {"forward": method})
