"""PyTorch's own samples of its operators, as modules.

``python -m tests.end_to_end.operator_samples --backend portable --results FILE`` tries all of them
and goes on where it ended; ``--part 5`` tries every fifth, ``--first 1000`` begins with that one.
``--through-views`` tries those that work in place, on a part of a buffer.
"""

from __future__ import annotations

import copy
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from polystate.export.tracing.complex_parts import Complex
from tests.end_to_end.trials import Trial, run_resumable, trial_parser
from tests.support.operator_entries import operator_entries

# Of samples: the first one that an operator takes. Some are of integers alone.
_DTYPES = (torch.float32, torch.int64)


class Sampled(nn.Module):
    """An operator on a sample's values that are no tensors, with counters.

    They are so large that they are written where they lie, and so before the operator is computed.
    """

    def __init__(self, function: Callable[..., Any], sample: Any) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(128, 128))
        self._function = function
        self._made_unique = sample.output_process_fn_grad  # of eigenvectors, for instance
        self._leaves, self._structure = _flat(sample)

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        self.count += 1
        return _tensors(self._made_unique(self._call(iter(inputs))))

    def _call(self, inputs: Iterator[torch.Tensor]) -> Any:
        leaves = [next(inputs) if isinstance(x, torch.Tensor) else x for x in self._leaves]
        first, args, kwargs = pytree.tree_unflatten(leaves, self._structure)
        return self._function(first, *args, **kwargs)


class SampledInPlace(Sampled):
    """The same operator in place, on a buffer."""

    def __init__(self, function: Callable[..., Any], sample: Any) -> None:
        super().__init__(function, sample)
        self.register_buffer("value", sample.input.clone())

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        self.count += 1
        self._call(iter([self.value, *inputs]))
        return [self.value.clone()]


class SampledThroughView(SampledInPlace):
    """The same on a part of a buffer, whose elements lie apart and in another order."""

    def __init__(self, function: Callable[..., Any], sample: Any) -> None:
        super().__init__(function, sample)
        value = self.value.transpose(0, -1) if self.value.dim() > 1 else self.value
        self.value = torch.stack([value, torch.zeros_like(value)], -1)

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        self.count += 1
        view = self.value[..., 0]
        view = view.transpose(0, -1) if view.dim() > 1 else view
        self._call(iter([view, *inputs]))
        return [self.value.clone()]


def _flat(sample: Any) -> Any:
    """The values of a sample, of which tensors can be copied, and their structure."""
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    return [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves], structure


def _tensors(result: Any) -> list[Any]:
    """Those among the results; under a trace some are complex, by their parts."""
    leaves = pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor | Complex)]


def trials(
    first: int = 0, part: int = 1, *, through_views: bool = False
) -> Iterator[tuple[str, Callable[[], Trial | None]]]:
    """Samples by name from a number on, in an order that mixes the kinds; one of `part`."""
    forms: list[tuple[int, type[Sampled], str]] = [(0, SampledThroughView, "_ of a view")]
    if not through_views:
        forms = [(0, Sampled, ""), (1, Sampled, " 1"), (0, SampledInPlace, "_")]
    names = [
        (f"{info.formatted_name}{form}", functools.partial(_trial, info, number, kind))
        for info in operator_entries()
        for number, kind, form in forms
    ]
    random.Random(0).shuffle(names)
    return itertools.islice(names, first, None, part)


def _trial(info: Any, number: int, kind: type[Sampled]) -> Trial | None:
    """Make the trial of a sample; None if the operator has no such sample, or draws numbers."""
    dtype = next((each for each in _DTYPES if each in info.dtypes), None)
    if dtype is None:
        return None
    in_place = issubclass(kind, SampledInPlace)
    function = info.get_inplace() if in_place else info.get_op()
    torch.manual_seed(0)
    samples = info.sample_inputs("cpu", dtype, requires_grad=False)
    sample = next(itertools.islice(samples, number, None), None)
    if function is None or sample is None:
        return None
    if in_place and (not isinstance(sample.input, torch.Tensor) or sample.broadcasts_input):
        return None
    model = kind(function, sample)
    leaves = _tensors(_flat(sample)[0][1:] if in_place else _flat(sample)[0])
    inputs = tuple(leaf.detach().clone() for leaf in leaves)
    if _is_random(model, inputs):
        return None
    return Trial(info.formatted_name, model, {"forward": [inputs, inputs]})


def _is_random(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> bool:
    """Whether two seeds give different results, or PyTorch itself refuses the sample or a copy."""
    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        try:
            fresh = copy.deepcopy(model)  # which sparse tensors refuse
            with torch.no_grad():
                results.append(fresh(*(each.clone() for each in inputs)))
        except Exception:
            return True
    return any(
        a.shape != b.shape or not torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(*results, strict=True)
        if not a.is_quantized and a.layout == torch.strided and a.dtype != torch.complex32
    )


def main() -> None:
    parser = trial_parser(__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--through-views", action="store_true")
    options = parser.parse_args()
    run_resumable(
        "tests.end_to_end.operator_samples",
        lambda: trials(options.first, options.part, through_views=options.through_views),
        options,
    )


if __name__ == "__main__":
    main()
