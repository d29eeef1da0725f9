"""Measures what one more row, beam, source token and target token cost, and draws it.

Texts of the shape of opus-mt-en-fr, by polystate's int8 on all cores. Each should be a straight
line up to the artifact's limits: the table says how far the points lie from it. All sizes are
measured once in each round, so that a noisy moment of the machine does not fall on one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from shapes import LONGEST, ROWS, random_sources

# Of every workload but for what is varied.
TEXTS, SOURCE_TOKENS, TARGET_TOKENS = 8, 20, 24
PASSES = 3


@dataclass
class Line:
    """The seconds of generations for several sizes of one thing."""

    what: str
    sizes: list[int]
    passes: dict[int, list[float]] = field(default_factory=dict)

    @property
    def seconds(self) -> list[float]:
        """The median of each size."""
        return [statistics.median(self.passes[size]) for size in self.sizes]

    @property
    def slope_and_start(self) -> tuple[float, float]:
        slope, start = np.polyfit(self.sizes, self.seconds, 1)
        return float(slope), float(start)

    @property
    def largest_deviation(self) -> float:
        """Of a point from the line, as a part of the longest time."""
        slope, start = self.slope_and_start
        fitted = [start + slope * size for size in self.sizes]
        deviations = [abs(y - f) for y, f in zip(self.seconds, fitted, strict=True)]
        return max(deviations) / max(self.seconds)


def lines() -> list[Line]:
    return [
        Line("rows", [1, *range(16, ROWS + 1, 16)]),
        Line("beams", [1, *range(2, ROWS // TEXTS + 1, 2)]),
        Line("source tokens", [4, *range(8, LONGEST + 1, 8)]),
        Line("target tokens", [4, *range(8, LONGEST, 8), LONGEST - 1]),
    ]


def workload(line: Line, size: int) -> dict[str, Any]:
    sizes = {
        "rows": TEXTS,
        "beams": 1,
        "source tokens": SOURCE_TOKENS,
        "target tokens": TARGET_TOKENS,
        line.what: size,
    }
    return {
        "beams": sizes["beams"],
        "sources": random_sources(sizes["rows"], sizes["source tokens"]),
        "target": sizes["target tokens"],
        "passes": PASSES,
        "threads": os.cpu_count() or 1,
    }


def seconds_of(content: dict[str, Any], program: Path, artifact: Path) -> list[float]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(content, file)
        file.flush()
        done = subprocess.run([program, artifact, file.name], check=True, stdout=subprocess.PIPE)
    seconds: list[float] = json.loads(done.stdout)["seconds"]
    return seconds


def draw(measured: list[Line], path: Path) -> None:
    mpl.use("svg")
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
    for axis, line in zip(axes.flat, measured, strict=True):
        slope, start = line.slope_and_start
        ends = [0, line.sizes[-1]]
        axis.plot(ends, [1e3 * (start + slope * x) for x in ends], color="#b0b0b0", linewidth=1)
        axis.plot(line.sizes, [1e3 * s for s in line.seconds], "o", color="#1f6f8b", markersize=4)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(line.what)
        axis.set_ylabel("ms")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def table(measured: list[Line]) -> str:
    rows = [
        "| one more of | costs, ms | none, ms | farthest from the line |",
        "| --- | --- | --- | --- |",
    ]
    for line in measured:
        slope, start = line.slope_and_start
        rows.append(
            f"| {line.what} | {1e3 * slope:.2f} | {1e3 * start:.1f} "
            f"| {100 * line.largest_deviation:.1f}% of the longest time |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="bench_translation")
    parser.add_argument("--models", type=Path, required=True, help="folder of make_models.py")
    parser.add_argument("--out", type=Path, required=True, help="folder for table and picture")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    measured = lines()
    artifact = options.models / "opus/polystate_q8"
    for _ in range(options.rounds):
        for line in measured:
            for size in line.sizes:
                passes = seconds_of(workload(line, size), options.program, artifact)
                line.passes.setdefault(size, []).extend(passes)
    print(table(measured))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "translation_scaling.md").write_text(table(measured) + "\n")
    draw(measured, options.out / "translation_scaling.svg")


if __name__ == "__main__":
    main()
