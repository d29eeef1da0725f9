"""Exports PyTorch's operators by the thousands, each with a type, and compares them with PyTorch.

``python -m tests.end_to_end.sweep --backend portable --results FILE`` tries the cases of
`operator_cases`, one export for all calls of a case, and goes on where it ended. ``--dtype
float64`` takes one type, ``--first 1000 --part 5`` every fifth from that one on, in an order that
mixes them. ``--census FILE`` takes those alone that a census of kernels (`operator_census`) did
not find equal. A case is equal only where every call of it is; those that PyTorch itself refuses,
or that draw numbers, are none. `tools.operators_table` makes a table of the results.

``--together 6`` exports six cases as one method first, for which AOTInductor's compiler starts
once: of those that are not equal so, each is tried alone.

``--dynamic`` exports the first sample of each case with one size that varies, where torch.export
lets it, and calls it at the smallest and at the largest size.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import polystate as ps
from tests.end_to_end.operator_cases import DTYPES, Case, Sample, cases
from tests.end_to_end.operator_census import equal_cases
from tests.end_to_end.trials import (
    DIFFERENT,
    EQUAL,
    LEFT_OUT,
    REFUSED,
    UNTYPED,
    ResultFile,
    Tried,
    run_resumable,
    trial_parser,
)

# The program is compared with the module at the examples alone, and then by the case.
_NO_DRAWS = ps.Draws(count=0)


@dataclass(frozen=True)
class CaseTrial:
    """A case as methods of one module, each with one call."""

    case: Case
    samples: Sequence[Sample]

    @property
    def name(self) -> str:
        """The case's."""
        return self.case.name

    def outcome(self, backend: str) -> tuple[str, str]:
        """What came of it; where all is equal, the operators and delegates that compute it."""
        methods = {
            name: ps.Method(self._call_of(sample), sample.tensors)
            for name, sample in self._named_samples()
        }
        try:
            program = ps.export(nn.Module(), methods, backend=backend, draws=_NO_DRAWS)
        except ps.Error as error:
            return REFUSED, f"{type(error).__name__}: {error}"
        except Exception as error:
            return UNTYPED, f"{type(error).__name__}: {error}"
        with tempfile.TemporaryDirectory() as directory:
            different = self._first_deviation(program.save(Path(directory) / "artifact"))
        if different is not None:
            return DIFFERENT, different
        described = program.manifest.program
        return EQUAL, " ".join([*described.operators, *described.delegates])

    def _first_deviation(self, artifact: Path) -> str | None:
        session: Any = ps.load(artifact, trust_code=True).session()
        for name, sample in self._named_samples():
            try:
                results = session.run(name, *sample.tensors)
            except ps.Error as error:
                return f"{name}: {error}"
            deviation = self.case.first_deviation(sample, results)
            if deviation is not None:
                return f"{name}: {deviation}"
        return None

    def _named_samples(self) -> Iterator[tuple[str, Sample]]:
        for number, sample in enumerate(self.samples):
            yield f"{re.sub('[^a-z]', '_', sample.kind.lower())}_{number}", sample

    def _call_of(self, sample: Sample) -> Callable[..., list[torch.Tensor | float]]:
        def call(*tensors: torch.Tensor) -> list[torch.Tensor | float]:
            return sample.run(self.case.entry.op, tensors)

        return call


@dataclass(frozen=True)
class EqualTrial:
    """A case that is known to be equal."""

    name: str

    def outcome(self, backend: str) -> tuple[str, str]:
        return EQUAL, ""


def are_equal_together(trials: Sequence[CaseTrial], backend: str) -> bool:
    """Whether a method that makes all calls of the cases exports, and is equal.

    What a compiler makes of several calls together may differ from what it makes of each.
    """
    calls = [(each.case, sample) for each in trials for sample in each.samples]
    tensors = [each for _, sample in calls for each in sample.tensors]

    def run(*tensors: torch.Tensor) -> list[torch.Tensor | float]:
        given = iter(tensors)
        results = []
        for case, sample in calls:
            results += sample.run(case.entry.op, list(itertools.islice(given, len(sample.tensors))))
        return results

    try:
        method = ps.Method(run, tuple(tensors))
        program = ps.export(nn.Module(), {"run": method}, backend=backend, draws=_NO_DRAWS)
        with tempfile.TemporaryDirectory() as directory:
            artifact = program.save(Path(directory) / "artifact")
            session: Any = ps.load(artifact, trust_code=True).session()
            results = session.run("run", *tensors)
    except Exception:  # of any kind: which case it is of shows when each is tried alone
        return False
    counts = [len(case.expected(sample)) for case, sample in calls]
    if len(results) != sum(counts):
        return False
    found = iter(results)
    return not any(
        case.first_deviation(sample, list(itertools.islice(found, count)))
        for (case, sample), count in zip(calls, counts, strict=True)
    )


