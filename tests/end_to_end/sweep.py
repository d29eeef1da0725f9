"""Exports PyTorch's operators by the thousands, each with a type, and compares them with PyTorch.

``python -m tests.end_to_end.sweep --backend portable --results FILE`` tries the cases of
`operator_cases`, one export for all calls of a case, and goes on where it ended. ``--dtype
float64`` takes one type, ``--first 1000 --part 5`` every fifth from that one on, in an order that
mixes them. A case is equal only where every call of it is; those that PyTorch itself refuses, or
that draw numbers, are none. `tools.operators_table` makes a table of the results.
"""

from __future__ import annotations

import argparse
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

import polystate as ps
from tests.end_to_end.operator_cases import DTYPES, Case, Sample, cases
from tests.end_to_end.trials import DIFFERENT, EQUAL, REFUSED, UNTYPED, run_resumable

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
            for found, right in zip(results, self.case.expected(sample), strict=True):
                deviation = self.case.deviation(torch.as_tensor(found), right)
                if deviation is not None:
                    return f"{name}: {deviation}"
        return None

    def _named_samples(self) -> Iterator[tuple[str, Sample]]:
        for number, sample in enumerate(self.samples):
            yield f"{re.sub('[^a-z]', '_', sample.kind.lower())}_{number}", sample

    def _call_of(self, sample: Sample) -> Callable[..., list[torch.Tensor]]:
        def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
            return sample.run(self.case.entry.op, tensors)

        return call


def trials(
    dtypes: Sequence[str], first: int = 0, part: int = 1, seed: int = 0
) -> Iterator[tuple[str, Callable[[], CaseTrial | None]]]:
    """Cases by name from a number on, in an order that mixes operators; one of `part`."""
    found = [(case.name, functools.partial(_trial, case)) for case in cases(dtypes)]
    random.Random(seed).shuffle(found)
    return itertools.islice(found, first, None, part)


def _trial(case: Case) -> CaseTrial | None:
    samples = case.samples()
    return CaseTrial(case, samples) if samples else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--dtype", choices=DTYPES, action="append")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    run_resumable(
        "tests.end_to_end.sweep",
        lambda: trials(options.dtype or list(DTYPES), options.first, options.part),
        options.backend,
        options.results,
        options.worker,
    )


if __name__ == "__main__":
    main()
