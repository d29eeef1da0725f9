"""Values that PyTorch's kernels raise or crash for are refused before the state changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import polystate as ps
from tests.end_to_end.twins import aoti_first
from tests.support.exported_models import exported

FACTORS = torch.tensor([[4.0, 0.0, 0.0], [0.5, 3.0, 0.0], [0.25, 0.5, 2.0]])
SIDES = torch.tensor([[1.0], [2.0], [3.0]])
PLANES = torch.arange(1.0, 37.0).reshape(1, 1, 6, 6)

Use = Callable[[Tensor], Tensor]


def _pooled(samples: Tensor) -> Tensor:
    pooled: Tensor = functional.fractional_max_pool2d(
        PLANES, 2, output_size=(3, 3), _random_samples=samples.reshape(1, 1, 2)
    )
    return pooled


def _summed(offsets: Tensor) -> Tensor:
    words = torch.tensor([1, 2, 0])
    return functional.embedding_bag(words, FACTORS, offsets, mode="sum", include_last_offset=True)


def _number(place: Tensor) -> Any:
    return place[0].long().item()


def _part(place: Tensor) -> Tensor:
    return FACTORS.flatten().as_strided((2, 2), (2, 1), _number(place))


def _written(place: Tensor) -> Tensor:
    changed = FACTORS.flatten() * 2
    changed.as_strided((2, 2), (2, 1), _number(place)).zero_()
    return changed


def _gradient_of_bags(words: Tensor, bags: Tensor) -> Tensor:
    offsets, none = torch.tensor([0, 2]), torch.zeros(0, dtype=torch.int64)
    sizes = torch.tensor([2, 1])
    gradient: Tensor = torch.ops.aten._embedding_bag_backward(
        FACTORS[:2], words.long(), offsets, bags.long(), sizes, none, 3, False, 0, False, None
    )
    return gradient


def _gradient_of_samples(words: Tensor, bags: Tensor) -> Tensor:
    gradient: Tensor = torch.ops.aten._embedding_bag_per_sample_weights_backward(
        FACTORS[:2], FACTORS, words.long(), torch.tensor([0, 2]), bags.long(), 0
    )
    return gradient


BAGS = torch.tensor([0, 0, 1])
WORDS = torch.tensor([0, 1, 2])


def _gradient_of_pools(rank: int) -> Use:
    backward = getattr(torch.ops.aten, f"adaptive_max_pool{rank}d_backward")
    sizes = [1, 1, *[2] * rank]

    def use(places: Tensor) -> Tensor:
        given: Tensor = backward(torch.ones(sizes), torch.zeros(sizes), places.long().view(sizes))
        return given

    return use


def _gradient_of_fractions(places: Tensor) -> Tensor:
    planes = torch.ones(1, 1, 2, 2)
    gradient: Tensor = torch.ops.aten.fractional_max_pool2d_backward(
        planes, PLANES, [2, 2], [2, 2], places.long().view(1, 1, 2, 2)
    )
    return gradient


def _gradient_of_windows(places: Tensor) -> Tensor:
    volumes = torch.ones(1, 1, 1, 2, 2)
    gradient: Tensor = torch.ops.aten.max_pool3d_with_indices_backward(
        volumes, torch.zeros(1, 1, 2, 4, 4), 2, 2, 0, 1, False, places.long().view(volumes.shape)
    )
    return gradient


# The use of some numbers, what they are usually, and others that are refused.
ALL: dict[str, tuple[Use, list[float], list[list[float]]]] = {
    "triangles": (
        lambda p: torch.linalg.lu_solve(FACTORS, p.int(), SIDES),
        [2, 3, 3],
        [[0, 2, 3], [1, 2, 4], [-1, 2, 3]],
    ),
    "unpacked": (
        lambda p: torch.lu_unpack(FACTORS, p.int())[0],
        [2, 3, 3],
        [[0, 2, 3], [1, 2, 4]],
    ),
    "blocks": (
        lambda p: torch.linalg.ldl_solve(FACTORS, p.int(), SIDES),
        [1, 3, 3],
        [[1, 2, -3], [-1, 2, 3], [0, 2, 3], [1, 2, 4], [1, 2, -(2**31)]],
    ),
    "replaced": (
        lambda m: SIDES[:, 0].masked_scatter(m > 0, SIDES[:2, 0]),
        [1, 0, 1],
        [[1, 1, 1]],
    ),
    "ordered": (
        lambda s: torch.searchsorted(torch.tensor([2.0, 1.0, 3.0]), SIDES[:, 0], sorter=s.long()),
        [1, 0, 2],
        [[1, 0, 3], [-1, 0, 2]],
    ),
    "pools": (_pooled, [0.3, 0.6], [[float("nan"), 0.5], [0.5, 1.0], [-0.5, 0.5]]),
    "first_of_memory": (_part, [0], [[-1], [2**40]]),
    "last_of_memory": (_part, [5], [[6], [-(2**40)]]),
    "written_first_of_memory": (_written, [0], [[-1], [-(2**40)]]),
    "written_last_of_memory": (_written, [5], [[6], [2**40]]),
    "range": (
        lambda x: torch.histc(x, 4),
        [3, 1, 2],
        [[3, float("nan"), 2], [3, 1, float("inf")], [-float("inf"), 1, 2]],
    ),
    "range_of_numbers": (
        lambda x: torch.histogram(x, 4).hist,
        [3, 1, 2],
        [[3, float("nan"), 2], [3, 1, float("inf")]],
    ),
    "lower_triangle": (
        lambda m: torch.linalg.eigvalsh(m.reshape(3, 3)),
        [3, 1, 1, 1, 4, 1, 1, 1, 5],
        [[float("nan"), *[1] * 8], [3, 1, 1, float("-inf"), 4, 1, 1, 1, 5]],
    ),
    "stretches": (
        lambda m: torch.linalg.svdvals(m.reshape(2, 2)),
        [3, 1, 2, 4],
        [[3, float("nan"), 2, 4], [3, 1, float("inf"), 4]],
    ),
    "solved": (
        lambda m: torch.linalg.lstsq(m[:4].reshape(2, 2), m[4:]).solution,
        [3, 1, 2, 4, 1, 2],
        [[3, float("nan"), 2, 4, 1, 2], [3, 1, 2, 4, 1, float("nan")]],
    ),
    "factor": (
        lambda m: torch.cholesky_inverse(m.reshape(2, 2)),
        [3, 0, 2, 4],
        [[3, 0, 2, 0], [0, 0, 2, 4]],
    ),
    "bags": (_summed, [0, 1, 2], [[0, 2, 1], [1, 2, 3], [0, 1, 4], [0, -1, 2]]),
}

# ExecuTorch has no kernels of these, or plans no memory for their results.
OF_AOTI: dict[str, tuple[Use, list[float], list[list[float]]]] = {
    "counts": (lambda n: torch.bincount(n.long(), minlength=4)[:4], [1, 1, 3], [[1, -1, 0]]),
    "eigenvalues": (
        lambda m: torch.linalg.eigvals(m.reshape(2, 2)).abs().sum(),
        [3, 1, 2, 4],
        [[3, float("nan"), 2, 4], [3, 1, float("inf"), 4], [-float("inf"), 1, 2, 4]],
    ),
    "largest_of_bags": (
        lambda o: functional.embedding_bag(torch.tensor([1, 2, 0]), FACTORS, o.long(), mode="max"),
        [0, 1, 2],
        [[0, 2, 1], [1, 2, 3], [0, 1, 4], [0, -1, 2]],
    ),
    "largest_of_words": (
        lambda w: functional.embedding_bag(w.long().reshape(1, 3), FACTORS, mode="max"),
        [0, 1, 2],
        [[0, 3, 1], [-1, 2, 0]],
    ),
    "gradients_of_words": (
        lambda w: _gradient_of_bags(w, BAGS),
        [0, 1, 2],
        [[0, 3, 1], [0, 1, -1], [2**40, 0, 0]],
    ),
    "gradients_of_bags": (
        lambda b: _gradient_of_bags(WORDS, b),
        [0, 0, 1],
        [[0, 0, 2], [-1, 0, 1], [0, 0, 2**40]],
    ),
    "gradients_of_samples_of_words": (
        lambda w: _gradient_of_samples(w, BAGS),
        [0, 1, 2],
        [[0, 3, 1], [0, 1, -1], [2**40, 0, 0]],
    ),
    "gradients_of_samples_of_bags": (
        lambda b: _gradient_of_samples(WORDS, b),
        [0, 0, 1],
        [[0, 0, 2], [-1, 0, 1], [0, 0, 2**40]],
    ),
    "gradients_of_planes": (_gradient_of_pools(2), [0, 1, 2, 3], [[0, 1, 2, 4], [-1, 0, 0, 0]]),
    "gradients_of_volumes": (
        _gradient_of_pools(3),
        [0, 1, 2, 3, 4, 5, 6, 7],
        [[0, 1, 2, 3, 4, 5, 6, 8], [-1, 1, 2, 3, 4, 5, 6, 7]],
    ),
    "gradients_of_fractions": (
        _gradient_of_fractions,
        [0, 3, 14, 35],
        [[0, 3, 14, 36], [-1, 3, 14, 2**40]],
    ),
    "gradients_of_windows": (
        _gradient_of_windows,
        [0, 3, 14, 31],
        [[0, 3, 14, 32], [-1, 3, 14, 2**40]],
    ),
    "rows": (
        lambda r: torch._convert_indices_from_coo_to_csr(r.long(), 4),
        [0, 1, 3],
        [[0, 1, 4], [-1, 1, 2], [0, 1, 2**40]],
    ),
    "counts_of_rows": (
        lambda c: torch._convert_indices_from_csr_to_coo(c.long(), torch.tensor([0, 1, 2])),
        [0, 1, 3],
        [[0, 1, 4], [0, 2, 1], [-1, 1, 3]],
    ),
}


class Uses(nn.Module):
    calls: Tensor  # so large that it is counted where it lies

    def __init__(self, uses: dict[str, Use]) -> None:
        super().__init__()
        self.uses = uses
        self.register_buffer("calls", torch.zeros(128, 128))

    def forward(self, given: dict[str, Tensor]) -> list[Tensor]:
        self.calls[0] += 1
        return [use(given[name]) for name, use in self.uses.items()]


@pytest.mark.filterwarnings("ignore:.*include_last_offset.*:UserWarning")
@aoti_first
def test_a_value_that_a_kernel_cannot_take_leaves_the_state(tmp_path: Path, backend: str) -> None:
    cases = {**ALL, **OF_AOTI} if backend == "aoti" else ALL
    usual = {name: torch.tensor(right).double() for name, (_, right, _) in cases.items()}
    usual["pools"] = usual["pools"].float()
    usual["bags"] = usual["bags"].long()
    model = Uses({name: use for name, (use, _, _) in cases.items()})
    program = exported(model, {"forward": ps.Method("forward", (usual,))}, backend)
    if backend == "portable":  # XNNPACK's partitioner puts the write last
        assert not program.methods["forward"].atomic
    session = ps.load(program.save(tmp_path / "artifact"), trust_code=True).session()
    torch.testing.assert_close([*session.run("forward", *usual.values())], model(usual))
    for name, (_, _, wrong) in cases.items():
        for each in wrong:
            given = {**usual, name: torch.tensor(each).to(usual[name].dtype)}
            with pytest.raises(ps.Error):
                session.run("forward", *given.values())
            assert session.state["calls"][0].unique().tolist() == [1.0], (name, each)
    torch.testing.assert_close([*session.run("forward", *usual.values())], model(usual))