class Groups:
    """Cases that are tried as one method first, so many at a time.

    A group is tried before any case of it is begun, and written down before that: where it ends the
    process, its cases are tried alone by the next one.
    """

    def __init__(self, backend: str, size: int, written: Path) -> None:
        self._backend = backend
        self._size = size
        self._written = written

    def trials(
        self, made: Sequence[tuple[str, Callable[[], CaseTrial | DynamicTrial | None]]]
    ) -> Iterator[tuple[str, Callable[[], Tried | None]]]:
        """The cases; those of groups that were begun before come first, as they are."""
        begun = set(self._written.read_text().splitlines()) if self._written.exists() else set()
        yield from ((name, make) for name, make in made if name in begun)
        left = [(name, make) for name, make in made if name not in begun]
        for first in range(0, len(left), self._size):
            yield from self._group(left[first : first + self._size])

    def _group(
        self, made: Sequence[tuple[str, Callable[[], CaseTrial | DynamicTrial | None]]]
    ) -> Iterator[tuple[str, Callable[[], Tried | None]]]:
        with self._written.open("a") as file:
            file.writelines(f"{name}\n" for name, _ in made)
        trials = {name: make() for name, make in made}
        cases = {name: each for name, each in trials.items() if isinstance(each, CaseTrial)}
        are_equal = are_equal_together(list(cases.values()), self._backend)

        def trial(name: str) -> Tried | None:
            case = cases.get(name)
            if case is None:
                return None
            may_be_equal = len(cases) > 1  # else it was tried alone
            is_equal = are_equal or (may_be_equal and are_equal_together([case], self._backend))
            return EqualTrial(name) if is_equal else case

        yield from ((name, functools.partial(trial, name)) for name, _ in made)


@dataclass(frozen=True)
class DynamicTrial:
    """A case's sample, of which one size varies: that of all dimensions of one size."""

    case: Case
    sample: Sample
    size: int

    @property
    def name(self) -> str:
        """The case's."""
        return self.case.name

    @classmethod
    def of(cls, case: Case, samples: Sequence[Sample]) -> DynamicTrial | None:
        """A trial of the first sample that has a size above 1; None if no sample has one."""
        for sample in samples:
            sizes = [size for each in sample.tensors for size in each.shape if size > 1]
            if sizes:
                return cls(case, sample, sizes[0])
        return None

    def outcome(self, backend: str) -> tuple[str, str]:
        """What came of it; "left out" where PyTorch's trace fixes the size."""

        def call(*tensors: torch.Tensor) -> list[torch.Tensor | float]:
            return self.sample.run(self.case.entry.op, tensors)

        varying = {True: Dim.AUTO(min=1, max=2 * self.size), False: None}
        ranges = tuple(
            {dim: varying[size == self.size] for dim, size in enumerate(each.shape)}
            for each in self.sample.tensors
        )
        method = ps.Method(call, self.sample.tensors, dynamic_shapes=(ranges,))
        try:
            program = ps.export(nn.Module(), {"run": method}, backend=backend, draws=_NO_DRAWS)
        except ps.Error as error:
            return REFUSED, f"{type(error).__name__}: {error}"
        except Exception as error:
            return UNTYPED, f"{type(error).__name__}: {error}"
        symbols = program.methods["run"].symbols
        if not symbols:
            return LEFT_OUT, "torch.export fixes the size"
        with tempfile.TemporaryDirectory() as directory:
            session: Any = ps.load(
                program.save(Path(directory) / "artifact"), trust_code=True
            ).session()
            ends = max(each.min for each in symbols), min(each.max for each in symbols)
            taken = [size for size in ends if self._is_taken(size)]
            if not taken:
                return LEFT_OUT, "PyTorch refuses both sizes"
            for size in taken:
                try:
                    different = self._deviation_at(session, size)
                except ps.ContractError as error:  # the trace fixes other dimensions of this size
                    return LEFT_OUT, str(error)
                if different is not None:
                    return DIFFERENT, f"at size {size}: {different}"
        return EQUAL, ", ".join(f"{each.min}..{each.max}" for each in symbols)

    def _is_taken(self, size: int) -> bool:
        """Whether PyTorch takes the sample at a size."""
        try:
            self.case.expected(self.sample_at(size))
        except Exception:  # of any kind
            return False
        return True

    def sample_at(self, size: int) -> Sample:
        """The sample with other tensors, of a size."""
        return self.sample.changed(f"size {size}", lambda each: self._resized(each, size))

    def _deviation_at(self, session: Any, size: int) -> str | None:
        resized = self.sample_at(size)
        try:
            found = session.run("run", *resized.tensors)
        except ps.EngineError as error:
            return str(error)
        return self.case.first_deviation(resized, found)

    def _resized(self, tensor: torch.Tensor, size: int) -> torch.Tensor:
        """The tensor at a size: its first elements, or repeated ones, floats by varying factors.

        Its rows are independent, and a square matrix is near the identity: what PyTorch gives of
        singular matrices depends on roundings.
        """
        is_repeated = torch.zeros(tensor.shape, dtype=torch.bool)
        for dim, old in enumerate(tensor.shape):
            if old == self.size:
                places = torch.arange(size)
                tensor = tensor.index_select(dim, places % old)
                shape = [-1, *[1] * (tensor.dim() - 1 - dim)]
                is_repeated = is_repeated.index_select(dim, places % old)
                is_repeated |= (places >= old).view(shape)
        if not tensor.is_floating_point() or not is_repeated.any():
            return tensor
        waves = torch.arange(tensor.numel()).view(tensor.shape).cos().to(tensor.dtype)
        tensor = torch.where(is_repeated, tensor * (1 + waves / 4), tensor)
        if tensor.dim() > 1 and tensor.shape[-1] == tensor.shape[-2]:
            tensor = tensor / (tensor.abs().max() * tensor.shape[-1])
            tensor = tensor + torch.eye(tensor.shape[-1], dtype=tensor.dtype)
        return tensor


def trials(
    dtypes: Sequence[str],
    first: int = 0,
    part: int = 1,
    seed: int = 0,
    *,
    dynamic: bool = False,
    calls: int | None = None,
) -> Iterator[tuple[str, Callable[[], CaseTrial | DynamicTrial | None]]]:
    """Cases by name from a number on, in an order that mixes operators; one of `part`.

    Where `calls` is given, a case that is not dynamic has no more than so many.
    """
    make = _dynamic_trial if dynamic else functools.partial(_trial, calls=calls)
    found = [(case.name, functools.partial(make, case)) for case in cases(dtypes)]
    random.Random(seed).shuffle(found)
    return itertools.islice(found, first, None, part)


def _trial(case: Case, calls: int | None) -> CaseTrial | None:
    samples = case.samples()[:calls]
    return CaseTrial(case, samples) if samples else None


def _dynamic_trial(case: Case) -> DynamicTrial | None:
    return DynamicTrial.of(case, case.plain_samples())


def main() -> None:
    parser = trial_parser(__doc__)
    parser.add_argument("--dtype", choices=DTYPES, action="append")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--together", type=int, default=1, help="cases that are exported at once")
    parser.add_argument("--census", type=Path, help="only what this one did not find equal")
    options = parser.parse_args()
    if options.together < 1 or (options.dynamic and options.together > 1):
        parser.error("--together is 1 or more, and goes with no --dynamic")

    def chosen() -> Iterator[tuple[str, Callable[[], Tried | None]]]:
        dtypes = options.dtype or list(DTYPES)
        found = trials(dtypes, options.first, options.part, dynamic=options.dynamic)
        done = equal_cases(options.census) if options.census else set()
        if options.together == 1:
            yield from ((name, make) for name, make in found if name not in done)
            return
        done = done | ResultFile(options.results).read().keys()
        groups = Groups(options.backend, options.together, options.results.with_suffix(".together"))
        yield from groups.trials([(name, make) for name, make in found if name not in done])

    run_resumable("tests.end_to_end.sweep", chosen, options)


if __name__ == "__main__":
    main()
